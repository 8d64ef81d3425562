"""What the agreement of whole front ends with the naive model has brought to light: each a case of its own."""

import pytest

from amqp_sansio import amqp_0_10
from amqp_sansio.amqp_1_0 import Accepted, Modified
from tests.broker.front_0_10 import Stage_0_10
from tests.broker.front_1_0 import TransactedStage
from tests.broker.front_1_0_values import Expiry, Note_1_0, SourceTerms, TargetTerms
from tests.kit import hub_classic
from tests.kit.hub_0_10 import World


def test_a_browser_goes_on_when_what_it_had_no_room_for_is_taken() -> None:
    world = World()
    peer = world.connect()
    looking, taking = peer.session(b"looking"), peer.session(b"taking")
    peer.queue(looking, "q")
    peer.call(looking, amqp_0_10.MessageSubscribe("q", "seen", 0, amqp_0_10.NOT_ACQUIRED))
    peer.call(looking, amqp_0_10.MessageFlow("seen", amqp_0_10.MESSAGE, 10))
    peer.call(looking, amqp_0_10.MessageFlow("seen", amqp_0_10.BYTE, 50))
    peer.put(looking, "q", b"large" * 20, b"small")
    assert peer.bodies(looking, "seen") == []
    peer.subscribe(taking, "q", "taken", credit=1)
    assert peer.bodies(taking, "taken") == [b"large" * 20]
    assert peer.bodies(looking, "seen") == [b"small"]


@pytest.mark.rule("0-10/exchange.declare/alt-double-failure")
def test_what_was_rejected_is_rerouted_once() -> None:
    """The queue's alternate exchange is the primary one: its own isn't asked, whether the message is routed there or
    not."""
    world = World()
    peer = world.connect()
    session = peer.session()
    peer.call(session, amqp_0_10.ExchangeDeclare("secondary", "fanout"))
    peer.call(session, amqp_0_10.ExchangeDeclare("primary", "direct", "secondary"))
    peer.queue(session, "spare", ("secondary", ""))
    peer.call(session, amqp_0_10.QueueDeclare("q", "primary"))
    peer.put(session, "q", b"rejected", b"orphaned")
    peer.subscribe(session, "q", credit=1)
    (got,) = peer.got(session)
    peer.call(session, amqp_0_10.MessageCancel("d"))
    peer.result(session.reject(got.command_id, sync=True))
    peer.call(session, amqp_0_10.QueueDelete("q"))
    assert peer.drain(session, "spare") == []


@pytest.mark.rule("0-10/message.delivery-properties/exchange-set")
@pytest.mark.parametrize("awaits", [False, True], ids=["matches nothing", "isn't awaited"])
def test_what_went_to_the_alternate_exchange_was_published_to_its_own(awaits: bool) -> None:
    """Also to consumers of other versions, who are told by their method and not by the header."""
    world = World()
    peer = world.connect()
    session = peer.session()
    peer.call(session, amqp_0_10.ExchangeDeclare("own", "fanout", "amq.fanout"))
    peer.queue(session, "spare", ("amq.fanout", ""))
    if awaits:
        peer.queue(session, "q", ("own", ""))
    properties = amqp_0_10.DeliveryProperties(immediate=awaits)
    peer.publish(session, "own", amqp_0_10.Message(b"m", delivery_properties=properties), accept_mode=amqp_0_10.NONE)
    (entry,) = world.hub.model.vhosts["/"].queues["spare"].available()
    assert entry.message.exchange == "own"


@pytest.mark.parametrize("no_acks", [(True, False), (False, True)])
def test_consumers_take_turns_when_a_channel_takes_content_again(no_acks: tuple[bool, bool]) -> None:
    """Whether they acknowledge or not: nobody gets all that has come while the flow was stopped."""
    world = hub_classic.World("0-9-1")
    channel = world.channel()
    channel.declare("q")
    tags = [channel.consume("q", no_ack=each) for each in no_acks]
    channel.call("channel.flow", active=False)
    for body in (b"1", b"2", b"3", b"4"):
        channel.publish(body, "q")
    assert channel.deliveries() == []
    channel.call("channel.flow", active=True)
    assert sorted(each.consumer_tag for each in channel.deliveries()) == sorted(tags * 2)


