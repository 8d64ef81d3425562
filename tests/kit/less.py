"""Captures with less in them, made from whole ones, and what their rows may say: nothing that the whole doesn't say.

A capture has less when one direction isn't in it, when packets were lost, when it begins later or ends earlier, or when
its packets were cut. `made_up` compares the rows: whoever is accused in the part is accused in the whole, and each row
of the part is one of the whole's with more nulls.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import Any, Final

from amqp_sansio.capture import CaptureDamage, Segment
from amqp_sansio.recorded.tables import COLUMNS, replay_segments

Tables = dict[str, list[dict[str, Any]]]
Part = tuple[str, list[Segment]]
"""What was left out, and the segments that are left."""

SYN, ACK = 0x02, 0x10
SKEWS: Final = (700_000_000, 3_000_000_000, -3_000_000_000, 3_600_000_000_000)
"""How far the clock of a server is ahead of its clients', in a file merged of what both captured (nanoseconds)."""
_TIMES: Final = frozenset({"ts", "ts_ns", "settled_ns", "latency_ns", "ended_ns", "opened_ns", "closed_ns"})
"""When a unit's last octet arrived: what waits for lost octets comes out later."""
_COUNTED: Final = frozenset({"connection", "seq", "settled_seq", "answers", "offset"})
"""Numbers that count from the first unit or octet that was captured."""
_SUMS: Final = frozenset({"bytes_client", "bytes_server", "gaps", "events", "messages", "violations", "complete"})
_ENDS: Final = frozenset({"closed_by", "close_code", "close_text", "close_condition", "ended_by", "hint", "cause"})
"""How a connection ended is what is known of its end; a capture that lacks the close shows another one."""
_ROLES: Final = frozenset({"roles_by"})
"""How the roles are known: a capture without the SYN may know them by something else."""
_LESS: Final = ("partial", "part", "frame", "unknown")
"""Units that aren't whole, of whose size and fields a part is known."""
_AGREED: Final = frozenset({"channel_max", "frame_max", "heartbeat", "dialect"})
"""Values that both sides' units make together."""


def tables(segments: Iterable[Segment | CaptureDamage], **options: Any) -> Tables:
    """The tables of some segments, each row as a dict."""
    found: Tables = {name: [] for name in COLUMNS}
    for name, values in replay_segments(segments, **options):
        found[name].append(dict(zip([column for column, _ in COLUMNS[name]], values, strict=True)))
    return found


def server_of(segments: Sequence[Segment]) -> set[tuple[str, int, str]]:
    """The endpoints that SYNs go to."""
    return {(each.dst, each.dport, each.point) for each in segments if each.flags & (SYN | ACK) == SYN}


def to_server(segment: Segment, servers: set[tuple[str, int, str]]) -> bool:
    return (segment.dst, segment.dport, segment.point) in servers


