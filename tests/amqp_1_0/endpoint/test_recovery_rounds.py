"""Each resumption with maps that don't fit their frames takes something from what is unsettled; else there is an error.

1.0 part 2 sections 2.6.13 and 2.7.3. The measure is what the receiver has: while its map is incomplete each round takes
all that the map names. With its first complete map the receiver has nothing left; from then on each round takes what
the sender's map names.
"""

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from amqp_sansio import Event, LocalProtocolError, Settled, Side
from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.amqp_1_0 import spec
from amqp_sansio.amqp_1_0.model.resume import ROUNDS
from tests.kit.applications import Accepting
from tests.kit.links_1_0 import Mapped, attach, flow
from tests.kit.pair_1_0 import Pair

CLIENT, SERVER = Side.CLIENT, Side.SERVER
ACCEPTED = amqp.Accepted()
PAYLOAD = amqp.Message(b"m" * 20).encode()
FRAME = 512
SOURCE, TARGET = amqp.Source(address="X"), amqp.Target(address="Y")


def tag_of(number: int) -> bytes:
    """A delivery-tag so long that a map of 512 octets holds a dozen."""
    return number.to_bytes(2, "big") + b"t" * 30


SENDS = {
    "undecided": (PAYLOAD, None, None),
    "decided": (PAYLOAD, ACCEPTED, ACCEPTED),
    "gone": (None, ACCEPTED, ACCEPTED),
}
"""What a sender may have of a delivery: payload, and both states."""
TAKES = {"decided": (None, ACCEPTED, None), "begun": (PAYLOAD[:9], None, None)}
"""What a receiver may have."""


def saved(kinds: dict[str, Any], chosen: dict[int, str]) -> tuple[amqp.SavedDelivery, ...]:
    """The deliveries of a saved link."""
    return tuple([amqp.SavedDelivery(tag_of(number), 0, *kinds[kind]) for number, kind in chosen.items()])


class Ends:
    """Both ends of a link that a client resumes again and again: as the sender, or as the receiver."""

    def __init__(self, begins: str, modes: tuple[int, int], sends: dict[int, str], takes: dict[int, str]) -> None:
        self.begins = begins
        self.modes = modes
        config = {side: amqp.Config(container_id=side.value, max_frame_size=FRAME) for side in Side}
        self.quiet = Accepting(deliveries=False, links=False)
        self.pair = Pair(
            client=config[CLIENT], server=config[SERVER], applications={CLIENT: self.hear, SERVER: self.serve}
        ).open()
        self.session = self.pair.session()
        self.saved = {
            "sender": amqp.LinkState("N", True, SOURCE, TARGET, *modes, 0, saved(SENDS, sends)),
            "receiver": amqp.LinkState("N", False, SOURCE, TARGET, *modes, 0, saved(TAKES, takes)),
        }
        self.settled: list[bytes] = []
        self.receiver: Any = None

    def tags(self, end: str) -> set[bytes]:
        """What an end has unsettled."""
        return {each.delivery_tag for each in self.saved[end].unsettled}

    def serve(self, connection: amqp.Connection, event: Event) -> None:
        """The server's part: what any server does, and what both ends do."""
        self.quiet(connection, event)
        self.hear(connection, event)

    def hear(self, connection: amqp.Connection, event: Event) -> None:
        """Accept what comes, and note what a sender settles."""
        if isinstance(event, amqp.Delivery):
            self.receiver.accept(event)
        elif isinstance(event, Settled):
            keys: list[Any] = [each.key for each in event.pendings]
            self.settled += [tag for _, way, tag in keys if way == "out"]

    def round(self) -> tuple[Any, Any]:
        """Attach, settle all that can be, and detach; gives both attaches, the sender's first."""
        pair, saved = self.pair, self.saved
        if self.begins == "sender":
            one: Any = self.session.open_sender(None, state=saved["sender"])
        else:
            one = self.session.open_receiver(None, state=saved["receiver"], credit=1000)
            self.receiver = one
        pair.pump()
        event = pair.take(SERVER, amqp.LinkRequested)[-1]
        other: Any = pair.server.session(event.channel).link(event.link)
        if self.begins == "sender":
            self.receiver = other
            other.accept_attach(state=saved["receiver"])
            other.flow(1000)
        else:
            other.accept_attach(state=saved["sender"])
        pair.pump()
        sender = one if self.begins == "sender" else other
        assert not sender.pending
        attaches = sender.local, self.receiver.local
        one.detach()
        pair.pump()
        assert len(pair.take(CLIENT, amqp.LinkClosed)) == 1
        saved["sender"], saved["receiver"] = sender.saved_state(), self.receiver.saved_state()
        return attaches


