"""Requests of a client that its server grants, whichever end a test has: consumers, tickets of 0-8, modes."""

from typing import Any

from amqp_sansio import AMQP_0_8, Side, Version
from tests.kit.facing import CLIENT
from tests.kit.facing_classic import STRICT, Facing

RIGHTS = ("passive", "active", "write", "read")


def agree(facing: Facing, name: str, channel: int = 1, /, *, ok: dict[str, Any] | None = None, **fields: Any) -> None:
    """The client asks, and the server's reply has the fields `ok`."""
    own, reply = facing.end.channel(channel), ok or {}
    if facing.side is CLIENT:
        own.call(facing.make(name, **fields))
        facing.settle()
        facing.feed(facing.method(f"{name}-ok", channel, **reply))
    else:
        facing.feed(facing.method(name, channel, **fields))
        own.reply(facing.make(f"{name}-ok", **reply))


def grant(facing: Facing, ticket: int, *rights: str) -> None:
    """Channel 1 gets a ticket of 0-8."""
    agree(facing, "access.request", ok={"ticket": ticket}, realm="/data", **dict.fromkeys(rights, True))
    facing.forget()


def ticketed(version: Version) -> dict[str, Any]:
    """The ticket field, where the version has one."""
    return {"ticket": 1} if version is AMQP_0_8 else {}


def strict(version: Version, side: Side, channels: int = 1) -> Facing:
    """An open connection of the specification's own dialect; in 0-8 channel 1 has ticket 1 for everything."""
    facing = Facing.opened(version, side, channels=channels, dialect=STRICT[version])
    if version is AMQP_0_8:
        grant(facing, 1, *RIGHTS)
    return facing


def consume(facing: Facing, tag: str = "t", channel: int = 1, **fields: Any) -> None:
    """The client consumes from a queue under its own tag."""
    agree(facing, "basic.consume", channel, ok={"consumer_tag": tag}, queue="q", consumer_tag=tag, **fields)


def strictly_consuming(version: Version, side: Side, channels: int = 1) -> Facing:
    """A strict endpoint with the consumer "t" on channel 1."""
    facing = strict(version, side, channels)
    consume(facing, **ticketed(version))
    return facing.forget()
