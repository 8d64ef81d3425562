"""What reports have of a case: a record, which a line of JSON carries from one run to a page about several."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from .conversation import Piece
from .recording import file_name
from .running import Connection, Result
from .verdicts import Verdict

_SENDERS: dict[str, Literal["client", "server"]] = {"client": "client", "server": "server"}


class Record(NamedTuple):
    """A case's result with the one that was tested. `strict` is the verdict without the profile.

    `recording` is the name of the pcapng file, or "". `seconds` is the time that the case took.
    """

    peer: str
    case: str
    rule: str
    level: str
    clause: str
    expected: str
    verdict: Verdict
    strict: Verdict
    seen: str
    note: str = ""
    seconds: float = 0.0
    connections: tuple[Connection, ...] = ()
    recording: str = ""


def record_of(result: Result, peer: str, *, recorded: bool = False) -> Record:
    """Return the record of a result; `recorded`: its connections are written to the file that `file_name` says."""
    case = result.case
    return Record(
        peer,
        case.name,
        case.rule,
        case.level,
        case.clause,
        case.expected,
        result.verdict,
        result.strict,
        result.seen,
        result.note,
        result.seconds,
        result.connections,
        file_name(result) if recorded and result.connections else "",
    )


def json_line(record: Record) -> str:
    """Return a record as one line of JSON."""
    return json.dumps(
        {
            "peer": record.peer,
            "case": record.case,
            "rule": record.rule,
            "level": record.level,
            "clause": record.clause,
            "expected": record.expected,
            "verdict": record.verdict.value,
            "strict_verdict": record.strict.value,
            "seen": record.seen,
            "note": record.note,
            "ms": round(record.seconds * 1000),
            "connections": [
                {
                    "client": each.local,
                    "server": each.remote,
                    "ended": each.how_it_ended,
                    "tested": each.peer,
                    "pieces": [
                        {"sender": piece.sender, "at_ns": piece.at_ns, "octets": piece.octets.hex()}
                        for piece in each.pieces
                    ],
                }
                for each in record.connections
            ],
            "recording": record.recording or None,
        },
        ensure_ascii=True,
    )


def read_records(lines: Sequence[str]) -> list[Record]:
    """Read what `json_line` wrote, a record in each line. Raises ValueError, with the number of the line."""
    records: list[Record] = []
    for number, line in enumerate(lines, 1):
        try:
            records.append(_record(json.loads(line)))
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
            raise ValueError(f"line {number} isn't a result of the probe") from None
    return records


def _record(told: Any) -> Record:
    return Record(
        _text(told["peer"]),
        _text(told["case"]),
        _text(told["rule"]),
        _text(told["level"]),
        _text(told["clause"]),
        _text(told["expected"]),
        Verdict(told["verdict"]),
        Verdict(told["strict_verdict"]),
        _text(told["seen"]),
        _text(told["note"]),
        float(told["ms"]) / 1000,
        tuple([_connection(each) for each in told["connections"]]),
        _text(told["recording"] or ""),
    )


def _connection(told: Any) -> Connection:
    pieces = [
        Piece(_SENDERS[each["sender"]], bytes.fromhex(each["octets"]), int(each["at_ns"])) for each in told["pieces"]
    ]
    ends = _text(told["client"]), _text(told["server"])
    return Connection(*ends, tuple(pieces), _text(told["ended"]), _SENDERS[told["tested"]])


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("a text")
    return value
