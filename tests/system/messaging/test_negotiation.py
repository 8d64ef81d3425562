"""The tests of tests/messaging/test_negotiation.py over sockets."""

from tests.messaging.test_negotiation import *  # noqa: F403
