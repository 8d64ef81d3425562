"""Two ends of this package, whose transport is cut at any octet, any number of times: every command is executed exactly
once and in order, every handle ends once with the right result, no credit is lost, and an observer finds no fault.

Both applications complete late and out of order. What they know of their sessions is pickled at each cut.
Below are the single cases that were found so.
"""

# pyright: reportPrivateUsage=false
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio import (
    Abandoned,
    Accepted,
    EndpointClosed,
    Event,
    Failed,
    Limits,
    LocalProtocolError,
    Pending,
    Settled,
    Side,
)
from amqp_sansio import amqp_0_10 as amqp
from amqp_sansio.amqp_0_10 import spec
from tests.kit.choices import Choices
from tests.kit.pair import SIDES, Chunks
from tests.kit.pair_0_10 import Pair, client_config, server_config
from tests.kit.telling import ended_by

CLIENT, SERVER = Side.CLIENT, Side.SERVER
NAMES = (b"plain", b"tx")
DESTINATIONS = ("window", "credit")
SIZES = (0, 5, 5, 40, 200, 9000)
STARTS = (0, 0, 0xFFFF_FFF8, 0xFFFF_FFE0, 0x7FFF_FFF0)
"""The ids of the first commands: some pass the end of the numbers."""
STREAM_ABOVE = (None, None, 0, 100, 5000)


