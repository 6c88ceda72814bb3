"""Escaping does what the standard library's does."""

from xml.sax import saxutils

from hypothesis import given
from hypothesis import strategies as st

from memorai_core.markup import escape, quoteattr


@given(st.text(alphabet=st.one_of(st.sampled_from("<>&\"'\n\r\t"), st.characters())))
def test_it_escapes_as_the_standard_library_does(text: str) -> None:
    assert escape(text) == saxutils.escape(text)
    assert quoteattr(text) == saxutils.quoteattr(text)
