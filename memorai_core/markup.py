"""Text made safe to stand in XML-like prompts. The standard library's twin of this imports an HTTP client with it."""


def escape(text: str) -> str:
    """Text that opens and closes no tag."""
    return text.replace("&", "&amp;").replace(">", "&gt;").replace("<", "&lt;")


def quoteattr(text: str) -> str:
    """Text as the value of an attribute, quotes included."""
    text = escape(text).replace("\n", "&#10;").replace("\r", "&#13;").replace("\t", "&#9;")
    return f"'{text}'" if '"' in text and "'" not in text else '"{}"'.format(text.replace('"', "&quot;"))