class World:
    """Two sessions that live longer than the connections that carry them, and an application at each end."""

    def __init__(self, choices: Choices, chunks: Chunks | None = None) -> None:
        self.choices = choices
        self.chunks = chunks
        above = choices.of(STREAM_ABOVE), choices.of(STREAM_ABOVE)
        self.configs = (
            client_config(max_frame_size=4096, stream_above=above[0]),
            server_config(max_frame_size=4096, stream_above=above[1]),
        )
        self.serial = 0
        self.pairs: list[Pair] = []
        self.live: dict[tuple[Side, bytes], amqp.Session] = {}
        self.kept: dict[tuple[Side, bytes], bytes] = {}
        # What each end was asked to execute, and what it has executed, by who sent it.
        self.asked: dict[tuple[Side, bytes], list[str]] = {(side, name): [] for side in SIDES for name in NAMES}
        self.told: dict[tuple[Side, bytes], list[str]] = {key: [] for key in self.asked}
        self.open: dict[tuple[Side, bytes], dict[int, Event]] = {key: {} for key in self.asked}
        self.parts: dict[tuple[Side, bytes], list[bytes]] = {key: [] for key in self.asked}
        self.bodies: dict[tuple[Side, bytes], dict[int, bytes]] = {key: {} for key in self.asked}
        self.wanted: dict[tuple[object, ...], object] = {}
        self.ended: dict[tuple[object, ...], Event] = {}
        self.outcomes: dict[bytes, object] = {}
        self.connect()
        self.set_up()

    @property
    def pair(self) -> Pair:
        """The connection of now."""
        return self.pairs[-1]

    def connect(self) -> None:
        """The next connection."""
        pair = Pair(client=self.configs[0], server=self.configs[1], chunks=self.chunks, watched=True)
        pair.tell(self.hear)
        self.pairs.append(pair)

    def set_up(self) -> None:
        """Both sessions with their subscriptions, in step, and with a timeout that both ends know."""
        self.pair.open()
        for name in NAMES:
            session = self.pair.client.open_session(name, timeout=60)
            session._state.sending.next_id = self.choices.of(STARTS)
            self.live[CLIENT, name] = session
            self.pair.pump()
            if name == b"tx":
                self.call(name, spec.TxSelect())
            for destination in DESTINATIONS:
                self.subscribe(name, destination)
        self.pair.pump()

    def subscribe(self, name: bytes, destination: str) -> None:
        """A subscription without credit."""
        self.call(name, spec.MessageSubscribe("q", destination, 0, 0))
        if destination == "credit":
            self.call(name, spec.MessageSetFlowMode(destination, amqp.spec.CREDIT))

    # What comes.

    def hear(self, side: Side, event: Event) -> None:
        """Take one event."""
        assert not isinstance(event, Failed), event
        for handle in ended_by(event):
            self.end_handle(handle, event)
        if isinstance(event, amqp.SessionRequested):
            kept = self.kept.pop((SERVER, event.name), None)
            if kept is None:
                state = amqp.SessionState(event.name, SERVER, Limits())
                state.sending.next_id = self.choices.of(STARTS)
            else:
                state = pickle.loads(kept)
            session = self.pair.server.accept_session(event.channel, state)
            self.live[SERVER, event.name] = session
        elif isinstance(event, amqp.Resumed):
            self.check_resumed(side, event)
        elif isinstance(event, amqp.SessionClosed):
            session = self.live.pop((side, event.name))
            assert event.resumable, event
            self.kept[side, event.name] = pickle.dumps(session.detached_state())
        elif isinstance(event, amqp.CommandReceived | amqp.MessageReceived | amqp.MessageBegun):
            self.execute(side, event)
        elif isinstance(event, amqp.BodyReceived):
            self.go_on(side, event)
        elif isinstance(event, amqp.BodyAborted):
            key = side, self.name(side, event.channel)
            self.parts[key] = []
            del self.open[key][event.command_id]

    def name(self, side: Side, channel: int) -> bytes:
        (found,) = [name for (end, name), each in self.live.items() if end is side and each.channel == channel]
        return found

    def execute(self, side: Side, event: amqp.CommandReceived | amqp.MessageReceived | amqp.MessageBegun) -> None:
        """A command is told."""
        key = side, self.name(side, event.channel)
        assert event.command_id not in self.open[key], event
        self.open[key][event.command_id] = event
        if isinstance(event, amqp.MessageBegun):
            self.parts[key] = []
            return
        command = event.command if isinstance(event, amqp.CommandReceived) else event.transfer
        self.told[key].append(label(command, event.body))
        if isinstance(event, amqp.MessageReceived):
            self.bodies[key][event.command_id] = event.body

    def go_on(self, side: Side, event: amqp.BodyReceived) -> None:
        """A piece of a body."""
        key = side, self.name(side, event.channel)
        begun: Any = self.open[key][event.command_id]
        self.parts[key].append(event.octets)
        if event.last:
            body = b"".join(self.parts[key])
            self.told[key].append(label(begun.transfer, body))
            self.bodies[key][event.command_id] = body

    def check_resumed(self, side: Side, event: amqp.Resumed) -> None:
        """What the session has to complete is what the application hasn't completed."""
        key = side, self.name(side, event.channel)
        incomplete: Any = event.incomplete
        assert [each.command_id for each in incomplete] == list(self.open[key])
        assert all([each.channel == event.channel for each in incomplete])

    def end_handle(self, handle: Pending[Any], event: Event) -> None:
        """A handle has ended: the first time, and as it was to be."""
        assert handle.done, event
        kind = handle.key[2]
        key = handle.key if isinstance(kind, int) else (len(self.pairs), *handle.key)
        assert key not in self.ended, (event, self.ended[key])
        self.ended[key] = event
        if isinstance(event, Abandoned):
            assert kind in ("open", "timeout"), event
        elif kind not in ("open", "timeout"):
            wanted = self.wanted[handle.key]
            if isinstance(wanted, bytes):
                assert handle.result == self.outcomes[wanted], handle
            else:
                assert handle.result == wanted, handle

    # What the applications do.

    def note(self, handle: Pending[Any], wanted: object) -> None:
        """A handle that is to end so."""
        assert not handle.done
        assert handle.key not in self.wanted
        self.wanted[handle.key] = wanted

    def call(self, name: bytes, command: spec.Command[Any], *, sync: bool = False) -> None:
        """The client sends a command."""
        wanted = None
        if isinstance(command, spec.QueueQuery):
            wanted = spec.QueueQueryResult(queue=command.queue)
        self.note(self.live[CLIENT, name].call(command, sync=sync), wanted)
        if not isinstance(command, AT_ONCE):
            self.asked[SERVER, name].append(label(command, b""))

    def transfer(self, side: Side, name: bytes) -> None:
        """Either end sends a message."""
        choices = self.choices
        self.serial += 1
        body = b"%d " % self.serial
        body += bytes(choices.of(SIZES))
        destination = "" if side is CLIENT else choices.of(DESTINATIONS)
        mode = choices.of((0, 0, amqp.spec.NONE)) if side is CLIENT else 0
        message = amqp.Message(body, routing_key=choices.of((None, "key")))
        sent = self.live[side, name].transfer(destination, message, accept_mode=mode, sync=choices.rarely())
        self.note(sent.completion, None)
        if sent.outcome is not None:
            self.note(sent.outcome, body)
            if side is CLIENT:
                self.outcomes[body] = Accepted()
        command = spec.MessageTransfer(destination, mode, 0)
        self.asked[side.other, name].append(label(command, body))

    def finished(self, side: Side, name: bytes) -> list[int]:
        """The commands that have come as a whole and aren't completed."""
        key = side, name
        return [
            number
            for number, event in self.open[key].items()
            if not isinstance(event, amqp.MessageBegun) or number in self.bodies[key]
        ]

    def complete(self, side: Side, name: bytes) -> None:
        """Either end completes one of the commands that it got, not always the first one."""
        waiting = self.finished(side, name)
        if not waiting:
            return
        number = waiting[self.choices.below(len(waiting))]
        event: Any = self.open[side, name][number]
        session = self.live[side, name]
        result = None
        if isinstance(event, amqp.CommandReceived):
            if isinstance(event.command, spec.QueueQuery):
                result = spec.QueueQueryResult(queue=event.command.queue)
        elif side is SERVER and not event.transfer.accept_mode:
            how = self.choices.below(4)
            if how == 3:
                self.settle(side, name, number)
                return
        session.complete(number, result)
        del self.open[side, name][number]

    def settle(self, side: Side, name: bytes, number: int) -> None:
        """Accept, reject or release a message, which completes it too."""
        session = self.live[side, name]
        body = self.bodies[side, name][number]
        sync = self.choices.rarely()
        how = self.choices.below(6)
        if how == 4:
            handle = session.reject(number, code=1, text="no", sync=sync)
            command: Any = spec.MessageReject(amqp.SequenceSet.of(number), 1, "no")
            self.outcomes[body] = amqp.Rejected(1, "no")
        elif how == 5:
            handle = session.release(number, set_redelivered=True, sync=sync)
            command = spec.MessageRelease(amqp.SequenceSet.of(number), True)
            self.outcomes[body] = amqp.Released(True)
        else:
            handle = session.accept(number, sync=sync)
            command = spec.MessageAccept(amqp.SequenceSet.of(number))
            self.outcomes[body] = Accepted()
        self.note(handle, None)
        if side is CLIENT:
            self.asked[SERVER, name].append(label(command, b""))
        self.open[side, name].pop(number, None)

    def client_acts(self, name: bytes) -> None:
        """The client uses a session."""
        choices, session = self.choices, self.live[CLIENT, name]
        match choices.below(16):
            case 0 | 1 | 2:
                self.transfer(CLIENT, name)
            case 3 | 4 | 5:
                ids = [number for number in session.unsettled if number in self.bodies[CLIENT, name]]
                if ids:
                    self.settle(CLIENT, name, choices.of(ids))
            case 6 | 7:
                self.complete(CLIENT, name)
            case 8 | 9 | 10:
                octets = choices.of((None, None, 500, 20_000))
                self.top_up(name, choices.of(DESTINATIONS), choices.below(6) + 1, octets)
            case 11:
                self.serial += 1
                command = spec.QueueQuery(f"q{self.serial}")
                self.call(name, command, sync=choices.rarely())
            case 12:
                self.serial += 1
                self.call(name, spec.QueueDeclare(f"q{self.serial}"))
            case 13:
                self.note(session.sync(), None)
            case 14 if name == b"tx":
                self.call(name, choices.of((spec.TxCommit(), spec.TxRollback())))
            case 15:
                self.rare(name)
            case _:
                session.flush(expected=choices.rarely(), confirmed=choices.rarely())

    def rare(self, name: bytes) -> None:
        """What a client does now and then."""
        session, choices = self.live[CLIENT, name], self.choices
        destination = choices.of(DESTINATIONS)
        match choices.below(5):
            case 0:
                self.call(name, spec.MessageStop(destination))
            case 1:
                self.call(name, spec.MessageFlush(destination))
            case 2:
                self.call(name, spec.MessageCancel(destination))
            case 3:
                self.subscribe(name, destination)
            case _:
                session.request_timeout(choices.of((60, None)))

    def top_up(self, name: bytes, destination: str, messages: int, octets: int | None) -> None:
        """Grant credit; its commands have no handles for the application."""
        session = self.live[CLIENT, name]
        known = set(session.pending)
        session.top_up(destination, messages, octets)
        for handle in session.pending:
            if handle not in known:
                self.note(handle, None)

    def server_acts(self, name: bytes) -> None:
        """The server uses a session."""
        match self.choices.below(8):
            case 0 | 1 | 2:
                self.transfer(SERVER, name)
            case 3 | 4 | 5 | 6:
                self.complete(SERVER, name)
            case _:
                self.note(self.live[SERVER, name].sync(), None)

    def act(self) -> None:
        """One application does something, if it can."""
        side, name = self.choices.of(SIDES), self.choices.of(NAMES)
        if (side, name) not in self.live:
            return
        try:
            (self.client_acts if side is CLIENT else self.server_acts)(name)
        except amqp.NoCredit:
            pass
        except EndpointClosed:
            assert "detach" in self.live[side, name]._channel.state.value
        except LocalProtocolError as error:
            assert error.rule or "isn't completed" in str(error) or "subscription" in str(error), error

    # What happens between them.

    def step(self) -> None:
        """Something happens."""
        choices, pair = self.choices, self.pair
        match choices.below(16):
            case 0 | 1 | 2 | 3 | 4 | 5 | 6:
                self.act()
            case 7 | 8:
                pair.turn(choices.of(SIDES))
            case 9 | 10:
                side = choices.of(SIDES)
                pair.write(side, choices.below(256))
                pair.arrive(side.other, choices.below(256))
            case 11 | 12:
                pair.pump()
            case 13:
                pair.cut(choices.below(256), choices.below(256))
                self.connect()
            case 14 if choices.rarely():
                key = choices.of(SIDES), choices.of(NAMES)
                if key in self.live and key[0] is CLIENT:
                    self.live[key].detach()
            case _:
                self.resume()
        self.check()

    def resume(self) -> None:
        """The client attaches again what isn't attached."""
        if not self.pair.client.is_open:
            return
        for side, name in list(self.kept):
            if side is CLIENT:
                state = pickle.loads(self.kept.pop((side, name)))
                self.live[side, name] = self.pair.client.resume_session(state)

    def check(self) -> None:
        """What is always true."""
        for session in self.live.values():
            session._state.sending.check()
            session._state.receiving.check()
        assert not self.pair.violations, self.pair.violations
        for key, told in self.told.items():
            asked = self.asked[key]
            assert told == asked[: len(told)], (key, told[-1], asked[len(told) - 1])

    def finish(self) -> None:
        """All is completed and settled; then both ends know the same, and a later message arrives."""
        self.pair.pump()
        self.resume()
        self.pair.pump()
        for _ in range(4):
            self.rest()
        for key, asked in self.asked.items():
            assert self.told[key] == asked, key
        for number in self.wanted:
            assert number in self.ended, number
        for name in NAMES:
            session, other = self.live[CLIENT, name], self.live[SERVER, name]
            for each in (session, other):
                assert not each.pending
                assert not each._state.sending.replay, each._state.sending.replay
                assert not each._state.receiving.known.set - each._state.receiving.completed
                assert not each._state.outgoing.unsettled
                assert not each._state.octets
                assert not each._state.weight
                assert not each._channel.transport.bodies
            for destination in DESTINATIONS:
                if destination not in session._state.granted:
                    self.subscribe(name, destination)
                    self.rest()
                assert session.granted(destination) == other.credit(destination)
                self.top_up(name, destination, 3, None)
                self.pair.pump()
                count = len(self.told[CLIENT, name])
                self.transfer_to(name, destination)
                self.pair.pump()
                assert len(self.told[CLIENT, name]) == count + 1
        self.rest()
        self.check()

    def transfer_to(self, name: bytes, destination: str) -> None:
        """One more message."""
        body = b"later"
        sent = self.live[SERVER, name].transfer(destination, body, accept_mode=amqp.spec.NONE)
        self.note(sent.completion, None)
        command = spec.MessageTransfer(destination, amqp.spec.NONE, 0)
        self.asked[CLIENT, name].append(label(command, body))

    def rest(self) -> None:
        """Both applications do all that they are asked for."""
        for name in NAMES:
            session = self.live[CLIENT, name]
            for number in session.unsettled:
                self.settle(CLIENT, name, number)
            if name == b"tx":
                self.call(name, spec.TxCommit())
            self.note(session.sync(), None)
        self.pair.pump()
        for name in NAMES:
            for side in SIDES:
                while self.open[side, name]:
                    self.complete(side, name)
            self.note(self.live[SERVER, name].sync(), None)
            self.live[CLIENT, name].flush()
        self.pair.pump()


