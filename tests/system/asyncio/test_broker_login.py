"""The tests of tests/asyncio/test_broker_login.py over sockets."""

from tests.asyncio.test_broker_login import *  # noqa: F403
