"""The fixtures of tests/classic, for the tests that are taken from there."""

from tests.classic.conftest import version

__all__ = ["version"]
