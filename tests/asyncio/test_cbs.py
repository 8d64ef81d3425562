"""Claims-based security in the asyncio client: tokens before links, renewed, put again after a loss; refusals, bounds,
and what nobody may read.
"""

from __future__ import annotations

import asyncio
import io
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amqp_sansio import AMQP_1_0, AnswerTimeout
from amqp_sansio.amqp_1_0 import Config
from amqp_sansio.client.amqp_1_0 import cbs
from amqp_sansio.client.amqp_1_0.cbs import SAS_TOKEN, Audience, Cbs, EntraCredential, SharedAccessKey, Token, entity_of
from amqp_sansio.client.recovery import RecoveryPolicy
from amqp_sansio.errors import LinkEnded, LocalProtocolError, TokenRefused
from amqp_sansio_asyncio import connect, serve
from amqp_sansio_asyncio.clock import time_of_day
from tests.kit import asyncio_loops
from tests.kit.asyncio_broker import until
from tests.kit.asyncio_loops import Problems, run
from tests.kit.cbs_peer import MARK, CbsPeer, Provider, anybody

POLICY = RecoveryPolicy(first_delay=0.1)


@asynccontextmanager
async def meeting(provider: Any = None, **options: Any) -> AsyncGenerator[tuple[CbsPeer, Any, Any]]:
    """The peer, a connection to it, and a session on that."""
    loop = asyncio.get_running_loop()
    peer = CbsPeer(lambda: time_of_day(loop))
    config = Config(container_id="peer")
    problems = Problems()
    problems.watch()
    async with serve(peer.handle, version=AMQP_1_0, config=config, authenticate=anybody) as server:
        url = f"amqp://127.0.0.1:{server.port}"
        given = Provider() if provider is None else provider
        async with connect(url, version=AMQP_1_0, cbs=given, **options) as connection:
            yield peer, connection, await connection.open_session()
    assert not problems.contexts


def _is_back(peer: CbsPeer, connection: Any, number: int) -> bool:
    return len(peer.connections) == number and connection.is_open


def test_a_token_is_put_before_the_first_link_of_an_entity() -> None:
    async def main() -> None:
        provider = Provider()
        async with meeting(provider) as (peer, _, session):
            senders = await asyncio.gather(*[session.open_sender("orders") for _ in range(5)])
            receiver = await session.open_receiver("amqps://127.0.0.1:5671/orders")
            management = await session.open_receiver("orders/$management")
            other = await session.open_sender("bills")
            await senders[0].send(b"hello")
            assert peer.seen == [
                (1, "put", "orders"),
                *[(1, "attach", "orders")] * 5,
                (1, "attach", "orders"),
                (1, "attach", "orders"),
                (1, "put", "bills"),
                (1, "attach", "bills"),
            ]
            assert provider.given == ["amqps://127.0.0.1/orders", "amqps://127.0.0.1/bills"]
            for each in (*senders, receiver, management, other):
                await each.close()

    run(main(), 1e6)


def test_the_request_is_as_the_specification_says() -> None:
    async def main() -> None:
        async with meeting(Cbs(Provider(60.0), "sb://{host}/{entity}/")) as (peer, _, session):
            peer.kept.append(await session.open_sender("a/b"))
            (request,) = peer.requests
            fields = dict(request.application_properties)
            now = time_of_day(asyncio.get_running_loop())
            assert abs(int(fields.pop("expiration")) / 1000 - now - 60) < 2
            assert fields == {"operation": "put-token", "type": "test", "name": "sb://127.0.0.1/a/b/"}
            assert request.body == f"{MARK} 1"
            assert request.properties is not None
            assert request.properties.message_id and request.properties.reply_to

    run(main(), 1e6)


def test_it_is_renewed_before_it_expires_as_long_as_a_link_needs_it() -> None:
    async def main() -> None:
        async with meeting(Provider(100.0)) as (peer, connection, session):
            sender = await session.open_sender("orders")
            peer.kept.append(await session.open_sender("bills"))
            await asyncio.sleep(1000)
            assert peer.of("put").count("orders") == peer.of("put").count("bills") == 12
            await sender.close()
            await asyncio.sleep(1000)
            assert peer.of("put").count("orders") == 12
            assert peer.of("put").count("bills") == 23
            assert peer.expired == 0
            peer.kept.append(await session.open_sender("orders"))
            assert peer.seen[-2:] == [(1, "put", "orders"), (1, "attach", "orders")]
            assert connection.is_open

    run(main(), 1e6)


