"""Links: attaching, refusing, detaching, closing, stealing, errors (1.0 part 2 sections 2.6.1 to 2.6.6)."""

import pickle
from typing import Any

import pytest

from amqp_sansio import Abandoned, By, CodecError, EndpointClosed, Failed, LocalProtocolError, Scope, Side
from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.amqp_1_0 import spec
from tests.kit.facing import BOTH_SIDES
from tests.kit.links_1_0 import BODY, Mapped, attach, begin, flow, transfer
from tests.kit.octets_1_0 import octets_of

CLIENT, SERVER = Side.CLIENT, Side.SERVER
ROLES = pytest.mark.parametrize("role", [False, True], ids=["sender", "receiver"])


def asked(facing: Mapped, **changes: Any) -> Any:
    """A link that the peer attached as a receiver and that waits for an answer."""
    facing.get(attach("theirs", 4, True, **changes))
    (request,) = facing.of(amqp.LinkRequested)
    return facing.session.link(request.link)


@pytest.mark.rule("1.0/transport/link/attach-answer", "1.0/transport/link/handles", "1.0/transport/link/authority")
@BOTH_SIDES
def test_a_link_is_open_when_both_ends_are_attached(side: Side) -> None:
    facing = Mapped.begun(side)
    sender = facing.session.open_sender("there", name="a", properties={"p": 1})
    receiver = facing.session.open_receiver("here", name="b")
    first, second = facing.frames()
    assert (first.name, first.role, first.handle, first.target) == ("a", False, 0, amqp.Target(address="there"))
    assert (second.name, second.role, second.handle, second.source) == ("b", True, 1, amqp.Source(address="here"))
    assert first.initial_delivery_count is not None
    assert second.initial_delivery_count is None
    facing.get(attach("b", 8, False, source=amqp.Source(address="here", durable=2), target=None))
    facing.get(attach("a", 9, True, source=None, target=amqp.Target(address="elsewhere")))
    opened = facing.of(amqp.LinkOpened)
    assert [(each.link, each.name, each.pending) for each in opened] == [
        (1, "b", receiver.opening),
        (0, "a", sender.opening),
    ]
    # The source is as the sender says, the target as the receiver does.
    assert (receiver.source, receiver.address) == (amqp.Source(address="here", durable=2), "here")
    assert (sender.target, sender.address) == (amqp.Target(address="elsewhere"), "elsewhere")
    assert sender.source == first.source


@pytest.mark.rule("1.0/transport/link/attach-answer", "1.0/transport/link/terminus-create", "1.0/transport/link/adjust")
@pytest.mark.rule("1.0/transport/link/adjust-report")
def test_what_the_peer_attaches_is_answered_by_the_application(facing: Mapped) -> None:
    link = asked(facing, source=amqp.Source(address="q", durable=2))
    assert (link.role, link.remote.handle) == ("sender", 4)
    link.accept_attach(source=amqp.Source(address="q", durable=0), properties={"made": True})
    (answer,) = facing.frames()
    assert (answer.name, answer.role, answer.handle) == ("theirs", False, link.handle)
    assert answer.source == amqp.Source(address="q", durable=0)
    assert answer.target == amqp.Target(address="target")
    assert answer.properties == {"made": True}
    assert facing.of(amqp.LinkOpened)[0].link == link.handle
    with pytest.raises(LocalProtocolError, match="isn't waiting"):
        link.accept_attach()


@pytest.mark.rule("1.0/transport/link/terminus-refused")
@ROLES
def test_a_refused_link_is_attached_without_its_terminus_and_detached_at_once(facing: Mapped, role: bool) -> None:
    facing.get(attach("theirs", 4, role))
    link = facing.session.link(0)
    link.refuse_attach("amqp:not-found", "no such node")
    first, second = facing.frames()
    assert isinstance(first, spec.Attach)
    assert (first.source is None) is role
    assert (first.target is None) is not role
    assert second == spec.Detach(0, True, amqp.Error(amqp.Symbol("amqp:not-found"), "no such node"))
    # Credit that the peer sent before it knew does no harm.
    if role:
        facing.get(flow(handle=4, delivery_count=0, link_credit=5))
    facing.get(spec.Detach(4, True))
    assert [(event.link, event.resumable) for event in facing.of(amqp.LinkClosed)] == [(0, False)]
    assert facing.session.is_open


