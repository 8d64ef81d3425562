"""CommandRules: what an end of a session has begun with its commands, and which are legal then (classes 4 to 6).

The end that sends them checks them before, the end that receives them when they come: both by this one.
"""

# The table at the end names the rules, which are nobody else's.
# pyright: reportPrivateUsage=false
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from ..._core.state_table import Table, TableEnum
from ...endpoint import Side
from ..codec.records import (
    DtxEnd,
    DtxSelect,
    DtxStart,
    MessageCancel,
    MessageFlow,
    MessageFlush,
    MessageSetFlowMode,
    MessageStop,
    MessageSubscribe,
    TxCommit,
    TxRollback,
    TxSelect,
    Xid,
)
from ..codec.violation import exception
from .execution import ILLEGAL_STATE, NOT_ALLOWED, NOT_FOUND, RESOURCE_LIMIT_EXCEEDED

NONE: Final = 1
"""accept-mode none, and acquire-mode not-acquired."""


class Mode(TableEnum):
    """What a session was selected for."""

    NORMAL = "normal"
    TX = "standard transactions"
    DTX = "distributed transactions"


class Select(TableEnum):
    """Inputs of the mode's table; C: only clients send them."""

    TX_SELECT = "C:tx.select"
    TX_COMMIT = "C:tx.commit"
    TX_ROLLBACK = "C:tx.rollback"
    DTX_SELECT = "C:dtx.select"
    DTX_START = "C:dtx.start"
    DTX_END = "C:dtx.end"


MODE: Final[Table[Mode, Select]] = {
    Mode.NORMAL: {Select.TX_SELECT: Mode.TX, Select.DTX_SELECT: Mode.DTX},
    Mode.TX: {Select.TX_COMMIT: Mode.TX, Select.TX_ROLLBACK: Mode.TX},
    Mode.DTX: {
        # At least once: selecting again does nothing (class 6, dtx.select).
        Select.DTX_SELECT: Mode.DTX,
        Select.DTX_START: Mode.DTX,
        Select.DTX_END: Mode.DTX,
    },
}

_INPUTS: Final[Mapping[type[Any], Select]] = {
    TxSelect: Select.TX_SELECT,
    TxCommit: Select.TX_COMMIT,
    TxRollback: Select.TX_ROLLBACK,
    DtxSelect: Select.DTX_SELECT,
    DtxStart: Select.DTX_START,
    DtxEnd: Select.DTX_END,
}
_MODE_RULES: Final[Mapping[tuple[Mode, Select], str]] = {
    (Mode.TX, Select.TX_SELECT): "tx.select/exactly-once",
    (Mode.DTX, Select.TX_SELECT): "tx.select/no-dtx",
    **{(mode, Select.TX_COMMIT): "tx.commit/select-required" for mode in Mode},
    **{
        (mode, Select.TX_ROLLBACK): "tx.rollback/select-required"
        for mode in Mode
    },
    **{(mode, Select.DTX_START): "dtx.start/illegal-state" for mode in Mode},
    **{(mode, Select.DTX_END): "dtx.end/illegal-state" for mode in Mode},
}


