"""LangChain's own fake chat models, made to take tools and to write down what they are asked."""

import json
import re

from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.outputs import ChatGenerationChunk
from pydantic import Field


class Chat(GenericFakeChatModel):
    """Says its messages one after the other, word by word where it is streamed; `asked` holds each call's messages."""

    asked: list = Field(default_factory=list)

    def bind_tools(self, tools, **options):
        return self

    def _generate(self, messages, stop=None, run_manager=None, **options):
        self.asked.append(messages)
        return super()._generate(messages, stop, run_manager, **options)

    def _stream(self, messages, stop=None, run_manager=None, **options):
        self.asked.append(messages)
        message = next(self.messages)
        calls = [{**call, "args": json.dumps(call["args"]), "index": 0} for call in message.tool_calls]
        words = [AIMessageChunk(word) for word in re.split(r"(\s)", message.content)]
        for chunk in [AIMessageChunk("", tool_call_chunks=calls)] if calls else words:
            if run_manager:
                run_manager.on_llm_new_token(chunk.content, chunk=ChatGenerationChunk(message=chunk))
            yield ChatGenerationChunk(message=chunk)


def chat(*replies):
    """A model that says these; a reply that is an exception is raised."""
    return Chat(messages=map(_said, replies))


def _said(reply):
    if isinstance(reply, Exception):
        raise reply
    return AIMessage(reply) if isinstance(reply, str) else reply


def calls(tool, /, **arguments):
    """A reply that does nothing but call a tool."""
    return AIMessage("", tool_calls=[{"name": tool, "args": arguments, "id": f"call-{tool}"}])


def texts(memory, user_id, session_id=None):
    """Everything that is stored of a user, in order of sessions and positions."""
    graph = memory.graph(user_id=user_id)
    turns = [data for _, data in graph.nodes(data=True) if data["kind"] == "turn"]
    turns = [turn for turn in turns if session_id in (None, turn["session_id"])]
    return [turn["text"] for turn in sorted(turns, key=lambda turn: (turn["session_id"], turn["position"]))]
