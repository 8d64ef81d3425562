"""Which rules commands of 0-10's file and stream classes break, by what their sender did and got (classes 9 and 10)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from .observed_model import ObservedModel
    from .session_state import ObservedSide
    from .transfers import Judge, Sizes


def _consume(joint: ObservedModel, books: ObservedSide, command: Any, number: int, sizes: Sizes) -> None:
    name: str = command.NAME
    key = (name.partition(".")[0], command.consumer_tag or "")
    if not command.queue:
        joint.blame(f"{name}/queue-empty", f"{name} without a queue")
    if not key[1].strip():
        joint.blame(f"{name}/tag-empty", f"{name} without a consumer tag")
    elif key in books.consumers:
        joint.blame(f"{name}/tag-in-use", f"{name} with the tag {key[1]!r}, which is in use")
    elif len(books.consumers) < joint.limits.consumers:
        books.consumers.add(key)


def _cancel(joint: ObservedModel, books: ObservedSide, command: Any, number: int, sizes: Sizes) -> None:
    books.consumers.discard((command.NAME.partition(".")[0], command.consumer_tag or ""))


# Staging.


def _open(joint: ObservedModel, books: ObservedSide, command: Any, number: int, sizes: Sizes) -> None:
    if books.opens is not None:
        books.opens.append(command.content_size)
        if len(books.opens) + len(books.ready) > books.most:
            books.opens = None


def _open_ok(joint: ObservedModel, books: ObservedSide, command: Any, number: int, sizes: Sizes) -> None:
    """What is staged already isn't sent again."""
    peer = books.peer
    if peer is None or not peer.opens:
        return
    size, staged = peer.opens.popleft(), command.staged_size or 0
    peer.ready.append(None if size is None or size < staged else size - staged)


def _stage(joint: ObservedModel, books: ObservedSide, command: Any, number: int, sizes: Sizes) -> None:
    if books.opens is None or not books.ready:
        return
    size = books.ready.popleft()
    body = sizes[1]
    if size is not None and size != body:
        text = f"file.stage with {body} octets, {size} were still to come"
        joint.blame("file.open/content-size", text)


# Deliveries.


def _deliver(joint: ObservedModel, books: ObservedSide, command: Any, number: int, sizes: Sizes) -> None:
    tag = command.delivery_tag
    if tag == 0:
        joint.blame("file.deliver/non-zero", "file.deliver with the delivery tag 0")
    elif tag is not None:
        books.tags.add(tag)


def _settle(joint: ObservedModel, books: ObservedSide, command: Any, number: int, sizes: Sizes) -> None:
    """file.ack and file.reject: of what came on this session. 0 is all that came."""
    tag = command.delivery_tag
    peer = books.peer
    if tag and peer is not None and not peer.tags.has(tag):
        text = f"{command.NAME} with the delivery tag {tag}, which nothing on this session had"
        joint.blame(f"{command.NAME}/session-local", text)


CLASS_JUDGES: Final[dict[str, Judge]] = {
    "file.consume": _consume,
    "file.cancel": _cancel,
    "file.open": _open,
    "file.open-ok": _open_ok,
    "file.stage": _stage,
    "file.deliver": _deliver,
    "file.ack": _settle,
    "file.reject": _settle,
    "stream.consume": _consume,
    "stream.cancel": _cancel,
}
"""Who judges a command, by its name."""