@pytest.mark.rule("0-10/message.release/ordering")
def test_what_a_lost_connection_released_last_goes_to_others_in_its_order() -> None:
    """The release is executed when the broker knows already that nothing can be sent there any more."""
    world = World()
    peer, other = world.connect(), world.connect()
    session, second = peer.session(b"kept", timeout=60), other.session(b"other")
    peer.queue(session, "q")
    peer.put(session, "q", b"1", b"2")
    peer.subscribe(session, "q", credit=5)
    got = peer.got(session)
    other.subscribe(second, "q", credit=5)
    session.release(*[each.command_id for each in got])
    peer.theirs.receive_data(peer.connection.data_to_send(0.0), 0.0)
    peer.cut()
    assert other.bodies(second) == [b"1", b"2"]


class _Pair:
    """A client of 1.0 with a link that receives from queue "one" and one that sends there, seen by both models."""

    def __init__(self, *, settles: int = 2) -> None:
        self.stage = TransactedStage()
        line = self.stage.connect("alice")
        self.stage.declare_queue(line, "one")
        self.actor = self.stage.open(line)
        self.terms = SourceTerms("one", expiry=Expiry("session-end"))
        tap = self.stage.attach_source(self.actor, "y", self.terms, 10)
        spout = self.stage.attach_target(self.actor, "x", TargetTerms("one", settles=settles))
        assert tap is not None
        assert spout is not None
        self.tap, self.spout = tap, spout

    def send(self, count: int) -> None:
        self.stage.send(self.spout, [Note_1_0(self.stage.new_body()) for _ in range(count)])
        self.stage.check()


def test_what_was_settled_for_a_transaction_that_is_over_goes_back_when_its_link_is_gone() -> None:
    pair = _Pair()
    stage = pair.stage
    pair.send(3)
    work = stage.declare(stage.control(pair.actor))
    stage.discharge(work, fail=False)
    stage.retire(pair.tap, list(pair.tap.deliveries)[2:], Accepted(), work, settled=True)
    stage.check()
    assert len(stage.naive.queues["one"].ordered()) == 3


def test_a_link_with_unsettled_deliveries_does_not_go_on_as_one_that_sends_settled() -> None:
    pair = _Pair()
    stage = pair.stage
    pair.send(3)
    stage.detach(pair.tap)
    pair.send(5)
    tap = stage.attach_source(pair.actor, "y", pair.terms._replace(settled=True), 10)
    stage.check()
    assert tap is not None
    assert [each.settled for each in tap.deliveries.values()] == [False] * 8


def test_what_one_command_acquires_is_acquired_at_once() -> None:
    """Nobody gets the second message because the first one, which it had no room for, is gone: both are."""
    stage = Stage_0_10()
    taking, looking = stage.open(stage.connect(), 0), stage.open(stage.connect(), 0)
    stage.declare_queue(taking, "q")
    cramped = stage.subscribe(taking, "q")
    assert cramped is not None
    stage.grant(taking, cramped, octets=False, value=None)
    stage.grant(taking, cramped, octets=True, value=50)
    browser = stage.subscribe(looking, "q", acquires=False)
    assert browser is not None
    stage.grant(looking, browser, octets=False, value=None)
    stage.grant(looking, browser, octets=True, value=None)
    stage.publish(looking, "", "q", size=100)
    stage.publish(looking, "", "q")
    stage.acquire(looking, list(stage.looked))
    stage.check()
    assert [handle[0] for handle in stage.held] == [looking.owner] * 2


def test_a_consumer_keeps_its_turn_though_it_was_granted_more_in_between() -> None:
    stage = Stage_0_10()
    actor = stage.open(stage.connect(), 0)
    stage.declare_queue(actor, "q")
    first, second = stage.subscribe(actor, "q"), stage.subscribe(actor, "q")
    assert first is not None
    assert second is not None
    for place, octets in ((first, 40), (second, 20)):
        stage.grant(actor, place, octets=False, value=None)
        stage.grant(actor, place, octets=True, value=octets)
    stage.publish(actor, "", "q")
    stage.publish(actor, "", "q", size=30)
    stage.grant(actor, second, octets=False, value=None)
    stage.settle(actor, list(stage.held), "release", completes=False, set_redelivered=False)
    stage.check()


