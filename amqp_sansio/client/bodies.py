"""Bodies and headers of messages as users write and read them, for every version."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

TEXT = "text/plain"
"""The content type of a body that was given as text; its encoding is UTF-8."""
JSON = "application/json"


def json_octets(value: Any) -> bytes:
    """Return a value as JSON. Raises TypeError for one that JSON hasn't."""
    return json.dumps(value).encode()


def wrong_body(body: object) -> TypeError | None:
    """Return the error that says what to pass instead of a body of the wrong type; None for octets."""
    if isinstance(body, (bytes, bytearray, memoryview)):
        return None
    if isinstance(body, str):
        return TypeError("a body is octets, not str: pass text.encode(), or call publish_text(text)")
    return TypeError(f"a body is octets, not {type(body).__name__}: encode it, or call publish_json(value)")


def plain(value: Any) -> Any:
    """Return a decoded value with plain dicts and lists in place of the version's maps and arrays.

    >>> plain({"a": (1, {"b": 2})})
    {'a': [1, {'b': 2}]}
    """
    if isinstance(value, Mapping):
        return _plain_dict(value)  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(value, (list, tuple)):
        return list(map(plain, value))  # pyright: ignore[reportUnknownArgumentType]
    return value


def _plain_dict(pairs: Mapping[Any, Any]) -> dict[Any, Any]:
    return {str(key) if isinstance(key, str) else key: plain(each) for key, each in pairs.items()}


__all__ = ["JSON", "TEXT", "json_octets", "plain", "wrong_body"]
