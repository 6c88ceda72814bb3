from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorai_core.formats import locomo, longmemeval
from memorai_core.formats.dates import parse_date

TWO_HOURS_EAST = timezone(timedelta(hours=2))


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2023-05-08T13:56:00+02:00", datetime(2023, 5, 8, 13, 56, tzinfo=TWO_HOURS_EAST)),
        ("2023-05-08T13:56:00Z", datetime(2023, 5, 8, 13, 56, tzinfo=UTC)),
        ("2023-05-08 13:56", datetime(2023, 5, 8, 13, 56)),
        ("2023-05-08", datetime(2023, 5, 8)),
        (" 2023-05-08 ", datetime(2023, 5, 8)),
        ("8 May 2023, 1:56 pm", datetime(2023, 5, 8, 13, 56)),
        ("1:56 pm on 8 May, 2023", datetime(2023, 5, 8, 13, 56)),
        ("Mon, 08 May 2023 13:56:00 +0200", datetime(2023, 5, 8, 13, 56, tzinfo=TWO_HOURS_EAST)),
        ("May 8th 2023", datetime(2023, 5, 8)),
        ("05/28/2023", datetime(2023, 5, 28)),
    ],
)
def test_dates_as_people_write_them(text, moment):
    assert parse_date(text) == moment
    assert (parse_date(text).tzinfo is None) == (moment.tzinfo is None)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "not a date"),
        ("yesterday", "not a date"),
        ("2023-13-45", "not a date"),
        ("99999999999999999999", "not a date"),
        ("10:30", "not whole or can be read in two ways"),
        ("May 2023", "not whole or can be read in two ways"),
        ("Monday", "not whole or can be read in two ways"),
        ("3/4/2023", "not whole or can be read in two ways"),
        ("23-05-08", "not whole or can be read in two ways"),
        ("8 May 2023 10:30 XQZ", "time zone that is not known"),
        ("0001-01-01T00:00:00+14:00", "outside the years 1 to 9999"),
    ],
)
def test_what_is_no_date_or_more_than_one_is_refused(text, why):
    with pytest.raises(ValueError, match=why):
        parse_date(text)


@given(st.datetimes(min_value=datetime(2, 1, 1), max_value=datetime(9998, 1, 1), timezones=st.none() | st.just(UTC)))
def test_iso_dates_survive(moment):
    assert parse_date(moment.isoformat()) == moment


@given(st.datetimes(min_value=datetime(1900, 1, 1), max_value=datetime(2100, 1, 1)))
def test_the_data_sets_own_layouts_survive(moment):
    minute = moment.replace(second=0, microsecond=0)
    hour = minute.strftime("%I").lstrip("0")
    assert parse_date(minute.strftime(f"{hour}:%M %p on {minute.day} %B, %Y").lower(), locomo.DATE_LAYOUT) == minute
    assert parse_date(minute.strftime("%Y/%m/%d (%a) %H:%M"), longmemeval.DATE_LAYOUT) == minute


@given(st.text(max_size=30) | st.text(alphabet="0123456789:/-+ TZapmMonay,.", max_size=20))
def test_any_text_gives_a_date_or_a_plain_error(text):
    try:
        moment = parse_date(text)
    except ValueError:
        return
    assert isinstance(moment, datetime)
    assert parse_date(text) == moment
