"""Functions for JSON lines: of rows with all columns of a table, and of the state at an instant."""

# Generated; edit the generator (tools/codegen).

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from ._columns import COLUMNS, STATE_COLUMNS

Texts: TypeAlias = Mapping[str, str]
Moment: TypeAlias = Callable[[int], str]
Bits: TypeAlias = Mapping[bool, str]
Line: TypeAlias = Callable[[Sequence[Any], Texts, Moment, Bits], str]
"""Makes the line of a row, with what makes texts, moments and truth values."""


def _connections(row: Sequence[Any], text: Texts, moment: Moment, bits: Bits) -> str:
    n = "null"
    (
        v0,
        v1,
        v2,
        v3,
        v4,
        v5,
        v6,
        v7,
        v8,
        v9,
        v10,
        v11,
        v12,
        v13,
        v14,
        v15,
        v16,
        v17,
        v18,
        v19,
        v20,
        v21,
        v22,
        v23,
        v24,
        v25,
        v26,
        v27,
        v28,
        v29,
        v30,
        v31,
        v32,
        v33,
        v34,
    ) = row
    return (
        f'{{"connection":{n if v0 is None else text[v0]}'
        f',"client":{n if v1 is None else text[v1]}'
        f',"server":{n if v2 is None else text[v2]}'
        f',"protocol":{n if v3 is None else text[v3]}'
        f',"opened_ns":{n if v4 is None else v4}'
        f',"closed_ns":{n if v5 is None else v5}'
        f',"closed_by":{n if v6 is None else text[v6]}'
        f',"close_code":{n if v7 is None else v7}'
        f',"close_text":{n if v8 is None else text[v8]}'
        f',"client_product":{n if v9 is None else text[v9]}'
        f',"client_version":{n if v10 is None else text[v10]}'
        f',"mechanism":{n if v11 is None else text[v11]}'
        f',"user":{n if v12 is None else text[v12]}'
        f',"vhost":{n if v13 is None else text[v13]}'
        f',"container":{n if v14 is None else text[v14]}'
        f',"bytes_client":{n if v15 is None else v15}'
        f',"bytes_server":{n if v16 is None else v16}'
        f',"gaps":{n if v17 is None else v17}'
        f',"complete":{n if v18 is None else bits[v18]}'
        f',"server_product":{n if v19 is None else text[v19]}'
        f',"server_version":{n if v20 is None else text[v20]}'
        f',"dialect":{n if v21 is None else text[v21]}'
        f',"channel_max":{n if v22 is None else v22}'
        f',"frame_max":{n if v23 is None else v23}'
        f',"heartbeat":{n if v24 is None else v24}'
        f',"events":{n if v25 is None else v25}'
        f',"messages":{n if v26 is None else v26}'
        f',"violations":{n if v27 is None else v27}'
        f',"ended_by":{n if v28 is None else text[v28]}'
        f',"hint":{n if v29 is None else text[v29]}'
        f',"close_condition":{n if v30 is None else text[v30]}'
        f',"server_container":{n if v31 is None else text[v31]}'
        f',"connection_name":{n if v32 is None else text[v32]}'
        f',"cause":{n if v33 is None else text[v33]}'
        f',"roles_by":{n if v34 is None else text[v34]}}}'
    )


def _events(row: Sequence[Any], text: Texts, moment: Moment, bits: Bits) -> str:
    n = "null"
    (v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12) = row
    return (
        f'{{"connection":{n if v0 is None else text[v0]}'
        f',"seq":{n if v1 is None else v1}'
        f',"ts":{n if v2 is None else moment(v2)}'
        f',"ts_ns":{n if v3 is None else v3}'
        f',"sender":{n if v4 is None else text[v4]}'
        f',"protocol":{n if v5 is None else text[v5]}'
        f',"channel":{n if v6 is None else v6}'
        f',"event":{n if v7 is None else text[v7]}'
        f',"size":{n if v8 is None else v8}'
        f',"offset":{n if v9 is None else v9}'
        f',"fields":{n if v10 is None else v10}'
        f',"answers":{n if v11 is None else v11}'
        f',"unit":{n if v12 is None else text[v12]}}}'
    )


