"""The fourteen cases of resuming deliveries, and both ends of a resumed link (1.0 part 3 section 3.4.6)."""

from typing import Any

import pytest

from amqp_sansio import Settled, Side
from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.amqp_1_0 import spec
from amqp_sansio.amqp_1_0.codec.sections import position_octets
from amqp_sansio.amqp_1_0.model.resume import Resend, ResumeAction, resume_action
from tests.kit.links_1_0 import Mapped
from tests.kit.octets_1_0 import octets_of

MESSAGE = amqp.Message(
    b"d" * 4000,
    message_annotations={"x-opt-note": "a" * 2500},
    properties=amqp.Properties(subject="s" * 2600),
    application_properties={"key": "v" * 2700},
).encode()
"""Four sections of more than 2,500 octets each, so that every position of the example is within it."""

ACCEPTED, RELEASED = amqp.Accepted(), amqp.Released()


def at(section_number: int, section_offset: int) -> amqp.spec.Received:
    return amqp.spec.Received(section_number, section_offset)


LOCAL: dict[int, Any] = {
    **dict.fromkeys([1, 2, 3, 4]),
    5: at(0, 200),
    6: at(1, 150),
    7: at(0, 500),
    8: at(3, 5),
    9: at(2, 0),
    **dict.fromkeys([10, 11, 12, 13, 14], ACCEPTED),
}
REMOTE: dict[int, Any] = {
    2: at(3, 0),
    3: ACCEPTED,
    4: None,
    6: at(2, 0),
    7: at(0, 100),
    8: ACCEPTED,
    9: None,
    11: at(1, 2000),
    12: ACCEPTED,
    13: RELEASED,
    14: None,
}
"""Both unsettled maps of the example: delivery-tags and states."""


def tag(number: int) -> bytes:
    """The delivery-tag of a case."""
    return bytes([number])


class Case:
    """A sender that was saved with one delivery of the example, and resumed against the example's receiver."""

    def __init__(self, number: int, *, payload: bytes | None = MESSAGE, credit: int = 10) -> None:
        decided = LOCAL[number] is ACCEPTED
        saved = amqp.SavedDelivery(tag(number), 0, None if decided else payload, LOCAL[number], None)
        state = amqp.LinkState("N", True, amqp.Source(address="X"), amqp.Target(address="Y"), 2, 0, 1, (saved,))
        self.facing = Mapped.opened(Side.CLIENT)
        session = self.facing.end.open_session()
        self.sender: amqp.Sender = session.open_sender(None, state=state)
        theirs = {tag(number): REMOTE[number]} if number in REMOTE else {}
        attach = spec.Attach(
            "N", 2, True, source=amqp.Source(address="X"), target=amqp.Target(address="Y"), unsettled=theirs
        )
        self.facing.feed(octets_of(spec.Begin(0, 0, 2048, 2048)))
        (ours,) = [each.body for each in self.facing.sent() if each.name == "attach"]
        assert dict(ours.unsettled) == {tag(number): LOCAL[number]}
        assert (ours.source, ours.target) == (amqp.Source(address="X"), amqp.Target(address="Y"))
        self.facing.forget()
        self.facing.feed(octets_of(attach))
        (self.resumed,) = self.facing.of(amqp.Resumed)
        self.facing.feed(octets_of(spec.Flow(0, 2048, 0, 2048, 2, 0, credit)))
        self.handle = self.resumed.pendings[0] if self.resumed.pendings else None

    def transfers(self) -> list[Any]:
        """The transfer frames that were sent."""
        return [each for each in self.facing.sent() if each.name == "transfer"]


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (1, ResumeAction(Resend.NEW)),
        (2, ResumeAction(Resend.CONTINUE, at(3, 0))),
        (3, ResumeAction(Resend.SETTLE, ACCEPTED)),
        (4, ResumeAction(Resend.CONTINUE)),
        (5, ResumeAction(Resend.NEW)),
        (6, ResumeAction(Resend.CONTINUE, at(2, 0))),
        (7, ResumeAction(Resend.ABORT)),
        (8, ResumeAction(Resend.SETTLE, ACCEPTED)),
        (9, ResumeAction(Resend.ABORT)),
        (10, ResumeAction(Resend.FORGET, ACCEPTED)),
        (11, ResumeAction(Resend.ABORT)),
        (12, ResumeAction(Resend.SETTLE)),
        (13, ResumeAction(Resend.RESTATE, ACCEPTED)),
        (14, ResumeAction(Resend.ABORT)),
    ],
)
def test_what_a_sender_does_about_each_case(number: int, expected: ResumeAction) -> None:
    assert resume_action(LOCAL[number], number in REMOTE, REMOTE.get(number)) == expected


