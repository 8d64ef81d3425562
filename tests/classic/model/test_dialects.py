"""The dialects of 0-8 and 0-9-1: whole method sets, who may send what, what answers it, reply codes."""

import pickle

import pytest

from amqp_sansio import amqp_0_8 as old
from amqp_sansio import amqp_0_9_1 as new
from amqp_sansio._classic.codec.dialect import DIALECTS, Dialect, default_dialect, get_dialect
from amqp_sansio.endpoint import Side
from amqp_sansio.errors import CodecError
from amqp_sansio.versions import AMQP_0_8, AMQP_0_9_1
from tests.kit.facing_classic import both_rules

CLIENT, SERVER, BOTH = (Side.CLIENT,), (Side.SERVER,), (Side.CLIENT, Side.SERVER)

STANDARD_0_8 = {
    10: (10, 11, 20, 21, 30, 31, 40, 41, 50, 60, 61),
    20: (10, 11, 20, 21, 30, 40, 41),
    30: (10, 11),
    40: (10, 11, 20, 21),
    50: (10, 11, 20, 21, 30, 31, 40, 41),
    60: (10, 11, 20, 21, 30, 31, 40, 50, 60, 70, 71, 72, 80, 90, 100),
    70: (10, 11, 20, 21, 30, 31, 40, 41, 50, 60, 70, 80, 90, 100),
    80: (10, 11, 20, 21, 30, 31, 40, 50, 60),
    90: (10, 11, 20, 21, 30, 31),
    100: (10, 11, 20, 21),
    110: (10,),
    120: (10, 11, 20, 21, 30, 31, 40, 41),
}
STANDARD_0_9_1 = {
    10: (10, 11, 20, 21, 30, 31, 40, 41, 50, 51),
    20: (10, 11, 20, 21, 40, 41),
    40: (10, 11, 20, 21),
    50: (10, 11, 20, 21, 30, 31, 40, 41, 50, 51),
    60: (10, 11, 20, 21, 30, 31, 40, 50, 60, 70, 71, 72, 80, 90, 100, 110, 111),
    90: (10, 11, 20, 21, 30, 31),
}
ADDED: dict[str, dict[int, tuple[int, ...]]] = {
    "0-8": {},
    "0-8-rabbit": {50: (50, 51), 60: (110, 111)},
    "0-8-qpid": {40: (22, 23), 60: (101,)},
    "0-9-1": {},
    "0-9-1-rabbit": {10: (60, 61, 70, 71), 30: (10, 11), 40: (30, 31, 40, 51), 60: (120, 200, 201, 202), 85: (10, 11)},
    "0-9-1-qpid": {40: (22, 23), 60: (120,), 85: (10, 11)},
}

every_dialect = pytest.mark.parametrize("dialect", [get_dialect(name) for name in DIALECTS], ids=repr)


@every_dialect
@pytest.mark.rule("0-8/wire/class-id-range", "0-9-1/wire/class-id-range")
def test_a_dialect_has_its_whole_set_of_methods(dialect: Dialect) -> None:
    expected: set[tuple[int, int]] = set()
    standard = STANDARD_0_8 if dialect.version is AMQP_0_8 else STANDARD_0_9_1
    for group in (standard, ADDED[dialect.name]):
        expected |= {(kind, number) for kind, numbers in group.items() for number in numbers}
    assert {(number >> 16, number & 0xFFFF) for number in dialect.methods} == expected
    assert dialect.named == {kind.NAME: kind for kind in dialect.methods.values()}
    assert dialect.senders.keys() == dialect.replies.keys() == dialect.methods.keys()
    assert all(0 < number < 0xF000 for number, _ in expected)


@every_dialect
def test_every_content_has_properties(dialect: Dialect) -> None:
    content = {kind.CLASS_ID for kind in dialect.methods.values() if kind.HAS_CONTENT}
    assert content == set(dialect.properties)


@every_dialect
def test_a_dialect_pickles_by_name(dialect: Dialect) -> None:
    assert pickle.loads(pickle.dumps(dialect)) is dialect
    assert get_dialect(dialect.name) is dialect
    assert repr(dialect) == f"<Dialect {dialect.name}>"