AT_ONCE = (spec.MessageFlow, spec.MessageStop, spec.MessageSetFlowMode)


def label(command: Any, body: bytes) -> str:
    """What tells one command from another."""
    fields = [getattr(command, name) for name in command.__match_args__]
    shown = [repr(each) for each in fields if each]
    return f"{command.NAME} {' '.join(shown)} {body[:12]!r} {len(body)}"


def play(octets: bytes, chunks: Chunks | None = None) -> World:
    """Let octets choose what happens."""
    choices = Choices(octets)
    world = World(choices, chunks)
    while choices:
        world.step()
    world.finish()
    return world


@pytest.mark.rule("0-10/session/exactly-once", "0-10/session/state-kept")
@given(st.binary(min_size=300, max_size=1200))
def test_every_command_is_executed_exactly_once_whatever_is_cut(octets: bytes) -> None:
    play(octets)


# What was found.


def lost(pair: Pair, *sessions: amqp.Session, arriving: tuple[int, ...] = ()) -> list[amqp.SessionState]:
    """The transport is cut; what is kept of the sessions."""
    pair.cut(*arriving)
    return [pickle.loads(pickle.dumps(each.detached_state())) for each in sessions]


def resumed(pair: Pair, states: list[amqp.SessionState]) -> tuple[Pair, Any, Any]:
    """The next connection, on which the session of both ends is attached again, not in step yet."""
    again = Pair(client=pair.client.config, server=pair.server.config, watched=True).open()
    session = again.client.resume_session(states[0])
    again.pump()
    other = again.server.accept_session(session.channel, states[1])
    return again, session, other


