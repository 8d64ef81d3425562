"""The scenarios of tests/scenarios/test_logging.py over sockets, and the example of the page."""

from __future__ import annotations

import logging
import re
from typing import Any

import pytest

from amqp_sansio_pytest import EmbeddedBroker
from tests.scenarios.test_logging import *  # noqa: F403
from tests.scenarios.test_logging import LOGGER
from tests.test_layout import ROOT


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
