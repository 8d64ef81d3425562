"""The selector language: parsing, precedence, types, three-valued logic."""

import pickle
import re
from typing import Any
from uuid import UUID

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.amqp_1_0 import spec
from amqp_sansio.broker.contents.amqp_1_0 import Content_1_0
from amqp_sansio.broker.frontends.amqp_1_0.pattern import Pattern
from amqp_sansio.broker.frontends.amqp_1_0.selecting import Selector, evaluate
from amqp_sansio.broker.frontends.amqp_1_0.selector import SelectorError, parse
from amqp_sansio.broker.model.content import Message as Stored
from amqp_sansio.testing import amqp_1_0
from tests.kit.steps import count_steps

VALUES: dict[str, Any] = {
    "colour": "blue",
    "weight": 2500,
    "price": 9.5,
    "ok": True,
    "no": False,
    "nothing": None,
    "zero": 0,
    "text": "it's 100% _fun_",
    "$odd_name.x": 1,
    "two words": "yes",
}
MESSAGE = amqp.Message(
    b"x",
    header=amqp.Header(durable=True, priority=7, ttl=spec.UInt(1000), delivery_count=2),
    message_annotations={amqp.Symbol("x-opt-jms-type"): "kind"},
    properties=amqp.Properties(
        message_id="id-1",
        to="there",
        subject="topic",
        reply_to="back",
        correlation_id="abc",
        content_type=amqp.Symbol("text/plain"),
        creation_time=amqp.Timestamp(1234),
        absolute_expiry_time=amqp.Timestamp(5678),
        group_id="g",
        group_sequence=3,
    ),
    application_properties=VALUES,
)


def value_of(text: str) -> Any:
    return evaluate(parse(text), MESSAGE)


@pytest.mark.parametrize(
    "text",
    [
        *("colour = 'blue'", "colour <> 'red'", "colour != 'red'", "weight > 2499", "weight >= 2500", "weight < 2501"),
        *("weight <= 2500", "price = 9.5", "weight = 2500.0", "weight = 2.5e3", "weight = 0x9C4", "weight = 2500L"),
        *("weight = 04704", "weight = 0b100111000100", "price = 9.5f", "price = 95d / 10", "price = .95E+1"),
        *("ok", "ok = TRUE", "no = false", "NOT no", "not not ok", "ok AND NOT no", "no OR ok", "(no OR ok) AND ok"),
        *("weight BETWEEN 2500 AND 3000", "weight NOT BETWEEN 1 AND 2", "price between 9 and 10"),
        *("colour IN ('red', 'blue')", "colour NOT IN ('red')", "weight IN (1, 2500)"),
        *("colour LIKE 'b%'", "colour LIKE '_lue'", "colour NOT LIKE 'r%'", "colour LIKE '%'", "colour LIKE 'b%u%e'"),
        *("text LIKE 'it''s 100!% !_fun!_' ESCAPE '!'", "text LIKE 'it%fun_'", "colour LIKE 'blue'"),
        *("missing IS NULL", "nothing IS NULL", "colour IS NOT NULL", "(missing = 1) IS NULL"),
        *("weight + 1 = 2501", "weight - 500 * 2 = 1500", "(weight - 500) * 2 = 4000"),
        *("-weight = -2500", "+weight > 0"),
        *("weight / 1000 = 2", "-weight / 1000 = -2", "weight / 1000.0 = 2.5"),
        *("weight % 1000 = 500", "- - weight = 2500"),
        *("$odd_name.x = 1", "\"two words\" = 'yes'", "2 < weight", "colour='blue'and weight>1 or no", "zero = -0"),
        *("no AND no OR ok", "ok OR ok AND no", "NOT no AND ok", "1 + 1 = 2 AND 2 + 2 = 4", "'a' = 'a'"),
        *("missing = 1 OR ok", "ok OR missing = 1", "NOT (missing = 1 AND no)", "colour IN (nothing, 'blue')"),
    ],
)
def test_what_selects(text: str) -> None:
    assert value_of(text) is True


@pytest.mark.parametrize(
    "text",
    [
        *("colour = 'red'", "colour = 1", "colour <> 1", "weight = '2500'", "weight <> '1'", "ok = 'true'", "ok <> 1"),
        *("colour > 'a'", "colour < 'z'", "ok > no", "no", "NOT ok", "colour LIKE 'lue'", "colour LIKE 'b_'"),
        *("weight LIKE '2%'", "colour IN ('red')", "colour NOT IN ('blue')", "colour IS NULL", "missing IS NOT NULL"),
        *("weight NOT BETWEEN 1 AND 3000", "text LIKE 'it!%' ESCAPE '!'", "colour LIKE ''", "weight IN ('2500')"),
        *("missing = 1 AND no", "no AND missing = 1", "colour LIKE 'b%x%e'"),
    ],
)
def test_what_is_false(text: str) -> None:
    assert value_of(text) is False


