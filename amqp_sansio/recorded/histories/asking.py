"""How each version declares exchanges, queues and bindings, and learns the result."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

from ...broker.addresses import BadAddress, NodeKind, decoded, parse
from .columns import Happening

_MOST: Final = 10_000
"""Most acts of one connection that wait for an answer; above it the oldest comes out as "asked"."""

Act = dict[str, Any]


class Acts:
    """The acts of one connection: the waiting ones, by the key of their answer, and the complete ones.

    `notes` are the last declared queues by channel, `closed` the channels that the server has closed.
    """

    def __init__(self, connection: str) -> None:
        self.connection = connection
        self.vhost: str | None = None
        self.waiting: dict[object, Act] = {}
        self.done: list[Act] = []
        self.notes: dict[object, Any] = {}
        self.closed: set[int | None] = set()

    def ask(self, key: object, act: Act) -> None:
        """Add an act whose answer will have `key`."""
        if len(self.waiting) >= _MOST:
            self.done.append(self.waiting.pop(next(iter(self.waiting))))
        self.waiting[key] = act

    def answer(self, key: object, at: int | None, state: str, text: str | None = None) -> Act | None:
        """Complete an act and return it; None if none waits for `key`."""
        act = self.waiting.pop(key, None)
        if act is not None:
            act.update(state=state, done_ns=at, text=text)
            self.done.append(act)
        return act

    def take(self) -> list[Act]:
        """Return the complete acts, each once."""
        done, self.done = self.done, []
        return done

    def finish(self) -> list[Act]:
        """Return the complete acts and those that still wait."""
        self.done += self.waiting.values()
        self.waiting = {}
        return self.take()


def _fields(event: Happening) -> dict[str, Any]:
    fields: dict[str, Any] = json.loads(event.fields)
    return fields


def _act(acts: Acts, event: Happening, what: str, fields: dict[str, Any], /, **more: Any) -> Act:
    kind, _, verb = what.partition(".")
    act: Act = {
        "connection": event.connection,
        "seq": event.seq,
        "ts_ns": event.ts_ns,
        "protocol": event.protocol,
        "vhost": acts.vhost,
        "act": verb,
        "kind": kind,
        "state": "asked",
    }
    for field in ("durable", "auto_delete", "exclusive", "passive", "arguments"):
        if field in fields:
            act[field] = fields[field]
    act.update(more)
    return act


# 0-8 and 0-9-1


def _classic_act(acts: Acts, event: Happening, fields: dict[str, Any]) -> Act:
    name = event.event
    if name in ("exchange.declare", "exchange.delete"):
        return _act(acts, event, name, fields, name=fields.get("exchange"), type=fields.get("type"))
    if name == "queue.declare":
        return _act(acts, event, name, fields, name=fields.get("queue") or None)
    if name == "queue.delete":
        return _act(acts, event, name, fields, name=fields.get("queue") or acts.notes.get(event.channel))
    more: dict[str, Any] = {"kind": "binding", "routing_key": fields.get("routing_key") or ""}
    if name.startswith("queue."):
        queue = fields.get("queue") or acts.notes.get(event.channel)
        more.update(source=fields.get("exchange"), destination=queue, destination_kind="queue")
        if not fields.get("queue") and not more["routing_key"]:
            more["routing_key"] = queue  # 0-9-1 queue.bind, routing-key: both empty means the last declared queue
    else:
        more.update(source=fields.get("source"), destination=fields.get("destination"))
        more["destination_kind"] = "exchange"
    return _act(acts, event, name, fields, **more)


def fold_classic(acts: Acts, event: Happening) -> None:
    """Handle 0-8 and 0-9-1, sections 1.6 and 1.7: each request is answered on its channel, unless it says no-wait."""
    name = event.event
    if event.sender == "server":
        if event.answers is not None and name.endswith("-ok"):
            act = acts.answer(event.answers, event.ts_ns, "done")
            if act is not None and name == "queue.declare-ok":
                act["name"] = acts.notes[event.channel] = _fields(event).get("queue")
        elif name in ("channel.close", "connection.close"):
            _refuse_classic(acts, event)
        return
    fields = _fields(event)
    if name == "connection.open":
        acts.vhost = fields.get("virtual_host")
    elif name in ("channel.open", "channel.close-ok"):
        acts.closed.discard(event.channel)
        acts.notes.pop(event.channel, None)
    elif name.startswith(("exchange.", "queue.")):
        act = _classic_act(acts, event, fields)
        if event.channel in acts.closed:
            # 0-9-1 section 1.5.2.5: anything sent to a channel after its close is discarded.
            act.update(state="refused", text="the server had closed the channel")
            acts.done.append(act)
            return
        if name == "queue.declare" and act["name"]:
            acts.notes[event.channel] = act["name"]
        if fields.get("no_wait"):
            act.update(state="done")
            acts.done.append(act)
        else:
            act["channel"] = event.channel
            acts.ask(event.seq, act)


def _refuse_classic(acts: Acts, event: Happening) -> None:
    fields = _fields(event)
    text = f"{fields.get('reply_code')} {fields.get('reply_text') or ''}".strip()
    whole = event.event == "connection.close"
    if not whole:
        acts.closed.add(event.channel)
    for key, act in list(acts.waiting.items()):
        if whole or act.get("channel") == event.channel:
            acts.answer(key, event.ts_ns, "refused", text)
            if not whole:
                return  # a channel executes in sequence: the first one was refused


# 0-10


def fold_amqp_0_10(acts: Acts, event: Happening) -> None:
    """Handle 0-10: a command is done when its id is completed, and refused by the exception that names it."""
    name = event.event
    fields = _fields(event)
    if name == "connection.open":
        acts.vhost = fields.get("virtual_host")
    elif event.sender == "client" and name.startswith(("exchange.", "queue.")):
        if name in ("exchange.bind", "exchange.unbind"):
            act = _act(
                acts,
                event,
                name,
                fields,
                kind="binding",
                source=fields.get("exchange"),
                destination=fields.get("queue"),
                destination_kind="queue",
                routing_key=fields.get("binding_key") or "",
            )
        else:
            named = fields.get("exchange" if name.startswith("exchange.") else "queue")
            act = _act(acts, event, name, fields, name=named, type=fields.get("type"))
        number = fields.get("id")
        if number is None:
            acts.done.append(act)
        else:
            act.update(channel=event.channel, id=number)
            acts.ask((event.channel, number), act)
    elif event.sender == "server" and name == "execution.exception":
        text = f"{fields.get('error_code')} {fields.get('description') or ''}".strip()
        acts.answer((event.channel, fields.get("command_id")), event.ts_ns, "refused", text)
    elif event.sender == "server" and name == "session.completed" and acts.waiting:
        ranges: list[tuple[int, int]] = fields.get("commands") or []
        for key, act in list(acts.waiting.items()):
            if act["channel"] == event.channel and any([low <= act["id"] <= high for low, high in ranges]):
                acts.answer(key, event.ts_ns, "done")


# 1.0


def fold_amqp_1_0(acts: Acts, event: Happening) -> None:
    """Handle 1.0, which has nodes instead of queues: an attach creates dynamic ones; RabbitMQ 4 has /management."""
    if event.event == "transfer" and '"/management"' not in event.fields and not acts.waiting:
        return
    _AMQP_1_0[event.event](acts, event, _fields(event))


def _open(acts: Acts, event: Happening, fields: dict[str, Any]) -> None:
    hostname = fields.get("hostname")
    if event.sender == "client" and isinstance(hostname, str) and hostname.startswith("vhost:"):
        acts.vhost = hostname.removeprefix("vhost:")


def _attach(acts: Acts, event: Happening, fields: dict[str, Any]) -> None:
    sends = fields.get("role") is False
    key = ("link", fields.get("name"), sends if event.sender == "client" else not sends)
    terminus: dict[str, Any] = fields.get("target" if sends == (event.sender == "client") else "source") or {}
    if event.sender == "client":
        address = terminus.get("address") or ""
        if terminus.get("dynamic"):
            acts.ask(key, _act(acts, event, "queue.declare", {}, exclusive=True, auto_delete=True))
        elif address.startswith("/queue/"):
            # RabbitMQ 3 declares the node that such an address names.
            node = _parsed(address)
            if node is not None and node[0] is NodeKind.QUEUE:
                acts.ask(key, _act(acts, event, "queue.declare", {}, name=node[1], durable=True))
        return
    address = terminus.get("address")
    waiting = acts.waiting.get(key)
    if waiting is None:
        return
    if address is None:
        acts.answer(key, event.ts_ns, "refused", "attached without a terminus")
    else:
        waiting.setdefault("name", address)
        acts.answer(key, event.ts_ns, "done")


def _parsed(address: str) -> tuple[NodeKind, str] | None:
    try:
        node = parse(address)
    except BadAddress:
        return None
    return None if node is None else (node.kind, node.name)


def _transfer(acts: Acts, event: Happening, fields: dict[str, Any]) -> None:
    properties: dict[str, Any] = fields.get("properties") or {}
    if event.sender == "server":
        key = ("request", _plain(properties.get("correlation_id")))
        code = str(properties.get("subject") or "")
        if key in acts.waiting and code[:1] in ("2", "4", "5"):
            refused = None if code.startswith("2") else code
            acts.answer(key, event.ts_ns, "refused" if refused else "done", refused)
        return
    verb = {"PUT": "declare", "DELETE": "delete"}.get(str(properties.get("subject")))
    kind, _, name = str(properties.get("to") or "").lstrip("/").partition("/")
    if verb is None or kind not in ("queues", "exchanges") or not name or "/" in name:
        return
    try:
        named = decoded(name)
    except BadAddress:
        return
    act = _act(acts, event, f"{kind.removesuffix('s')}.{verb}", {}, name=named)
    acts.ask(("request", _plain(properties.get("message_id"))), act)


def _plain(value: Any) -> str:
    """Return an id as a key: as JSON text if it has several parts."""
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)


_AMQP_1_0: Final[dict[str, Callable[[Acts, Happening, dict[str, Any]], None]]] = {
    "open": _open,
    "attach": _attach,
    "transfer": _transfer,
}

__all__ = ["Acts", "fold_amqp_0_10", "fold_amqp_1_0", "fold_classic"]