@pytest.mark.rule("1.0/transport/link/terminus-refused")
@pytest.mark.parametrize("error", [None, amqp.Error(amqp.Symbol("amqp:not-found"), "no queue")], ids=["bare", "error"])
@ROLES
def test_a_link_that_the_peer_refuses_fails_in_one_way(facing: Mapped, role: bool, error: amqp.Error | None) -> None:
    """Broker-J nulls both termini, others one; the detach has an error or hasn't."""
    link: Any = facing.session.open_receiver("q") if role else facing.session.open_sender("q")
    facing.settle()
    facing.get(attach(link.name, 0, not role, source=None, target=None))
    assert not facing.of(amqp.LinkOpened)
    assert not link.is_open
    facing.forget()
    facing.get(spec.Detach(0, True, error))
    (failed,) = facing.of(amqp.LinkFailed)
    assert (failed.by, failed.pendings) == (By.REMOTE, (link.opening,))
    assert failed.error.condition == ("" if error is None else "amqp:not-found")
    assert link.name in str(failed.error) or "no queue" in str(failed.error)
    assert len(facing.of(amqp.LinkClosed)) == 1
    assert facing.frames() == [spec.Detach(0, True)]
    with pytest.raises(EndpointClosed):
        link.detach()
        link._check()


@pytest.mark.rule("1.0/transport/link/recover")
def test_a_link_without_own_terminus_is_recovered_from_the_peers(facing: Mapped) -> None:
    link = facing.session.open_sender(None, name="known")
    assert facing.frames()[0].target is None
    facing.get(attach("known", 0, True, target=amqp.Target(address="found")))
    assert link.is_open
    assert link.address == "found"


@pytest.mark.rule("1.0/transport/link/verify", "1.0/source.filter/receiver-checks")
def test_an_unfit_terminus_is_the_applications_to_detach(facing: Mapped) -> None:
    link = facing.receiver(theirs={"source": amqp.Source(address="other", distribution_mode=amqp.Symbol("copy"))})
    assert link.source == amqp.Source(address="other", distribution_mode=amqp.Symbol("copy"))
    link.close("amqp:precondition-failed", "wanted move")
    assert facing.frames() == [spec.Detach(0, True, amqp.Error(amqp.Symbol("amqp:precondition-failed"), "wanted move"))]


@pytest.mark.rule("1.0/transport/link/name-unique", "1.0/transport/session/one-link-one-session")
def test_one_name_in_one_direction_is_attached_once(facing: Mapped) -> None:
    facing.session.open_sender("x", name="n")
    other = facing.end.open_session()
    for session in (facing.session, other):
        with pytest.raises(LocalProtocolError, match="called 'n'") as raised:
            session.open_sender("x", name="n")
        assert raised.value.rule == "1.0/transport/link/name-unique"
    # The other direction is another link.
    facing.session.open_receiver("x", name="n")
    generated = [facing.session.open_sender("x").name for _ in range(3)]
    assert len(set(generated)) == 3


