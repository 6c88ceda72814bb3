"""Dates as files write them."""

import warnings
from datetime import UTC, datetime
from functools import lru_cache
from itertools import product

from dateutil import parser

SPARE_DATES = (datetime(2001, 1, 1), datetime(2002, 2, 2))
"""dateutil fills what a text leaves out from a default date; two that share no part show what was left out."""


def parse_date(text: str, *layouts: str) -> datetime:
    """The moment a text names, naive where it names no offset; `layouts` are strptime's, and are tried first.

    Raises ValueError, saying the fix, for what is no date, names no whole date, or can be read as two.
    """
    text = text.strip()
    for layout in layouts:
        try:
            return datetime.strptime(text, layout)
        except ValueError:
            continue
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = _read_freely(text)
    try:
        if moment.tzinfo:
            moment.astimezone(UTC)
    except OverflowError:
        raise ValueError(f"the date {text!r} lies outside the years 1 to 9999 in UTC") from None
    return moment


@lru_cache(maxsize=1024)
def _read_freely(text: str) -> datetime:
    readings: set[datetime] = set()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", parser.UnknownTimezoneWarning)
            for dayfirst, yearfirst, spare in product((False, True), (False, True), SPARE_DATES):
                readings.add(parser.parse(text, default=spare, dayfirst=dayfirst, yearfirst=yearfirst))
    except parser.UnknownTimezoneWarning:
        raise ValueError(f"the date {text!r} names a time zone that is not known; write its offset, as in +02:00") from None
    except Exception as refused:  # dateutil lets errors of many kinds escape
        raise ValueError(f"{text[:60]!r} is not a date; write it as in 2023-05-08T13:56:00+00:00") from refused
    if len(readings) > 1:
        raise ValueError(f"the date {text!r} is not whole or can be read in two ways; write it as in 2023-05-08T13:56:00+00:00")
    return readings.pop()
