"""Prompt files: a version header, and words with $name placeholders."""

from dataclasses import dataclass
from importlib.resources import files
from string import Template

from memorai_core.errors import ConfigurationError

_READING = "reading"
"""The file with what prompts about conversations have in common; a prompt that wants it says $reading."""


@dataclass(frozen=True, slots=True)
class PromptTemplate:
    """The words of one prompt; placeholders are filled once, so a dollar sign in a value stays what it is."""

    name: str
    version: str
    text: str

    def fill(self, **values: str) -> str:
        """The prompt's text; the values are those that `load` was told of."""
        return Template(self.text).substitute(values)


def load(name: str, *placeholders: str) -> PromptTemplate:
    """The prompt of that name; raises ConfigurationError where its header or its placeholders are not as expected.

    Called at import, so that a prompt that does not fit its function is seen before it is used.
    """
    version, text = _read(name)
    if "$reading" in text:
        text = text.replace("$reading", _read(_READING)[1])
    found = set(Template(text).get_identifiers())
    if found != set(placeholders) or not Template(text).is_valid():
        raise ConfigurationError(f"prompt {name!r} has the placeholders {sorted(found)}, not {sorted(placeholders)}")
    return PromptTemplate(name, version, text)


def _read(name: str) -> tuple[str, str]:
    written = (files("memorai_core.prompts") / f"{name}.md").read_text(encoding="utf-8")
    header, _, text = written.partition("\n\n")
    key, _, version = header.partition(": ")
    if key != "version" or not version.isdigit() or not text.strip():
        raise ConfigurationError(f'prompt {name!r} must begin with a line like "version: 1", an empty line, and its words')
    return version, text.strip()