def subscribed(pair: Pair, session: Any, other: Any, *, credit: int) -> None:
    """The subscription "d", with so much credit for messages of any size."""
    session.call(spec.MessageSubscribe("q", "d", 0, 0))
    pair.pump()
    other.complete(other.incomplete[-1])
    if credit:
        session.top_up("d", credit)
    pair.pump()


def begun(credit: int | None = None, **ends: Any) -> tuple[Pair, Any, Any]:
    """A pair, and both ends of its session; with `credit` also the subscription "d"."""
    pair = Pair(**ends).open()
    session, other = pair.sessions()
    if credit is not None:
        subscribed(pair, session, other, credit=credit)
    return pair, session, other


def test_the_outcome_that_was_lost_comes_before_the_completion() -> None:
    """Told at once after a re-attachment, the completion would mean that the message was accepted."""
    pair, session, other = begun()
    sent = session.transfer("", b"x")
    pair.pump()
    other.reject(0, code=1, text="no")
    pair, session, other = resumed(pair, lost(pair, session, other))
    pair.pump()
    (settled, *_) = [event for event in pair.of(CLIENT, Settled) if event.state != amqp.Completed()]
    assert settled == Settled((sent.outcome,), amqp.Rejected(1, "no"))
    assert not session.pending


@pytest.mark.rule("0-10/message.stop/zero")
def test_messages_from_before_a_stop_give_no_credit_back() -> None:
    pair, session, other = begun(2)
    for _ in range(2):
        other.transfer("d", b"x", accept_mode=amqp.spec.NONE)
    pair.pump()
    session.call(spec.MessageStop("d"))
    session.complete(0)
    pair.pump()
    session.complete(1)
    pair.pump()
    assert session.granted("d") == other.credit("d") == (0, 0)
    session.top_up("d", 1)
    pair.pump()
    assert session.granted("d") == other.credit("d") == (1, None)