@pytest.mark.rule("1.0/transport/link/steal")
@pytest.mark.parametrize("elsewhere", [False, True], ids=["same session", "other session"])
def test_a_link_that_is_attached_once_more_is_stolen(elsewhere: bool) -> None:
    facing = Mapped.begun(SERVER)
    first = asked(facing)
    first.accept_attach()
    channel = 0
    if elsewhere:
        channel = 5
        facing.feed(octets_of(begin(None), channel))
        facing.end.session(1).accept()
    facing.settle()
    facing.forget()
    facing.feed(octets_of(attach("theirs", 6, True), channel))
    (detach,) = facing.frames()
    assert (detach.handle, detach.closed, detach.error.condition) == (0, True, "amqp:link:stolen")
    (request,) = facing.of(amqp.LinkRequested)
    second = facing.end.session(1 if elsewhere else 0).link(request.link)
    second.accept_attach()
    facing.get(spec.Detach(4, True))
    assert second.is_open
    (closed,) = facing.of(amqp.LinkClosed)
    assert (closed.link, closed.report.condition) == (0, "amqp:link:stolen")


@pytest.mark.rule("1.0/transport/link/detach", "1.0/transport/link/handle-reuse")
@ROLES
def test_a_detach_is_answered_and_the_handle_free(facing: Mapped, role: bool) -> None:
    link: Any = facing.receiver() if role else facing.sender()
    facing.get(spec.Detach(0))
    assert facing.frames() == [spec.Detach(0)]
    (closed,) = facing.of(amqp.LinkClosed)
    assert (closed.resumable, closed.report.by) == (True, By.REMOTE)
    with pytest.raises(EndpointClosed, match="detached"):
        link._check()
    assert facing.session.open_sender("again").handle == 0
    assert facing.session.links[0].handle == 0


@pytest.mark.rule("1.0/transport/link/detach")
def test_detach_by_this_end_suspends_the_link(facing: Mapped) -> None:
    link = facing.sender()
    handle = link.send(amqp.Message("m"))
    link.detach()
    assert facing.frames()[-1] == spec.Detach(0)
    with pytest.raises(EndpointClosed):
        link.send(amqp.Message("m"))
    facing.get(spec.Detach(0))
    (abandoned,) = facing.of(Abandoned)
    assert (abandoned.pendings, abandoned.resumable) == ((handle,), True)
    (closed,) = facing.of(amqp.LinkClosed)
    assert (closed.resumable, closed.report.by) == (True, By.LOCAL)
    state = link.saved_state()
    assert [each.payload for each in state.unsettled] == [amqp.Message("m").encode()]


@pytest.mark.rule("1.0/transport/link/detached-deliveries", "1.0/transport/disposition/detached-links")
def test_deliveries_of_a_detached_link_can_still_be_settled(facing: Mapped) -> None:
    link = facing.sender()
    handle = link.send(amqp.Message("m"))
    link.detach()
    facing.get(spec.Disposition(True, 0, None, True, amqp.Accepted()))
    assert handle.result == amqp.Accepted()
    facing.get(spec.Detach(0))
    assert not facing.of(Abandoned)


@pytest.mark.rule("1.0/transport/link/close")
@BOTH_SIDES
@ROLES
def test_a_closing_detach_is_answered_by_one(side: Side, role: bool) -> None:
    facing = Mapped.begun(side)
    link: Any = facing.receiver() if role else facing.sender()
    facing.get(spec.Detach(0, True, amqp.Error(amqp.Symbol("amqp:link:detach-forced"), "bye")))
    assert facing.frames() == [spec.Detach(0, True)]
    (failed,) = facing.of(amqp.LinkFailed)
    assert (failed.by, failed.error.condition) == (By.REMOTE, "amqp:link:detach-forced")
    (closed,) = facing.of(amqp.LinkClosed)
    assert (closed.resumable, closed.report.condition) == (False, "amqp:link:detach-forced")
    assert link.report == closed.report


@pytest.mark.rule("1.0/transport/link/close-crossing")
def test_a_detach_crossed_by_a_closing_one_is_followed_by_attach_and_close(facing: Mapped) -> None:
    link = facing.sender()
    link.detach()
    facing.settle()
    facing.forget()
    facing.get(spec.Detach(0, True))
    first, second = facing.frames()
    assert isinstance(first, spec.Attach)
    assert (first.name, first.handle, first.unsettled) == ("out", 0, None)
    assert second == spec.Detach(0, True)
    assert [event.resumable for event in facing.of(amqp.LinkClosed)] == [False]