@pytest.mark.rule("1.0/transport/resume/incomplete")
@pytest.mark.parametrize("begins", ["sender", "receiver"])
@pytest.mark.parametrize("modes", [(0, 0), (0, 1), (2, 1)])
@given(
    sends=st.dictionaries(st.integers(0, 60), st.sampled_from(sorted(SENDS)), max_size=60),
    takes=st.dictionaries(st.integers(0, 60), st.sampled_from(sorted(TAKES)), max_size=60),
)
@example(sends=dict.fromkeys(range(30), "decided"), takes=dict.fromkeys(range(30, 60), "decided"))
@example(sends=dict.fromkeys(range(40), "undecided"), takes=dict.fromkeys(range(39, -1, -1), "begun"))
def test_each_round_takes_what_it_names(
    begins: str, modes: tuple[int, int], sends: dict[int, str], takes: dict[int, str]
) -> None:
    ends = Ends(begins, modes, sends, takes)
    while True:
        before = ends.tags("sender"), ends.tags("receiver")
        ours, theirs = ends.round()
        left = ends.tags("sender"), ends.tags("receiver")
        if theirs.incomplete_unsettled:
            assert theirs.unsettled
            assert left[0] <= before[0]
            assert left[1] <= before[1] - set(theirs.unsettled)
            continue
        assert not left[1]
        assert not left[0] & set(ours.unsettled)
        if not ours.incomplete_unsettled:
            break
        assert len(left[0]) < len(before[0])
    assert not left[0]
    assert sorted(ends.settled) == sorted(tag_of(number) for number in sends)
    assert (ends.saved["sender"].rounds, ends.saved["receiver"].rounds) == (0, 0)


@pytest.mark.rule("1.0/transport/resume/incomplete")
@pytest.mark.parametrize("begins", ["sender", "receiver"])
def test_who_answers_names_first_what_the_other_end_named(begins: str) -> None:
    """Both have the same deliveries, in the opposite order."""
    kinds = dict.fromkeys(range(40), "decided")
    ends = Ends(begins, (0, 1), kinds, dict(reversed(kinds.items())))
    sender, receiver = ends.round()
    assert sender.incomplete_unsettled
    assert receiver.incomplete_unsettled
    first, answer = (sender, receiver) if begins == "sender" else (receiver, sender)
    assert set(first.unsettled) <= set(answer.unsettled) or set(answer.unsettled) <= set(first.unsettled)


class Stubborn:
    """A client's link, resumed against a peer that answers with incomplete maps and settles nothing."""

    def __init__(self, kind: str, *, rounds: int = 0, count: int = 40) -> None:
        self.is_sender = kind == "sender"
        chosen = dict.fromkeys(range(count), "decided")
        deliveries = saved(SENDS if self.is_sender else TAKES, chosen)
        self.state = amqp.LinkState("N", self.is_sender, SOURCE, TARGET, 0, 1, 0, deliveries, rounds)
        self.facing = Mapped.begun()
        self.facing.peer_takes(FRAME)

    def round(self, theirs: dict[bytes, Any]) -> tuple[Any, Any, list[Any]]:
        """Resume it once and detach: its attach, its event, and the frames that came after the attach."""
        facing = self.facing
        facing.forget()
        if self.is_sender:
            link: Any = facing.session.open_sender(None, state=self.state)
        else:
            link = facing.session.open_receiver(None, state=self.state, credit=100)
        changes: dict[str, Any] = {"unsettled": theirs, "incomplete_unsettled": True}
        events = facing.get(attach("N", 0, self.is_sender, source=SOURCE, target=TARGET, **changes))
        if self.is_sender:
            events += facing.get(flow(handle=0, delivery_count=0, link_credit=100))
        ours, *frames = facing.frames()
        link.detach()
        facing.get(spec.Detach(0, False))
        self.state = link.saved_state()
        (resumed,) = [each for each in events if isinstance(each, amqp.Resumed)]
        return ours, resumed, frames


@pytest.mark.parametrize("kind", ["sender", "receiver"])
def test_who_begins_names_others_when_nothing_came_of_the_first_ones(kind: str) -> None:
    """Forty deliveries, a dozen or less in a map: all are named before one is named again."""
    end = Stubborn(kind)
    named: list[bytes] = []
    while len(set(named)) < 40:
        ours, _, _ = end.round({})
        assert ours.incomplete_unsettled
        named += ours.unsettled
        assert len(named) - len(set(named)) < len(ours.unsettled)
    assert len(end.state.unsettled) == 40