def test_the_credit_that_a_settlement_takes_is_given_again() -> None:
    case = Resuming(3)
    link: Any = case.facing.end.session(0).link(0)
    link.flow(1)
    facing = case.transfer(spec.Transfer(2, 7, tag(3), 0, True, state=ACCEPTED, resume=True))
    assert [each.body.link_credit for each in facing.sent() if each.name == "flow"] == [1, 1]
    assert link.credit == 1


def resumed(number: int, **fields: Any) -> spec.Transfer:
    return spec.Transfer(0, 0, tag(number), 0, resume=True, **fields)


def anew(number: int, delivery_id: int = 0) -> spec.Transfer:
    return spec.Transfer(0, delivery_id, tag(number), 0)


REST = {section: MESSAGE[position_octets(MESSAGE, section, 0) :] for section in (2, 3)}
SENT: list[tuple[int, list[tuple[spec.Transfer, bytes]], str]] = [
    (1, [(anew(1), MESSAGE)], "1.0/resume/tag1-unknown-at-receiver"),
    (2, [(resumed(2, state=at(3, 0)), REST[3])], "1.0/resume/tag2-partial"),
    (3, [(resumed(3, settled=True, state=ACCEPTED), b"")], "1.0/resume/tag3-receiver-terminal"),
    (4, [(resumed(4), MESSAGE)], "1.0/resume/tag4-null-at-receiver"),
    (5, [(anew(5), MESSAGE)], "1.0/resume/tag5-unknown-partial"),
    (6, [(resumed(6, state=at(2, 0)), REST[2])], "1.0/resume/tag6-partial-overlap"),
    (7, [(resumed(7, aborted=True), b""), (anew(7, 1), MESSAGE)], "1.0/resume/tag7-gap"),
    (8, [(resumed(8, settled=True, state=ACCEPTED), b"")], "1.0/resume/tag8-as-3"),
    (10, [], "1.0/resume/tag10-nothing"),
    (12, [(resumed(12, settled=True), b"")], "1.0/resume/tag12-settle"),
    (13, [(resumed(13, state=ACCEPTED), b"")], "1.0/resume/tag13-sender-wins"),
]
"""What a sender that still has the message sends for each delivery."""


@pytest.mark.parametrize(
    ("number", "sent"),
    [pytest.param(number, sent, marks=pytest.mark.rule(rule), id=rule) for number, sent, rule in SENT],
)
@pytest.mark.rule("1.0/transport/resume/source-only", "1.0/transport/resume/flag", "1.0/transport/resume/both")
@pytest.mark.rule("1.0/transport/transfer/resume-first-frame", "1.0/transport/resume/new-delivery-id")
@pytest.mark.rule("1.0/resume/tag3-state", "1.0/transport/resume/omit-data", "1.0/transport/transfer/resume-empty")
def test_what_is_sent_for_each_case(number: int, sent: list[tuple[spec.Transfer, bytes]]) -> None:
    case = Case(number)
    assert [(each.body, each.payload) for each in case.transfers()] == sent
    decided = [event.state for event in case.facing.of(Settled)]
    # The outcome is the sender's own one where it has one, else the receiver's.
    assert decided == ([ACCEPTED] if number in (3, 8, 10, 12) else [])
    if decided and case.handle is not None:
        assert case.handle.result == ACCEPTED
    assert (case.resumed.lost, case.resumed.forgotten) == ((), (tag(10),) if number == 10 else ())
    if number == 13:
        case.facing.feed(octets_of(spec.Disposition(True, 0, 0, True, ACCEPTED)))
        assert [event.state for event in case.facing.of(Settled)] == [ACCEPTED]


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(5, marks=pytest.mark.rule("1.0/resume/tag5-unknown-partial")),
        pytest.param(7, marks=pytest.mark.rule("1.0/resume/tag7-gap")),
        pytest.param(9, marks=pytest.mark.rule("1.0/resume/tag9-as-7")),
        pytest.param(11, marks=pytest.mark.rule("1.0/resume/tag11-abort")),
        pytest.param(14, marks=pytest.mark.rule("1.0/resume/tag14-as-11")),
    ],
)
def test_what_is_lost_where_the_message_is_gone(number: int) -> None:
    case = Case(number, payload=None)
    sent = [] if number == 5 else [(resumed(number, aborted=True), b"")]
    assert [(each.body, each.payload) for each in case.transfers()] == sent
    assert case.resumed.lost == (tag(number),)