@pytest.mark.rule("1.0/transport/link/close-crossing")
def test_the_attach_of_a_peer_that_only_closes_is_no_request(facing: Mapped) -> None:
    link = facing.sender()
    link.close()
    facing.get(spec.Detach(0))
    facing.forget()
    facing.get(attach("out", 0, True))
    facing.get(spec.Detach(0, True))
    assert not facing.of(amqp.LinkRequested)
    assert not facing.frames()
    assert facing.session.is_open


@pytest.mark.rule("1.0/transport/link/error-detach", "1.0/transport/link/errant-link")
def test_a_link_in_error_is_gone_and_what_was_on_its_way_is_dropped(facing: Mapped) -> None:
    link = facing.receiver(credit=1)
    facing.get(transfer(0), BODY)
    facing.get(transfer(8), BODY)
    facing.forget()
    facing.get(transfer(1), BODY)
    assert facing.of(amqp.LinkFailed)[0].error.condition == "amqp:link:transfer-limit-exceeded"
    assert link.report is not None
    facing.forget()
    facing.get(transfer(2), BODY)
    assert not facing.events
    facing.get(spec.Detach(0, True))
    assert len(facing.of(amqp.LinkClosed)) == 1


@pytest.mark.rule("1.0/transport/link/errant-link", "1.0/transport/link/resume-unsettled-nonnull")
def test_a_link_that_failed_may_only_be_resumed(facing: Mapped) -> None:
    link = facing.receiver()
    # An error that doesn't close: the link may be resumed, not attached as if nothing had been.
    facing.inside._sessions.transport.send(0, spec.Detach(0, False, amqp.Error(amqp.Symbol("amqp:internal-error"))))
    facing.get(spec.Detach(0))
    facing.forget()
    facing.get(attach("in", 0, False, unsettled=None))
    facing.fails_session("amqp:session:errant-link", "transport/link/errant-link")
    assert link.report is not None


@pytest.mark.rule("1.0/transport/link/resume-unsettled-nonnull")
def test_a_link_that_failed_is_resumed_with_an_unsettled_map(facing: Mapped) -> None:
    facing.receiver()
    facing.inside._sessions.transport.send(0, spec.Detach(0, False, amqp.Error(amqp.Symbol("amqp:internal-error"))))
    facing.get(spec.Detach(0))
    facing.forget()
    facing.get(attach("in", 0, False, unsettled={}))
    assert facing.of(amqp.LinkRequested)


@pytest.mark.rule("1.0/transport/link/unsettled-on-attach", "1.0/transport/attach/unsettled-compare")
def test_a_link_that_is_known_is_attached_with_its_unsettled_map(facing: Mapped) -> None:
    saved = amqp.SavedDelivery(b"t", 0, amqp.Message("m").encode(), None, None)
    state = amqp.LinkState("out", True, amqp.Source(address="s"), amqp.Target(address="t"), 2, 0, 1, (saved,))
    facing.session.open_sender(None, state=state)
    (sent,) = facing.frames()
    assert dict(sent.unsettled) == {b"t": None}
    facing.get(attach("out", 0, True, unsettled={}))
    (resumed,) = facing.of(amqp.Resumed)
    assert [handle.key for handle in resumed.pendings] == [("out", "out", b"t")]
    with pytest.raises(LocalProtocolError, match="sender, resume it as one"):
        facing.session.open_receiver(None, state=state)


@pytest.mark.rule("1.0/transport/attach/reattach-null")
def test_a_link_attached_anew_has_no_unsettled_map(facing: Mapped) -> None:
    link = facing.sender()
    link.detach()
    facing.get(spec.Detach(0))
    facing.forget()
    facing.session.open_sender("target", name="out")
    (sent,) = facing.frames()
    assert sent.unsettled is None


