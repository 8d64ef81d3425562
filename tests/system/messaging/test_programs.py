"""The tests of tests/messaging/test_programs.py over sockets."""

from tests.messaging.test_programs import *  # noqa: F403
