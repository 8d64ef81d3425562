"""Whatever two endpoints of 1.0 of this library exchange, their observer sees no broken rule, and all of it."""

import contextlib
from typing import Any, Final

from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio import AmqpError, By, CloseReport, LocalProtocolError, Side
from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.amqp_1_0.endpoint.config import Config
from amqp_sansio.amqp_1_0.endpoint.events import Delivery
from amqp_sansio.observer import Identified, Observed, Observer, Skipped, Violation
from amqp_sansio.sasl import Plain
from tests.kit.observing import CLIENT, accounted, take, watch
from tests.kit.pair import SIDES
from tests.kit.pair_1_0 import Accepting, Pair, client_config, server_config
from tests.kit.talk_1_0 import frame, transfer

_MODES: Final = ((2, 0), (0, 0), (1, 0), (2, 1), (0, 1))
_STATES: Final = (amqp.Accepted(), amqp.Rejected(), amqp.Released(), amqp.Modified(delivery_failed=True))

Step = tuple[int, int, int, Side]
_STEPS: Final = st.lists(
    st.tuples(st.integers(0, 40), st.integers(0, 7), st.integers(0, 4), st.sampled_from((Side.CLIENT, Side.SERVER))),
    max_size=60,
)


class _Play:
    """Two endpoints that do whatever they are told, as far as they let themselves be told."""

    def __init__(self, observer: Any, **limits: Any) -> None:
        self.pair = Pair(
            client=client_config(max_frame_size=600, incoming_window=7, **limits),
            server=server_config(max_frame_size=700, incoming_window=5, **limits),
            applications={side: Accepting(credit=3) for side in SIDES},
            observer=observer,
        ).open()
        self.sessions: list[Any] = [self.pair.client.open_session()]
        self.senders: list[Any] = [self.sessions[0].open_sender("q")]
        self.receivers: list[Any] = [self.sessions[0].open_receiver("p", credit=4)]
        self.sent: list[Any] = []
        self.pair.pump()

    def do(self, step: Step) -> None:
        """One step; a call that an endpoint refuses sends nothing."""
        which, number, size, side = step
        with contextlib.suppress(AmqpError):
            _DOINGS[which % len(_DOINGS)](self, number, size, side)

    def all_senders(self, side: Side) -> list[Any]:
        """The senders of one side, those it was asked for as well."""
        return [link for link in self.links(side) if not link.ROLE]

    def links(self, side: Side) -> list[Any]:
        end = self.pair.ends[side]
        return [link for channel in end.sessions for link in end.session(channel).links]

    def finish(self) -> None:
        """Both come to an end."""
        self.pair.pump()
        with contextlib.suppress(AmqpError):
            self.pair.client.close()
        self.pair.drive()


def _pick(found: list[Any], number: int) -> Any:
    return found[number % len(found)] if found else _Nothing()


class _Nothing:
    """What is called where there's nothing."""

    def __getattr__(self, name: str) -> Any:
        raise LocalProtocolError(name)


def _session(play: _Play, number: int, size: int, side: Side) -> None:
    play.sessions.append(play.pair.ends[side].open_session())


def _sender(play: _Play, number: int, size: int, side: Side) -> None:
    snd, rcv = _MODES[size]
    link = _pick(play.sessions, number).open_sender("q", snd_settle_mode=snd, rcv_settle_mode=rcv)
    play.senders.append(link)


def _receiver(play: _Play, number: int, size: int, side: Side) -> None:
    snd, rcv = _MODES[size]
    source = amqp.Source(dynamic=True) if size == 4 else "p"
    link = _pick(play.sessions, number).open_receiver(source, credit=number, snd_settle_mode=snd, rcv_settle_mode=rcv)
    play.receivers.append(link)


def _controller(play: _Play, number: int, size: int, side: Side) -> None:
    play.senders.append(_pick(play.sessions, number).open_sender(amqp.Coordinator()))


def _send(play: _Play, number: int, size: int, side: Side) -> None:
    sender = _pick(play.all_senders(side), number)
    settled = (None, True, False)[size % 3]
    play.sent.append((sender, sender.send(amqp.Message(bytes(size * size * 100)), settled=settled)))


def _send_in_parts(play: _Play, number: int, size: int, side: Side) -> None:
    _pick(play.all_senders(side), number).begin(bytes(size * 300), message_format=7)


def _send_more(play: _Play, number: int, size: int, side: Side) -> None:
    _pick(play.all_senders(side), number).continue_delivery(bytes(size * 300), more=size > 1)


def _abort(play: _Play, number: int, size: int, side: Side) -> None:
    _pick(play.all_senders(side), number).abort()


