"""The conversation of each version."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from .conversation import Conversation
from .talk import Talk, Talk08
from .talk_0_10 import Talk010
from .talk_1_0 import Talk10

TALKS: Final[Mapping[str, type[Conversation]]] = {each.VERSION: each for each in (Talk, Talk08, Talk010, Talk10)}
"""By the names of the versions."""