def test_one_that_never_expires_is_put_once() -> None:
    async def main() -> None:
        async with meeting(Provider(None)) as (peer, _, session):
            peer.kept.append(await session.open_sender("orders"))
            await asyncio.sleep(5000)
            assert peer.of("put") == ["orders"]
            assert "expiration" not in peer.requests[0].application_properties

    run(main(), 1e6)


def test_those_that_never_expire_are_forgotten_above_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound is made small, since each token costs a round trip."""
    monkeypatch.setattr(cbs, "_MOST", 8)

    async def main() -> None:
        async with meeting(Provider(None)) as (peer, connection, session):
            kept = await session.open_sender("kept")
            await connection.put_token("asked")
            for number in range(20):
                await (await session.open_sender(f"queue-{number}")).close()
            for again in ("kept", "asked", "queue-19", "queue-0"):
                await (await session.open_sender(again)).close()
            assert [peer.of("put").count(each) for each in ("kept", "asked", "queue-19", "queue-0")] == [1, 1, 1, 2]
            await kept.close()

    run(main(), 1e6)


@pytest.mark.parametrize("lifetime", [-5.0, 0.0, 0.5])
def test_one_that_expires_at_once_doesnt_make_it_spin(lifetime: float) -> None:
    async def main() -> None:
        seen: list[CbsPeer] = []
        # Its links end with their token, and the context says so.
        with suppress(LinkEnded):
            async with meeting(Provider(lifetime)) as (peer, _, session):
                seen.append(peer)
                with suppress(LinkEnded):
                    peer.kept.append(await session.open_sender("orders"))
                await asyncio.sleep(30)
        assert 1 <= len(seen[0].of("put")) <= 35

    run(main(), 1e6)


def test_a_refusal_has_its_description_and_concerns_its_entity_alone() -> None:
    async def main() -> None:
        async with meeting() as (peer, connection, session):
            peer.refused.add("orders")
            for _ in range(2):
                with pytest.raises(
                    TokenRefused, match=r"token for amqps://.*/orders refused: 401 who are you"
                ) as found:
                    peer.kept.append(await session.open_sender("orders"))
                assert (found.value.status, found.value.description) == (401, "who are you for orders")
                assert MARK not in str(found.value)
            sender = await session.open_sender("bills")
            await sender.send(b"x")
            peer.refused.clear()
            await session.open_receiver("orders")
            assert connection.is_open
            assert peer.of("refused") == []

    run(main(), 1e6)


def test_a_renewal_that_is_refused_is_tried_again_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        async with meeting(Provider(100.0)) as (peer, _, session):
            peer.kept.append(await session.open_sender("orders"))
            peer.refused.add("orders")
            await asyncio.sleep(96)
            peer.refused.clear()
            await asyncio.sleep(200)
            assert peer.expired == 0

    with caplog.at_level(logging.INFO, "amqp_sansio_asyncio"):
        run(main(), 1e6)
    warned = [each.getMessage() for each in caplog.records if "isn't renewed" in each.getMessage()]
    assert warned and "401 who are you for orders" in warned[0] and "tried again in 5 seconds" in warned[0]


class Failing:
    def token(self, audience: Audience, /) -> Token:
        raise LookupError(f"nothing for {audience}")


class Junk:
    def token(self, audience: Audience, /) -> Any:
        return "a text"


class Never:
    async def token(self, audience: Audience, /) -> Token:
        await asyncio.Event().wait()
        raise AssertionError


@pytest.mark.parametrize(
    ("provider", "error", "says"),
    [
        (Failing(), LookupError, "nothing for amqps://127.0.0.1/orders"),
        (Junk(), TypeError, "returned a str, not a Token"),
        (Never(), AnswerTimeout, r"token for .*/orders: none from the provider within 7 seconds"),
    ],
)
def test_a_provider_that_fails(provider: Any, error: type[Exception], says: str) -> None:
    async def main() -> None:
        async with meeting(provider, answer_timeout=7) as (peer, connection, session):
            with pytest.raises(error, match=says):
                await session.open_sender("orders")
            assert connection.is_open
            assert not peer.seen

    run(main(), 1e6)


def test_a_peer_that_doesnt_answer() -> None:
    async def main() -> None:
        async with meeting(answer_timeout=7) as (peer, _, session):
            peer.is_silent = True
            with pytest.raises(AnswerTimeout, match=r"token for .*: no answer within 7 seconds"):
                await session.open_sender("orders")
            peer.is_silent = False
            peer.kept.append(await session.open_sender("orders"))

    run(main(), 1e6)


def test_a_caller_that_is_cancelled_leaves_the_others_their_token() -> None:
    async def main() -> None:
        async with meeting() as (peer, _, session):
            peer.is_silent = True
            first = asyncio.ensure_future(session.open_sender("orders").__aenter__())
            await asyncio.sleep(1)
            second = asyncio.ensure_future(session.open_sender("orders").__aenter__())
            await asyncio.sleep(1)
            peer.is_silent = False
            first.cancel()
            await second
            assert peer.of("put") == ["orders", "orders"]

    run(main(), 1e6)


def test_links_on_the_node_that_the_peer_detaches_are_attached_again() -> None:
    async def main() -> None:
        async with meeting() as (peer, connection, session):
            peer.forgets_links = True
            for entity in ("a", "b", "c"):
                await session.open_sender(entity)
                await asyncio.sleep(5)
            assert peer.of("attach") == ["a", "b", "c"]
            assert connection.is_open

    run(main(), 1e6)


def test_all_are_put_again_before_links_are_restored() -> None:
    async def main() -> None:
        async with meeting(recover=POLICY) as (peer, connection, session):
            sender = await session.open_sender("orders")
            receiver = await session.open_receiver("bills")
            gone = await session.open_sender("gone")
            await gone.close()
            await connection.put_token("kept")
            for number in (2, 3):
                connection._client.driver.transport.abort()
                await until(partial(_is_back, peer, connection, number), 60)
                await sender.send(b"x")
                seen = [each[1:] for each in peer.seen if each[0] == number]
                assert sorted(seen[:3]) == [("put", "bills"), ("put", "kept"), ("put", "orders")]
                assert sorted(seen[3:]) == [("attach", "bills"), ("attach", "orders")]
            assert receiver.is_open
            await asyncio.sleep(500)
            assert peer.expired == 0 and peer.of("refused") == []

    run(main(), 1e6)


def test_a_refusal_after_a_loss_ends_the_links_of_its_entity_alone() -> None:
    async def main() -> None:
        async with meeting(recover=POLICY) as (peer, connection, session):
            sender = await session.open_sender("orders")
            receiver = await session.open_receiver("bills")
            peer.refused.add("bills")
            connection._client.driver.transport.abort()
            await until(lambda: len(peer.connections) == 2 and connection.is_open, 60)
            await sender.send(b"x")
            assert not receiver.is_open
            assert set(peer.of("refused")) == {"bills"}
            with pytest.raises(LinkEnded, match="unauthorized-access"):
                await receiver.fetch()

    run(main(), 1e6)


def test_a_peer_that_is_silent_after_a_loss_is_tried_again() -> None:
    async def main() -> None:
        async with meeting(recover=POLICY, answer_timeout=5) as (peer, connection, session):
            sender = await session.open_sender("orders")
            peer.is_silent = True
            connection._client.driver.transport.abort()
            await until(lambda: len(peer.connections) >= 3, 60)
            peer.is_silent = False
            await until(lambda: connection.is_open, 60)
            await sender.send(b"x")

    run(main(), 1e6)


def test_a_token_stands_in_no_recording_log_or_repr(caplog: pytest.LogCaptureFixture) -> None:
    file = io.BytesIO()
    shown: list[str] = []
    # A recording is written by a thread, so it is there over sockets only.
    recorded: dict[str, Any] = {"record": file} if asyncio_loops.is_real else {}

    async def main() -> None:
        async with meeting(recover=POLICY, **recorded) as (peer, connection, session):
            sender = await session.open_sender("orders")
            connection._client.driver.transport.abort()
            await until(partial(_is_back, peer, connection, 2), 60)
            await sender.send(b"a message of the user's")
            shown.extend([repr(each) for each in (connection, session, sender, connection._client.claims)])
            shown.append(repr(Token(MARK, "jwt")))

    with caplog.at_level(logging.DEBUG, "amqp_sansio_asyncio"):
        run(main(), 1e6)
    octets = file.getvalue()
    assert not recorded or (b"a message of the user's" in octets and b"put-token" in octets and b"******" in octets)
    assert MARK.encode() not in octets
    assert MARK not in "".join([*shown, *[each.getMessage() for each in caplog.records]])
    assert any("put-token" in each.getMessage() for each in caplog.records)


def test_put_token_without_a_provider() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        peer = CbsPeer(lambda: time_of_day(loop))
        config = Config(container_id="peer", mechanisms=("ANONYMOUS",))
        server = await serve(peer.handle, version=AMQP_1_0, config=config, authenticate=anybody)
        url = f"amqp://127.0.0.1:{server.port}?auth_mechanism=anonymous"
        async with server, connect(url, version=AMQP_1_0) as connection:
            with pytest.raises(LocalProtocolError, match="option cbs"):
                await connection.put_token("orders")
            session = await connection.open_session()
            with pytest.raises(LinkEnded, match="unauthorized-access"):
                await session.open_sender("orders")

    run(main(), 1e6)


@pytest.mark.parametrize("written", ["{}", "/{}", "{}/", "amqps://host/{}", "sb://host:5671/{}/"])
@pytest.mark.parametrize(
    ("path", "entity"),
    [
        ("$cbs", ""),
        ("$management", ""),
        ("orders", "orders"),
        ("orders/$management", "orders"),
        ("orders/Subscriptions/one/$management", "orders/Subscriptions/one"),
        ("$managements", "$managements"),
        ("$management/orders", "$management/orders"),
    ],
)
def test_the_entity_of_an_address(written: str, path: str, entity: str) -> None:
    assert entity_of(written.format(path)) == entity


def test_what_is_no_provider_is_refused() -> None:
    async def main() -> None:
        with pytest.raises(TypeError, match=r"cbs is a Cbs or has a method token"):
            await connect("amqp://127.0.0.1", version=AMQP_1_0, cbs=3)

    run(main(), 1e6)


def test_the_keys_signature_is_what_the_service_computes() -> None:
    """From the service's own description: HMAC-SHA256 of the quoted resource, a line feed, and the expiry."""
    import base64
    import hashlib
    import hmac
    from urllib.parse import parse_qs, quote_plus

    key = SharedAccessKey("rule+1", "a key/=", lifetime=300)
    token = key.signed(Audience("sb://ns.servicebus.windows.net/q", 1_700_000_000.7))
    assert token.type == SAS_TOKEN and token.expires == 1_700_000_300
    found = {name: value[0] for name, value in parse_qs(token.text.removeprefix("SharedAccessSignature ")).items()}
    said = f"{quote_plus('sb://ns.servicebus.windows.net/q')}\n1700000300".encode()
    signature = base64.b64encode(hmac.new(b"a key/=", said, hashlib.sha256).digest()).decode()
    assert found == {"sr": "sb://ns.servicebus.windows.net/q", "sig": signature, "se": "1700000300", "skn": "rule+1"}
    assert "a key" not in repr(key) and "Signature" not in repr(token)


