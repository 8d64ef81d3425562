"""The tests of tests/asyncio/test_suites_closing.py over sockets."""

from tests.asyncio.test_suites_closing import *  # noqa: F403
