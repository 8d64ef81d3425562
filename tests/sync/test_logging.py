"""The log of the blocking adapter: opens, ends and frames of each connection, without secrets."""

from __future__ import annotations

import base64
import logging
import re
from typing import Any

import pytest

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0, Version
from amqp_sansio.frame_lines import FrameLines
from amqp_sansio_pytest import EmbeddedBroker
from amqp_sansio_sync import connect

VERSIONS = (AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0)
each_version = pytest.mark.parametrize("version", VERSIONS, ids=lambda each: each.label)
LOGGER = "amqp_sansio_sync"
PASSWORD = "p4ssw0rd"
BODY = b"only the peer reads this " * 3


def talk(version: Version, level: int = logging.NOTSET) -> None:
    with EmbeddedBroker(users={"me": PASSWORD}) as broker:
        broker.preload({"queues": ["jobs"]})
        url = f"amqp://me:{PASSWORD}@127.0.0.1:{broker.port}/?auth_mechanism=plain"
        connection: Any = connect(url, version=version)
        with connection:
            if level:
                logging.getLogger(LOGGER).setLevel(level)
            if version is AMQP_1_0:
                with connection.open_session() as session, session.open_sender("jobs") as sender:
                    sender.send(BODY)
            elif version is AMQP_0_10:
                with connection.open_session() as session:
                    session.publish(BODY, routing_key="jobs")
            else:
                with connection.open_channel() as channel:
                    channel.publish(BODY, routing_key="jobs")


@pytest.mark.parametrize("version", [AMQP_0_8, AMQP_0_9_1], ids=lambda each: each.label)
def test_opens_and_ends_are_told_at_info(version: Version, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, LOGGER):
        talk(version)
    lines = [each.getMessage() for each in caplog.records if each.name == LOGGER]
    client = lines[0].split()[0]
    assert re.fullmatch(r"127\.0\.0\.1:\d+-127\.0\.0\.1:\d+", client)
    told = [each.removeprefix(f"{client} ") for each in lines]
    ended = "closed by this side: 200 Normal shutdown"
    assert told == ["open", "channel 1 open", f"channel 1 closed: {ended}", f"closed: {ended}"]


@each_version
def test_frames_are_told_at_debug_and_secrets_are_not(version: Version, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, LOGGER):
        talk(version)
    lines = [each.getMessage() for each in caplog.records if each.levelno == logging.DEBUG and each.name == LOGGER]
    name = {AMQP_0_10: "message.transfer", AMQP_1_0: "transfer"}.get(version, "basic.publish")
    (sent,) = [each for each in lines if f" {name}(" in each]
    assert " -> " in sent and f", body of {len(BODY)} octets" in sent
    assert any(" <- " in each for each in lines)
    assert [each for each in lines if "PLAIN" in each and ("start-ok" in each or "sasl-init" in each)]
    assert not any("!!" in each for each in lines)
    for secret in (PASSWORD, base64.b64encode(f"\0me\0{PASSWORD}".encode()).decode(), "only the peer"):
        assert not any(secret in each for each in lines)


@each_version
def test_debug_may_begin_in_the_middle(version: Version, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, LOGGER):
        logging.getLogger(LOGGER).setLevel(logging.WARNING)
        talk(version, logging.DEBUG)
    lines = [each.getMessage() for each in caplog.records if each.levelno == logging.DEBUG]
    assert any("close" in each for each in lines)
    assert not any("start-ok" in each or "sasl-init" in each for each in lines)


def test_without_debug_no_frames_are_read(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    def feed(*_: object, **__: object) -> None:
        raise AssertionError("nobody asked for frames")

    monkeypatch.setattr(FrameLines, "feed", feed)
    with caplog.at_level(logging.INFO, LOGGER):
        talk(AMQP_0_9_1)
    assert caplog.records
