"""The programs of docs/servers.md: two versions on one port with TLS, by a password and by a client certificate; a SASL
mechanism of one's own."""

from __future__ import annotations

from typing import Any

import pytest

from amqp_sansio import AMQP_0_9_1, AMQP_1_0, EndpointClosed, Side, Version
from amqp_sansio.metrics import snapshot
from amqp_sansio.sasl import OAuthBearer
from amqp_sansio_asyncio import connect
from tests.docs.test_pages import BLOCK, DOCS
from tests.kit.asyncio_loops import run
from tests.kit.certificates import kept_certificates
from tests.kit.hub import User, World
from tests.kit.versions import KITS

VERSIONS = pytest.mark.parametrize("version", [AMQP_0_9_1, AMQP_1_0], ids=lambda each: each.label)


def page(place: int = 0) -> dict[str, Any]:
    block = BLOCK.findall((DOCS / "servers.md").read_text(encoding="utf-8"))[place]
    names: dict[str, Any] = {"__name__": "page"}
    exec(compile(block, "servers.md", "exec"), names)
    return names


@VERSIONS
def test_who_logs_in_is_named(version: Version) -> None:
    names, files = page(), kept_certificates()
    seen: list[str] = []

    async def handle(connection: Any) -> None:
        seen.append(connection.user)
        async for _ in connection:
            pass

    async def main() -> None:
        names["handle"] = handle
        context = names["server_context"](str(files.server), str(files.server_key), str(files.ca))
        server = await names["start"](names["by_name"]({"localhost": context}, context))
        place = f"localhost:{server.port}/?cacertfile={files.ca}"
        certificate = f"&certfile={files.client}&keyfile={files.client_key}&auth_mechanism=external"
        async with server:
            async with connect(f"amqps://ada:lovelace@{place}", version=version) as connection:
                assert connection.is_open
            async with connect(f"amqps://{place}{certificate}", version=version) as connection:
                assert connection.is_open
            for refused in (f"amqps://ada:wrong@{place}", f"amqps://{place}&auth_mechanism=external"):
                with pytest.raises(EndpointClosed):
                    await connect(refused, version=version)
            values = snapshot(server.metrics())
            assert values["amqp_server_connections_total"] == 4
            assert values["amqp_server_logins_total"] == 2
            assert values["amqp_server_handlers_failed_total"] == 0

    run(main())
    assert seen == ["ada", "guest"]


@VERSIONS
@pytest.mark.parametrize(("token", "enters"), [("a-token", True), ("another", False)])
def test_a_mechanism_of_ones_own_judges_tokens(version: Version, token: str, enters: bool) -> None:
    world: World[User[Any]] = World(page(1)["settings"])
    kit = KITS[version]
    client = User(world, kit.end(Side.CLIENT, kit.client_config(sasl=OAuthBearer(token))))
    world.pump()
    assert client.end.is_open is enters