def test_the_versions_of_the_dialects() -> None:
    for name in DIALECTS:
        dialect = get_dialect(name)
        if name.startswith("0-8"):
            assert dialect.version is AMQP_0_8
            assert (dialect.version_major, dialect.version_minor) == (8, 0)
            assert dialect.header == b"AMQP\x01\x01\x08\x00"
        else:
            assert dialect.version is AMQP_0_9_1
            assert (dialect.version_major, dialect.version_minor) == (0, 9)
            assert dialect.header == b"AMQP\x00\x00\x09\x01"
    assert default_dialect(AMQP_0_9_1) is new.spec.RABBIT is new.spec.DIALECTS["0-9-1-rabbit"]
    assert default_dialect(AMQP_0_8) is old.spec.RABBIT
    with pytest.raises(ValueError, match="no dialect is called '0-9'"):
        get_dialect("0-9")


def test_one_number_means_different_methods() -> None:
    def name(dialect: str, kind: int, number: int) -> str | None:
        found = get_dialect(dialect).methods.get(kind << 16 | number)
        return found.NAME if found else None

    assert name("0-8", 10, 50) == "connection.redirect"
    assert name("0-9-1", 10, 50) == "connection.close"
    assert name("0-8", 10, 60) == "connection.close"
    assert name("0-9-1-rabbit", 10, 60) == "connection.blocked"
    assert name("0-9-1", 10, 60) is None
    assert name("0-8", 60, 100) == "basic.recover"
    assert name("0-9-1", 60, 100) == "basic.recover-async"
    assert name("0-8-qpid", 60, 101) == "basic.recover-ok"
    assert name("0-9-1", 60, 110) == "basic.recover"
    assert name("0-8-rabbit", 60, 110) == "basic.recover-sync"
    assert name("0-9-1-rabbit", 40, 41) is None
    assert name("0-9-1-rabbit", 40, 51) == "exchange.unbind-ok"


def test_what_both_versions_have_alike_is_one_class() -> None:
    standard_0_8, standard_0_9_1 = get_dialect("0-8"), get_dialect("0-9-1")
    shared = {kind.NAME for number, kind in standard_0_8.methods.items() if standard_0_9_1.methods.get(number) is kind}
    assert len(shared) == 42
    assert {"basic.publish", "basic.deliver", "queue.declare", "connection.tune"} <= shared
    alike = {
        kind.NAME
        for number, kind in standard_0_8.methods.items()
        if (other := standard_0_9_1.methods.get(number)) is not None
        and [wire for _, wire in other.WIRE] == [wire for _, wire in kind.WIRE]
        and other.NAME == kind.NAME
    }
    # These two are answered by methods that differ.
    assert alike - shared == {"connection.open", "channel.open"}
    assert old.BasicProperties is new.BasicProperties


@pytest.mark.parametrize(
    ("name", "method", "sides"),
    [
        ("0-8", "basic.ack", CLIENT),
        ("0-9-1", "basic.ack", CLIENT),
        ("0-9-1-qpid", "basic.ack", BOTH),
        ("0-9-1-qpid", "basic.nack", BOTH),
        ("0-9-1-rabbit", "basic.ack", BOTH),
        ("0-9-1-rabbit", "basic.nack", BOTH),
        ("0-9-1", "basic.cancel", CLIENT),
        ("0-9-1-rabbit", "basic.cancel", BOTH),
        ("0-9-1", "basic.cancel-ok", SERVER),
        ("0-9-1-rabbit", "basic.cancel-ok", BOTH),
        ("0-9-1-rabbit", "basic.reject", CLIENT),
        ("0-9-1", "basic.publish", CLIENT),
        ("0-9-1", "basic.return", SERVER),
        ("0-9-1", "channel.flow", BOTH),
        ("0-9-1", "channel.close-ok", BOTH),
        ("0-9-1", "connection.start", SERVER),
        ("0-9-1-rabbit", "connection.update-secret", CLIENT),
        ("0-9-1-rabbit", "connection.update-secret-ok", SERVER),
        ("0-9-1-rabbit", "basic.credit", CLIENT),
        ("0-9-1-rabbit", "basic.credit-drained", SERVER),
        ("0-8", "channel.alert", SERVER),
        ("0-8", "file.open", BOTH),
        ("0-8", "file.stage", BOTH),
        ("0-8", "test.integer", BOTH),
        ("0-8", "tunnel.request", BOTH),
    ],
)
def test_who_may_send(name: str, method: str, sides: tuple[Side, ...]) -> None:
    dialect = get_dialect(name)
    assert set(dialect.senders[dialect.named[method].ID]) == set(sides)


