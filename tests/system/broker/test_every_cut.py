"""Nothing is lost or done twice at a hub, wherever a connection of 0-10 is cut."""

from tests.broker.amqp_0_10 import test_hub_0_10_sessions
from tests.broker.amqp_0_10.test_hub_0_10_sessions import ACTS, SIDES, Act


@ACTS
@SIDES
def test_nothing_is_lost_or_done_twice_wherever_the_connection_is_cut(act: Act, at_server: bool) -> None:
    test_hub_0_10_sessions.test_nothing_is_lost_or_done_twice_wherever_the_connection_is_cut(act, at_server, 3)