@pytest.mark.rule("0-10/message.stop/zero", "0-10/message.flush/zero")
@pytest.mark.parametrize("command", [spec.MessageStop("d"), spec.MessageFlush("d")])
def test_no_credit_is_granted_while_it_is_being_taken(command: Any) -> None:
    """What the peer has left of it could not be known."""
    pair, session, other = begun(2)
    session.call(command)
    with pytest.raises(LocalProtocolError, match="wait for its pending"):
        session.call(spec.MessageFlow("d", 0, 5))
    with pytest.raises(LocalProtocolError, match="wait for its pending"):
        session.top_up("d", 5)
    pair.pump()
    for number in other.incomplete:
        other.complete(number)
    pair.pump()
    assert session.granted("d") == other.credit("d") == (0, 0)
    session.top_up("d", 5)
    pair.pump()
    assert session.granted("d") == other.credit("d") == (5, None)


def test_credit_that_came_behind_a_flush_stays_when_that_is_completed() -> None:
    """A peer may grant it without waiting; the application flushes late."""
    pair, session, other = begun(2)
    session.call(spec.MessageFlush("d"))
    session._state.granted["d"].taking.clear()
    session.call(spec.MessageFlow("d", 0, 3))
    session.call(spec.MessageFlow("d", 1, None))
    pair.pump()
    assert other.credit("d") == (5, None)
    other.transfer("d", b"x")
    other.complete(other.incomplete[0])
    assert other.credit("d") == (3, None)