@pytest.mark.rule("1.0/transport/attach/unsettled-keys")
def test_a_key_of_the_unsettled_map_that_is_no_tag_ends_the_session(facing: Mapped) -> None:
    facing.get(attach("x", 0, True, unsettled={"text": None}))
    (failed,) = facing.of(Failed)
    assert (failed.scope, failed.error.rule) in [
        (Scope.SESSION, "1.0/transport/attach/unsettled-keys"),
        (Scope.CONNECTION, "1.0/transport/attach/unsettled-keys"),
    ]


@pytest.mark.rule("1.0/transport/attach/unsettled-too-large", "1.0/transport/resume/incomplete")
def test_an_unsettled_map_above_the_frame_size_is_sent_incomplete(facing: Mapped) -> None:
    facing.peer_takes(512)
    count = 100
    saved = tuple(
        [amqp.SavedDelivery(b"%032d" % number, 0, b"\x00\x53\x77\x41", None, None) for number in range(count)]
    )
    state = amqp.LinkState("out", True, amqp.Source(address="s"), amqp.Target(address="t"), 2, 0, 1, saved)
    link = facing.session.open_sender(None, state=state)
    (sent,) = facing.frames()
    assert sent.incomplete_unsettled
    assert 0 < len(sent.unsettled) < count
    assert len(sent.encode()) + 8 <= 512
    facing.get(attach("out", 0, True, unsettled={}))
    facing.get(flow(handle=0, delivery_count=0, link_credit=1000))
    (resumed,) = facing.of(amqp.Resumed)
    assert resumed.incomplete
    # Only what the map names is proven; the rest stays for the next time.
    assert len(resumed.pendings) == len(sent.unsettled)
    assert len(link.saved_state().unsettled) == count


@pytest.mark.rule("1.0/transport/attach/incomplete-no-new")
def test_nothing_new_is_sent_while_the_receivers_map_is_incomplete(facing: Mapped) -> None:
    link = facing.sender(theirs={"unsettled": {}, "incomplete_unsettled": True})
    with pytest.raises(LocalProtocolError, match="incomplete") as raised:
        link.send(amqp.Message("m"))
    assert raised.value.rule == "1.0/transport/attach/incomplete-no-new"


@pytest.mark.rule("1.0/transport/attach/incomplete-detach", "1.0/transport/attach/incomplete-no-new")
def test_a_new_delivery_after_the_own_incomplete_map_detaches_the_link(facing: Mapped) -> None:
    facing.peer_takes(512)
    saved = tuple([amqp.SavedDelivery(b"%032d" % number, 0, None, amqp.Accepted(), None) for number in range(100)])
    state = amqp.LinkState("in", False, amqp.Source(address="s"), amqp.Target(address="t"), 2, 1, 0, saved)
    facing.session.open_receiver(None, state=state, credit=5)
    facing.settle()
    facing.get(attach("in", 0, False, unsettled={}))
    facing.forget()
    facing.get(transfer(0), BODY)
    assert not facing.of(amqp.Delivery)
    facing.fails_link("amqp:not-allowed", "transport/attach/incomplete-no-new")


