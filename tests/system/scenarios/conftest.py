"""The scenarios of tests/scenarios, in every world that has sockets and real time."""

from tests.scenarios.conftest import broker, pytest_generate_tests, pytest_pyfunc_call, world

__all__ = ["broker", "pytest_generate_tests", "pytest_pyfunc_call", "world"]
