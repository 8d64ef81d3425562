"""Pages of the documentation: their code runs from top to bottom, against a broker on a port."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

import pytest

from amqp_sansio_pytest import EmbeddedBroker
from tests.docs.test_pages import BLOCK, DOCS

PEERS: Final = re.compile(r"^(?:import|from) (pika|kombu|celery)", re.MULTILINE)


RUN: Final = {
    "index.md": ["Accepted()", "{'number': 1}", "Accepted()", "{'number': 2}"],
    "connecting.md": [
        "the URL has an unknown parameter 'hartbeat'; did you mean 'heartbeat'?",
        "TimeoutError True",
        "311 True",
        "403 remote",
        "the user lacks the permission, or the password is wrong",
    ],
    "versions.md": [*("Accepted()", "1", "b'hello' jobs"), *("Accepted()", "Properties(subject='greeting') b'hello'")],
    "testing.md": [],
    "management.md": [],
    "celery.md": ["6", "{'number': 1}"],
    "systems.md": [],
    "shutdown.md": ["Accepted()", "closed", "all done"],
    "messaging.md": ["Accepted()", "b'hello' {'try': 1}", "Accepted()", "{'n': 1}", "PING"],
}
"""Pages whose code talks to a broker at localhost, and the lines that it prints. Their tests are run, too."""


QUEUES: Final = {"versions.md": ["letters"], "messaging.md": ["jobs", "rpc"]}
"""The queues that a page takes for granted."""


@pytest.mark.parametrize("page", RUN)
def test_a_page_runs_as_it_stands(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with EmbeddedBroker(definitions={"queues": QUEUES.get(page, [])}) as broker:
        for block in BLOCK.findall((DOCS / page).read_text(encoding="utf-8")):
            for name in PEERS.findall(block):
                pytest.importorskip(name, reason=f"the page shows {name}; make lint installs it")
            names: dict[str, Any] = {"__name__": page}
            exec(compile(block.replace("@localhost/", f"@127.0.0.1:{broker.port}/"), page, "exec"), names)
            for name in names:
                if name.startswith("test_"):
                    names[name](*(broker, broker.url)[: names[name].__code__.co_argcount])
    assert capsys.readouterr().out.splitlines() == RUN[page]
