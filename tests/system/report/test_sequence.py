"""Passwords in recorded traffic of real logins are in no report."""

import json
from base64 import b64decode
from pathlib import Path

import pytest

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0, Version
from amqp_sansio.sasl import Plain
from amqp_sansio_pytest import EmbeddedBroker
from amqp_sansio_report import Bounds
from amqp_sansio_report.report import report_segments
from amqp_sansio_sync import connect
from tests.report.making import Outline, segments_in


@pytest.mark.parametrize("version", [AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0], ids=lambda one: one.label)
def test_passwords_are_in_no_report(version: Version, tmp_path: Path) -> None:
    """Even where the recording has them."""
    password = "hunter2-but-longer"
    path = tmp_path / "secret.pcapng"
    users = {"somebody": password}
    with (
        EmbeddedBroker(users=users, record=str(path), record_secrets=True) as broker,
        connect(broker.url, version=version, sasl=Plain("somebody", password)),
    ):
        pass
    assert password.encode() in path.read_bytes()
    report = report_segments(segments_in([path]), Bounds(octets=1024))
    (one,) = report.diagrams
    logins = [unit for unit in one.units if unit.event in ("connection.start-ok", "sasl-init")]
    assert len(logins) == 1
    assert b"*" * len(password) in b"".join(frame.octets for frame in logins[0].frames)
    for unit in Outline(report.html).data()[0]["units"]:
        assert password not in json.dumps(unit)
        for _, _, _, octets in unit[11]:
            assert password.encode() not in b64decode(octets)
