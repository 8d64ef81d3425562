"""Facts about the rules of violations: addressee, level, and text."""

from __future__ import annotations

import csv
from functools import cache
from importlib.resources import files
from typing import Final, NamedTuple

_WHO: Final = {"C": "the client", "S": "the server", "B": "both sides"}
_WHO_AMQP_1_0: Final = {"S": "the sending side", "C": "the receiving side", "I": "intermediaries", "B": "both sides"}
_DAMAGE: Final = {
    "capture/gap": "octets are missing in the capture",
    "capture/resync": "octets between a gap and the next frame that could be proven",
    "capture/incomplete": "the stream ended, or a gap began, within a frame",
    "capture/partial-message": "a message of which a part is missing",
    "capture/undecoded": "octets that this release doesn't decode, such as TLS",
    "capture/unrecognised": "octets of no protocol that is known",
    "capture/after-fin": "octets behind the end of the stream",
    "capture/stray-reset": "a TCP reset that can't be of this connection",
    "capture/late-segment": "octets that came when they had been given up",
    "capture/conflicting-overlap": "a retransmission with other octets",
    "capture/truncated-file": "the file ends inside of a record",
}


class Rule(NamedTuple):
    """A rule of a specification: its addressee, its level ("must", "should", "may", "note"), and the requirement."""

    who: str
    level: str
    reaction: str


def rule_facts(rule: str) -> Rule | None:
    """Return the facts about a rule; None: it isn't in a specification's list."""
    return _rules().get(rule)


def rule_words(rule: str) -> str:
    """Return the rule's facts as a sentence; empty if there are none.

    >>> rule_words("0-9-1/basic.ack/unknown-tag")
    'AMQP 0-9-1, basic.ack: binds both sides (must)'
    """
    if rule.startswith("capture/"):
        return f"Damage in the capture: {_DAMAGE.get(rule, rule.removeprefix('capture/'))}"
    facts = rule_facts(rule)
    version, _, rest = rule.partition("/")
    part = rest.rpartition("/")[0] or rest
    words = f"AMQP {version}, {part}"
    if facts is None:
        return words
    words += f": binds {facts.who}" if facts.level == "note" else f": binds {facts.who} ({facts.level})"
    return f"{words}; prescribed: {facts.reaction}" if facts.reaction else words


@cache
def _rules() -> dict[str, Rule]:
    found: dict[str, Rule] = {}
    text = files(__name__.rpartition(".")[0]).joinpath("assets", "rules.csv").read_text(encoding="utf-8")
    for rule, who, level, _ in csv.reader(text.splitlines()):
        name, _, reaction = rule.partition(" -> ")
        names = _WHO_AMQP_1_0 if name.startswith("1.0/") else _WHO
        found.setdefault(name, Rule(names.get(who, who), level, reaction))
    return found


__all__ = ["Rule", "rule_facts", "rule_words"]