@pytest.mark.parametrize(
    "text",
    [
        *("missing = 1", "missing <> 1", "NOT missing = 1", "missing", "nothing", "NOT nothing", "missing > 1"),
        *("missing LIKE 'a'", "missing IN (1)", "missing NOT IN (1)"),
        *("colour IN (nothing, 'red')", "missing BETWEEN 1 AND 2"),
        *("ok AND missing = 1", "no OR missing = 1", "weight / 0 > 1", "weight % 0 = 1"),
        *("1.0 / 0 = 1", "colour + 1 = 2"),
        *("-colour = 1", "NULL", "NULL = NULL", "1e308 * 1e308 * 0 = 1 AND missing = 1"),
    ],
)
def test_what_is_unknown(text: str) -> None:
    assert value_of(text) in (None, False)
    assert not Selector(text).accepts(Stored(Content_1_0(MESSAGE.encode()), "", "", 1))


@pytest.mark.rule("1.0/filters/selector/names")
@pytest.mark.parametrize(
    ("name", "jms", "literal"),
    [
        ("message_id", "JMSMessageID", "'id-1'"),
        ("correlation_id", "JMSCorrelationID", "'abc'"),
        ("to", "JMSDestination", "'there'"),
        ("reply_to", "JMSReplyTo", "'back'"),
        ("creation_time", "JMSTimestamp", "1234"),
        ("absolute_expiry_time", "JMSExpiration", "5678"),
        ("priority", "JMSPriority", "7"),
        ("delivery_mode", "JMSDeliveryMode", "'PERSISTENT'"),
        ("redelivered", "JMSRedelivered", "TRUE"),
        ("jms_type", "JMSType", "'kind'"),
        ("durable", None, "TRUE"),
        ("subject", None, "'topic'"),
        ("content_type", None, "'text/plain'"),
        ("group_id", None, "'g'"),
        ("group_sequence", None, "3"),
        ("ttl", None, "1000"),
        ("delivery_count", None, "2"),
        ("first_acquirer", None, "FALSE"),
    ],
)
def test_names_of_fields(name: str, jms: str | None, literal: str) -> None:
    assert value_of(f"amqp.{name} = {literal}") is True
    if jms is not None:
        assert value_of(f"{jms} = {literal}") is True
    empty = amqp.Message(b"x")
    evaluate(parse(f"amqp.{name} = {literal}"), empty)


@pytest.mark.rule("1.0/filters/selector/types")
@pytest.mark.parametrize(
    ("value", "text", "selects"),
    [
        *[
            (kind(5), "v = 5", True)
            for kind in (
                spec.UByte,
                spec.UShort,
                spec.UInt,
                spec.ULong,
                spec.Byte,
                spec.Short,
                spec.Int,
                int,
                amqp.Timestamp,
            )
        ],
        *[(kind(1.5), "v = 1.5", True) for kind in (spec.Float, float)],
        *[
            (kind.from_decimal("1.5"), "v > 1.4 AND v < 1.6", True)
            for kind in (spec.Decimal32, spec.Decimal64, spec.Decimal128)
        ],
        (spec.Char("a"), "v = 'a'", False),
        (spec.Char("a"), "v IS NOT NULL", True),
        (amqp.Symbol("a"), "v = 'a'", True),
        (b"a", "v = 'a'", False),
        (b"a", "v IS NULL", False),
        (UUID(int=1), "v = 1", False),
        (None, "v IS NULL", True),
        (True, "v", True),
        (spec.UByte(1), "v = TRUE", False),
    ],
    ids=lambda each: repr(each)[:40],
)
def test_types_of_amqp_are_compared_as_those_of_jms(value: Any, text: str, selects: bool) -> None:
    message = amqp.Message(b"x", application_properties={"v": value})
    assert (evaluate(parse(text), message) is True) is selects


@pytest.mark.parametrize(
    "text",
    [
        *("", "   ", "a =", "= 1", "a = 'open", 'a = "open', "a IN ()", "a IN 1", "a BETWEEN 1", "a BETWEEN 1 OR 2"),
        *("a LIKE b", "a LIKE 'x' ESCAPE 'xy'", "a LIKE 'x!' ESCAPE '!'", "a NOT", "a NOT 1"),
        *("a IS 1", "a IS NOT", "(a"),
        *("a)", "a b", "1 2", "a ; b", "1e", "0x", "0xg", "09", "12abc", "1.5x", "AND a", "a AND", "NOT", "a = #"),
    ],
)
def test_what_is_no_selector(text: str) -> None:
    with pytest.raises(SelectorError, match=r"selector|number|quote|ESCAPE|pattern"):
        parse(text)


