"""The scenarios of tests/scenarios/test_links.py over sockets."""

from tests.scenarios.test_links import *  # noqa: F403
