"""The front end of 0-10: carries out its commands in the model, and keeps sessions that outlive their connections."""

from .frontend import Frontend_0_10

__all__ = ["Frontend_0_10"]
