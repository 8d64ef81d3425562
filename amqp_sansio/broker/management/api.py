"""Management: RabbitMQ's management API over a `Hub`, without I/O; which request is answered by whom."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from . import changing, reading
from .call import Call, Steps
from .requests import Answer, Refused, Request, not_found, split_target
from .rows import Line, Rows

if TYPE_CHECKING:
    from ..hub import Hub

Handler = Callable[..., "Answer | Steps"]

_TURNS: Final = 1_000_000
"""More turns than any request takes."""
_BINDINGS: Final[Mapping[str, Handler]] = {"GET": reading.bindings_between, "POST": changing.bind}
_BINDING: Final[Mapping[str, Handler]] = {"GET": reading.binding, "DELETE": changing.unbind}

ROUTES: Final[Sequence[tuple[str, Mapping[str, Handler]]]] = (
    ("overview", {"GET": reading.overview}),
    ("whoami", {"GET": reading.whoami}),
    ("cluster-name", {"GET": reading.cluster_name}),
    ("nodes", {"GET": reading.nodes}),
    ("nodes/*", {"GET": reading.node}),
    ("vhosts", {"GET": reading.vhosts}),
    ("vhosts/*", {"GET": reading.vhost, "PUT": changing.add_vhost}),
    ("vhosts/*/connections", {"GET": reading.connections}),
    ("vhosts/*/channels", {"GET": reading.channels}),
    ("connections", {"GET": reading.connections}),
    ("connections/*", {"GET": reading.connection, "DELETE": changing.close}),
    ("connections/*/channels", {"GET": reading.channels_of_connection}),
    ("channels", {"GET": reading.channels}),
    ("channels/*", {"GET": reading.channel}),
    ("consumers", {"GET": reading.consumers}),
    ("consumers/*", {"GET": reading.consumers}),
    ("queues", {"GET": reading.queues}),
    ("queues/*", {"GET": reading.queues}),
    ("queues/*/*", {"GET": reading.queue, "PUT": changing.declare_queue, "DELETE": changing.delete_queue}),
    ("queues/*/*/bindings", {"GET": reading.bindings_of_queue}),
    ("queues/*/*/contents", {"DELETE": changing.purge_queue}),
    ("queues/*/*/get", {"POST": changing.get}),
    ("queues/*/*/actions", {"POST": changing.queue_actions}),
    ("exchanges", {"GET": reading.exchanges}),
    ("exchanges/*", {"GET": reading.exchanges}),
    ("exchanges/*/*", {"GET": reading.exchange, "PUT": changing.declare_exchange, "DELETE": changing.delete_exchange}),
    ("exchanges/*/*/bindings/source", {"GET": reading.bindings_from}),
    ("exchanges/*/*/bindings/destination", {"GET": reading.bindings_to}),
    ("exchanges/*/*/publish", {"POST": changing.publish}),
    ("bindings", {"GET": reading.bindings}),
    ("bindings/*", {"GET": reading.bindings}),
    ("bindings/*/e/*/{q,e}/*", _BINDINGS),
    ("bindings/*/e/*/{q,e}/*/*", _BINDING),
    ("aliveness-test/*", {"GET": reading.aliveness}),
    ("healthchecks/node", {"GET": reading.healthy}),
    ("healthchecks/node/*", {"GET": reading.healthy_node}),
    ("health/checks/alarms", {"GET": reading.alarms}),
    ("health/checks/local-alarms", {"GET": reading.alarms}),
    ("health/checks/virtual-hosts", {"GET": reading.healthy}),
    ("health/checks/node-is-mirror-sync-critical", {"GET": reading.single_node}),
    ("health/checks/node-is-quorum-critical", {"GET": reading.single_node}),
    ("health/checks/port-listener/*", {"GET": reading.port_listener}),
    ("health/checks/protocol-listener/*", {"GET": reading.protocol_listener}),
)
"""The paths below /api and what answers them: `*` is a part that the handler gets, `{q,e}` one of these words."""


class Management:
    """RabbitMQ's management API over a broker, as far as docs/management.md says.

    `line` returns where the transport of a hub's client goes, by the client's number.

    >>> from amqp_sansio.broker import Hub, Settings
    >>> api = Management(Hub(Settings()))
    >>> login = {"authorization": "Basic Z3Vlc3Q6Z3Vlc3Q="}
    >>> api.answer(Request("PUT", "/api/queues/%2F/jobs", login, b'{"durable": true}')).status
    201
    >>> api.answer(Request("GET", "/api/queues/%2F/jobs?columns=name,messages", login)).content
    {'name': 'jobs', 'messages': 0}
    """

    def __init__(self, hub: Hub, line: Callable[[int], Line] | None = None) -> None:
        self._hub = hub
        """The broker that is managed."""
        self._rows = Rows(hub, _nowhere if line is None else line)
        """Makes the rows of answers."""
        self._numbers = 0
        """Of the clients within the broker; the last one's."""

    def begin(self, request: Request) -> Work:
        """Begin to answer a request."""
        self._numbers -= 1
        return Work(self._hub, self._rows, request, self._numbers)

    def answer(self, request: Request) -> Answer:
        """Answer a request with as many turns as it takes. Adapters use `begin`, and let others have their turns."""
        work = self.begin(request)
        for _ in range(_TURNS):
            found = work.go_on()
            if found is not None:
                return found
            for client in self._hub.take_dirty():
                client.next_event()
        raise AssertionError("a request never ends")


