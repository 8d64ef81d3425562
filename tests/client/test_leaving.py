"""What leaving the context of a connection raises, by who ended it and who was told."""

from __future__ import annotations

import pytest

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, By, CloseReport, EndpointClosed, Version
from tests.kit.user import ClassicUser

VERSIONS = pytest.mark.parametrize("version", [AMQP_0_8, AMQP_0_9_1], ids=lambda version: version.label)


def left(user: ClassicUser) -> CloseReport | None:
    """Leave the connection's context, and return why it ended."""
    user.run(user.connection.__aexit__(None, None, None))
    report: CloseReport | None = user.connection.report
    return report


@VERSIONS
@pytest.mark.parametrize("looks", [False, True])
@pytest.mark.parametrize("channels", [0, 1])
def test_a_forced_close_of_the_peer_is_raised_unless_the_user_has_looked(
    version: Version, channels: int, looks: bool
) -> None:
    user = ClassicUser(version)
    for _ in range(channels):
        user.channel()
    (served,) = user.hub.clients.values()
    served.shut_down("over")
    user.stir()
    if looks:
        assert user.run(user.connection.wait_closed()).by is By.REMOTE
        # So the user knows of the channel's end, too.
        left(user)
    else:
        with pytest.raises(EndpointClosed, match="320"):
            left(user)


@VERSIONS
def test_an_own_close_is_raised_by_no_leaving(version: Version) -> None:
    user = ClassicUser(version)
    report = left(user)
    assert report is not None
    assert report.by is By.LOCAL


@VERSIONS
def test_a_lost_connection_is_raised_by_leaving_unless_it_was_told(version: Version) -> None:
    user = ClassicUser(version)
    user.cut("cut")
    with pytest.raises(EndpointClosed, match="cut"):
        left(user)
    user = ClassicUser(version)
    user.cut("cut")
    assert user.run(user.connection.wait_closed()).by is By.TRANSPORT
    left(user)
