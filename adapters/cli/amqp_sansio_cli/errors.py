"""What ends a command with one line for the user."""

from __future__ import annotations


class CommandError(Exception):
    """Wrong usage or unreadable input: its text is printed as one line, and the exit status is 2."""
