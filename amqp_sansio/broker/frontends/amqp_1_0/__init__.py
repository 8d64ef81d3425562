"""The front end of AMQP 1.0: connections, sessions and links on the model; transactions; the management node."""

from __future__ import annotations

from .frontend import Frontend_1_0

__all__ = ["Frontend_1_0"]
