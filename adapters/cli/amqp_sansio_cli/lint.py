"""`amqp-sansio lint`: the violations in captures, connection by connection."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from amqp_sansio.recorded.tables import COLUMNS

from .errors import say
from .output import day_clock, write_lines
from .rows import LocalRows, notes

Row = Mapping[str, object]


def lint_command(
    given: Sequence[str],
    *,
    fail_on: str,
    clock_skew: float = 0.0,
    clock_offset: str = "",
    connections: Sequence[str] = (),
    ports: Sequence[int] = (),
) -> int:
    """Print the violations, and as warnings what services refused; return 1 if one is as severe as `fail_on`.

    Raises CommandError.
    """
    known: dict[object, Row] = {}
    violations: dict[object, list[Row]] = {}
    severities: Counter[str] = Counter()
    rules: Counter[object] = Counter()
    rows = LocalRows(
        given,
        ("connections", "violations", "consumers"),
        clock_skew=clock_skew,
        clock_offset=clock_offset,
        connections=connections,
        ports=ports,
    )
    asks = False
    for table, values in rows:
        row = dict(zip((name for name, _ in COLUMNS[table]), values, strict=True))
        if table == "connections":
            known[row["connection"]] = row
        elif table == "violations":
            violations.setdefault(row["connection"], []).append(row)
            severities[str(row["severity"])] += 1
            rules[row["rule"]] += 1
        else:
            asks = asks or (row["handle"] is not None and _asks_a_service(str(row["queue"])))
    if asks:
        for row in rows.refusals():
            if row["connection"] in known:
                violations.setdefault(row["connection"], []).append(row)
                severities["warning"] += 1
        for each in violations.values():
            each.sort(key=_when)
    write_lines(_lines(known, violations))
    for sentence in notes(rows.passed, rows.encrypted):
        say(sentence)
    if not rows.found:
        say(rows.encrypted.nothing(given))
    else:
        found = ", ".join(_count(severities[kind], kind) for kind in ("error", "warning"))
        total = _count(len(known), "connection")
        say(f"{found} in {total}")
        if rules["capture/late-segment"] or rules["capture/gap"]:
            for sentence in rows.advice():
                say(sentence)
    return int(severities["error"] > 0 or (fail_on == "warning" and severities.total() > 0))


def _lines(connections: Mapping[object, Row], violations: Mapping[object, Sequence[Row]]) -> Iterator[str]:
    for key, rows in violations.items():
        connection = connections.get(key)
        yield _title(key, connection)
        for row in rows:
            where = "" if row["offset"] is None else f" (octet {row['offset']})"
            sender = f"{row['sender']}: " if row["sender"] else ""
            text = f"{sender}{row['text']}{where}"
            yield f"  {day_clock(row['ts_ns'])}  {row['severity']:<7}  {row['rule']}"
            yield f"      {text}"


def _title(key: object, connection: Row | None) -> str:
    if connection is None:
        return "in the capture" if key is None else f"connection {key}"
    client, server = connection["client"] or "?", connection["server"] or "?"
    named = ", ".join(str(each) for each in (connection["connection_name"], connection["client_product"]) if each)
    client = f"{client} ({named})" if named else client
    protocol = connection["protocol"] or "unknown protocol"
    return f"{client} -> {server}, AMQP {protocol}, connection {key}"


def _asks_a_service(address: str) -> bool:
    """Whether a link of 1.0 leads to a node that answers requests."""
    # Most captures need nothing of the report.
    from amqp_sansio_report.services import is_node

    return is_node(address)


def _when(row: Row) -> int:
    found = row["ts_ns"]
    return found if isinstance(found, int) else 0


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