@pytest.mark.rule("0-10/message.subscribe/unique-destination -> not-allowed 530")
def test_a_destination_is_not_subscribed_again_before_its_cancel_is_completed() -> None:
    """A message that is under way to the first one has no credit of the second one."""
    pair, session, other = begun(2)
    other.transfer("d", b"x")
    session.call(spec.MessageCancel("d"))
    with pytest.raises(LocalProtocolError, match="wait for its pending"):
        session.call(spec.MessageSubscribe("q", "d", 0, 0))
    pair.pump()
    other.complete(other.incomplete[0])
    pair.pump()
    session.call(spec.MessageSubscribe("q", "d", 0, 0))
    session.accept(0)
    pair.pump()
    assert session.granted("d") == other.credit("d") == (0, 0)
    assert not pair.of(CLIENT, Failed)


def test_a_message_in_pieces_that_is_cut_gives_its_credit_back() -> None:
    client = client_config(stream_above=0, max_frame_size=4096)
    pair, session, other = begun(1, client=client)
    other.transfer("d", bytes(9000))
    pair.write(SERVER)
    states = lost(pair, session, other, arriving=(5000,))
    assert pair.of(CLIENT, amqp.BodyAborted)
    pair, session, other = resumed(pair, states)
    pair.pump()
    assert not pair.of(CLIENT, Failed)
    assert sum([len(event.octets) for event in pair.of(CLIENT, amqp.BodyReceived)]) == 9000
    assert session.granted("d") == other.credit("d") == (0, None)


def test_nothing_is_sent_on_a_channel_that_was_left() -> None:
    """Not even an answer: the peer may have a new session there."""
    pair, session, other = begun(watched=True)
    other.flush(expected=True, confirmed=True)
    other.sync()
    other.request_timeout(5)
    pair.write(SERVER)
    session.detach()
    with pytest.raises(EndpointClosed):
        session.transfer("", b"x")
    pair.pump()
    assert not pair.violations
    again = pair.client.open_session("t")
    pair.pump()
    pair.server.accept_session(again.channel)
    pair.pump()
    assert again.is_attached


