"""Texts that quote a peer: none of them acts on a terminal or breaks `print`, whatever the peer wrote."""

import io
import json
import pickle
from collections.abc import Iterable, Iterator
from contextlib import redirect_stdout
from itertools import islice
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import amqp_sansio.errors
from amqp_sansio import AMQP_0_8, AMQP_0_9_1, By, CloseReport, Failed, Side
from amqp_sansio._classic.codec.table import RABBIT, Table
from amqp_sansio._classic.codec.violation import Violation as ClassicViolation
from amqp_sansio.amqp_0_9_1 import BasicProperties
from amqp_sansio.amqp_0_10 import Map as Map10
from amqp_sansio.amqp_0_10.codec.violation import Violation as Violation10
from amqp_sansio.amqp_0_10.spec import COMMANDS, CONTROLS
from amqp_sansio.amqp_1_0 import Error, Message, Source, Target
from amqp_sansio.amqp_1_0.codec.values import Described, Map, Symbol
from amqp_sansio.amqp_1_0.codec.violation import Violation as Violation1
from amqp_sansio.amqp_1_0.spec import Attach, Begin, Close, Detach, Open, Transfer
from amqp_sansio.errors import AmqpError, NotAccepted
from amqp_sansio.observer import Violation
from amqp_sansio.printing import json_string, printable, visible
from amqp_sansio.recorded.tables import replay_segments
from amqp_sansio_cli.output import json_lines, table_lines, write_lines
from tests.amqp_0_10.codec.test_bad_octets import EXAMPLES
from tests.kit.classic_values import every_method
from tests.kit.facing_1_0 import Facing as Facing1
from tests.kit.facing_classic import Facing
from tests.kit.observing import Talk
from tests.kit.octets_1_0 import octets_of
from tests.kit.octets_classic import body, frame, header
from tests.kit.talk_0_10 import Talk010
from tests.kit.talk_1_0 import Talk10
from tests.tables.test_tables import packets

EVIL = "\x1b]0;x\x07\x1b[2J\r\n\t\x00\x7f\x85\x9b1m\u200b\u2028\u202e\U000e0041'\"\\"
SURROGATE = b"\xff\x9b".decode("utf-8", "surrogateescape")
EVIL_TABLE = {EVIL[:20]: EVIL, "s": SURROGATE}
TEXTS = st.text(st.characters() | st.sampled_from(EVIL + SURROGATE), max_size=30)


def harmless(text: str) -> str:
    """The text, if it can be printed anywhere and does nothing there."""
    assert text.isprintable(), text.encode("unicode_escape")
    text.encode()
    return text


# The one place.


def test_a_text_of_several_lines_keeps_them() -> None:
    assert visible(f"a{EVIL[:6]}\n\nb\r") == "a\\x1b]0;x\\x07\n\nb\\r"


@given(TEXTS)
def test_whatever_is_written_is_printable_and_says_what_was_there(text: str) -> None:
    shown = harmless(printable(text))
    assert printable(shown) == shown
    if text.isprintable():
        assert shown == text
    elif "\\" not in text:
        assert shown.encode("latin-1", "backslashreplace").decode("unicode_escape") == text


@given(TEXTS)
def test_a_string_of_json_is_printable_and_reads_as_it_was(text: str) -> None:
    assert json.loads(harmless(json_string(text))) == text


ERRORS = [kind for kind in vars(amqp_sansio.errors).values() if isinstance(kind, type) and issubclass(kind, AmqpError)]


@pytest.mark.parametrize("kind", ERRORS, ids=lambda kind: kind.__name__)
@given(text=TEXTS)
def test_the_text_of_every_error_is_printable(kind: Any, text: str) -> None:
    error = kind(text, "outcome") if kind is NotAccepted else kind(text)
    again = pickle.loads(pickle.dumps(error))
    for each in (error, again):
        assert harmless(str(each)) == printable(text)
        harmless(repr(each))


@given(TEXTS)
def test_what_the_engines_raise_within_is_printable(text: str) -> None:
    for error in (ClassicViolation(1, text), Violation10(1, text), Violation1("c", text, rule="r")):
        harmless(str(error))
    harmless(ClassicViolation(1, text).text)


@given(TEXTS, TEXTS, TEXTS)
def test_a_report_is_printable_and_keeps_the_peers_words(text: str, hint: str, condition: str) -> None:
    report = CloseReport(By.REMOTE, 320, text, hint=hint, condition=condition)
    harmless(str(report))
    harmless(repr(report))
    assert (report.text, report.hint, report.condition) == (text, printable(hint), condition)
    assert pickle.loads(pickle.dumps(report)) == report


@given(TEXTS)
def test_an_observed_violation_is_printable(text: str) -> None:
    violation = Violation(Side.CLIENT, "rule", "error", text, 0, 0)
    assert harmless(violation.text) == printable(text)
    assert pickle.loads(pickle.dumps(violation)) == violation


# What is read late, and damaged.

DAMAGED: list[Any] = [
    BasicProperties.from_wire(b"\x80\x00\x05a", RABBIT),
    BasicProperties(headers=Table.from_wire(b"\x01aS", RABBIT)),
    Table.from_wire(b"\x01aS", RABBIT),
    Map.from_wire(b"\xc1\x03\x02\xa1\x01"),
    Map10.from_wire(b"\0\0\0\1"),
    Described(Symbol("a"), Map.from_wire(b"\xc1\x03\x02\xa1\x01")),
    Message.from_wire(b"\0\x53\x73\xc0\x02\x01\xa1"),
    Message.from_wire(b"\0\x53\x74\xc1\x03\x02\xa1\x01"),
    Message.from_wire(b"\0\x53\x77"),
    Message.from_wire(b"nothing"),
]