@pytest.mark.rule("1.0/resume/no-early-terminal")
def test_what_a_sender_decided_by_itself_is_not_in_its_map_while_it_can_resend() -> None:
    facing = Mapped.begun()
    link = facing.sender()
    handle = link.send(amqp.Message("m"))
    link.update(handle, RELEASED)
    facing.end.connection_lost("reset", facing.now)
    facing.settle()
    (saved,) = link.saved_state().unsettled
    assert (saved.local, saved.payload) == (RELEASED, amqp.Message("m").encode())
    again = Mapped.begun()
    again.session.open_sender(None, state=link.saved_state())
    (attach,) = again.frames()
    assert dict(attach.unsettled) == {saved.delivery_tag: None}


def test_resumed_deliveries_wait_for_credit() -> None:
    case = Case(2, credit=0)
    assert not case.transfers()
    assert list(case.sender.pending) == [tag(2)]
    case.facing.feed(octets_of(spec.Flow(0, 2048, 0, 2048, 2, 0, 1)))
    assert len(case.transfers()) == 1


class Resuming:
    """A receiver that was saved with one delivery of the example, and resumed against the example's sender."""

    def __init__(self, number: int) -> None:
        remote = REMOTE[number]
        held = None
        if isinstance(remote, amqp.spec.Received):
            held = MESSAGE[: position_octets(MESSAGE, remote.section_number, remote.section_offset)]
        local = None if held is not None else remote
        saved = amqp.SavedDelivery(tag(number), 0, held, local, None)
        state = amqp.LinkState("N", False, amqp.Source(address="X"), amqp.Target(address="Y"), 2, 1, 0, (saved,))
        self.facing = Mapped.opened(Side.CLIENT)
        session = self.facing.end.open_session()
        session.open_receiver(None, state=state, credit=10, rcv_settle_mode=1)
        (ours,) = [each.body for each in self.facing.sent() if each.name == "attach"] or [None]
        self.facing.feed(octets_of(spec.Begin(0, 0, 2048, 2048)))
        (ours,) = [each.body for each in self.facing.sent() if each.name == "attach"]
        assert dict(ours.unsettled) == {tag(number): remote}
        self.facing.forget()
        attach = spec.Attach(
            "N",
            2,
            False,
            rcv_settle_mode=1,
            source=amqp.Source(address="X"),
            target=amqp.Target(address="Y"),
            unsettled={tag(number): LOCAL[number]},
            initial_delivery_count=0,
        )
        self.facing.feed(octets_of(attach))

    def transfer(self, frame: spec.Transfer, payload: bytes = b"") -> Mapped:
        self.facing.feed(octets_of(frame, 0, payload))
        return self.facing


