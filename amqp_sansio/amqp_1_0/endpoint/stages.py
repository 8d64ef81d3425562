"""Stage: what an endpoint of AMQP 1.0 reads next (1.0 part 2 section 2.4, part 5 section 5.1)."""

from __future__ import annotations

from ..._core.state_table import TableEnum


class Stage(TableEnum):
    """What an endpoint reads next; the rules of what may come are the tables' in `states`."""

    FIRST = "the peer's first header"
    SASL = "SASL frames"
    HEADER = "the header behind the SASL layer"
    OPENING = "the peer's open"
    FRAMES = "frames"
    CLOSING = "the peer's close"
    ENDED = "nothing"
