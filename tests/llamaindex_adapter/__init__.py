import pytest

pytest.importorskip("llama_index.core", reason="needs LlamaIndex: pip install 'memorai-plugins[llamaindex]'")
