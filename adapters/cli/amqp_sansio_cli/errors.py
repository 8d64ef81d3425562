"""What ends a command with one line for the user."""

from __future__ import annotations


class CommandError(Exception):
    """Wrong usage or unreadable input: its text is printed as one line, and the exit status is 2."""


def describe(error: Exception) -> str:
    """An error in the words of its system, without its number."""
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        name = error.filename if isinstance(error.filename, str) else repr(error.filename)
        return f"{name}: {error.strerror.lower()}"
    return str(error) or type(error).__name__
