"""The log: opens, ends and frames of each connection, in every version, without secrets."""

from __future__ import annotations

import base64
import logging
import re
from typing import Any

import pytest

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0, Version
from amqp_sansio.amqp_0_10 import QueueDeclare
from amqp_sansio.broker import Settings
from amqp_sansio.frame_lines import LONGEST, FrameLines
from amqp_sansio_asyncio import connect, serve_broker
from amqp_sansio_pytest import EmbeddedBroker
from tests.kit.asyncio_loops import run
from tests.test_layout import ROOT

VERSIONS = (AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0)
each_version = pytest.mark.parametrize("version", VERSIONS, ids=lambda each: each.label)
LOGGER = "amqp_sansio_asyncio"
PASSWORD = "p4ssw0rd"
BODY = b"only the peer reads this " * 3
PART = {AMQP_0_8: "channel 1", AMQP_0_9_1: "channel 1", AMQP_0_10: "session 0", AMQP_1_0: "session 0"}
SENT = {
    AMQP_0_8: "-> 1 basic.publish(",
    AMQP_0_9_1: "-> 1 basic.publish(",
    AMQP_0_10: "-> 0 message.transfer(",
    AMQP_1_0: "-> 0 transfer(",
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
        await channel.declare_queue("jobs", auto_delete=True)
        await channel.publish(BODY, routing_key="jobs")
        await channel.get("jobs", no_ack=True)


def talk(version: Version, mechanism: str, level: int = logging.NOTSET) -> None:
    async def main() -> None:
        async with serve_broker(Settings(users={"me": PASSWORD})) as broker:
            url = f"amqp://me:{PASSWORD}@{broker.host}:{broker.port}/?auth_mechanism={mechanism}"
            async with connect(url, version=version) as connection:
                if level:
                    logging.getLogger(LOGGER).setLevel(level)
                await publish(connection, version)

    run(main())


@each_version
def test_opens_and_ends_are_told_at_info(version: Version, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, LOGGER):
        talk(version, "plain")
    lines = [each.getMessage() for each in caplog.records]
    assert {each.levelname for each in caplog.records} == {"INFO"}
    client = lines[0].split()[0]
    assert re.fullmatch(r"127\.0\.0\.1:\d+-127\.0\.0\.1:\d+", client)
    told = [each.removeprefix(f"{client} ") for each in lines if each.startswith(client)]
    assert told[:2] == ["open", f"{PART[version]} open"]
    assert told[-1].startswith("closed: closed by this side")
    assert f"{'-'.join(reversed(client.split('-')))} {told[-1].replace('this side', 'the peer')}" in lines
    if version is AMQP_1_0:
        assert [each for each in told if re.fullmatch(r"session 0 link '\S+' open", each)]
        assert [each for each in told if re.fullmatch(r"session 0 link '\S+' closed: closed by this side.*", each)]


@each_version
@pytest.mark.parametrize("mechanism", ["plain", "scram-sha-256", "amqplain"])
def test_frames_are_told_at_debug_and_secrets_are_not(
    version: Version, mechanism: str, caplog: pytest.LogCaptureFixture
) -> None:
    if mechanism == "amqplain" and version in (AMQP_0_10, AMQP_1_0):
        pytest.skip("a mechanism of 0-8 and 0-9-1")
    with caplog.at_level(logging.DEBUG, LOGGER):
        talk(version, mechanism)
    lines = [each.getMessage() for each in caplog.records if each.levelno == logging.DEBUG]
    sent = next(each for each in lines if f" {SENT[version]}" in each)
    assert f", body of {len(BODY)} octets" in sent
    received = sent.replace(" -> ", " <- ").split(" ", 1)[1].split("(")[0]
    assert [each for each in lines if each.split(" ", 1)[1].startswith(received)], "the broker has lines too"
    logins = [each for each in lines if "start-ok" in each or "sasl-init" in each]
    assert len(logins) == 2 and all(mechanism.upper() in each for each in logins)
    assert not any("\n" in each or "!!" in each for each in lines)
    assert max(map(len, lines)) <= LONGEST + 60
    for secret in (PASSWORD, base64.b64encode(f"\0me\0{PASSWORD}".encode()).decode(), "only the peer", "n=me", "p="):
        assert not any(secret in each for each in lines)


@each_version
def test_debug_may_begin_in_the_middle(version: Version, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, LOGGER):
        logging.getLogger(LOGGER).setLevel(logging.WARNING)
        talk(version, "plain", level=logging.DEBUG)
    lines = [each.getMessage() for each in caplog.records if each.levelno == logging.DEBUG]
    assert any("close" in each for each in lines)
    assert not any("start-ok" in each or "sasl-init" in each for each in lines)


def test_without_debug_no_frames_are_read(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    def feed(*_: object, **__: object) -> None:
        raise AssertionError("nobody asked for frames")

    monkeypatch.setattr(FrameLines, "feed", feed)
    with caplog.at_level(logging.INFO, LOGGER):
        talk(AMQP_0_9_1, "plain")
    assert caplog.records


def test_the_example_of_the_page(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    page = (ROOT / "docs" / "logging.md").read_text(encoding="utf-8")
    source = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)[0]
    (shown,) = re.findall(r"behind the addresses:\n\n```\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    logger = logging.getLogger(LOGGER)
    monkeypatch.setattr(logger, "handlers", [])
    monkeypatch.setattr(logger, "propagate", False)
    level = logger.level
    try:
        with EmbeddedBroker() as broker:
            names: dict[str, Any] = {"__name__": "logging"}
            exec(compile(source.replace("@localhost/", f"@127.0.0.1:{broker.port}/"), "logging.md", "exec"), names)
            client = f"-127.0.0.1:{broker.port} "
    finally:
        logger.setLevel(level)
    lines = [each.split(client, 1)[1] for each in capsys.readouterr().out.splitlines() if client in each]
    assert lines == shown.splitlines()


def test_lines_tell_broken_rules_and_what_is_no_frame() -> None:
    lines = FrameLines(is_client=False)
    found = list(lines.feed(b"AMQP\0\0\x09\x01", sent=False))
    found += lines.feed(b"\x01\0\0\0\0\0\x04\0\x0a\0\x63\xce\x08\0\0\0\0\0\0\xce", sent=True)
    assert found[0] == "<- 0 AMQP 0-0-9-1"
    assert "-> 0 unknown (12 octets)" in found
    assert any(each.startswith("!! 0 0-9-1/") for each in found)
    assert found[-1] == "-> 0 heartbeat"
