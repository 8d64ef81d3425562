"""A hostile peer of AMQP 1.0: whatever well-formed frames it sends, the endpoint keeps its promises.

Nothing is raised out of the read path, all that is kept stays bounded, every end is told once, and the endpoint sends
what can be read. Below are the single cases that random peers have found.
"""

# pyright: reportPrivateUsage=false
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio import Closed, Failed, Scope
from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.amqp_1_0 import spec
from amqp_sansio.endpoint import CloseHint, Side
from tests.kit.facing import BOTH_SIDES, CLIENT, SERVER
from tests.kit.facing_1_0 import Facing
from tests.kit.octets_1_0 import octets_of, parse
from tests.kit.play_1_0 import LIMITS, Play, facing_of

PLAYS = st.binary(min_size=300, max_size=900)


@given(PLAYS, st.sampled_from([CLIENT, SERVER]), st.sampled_from([512, 4096]), st.booleans(), st.booleans())
def test_nothing_breaks_whatever_the_peer_sends(
    octets: bytes, side: Side, frame_size: int, reads: bool, cuts: bool
) -> None:
    facing = facing_of(side, max_frame_size=frame_size, channel_max=2)
    application = Play(octets, facing, reads=reads, cuts=cuts).run()
    assert application.telling.closed
    ended = application.telling.ended
    for handle in application.handles:
        assert handle.done
        assert id(handle) in ended, handle
    for handle in application.at_once:
        assert id(handle) not in ended, handle
    for sent in parse(facing.out):
        assert sent.size <= frame_size
        assert isinstance(sent.body, spec.Performative) or sent.body is None


@given(PLAYS, st.sampled_from([CLIENT, SERVER]))
def test_what_raises_changes_nothing_whatever_the_peer_sends(octets: bytes, side: Side) -> None:
    Play(octets, facing_of(side), check=True).run()


@given(PLAYS, st.sampled_from([CLIENT, SERVER]))
def test_the_strict_books_of_a_peer_take_all_that_is_sent(octets: bytes, side: Side) -> None:
    """What the endpoint sends follows the rules by the books of an observer that saw both sides."""
    facing = facing_of(side)
    Play(octets, facing).run()
    begun: set[int] = set()
    handles: dict[int, set[int]] = {}
    for sent in parse(facing.out):
        frame = sent.body
        if isinstance(frame, spec.Begin):
            assert sent.channel not in begun
            begun.add(sent.channel)
            handles[sent.channel] = set()
        elif isinstance(frame, spec.End):
            begun.remove(sent.channel)
        elif isinstance(frame, spec.Attach):
            assert frame.handle not in handles[sent.channel]
            handles[sent.channel].add(frame.handle)
        elif isinstance(frame, spec.Detach):
            handles[sent.channel].remove(frame.handle)
        elif isinstance(frame, spec.Transfer | spec.Flow) and frame.handle is not None:
            assert frame.handle in handles[sent.channel]
        if not isinstance(frame, spec.Begin | spec.Open | spec.Close | spec.End):
            assert sent.channel in begun


# What was found.

BEGIN = spec.Begin(next_outgoing_id=0, incoming_window=50, outgoing_window=50)


def attach(name: str, handle: int = 0, **changes: Any) -> spec.Attach:
    """A link whose sender is the peer."""
    values: dict[str, Any] = {
        "name": name,
        "handle": handle,
        "role": False,
        "source": amqp.Source("q"),
        "target": amqp.Target("q"),
        "initial_delivery_count": 0,
        **changes,
    }
    return spec.Attach(**values)


def with_session(side: Side, *, accept: bool = True, **changes: Any) -> tuple[Facing, Any]:
    """An endpoint with a session that its peer has begun."""
    facing = facing_of(side, **changes)
    facing.feed(octets_of(BEGIN))
    (event,) = facing.of(amqp.SessionRequested)
    session = facing.end.session(event.channel)
    if accept:
        session.accept()
    return facing.forget(), session


def accepted(facing: Facing, session: Any, frame: spec.Attach, channel: int = 0) -> Any:
    """A link that the peer attaches and the application accepts."""
    facing.feed(octets_of(frame, channel))
    event = facing.of(amqp.LinkRequested)[-1]
    link = session.link(event.link)
    link.accept_attach()
    facing.forget()
    return link


@BOTH_SIDES
def test_the_answer_to_a_fault_that_does_not_fit_ends_the_connection(side: Side) -> None:
    """The peer takes frames of 512 octets, and attaches a link of a longer name, which can't be refused."""
    facing, _ = with_session(side, max_frame_size=512)
    facing.feed(octets_of(attach("n" * 600)))
    facing.feed(octets_of(spec.Transfer(0, 0, b"t", 0), payload=amqp.Message(b"x").encode()))
    assert [event.scope for event in facing.of(Failed)] == [Scope.CONNECTION]
    assert facing.names()[-1] == "close"


@BOTH_SIDES
def test_the_description_of_a_fault_fits_whatever_its_letters(side: Side) -> None:
    facing, _ = with_session(side, max_frame_size=512)
    facing.feed(octets_of(attach("\N{SNOWMAN}" * 110)))
    facing.feed(octets_of(spec.Flow(0, 50, 0, 50, handle=0, link_credit=1)))
    assert facing.names() == ["attach", "detach"]
    assert facing.end.is_open