def parts(segments: Sequence[Segment], seed: int, losses: int = 6) -> Iterator[Part]:
    """Captures with less in them: each direction alone, lost packets, later beginnings, earlier ends, cut packets."""
    chance = Random(seed)
    servers = server_of(segments)
    data = [at for at, each in enumerate(segments) if each.payload]
    if servers:
        yield "the client's side", [each for each in segments if to_server(each, servers)]
        yield "the server's side", [each for each in segments if not to_server(each, servers)]
    for _ in range(losses if len(data) > 5 else 0):
        first, many = chance.choice(data), chance.choice((1, 1, 2, 4, 8))
        side = to_server(segments[first], servers)
        lost = {at for at in data if at >= first and to_server(segments[at], servers) is side}
        lost = set(sorted(lost)[:many])
        yield f"without {len(lost)} packets from {first}", _without(segments, lost)
        share = chance.choice((0.02, 0.1, 0.3))
        lost = {at for at in range(len(segments)) if chance.random() < share}
        yield f"without the packets {sorted(lost)[:40]}", _without(segments, lost)
    for many in sorted({1, 4, 7, len(segments) // 3, len(segments) // 2, *_some(chance, data, losses // 2)}):
        if 0 < many < len(segments):
            yield f"from packet {many}", list(segments[many:])
            yield f"up to packet {many}", list(segments[:many])
    for ns in SKEWS if servers else ():
        yield f"the server's clock ahead by {ns} ns", [_late(each, servers, ns) for each in segments]
    for most in (60, 200):
        yield f"{most} octets of each packet", [cut(each, most) for each in segments]


def _late(segment: Segment, servers: set[tuple[str, int, str]], ns: int) -> Segment:
    return segment if to_server(segment, servers) else changed(segment, ts_ns=segment.ts_ns + ns)


def cut(segment: Segment, most: int) -> Segment:
    """A segment with so many octets of its payload."""
    return changed(segment, payload=segment.payload[:most])


def changed(segment: Segment, **values: Any) -> Segment:
    """A segment with other values."""
    known: dict[str, Any] = {name: getattr(segment, name) for name in Segment.__match_args__}
    return Segment(**{**known, **values})


def accused(found: Tables) -> Counter[tuple[str, str, str | None]]:
    """Severity, rule and sender of what breaks a rule of a protocol."""
    return Counter(
        [
            (row["severity"], row["rule"], row["sender"])
            for row in found["violations"]
            if not row["rule"].startswith("capture/")
        ]
    )


def made_up(whole: Tables, part: Tables) -> list[str]:
    """What the rows of a part say that those of the whole don't; nothing when all is right."""
    said: list[str] = []
    # An error may be no more than a warning where less is known of it.
    known = {each for severity, *who in accused(whole) for each in ((severity, *who), ("warning", *who))}
    anybody = {(severity, rule) for severity, rule, _ in known}
    for severity, rule, sender in accused(part):
        if (severity, rule, sender) not in known and (sender is not None or (severity, rule) not in anybody):
            text = next(row["text"] for row in part["violations"] if row["rule"] == rule)
            said.append(f"accuses the {sender}, {severity} of {rule}: {text}")
    if {row["protocol"] for row in whole["connections"]} == {"0-8"}:
        # Of most methods the frames are those of 0-9-1: which it is shows later.
        part = {**part, "events": [row for row in part["events"] if row["protocol"] != "0-9-1"]}
    transacted = {row["channel"] for row in whole["events"] if row["event"] == "tx.select"}
    closed = {row["channel"] for row in whole["events"] if (row["event"], row["sender"]) == ("channel.close", "server")}
    for table in ("connections", "events", "messages"):
        index = _index(table, [*whole[table], *_other_halves(whole)] if table == "messages" else whole[table])
        for row in part[table]:
            if table == "events" and row["unit"] == "frame":
                continue  # It is within a unit of the whole.
            wanted = _sure(table, row)
            if table == "messages" and row["sender"] == "server" and row["channel"] in transacted:
                # Nothing shows that the client's ack waits for a commit when its tx.select isn't there.
                wanted.pop("outcome", None)
            if table == "messages" and row["kind"] == "publish" and row["channel"] in closed:
                # Nothing shows that the server passes over what the client sends when its close isn't there.
                wanted.pop("outcome", None)
            if not any([_agrees(wanted, each) for each in index.get(_key(table, row), ())]):
                near = [_differences(wanted, each) for each in index.get(_key(table, row), ())]
                said.append(f"{table} {_brief(wanted)}, not in the whole: {min(near, key=len, default='none like it')}")
    return said


def _other_halves(whole: Tables) -> Iterator[dict[str, Any]]:
    """Rows of 1.0's messages as one side alone tells them, where the two contradict each other.

    Both sides may settle a delivery, each with its own outcome, and the first one's holds; the server's attach may name
    another node than the client's. A capture that lacks the one that counts has the word of the other.
    """
    events = {(row["connection"], row["seq"]): row for row in whole["events"] if row["protocol"] == "1.0"}
    said: dict[tuple[object, object], set[str]] = {}
    asked: dict[tuple[object, object], set[str]] = {}
    for (connection, _), event in events.items():
        fields: dict[str, Any] = json.loads(event["fields"] or "{}")
        state: dict[str, Any] = fields.get("state") or {}
        if event["event"] == "disposition" and "type" in state:
            said.setdefault((connection, event["sender"]), set()).add(state["type"])
        if event["event"] == "attach" and event["sender"] == "client":
            node: dict[str, Any] = fields.get("source" if fields.get("role") else "target") or {}
            if node.get("address"):
                asked.setdefault((connection, fields.get("name")), set()).add(node["address"])
    for row in whole["messages"]:
        settled = events.get((row["connection"], row["settled_seq"]))
        outcomes: set[Any] = {row["outcome"]}
        if settled is not None and settled["sender"] == row["sender"]:
            outcomes |= said.get((row["connection"], "client" if row["sender"] == "server" else "server"), set())
        addresses: set[Any] = {row["address"], *asked.get((row["connection"], row["link"]), ())}
        for outcome in outcomes:
            for address in addresses - ({row["address"]} if outcome == row["outcome"] else set()):
                yield {**row, "outcome": outcome, "address": address}


def inconsistent(found: Tables) -> list[str]:
    """Where the tables contradict one another: sender, kind, client, server and octets must agree."""
    said: list[str] = []
    for row in found["connections"]:
        named = row["connection"]
        events = [each for each in found["events"] if each["connection"] == named]
        messages = [each for each in found["messages"] if each["connection"] == named]
        violations = [each for each in found["violations"] if each["connection"] == named]
        counts = (row["events"], row["messages"], row["violations"])
        if counts != (len(events), len(messages), len(violations)):
            said.append(f"counts {counts}, but {len(events)}, {len(messages)}, {len(violations)} rows")
        roles = (row["client"], row["server"], row["roles_by"], row["bytes_client"], row["bytes_server"])
        if len({each is None for each in roles}) != 1:
            said.append(f"roles are known in part: {roles}")
        senders = {each["sender"] for each in (*events, *messages)}
        if row["client"] is None and senders - {None}:
            said.append(f"nobody knows who is the client, but rows have {senders}")
        if row["client"] is not None and None in senders:
            said.append("client and server are known, but rows have no sender")
        for side in ("client", "server") if row["client"] is not None else ():
            size = sum([each["size"] for each in events if each["sender"] == side])
            if size > row[f"bytes_{side}"]:
                said.append(f"units of the {side} have {size} octets of {row[f'bytes_{side}']}")
        for each in messages:
            said += _odd_message(each, {event["seq"]: event for event in events})
    return said


def _odd_message(row: Mapping[str, Any], events: Mapping[int, Mapping[str, Any]]) -> Iterator[str]:
    unit = events.get(row["seq"])
    if unit is None or any([unit[name] != row[name] for name in ("sender", "channel", "ts_ns")]):
        yield f"message {row['seq']} isn't its unit: {unit}"
    sides = {"publish": "client", "deliver": "server", "get": "server", "return": "server", None: None}
    if sides[row["kind"]] != row["sender"]:
        yield f"a {row['kind']} of the {row['sender']}"
    if (row["settled_ns"] is None) != (row["latency_ns"] is None) or (row["latency_ns"] or 0) < 0:
        yield f"latency {row['latency_ns']}"
    if row["body_sha256"] is not None and row["body_size"] is None:
        yield "a digest without a size"


def _without(segments: Sequence[Segment], lost: set[int]) -> list[Segment]:
    return [each for at, each in enumerate(segments) if at not in lost]


def _some(chance: Random, places: Sequence[int], many: int) -> list[int]:
    return chance.sample(places, min(many, len(places)))


def _key(table: str, row: Mapping[str, Any]) -> object:
    names = {"connections": (), "events": ("event", "channel"), "messages": ("channel",)}[table]
    return tuple([row[name] for name in names])


def _index(table: str, rows: Iterable[dict[str, Any]]) -> dict[object, list[dict[str, Any]]]:
    index: dict[object, list[dict[str, Any]]] = {}
    for row in rows:
        index.setdefault(_key(table, row), []).append(row)
    return index


def _sure(table: str, row: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a row that the whole must have too."""
    left = _TIMES | _COUNTED
    if table == "connections":
        left = left | _SUMS | _ENDS | _ROLES | _AGREED
    if table == "events":
        left = left | {"unit", "size"}
        if row["unit"] in _LESS:
            left = left | {"fields"}
    return {name: value for name, value in row.items() if name not in left and value is not None}


def _agrees(wanted: Mapping[str, Any], row: Mapping[str, Any]) -> bool:
    return all([_same(value, row[name]) for name, value in wanted.items()])


def _same(value: object, other: object) -> bool:
    if value == other:
        return True
    if (value, other) == ("0-9-1", "0-8"):
        return True  # Of most methods the frames are the same.
    if isinstance(value, str) and isinstance(other, str) and value.startswith("{") and other.startswith("{"):
        part, whole = json.loads(value), json.loads(other)
        return all([each is None or name == "missing" or whole.get(name) == each for name, each in part.items()])
    return False


def _differences(wanted: Mapping[str, Any], row: Mapping[str, Any]) -> str:
    return _brief({name: (value, row[name]) for name, value in wanted.items() if not _same(value, row[name])})


def _brief(values: object) -> str:
    return str(values)[:600]
