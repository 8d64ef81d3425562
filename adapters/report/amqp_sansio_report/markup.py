"""Markup that always escapes its texts."""

from __future__ import annotations

import json
from collections.abc import Iterable
from html import escape
from typing import Final

from amqp_sansio.printing import visible


class Markup(str):
    """Well-formed, safe HTML; any other str is text."""

    __slots__ = ()


Content = str | Markup | None

_VOID: Final = frozenset({"meta", "br", "input", "rect", "path", "line", "circle", "polygon"})
_SVG_LEAVES: Final = frozenset({"rect", "path", "line", "circle", "polygon"})


def text(content: Content) -> Markup:
    """Return the content as markup; a text is escaped.

    >>> text("<script>&")
    '&lt;script&gt;&amp;'
    """
    if content is None:
        return Markup("")
    return content if isinstance(content, Markup) else Markup(escape(visible(content)))


def element(name: str, *content: Content, **attributes: str | float | bool | None) -> Markup:
    """Return an element. Attributes that are None or False are left out; `_` in names becomes `-`, at the end nothing.

    >>> element("a", "x & y", href="#1", class_="big")
    '<a href="#1" class="big">x &amp; y</a>'
    """
    parts: list[str] = [f"<{name}"]
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        label = key.rstrip("_").replace("_", "-")
        if value is True:
            parts.append(f" {label}")
        else:
            parts.append(f' {label}="{escape(visible(value) if isinstance(value, str) else number(value))}"')
    if name in _SVG_LEAVES:
        return Markup("".join([*parts, "/>"]))
    if name in _VOID:
        return Markup("".join([*parts, ">"]))
    return Markup("".join([*parts, ">", *[text(part) for part in content], f"</{name}>"]))


def join(parts: Iterable[Content], between: str = "") -> Markup:
    """Return contents in sequence, with plain text between them."""
    return Markup(text(between).join([text(part) for part in parts]))


def number(value: float) -> str:
    """Return a number for an attribute, with at most two decimals."""
    if isinstance(value, int):
        return str(value)
    shown = f"{value:.2f}".rstrip("0").rstrip(".")
    return shown if shown not in ("-0", "") else "0"


def data(value: object) -> str:
    """Return a value as JSON for a script element, without characters special to HTML.

    >>> data({"a": "</script>"})
    '{"a":"\\\\u003c/script\\\\u003e"}'
    """
    written = json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return written.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


__all__ = ["Content", "Markup", "data", "element", "join", "number", "text"]
