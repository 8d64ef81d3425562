"""Facing of 0-8 or 0-9-1: with methods, what must come of a fault, and the opening step by step."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest

from amqp_sansio import (
    AMQP_0_8,
    AMQP_0_9_1,
    By,
    Closed,
    CloseHint,
    Failed,
    LocalProtocolError,
    RemoteProtocolError,
    Scope,
    Version,
)
from amqp_sansio._classic.codec.dialect import Dialect, default_dialect, get_dialect
from amqp_sansio._classic.codec.table import RABBIT
from amqp_sansio._classic.endpoint.connection import Connection
from amqp_sansio.amqp_0_9_1 import Config
from amqp_sansio.amqp_0_9_1.spec import Method
from amqp_sansio.endpoint import Side
from tests.kit import facing
from tests.kit.applications import Server
from tests.kit.facing import CLIENT, SERVER
from tests.kit.octets_classic import METHOD, Sent, body, frame, frames_of, header
from tests.kit.pair_classic import Pair, client_config, server_config
from tests.kit.versions import CLASSIC

BOTH_VERSIONS = pytest.mark.parametrize("version", [AMQP_0_8, AMQP_0_9_1], ids=lambda v: v.label)
STRICT = {AMQP_0_8: get_dialect("0-8"), AMQP_0_9_1: get_dialect("0-9-1")}
"""The dialects of the specifications themselves."""


def both_rules(*rules: str) -> pytest.MarkDecorator:
    """The mark of rules that stand under the same name in 0-8 and 0-9-1; `rules` are without the version."""
    return pytest.mark.rule(*[f"{version}/{rule}" for rule in rules for version in ("0-8", "0-9-1")])


class Facing(facing.Facing[Connection]):
    """An endpoint of 0-8 or 0-9-1."""

    def __init__(
        self,
        version: Version,
        side: Side,
        config: Config | None = None,
        *,
        dialect: Dialect | None = None,
        pair: Pair | None = None,
    ) -> None:
        """An endpoint whose peer has sent nothing yet, or one of a pair whose peer is made up from now on."""
        kit = CLASSIC[version]
        super().__init__(kit, side, config or kit.config(side, dialect=dialect), pair=pair)
        self.version = version
        chosen = dialect or (config.dialect if config else None) or default_dialect(version)
        self.dialect = self.end.dialect if pair else chosen

    @classmethod
    def opened(
        cls,
        version: Version,
        side: Side,
        channels: int = 1,
        *,
        dialect: Dialect | None = None,
        vhost: str = "/",
        limits: Any = None,
        **changes: Any,
    ) -> Facing:
        """An endpoint of an open connection with so many open channels, numbered from 1.

        `changes` configure it; its peer was a real one until now, and nothing is on the way.
        """
        if limits is not None:
            changes["limits"] = limits
        own: dict[Side, dict[str, Any]] = {CLIENT: {}, SERVER: {}, side: changes}
        pair = Pair(
            version,
            client=client_config(dialect=dialect, vhost=vhost, **own[CLIENT]),
            server=server_config(dialect=dialect, **own[SERVER]),
            applications={SERVER: Server(reply=False, confirm=False)},
        ).open()
        for _ in range(channels):
            pair.channel()
        return cls(version, side, pair=pair)

    @property
    def channel(self) -> Any:
        """The endpoint's channel 1."""
        return self.end.channel(1)

    def make(self, name: str, /, **fields: Any) -> Method:
        """The method record `name` of this version."""
        method: Method = self.dialect.named[name](**fields)
        return method

    def method(self, name: str, channel: int = 1, /, **fields: Any) -> bytes:
        """The frame of a method, with whatever its fields say."""
        return frame(METHOD, channel, self.make(name, **fields).encode(RABBIT))

    def message(self, name: str, octets: bytes = b"", channel: int = 1, /, **fields: Any) -> bytes:
        """The frames of a method with its content."""
        start = self.method(name, channel, **fields)
        start += header(channel, self.dialect.named[name].CLASS_ID, len(octets))
        return start + (body(channel, octets) if octets else b"")

    def sent(self) -> list[Sent]:
        """The frames written since `forget`."""
        return frames_of(self.dialect, self.out)

    def full_id(self, rule: str) -> str:
        """The id of a rule, which 0-8 and 0-9-1 may name differently."""
        return self.kit.rule(rule)

    def refuses(
        self,
        *units: bytes,
        code: int,
        rule: str | None,
        scope: Scope = Scope.CONNECTION,
        channel: int = 1,
        blames: str | None = None,
        close: bool = True,
    ) -> RemoteProtocolError:
        """Feed `units`, of which the last breaks a rule, and check all that must come of it.

        That is: one `Failed` with the offset of the last unit, after the reply was queued; `code` 0: the socket is
        closed without a word; else channel.close or connection.close with that code, blaming the method `blames`
        (the last unit's own one, if not given), and `Closed` once the peer has answered.
        """
        for unit in units[:-1]:
            self.feed(unit)
        assert not self.of(Failed), self.events
        self.forget()
        offset = self.fed
        self.feed(units[-1])
        error = self.fault(scope, rule)
        assert (error.code, error.scope, error.offset) == (code, scope, offset), error
        if not code:
            self._closed_without_a_word()
            return error
        assert self.backlog_at_failure > 0
        own = self.dialect.methods.get(int.from_bytes(units[-1][7:11], "big")) if units[-1][0] == METHOD else None
        named = own if blames is None else self.dialect.named.get(blames)
        ids = (named.CLASS_ID, named.METHOD_ID) if named is not None else (0, 0)
        assert (error.class_id, error.method_id) == ids
        assert self.end.close_hint is CloseHint.KEEP
        (close_frame,) = self.sent()
        assert close_frame.channel == (channel if scope is Scope.CHANNEL else 0)
        assert close_frame.name == ("channel.close" if scope is Scope.CHANNEL else "connection.close")
        sent = close_frame.method
        assert (sent.reply_code, sent.class_id, sent.method_id) == (code, *ids)
        assert sent.reply_text
        if close:
            self._answer_close(scope, channel, code, error.rule)
        return error

    def _closed_without_a_word(self) -> None:
        # With nothing queued, "when sent" is at once.
        assert (self.out, self.end.send_backlog) == (b"", 0)
        assert self.end.close_hint is not CloseHint.KEEP
        last = self.events[-1]
        assert isinstance(last, Closed)
        assert (last.scope, last.report.by) == (Scope.CONNECTION, By.LOCAL)

    def _answer_close(self, scope: Scope, channel: int, code: int, rule: str | None) -> None:
        self.events.clear()
        if scope is Scope.CHANNEL:
            self.feed(self.method("channel.close-ok", channel))
        else:
            self.feed(self.method("connection.close-ok", 0))
        last = self.events[-1]
        assert isinstance(last, Closed)
        assert (last.scope, last.report.by) == (scope, By.LOCAL)
        assert (last.report.code, last.report.rule) == (code, rule)
        hint = CloseHint.KEEP if scope is Scope.CHANNEL else CloseHint.CLOSE_WHEN_SENT
        assert self.end.close_hint is hint

    def misuse(self, call: Callable[[], object], rule: str | None) -> LocalProtocolError:
        """Check that `call` is refused for `rule`, with the connection as it was, to the octet."""
        self.settle()
        before = pickle.dumps(self.end)
        with pytest.raises(LocalProtocolError) as caught:
            call()
        error = caught.value
        assert error.rule == (self.full_id(rule) if rule is not None else None), error
        assert pickle.dumps(self.end) == before
        assert self.end.data_to_send(self.now) == b""
        return error


