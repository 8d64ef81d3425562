"""Topics: stores that give each message to the subscriptions whose rules select it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from amqp_sansio.amqp_1_0.codec.conditions import NOT_FOUND, RESOURCE_LIMIT_EXCEEDED
from amqp_sansio.errors import CodecError

from ..conditions import ENTITY_ALREADY_EXISTS
from .rules import DEFAULT, Rule, RuleError, TrueFilter
from .stores import Store

if TYPE_CHECKING:
    from .messages import Arrival
    from .stores import Options, Service

_RULES: Final = 2000
"""Rules of a subscription."""


class Subscription(Store):
    """A subscription: a store with rules."""

    def __init__(
        self, service: Service, path: str, options: Options, dead_letters: Store, rules: tuple[Rule, ...] | None = None
    ) -> None:
        super().__init__(service, path, options, dead_letters)
        given = (Rule(DEFAULT, TrueFilter(), None, service.unix_time),) if rules is None else rules
        self.rules: dict[str, Rule] = {each.name: each for each in given}

    def add_rule(self, rule: Rule) -> None:
        """Add a rule. Raises Refusal if there is one of that name."""
        if rule.name in self.rules:
            text = f"The messaging entity '{rule.name}' already exists."
            raise self.service.refusal(ENTITY_ALREADY_EXISTS, text, self.path)
        if len(self.rules) >= _RULES:
            raise self.service.refusal(RESOURCE_LIMIT_EXCEEDED, f"a subscription has at most {_RULES} rules", self.path)
        self.rules[rule.name] = rule

    def replace_rule(self, rule: Rule) -> None:
        """Put a rule in the place of that of its name. Raises Refusal if there is none."""
        if rule.name not in self.rules:
            text = f"The messaging entity '{rule.name[:60]}' could not be found."
            raise self.service.refusal(NOT_FOUND, text, self.path)
        self.rules[rule.name] = rule

    def remove_rule(self, name: str) -> None:
        """Remove a rule. Raises Refusal if there is none of that name."""
        if self.rules.pop(name, None) is None:
            text = f"The messaging entity '{name[:60]}' could not be found."
            raise self.service.refusal(NOT_FOUND, text, self.path)

    def offer(self, arrival: Arrival, origin: int, hops: int) -> int:
        """Take a message as the rules say; return how many copies. Each rule with an action makes one of its own."""
        message = arrival.message
        copies: list[Arrival] = []
        is_plain = False
        for rule in list(self.rules.values()):
            try:
                if not rule.filter.matches(message):
                    continue
                if rule.action is None:
                    is_plain = True
                else:
                    copy = arrival.copy()
                    copy.replace(rule.action.apply(message))
                    copies.append(copy)
            except (RuleError, CodecError, ValueError, TypeError) as error:
                if self.options.dead_letters_filter_errors:
                    self.bury_new(arrival.copy(), "FilterEvaluationException", str(error)[:1000])
        if is_plain:
            copies.insert(0, arrival.copy())
        for each in copies:
            self.put_selected(each, origin, hops)
        return len(copies)

    def put_selected(self, arrival: Arrival, origin: int, hops: int) -> None:
        """Take a message of the topic; without a session-id that is needed it's a dead letter."""
        if self.options.requires_session and arrival.session_id is None:
            self.bury_new(arrival, "Session id is null.", "The subscription requires a session, the message has none.")
        else:
            self.arrive(arrival, origin=origin, hops=hops)


class Topic(Store):
    """A topic: it keeps scheduled messages alone."""

    def __init__(self, service: Service, path: str, options: Options) -> None:
        super().__init__(service, path, options)
        self.subscriptions: dict[str, Subscription] = {}
        """By name in lower case."""

    def arrive(self, arrival: Arrival, *, origin: int, hops: int) -> int:
        number = self.reserve()
        if arrival.ttl is None and self.options.default_ttl is not None:
            arrival.ttl = self.options.default_ttl
        for each in list(self.subscriptions.values()):
            each.offer(arrival, origin or number, hops)
        return number


__all__ = ["Subscription", "Topic"]
