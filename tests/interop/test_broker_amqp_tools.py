"""The embedded broker with rabbitmq-c's command line tools, Debian's amqp-tools (0-9-1)."""

import shutil
import subprocess
from contextlib import suppress
from itertools import count

import pytest

from tests.interop.brokers.embedded import Embedded
from tests.interop.brokers.process import apt_install

numbers = count(1)


@pytest.fixture(scope="module", autouse=True)
def installed() -> None:
    if shutil.which("amqp-publish") is None:
        apt_install("amqp-tools")


def named(what: str) -> str:
    return f"tools.{what}.{next(numbers)}"


def attempt(
    embedded: Embedded, tool: str, *arguments: str, body: bytes = b"", url: str = ""
) -> subprocess.CompletedProcess[bytes]:
    command = [f"amqp-{tool}", f"--url={url or embedded.url}", *arguments]
    return subprocess.run(command, input=body, capture_output=True, timeout=30, check=False)


def run(embedded: Embedded, tool: str, *arguments: str, body: bytes = b"") -> bytes:
    done = attempt(embedded, tool, *arguments, body=body)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def test_publish_get_consume(embedded: Embedded) -> None:
    queue = named("queue")
    assert run(embedded, "declare-queue", "-q", queue, "-d").decode().strip() == queue
    run(embedded, "publish", "-r", queue, "-b", "one")
    run(embedded, "publish", "-r", queue, "-p", "-C", "text/plain", body=b"two")
    assert run(embedded, "get", "-q", queue) == b"one"
    run(embedded, "publish", "-r", queue, "-l", body=b"three\nfour\n")
    consumed = run(embedded, "consume", "-q", queue, "-c", "3", "-p", "1", "cat")
    assert consumed.replace(b"\n", b"") == b"twothreefour"
    empty = attempt(embedded, "get", "-q", queue)
    assert empty.returncode == 2
    assert run(embedded, "delete-queue", "-q", queue).strip() == b"0"


def test_a_queue_that_it_binds_itself(embedded: Embedded) -> None:
    queue, key = named("bound"), named("key")
    options = ["-q", queue, "-e", "amq.topic", "-r", f"{key}.*", "-c", "1", "-x"]
    command = ["amqp-consume", f"--url={embedded.url}", *options, "cat"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as consumer:
        # It doesn't say when it is bound.
        for _ in range(50):
            run(embedded, "publish", "-e", "amq.topic", "-r", f"{key}.b", "-b", "by topic")
            with suppress(subprocess.TimeoutExpired):
                consumer.wait(0.2)
                break
        assert consumer.stdout is not None
        assert consumer.stdout.read() == b"by topic"


def test_a_large_message(embedded: Embedded) -> None:
    queue = named("large")
    run(embedded, "declare-queue", "-q", queue, "-d")
    body = bytes(range(256)) * 8_000
    run(embedded, "publish", "-r", queue, body=body)
    assert run(embedded, "get", "-q", queue) == body


def test_errors(embedded: Embedded) -> None:
    absent = attempt(embedded, "get", "-q", named("absent"))
    assert (absent.returncode, b"404" in absent.stderr) == (1, True)
    locked_out = attempt(embedded, "get", "-q", "any", url=f"amqp://guest:wrong@{embedded.host}:{embedded.port}/")
    assert locked_out.returncode == 1
    assert b"403" in locked_out.stderr or b"login" in locked_out.stderr.lower()