@pytest.mark.rule("1.0/resume/ignore-known-data")
@pytest.mark.parametrize("start", [(0, 0), (1, 7), (3, 0), None])
def test_a_receiver_ignores_what_it_has(start: tuple[int, int] | None) -> None:
    state = None if start is None else at(*start)
    rest = MESSAGE if start is None else MESSAGE[position_octets(MESSAGE, *start) :]
    case = Resuming(2)
    facing = case.transfer(spec.Transfer(2, 7, tag(2), 0, state=state, resume=True), rest)
    (delivery,) = facing.of(amqp.Delivery)
    assert delivery.payload == MESSAGE
    assert (delivery.resumed, delivery.delivery_id) == (True, 7)


def test_a_receiver_takes_the_settlement_of_what_it_decided() -> None:
    case = Resuming(3)
    facing = case.transfer(spec.Transfer(2, 7, tag(3), 0, True, state=ACCEPTED, resume=True))
    assert not facing.of(amqp.Delivery)
    assert [event.state for event in facing.of(Settled)] == [ACCEPTED]
    assert facing.names() == []


@pytest.mark.rule("1.0/resume/tag13-sender-wins")
def test_a_receiver_echoes_the_senders_outcome_and_settles() -> None:
    case = Resuming(13)
    facing = case.transfer(spec.Transfer(2, 10, tag(13), 0, False, state=ACCEPTED, resume=True))
    assert [event.state for event in facing.of(Settled)] == [ACCEPTED]
    (sent,) = facing.sent()
    assert sent.body == spec.Disposition(True, 10, None, True, ACCEPTED)


def test_a_receiver_drops_what_is_aborted() -> None:
    case = Resuming(7)
    facing = case.transfer(spec.Transfer(2, 5, tag(7), 0, resume=True, aborted=True), b"ignored")
    assert [event.delivery_tag for event in facing.of(amqp.DeliveryAborted)] == [tag(7)]
    assert not facing.of(amqp.Delivery)
    assert facing.held == 0


@pytest.mark.rule("1.0/transport/resume/source-only-ignore", "1.0/transport/transfer/resume-unknown")
def test_a_receiver_ignores_resumed_deliveries_that_it_does_not_know() -> None:
    case = Resuming(7)
    first = case.facing.end.session(0).link(0)
    assert first.remote is not None
    attach = {tag(7): None, tag(9): None}
    facing = Mapped.opened(Side.CLIENT)
    session = facing.end.open_session()
    saved = amqp.SavedDelivery(tag(7), 0, b"", None, None)
    state = amqp.LinkState("N", False, amqp.Source(address="X"), amqp.Target(address="Y"), 2, 0, 0, (saved,))
    session.open_receiver(None, state=state, credit=10)
    facing.feed(
        octets_of(spec.Begin(0, 0, 2048, 2048)),
        octets_of(
            spec.Attach(
                "N",
                2,
                False,
                source=amqp.Source(address="X"),
                target=amqp.Target(address="Y"),
                unsettled=attach,
                initial_delivery_count=0,
            )
        ),
        octets_of(spec.Transfer(2, 0, tag(9), 0, resume=True, more=True), 0, MESSAGE[:100]),
        octets_of(spec.Transfer(2, more=False), 0, MESSAGE[100:]),
    )
    assert not facing.of(amqp.Delivery)
    assert facing.held == 0


@pytest.mark.rule("1.0/transport/resume/target-only")
def test_what_only_the_receiver_has_is_settled() -> None:
    facing = Mapped.opened(Side.CLIENT)
    session = facing.end.open_session()
    saved = amqp.SavedDelivery(tag(3), 0, None, ACCEPTED, None)
    state = amqp.LinkState("N", False, amqp.Source(address="X"), amqp.Target(address="Y"), 2, 1, 0, (saved,))
    session.open_receiver(None, state=state)
    facing.feed(
        octets_of(spec.Begin(0, 0, 2048, 2048)),
        octets_of(
            spec.Attach(
                "N",
                2,
                False,
                source=amqp.Source(address="X"),
                target=amqp.Target(address="Y"),
                unsettled={},
                initial_delivery_count=0,
            )
        ),
    )
    (resumed,) = facing.of(amqp.Resumed)
    assert resumed.forgotten == (tag(3),)
    assert [event.state for event in facing.of(Settled)] == [ACCEPTED]
