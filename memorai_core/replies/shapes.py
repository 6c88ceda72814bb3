"""The shapes that replies are asked for, and how a value is checked against one.

What a model sends is untrusted. A list gives up its elements that do not fit, and counts them; the rest stands. Every list
and every string has a bound, so that a model that runs in circles is stopped by a server that constrains its output.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    PrivateAttr,
    StringConstraints,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
)
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from memorai_core.models import clean_text

S = TypeVar("S", bound="ReplyModel")

_NUMBER = re.compile(r"\s*(?:turn|n)?\s*[#\[(=:]?\s*(\d{1,9})(?:\.0+)?\s*[\])]?\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Rejected:
    """A reply that cannot be used, and why."""

    kind: Literal["empty", "too_long", "unreadable", "unfit"]
    """Nothing is in it; it has no end; no JSON is in it; its JSON has another shape."""
    detail: str
    """What is wrong, in words that a model can act on."""
    text: str = ""
    """The reply."""


class ReplyModel(BaseModel):
    """Base of the shapes that replies are asked for; keys that were not asked for are passed over."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    _dropped: Mapping[str, int] = PrivateAttr(default_factory=dict)

    @property
    def dropped(self) -> Mapping[str, int]:
        """How many elements of lists were left out, by kind: "malformed", "out_of_range", "too_many", "cut_off"."""
        return self._dropped


@dataclass(frozen=True, slots=True)
class _Reading:
    """What validators know of the reply at hand."""

    cites: int
    """The highest number that it may cite."""
    dropped: Counter[str] = field(default_factory=Counter)


def check(value: object, schema: type[S], *, cites: int, cut_off: bool = False) -> S | Rejected:
    """A JSON value as the shape asked for; numbers of turns go from 1 to `cites`. What was cut off counts as dropped."""
    if isinstance(value, list):
        value = _unwrapped(value, schema)
    reading = _Reading(cites)
    try:
        reply = schema.model_validate(value, context=reading)
    except ValidationError as error:
        return Rejected("unfit", _in_words(error))
    reply._dropped = {**reading.dropped, **({"cut_off": 1} if cut_off else {})}
    return reply


def _unwrapped(values: list[object], schema: type[ReplyModel]) -> object:
    """A bare list stands for the one list that was asked for, and a list of one object for the object."""
    if len(values) == 1 and isinstance(values[0], dict) and schema.model_fields.keys() <= values[0].keys():
        return values[0]
    return {next(iter(schema.model_fields)): values} if len(schema.model_fields) == 1 else values


def _in_words(error: ValidationError) -> str:
    said = []
    for one in error.errors(include_input=False, include_url=False, include_context=False)[:3]:
        place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in one["loc"]).removeprefix(".")
        said.append(f"{place}: {one['msg']}" if place else "it must be a JSON object")
    return "; ".join(said)


@dataclass(frozen=True, slots=True)
class UpTo:
    """Marks a list of at most `most` elements, of which those that do not fit are left out.

    A list that had elements and has none left does not fit.
    """

    most: int

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        elements = {**handler(source), "max_length": self.most}
        return core_schema.with_info_wrap_validator_function(self._fitting, elements)

    def _fitting(self, values: object, validate: ValidatorFunctionWrapHandler, info: core_schema.ValidationInfo) -> object:
        if not isinstance(values, list) or not values or not isinstance(info.context, _Reading):
            return validate(values)
        dropped = info.context.dropped
        before = dropped.copy()
        try:
            return validate(values)
        except ValidationError:
            _restore(dropped, before)
        fitting: list[object] = []
        for value in values:
            before = dropped.copy()
            try:
                fitting += validate([value])
            except ValidationError as error:
                _restore(dropped, before)
                dropped[_kind(error)] += 1
        if not fitting:
            return validate(values[:1])
        if len(fitting) > self.most:
            dropped["too_many"] += len(fitting) - self.most
        return fitting[: self.most]


def _restore(dropped: Counter[str], before: Counter[str]) -> None:
    dropped.clear()
    dropped.update(before)


def _kind(error: ValidationError) -> str:
    kinds = {one["type"] for one in error.errors(include_input=False, include_url=False, include_context=False)}
    return "out_of_range" if kinds == {"out_of_range"} else "malformed"


def _turn_number(value: object, info: ValidationInfo) -> int:
    """3, 3.0, "3", "turn 3" and "[3]" are 3; what is no whole number of 1 to `cites` is refused."""
    number: int | None = None
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e9 and value == int(value):
        number = int(value)
    elif isinstance(value, str) and (written := _NUMBER.fullmatch(value)):
        number = int(written[1])
    if number is None:
        raise PydanticCustomError("not_a_number", "must be the number of a turn")
    highest = info.context.cites if isinstance(info.context, _Reading) else number
    if not 1 <= number <= highest:
        raise PydanticCustomError("out_of_range", "a turn's number must be between 1 and {highest}", {"highest": highest})
    return number


def _listed(values: object) -> object:
    """ "1, 2" and 1 are lists of numbers, badly written."""
    if isinstance(values, str) and values.strip():
        return [part for part in re.split(r"[,;]", values.strip().strip("[]")) if part.strip()]
    return [values] if isinstance(values, int | float) and not isinstance(values, bool) else values


def _sorted_once(values: list[int]) -> list[int]:
    return sorted(set(values))


def _one_line(value: object) -> object:
    """A number where words were asked for is its digits; runs of white space are one space."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = str(value)
    return " ".join(clean_text(value).split()) if isinstance(value, str) else value


def _says_something(value: str) -> str:
    """Refuses what stands for words but is none: "...", "<one sentence>", an echo of the shape asked for."""
    if not any(character.isalnum() for character in value) or (value.startswith("<") and value.endswith(">")):
        raise PydanticCustomError("no_words", "must have words of its own")
    return value


TurnNumber = Annotated[int, Field(ge=1), BeforeValidator(_turn_number)]
TurnNumbers = Annotated[list[TurnNumber], UpTo(200), AfterValidator(_sorted_once), BeforeValidator(_listed)]
"""Numbers of turns, sorted, each once."""
Name = Annotated[str, StringConstraints(min_length=1, max_length=200), BeforeValidator(_one_line), AfterValidator(_says_something)]
Sentence = Annotated[str, StringConstraints(min_length=1, max_length=800), BeforeValidator(_one_line), AfterValidator(_says_something)]
Paragraph = Annotated[str, StringConstraints(min_length=1, max_length=2400), BeforeValidator(_one_line), AfterValidator(_says_something)]