def test_a_selector_is_bounded() -> None:
    with pytest.raises(SelectorError, match="nested deeper"):
        parse("(" * 101 + "a" + ")" * 101)
    with pytest.raises(SelectorError, match=r"BrokerLimits\.selector allows"):
        parse("a" * 70_000)
    assert parse("NOT " * 5000 + "a") == (("name", "a"),)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (" OR ".join([f"weight = {number}" for number in range(1500)]) + " OR ok", True),
        (" AND ".join([f"weight <> {number}" for number in range(1500)]), True),
        ("weight" + " + 1" * 1500 + " = 4000", True),
        ("weight" + " = 2500" * 1500, False),
        ("- +" * 1501 + "weight < 0", True),
        ("weight NOT IN (" + ", ".join(map(str, range(1500))) + ")", True),
        ("no OR ok AND zero < weight + 1 * (" * 100 + "1" + ")" * 100, None),
    ],
    ids=["OR", "AND", "+", "=", "- +", "IN", "parentheses"],
)
def test_a_selector_with_many_terms_is_like_any_other(text: str, value: Any) -> None:
    assert value_of(text) is value


def test_a_selector_costs_steps_in_proportion_to_its_terms() -> None:
    def steps(terms: int) -> int:
        program = parse(" AND ".join(["weight * weight * weight > 1"] * terms))
        return count_steps(lambda: evaluate(program, MESSAGE))

    assert steps(1000) < 2.2 * steps(500)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (f"weight < {2**64} AND weight > -{2**64}", True),
        (f"{2**64 - 1} - {2**64 - 2} = 1", True),
        ("weight" + " * weight" * 5000 + " = 1", False),
        (f"{2**64 - 1} + 1 = {2.0**64:.1f}", True),
        ("0x" + "f" * 240 + " > 1.0", True),
    ],
    ids=lambda value: str(value)[:20],
)
def test_integers_never_grow_beyond_64_bits(text: str, value: bool) -> None:
    assert value_of(text) is value
    with pytest.raises(SelectorError, match="no number"):
        parse("0x" + "f" * 300)


@pytest.mark.parametrize("bits", ["7e000000", "fe000000", "7c000000", "fc000001", "78000000", "f8000000", "ffffffff"])
def test_decimals_that_are_no_number_compare_like_floats(bits: str) -> None:
    message = amqp.Message(b"x", application_properties={"v": spec.Decimal32(bytes.fromhex(bits))})
    infinite = bits in ("78000000", "f8000000")
    assert evaluate(parse("v = v AND v + 1 = v"), message) is infinite
    assert evaluate(parse("v < 0"), message) is (bits == "f8000000")
    assert evaluate(parse("v IS NULL OR v = 1 OR v IN (1, 2) OR v BETWEEN 1 AND 2 OR v LIKE 'N%'"), message) is False


_LITERALS = st.one_of(
    st.sampled_from(["a", "b", "c", "d", "NULL", "TRUE", "FALSE", "1", "-1", "0", "2.5", "1e308", "0x7fffffff", "'x'"]),
    st.sampled_from(["amqp.message_id", "amqp.correlation_id", "amqp.creation_time", "amqp.ttl", "JMSType"]),
)


def _combined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    two = st.sampled_from(["OR", "AND", "=", "<>", "<", "<=", ">", ">=", "+", "-", "*", "/", "%"])
    return st.one_of(
        st.tuples(inner, two, inner).map(lambda each: f"({each[0]}) {each[1]} ({each[2]})"),
        inner.map(lambda each: f"NOT ({each})"),
        inner.map(lambda each: f"-({each})"),
        inner.map(lambda each: f"({each}) IS NOT NULL"),
        st.tuples(inner, inner, inner).map(lambda each: f"({each[0]}) BETWEEN ({each[1]}) AND ({each[2]})"),
        st.tuples(inner, inner, inner).map(lambda each: f"({each[0]}) NOT IN (({each[1]}), ({each[2]}))"),
        inner.map(lambda each: f"({each}) LIKE '%_a%b_c%'"),
    )


_DECIMALS = (spec.Decimal32, spec.Decimal64, spec.Decimal128)
_ANYTHING = amqp_1_0.scalars() | st.sampled_from(
    [
        *[kind.from_decimal(text) for kind in _DECIMALS for text in ("sNaN", "NaN", "-Infinity")],
        *(
            spec.Decimal128.from_decimal("1E+6000"),
            float("nan"),
            float("inf"),
            2**63 - 1,
            -(2**63),
            amqp.Timestamp(-(2**63)),
        ),
    ]
)
_IDS = st.one_of(amqp_1_0.SCALARS[spec.ULong], st.uuids(), st.binary(max_size=3), st.text("xa\u00e9", max_size=3))