def _messages(row: Sequence[Any], text: Texts, moment: Moment, bits: Bits) -> str:
    n = "null"
    (
        v0,
        v1,
        v2,
        v3,
        v4,
        v5,
        v6,
        v7,
        v8,
        v9,
        v10,
        v11,
        v12,
        v13,
        v14,
        v15,
        v16,
        v17,
        v18,
        v19,
        v20,
        v21,
        v22,
        v23,
        v24,
        v25,
        v26,
        v27,
        v28,
        v29,
        v30,
    ) = row
    return (
        f'{{"connection":{n if v0 is None else text[v0]}'
        f',"ts_ns":{n if v1 is None else v1}'
        f',"protocol":{n if v2 is None else text[v2]}'
        f',"channel":{n if v3 is None else v3}'
        f',"kind":{n if v4 is None else text[v4]}'
        f',"exchange":{n if v5 is None else text[v5]}'
        f',"routing_key":{n if v6 is None else text[v6]}'
        f',"address":{n if v7 is None else text[v7]}'
        f',"tag":{n if v8 is None else v8}'
        f',"message_id":{n if v9 is None else text[v9]}'
        f',"correlation_id":{n if v10 is None else text[v10]}'
        f',"content_type":{n if v11 is None else text[v11]}'
        f',"redelivered":{n if v12 is None else bits[v12]}'
        f',"body_size":{n if v13 is None else v13}'
        f',"body_sha256":{n if v14 is None else text[v14]}'
        f',"headers":{n if v15 is None else v15}'
        f',"outcome":{n if v16 is None else text[v16]}'
        f',"settled_ns":{n if v17 is None else v17}'
        f',"latency_ns":{n if v18 is None else v18}'
        f',"seq":{n if v19 is None else v19}'
        f',"settled_seq":{n if v20 is None else v20}'
        f',"sender":{n if v21 is None else text[v21]}'
        f',"queue":{n if v22 is None else text[v22]}'
        f',"consumer_tag":{n if v23 is None else text[v23]}'
        f',"mandatory":{n if v24 is None else bits[v24]}'
        f',"reply_code":{n if v25 is None else v25}'
        f',"reply_text":{n if v26 is None else text[v26]}'
        f',"link":{n if v27 is None else text[v27]}'
        f',"reply_to":{n if v28 is None else text[v28]}'
        f',"ended_ns":{n if v29 is None else v29}'
        f',"vhost":{n if v30 is None else text[v30]}}}'
    )


def _violations(row: Sequence[Any], text: Texts, moment: Moment, bits: Bits) -> str:
    n = "null"
    (v0, v1, v2, v3, v4, v5, v6, v7, v8) = row
    return (
        f'{{"connection":{n if v0 is None else text[v0]}'
        f',"seq":{n if v1 is None else v1}'
        f',"ts_ns":{n if v2 is None else v2}'
        f',"sender":{n if v3 is None else text[v3]}'
        f',"rule":{n if v4 is None else text[v4]}'
        f',"severity":{n if v5 is None else text[v5]}'
        f',"text":{n if v6 is None else text[v6]}'
        f',"offset":{n if v7 is None else v7}'
        f',"channel":{n if v8 is None else v8}}}'
    )


def _consumers(row: Sequence[Any], text: Texts, moment: Moment, bits: Bits) -> str:
    n = "null"
    (v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12, v13, v14, v15, v16, v17, v18) = row
    return (
        f'{{"connection":{n if v0 is None else text[v0]}'
        f',"channel":{n if v1 is None else v1}'
        f',"consumer":{n if v2 is None else text[v2]}'
        f',"handle":{n if v3 is None else v3}'
        f',"queue":{n if v4 is None else text[v4]}'
        f',"no_ack":{n if v5 is None else bits[v5]}'
        f',"most":{n if v6 is None else v6}'
        f',"opened_ns":{n if v7 is None else v7}'
        f',"closed_ns":{n if v8 is None else v8}'
        f',"deliveries":{n if v9 is None else v9}'
        f',"accepted":{n if v10 is None else v10}'
        f',"rejected":{n if v11 is None else v11}'
        f',"released":{n if v12 is None else v12}'
        f',"modified":{n if v13 is None else v13}'
        f',"settled":{n if v14 is None else v14}'
        f',"unsettled":{n if v15 is None else v15}'
        f',"most_held":{n if v16 is None else v16}'
        f',"no_room_ns":{n if v17 is None else v17}'
        f',"longest_hold_ns":{n if v18 is None else v18}}}'
    )


def _state(row: Sequence[Any], text: Texts, moment: Moment, bits: Bits) -> str:
    n = "null"
    (v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12, v13, v14) = row
    return (
        f'{{"at_ns":{n if v0 is None else v0}'
        f',"connection":{n if v1 is None else text[v1]}'
        f',"kind":{n if v2 is None else text[v2]}'
        f',"channel":{n if v3 is None else v3}'
        f',"name":{n if v4 is None else text[v4]}'
        f',"side":{n if v5 is None else text[v5]}'
        f',"state":{n if v6 is None else text[v6]}'
        f',"queue":{n if v7 is None else text[v7]}'
        f',"consumer":{n if v8 is None else text[v8]}'
        f',"since_ns":{n if v9 is None else v9}'
        f',"held":{n if v10 is None else v10}'
        f',"most":{n if v11 is None else v11}'
        f',"room":{n if v12 is None else v12}'
        f',"seq":{n if v13 is None else v13}'
        f',"text":{n if v14 is None else text[v14]}}}'
    )


LINES: Final[Mapping[tuple[tuple[str, str], ...], Line]] = {
    COLUMNS["connections"]: _connections,
    COLUMNS["events"]: _events,
    COLUMNS["messages"]: _messages,
    COLUMNS["violations"]: _violations,
    COLUMNS["consumers"]: _consumers,
    STATE_COLUMNS: _state,
}
"""By the names and types of the columns."""

__all__ = ["LINES", "Line"]
