"""A chat model's replies: the shapes they are asked for, and how they are read."""

from memorai_core.replies.reading import read_reply, without_thinking
from memorai_core.replies.shapes import Name, Paragraph, Rejected, ReplyModel, Sentence, TurnNumber, TurnNumbers, UpTo

__all__ = ["Name", "Paragraph", "Rejected", "ReplyModel", "Sentence", "TurnNumber", "TurnNumbers", "UpTo", "read_reply", "without_thinking"]