@pytest.mark.parametrize("value", DAMAGED, ids=lambda value: type(value).__name__)
def test_what_is_damaged_is_shown_as_damaged(value: Any) -> None:
    assert "damaged octets" in harmless(repr(value))


# Everything that is observed, and everything that an endpoint says.


def _check_events(events: Iterable[Any]) -> int:
    count = 0
    for event in events:
        harmless(repr(event))
        count += 1
        if isinstance(event, Violation):
            harmless(event.text)
        error, report = getattr(event, "error", None), getattr(event, "report", None)
        if isinstance(event, Failed):
            harmless(str(error))
        if report is not None:
            harmless(str(report))
            harmless(report.hint)
    return count


def _check_rows(talk: Any) -> None:
    found: dict[str, list[Any]] = {}
    for table, values in replay_segments(packets(talk)):
        found.setdefault(table, []).append(values)
    straight = [line for _, (line,) in replay_segments(packets(talk), tables={"events"}, lines=True)]
    assert straight == list(json_lines("events", found["events"]))
    for table, rows in found.items():
        for line in json_lines(table, rows):
            json.loads(harmless(line))
        for line in table_lines(table, rows):
            harmless(line)
        out = io.StringIO()
        with redirect_stdout(out):
            write_lines([str(row) for row in rows] + [EVIL])
        for line in out.getvalue().split("\n"):
            harmless(line)


WORDS: dict[str, Any] = {
    **{"octet": 9, "short": 9, "long": 9, "longlong": 9, "timestamp": 9, "bit": True},
    **{"shortstr": EVIL, "longstr": (EVIL + SURROGATE).encode("utf-8", "surrogateescape"), "table": EVIL_TABLE},
}


def _methods(version: Any) -> Iterator[Any]:
    dialect = Talk(version).dialect
    for each, kind in every_method():
        if each is dialect:
            yield kind(**{name: WORDS[wire] for name, wire in kind.FIELDS if wire in WORDS})


@pytest.mark.parametrize("version", [AMQP_0_8, AMQP_0_9_1], ids=lambda version: version.label)
def test_the_words_of_every_method(version: Any, step: int = 3) -> None:
    """A third of them; tests/system/tables/test_every_word.py takes all."""
    for method in islice(_methods(version), 0, None, step):
        harmless(repr(method))
        for sender in ("client", "server"):
            talk = Talk(version).login().channel()
            talk.send(sender, talk.octets(method, 1 if method.CLASS_ID != 10 else 0))
            if method.HAS_CONTENT:
                talk.send(sender, header(1, method.CLASS_ID, 3, b"\x80\x00\x03\x1b[2") + body(1, b"abc"))
                talk.send(sender, talk.octets(method, 1) + header(1, method.CLASS_ID, 0, b"\x80\x00\x09"))
            talk.finish()
            assert _check_events([*talk.events, *talk.messages])
        _check_rows(talk)
        octets = frame(1, 1 if method.CLASS_ID != 10 else 0, method.encode(RABBIT))
        for side in Side:
            facing = Facing.opened(version, side)
            facing.feed(octets, header(1, 60, 0, b"\xff\xff"))
            facing.end.connection_lost(EVIL, facing.now)
            facing.settle()
            assert _check_events(facing.events)


SAID: list[Any] = [
    Open(EVIL, hostname=EVIL, properties={Symbol("\x1b[2J"): EVIL}),
    Begin(next_outgoing_id=0, incoming_window=9, outgoing_window=9, properties={Symbol("\x1b"): EVIL}),
    Attach(EVIL, 5, False, source=Source(address=EVIL), target=Target(address=EVIL), initial_delivery_count=0),
    Attach("l", 5, True, source=Source(address=Described(Symbol("\x1b"), EVIL)), target=Target(EVIL)),
    Transfer(5, 0, b"\x1b[2J"),
    Transfer(5, 9, b"x", 0, state=None),
    Detach(5, True, Error(Symbol("\x1b[2J"), EVIL, {Symbol("\x07"): EVIL})),
    Close(Error(Symbol("\x1b[2J"), EVIL)),
]


def test_the_words_of_performatives() -> None:
    message = Message(EVIL, application_properties={EVIL: EVIL}).encode()
    octets = [octets_of(each, payload=message if isinstance(each, Transfer) else b"") for each in SAID]
    for sender in ("client", "server"):
        for skipped in range(len(octets)):
            talk = Talk10().open()
            for each in octets[skipped:]:
                talk.send(sender, each)
            talk.finish()
            assert _check_events([*talk.events, *talk.messages])
            _check_rows(talk)
    for side in Side:
        for skipped in range(len(octets)):
            facing = Facing1.opened(side)
            facing.feed(*octets[skipped:])
            facing.end.connection_lost(EVIL, facing.now)
            facing.settle()
            assert _check_events(facing.events)
    for record in SAID:
        harmless(repr(record))


def test_the_words_of_controls_and_commands(step: int = 3) -> None:
    """A third of them; tests/system/tables/test_every_word.py takes all."""
    words = {**EXAMPLES, "str8": EVIL, "str16": EVIL + SURROGATE, "map": EVIL_TABLE, "array": [EVIL]}
    words["vbin8"] = words["vbin16"] = words["vbin32"] = EVIL.encode()
    for kind in [*CONTROLS.values(), *COMMANDS.values()][::step]:
        record: Any = kind(*[words[name] for _, name in kind.FIELDS])
        harmless(repr(record))
        for sender in ("client", "server"):
            talk = Talk010().open().session()
            (talk.client if sender == "client" else talk.server)(record)
            talk.finish()
            assert _check_events([*talk.events, *talk.messages])
        _check_rows(talk)
