"""A client that was interrupted at work while its connection was lost: everybody hears that it is given up."""

from __future__ import annotations

from typing import Any

import pytest

from amqp_sansio import AMQP_0_9_1, EndpointClosed, Version
from amqp_sansio.client.recovery import Recovered, RecoveryPolicy, State
from amqp_sansio_sync import connect
from amqp_sansio_sync.system import current
from tests.kit.inside import driver_of
from tests.kit.sync_user import Made, each_version


@each_version
@pytest.mark.parametrize("state", [State.CONNECTED, State.WAITING, State.CONNECTING, State.RESTORING])
def test_an_interrupt_ends_every_wait_whatever_recovery_does(made: Made, version: Version, state: State) -> None:
    with made() as broker:
        connection: Any = connect(broker.url, version=version, recover=RecoveryPolicy(first_delay=1.0, jitter=0.0))
        again = connection.open_channel if hasattr(connection, "open_channel") else connection.open_session
        part = again()
        if version is AMQP_0_9_1:
            # Something of which restoring waits for an answer.
            part.declare_queue("mine", exclusive=True)
        driver = driver_of(connection)
        recovery = driver.client.recovery
        heard: list[BaseException] = []

        def waits() -> None:
            try:
                next(iter(connection.events(Recovered)))
            except (EndpointClosed, StopIteration) as error:
                heard.append(error)

        thread = current().start(waits, "waits")
        current().sleep(0.1)
        if state is not State.CONNECTED:
            # In that state the broker answers nothing.
            broker.script = lambda peer, event: recovery.state is state
            broker.peer.cut()
        until = current().now() + 5.0
        while recovery.state is not state:
            assert current().now() < until
            current().sleep(0.1)
        # As an exception of a signal's handler leaves it, in the middle of a step.
        driver._busy = True  # pyright: ignore[reportPrivateUsage]
        for _ in range(2):
            with pytest.raises(EndpointClosed, match="interrupted at work"):
                again()
        thread.join(5.0)
        assert len(heard) == 1
        assert recovery.state in (State.CONNECTED, State.ENDED)
        assert driver.client.lost.done
        connection.close()
        current().sleep(60.0)
        assert len(broker.peers) <= 2
