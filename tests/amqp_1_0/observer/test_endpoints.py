"""Whatever two endpoints of 1.0 of this library exchange, their observer sees no broken rule, and all of it."""

from typing import Any, Final

from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio import By, CloseReport, Side
from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.amqp_1_0 import spec
from amqp_sansio.amqp_1_0.endpoint.config import Config
from amqp_sansio.observer import Identified, Observed, Observer, ObserverEvent, Skipped, Violation
from amqp_sansio.sasl import Plain
from tests.kit.choices import Choices
from tests.kit.observing import CLIENT, Recorder, accounted, take, watch
from tests.kit.pair import SIDES
from tests.kit.pair_1_0 import Pair, client_config, server_config
from tests.kit.talk_1_0 import frame, transfer
from tests.kit.using_1_0 import BOUNDS, Two
from tests.observer.arrivals import cut

_OCTETS: Final = st.binary(min_size=300, max_size=900)


def _play(octets: bytes, observer: Any) -> Two:
    """Two endpoints that do whatever octets say, as far as they let themselves be told."""
    two = Two(Choices(octets), {side: [] for side in SIDES}, observer)
    two.use()
    two.end()
    return two


def _broken(events: list[ObserverEvent]) -> list[Violation]:
    """Broken rules, but for those that the two may break."""
    return [event for event in events if isinstance(event, Violation) and event.rule not in BOUNDS]


@given(_OCTETS)
def test_no_sequence_of_calls_breaks_a_rule(octets: bytes) -> None:
    observer = Observer(client=CLIENT)
    two = _play(octets, observer)
    observer.finish(1 << 60)
    events = take(observer)
    assert not _broken(events)
    # A connection may be cut within a frame.
    assert {event.reason for event in events if isinstance(event, Skipped)} <= {"incomplete"}
    for side in SIDES:
        assert accounted(events, side) == len(two.pair.sent[side])


@given(_OCTETS, st.integers(1, 40))
def test_a_late_observer_sees_no_broken_rule_either(octets: bytes, lost: int) -> None:
    recorder = Recorder()
    _play(octets, recorder)
    seen = recorder.arrivals[lost:]
    for body in ("all", "size"):
        events = watch(Observer(body=body), seen)
        assert not _broken(events)
        # Where they are cut makes no difference.
        assert watch(Observer(body=body), cut(seen, lost, (1, 7, 60))) == events


_GAPS: Final = st.lists(
    st.tuples(st.integers(0, 500), st.integers(0, 5000), st.sampled_from((1, 5, 30, 200, 5000))), min_size=1, max_size=3
)


@given(_OCTETS, _GAPS, st.booleans())
def test_gaps_make_no_broken_rule_and_no_unit(octets: bytes, gaps: list[tuple[int, int, int]], told: bool) -> None:
    recorder = Recorder()
    _play(octets, recorder)
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
    assert not _broken(events)
    named = [event for event in events if isinstance(event, Identified)][-1]
    if named.client in (CLIENT, None):
        assert {_key(event) for event in events} <= sent | {None}


def _key(event: object) -> tuple[object, ...] | None:
    """What a unit is, whatever was kept of its message."""
    if not isinstance(event, Observed):
        return None
    return event.sender, event.channel, event.event, event.offset, repr(event.content)


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
    wrong = frame(spec.Open("again"))
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
