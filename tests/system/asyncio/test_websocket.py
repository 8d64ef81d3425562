"""The tests of tests/asyncio/test_websocket.py over sockets."""

from tests.asyncio.test_websocket import *  # noqa: F403