class CommandRules:
    """What one end has selected, subscribed and consumed on a session.

    `mode` is what it selected, `subscriptions` the accept-mode of its subscriptions by their destination, `current` the
    transaction branch that its work belongs to.
    """

    __slots__ = ("current", "limit", "mode", "side", "subscriptions")

    def __init__(self, side: Side, limit: int) -> None:
        self.side = side
        self.limit = limit
        self.mode = Mode.NORMAL
        self.current: Xid | None = None
        self.subscriptions: dict[str, int] = {}

    def step(self, command: Any) -> None:
        """Take a command. Raises Violation for one that isn't legal now, with nothing changed."""
        rule = _RULES.get(command.__class__)
        if rule is not None:
            rule(self, command)

    def _select(self, command: Any) -> None:
        given = _INPUTS[command.__class__]
        mode = MODE[self.mode].get(given)
        if mode is None:
            raise exception(
                ILLEGAL_STATE,
                f"{command.NAME} on a session that is selected for {self.mode.value}",
                _MODE_RULES.get((self.mode, given)),
            )
        if mode is Mode.TX and NONE in self.subscriptions.values():
            raise exception(
                NOT_ALLOWED,
                f"{command.NAME} on a session with a subscription whose accept-mode is none",
                "tx.select/explicit-accepts",
            )
        self._demarcate(command)
        self.mode = mode

    def answered(self, command: Any, result: Any) -> None:
        """The result of a command is known: dtx.start that isn't xa-ok hasn't associated the session."""
        if isinstance(command, DtxStart) and result is not None and result.status and command.xid == self.current:
            self.current = None

    @property
    def work(self) -> object:
        """What names the transaction that accepts belong to now; None without one."""
        return "tx" if self.mode is Mode.TX else self.current

    def _demarcate(self, command: Any) -> None:
        """The branch that the session works for begins or ends (class 6)."""
        if isinstance(command, DtxStart):
            if command.join and command.resume:
                raise exception(
                    NOT_ALLOWED, "dtx.start with join and resume", "dtx.start/join-and-resume"
                )
            if self.current is not None:
                raise exception(
                    ILLEGAL_STATE,
                    f"dtx.start on a session that works for {self.current}",
                    "dtx.start/illegal-state",
                )
            self.current = command.xid
        elif isinstance(command, DtxEnd):
            if command.suspend and command.fail:
                raise exception(
                    NOT_ALLOWED, "dtx.end with suspend and fail", "dtx.end/suspend-and-fail"
                )
            if self.current is None or command.xid != self.current:
                raise exception(
                    ILLEGAL_STATE,
                    f"dtx.end of {command.xid}, the session works for {self.current or 'none'}",
                    "dtx.end/not-associated",
                )
            self.current = None

    def _subscribe(self, command: MessageSubscribe) -> None:
        destination = command.destination or ""
        if destination in self.subscriptions:
            raise exception(
                NOT_ALLOWED,
                f"message.subscribe with the destination {destination!r}, which is in use on this session",
                "message.subscribe/unique-destination",
            )
        if self.mode is Mode.TX and command.accept_mode == NONE:
            raise exception(
                NOT_ALLOWED,
                "message.subscribe with accept-mode none on a session with standard transactions",
                "tx.select/explicit-accepts",
            )
        self._check_room(len(self.subscriptions))
        self.subscriptions[destination] = command.accept_mode or 0

    def _cancel(self, command: MessageCancel) -> None:
        destination = command.destination or ""
        if destination not in self.subscriptions:
            raise exception(
                NOT_FOUND,
                f"message.cancel of {destination!r}, which is no subscription of this session",
                "message.cancel/not-found",
            )
        del self.subscriptions[destination]

    def _of_destination(self, command: Any) -> None:
        """A server throttles publishing: its destinations are exchanges (class 4, rule throttling)."""
        destination = command.destination or ""
        if self.side is Side.CLIENT and destination not in self.subscriptions:
            raise exception(
                NOT_FOUND,
                f"{command.NAME} for {destination!r}, which is no subscription of this session",
            )

    def _check_room(self, count: int) -> None:
        if count >= self.limit:
            raise exception(
                RESOURCE_LIMIT_EXCEEDED, f"{count} subscriptions, Limits.consumers allows no more"
            )


_RULES: Final[Mapping[type[Any], Callable[[CommandRules, Any], None]]] = {
    **dict.fromkeys(_INPUTS, CommandRules._select),
    MessageSubscribe: CommandRules._subscribe,
    MessageCancel: CommandRules._cancel,
    MessageFlow: CommandRules._of_destination,
    MessageStop: CommandRules._of_destination,
    MessageFlush: CommandRules._of_destination,
    MessageSetFlowMode: CommandRules._of_destination,
}
