"""The scenarios of tests/scenarios/test_faults.py over sockets."""

from tests.scenarios.test_faults import *  # noqa: F403