# The opening, step by step.


def start(facing: Facing, **changes: Any) -> bytes:
    """A server's connection.start."""
    fields = {"mechanisms": b"PLAIN AMQPLAIN", "locales": b"en_US", **changes}
    numbers = (8, 0) if facing.version is AMQP_0_8 else (0, 9)
    return facing.method("connection.start", 0, **{"version_major": numbers[0], "version_minor": numbers[1], **fields})


def start_ok(facing: Facing, **changes: Any) -> bytes:
    """A client's connection.start-ok."""
    fields = {"mechanism": "PLAIN", "response": b"\0guest\0guest", "locale": "en_US", **changes}
    return facing.method("connection.start-ok", 0, **fields)


def tune(facing: Facing, channel_max: int, frame_max: int, heartbeat: int = 0) -> bytes:
    """A server's connection.tune."""
    return facing.method("connection.tune", 0, channel_max=channel_max, frame_max=frame_max, heartbeat=heartbeat)


def tune_ok(facing: Facing, channel_max: int, frame_max: int, heartbeat: int = 0) -> bytes:
    """A client's connection.tune-ok."""
    return facing.method("connection.tune-ok", 0, channel_max=channel_max, frame_max=frame_max, heartbeat=heartbeat)


def tuned_client(version: Version, offer: tuple[int, ...], **config: Any) -> Facing:
    """A client that got a server's tune with channel-max, frame-max and perhaps heartbeat."""
    facing = Facing(version, CLIENT, client_config(**config))
    facing.feed(start(facing))
    facing.forget()
    facing.feed(tune(facing, *offer))
    return facing


def tuning_server(version: Version, **config: Any) -> Facing:
    """A server that has sent its tune."""
    facing = Facing(version, SERVER, server_config(**config))
    facing.feed(version.header, start_ok(facing))
    facing.forget()
    facing.end.accept_authentication()
    facing.settle()
    return facing
