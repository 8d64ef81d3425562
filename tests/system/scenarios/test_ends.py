"""The scenarios of tests/scenarios/test_ends.py over sockets."""

from tests.scenarios.test_ends import *  # noqa: F403
