"""The tests of tests/asyncio/test_broker_service.py over sockets."""

from tests.asyncio.test_broker_service import *  # noqa: F403
