"""The tests of tests/asyncio/test_verbs.py over sockets."""

from tests.asyncio.test_verbs import *  # noqa: F403
