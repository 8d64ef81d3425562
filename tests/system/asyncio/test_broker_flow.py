"""The tests of tests/asyncio/test_broker_flow.py over sockets."""

from tests.asyncio.test_broker_flow import *  # noqa: F403
