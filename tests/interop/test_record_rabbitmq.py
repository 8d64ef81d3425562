"""`amqp-sansio record` as a proxy in front of RabbitMQ: pika passes through it, and the recording is whole."""

import json
import re
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pika

from tests.interop.brokers.rabbitmq import RabbitMQ

ROOT = Path(__file__).resolve().parents[2]
_PORT = re.compile(r"127\.0\.0\.1:(\d+)")


@contextmanager
def recording(rabbitmq: RabbitMQ, output: Path) -> Generator[int]:
    """The port of a proxy that records."""
    command = [sys.executable, "-m", "amqp_sansio_cli", "record", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(
        [*command, "--upstream", f"127.0.0.1:{rabbitmq.port}", "--output", str(output)],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stderr is not None
            found = _PORT.search(process.stderr.readline())
            assert found is not None
            yield int(found[1])
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=30)
    assert process.returncode == 0


def test_a_recording_in_front_of_rabbitmq(rabbitmq: RabbitMQ, tmp_path: Path) -> None:
    output = tmp_path / "rabbitmq.pcapng"
    with recording(rabbitmq, output) as port:
        parameters = pika.URLParameters(f"amqp://guest:guest@127.0.0.1:{port}/%2F")
        with pika.BlockingConnection(parameters) as connection:
            channel = connection.channel()
            channel.confirm_delivery()
            channel.queue_declare("recorded", exclusive=True)
            channel.basic_publish("", "recorded", b"passed on", mandatory=True)
            method, _, body = channel.basic_get("recorded")
            assert method is not None
            assert body == b"passed on"
            channel.basic_ack(method.delivery_tag)
    done = subprocess.run(
        [sys.executable, "-m", "amqp_sansio_cli", "replay", str(output), "--table", "messages"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert sorted((row["kind"], row["outcome"], row["body_size"]) for row in rows) == [
        ("get", "accepted", 9),
        ("publish", "accepted", 9),
    ]
