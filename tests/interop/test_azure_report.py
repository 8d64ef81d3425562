"""The report of a recording of Microsoft's client for Python: what went wrong, with entities, locks and no token."""

# pyright: reportUnknownMemberType=false, reportMissingTypeStubs=false
from pathlib import Path

import pytest
from azure.servicebus import ServiceBusClient, ServiceBusMessage
from azure.servicebus.exceptions import (
    MessageLockLostError,
    MessagingEntityNotFoundError,
    ServiceBusError,
    SessionCannotBeLockedError,
)

from amqp_sansio.capture import read_segments
from amqp_sansio.recorded.tables import replay_segments
from amqp_sansio_pytest import ServiceBus
from amqp_sansio_report.findings import findings
from amqp_sansio_report.report import report_segments


def fail(bus: ServiceBus) -> str:
    """Lose a lock, ask for a session that another has and for an entity that isn't there, be idle; the lost lock."""
    bus.queue("orders", lock_duration=30)
    bus.queue("sessions", requires_session=True)
    with ServiceBusClient.from_connection_string(bus.connection_string, retry_total=0) as client:
        with client.get_queue_sender("orders") as sender, client.get_queue_receiver("orders") as receiver:
            sender.send_messages(ServiceBusMessage("hello"))
            (message,) = receiver.receive_messages(max_wait_time=5)
            receiver.renew_message_lock(message)
            bus.clock.advance(31)
            with pytest.raises(MessageLockLostError):
                receiver.complete_message(message)
            with pytest.raises(MessageLockLostError):
                receiver.renew_message_lock(message)
            bus.clock.advance(601)
            with pytest.raises(ServiceBusError):
                sender.send_messages(ServiceBusMessage("late"))
        with client.get_queue_receiver("sessions", session_id="a"), pytest.raises(SessionCannotBeLockedError):
            client.get_queue_receiver("sessions", session_id="a").__enter__()
        with pytest.raises(MessagingEntityNotFoundError), client.get_queue_sender("nowhere") as sender:
            sender.send_messages(ServiceBusMessage("x"))
    return str(message.lock_token)


def test_what_went_wrong_with_a_real_client(tmp_path: Path) -> None:
    path = tmp_path / "session.pcapng"
    with ServiceBus(record=path) as bus:
        lock = fail(bus)
    with path.open("rb") as file:
        segments = list(read_segments(file))
    report = report_segments(segments)
    told = findings(report.gather)
    errors = [each.more for each in told if each.level == "error"]
    for words in (
        (f"lock {lock}, link", "orders", "renew it, or give the entity a longer one"),
        ("com.microsoft:message-lock-lost 410", "(orders/$management)", "TrackingId:"),
        ("amqp:link:detach-forced", "Idle timeout: 00:10:00", "orders", "heartbeats don't count"),
        ("com.microsoft:session-cannot-be-locked", "/sessions)", "another receiver has the session"),
        ("amqp:not-found", "nowhere"),
    ):
        assert any(all(each in more for each in words) for more in errors), (words, errors)
    assert not any("nobody settled" in each.text for each in told)
    requests = {key: times for key, times, _ in report.gather.requests.ranks(20)}
    assert requests["com.microsoft:renew-lock", "orders/$management", "200"] == 1
    assert requests["com.microsoft:renew-lock", "orders/$management", "410 com.microsoft:message-lock-lost"] == 1
    assert requests["put-token", "orders", "202"] >= 2
    assert "SharedAccessSignature" not in report.html
    # The client's own habits are warnings: plain filters, and links that it detaches behind the end of their session.
    broken = [row for table, row in replay_segments(segments) if table == "violations"]
    assert {row[5] for row in broken} <= {"warning"}
