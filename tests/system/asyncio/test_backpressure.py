"""The tests of tests/asyncio/test_backpressure.py over sockets."""

from tests.asyncio.test_backpressure import *  # noqa: F403