@pytest.mark.parametrize(
    ("side", "terminus", "receives"),
    [
        pytest.param(
            "source",
            amqp.Source,
            True,
            marks=pytest.mark.rule("1.0/source.address/dynamic-receiver", "1.0/source.address/dynamic-sender"),
        ),
        pytest.param(
            "target",
            amqp.Target,
            False,
            marks=pytest.mark.rule("1.0/target.address/dynamic-sender", "1.0/target.address/dynamic-receiver"),
        ),
    ],
)
def test_a_dynamic_node_gets_its_address_from_the_other_side(
    facing: Mapped, side: str, terminus: type[Any], receives: bool
) -> None:
    open_link = facing.session.open_receiver if receives else facing.session.open_sender
    link: Any = open_link(terminus(dynamic=True))
    (sent,) = facing.frames()
    asks = getattr(sent, side)
    assert (asks.dynamic, asks.address) == (True, None)
    facing.get(attach(link.name, 0, not receives, **{side: terminus(address="temp-1", dynamic=True)}))
    assert link.address == "temp-1"
    with pytest.raises(LocalProtocolError, match="dynamic"):
        open_link(terminus(address="mine", dynamic=True))
    facing.get(attach("theirs", 4, receives, **{side: terminus(dynamic=True)}))
    theirs: Any = facing.session.link(facing.of(amqp.LinkRequested)[0].link)
    with pytest.raises(LocalProtocolError, match="address"):
        theirs.accept_attach()
    theirs.accept_attach(**{side: terminus(address="made", dynamic=True)})
    assert getattr(facing.frames()[-1], side).address == "made"
    # The node that the peer has made goes on with the link.
    link.detach()
    facing.get(spec.Detach(0))
    state = pickle.loads(pickle.dumps(link.saved_state()))
    assert open_link(None, state=state).name == link.name
    assert getattr(facing.frames()[-1], side) == terminus(address="temp-1", dynamic=True)


@pytest.mark.rule("1.0/transport/attach/settle-modes")
def test_the_own_sides_settle_mode_is_the_fact(facing: Mapped) -> None:
    link = facing.sender(snd_settle_mode=0, rcv_settle_mode=1, theirs={"snd_settle_mode": 1, "rcv_settle_mode": 0})
    assert (link.snd_settle_mode, link.rcv_settle_mode) == (0, 0)


def test_a_request_that_the_peer_takes_back(facing: Mapped) -> None:
    link = asked(facing)
    facing.get(spec.Detach(4, True))
    first, second = facing.frames()
    assert (first.NAME, first.source, second) == ("attach", None, spec.Detach(0, True))
    assert [event.link for event in facing.of(amqp.LinkClosed)] == [0]
    with pytest.raises((LocalProtocolError, EndpointClosed)):
        link.accept_attach()


@pytest.mark.rule("1.0/source.default-outcome/valid")
def test_a_default_outcome_is_an_outcome(facing: Mapped) -> None:
    with pytest.raises(CodecError, match="default_outcome"):
        facing.session.open_receiver(amqp.Source(address="q", default_outcome=amqp.spec.Received(0, 0)))
    assert not facing.frames()
    assert facing.session.open_receiver(amqp.Source(address="q", default_outcome=amqp.Released())).handle == 0


def test_a_handle_is_free_when_the_application_has_heard_of_its_end(facing: Mapped) -> None:
    first = facing.sender()
    first.close()
    assert facing.session.open_sender("other").handle == 1
    assert facing.session.link(0) is first
    facing.get(spec.Detach(0, True))
    assert facing.session.open_sender("third").handle == 0


def test_unknown_links_and_settle_modes_are_misuse(facing: Mapped) -> None:
    with pytest.raises(EndpointClosed, match="handle 3"):
        facing.session.link(3)
    with pytest.raises(LocalProtocolError, match="settle modes"):
        facing.session.open_sender("x", snd_settle_mode=5)
    with pytest.raises(LocalProtocolError, match="condition"):
        facing.session.close("", "just so")
    assert not facing.frames()


def test_the_peers_word_on_deliveries_received(facing: Mapped) -> None:
    facing.receiver()
    facing.get(transfer(0), BODY)
    facing.get(spec.Disposition(False, 0, None, False, amqp.Accepted()))
    facing.get(spec.Disposition(False, 0, None, True))
    assert [(event.delivery_ids, event.state, event.settled) for event in facing.of(amqp.DeliveryUpdated)] == [
        ((0,), amqp.Accepted(), False),
        ((0,), None, True),
    ]
