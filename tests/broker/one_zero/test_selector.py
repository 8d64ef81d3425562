"""The selector language: parsing, precedence, types, three-valued logic."""

from __future__ import annotations

import pickle
from typing import Any
from uuid import UUID

import pytest

from amqp_sansio.amqp_1_0 import (
    Byte,
    Char,
    Decimal32,
    Decimal64,
    Decimal128,
    Float,
    Header,
    Int,
    Message,
    Properties,
    Short,
    Symbol,
    Timestamp,
    UByte,
    UInt,
    ULong,
    UShort,
)
from amqp_sansio.broker.contents.one_zero import OneZeroContent
from amqp_sansio.broker.entry import Message as Stored
from amqp_sansio.broker.one_zero.selecting import Selector, evaluate
from amqp_sansio.broker.one_zero.selector import SelectorError, parse

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
MESSAGE = Message(
    b"x",
    header=Header(durable=True, priority=7, ttl=UInt(1000), delivery_count=2),
    message_annotations={Symbol("x-opt-jms-type"): "kind"},
    properties=Properties(
        message_id="id-1",
        to="there",
        subject="topic",
        reply_to="back",
        correlation_id="abc",
        content_type=Symbol("text/plain"),
        creation_time=Timestamp(1234),
        absolute_expiry_time=Timestamp(5678),
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
    assert not Selector(text).accepts(Stored(OneZeroContent(MESSAGE.encode()), "", "", 1))


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
    empty = Message(b"x")
    evaluate(parse(f"amqp.{name} = {literal}"), empty)


@pytest.mark.rule("1.0/filters/selector/types")
@pytest.mark.parametrize(
    ("value", "text", "selects"),
    [
        *[(kind(5), "v = 5", True) for kind in (UByte, UShort, UInt, ULong, Byte, Short, Int, int, Timestamp)],
        *[(kind(1.5), "v = 1.5", True) for kind in (Float, float)],
        *[(kind.from_decimal("1.5"), "v > 1.4 AND v < 1.6", True) for kind in (Decimal32, Decimal64, Decimal128)],
        (Char("a"), "v = 'a'", False),
        (Char("a"), "v IS NOT NULL", True),
        (Symbol("a"), "v = 'a'", True),
        (b"a", "v = 'a'", False),
        (b"a", "v IS NULL", False),
        (UUID(int=1), "v = 1", False),
        (None, "v IS NULL", True),
        (True, "v", True),
        (UByte(1), "v = TRUE", False),
    ],
    ids=lambda each: repr(each)[:40],
)
def test_types_of_amqp_are_compared_as_those_of_jms(value: Any, text: str, selects: bool) -> None:
    message = Message(b"x", application_properties={"v": value})
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
    with pytest.raises(SelectorError, match="is the most"):
        parse("a" * 70_000)
    assert parse("NOT " * 5000 + "a") == ("name", "a")


def test_a_hard_pattern_is_decided_soon() -> None:
    message = Message(b"x", application_properties={"v": "a" * 3000 + "b"})
    assert evaluate(parse("v LIKE '" + "%a" * 30 + "%c'"), message) is False


def test_a_selector_pickles() -> None:
    selector = Selector("colour = 'blue'")
    stored = Stored(OneZeroContent(MESSAGE.encode()), "", "", 1)
    assert pickle.loads(pickle.dumps(selector)).accepts(stored)
    assert not selector.accepts(Stored(OneZeroContent(b"\xff", 9), "", "", 1))
