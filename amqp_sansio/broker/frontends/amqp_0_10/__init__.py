"""The front end of 0-10: what its commands mean to the model, and its sessions, which outlive their connections."""

from .frontend import ZeroTenFrontend

__all__ = ["ZeroTenFrontend"]
