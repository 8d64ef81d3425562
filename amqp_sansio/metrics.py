"""Sample: one value of the metrics of a client, a server or a broker, named as Prometheus names it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Sample(NamedTuple):
    """One value. A counter's never falls, and its `name` ends in "_total"; the others are gauges.

    `labels` are pairs of a label and its value; `help` says what is counted, and its unit.
    """

    name: str
    value: float
    help: str
    labels: tuple[tuple[str, str], ...] = ()

    @property
    def is_counter(self) -> bool:
        """Whether it only rises, rather than being a gauge."""
        return self.name.endswith("_total")

    @property
    def key(self) -> str:
        """The name with its labels, as a line of Prometheus' text format begins.

        >>> Sample("amqp_client_settled_total", 3, "", (("outcome", "accepted"),)).key
        'amqp_client_settled_total{outcome="accepted"}'
        """
        if not self.labels:
            return self.name
        labels = ",".join([f'{name}="{_escaped(value)}"' for name, value in self.labels])
        return f"{self.name}{{{labels}}}"


def snapshot(samples: Iterable[Sample]) -> dict[str, float]:
    """Return the values by name and labels. Values of the same key are added up, as those of several connections."""
    found: dict[str, float] = {}
    for each in samples:
        found[each.key] = found.get(each.key, 0) + each.value
    return found


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


__all__ = ["Sample", "snapshot"]
