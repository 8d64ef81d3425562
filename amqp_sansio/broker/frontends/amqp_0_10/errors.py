"""Maps a Fault of the model to the code of execution.exception and the rule that a command broke."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ....amqp_0_10.model.execution import (
    ILLEGAL_STATE,
    INVALID_ARGUMENT,
    NOT_ALLOWED,
    NOT_FOUND,
    NOT_IMPLEMENTED,
    PRECONDITION_FAILED,
    RESOURCE_LIMIT_EXCEEDED,
    RESOURCE_LOCKED,
    ExecutionError,
)
from ...model.faults import Fault, FaultKind

CODES: Final[Mapping[FaultKind, int]] = {
    FaultKind.NOT_FOUND: NOT_FOUND,
    FaultKind.BINDING_NOT_FOUND: NOT_FOUND,
    FaultKind.INEQUIVALENT: NOT_ALLOWED,
    FaultKind.TYPE_UNKNOWN: NOT_FOUND,
    FaultKind.RESERVED_NAME: NOT_ALLOWED,
    FaultKind.NAME_MISSING: INVALID_ARGUMENT,
    FaultKind.DEFAULT_EXCHANGE: INVALID_ARGUMENT,
    FaultKind.LOCKED: RESOURCE_LOCKED,
    FaultKind.EXCLUSIVE: RESOURCE_LOCKED,
    FaultKind.INTERNAL: NOT_ALLOWED,
    FaultKind.IN_USE: PRECONDITION_FAILED,
    FaultKind.NOT_EMPTY: PRECONDITION_FAILED,
    FaultKind.USED_AS_ALTERNATE: NOT_ALLOWED,
    FaultKind.BAD_ARGUMENT: INVALID_ARGUMENT,
    FaultKind.UNKNOWN_ARGUMENT: NOT_IMPLEMENTED,
    FaultKind.NOT_ALLOWED: NOT_ALLOWED,
    FaultKind.LIMIT: RESOURCE_LIMIT_EXCEEDED,
    FaultKind.ILLEGAL_STATE: ILLEGAL_STATE,
}

RULES: Final[Mapping[tuple[str, FaultKind, str], str]] = {
    ("exchange.declare", FaultKind.RESERVED_NAME, "exchange"): "reserved-names",
    ("exchange.declare", FaultKind.DEFAULT_EXCHANGE, ""): "name-required",
    ("exchange.declare", FaultKind.INEQUIVALENT, "type"): "typed",
    ("exchange.declare", FaultKind.INEQUIVALENT, "alternate"): "alt-pre-existing",
    ("exchange.declare", FaultKind.TYPE_UNKNOWN, "type"): "type-not-found",
    ("exchange.declare", FaultKind.NOT_FOUND, "exchange"): "passive",
    ("exchange.declare", FaultKind.UNKNOWN_ARGUMENT, ""): "unknown-argument",
    ("exchange.delete", FaultKind.NOT_FOUND, "exchange"): "exists",
    ("exchange.delete", FaultKind.DEFAULT_EXCHANGE, ""): "name-required",
    ("exchange.delete", FaultKind.USED_AS_ALTERNATE, "exchange"): "used-as-alternate",
    ("exchange.delete", FaultKind.IN_USE, "exchange"): "in-use",
    ("exchange.bind", FaultKind.NAME_MISSING, "queue"): "empty-queue",
    ("exchange.bind", FaultKind.NOT_FOUND, "queue"): "queue-existence",
    ("exchange.bind", FaultKind.NOT_FOUND, "exchange"): "exchange-existence",
    ("exchange.bind", FaultKind.DEFAULT_EXCHANGE, "exchange"): "name-required",
    ("exchange.bind", FaultKind.DEFAULT_EXCHANGE, ""): "name-required",
    ("exchange.bind", FaultKind.UNKNOWN_ARGUMENT, ""): "unknown-argument",
    ("exchange.unbind", FaultKind.NOT_FOUND, "queue"): "queue",
    ("exchange.unbind", FaultKind.NOT_FOUND, "exchange"): "exchange",
    ("exchange.unbind", FaultKind.DEFAULT_EXCHANGE, "exchange"): "name-required",
    ("exchange.unbind", FaultKind.DEFAULT_EXCHANGE, ""): "name-required",
    ("exchange.unbind", FaultKind.BINDING_NOT_FOUND, "binding"): "binding-key",
    ("queue.declare", FaultKind.RESERVED_NAME, "queue"): "reserved-prefix",
    ("queue.declare", FaultKind.INEQUIVALENT, "alternate"): "alt-pre-existing",
    ("queue.declare", FaultKind.NOT_FOUND, "alternate"): "alt-unknown",
    ("queue.declare", FaultKind.NOT_FOUND, "queue"): "passive",
    ("queue.declare", FaultKind.LOCKED, "queue"): "in-use",
    ("queue.declare", FaultKind.UNKNOWN_ARGUMENT, ""): "unknown-argument",
    ("queue.delete", FaultKind.NAME_MISSING, "queue"): "empty-name",
    ("queue.delete", FaultKind.NOT_FOUND, "queue"): "exists",
    ("queue.delete", FaultKind.IN_USE, "queue"): "if-unused",
    ("queue.delete", FaultKind.NOT_EMPTY, "queue"): "not-empty",
    ("queue.purge", FaultKind.NAME_MISSING, "queue"): "empty-name",
    ("queue.purge", FaultKind.NOT_FOUND, "queue"): "exists",
    ("message.transfer", FaultKind.NOT_FOUND, "exchange"): "nonexistent-exchange",
    ("message.subscribe", FaultKind.NOT_FOUND, "queue"): "queue-not-found",
    ("message.subscribe", FaultKind.EXCLUSIVE, ""): "exclusive-in-use",
    ("file.consume", FaultKind.EXCLUSIVE, ""): "exclusive",
    ("stream.consume", FaultKind.EXCLUSIVE, ""): "exclusive",
}
"""The broken rule, by class, kind of fault and field; field "" matches any other."""

_ARGUMENTS: Final[Mapping[str, str]] = {"alternate": "alternate_exchange", "binding": "binding_key"}
"""The names of fault fields in commands, where they differ."""


def error_of(command: Any, fault: Fault) -> tuple[ExecutionError, str | None]:
    """Return the exception for a fault, and the argument of the command at fault, if any."""
    name = command.NAME
    rule = RULES.get((name, fault.kind, fault.field)) or RULES.get((name, fault.kind, ""))
    field = _ARGUMENTS.get(fault.field, fault.field)
    if name == "message.transfer" and field == "exchange":
        field = "destination"
    elif field not in command.__match_args__:
        field = "arguments" if "arguments" in command.__match_args__ and fault.field else ""
    text = f"{name}: {fault.text}"
    error = ExecutionError(CODES[fault.kind], text, rule=f"0-10/{name}/{rule}" if rule else None)
    return error, field or None