class Credential:
    """As those of azure-identity."""

    def __init__(self, is_async: bool) -> None:
        self.is_async = is_async
        self.scopes: list[str] = []

    def get_token(self, *scopes: str) -> Any:
        self.scopes += scopes

        class Access:
            token = "jwt text"
            expires_on = 1_900_000_000

        async def later() -> Access:
            await asyncio.sleep(1)
            return Access()

        return later() if self.is_async else Access()


@pytest.mark.parametrize("is_async", [False, True])
def test_a_credential_of_azure_identity(is_async: bool) -> None:
    credential = Credential(is_async)

    async def main() -> None:
        async with meeting(EntraCredential(credential)) as (peer, _, session):
            peer.kept.append(await session.open_sender("orders"))
            fields = peer.requests[0].application_properties
            assert (fields["type"], peer.requests[0].body) == ("jwt", "jwt text")

    run(main(), 1e6)
    assert credential.scopes == ["https://servicebus.azure.net//.default"]


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("open"), st.sampled_from("abc")),
        st.tuples(st.just("close"), st.integers(0, 3)),
        st.tuples(st.just("wait"), st.floats(0.1, 150)),
        st.tuples(st.just("cut"), st.just(0)),
        st.tuples(st.just("detach"), st.booleans()),
    ),
    max_size=14,
)


@settings(max_examples=40, deadline=None)
@given(STEPS)
def test_no_link_is_ever_without_a_token(steps: list[tuple[str, Any]]) -> None:
    """Whatever is opened, closed and lost, and however long it takes: nothing is refused, and nothing expires."""

    async def main() -> None:
        async with meeting(Provider(60.0), recover=POLICY) as (peer, connection, session):
            links: list[Any] = []
            for what, value in steps:
                if what == "open":
                    links.append(await session.open_sender(value))
                elif what == "close" and links:
                    await links.pop(value % len(links)).close()
                elif what == "wait":
                    await asyncio.sleep(value)
                elif what == "cut" and connection._client.driver.transport is not None:
                    connection._client.driver.transport.abort()
                elif what == "detach":
                    peer.forgets_links = value
            for link in links:
                await link.send(b"x")
            assert peer.of("refused") == [] and peer.expired == 0
            assert len(connection._client.claims._grants) <= 3

    run(main(), 1e6)
