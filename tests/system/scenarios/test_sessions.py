"""The scenarios of tests/scenarios/test_sessions.py over sockets."""

from tests.scenarios.test_sessions import *  # noqa: F403
