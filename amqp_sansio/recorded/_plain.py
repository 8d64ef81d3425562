"""Text in a form that every consumer can take."""

from __future__ import annotations


def plain(text: str | None) -> str | None:
    """Return text whose surrogates, for octets that aren't UTF-8, became `\\xNN`."""
    if text is None or text.isascii():
        return text
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


__all__ = ["plain"]
