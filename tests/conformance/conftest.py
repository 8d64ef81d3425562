"""The tests of rules begin with the same versions, sides and ends as those of classic."""

from tests.classic.conftest import client, facing, pair, server, side, version

__all__ = ["client", "facing", "pair", "server", "side", "version"]
