"""The tests of tests/asyncio/test_consumer.py over sockets."""

from tests.asyncio.test_consumer import *  # noqa: F403