def accepting(pair: Pair, session: Any, other: Any, count: int) -> list[Pending[Any]]:
    """So many messages for the client, and the handles of their outcomes."""
    subscribed(pair, session, other, credit=count)
    sent = [other.transfer("d", b"x").outcome for _ in range(count)]
    pair.pump()
    return sent


def test_a_transaction_has_what_was_accepted_before_its_end_whatever_is_completed_first() -> None:
    pair, session, other = begun()
    session.call(spec.TxSelect())
    first, second = accepting(pair, session, other, 2)
    session.accept(0)
    session.call(spec.TxCommit())
    session.accept(1)
    session.call(spec.TxRollback())
    pair.pump()
    heard: dict[Any, Any] = {type(event.command): event for event in pair.of(SERVER, amqp.CommandReceived)}
    assert heard[spec.TxCommit].pendings == (first,)
    assert heard[spec.TxRollback].pendings == (second,)
    for number in reversed(other.incomplete):
        other.complete(number)
    pair.pump()
    assert (first.done, second.done) == (True, False)
    assert session.unsettled == (1,)
    session.accept(1)
    session.call(spec.TxCommit())
    pair.pump()
    for number in other.incomplete:
        other.complete(number)
    assert second.result == Accepted()


def test_what_was_accepted_before_transactions_began_is_not_part_of_one() -> None:
    pair, session, other = begun()
    (outcome,) = accepting(pair, session, other, 1)
    session.accept(0)
    session.call(spec.TxSelect())
    pair.pump()
    for number in reversed(other.incomplete):
        other.complete(number)
    assert outcome.result == Accepted()


@pytest.mark.rule("0-10/session.gap/confirm-complete")
def test_a_command_that_is_given_up_leaves_its_number_out() -> None:
    """The commands behind it keep theirs."""
    pair, session, other = begun()
    for name in "abc":
        session.call(spec.QueueDeclare(name), sync=False)
    states = lost(pair, session, other)
    pair, session, other = resumed(pair, states)
    session.gap(1)
    pair.pump()
    heard = [(event.command_id, event.command.queue) for event in pair.of(SERVER, amqp.CommandReceived)]
    assert heard == [(0, "a"), (2, "c")]
    other._state.receiving.check()
    for number in other.incomplete:
        other.complete(number)
    session.flush()
    pair.pump()
    assert not session.pending
    assert not pair.violations


def test_two_requests_for_a_timeout_are_answered_in_turn() -> None:
    pair = Pair(watched=True).open()
    session, _ = pair.sessions()
    longest, short = session.request_timeout(None), session.request_timeout(5)
    pair.pump()
    assert (longest.result, short.result) == (3600, 5)
    assert not pair.violations


@pytest.mark.parametrize(("status", "left"), [(amqp.spec.XA_OK, ()), (amqp.spec.XA_RBROLLBACK, (0,))])
def test_a_branch_that_was_rolled_back_at_its_commit_settles_nothing(status: int, left: tuple[int, ...]) -> None:
    pair, session, other = begun()
    (outcome,) = accepting(pair, session, other, 1)
    xid = spec.Xid(1, b"g", b"b")
    session.call(spec.DtxSelect())
    session.call(spec.DtxStart(xid))
    session.accept(0)
    session.call(spec.DtxEnd(xid))
    session.call(spec.DtxCommit(xid, True))
    pair.pump()
    assert session.unsettled == ()
    for event in pair.of(SERVER, amqp.CommandReceived):
        if event.command_id in other.incomplete:
            named = event.command.RESULT
            other.complete(event.command_id, spec.XaResult(status) if named else None)
    other.decide(xid, committed=status == amqp.spec.XA_OK)
    pair.pump()
    assert outcome.done is (status == amqp.spec.XA_OK)
    assert session.unsettled == left