@pytest.mark.parametrize(
    ("name", "method", "replies"),
    [
        ("0-8", "connection.open", ("connection.open-ok", "connection.redirect")),
        ("0-9-1", "connection.open", ("connection.open-ok",)),
        ("0-9-1", "basic.get", ("basic.get-ok", "basic.get-empty")),
        ("0-8", "basic.recover", ()),
        ("0-8-rabbit", "basic.recover", ()),
        ("0-8-qpid", "basic.recover", ("basic.recover-ok",)),
        ("0-8-rabbit", "basic.recover-sync", ("basic.recover-sync-ok",)),
        ("0-9-1", "basic.recover", ("basic.recover-ok",)),
        ("0-9-1", "basic.recover-async", ()),
        ("0-8", "file.open", ("file.open-ok",)),
        ("0-8", "file.open-ok", ("file.stage",)),
        ("0-8", "test.content", ("test.content-ok",)),
        ("0-8-qpid", "exchange.bound", ("exchange.bound-ok",)),
        ("0-9-1-rabbit", "confirm.select", ("confirm.select-ok",)),
        ("0-9-1-rabbit", "basic.credit", ("basic.credit-ok",)),
        ("0-9-1", "channel.flow", ("channel.flow-ok",)),
        ("0-9-1", "basic.publish", ()),
    ],
)
def test_what_answers(name: str, method: str, replies: tuple[str, ...]) -> None:
    dialect = get_dialect(name)
    assert tuple(kind.NAME for kind in dialect.replies[dialect.named[method].ID]) == replies


@every_dialect
def test_every_answer_is_an_answer_to_something(dialect: Dialect) -> None:
    answers = {reply for replies in dialect.replies.values() for reply in replies}
    for kind in dialect.methods.values():
        if kind in answers:
            assert kind.IS_REPLY, kind.NAME
        elif kind.IS_REPLY:
            assert kind.NAME.endswith("-ok"), kind.NAME


@both_rules("constant/soft-vs-hard")
@every_dialect
def test_reply_codes(dialect: Dialect) -> None:
    soft = {code for code, (_, hard) in dialect.codes.items() if not hard}
    hard = {code for code, (_, hard) in dialect.codes.items() if hard}
    base_hard = {320, 402, 501, 502, 503, 504, 506, 530, 540, 541}
    if dialect.name in ("0-8", "0-8-qpid"):
        assert (soft, hard) == ({310, 311, 403, 404, 405}, base_hard)
    elif dialect.name in ("0-9-1", "0-9-1-qpid"):
        assert (soft, hard) == ({311, 313, 403, 404, 405, 406}, base_hard | {505})
    else:
        extra = {310} if dialect.version is AMQP_0_8 else set[int]()
        assert (soft, hard) == ({311, 312, 313, 403, 404, 405, 406} | extra, base_hard | {505})
    assert dialect.codes[404] == ("not-found", False)
    assert dialect.is_hard(501) and not dialect.is_hard(404)
    assert dialect.is_hard(999)


@pytest.mark.parametrize("payload", [b"\x00\x63\x00\x01", b"\x00\x3c\x00\x09rest", b"\xff\xff\xff\xff"])
@every_dialect
def test_an_unknown_method_is_an_invalid_command(dialect: Dialect, payload: bytes) -> None:
    with pytest.raises(CodecError, match="has no method") as error:
        dialect.decode_method(payload)
    assert error.value.code == 503


@every_dialect
def test_a_method_without_its_number_is_a_syntax_error(dialect: Dialect) -> None:
    with pytest.raises(CodecError, match="less than four octets") as error:
        dialect.decode_method(b"\x00\x3c\x00")
    assert error.value.code == 502


@every_dialect
def test_rules_of_tables_with_any_names(dialect: Dialect) -> None:
    rules = dialect.tables
    lenient = rules.with_any_names()
    assert not lenient.strict_names
    assert (lenient is rules) is not rules.strict_names
    assert (lenient.name, lenient.writes, lenient.depth) == (rules.name, rules.writes, rules.depth)
