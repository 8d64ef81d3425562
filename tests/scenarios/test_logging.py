"""The log of both adapters: opens, ends and frames of each connection, in every version, without secrets."""

from __future__ import annotations

import base64
import logging
import re
from collections.abc import Generator
from typing import Any

import pytest

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0, Version
from amqp_sansio.amqp_0_10.spec import QueueDeclare
from amqp_sansio.recorded.frame_lines import LONGEST, FrameLines
from tests.kit.scenarios import is_adapter, only
from tests.kit.worlds import World

VERSIONS = (AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0)
each_version = pytest.mark.parametrize("version", VERSIONS, ids=lambda each: each.label)
each_adapter = only(is_adapter)
LOGGER = "amqp_sansio_asyncio"
LOGGERS = {"asyncio": LOGGER, "sync": "amqp_sansio_sync"}
"""Where the adapters log; the broker logs as asyncio's does."""
LOGINS = [
    *((version, mechanism) for version in VERSIONS for mechanism in ("plain", "scram-sha-256")),
    *((version, "amqplain") for version in (AMQP_0_8, AMQP_0_9_1)),
]
PASSWORD = "p4ssw0rd"
BODY = b"only the peer reads this " * 3
PART = {AMQP_0_8: "channel 1", AMQP_0_9_1: "channel 1", AMQP_0_10: "session 0", AMQP_1_0: "session 0"}
SENT = {
    AMQP_0_8: "-> 1 basic.publish {",
    AMQP_0_9_1: "-> 1 basic.publish {",
    AMQP_0_10: "-> 0 message.transfer {",
    AMQP_1_0: "-> 0 transfer {",
}


async def publish(connection: Any, version: Version) -> None:
    if version is AMQP_1_0:
        session = await connection.open_session()
        receiver = await session.open_receiver(None, dynamic=True)
        async with session.open_sender(receiver.address) as sender:
            await sender.send(BODY)
    elif version is AMQP_0_10:
        session = await connection.open_session()
        await session.call(QueueDeclare("jobs", auto_delete=True))
        await session.publish(BODY, routing_key="jobs")
    else:
        channel = await connection.open_channel()
        await channel.declare_queue("jobs", exclusive=True)
        await channel.publish(BODY, routing_key="jobs")
        await channel.get("jobs", no_ack=True)


async def talk(world: World, version: Version, mechanism: str = "plain", level: int = logging.NOTSET) -> int:
    """Publish a message, the log having that level from then on; the broker's port."""
    with world.broker(users={"me": PASSWORD}) as broker:
        url = f"amqp://me:{PASSWORD}@127.0.0.1:{broker.port}/?auth_mechanism={mechanism}"
        opening: Any = world.connect(url, version)
        async with opening as connection:
            if level:
                set_levels(level)
            await publish(connection, version)
        return broker.port


def set_levels(level: int) -> None:
    """Set what both adapters log."""
    for logger in LOGGERS.values():
        logging.getLogger(logger).setLevel(level)


@pytest.fixture(autouse=True)
def restored(caplog: pytest.LogCaptureFixture) -> Generator[None]:
    """Levels are as before after the test."""
    with caplog.at_level(logging.NOTSET, LOGGER), caplog.at_level(logging.NOTSET, LOGGERS["sync"]):
        yield


@each_adapter
@each_version
async def test_opens_and_ends_are_told_at_info(
    world: World, version: Version, caplog: pytest.LogCaptureFixture
) -> None:
    set_levels(logging.INFO)
    port = await talk(world, version)
    lines = [each.getMessage() for each in caplog.records]
    assert {each.levelname for each in caplog.records} == {"INFO"}
    client = next(each for each in lines if f"-127.0.0.1:{port} " in each).split()[0]
    assert re.fullmatch(r"127\.0\.0\.1:\d+-127\.0\.0\.1:\d+", client)
    told = [each.removeprefix(f"{client} ") for each in lines if each.startswith(client)]
    assert told[:2] == ["open", f"{PART[version]} open"]
    assert told[-1].startswith("closed: closed by this side")
    assert f"{'-'.join(reversed(client.split('-')))} {told[-1].replace('this side', 'the peer')}" in lines
    if version is AMQP_1_0:
        assert [each for each in told if re.fullmatch(r"session 0 link '\S+' open", each)]
        assert [each for each in told if re.fullmatch(r"session 0 link '\S+' closed: closed by this side.*", each)]


@each_adapter
@pytest.mark.parametrize(("version", "mechanism"), LOGINS)
async def test_frames_are_told_at_debug_and_secrets_are_not(
    world: World, version: Version, mechanism: str, caplog: pytest.LogCaptureFixture
) -> None:
    set_levels(logging.DEBUG)
    port = await talk(world, version, mechanism)
    lines = [each.getMessage() for each in caplog.records if each.levelno == logging.DEBUG]
    sent = next(each for each in lines if f" {SENT[version]}" in each)
    assert sent.endswith(f',"body_size":{len(BODY)}}}')
    received = sent.replace(" -> ", " <- ").split(" ", 1)[1].split("{")[0]
    assert [each for each in lines if each.split(" ", 1)[1].startswith(received)], "the broker has lines too"
    own = [each for each in lines if f"-127.0.0.1:{port} " in each]
    (login,) = [each for each in own if "start-ok" in each or "sasl-init" in each]
    assert mechanism.upper() in login
    assert not any("\n" in each or "!!" in each for each in lines)
    assert max(map(len, lines)) <= LONGEST + 60
    for secret in (PASSWORD, base64.b64encode(f"\0me\0{PASSWORD}".encode()).decode(), "only the peer", "n=me", "p="):
        assert not any(secret in each for each in lines)


@each_adapter
@each_version
async def test_debug_may_begin_in_the_middle(world: World, version: Version, caplog: pytest.LogCaptureFixture) -> None:
    set_levels(logging.WARNING)
    await talk(world, version, level=logging.DEBUG)
    lines = [each.getMessage() for each in caplog.records if each.levelno == logging.DEBUG]
    assert any("close" in each for each in lines)
    assert not any("start-ok" in each or "sasl-init" in each for each in lines)


@each_adapter
async def test_without_debug_no_frames_are_read(
    world: World, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def feed(*_: object, **__: object) -> None:
        raise AssertionError("nobody asked for frames")

    monkeypatch.setattr(FrameLines, "feed", feed)
    set_levels(logging.INFO)
    await talk(world, AMQP_0_9_1)
    assert caplog.records


def test_lines_tell_broken_rules_and_what_is_no_frame() -> None:
    lines = FrameLines(is_client=False)
    found = list(lines.feed(b"AMQP\0\0\x09\x01", sent=False))
    found += lines.feed(b"\x01\0\0\0\0\0\x04\0\x0a\0\x63\xce\x08\0\0\0\0\0\0\xce", sent=True)
    assert found[0] == "<- 0 AMQP 0-0-9-1"
    assert "-> 0 unknown (12 octets)" in found
    assert any(each.startswith("!! 0 0-9-1/") for each in found)
    assert found[-1] == "-> 0 heartbeat"
