"""The arguments of queues that 0-10 clients give: RabbitMQ's, and Qpid's that mean the same as one of those."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ..faults import Fault, FaultKind
from ..options import ARGUMENTS, WITHOUT_EFFECT, as_text, is_whole

_COUNT: Final = "qpid.max_count"
_SIZE: Final = "qpid.max_size"
_POLICY: Final = "qpid.policy_type"
_PRIORITIES: Final = "qpid.priorities"
_MEANT: Final[Mapping[str, str]] = {_COUNT: "x-max-length", _SIZE: "x-max-length-bytes"}

_POLICIES: Final[Mapping[str, str]] = {
    "reject": "reject-publish",
    "ring": "drop-head",
    "ring_strict": "drop-head",
    "flow_to_disk": "",
}
"""What happens at a limit, by qpid.policy_type; "": nothing, the queue takes more than it keeps in memory."""

_ALL_LEVELS: Final = 10
_TWO_LEVELS: Final = 2

_STORING: Final = frozenset(
    {
        "qpid.file_count", "qpid.file_size", "qpid.persist_last_node", "qpid.replicate", "qpid.optimistic_consume",
        "qpid.flow_stop_count", "qpid.flow_resume_count", "qpid.flow_stop_size", "qpid.flow_resume_size",
        "qpid.alert_count", "qpid.alert_size", "qpid.alert_repeat_gap", "qpid.alert_count_up",
        "qpid.alert_count_down", "qpid.alert_size_up", "qpid.alert_size_down",
    }
)  # fmt: skip
"""How a queue is stored and watched, which changes nothing for its clients."""

NO_LOCAL: Final = "no-local"
"""What the subscriber's own connection publishes isn't for it (Qpid's JMS client)."""


def check_queue_arguments(arguments: Mapping[str, Any]) -> None:
    """Refuse arguments that aren't understood (queue.declare, unknown-argument). Raises Fault: UNKNOWN_ARGUMENT."""
    known = (ARGUMENTS, WITHOUT_EFFECT, _MEANT, _STORING, (_POLICY, _PRIORITIES, NO_LOCAL))
    for name in arguments:
        if not any([name in each for each in known]):
            raise Fault(FaultKind.UNKNOWN_ARGUMENT, f"queues have no argument {name!r}", name)


def model_arguments(arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """The arguments with those of Qpid under the names that the model knows. Raises Fault: BAD_ARGUMENT."""
    added: dict[str, Any] = {}
    policy = as_text(arguments.get(_POLICY, "reject"))
    if policy is None or policy not in _POLICIES:
        raise _bad(_POLICY, f"{arguments[_POLICY]!r} is none of {', '.join(_POLICIES)}")
    for name, meant in _MEANT.items():
        if name in arguments and _POLICIES[policy]:
            added[meant] = arguments[name]
            added["x-overflow"] = _POLICIES[policy]
    levels = arguments.get(_PRIORITIES, _TWO_LEVELS)
    if not is_whole(levels) or levels not in (_TWO_LEVELS, _ALL_LEVELS):
        raise _bad(_PRIORITIES, f"{levels!r}, queues have {_TWO_LEVELS} or {_ALL_LEVELS} levels here")
    if levels == _ALL_LEVELS:
        added["x-max-priority"] = _ALL_LEVELS - 1
    return {**arguments, **added} if added else arguments


def _bad(name: str, why: str) -> Fault:
    return Fault(FaultKind.BAD_ARGUMENT, f"invalid arg {name!r}: {why}", name)


__all__ = ["NO_LOCAL", "check_queue_arguments", "model_arguments"]