def _update(play: _Play, number: int, size: int, side: Side) -> None:
    deliveries = [each for each in play.pair.events[side] if isinstance(each, Delivery)]
    if deliveries:
        chosen = deliveries[-1 - number % len(deliveries) :]
        end = play.pair.ends[side]
        receiver: Any = end.session(chosen[0].channel).link(chosen[0].link)
        if not receiver.ROLE:
            return
        state: Any = _STATES[size % len(_STATES)]
        if size == 4:
            state = amqp.TransactionalState(b"t", amqp.Accepted())
        settled = (None, True, False)[number % 3]
        receiver.update([each for each in chosen if each.link == chosen[0].link], state, settled=settled)


def _outgoing(play: _Play, number: int) -> tuple[Any, Any]:
    """A sender and the handle of something it has sent."""
    if not play.sent:
        raise LocalProtocolError("nothing was sent")
    found: tuple[Any, Any] = play.sent[-1 - number % len(play.sent)]
    return found


def _settle(play: _Play, number: int, size: int, side: Side) -> None:
    sender, handle = _outgoing(play, number)
    sender.settle(handle, _STATES[size % len(_STATES)] if size % 2 else None)


def _tell(play: _Play, number: int, size: int, side: Side) -> None:
    sender, handle = _outgoing(play, number)
    sender.update(handle, _STATES[size % len(_STATES)])


def _flow(play: _Play, number: int, size: int, side: Side) -> None:
    receivers = [link for link in play.links(side) if link.ROLE]
    _pick(receivers, number).flow(size, drain=size == 2, echo=size == 3)


def _drain(play: _Play, number: int, size: int, side: Side) -> None:
    _pick([link for link in play.links(side) if link.ROLE], number).drain()


def _drained(play: _Play, number: int, size: int, side: Side) -> None:
    sender = _pick(play.all_senders(side), number)
    sender.set_available(size)
    sender.drained()


def _close_link(play: _Play, number: int, size: int, side: Side) -> None:
    _pick(play.links(side), number).close(*(("amqp:internal-error", "why") if size == 1 else ()))


def _detach(play: _Play, number: int, size: int, side: Side) -> None:
    _pick(play.links(side), number).detach()


def _reattach(play: _Play, number: int, size: int, side: Side) -> None:
    link = _pick([*play.senders, *play.receivers], number)
    session = _pick(play.sessions, size)
    if link.ROLE:
        play.receivers.append(session.open_receiver("p", name=link.name, state=link.saved_state(), credit=2))
    else:
        play.senders.append(session.open_sender("q", name=link.name, state=link.saved_state()))


def _close_session(play: _Play, number: int, size: int, side: Side) -> None:
    end = play.pair.ends[side]
    _pick([end.session(channel) for channel in end.sessions], number).close()


def _session_flow(play: _Play, number: int, size: int, side: Side) -> None:
    end = play.pair.ends[side]
    _pick([end.session(channel) for channel in end.sessions], number).flow(echo=size > 2)


def _write(play: _Play, number: int, size: int, side: Side) -> None:
    play.pair.drain(side)
    play.pair.write(side, None if number else 50)


def _arrive(play: _Play, number: int, size: int, side: Side) -> None:
    play.pair.arrive(side, size * size * 20 if number % 2 else None)


def _pump(play: _Play, number: int, size: int, side: Side) -> None:
    play.pair.pump()


def _wait(play: _Play, number: int, size: int, side: Side) -> None:
    play.pair.advance(float(size))


_DOINGS: Final = (
    _session, _sender, _receiver, _controller, *(_send,) * 8, *(_send_in_parts, _send_more) * 3, _abort, _update,
    _update, _settle, _tell, _flow, _drain, _drained, _close_link, _detach, _reattach, _close_session, _session_flow,
    _write, _arrive, *(_pump,) * 4, _wait,
)  # fmt: skip


@given(_STEPS)
def test_no_sequence_of_calls_breaks_a_rule(steps: list[Step]) -> None:
    observer = Observer(client=CLIENT)
    play = _Play(observer)
    for step in steps:
        play.do(step)
    play.finish()
    observer.finish(1 << 60)
    events = take(observer)
    assert not [event for event in events if isinstance(event, Violation)]
    assert not [event for event in events if isinstance(event, Skipped)]
    for side in SIDES:
        assert accounted(events, side) == len(play.pair.sent[side])


@given(_STEPS, st.integers(1, 40))
def test_a_late_observer_sees_no_broken_rule_either(steps: list[Step], lost: int) -> None:
    recorder = _Recorder()
    play = _Play(recorder)
    for step in steps:
        play.do(step)
    play.finish()
    for body in ("all", "size"):
        events = watch(Observer(body=body), recorder.arrivals[lost:])
        assert not [event for event in events if isinstance(event, Violation)]