def test_what_the_peer_has_named_is_named_next() -> None:
    end = Stubborn("receiver")
    theirs = dict.fromkeys([tag_of(39), tag_of(38)])
    assert not set(theirs) & set(end.round(theirs)[0].unsettled)
    assert list(end.round({})[0].unsettled)[:2] == [tag_of(38), tag_of(39)]


@pytest.mark.rule("1.0/transport/transfer/resume-own-map")
def test_a_sender_settles_what_only_the_receivers_map_names() -> None:
    """What it has and didn't name is resumed; what it hasn't any more is settled, or aborted where it isn't whole."""
    end = Stubborn("sender")
    known, old, begun = tag_of(39), tag_of(99), tag_of(98)
    ours, resumed, frames = end.round({known: ACCEPTED, old: ACCEPTED, begun: None})
    assert known not in ours.unsettled
    assert [handle.key[2] for handle in resumed.pendings] == [known]
    sent = [each for each in frames if isinstance(each, spec.Transfer)]
    assert [(each.delivery_tag, each.resume, each.aborted) for each in sent] == [
        (known, True, False),
        (old, True, False),
        (begun, True, True),
    ]
    assert [each.settled for each in frames if isinstance(each, spec.Disposition)] == [True, True]
    settled = [handle.key[2] for event in end.facing.of(Settled) for handle in event.pendings]
    assert settled == [known]
    assert len(end.state.unsettled) == 39


@pytest.mark.rule("1.0/transport/attach/incomplete-no-new")
def test_what_has_to_be_sent_anew_waits_for_a_complete_map() -> None:
    """The receiver has a part of what the sender takes for decided: it is aborted now, and sent when it may be."""
    end = Stubborn("sender")
    end.state = amqp.LinkState("N", True, SOURCE, TARGET, 0, 1, 0, saved(SENDS, dict.fromkeys(range(40), "decided")))
    _, _, frames = end.round({tag_of(3): None})
    (sent,) = [each for each in frames if isinstance(each, spec.Transfer)]
    assert (sent.delivery_tag, sent.aborted) == (tag_of(3), True)
    (left,) = [each for each in end.state.unsettled if each.delivery_tag == tag_of(3)]
    assert (left.payload, left.local) == (PAYLOAD, None)


@pytest.mark.rule("1.0/transport/resume/incomplete")
@pytest.mark.parametrize("kind", ["sender", "receiver"])
@pytest.mark.parametrize("theirs", [{}, {tag_of(99): ACCEPTED}])
def test_rounds_of_which_nothing_comes_are_bounded(kind: str, theirs: dict[bytes, Any]) -> None:
    end = Stubborn(kind, rounds=ROUNDS - 3)
    for _ in range(3):
        end.round(theirs)
    with pytest.raises(LocalProtocolError) as info:
        end.round(theirs)
    text = str(info.value)
    assert "'N' was resumed 1024 times" in text
    assert "40 deliveries are in doubt" in text
    assert text.count("7474747474") >= 8
    assert "and 32 more" in text
    assert info.value.rule == "1.0/transport/resume/incomplete"
    assert not end.facing.frames()


def test_a_round_that_settles_something_begins_the_count_anew() -> None:
    end = Stubborn("sender", rounds=ROUNDS - 1)
    end.round({tag_of(5): ACCEPTED})
    assert end.state.rounds == 0
    end.round({})
    assert end.state.rounds == 1


def test_the_bound_holds_for_who_answers_too() -> None:
    ends = Ends("sender", (0, 1), {}, dict.fromkeys(range(40), "decided"))
    state = ends.saved["receiver"]
    worn = amqp.LinkState("N", False, SOURCE, TARGET, 0, 1, 0, state.unsettled, ROUNDS)
    ends.session.open_sender(None, state=ends.saved["sender"])
    ends.pair.pump()
    event = ends.pair.take(SERVER, amqp.LinkRequested)[-1]
    link: Any = ends.pair.server.session(event.channel).link(event.link)
    with pytest.raises(LocalProtocolError, match="in doubt"):
        link.accept_attach(state=worn)
    # Nothing is sent so far: the link can be refused, or accepted without what is saved.
    link.refuse_attach("amqp:illegal-state")
