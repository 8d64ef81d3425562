"""The scenarios of tests/scenarios/test_hooks.py over sockets."""

from tests.scenarios.test_hooks import *  # noqa: F403