@BOTH_SIDES
def test_a_link_may_be_stolen_from_a_session_that_ends(side: Side) -> None:
    facing, session = with_session(side)
    accepted(facing, session, attach("n"))
    facing.feed(octets_of(BEGIN, 1))
    other = facing.end.session(facing.of(amqp.SessionRequested)[0].channel)
    other.accept()
    session.close()
    facing.forget()
    facing.feed(octets_of(attach("n"), 1))
    assert facing.of(amqp.LinkRequested)
    assert not facing.of(Failed)
    assert facing.names() == []


@BOTH_SIDES
def test_a_link_is_stolen_from_the_question_for_it(side: Side) -> None:
    """The first one is refused, so that its late answer can't be taken for the second one's."""
    facing, session = with_session(side)
    facing.feed(octets_of(attach("n", 0)), octets_of(attach("n", 1)))
    first, second = [event.link for event in facing.of(amqp.LinkRequested)]
    assert facing.names() == ["attach", "detach"]
    assert facing.sent()[1].body.error.condition == "amqp:link:stolen"
    session.link(second).accept_attach()
    facing.feed(octets_of(spec.Detach(0, True)))
    assert [event.link for event in facing.of(amqp.LinkOpened)] == [second]
    assert [event.link for event in facing.of(amqp.LinkClosed)] == [first]
    assert session.link(second).is_open


@BOTH_SIDES
def test_a_name_twice_in_a_session_without_an_answer_ends_it(side: Side) -> None:
    facing, _ = with_session(side, accept=False)
    facing.feed(octets_of(attach("n", 0)), octets_of(attach("n", 1)))
    (failed,) = facing.of(Failed)
    assert (failed.scope, failed.error.rule) == (Scope.SESSION, "1.0/transport/link/name-unique")
    assert facing.names() == ["begin", "end"]


@BOTH_SIDES
def test_links_that_come_and_go_before_the_session_is_answered_are_not_kept(side: Side) -> None:
    facing, session = with_session(side, accept=False)
    for number in range(100):
        facing.feed(octets_of(attach(f"n{number}")), octets_of(spec.Detach(0, number % 2 == 0)))
    assert len(facing.of(amqp.LinkRequested)) == len(facing.of(amqp.LinkClosed)) == 100
    assert not session.names
    assert not session.asked
    session.accept()
    facing.settle()
    assert accepted(facing, session, attach("n1")).is_open


@BOTH_SIDES
def test_links_that_come_and_go_after_the_own_end_are_not_kept_nor_told(side: Side) -> None:
    facing, session = with_session(side)
    facing.feed(octets_of(attach("kept", 1)))
    session.close()
    facing.forget()
    for number in range(100):
        facing.feed(octets_of(attach(f"n{number}")), octets_of(spec.Detach(0, number % 2 == 0)))
    assert not facing.events
    assert list(session.names) == [("kept", 1 - session.side)]
    facing.feed(octets_of(spec.End()))
    assert [event.scope for event in facing.of(Closed)] == [Scope.LINK, Scope.SESSION]


@BOTH_SIDES
def test_the_peers_links_may_be_as_many_as_the_own_ones(side: Side) -> None:
    """An answer isn't one link more."""
    facing, session = with_session(side)
    for _ in range(LIMITS.consumers):
        session.open_sender("q")
    for number in range(LIMITS.consumers):
        assert accepted(facing, session, attach(f"n{number}", number)).is_open


@BOTH_SIDES
def test_links_that_only_one_end_closes_are_forgotten(side: Side) -> None:
    """RabbitMQ 3 answers a closing detach with a plain one, and never attaches again to close too (section 2.6.6)."""
    facing, session = with_session(side)
    for number in range(300):
        link = accepted(facing, session, attach(f"n{number}"))
        link.close()
        facing.feed(octets_of(spec.Detach(0)))
    assert len(session.names) == len(session.crossed) == 64
    again = accepted(facing, session, attach("n0"))
    assert again.is_open
    facing.end.check()


@pytest.mark.parametrize("how", ["detach", "close", "fault", "own close"])
@BOTH_SIDES
def test_the_octets_of_a_delivery_that_ends_with_its_link_are_given_back(side: Side, how: str) -> None:
    """Else a peer could use up Limits.bodies with deliveries that it never completes."""
    facing, session = with_session(side)
    payload = amqp.Message(bytes(3000)).encode()
    for number in range(20):
        link = accepted(facing, session, attach(f"n{number}", snd_settle_mode=number % 2))
        link.flow(5)
        facing.feed(octets_of(spec.Transfer(0, number, b"t", 0, more=True), payload=payload))
        assert facing.end._sessions.transport.bodies == len(payload)
        if how == "own close":
            link.close()
        elif how == "fault":
            facing.feed(octets_of(spec.Transfer(0, number + 1, b"u", 0, more=True)))
        facing.feed(octets_of(spec.Detach(0, how == "close")))
        assert link.report is not None
        assert facing.end._sessions.transport.bodies == 0
        assert not session.peer.deliveries
        facing.end.check()
    assert len(facing.of(amqp.LinkFailed)) <= 1
    assert facing.end.close_hint is CloseHint.KEEP
    pickle.dumps(facing.end)
