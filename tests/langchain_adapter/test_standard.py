"""LangChain's own suites for retrievers and tools."""

import pytest

pytest.importorskip("langchain_tests", reason="needs langchain-tests")

from langchain_core.tools import BaseTool
from langchain_tests.integration_tests import RetrieversIntegrationTests, ToolsIntegrationTests
from langchain_tests.unit_tests import ToolsUnitTests

from memorai_langchain import MemoraiRetriever, memory_tools


class TestRetriever(RetrieversIntegrationTests):
    @pytest.fixture(autouse=True)
    def _alice(self, alice):
        self.alice = alice

    @property
    def retriever_constructor(self) -> type[MemoraiRetriever]:
        return MemoraiRetriever

    @property
    def retriever_constructor_params(self) -> dict:
        return {"memory": self.alice, "user_id": "alice"}

    @property
    def retriever_query_example(self) -> str:
        return "What is Alice allergic to?"


class _Tools:
    @pytest.fixture(autouse=True)
    def _alice(self, alice):
        self.tools = memory_tools(memory=alice, user_id="alice", session_id="standard")


class _SearchMemory(_Tools):
    @property
    def tool_constructor(self) -> BaseTool:
        return self.tools.search_memory

    @property
    def tool_invoke_params_example(self) -> dict:
        return {"query": "What is Alice allergic to?"}


class _SaveMemory(_Tools):
    @property
    def tool_constructor(self) -> BaseTool:
        return self.tools.save_memory

    @property
    def tool_invoke_params_example(self) -> dict:
        return {"text": "Alice prefers short answers."}


class _ForgetMemory(_Tools):
    @property
    def tool_constructor(self) -> BaseTool:
        return self.tools.forget_memory

    @property
    def tool_invoke_params_example(self) -> dict:
        return {"turn_ids": ["0" * 12]}


class TestSearchMemory(_SearchMemory, ToolsIntegrationTests): ...


class TestSearchMemoryUnit(_SearchMemory, ToolsUnitTests): ...


class TestSaveMemory(_SaveMemory, ToolsIntegrationTests): ...


class TestSaveMemoryUnit(_SaveMemory, ToolsUnitTests): ...


class TestForgetMemory(_ForgetMemory, ToolsIntegrationTests): ...


class TestForgetMemoryUnit(_ForgetMemory, ToolsUnitTests): ...
