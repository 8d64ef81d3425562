"""SASLprep against the examples of RFC 4013 section 3 and the tables of RFC 3454."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio.sasl._saslprep import prepare


@pytest.mark.parametrize(
    ("text", "prepared"),
    [
        ("I\u00adX", "IX"),
        ("user", "user"),
        ("USER", "USER"),
        ("\u00aa", "a"),
        ("\u2168", "IX"),
        ("", ""),
        ("a\u00a0b\u3000c", "a b c"),
        ("a\u200bb\ufe00", "ab"),
        ("\ufb01", "fi"),
        ("e\u0301", "\u00e9"),
        ("\u0627\u0628", "\u0627\u0628"),
        ("\u06271\u0628", "\u06271\u0628"),
    ],
)
def test_what_is_prepared(text: str, prepared: str) -> None:
    assert prepare(text, allow_unassigned=False) == prepared


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("\u0007", "a control character"),
        ("\u0085", "a control character"),
        ("\u0627\u0031", "begin and end"),
        ("\u0031\u0627", "begin and end"),
        ("\u0627a\u0628", "mixes"),
        ("\ue000", "a private use character"),
        ("\U000f0000", "a private use character"),
        ("\ufdd0", "a non-character"),
        ("\uffff", "a non-character"),
        ("\ud800", "a surrogate"),
        ("\ufffd", "unfit for plain text"),
        ("\u2ff0", "unfit for canonical"),
        ("\u200e", "changes display"),
        ("\U000e0041", "a tagging character"),
    ],
)
def test_what_is_forbidden(text: str, reason: str) -> None:
    for allow in (False, True):
        with pytest.raises(ValueError, match=reason):
            prepare(text, allow_unassigned=allow)


def test_unassigned_code_points_are_for_lookups_only() -> None:
    assert prepare("\U0001f600", allow_unassigned=True) == "\U0001f600"
    with pytest.raises(ValueError, match=r"Unicode 3\.2"):
        prepare("\U0001f600", allow_unassigned=False)


@given(st.text(max_size=12), st.booleans())
def test_preparing_twice_changes_nothing(text: str, allow: bool) -> None:
    try:
        prepared = prepare(text, allow_unassigned=allow)
    except ValueError as error:
        assert str(error).startswith("it")
        return
    assert prepare(prepared, allow_unassigned=allow) == prepared


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126)))
def test_printable_ascii_is_left_alone(text: str) -> None:
    assert prepare(text, allow_unassigned=False) == text
