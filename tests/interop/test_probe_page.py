"""The prober's page in a real browser: no errors, no requests, verdicts lead to cases, and these to diagrams."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from amqp_sansio.broker import Settings
from amqp_sansio.broker.settings import DialectName
from amqp_sansio_probe import CASES, Login, Patience, Runner, find_capabilities
from amqp_sansio_probe.page import Run, matrix_page
from amqp_sansio_probe.records import record_of
from tests.interop.test_report_page import NARROW, WIDE, assert_contrast, assert_fits, assert_shows, opened, rows
from tests.kit.probing import HubServer

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def run(dialect: DialectName) -> Run:
    server = HubServer(Settings(dialect=dialect))
    runner = Runner(server, Login(), find_capabilities(server, Login(), Patience()))
    results = runner.run([each for each in CASES if each.name.startswith(("0-9-1/wire", "0-9-1/exchange.d"))])
    return Run(dialect, [record_of(each, dialect, recorded=True) for each in results], "in memory")


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of two brokers, one of which breaks rules."""
    path = tmp_path_factory.mktemp("probe") / "probe.html"
    path.write_text(matrix_page([run("specification"), run("rabbitmq")]), encoding="utf-8")
    return path


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_it_opens_without_errors_and_fits(
    browser: Browser, page_file: Path, size: tuple[int, int], scheme: str
) -> None:
    with opened(browser, page_file, size, color_scheme=scheme) as page:
        page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
        assert_fits(page, size, scheme)
        assert_contrast(page)


def test_a_verdict_leads_to_its_case_and_that_to_its_diagram(browser: Browser, page_file: Path) -> None:
    with opened(browser, page_file) as page:
        page.locator("#matrix a.breaks").first.click()
        case = page.locator("details.case[open]")
        assert_shows(case, "rabbitmq: breaks", ".pcapng")
        assert case.count() == 1
        case.get_by_role("link", name="sequence diagram").last.click()
        assert_shows(page.locator("#seq-units"), "exchange.delete-ok")
        assert "protocol-header" in rows(page)[0]
