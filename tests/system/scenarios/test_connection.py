"""The scenarios of tests/scenarios/test_connection.py over sockets."""

from tests.scenarios.test_connection import *  # noqa: F403
