"""The programs of tests/messaging over sockets: on every version, with each adapter."""

from tests.messaging.conftest import broker, echo, pytest_generate_tests, runner, version, world

__all__ = ["broker", "echo", "pytest_generate_tests", "runner", "version", "world"]
