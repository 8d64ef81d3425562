"""The live page of `broker --page` in a real browser: it follows the broker, keeps a choice, and fits a phone."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from amqp_sansio_sync import Channel, connect
from amqp_sansio_sync.messaging import connect as connect_any
from tests.interop.brokers.embedded import run_embedded
from tests.interop.test_report_page import NARROW, WIDE, assert_contrast, assert_fits, opened

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@contextmanager
def served(folder: Path) -> Generator[tuple[str, str]]:
    """Where a broker's page is, and the broker."""
    with run_embedded(folder, "--page", "127.0.0.1:0") as broker:
        (page,) = re.findall(r"http://\S+", (folder / "amqp-sansio.log").read_text())
        yield page, broker.url


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Channel]]:
    """A page, and a publisher beside receivers of 0-10 and 1.0 that keep what they got."""
    with (
        served(tmp_path_factory.mktemp("broker")) as (page, url),
        connect(url) as connection,
        connection.open_channel(confirm=True) as channel,
        connect_any(f"{url}?version=0-10") as one,
        connect_any(f"{url}?version=1.0") as other,
    ):
        channel.declare_queue("jobs", durable=True)
        with one.receiver("/queues/jobs", credit=9), other.receiver("/queues/jobs", credit=9):
            channel.publish(b"first", routing_key="jobs")
            yield page, channel


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_it_fits_and_can_be_read(
    browser: Browser, live: tuple[str, Channel], size: tuple[int, int], scheme: str
) -> None:
    with opened(browser, live[0], size, color_scheme=scheme) as page:
        page.wait_for_selector("#chart-ready")
        page.locator("#seq-units li.unit button").last.click()
        assert_fits(page, size, scheme)
        assert_contrast(page)


def test_it_follows_the_broker(browser: Browser, live: tuple[str, Channel]) -> None:
    url, channel = live
    with opened(browser, url) as page:
        page.locator("#live-connections tr", has_text="0-9-1").locator("a").click()
        page.locator("#seq-units li.unit", has_text="basic.publish").first.locator("button").click()
        chosen = page.locator("#seq-detail h4").inner_text()
        channel.publish(b"hello <b>there</b>", routing_key="jobs")
        page.locator("#live-messages tr", has_text="hello <b>there</b>").filter(has_text="jobs: delivered").wait_for()
        page.locator("#seq-units li.unit", has_text="body_size=18").wait_for()
        assert page.locator("#seq-detail h4").inner_text() == chosen, "what was chosen stays"


def test_without_scripts_it_is_loaded_again(browser: Browser, live: tuple[str, Channel]) -> None:
    url, channel = live
    with opened(browser, url, java_script_enabled=False) as page:
        assert page.locator("#live-queues tr", has_text="jobs").is_visible()
        assert page.locator("noscript p").is_visible() and not page.locator("#live-pause").is_visible()
        channel.publish(b"later", routing_key="jobs")
        page.locator("#live-messages tr", has_text="later").wait_for()


def test_a_broker_that_is_gone_is_said(browser: Browser, tmp_path: Path) -> None:
    page = browser.new_page()
    with served(tmp_path) as (url, _):
        page.goto(url)
        assert page.locator("#seq-app").is_hidden()
    page.locator("#live-state.lost").wait_for()
    page.close()
