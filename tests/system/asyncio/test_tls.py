"""The tests of tests/asyncio/test_tls.py over sockets."""

from tests.asyncio.test_tls import *  # noqa: F403
