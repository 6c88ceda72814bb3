"""Figures as JSON has them, and ways into them."""

from typing import TypeAlias

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | None"
Figures: TypeAlias = dict[str, Json]


def part(figures: Json, *path: str) -> Figures:
    """The object at the end of a path of keys; empty where there is none."""
    for name in path:
        figures = figures.get(name) if isinstance(figures, dict) else None
    return figures if isinstance(figures, dict) else {}


def number(figures: Json, *path: str) -> float | None:
    """The number at the end of a path of keys; None where there is none."""
    value = part(figures, *path[:-1]).get(path[-1])
    return float(value) if isinstance(value, int | float) else None


def word(figures: Json, *path: str) -> str:
    """The text at the end of a path of keys; empty where there is none."""
    value = part(figures, *path[:-1]).get(path[-1])
    return "" if value is None else str(value)


def bounds(figures: Json, *path: str) -> tuple[float, float] | None:
    """The two numbers at the end of a path of keys; None where there are none."""
    value = part(figures, *path[:-1]).get(path[-1])
    numbers = [float(one) for one in value if isinstance(one, int | float)] if isinstance(value, list) else []
    return (numbers[0], numbers[1]) if len(numbers) == 2 else None