class Work:
    """A request that is being answered, a turn at a time."""

    def __init__(self, hub: Hub, rows: Rows, request: Request, number: int) -> None:
        self._request = request
        """The request that is answered."""
        self._steps: Steps | None = None
        """The steps that are left; None before the first turn, and for an answer that takes no steps."""
        self._answer: Answer | None = None
        """None until it is known."""
        self._made_of = hub, rows, number
        """The broker, the maker of its rows, and the number of a client within it."""

    def go_on(self) -> Answer | None:
        """Do a turn's work; return the answer once there is one. Of a HEAD it says what a GET would."""
        if self._answer is None:
            try:
                if self._steps is None:
                    hub, rows, number = self._made_of
                    begun = _begin(hub, rows, self._request, number)
                    if isinstance(begun, Answer):
                        self._answer = begun
                        return begun
                    self._steps = begun
                next(self._steps)
            except StopIteration as done:
                self._answer = done.value
            except Refused as refusal:
                self._answer = refusal.answer
        return self._answer

    def abandon(self) -> None:
        """Give it up: what it holds within the broker is let go."""
        if self._steps is not None:
            self._steps.close()
        if self._answer is None:
            self._answer = Answer(503)


def _begin(hub: Hub, rows: Rows, request: Request, number: int) -> Answer | Steps:
    path, query = split_target(request.target)
    handlers, names = _route(path)
    method = "GET" if request.method == "HEAD" else request.method
    allowed = [each for each in ("GET", "PUT", "POST", "DELETE") if each in handlers]
    told: Any = ", ".join([*(["HEAD"] if "GET" in handlers else []), *allowed, "OPTIONS"])
    if method == "OPTIONS":
        return Answer(200, headers={"allow": told})
    if method not in handlers:
        return Answer(405, headers={"allow": told})
    call = Call(hub, rows, request, query, number)
    return handlers[method](call, *names)


def _route(path: Sequence[str]) -> tuple[Mapping[str, Handler], list[str]]:
    """Return who answers a path, and the parts for the handler. Raises Refused."""
    if path[:1] == ("api",):
        for pattern, handlers in ROUTES:
            names = _match(pattern.split("/"), path[1:])
            if names is not None:
                return handlers, names
    raise not_found()


def _match(pattern: Sequence[str], path: Sequence[str]) -> list[str] | None:
    if len(pattern) != len(path):
        return None
    names: list[str] = []
    for wanted, part in zip(pattern, path, strict=True):
        if wanted == "*":
            names.append(part)
        elif wanted.startswith("{"):
            if part not in wanted[1:-1].split(","):
                return None
            names.append(part)
        elif wanted != part:
            return None
    return names


def _nowhere(number: int) -> Line:
    """Return a line of a client without a transport."""
    return Line("127.0.0.1", 5672, "127.0.0.1", number)


__all__ = ["ROUTES", "Management", "Work"]
