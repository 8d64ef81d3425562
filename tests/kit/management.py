"""The management API of a world's broker, asked without HTTP."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any

from amqp_sansio.broker.management import Answer, Management, Request
from tests.kit.hub import World

GUEST = "guest:guest"


class Api:
    """The management API of a world; `ask` lets all clients hear what follows.

    >>> from tests.kit.hub_classic import World
    >>> Api(World()).ask("GET", "/api/whoami").content
    {'name': 'guest', 'tags': ['administrator']}
    """

    def __init__(self, world: World[Any]) -> None:
        self.world = world
        self.management = Management(world.hub)

    def request(
        self, method: str, target: str, body: Any = None, login: str = GUEST, headers: dict[str, str] | None = None
    ) -> Request:
        """A request; a body that isn't octets becomes JSON."""
        given = {"authorization": f"Basic {b64encode(login.encode()).decode()}"} if login else {}
        octets = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        return Request(method, target, {**given, **(headers or {})}, octets)

    def ask(self, method: str, target: str, body: Any = None, **options: Any) -> Answer:
        """The answer; its octets are JSON."""
        answer = self.management.answer(self.request(method, target, body, **options))
        self.world.pump()
        if answer.has_content:
            assert json.loads(answer.octets) == answer.content
        return answer

    def get(self, target: str, **options: Any) -> Any:
        """The content of what there is."""
        answer = self.ask("GET", target, **options)
        assert answer.status == 200, answer
        return answer.content