def test_what_a_commit_brings_at_once_is_shown_to_one_browser_after_the_other() -> None:
    pair = _Pair()
    stage = pair.stage
    other = stage.open(stage.connect("bob"))
    taps = [
        stage.attach_source(other, name, pair.terms._replace(browses=True, settled=settled), 10)
        for name, settled in (("b", True), ("c", False))
    ]
    work = stage.declare(stage.control(pair.actor))
    for _ in range(2):
        stage.post(pair.spout, Note_1_0(stage.new_body()), work, settled=True)
    stage.discharge(work, fail=False)
    stage.check()
    assert [tap.engine.credit for tap in (pair.tap, *taps) if tap is not None] == [8, 8, 8]


def test_what_goes_back_and_what_is_posted_take_turns_together_in_a_commit() -> None:
    """A message of the highest priority that was posted is delivered before one that went back earlier."""
    pair = _Pair()
    stage = pair.stage
    other = stage.open(stage.connect("bob"))
    stage.attach_source(other, "b", pair.terms, 10)
    pair.send(2)
    work = stage.declare(stage.control(pair.actor))
    state = Modified(delivery_failed=True, undeliverable_here=True)
    stage.retire(pair.tap, list(pair.tap.deliveries), state, work, settled=True)
    for priority in (4, 4, 9):
        note = Note_1_0(stage.new_body())
        note.priority = priority
        stage.post(pair.spout, note, work, settled=True)
    stage.discharge(work, fail=False)
    stage.check()
    assert not stage.naive.queues["one"].ordered()


@pytest.mark.rule("1.0/transactions/settled/retire-unsettled")
@pytest.mark.parametrize("credit", [None, 0, 1, 10], ids=["detached", "waiting", "partly brought", "brought"])
@pytest.mark.parametrize("browses", [False, True], ids=["moves", "browses"])
def test_what_was_retired_before_a_detach_is_not_brought_again_after_the_commit(
    browses: bool, credit: int | None
) -> None:
    """Whatever the next attachment had brought of it again when the transaction was committed."""
    pair = _Pair()
    stage, terms = pair.stage, pair.terms._replace(browses=browses)
    stage.flow(pair.tap, 0)
    tap = stage.attach_source(pair.actor, "again", terms, 10)
    assert tap is not None
    pair.send(3)
    work = stage.declare(stage.control(pair.actor))
    stage.retire(tap, list(tap.deliveries)[:2], Accepted(), work, settled=False)
    stage.detach(tap)
    if credit is not None:
        stage.attach_source(pair.actor, "again", terms, credit, state=tap.saved)
        stage.check()
    stage.discharge(work, fail=False)
    if credit is None:
        stage.attach_source(pair.actor, "again", terms, 0, state=tap.saved)
    stage.check()
    stage.flow(tap, 10)
    stage.check()
    assert [int.from_bytes(each, "big") for each in tap.engine.unsettled] == [2]


@pytest.mark.parametrize("how", ["end", "close", "lose"])
def test_what_an_inactive_consumer_waited_for_is_not_delivered_to_it_when_all_are_gone_at_once(how: str) -> None:
    stage = TransactedStage()
    line, other = stage.connect("alice"), stage.connect("bob")
    stage.declare_queue(line, "two", arguments={"x-single-active-consumer": True})
    actor, sender = stage.open(line), stage.open(other)
    for name, credit in (("active", 0), ("next", 10)):
        assert stage.attach_source(actor, name, SourceTerms("two", expiry=Expiry("session-end")), credit) is not None
    spout = stage.attach_target(sender, "x", TargetTerms("two"))
    assert spout is not None
    stage.send(spout, [Note_1_0(stage.new_body())])
    if how == "end":
        stage.close(actor)
    else:
        stage.end(line, lost=how == "lose")
    stage.check()
    assert len(stage.naive.queues["two"].ordered()) == 1


@pytest.mark.parametrize("closed", [True, False])
def test_transactions_that_are_rolled_back_together_get_nothing_of_each_other(closed: bool) -> None:
    pair = _Pair()
    stage = pair.stage
    pair.send(3)
    control = stage.control(pair.actor)
    first, second = stage.declare(control), stage.declare(control)
    stage.retire(pair.tap, list(pair.tap.deliveries)[:1], Accepted(), first, settled=True)
    tap = stage.attach_source(pair.actor, "other", pair.terms, 0)
    assert tap is not None
    stage.flow(pair.tap, 0)
    stage.acquire(tap, 5, second)
    stage.close_control(control, closed=closed)
    stage.check()
