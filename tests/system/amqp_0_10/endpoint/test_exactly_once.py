"""More commands than one control can complete."""

# pyright: reportPrivateUsage=false
from amqp_sansio import Limits
from amqp_sansio.amqp_0_10 import spec
from tests.amqp_0_10.endpoint.test_exactly_once import begun
from tests.kit.pair_0_10 import server_config


def test_ids_of_commands_may_lie_anywhere_and_be_completed_in_any_order() -> None:
    """More ranges than a control holds."""
    pair, session, other = begun(server=server_config(limits=Limits(requests=20_000)))
    count = 17_000
    handles = [session.transfer("", b"", accept_mode=spec.NONE).completion for _ in range(count)]
    pair.pump()
    other._state.tell_at = count
    for number in range(0, count, 2):
        other.complete(number)
    session.flush()
    pair.pump()
    assert sum([handle.done for handle in handles]) == count / 2
    for number in range(1, count, 2):
        other.complete(number)
    session.flush()
    pair.pump()
    assert all([handle.done for handle in handles])
    assert not other._state.receiving.completed