_GAPS: Final = st.lists(
    st.tuples(st.integers(0, 500), st.integers(0, 5000), st.sampled_from((1, 5, 30, 200, 5000))), min_size=1, max_size=3
)


@given(_STEPS, _GAPS, st.booleans())
def test_gaps_make_no_broken_rule_and_no_unit(steps: list[Step], gaps: list[tuple[int, int, int]], told: bool) -> None:
    recorder = _Recorder()
    play = _Play(recorder)
    for step in steps:
        play.do(step)
    play.finish()
    sent = {_key(event) for event in watch(Observer(client=CLIENT), recorder.arrivals)}
    arrivals = list(recorder.arrivals)
    for which, where, size in gaps:
        index = which % len(arrivals)
        sender, what, at_ns = arrivals[index]
        if isinstance(what, bytes):
            begin = where % len(what)
            end = min(len(what), begin + size)
            parts: list[bytes | int] = [what[:begin], end - begin, what[end:]]
            arrivals[index : index + 1] = [(sender, part, at_ns) for part in parts if part]
    events = watch(Observer(client=CLIENT if told else None), arrivals)
    assert not [event for event in events if isinstance(event, Violation)]
    named = [event for event in events if isinstance(event, Identified)][-1]
    if named.client in (CLIENT, None):
        assert {_key(event) for event in events} <= sent | {None}


def _key(event: object) -> tuple[object, ...] | None:
    """What a unit is, whatever was kept of its message."""
    if not isinstance(event, Observed):
        return None
    return event.sender, event.channel, event.event, event.offset, repr(event.content)


class _Recorder:
    """Keeps what a Pair exchanges."""

    def __init__(self) -> None:
        self.arrivals: list[tuple[str, bytes | int, int]] = []

    def receive_data(self, data: bytes, sender: str, at_ns: int) -> None:
        """Octets that were sent."""
        self.arrivals.append((sender, data, at_ns))


def test_the_sasl_layer_and_heartbeats_break_no_rule() -> None:
    observer = Observer(client=CLIENT)
    pair = Pair(
        client=client_config(sasl=Plain("ann", "pw"), idle_time_out=4.0),
        server=server_config(mechanisms=("PLAIN",), idle_time_out=6.0),
        observer=observer,
    ).open()
    pair.advance(30.0)
    pair.client.close("amqp:connection:forced", "enough")
    pair.drive()
    observer.finish(1 << 60)
    events = take(observer)
    assert not [event for event in events if isinstance(event, Violation | Skipped)]
    names = [event.event for event in events if isinstance(event, Observed)]
    assert names.count("heartbeat") > 5
    assert names[-1] == "close"
    assert {"sasl-mechanisms", "sasl-init", "sasl-outcome"} < set(names)


def test_what_the_server_finds_wrong_the_observer_finds_wrong() -> None:
    """A client that is made to break a rule: endpoint and observer name the same one."""
    observer = Observer(client=CLIENT)
    pair = Pair(observer=observer).open()
    pair.session()
    wrong = transfer(0, b"\0Su\xa0\1x", handle=9)
    observer.receive_data(wrong, CLIENT, 1)
    pair.server.receive_data(wrong, pair.now)
    pair.drain(Side.SERVER)
    (violation,) = [event for event in take(observer) if isinstance(event, Violation)]
    assert violation.rule == "1.0/transport/link/unattached-handle"
    wrong = frame(amqp.Open("again"))
    observer.receive_data(wrong, CLIENT, 1)
    pair.server.receive_data(wrong, pair.now)
    pair.drain(Side.SERVER)
    (violation,) = [event for event in take(observer) if isinstance(event, Violation)]
    pair.server.connection_lost("gone", pair.now)
    pair.drain(Side.SERVER)
    report = pair.server.report
    assert isinstance(report, CloseReport)
    assert report.by is By.LOCAL
    assert report.rule == violation.rule


def test_units_of_endpoints_carry_what_was_sent() -> None:
    observer = Observer(client=CLIENT, body="all")
    pair = Pair(client=Config(container_id="c", max_frame_size=512), observer=observer).open()
    session = pair.session()
    sender = session.open_sender("q")
    pair.pump()
    bodies = [bytes([number]) * number * 150 for number in range(8)]
    for body in bodies:
        sender.send(amqp.Message(body, application_properties={"length": len(body)}))
    pair.pump()
    units = [event for event in take(observer) if isinstance(event, Observed)]
    messages = [unit for unit in units if unit.unit == "content"]
    assert [unit.body for unit in messages] == bodies
    assert [unit.properties.application_properties["length"] for unit in messages] == list(map(len, bodies))
    assert "accepted" in {unit.content.state.NAME for unit in units if unit.event == "disposition"}