@given(
    text=st.recursive(_LITERALS, _combined, max_leaves=12),
    values=st.fixed_dictionaries({}, optional={name: _ANYTHING for name in "abcd"}),
    ids=st.tuples(_IDS, _IDS),
    annotation=amqp_1_0.values(),
)
@example("a = a", {"a": spec.Decimal32(bytes.fromhex("7e000000"))}, ("x", "y"), None)
@example("a % b = 1", {"a": float("inf"), "b": 2}, ("x", "y"), None)
@example("a / b = 1", {"a": 2**63 - 1, "b": 5e-324}, ("x", "y"), None)
@example("JMSType = JMSType", {}, ("x", "y"), [{"a": [1]}])
def test_evaluating_never_raises(text: str, values: dict[str, Any], ids: tuple[Any, Any], annotation: Any) -> None:
    message = amqp.Message(
        b"x",
        message_annotations={amqp.Symbol("x-opt-jms-type"): annotation},
        properties=amqp.Properties(message_id=ids[0], correlation_id=ids[1], creation_time=amqp.Timestamp(2**63 - 1)),
        application_properties=values,
    )
    arrived = amqp.Message.from_wire(message.encode())
    program = parse(text)
    first, second = evaluate(program, message), evaluate(program, arrived)
    # A not-a-number isn't equal to itself.
    assert repr(first) == repr(second)


@given(octets=st.binary(max_size=60), where=st.integers(0, 60))
def test_of_a_damaged_message_nothing_is_selected(octets: bytes, where: int) -> None:
    whole = MESSAGE.encode()
    damaged = amqp.Message.from_wire(whole[:where] + octets + whole[where + len(octets) :])
    for name in ("colour", "JMSMessageID", "JMSPriority", "JMSType", "amqp.ttl"):
        evaluate(parse(f"{name} = {name}"), damaged)
    stored = Stored(Content_1_0(damaged.encode()), "", "", 1)
    assert Selector("colour = 'blue' OR TRUE").accepts(stored) in (True, False)


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("a", "%" + "a" * 500 + "_" + "a" * 499 + "b%"),
        ("a", "%" + "%_a" * 1000 + "b%"),
        ("a", "%a" * 1000 + "%c"),
        ("ab", "%" + "a_" * 400 + "c%" + "a_" * 400 + "%"),
        ("a", "_" * 1000 + "%" + "_" * 1000 + "b%"),
        ("a", "%" + "a" * 4000 + "b%"),
    ],
    ids=["one gap", "gaps", "many", "two parts", "only gaps", "no gap"],
)
def test_a_like_costs_steps_in_proportion_to_the_text(text: str, pattern: str) -> None:
    made = Pattern(pattern)

    def steps(length: int) -> int:
        subject = text * (length // len(text))
        assert not made.matches(subject)
        return count_steps(lambda: made.matches(subject))

    one, two = steps(8000), steps(16_000)
    assert two < 2.2 * one
    # Each character of the text is looked at by one line for a few of them, and each part of the pattern once.
    assert one < 8 * (8000 + len(pattern))


_PATTERNS = st.text("ab_%!", max_size=12).filter(lambda text: not text.replace("!!", "").endswith("!"))


@given(text=st.text("ab_%!", max_size=16), pattern=_PATTERNS)
def test_a_like_says_what_a_regular_expression_says(text: str, pattern: str) -> None:
    pieces: list[str] = re.findall("!.|.", pattern)
    expression = "".join([{"%": ".*", "_": "."}.get(each, re.escape(each[-1])) for each in pieces])
    assert Pattern(pattern, "!").matches(text) is (re.fullmatch(expression, text, re.DOTALL) is not None)


def test_a_part_with_gaps_has_a_longest_length() -> None:
    assert Pattern("%" + "a_" * 512 + "%").matches("a" * 1024)
    with pytest.raises(SelectorError, match="1025 characters between two %, 1024 is the most"):
        parse("v LIKE '%" + "a_" * 512 + "a%'")


@pytest.mark.parametrize(
    ("pattern", "matches"),
    [
        pytest.param("a_" * 1000, False, id="no end is open"),
        pytest.param("%" + "a_" * 1000, True, id="gaps at the end"),
        pytest.param("%" + "_" * 5000 + "a%", True, id="gaps before a character"),
        pytest.param("%" + "a" * 5000 + "%", True, id="a part without gaps"),
    ],
)
def test_other_parts_may_be_longer(pattern: str, matches: bool) -> None:
    assert Pattern(pattern).matches("a" * 6000) is matches


def test_a_selector_pickles() -> None:
    selector = Selector("colour = 'blue'")
    stored = Stored(Content_1_0(MESSAGE.encode()), "", "", 1)
    assert pickle.loads(pickle.dumps(selector)).accepts(stored)
    assert not selector.accepts(Stored(Content_1_0(b"\xff", 9), "", "", 1))
