"""The scenarios of tests/scenarios/test_channel.py over sockets."""

from tests.scenarios.test_channel import *  # noqa: F403
