"""Random use of every version: however its octets are cut, whenever it is copied, whatever raises.

Cuts: the same events, octets and deadlines come of the same octets. Copies: an endpoint that is pickled and restored at
any step goes on exactly like the one that wasn't. Misuse: a command that raises has changed nothing and queued nothing.
"""

import pickle
from collections.abc import Callable
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio import LocalProtocolError, Version
from amqp_sansio._ground import layouts
from amqp_sansio.amqp_0_10 import SessionState
from amqp_sansio.amqp_1_0 import Message
from amqp_sansio.broker import Hub, Settings
from amqp_sansio.broker.snapshot import dumps, loads
from tests.amqp_0_10.endpoint.test_exactly_once import play
from tests.kit import pair_0_10, pair_1_0, pair_classic
from tests.kit.examples import sample
from tests.kit.pair import SIDES, pieces, told
from tests.kit.runs import RUNS
from tests.kit.versions import EVERY

SIZES: Final = st.just([1]) | st.lists(st.integers(1, 40) | st.integers(1, 5000), min_size=1, max_size=8)


# Cuts.


@EVERY
@given(data=st.data(), sizes=SIZES)
def test_cuts_make_no_difference(version: Version, data: st.DataObject, sizes: list[int]) -> None:
    run = RUNS[version]
    octets, options = data.draw(run.octets), data.draw(run.options)
    assert run.trace(octets, chunks=pieces(*sizes), **options) == run.trace(octets, **options)


@sample(5)
@given(st.binary(min_size=200, max_size=500), SIZES)
def test_cuts_make_no_difference_between_two_ends_of_0_10(octets: bytes, sizes: list[int]) -> None:
    whole, cut = play(octets), play(octets, pieces(*sizes))
    assert len(whole.pairs) == len(cut.pairs)
    for one, other in zip(whole.pairs, cut.pairs, strict=True):
        for side in SIDES:
            assert one.sent[side] == other.sent[side]
            assert [told(event) for event in one.events[side]] == [told(event) for event in other.events[side]]


# Copies.


@EVERY
@sample(5)
@given(data=st.data())
def test_a_copy_goes_on_like_the_original(version: Version, data: st.DataObject) -> None:
    run = RUNS[version]
    octets, options = data.draw(run.octets), data.draw(run.options)
    assert run.trace(octets, forks=True, **options) == run.trace(octets, **options)


def _channel(ends: pair_classic.Pair) -> Callable[[Any], object]:
    number = ends.channel().number
    return lambda end: end.channel(number).publish(b"only here")


def _session(ends: pair_0_10.Pair) -> Callable[[Any], object]:
    number = ends.sessions()[0].channel
    return lambda end: end.session(number).transfer("", b"only here")


def _link(ends: pair_1_0.Pair) -> Callable[[Any], object]:
    sender: Any = ends.session().open_sender("q")
    ends.pump()

    def use(end: Any) -> None:
        session = end.session(sender.session.channel)
        session.link(sender.handle).send(Message(b"only here"))
        assert session.connection is end

    return use


PAIRS: Final = pytest.mark.parametrize(
    ("make", "begin"),
    [
        pytest.param(pair_classic.Pair, _channel, id="classic"),
        pytest.param(pair_0_10.Pair, _session, id="0-10"),
        pytest.param(pair_1_0.Pair, _link, id="1.0"),
    ],
)


@PAIRS
def test_channels_sessions_and_links_of_a_copy_belong_to_the_copy(make: Any, begin: Any) -> None:
    ends = make().open()
    use = begin(ends)
    assert ends.client.send_backlog == 0
    before = pickle.dumps(ends.client)
    copy = pickle.loads(before)
    use(copy)
    assert copy.send_backlog > 0
    assert pickle.dumps(ends.client) == before


@PAIRS
def test_a_snapshot_of_another_layout_is_refused(make: Any, begin: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    connection: object = make().open().client
    with monkeypatch.context() as patch:
        patch.setattr(type(connection), "LAYOUT", 0)
        snapshot = pickle.dumps(connection)
    with pytest.raises(ValueError, match="layout 0"):
        pickle.loads(snapshot)


def test_the_state_of_a_session_of_another_layout_is_refused() -> None:
    ends = pair_0_10.Pair().open()
    session, _ = ends.sessions()
    ends.cut()
    schema, *values = session.detached_state().__getstate__()
    with pytest.raises(LocalProtocolError, match="a detached session has layout 0"):
        SessionState.__new__(SessionState).__setstate__((0, *values))
    assert schema == layouts.SESSION_0_10


@pytest.mark.parametrize(("head", "said"), [(b"layout 0\n", "layout 0"), (b"", "no snapshot")])
def test_the_snapshot_of_a_broker_of_another_layout_is_refused(head: bytes, said: str) -> None:
    octets = dumps(Hub(Settings()))
    assert isinstance(loads(octets), Hub)
    with pytest.raises(ValueError, match=said):
        loads(head + octets.partition(b"\n")[2])


# Misuse.


@EVERY
@given(data=st.data())
def test_whatever_raises_leaves_the_snapshot_as_it_was(version: Version, data: st.DataObject) -> None:
    run = RUNS[version]
    run.trace(data.draw(run.octets), check=True, **data.draw(run.options))
