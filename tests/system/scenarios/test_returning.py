"""The scenarios of tests/scenarios/test_returning.py over sockets."""

from tests.scenarios.test_returning import *  # noqa: F403
