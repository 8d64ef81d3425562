"""The scenarios of tests/scenarios/test_resuming.py over sockets."""

from tests.scenarios.test_resuming import *  # noqa: F403
