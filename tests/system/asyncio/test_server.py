"""The tests of tests/asyncio/test_server.py over sockets."""

from tests.asyncio.test_server import *  # noqa: F403
