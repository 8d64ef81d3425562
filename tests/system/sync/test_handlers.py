"""Signal handlers that end what the interrupted thread is using, called by signals."""

from __future__ import annotations

import signal
import threading

from amqp_sansio import AMQP_0_9_1
from amqp_sansio_sync import Consumer
from tests.kit.scripted import ScriptedBroker
from tests.kit.sync_user import WAIT, SyncUser
from tests.sync.test_examples import examples
from tests.sync.test_handlers import (
    test_a_handler_in_the_application_waits_for_the_answer,
    test_a_handler_in_the_iteration_may_close_it,
    test_a_handler_that_interrupts_the_iteration_cancels_it,
    test_a_late_answer_of_the_server_is_logged,
    test_an_event_stream_can_be_closed_in_a_handler,
    test_an_exception_of_a_handler_gets_out_of_a_wait_whatever_it_is,
    test_no_instruction_is_the_wrong_one_for_a_signal,
    test_the_example_of_cancel,
)


def test_the_example_of_cancel_in_a_handler_of_sigterm(broker: ScriptedBroker) -> None:
    broker.fill("jobs", b"1")
    before = signal.getsignal(signal.SIGTERM)
    try:
        with SyncUser(broker, AMQP_0_9_1) as user:
            run = examples(Consumer.cancel, {"signal": signal, "Consumer": Consumer})["example"]
            thread = threading.Timer(0.1, signal.pthread_kill, (threading.get_ident(), signal.SIGTERM))
            thread.start()
            run(user.consume(timeout=None))
            thread.join(WAIT)
        assert broker.bodies("jobs") == []
    finally:
        signal.signal(signal.SIGTERM, before)


__all__ = [
    "test_a_handler_in_the_application_waits_for_the_answer",
    "test_a_handler_in_the_iteration_may_close_it",
    "test_a_handler_that_interrupts_the_iteration_cancels_it",
    "test_a_late_answer_of_the_server_is_logged",
    "test_an_event_stream_can_be_closed_in_a_handler",
    "test_an_exception_of_a_handler_gets_out_of_a_wait_whatever_it_is",
    "test_no_instruction_is_the_wrong_one_for_a_signal",
    "test_the_example_of_cancel",
    "test_the_example_of_cancel_in_a_handler_of_sigterm",
]
