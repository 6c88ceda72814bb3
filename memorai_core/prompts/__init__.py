"""The words of every prompt (appendix C), one .md file each, and how they are filled in."""

from memorai_core.prompts.passage import Passage
from memorai_core.prompts.template import PromptTemplate, load

__all__ = ["Passage", "PromptTemplate", "load"]
