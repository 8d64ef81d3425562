"""The scenarios of tests/scenarios/test_consumer.py over sockets."""

from tests.scenarios.test_consumer import *  # noqa: F403
