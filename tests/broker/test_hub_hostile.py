"""Hostile clients at a hub, by every version and dialect: what they send wrong has its code or its condition, and
nobody else notices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, RemoteProtocolError
from amqp_sansio import amqp_0_10 as ten
from amqp_sansio import amqp_1_0 as one
from amqp_sansio._classic.codec.dialect import DIALECTS, get_dialect
from amqp_sansio.amqp_0_10.codec.frames import BODY as BODY_SEGMENT
from amqp_sansio.amqp_0_10.codec.frames import COMMAND, CONTROL, HEADER, encode_assembly
from amqp_sansio.amqp_0_10.model.execution import ERROR_CODES
from amqp_sansio.broker import Settings
from amqp_sansio.endpoint import Side
from amqp_sansio.testing import amqp_0_8, amqp_0_9_1, amqp_0_10, amqp_1_0
from tests.kit.choices import Choices
from tests.kit.hostile_hub_0_10 import WORDS as WORDS_0_10
from tests.kit.hostile_hub_1_0 import CONDITIONS
from tests.kit.hostile_hub_1_0 import WORDS as WORDS_1_0
from tests.kit.hostile_hub_classic import words_of
from tests.kit.hostiles import HOSTILES, check_words
from tests.kit.hub_hostile import LIMITS, Driver, Hostile, Stage, Words, check_rule, faults_found, settings_of
from tests.kit.hub_witness import witnesses_of
from tests.kit.octets_0_10 import attach, command_point
from tests.kit.octets_1_0 import octets_of
from tests.kit.octets_classic import METHOD, body, frame, header
from tests.kit.pair_classic import server_config

VERSIONS = {"0-8": AMQP_0_8, "0-9-1": AMQP_0_9_1}


def by_rule(asked: Mapping[tuple[str, Any], Sequence[str]]) -> dict[str, set[tuple[str, Any]]]:
    """The scopes and codes that each rule may be answered with, where each stands beside all its rules."""
    found: dict[str, set[tuple[str, Any]]] = {}
    for place, rules in asked.items():
        for rule in rules:
            found.setdefault(rule, set()).add(place)
    return found


# What the rules ask for.

DECODE, FRAMING = "amqp:decode-error", "amqp:connection:framing-error"
INVALID, NOT_ALLOWED, ILLEGAL = "amqp:invalid-field", "amqp:not-allowed", "amqp:illegal-state"
FAULTS: dict[str, dict[str, set[tuple[str, Any]]]] = {
    "0-9-1": by_rule(
        {
            ("channel", 311): ("",),
            ("channel", 404): (
                "queue.bind/no-current-queue",
                "queue.declare/current-queue",
                "queue.delete/no-current-queue",
                "queue.purge/no-current-queue",
                "queue.unbind/no-current-queue",
            ),
            ("channel", 406): (
                "basic.ack/unknown-tag",
                "rabbitmq/confirm.select-not-tx",
                "tx.commit/not-transacted",
                "tx.rollback/not-transacted",
            ),
            ("channel", 506): ("",),
            ("connection", 0): ("connection/life-cycle", "wire/frame-end-check", "wire/frame-type-unknown"),
            ("connection", 501): ("wire/content-class", "wire/frame-oversize-receive", "wire/heartbeat-invalid"),
            ("connection", 502): ("domain/exchange-name.regexp", "domain/queue-name.regexp", "wire/method-payload"),
            ("connection", 503): (
                "connection/error-scope",
                "connection/life-cycle",
                "method/sync-reply",
                "wire/channel-zero",
                "wire/method-payload",
            ),
            ("connection", 504): ("channel.open/already-open", "channel/closed-when", "wire/content-channel-zero"),
            ("connection", 505): ("wire/content-incomplete",),
            ("connection", 530): ("basic.consume/tag-in-use",),
        }
    ),
    "0-8": by_rule(
        {
            ("channel", 311): ("",),
            ("channel", 404): ("basic.ack/unknown-tag",),
            ("channel", 503): ("basic.recover/transacted", "dtx/grammar", "dtx.select/required", "tx.select/required"),
            ("channel", 506): ("",),
            ("connection", 0): ("connection/grammar", "wire/frame-end-check", "wire/frame-type-unknown"),
            ("connection", 403): ("access.request/realm-prefix",),
            ("connection", 501): (
                "file.open/content-size",
                "wire/content-class",
                "wire/content-incomplete",
                "wire/frame-oversize-receive",
                "wire/heartbeat-invalid",
                "wire/trace-channel",
            ),
            ("connection", 502): (
                "domain/access-ticket.nonzero",
                "dtx.start/id-notnull",
                "exchange.declare/type-regexp",
                "test.table/integer-op-enum",
                "test.table/string-op-enum",
                "wire/method-payload",
            ),
            ("connection", 503): (
                "connection/error-scope",
                "connection/grammar",
                "method/sync-wait",
                "wire/channel-range",
                "wire/method-payload",
            ),
            ("connection", 504): ("channel.open/already-open", "channel/grammar", "wire/content-channel-zero"),
            ("connection", 530): (
                "access.request-ok/channel-scope",
                "basic.consume/no-current-queue",
                "basic.consume/tag-in-use",
                "basic.get/no-current-queue",
                "file.consume/no-current-queue",
                "queue.bind/no-current-queue",
                "queue.delete/no-current-queue",
                "queue.purge/no-current-queue",
                "stream.consume/no-current-queue",
            ),
            ("connection", 540): ("channel.open/oob-null", "wire/oob-format"),
        }
    ),
    "0-10": by_rule(
        {
            ("connection", 501): (
                "connection.tune-ok/available-channels",
                "connection.tune-ok/max-frame-size",
                "wire/frame-flags",
                "wire/frame-reserved-zero",
                "wire/frame-size<12 malformed",
                "wire/struct-required",
            ),
            ("session", 0): ("session.command-point/newly-attached",),
            ("session", 403): ("message.message-properties/user-id",),
            ("session", 404): ("message.cancel/not-found",),
            ("session", 409): (
                "dtx.end/illegal-state",
                "dtx.end/not-associated",
                "dtx.start/illegal-state",
                "file.open-ok/behavior",
                "message.set-flow-mode/mode-switching",
                "tx.commit/select-required",
                "tx.rollback/select-required",
                "tx.select/exactly-once",
                "tx.select/no-dtx",
            ),
            ("session", 503): ("wire/struct-required",),
            ("session", 530): (
                "file.consume/queue-empty",
                "file.consume/tag-in-use",
                "message.subscribe/unique-destination",
                "stream.consume/tag-in-use",
                "tx.select/explicit-accepts",
            ),
            ("session", 542): ("file.ack/validation", "file.open/content-size", "file.reject/session-local"),
        }
    ),
    "1.0": by_rule(
        {
            ("connection", DECODE): (
                "transport/frame/performative",
                "types/array-layout",
                "types/composite-list",
                "types/compound-layout",
                "types/constructor",
                "types/format-code",
                "types/string",
                "types/symbol",
                "types/variable-width",
            ),
            ("connection", FRAMING): (
                "transport/frame/doff",
                "transport/frame/performative",
                "transport/frame/size",
                "transport/session/handle-max",
            ),
            ("connection", INVALID): ("transport/session/remote-channel-answer",),
            ("connection", NOT_ALLOWED): ("transport/session.state/unmapped",),
            ("link", ILLEGAL): ("transport/transfer/aborted",),
            ("link", INVALID): (
                "received/sender-only-first-resume",
                "transport/flow/delivery-count-sender",
                "transport/transfer/delivery-id",
                "transport/transfer/delivery-tag",
                "transport/transfer/no-interleave",
                "transport/transfer/rcv-illegal",
            ),
            ("link", NOT_ALLOWED): (
                "transactions/declare/settled-detach",
                "transport/transfer/delivery-id",
                "transport/transfer/resume-own-map",
                "transport/transfer/settled-mode-settled",
                "transport/transfer/settled-mode-unsettled",
            ),
            ("link", "amqp:link:transfer-limit-exceeded"): ("transport/error/transfer-limit",),
            ("link", "amqp:not-implemented"): ("transactions/declare/body",),
            ("session", ILLEGAL): ("transport/session.state/mapped",),
            ("session", INVALID): (
                "transport/attach/initial-delivery-count",
                "transport/disposition/range",
                "transport/flow/no-handle",
            ),
            ("session", "amqp:resource-limit-exceeded"): ("transport/session/handle-max",),
            ("session", "amqp:session:handle-in-use"): ("transport/link/handle-in-use",),
            ("session", "amqp:session:unattached-handle"): ("transport/link/unattached-handle",),
        }
    ),
}
"""The scope and code or condition of whoever breaks the rules of the specifications. 0: the socket is closed without a
word, or session.detached comes alone. "" stands for bounds of `Limits`."""


# What they send.


def _drawn(name: str) -> st.SearchStrategy[list[bytes]]:
    """Methods of a client on its channel 1, with content where they carry some."""
    strategies: Any = amqp_0_8 if name.startswith("0-8") else amqp_0_9_1
    tables = get_dialect(name).tables

    def of_message(message: Any) -> bytes:
        method, properties, octets = message.method, message.properties, message.body
        start = frame(METHOD, 1, method.encode(tables))
        start += header(1, method.CLASS_ID, len(octets), properties.encode(tables))
        return start + (body(1, octets) if octets else b"")

    def of_method(method: Any) -> bytes:
        return frame(METHOD, 0 if method.CLASS_ID == 10 else 1, method.encode(tables))

    def is_alone(method: Any) -> bool:
        return not method.HAS_CONTENT

    methods: st.SearchStrategy[Any] = strategies.methods(sent_by=Side.CLIENT, dialect=name)
    messages: st.SearchStrategy[Any] = strategies.messages(sent_by=Side.CLIENT, dialect=name)
    opening = frame(METHOD, 1, get_dialect(name).named["channel.open"]().encode(tables))
    return st.lists(
        st.one_of(methods.filter(is_alone).map(of_method), messages.map(of_message), st.just(opening)),
        min_size=5,
        max_size=20,
    )


def _assembly(record: Any, headers: bytes, body: bytes) -> bytes:
    if isinstance(record, ten.spec.Command):
        segments = [(COMMAND, record.encode_segment(sync=True))]
        if record.HAS_BODY:
            segments += [(HEADER, headers)] if headers else []
            segments += [(BODY_SEGMENT, body)] if body else []
        return encode_assembly(0, segments, 4096)
    return encode_assembly(0, [(CONTROL, record.encode_assembly())], 4096)


DRAWN_0_10: st.SearchStrategy[list[bytes]] = st.lists(
    st.builds(
        _assembly,
        st.one_of(
            amqp_0_10.commands(sent_by=Side.CLIENT),
            amqp_0_10.commands(sent_by=Side.CLIENT),
            amqp_0_10.controls(sent_by=Side.CLIENT),
        ),
        amqp_0_10.messages().map(lambda each: each.headers.raw),
        st.binary(max_size=300),
    ),
    min_size=5,
    max_size=20,
)


def _frame(record: Any, message: one.Message) -> bytes:
    return octets_of(record, 0, message.encode() if isinstance(record, one.spec.Transfer) else b"")


DRAWN_1_0: st.SearchStrategy[list[bytes]] = st.lists(
    st.builds(_frame, amqp_1_0.performatives(), amqp_1_0.messages()), min_size=2, max_size=6
)


# The versions.


class Case:
    """A version or a dialect whose clients are hostile. `units` are frames, before each of which `begin` is done."""

    def __init__(
        self,
        label: str,
        words: Words,
        units: st.SearchStrategy[list[bytes]],
        begin: Callable[[Driver, Hostile], None],
        fits: Callable[[RemoteProtocolError], bool],
        settings: Settings | None = None,
    ) -> None:
        self.label = label
        self.words = words
        self.units = units
        self.begin = begin
        self.fits = fits
        self.settings = settings

    def check(self, found: list[RemoteProtocolError], driver: Driver, after: int) -> None:
        """Each fault has the scope, and the code or condition, of its rule; of other rules one that fits. Each client
        but the first ones was told so."""
        for error in found:
            check_rule(error)
            asked = FAULTS[self.label].get((error.rule or "").removeprefix(f"{self.label}/"))
            said: Any = str(error.condition or "") if self.label == "1.0" else error.code
            # Before the first close of 1.0 can be sent there is no condition.
            if asked is None or said == "":
                assert self.fits(error), (error, error.rule)
            else:
                assert (error.scope.value, said) in asked, (error, error.rule)
        check_words(driver, after, self.words)


def _nothing(driver: Driver, wild: Hostile) -> None:
    """Nothing is done before a frame."""


def classic(name: str) -> Case:
    """Those of 0-8 or 0-9-1, at a hub that speaks a dialect."""
    dialect = get_dialect(name)
    config = server_config(dialect=dialect, limits=LIMITS)
    return Case(
        dialect.version.label,
        words_of(dialect),
        _drawn(name),
        _nothing,
        lambda error: dialect.is_hard(error.code) == (error.scope.value == "connection"),
        settings_of(configs={dialect.version: config}),
    )


def _attach(driver: Driver, wild: Hostile) -> None:
    if not wild.engine.sessions:
        driver.feed(wild.number, attach(b"wild", force=True) + command_point())


def _fits_0_10(error: RemoteProtocolError) -> bool:
    return error.code in ((0, 501) if error.scope.value == "connection" else {0, *ERROR_CODES} - {541})


def _begin(driver: Driver, wild: Hostile) -> None:
    if wild.engine.is_open and not wild.engine.sessions:
        driver.feed(wild.number, octets_of(one.spec.Begin(next_outgoing_id=0, incoming_window=50, outgoing_window=50)))


def _fits_1_0(error: RemoteProtocolError) -> bool:
    if not error.condition:
        return error.scope.value == "connection"
    return str(error.condition) in CONDITIONS


DIALECT_CASES = {name: classic(name) for name in DIALECTS}
OTHERS = {
    "0-10": Case("0-10", WORDS_0_10, DRAWN_0_10, _attach, _fits_0_10),
    "1.0": Case("1.0", WORDS_1_0, DRAWN_1_0, _begin, _fits_1_0),
}
"""Versions without dialects, which are played more often."""
RULES = {
    "0-8": pytest.mark.rule("0-8/connection/error-scope", "0-8/constant/soft-vs-hard"),
    "0-9-1": pytest.mark.rule("0-9-1/connection/error-scope"),
    "0-10": pytest.mark.rule("0-10/session/exception-then-detach"),
}
"""What a play proves, by version."""


def play(case: Case, octets: bytes) -> None:
    """Two hostile clients do what `octets` choose, among witnesses who get what is theirs."""
    with faults_found() as found:
        stage = Stage(octets, [HOSTILES[case.label]] * 2, settings=case.settings)
        stage.run()
        stage.finish()
    case.check(found, stage.driver, len(stage.witnesses))


def proving(cases: Mapping[str, Case]) -> pytest.MarkDecorator:
    """The mark of a play of each case."""
    marks = {label: [mark] for label, mark in RULES.items()}
    found = [pytest.param(case, id=name, marks=marks.get(case.label, [])) for name, case in cases.items()]
    return pytest.mark.parametrize("case", found)


@proving(DIALECT_CASES)
@settings(max_examples=8)
@given(octets=st.binary(min_size=500, max_size=1500))
def test_whatever_they_send_in_a_dialect_others_get_what_is_theirs(case: Case, octets: bytes) -> None:
    play(case, octets)


@proving(OTHERS)
@settings(max_examples=20)
@given(octets=st.binary(min_size=800, max_size=2500))
def test_whatever_they_send_others_get_what_is_theirs(case: Case, octets: bytes) -> None:
    play(case, octets)


def opened(driver: Driver, label: str) -> Hostile:
    """A hostile client that has logged in."""
    wild = HOSTILES[label](driver, Choices(b""))
    wild.open()
    return wild


def feed(case: Case, units: Iterable[bytes]) -> None:
    """A client sends `units` one by one; another takes the place of one that is gone. A witness gets what is its."""
    driver = Driver(case.settings or settings_of())
    (witness,) = witnesses_of(driver, [case.label], "")
    wild = opened(driver, case.label)
    with faults_found() as found:
        for octets in units:
            if wild.engine is None:
                wild = opened(driver, case.label)
            case.begin(driver, wild)
            driver.feed(wild.number, octets)
            witness.act(Choices(b"\0"))
            while witness.pump():
                pass
    case.check(found, driver, 1)
    witness.finish()
    assert witness.got == witness.sent == len(witness.confirmed) > 0


@pytest.mark.parametrize("case", DIALECT_CASES.values(), ids=DIALECT_CASES)
@settings(max_examples=5)
@given(data=st.data())
def test_any_values_of_any_method(case: Case, data: st.DataObject) -> None:
    feed(case, data.draw(case.units))


@pytest.mark.parametrize("case", OTHERS.values(), ids=OTHERS)
@settings(max_examples=15)
@given(data=st.data())
def test_any_values_of_any_command_or_performative(case: Case, data: st.DataObject) -> None:
    feed(case, data.draw(case.units))
