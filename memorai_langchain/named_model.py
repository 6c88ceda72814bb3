"""A chat model by its name, as the command line gives it."""

from memorai_core.errors import ConfigurationError
from memorai_langchain.chat_model import LangChainChatModel


def named_chat_model(name: str, *, temperature: float = 0.0) -> LangChainChatModel:
    """The chat model of a name like "openai:gpt-4o-mini", made by LangChain's `init_chat_model`.

    Keys and base URLs come from the provider's usual environment variables (for any OpenAI-compatible server OPENAI_BASE_URL and
    OPENAI_API_KEY). Raises ConfigurationError where the name, an installed package or a key is missing.
    """
    provider, colon, model = name.partition(":")
    if not (provider and colon and model):
        raise ConfigurationError(f"--model takes PROVIDER:NAME, such as openai:gpt-4o-mini, not {name!r}")
    try:
        from langchain.chat_models import init_chat_model
    except ImportError as error:
        raise ConfigurationError("a model by name needs an extra: pip install 'memorai-plugins[models]'") from error
    try:
        made = init_chat_model(model, model_provider=provider, temperature=temperature)
    except ImportError as error:
        raise ConfigurationError(f"the provider {provider!r} needs a package of its own: {error}") from error
    except Exception as error:  # each provider has its own errors for a missing key or an unknown name
        raise ConfigurationError(f"the chat model {name!r} cannot be made: {error}") from error
    return LangChainChatModel(made)
