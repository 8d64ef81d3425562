"""The report's page in a real browser: no errors, no requests, filters and clicks work, and it fits a phone."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from amqp_sansio_report import Bounds
from amqp_sansio_report.report import report_segments
from tests.kit.captures import named
from tests.kit.processes import LIMIT
from tests.report.making import segments_in

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

CAPTURES = (
    "o091_pika_channel_errors.pcap",
    "o091_pika_connection_errors.pcap",
    "o091_pika_nack_reject_requeue.pcap",
    "o091_pika_blocked.pcap",
    "o_mixed_4_protocols.pcap",
    "o010_messaging_errors.pcap",
    "o10_proton_rabbit_errors.pcap",
)
WIDE, NARROW = (1400, 900), (390, 844)


@pytest.fixture(scope="session")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report on captures of every version, with errors."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    segments = segments_in([named(name) for name in CAPTURES])
    path.write_text(report_segments(segments, Bounds(diagrams=40)).html, encoding="utf-8")
    return path


@contextmanager
def opened(
    browser: Browser, place: Path | str, size: tuple[int, int] = WIDE, fragment: str = "", **options: Any
) -> Generator[Page]:
    """The page in a window of that size; fails when it complained, or asked anybody but where it is from."""
    url = place if isinstance(place, str) else place.as_uri()
    context = browser.new_context(viewport={"width": size[0], "height": size[1]}, has_touch=size == NARROW, **options)
    page = context.new_page()
    seen: list[str] = []
    page.on("console", lambda message: seen.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: seen.append(str(error)))
    page.on("request", lambda request: None if request.url.startswith(url) else seen.append(request.url))
    page.goto(url + fragment)
    try:
        yield page
    finally:
        context.close()
    assert seen == []


def point(page: Page, place: str, x: float | None = None) -> None:
    """Point at the first such mark, once it's in sight: scrolling hides tips."""
    mark = page.locator(place).first
    mark.scroll_into_view_if_needed()
    page.wait_for_timeout(200)
    mark.hover(position=None if x is None else {"x": x, "y": 60})


def assert_shows(found: Locator, *texts: str) -> None:
    """The element shows each text, whose white space is spaces: soon, since the event of a new address comes later."""
    from playwright.sync_api import expect

    for text in texts:
        expect(found).to_contain_text(text, use_inner_text=True, timeout=LIMIT * 1000)


def assert_is_at(page: Page, fragment: str) -> None:
    """The page is at this part soon."""
    page.wait_for_url(lambda url: url.endswith(f"#{fragment}"), timeout=LIMIT * 1000)


def rows(page: Page) -> list[str]:
    """The lines of the sequence diagram, as a person sees them."""
    return page.locator("#seq-units li.unit").all_inner_texts()


def assert_fits(page: Page, size: tuple[int, int], scheme: str) -> None:
    """Nothing is wider than the window, and the shades are those of the scheme."""
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width == size[0]
    wider = page.evaluate(
        """[...document.querySelectorAll('main *')].filter((one) => {
          const box = one.getBoundingClientRect();
          return box.right > innerWidth + 1 && !one.closest('.table, pre, svg');
        }).map((one) => one.tagName + '.' + one.className)"""
    )
    assert wider == []
    shades = page.evaluate("[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]")
    light = [sum(int(part) for part in shade[4:-1].split(",")) / 3 for shade in shades]
    assert (light[0] > 200 > 100 > light[1]) if scheme == "light" else (light[0] < 60 < 200 < light[1])


def assert_contrast(page: Page) -> None:
    """WCAG's contrast of small texts, 4.5 to 1."""
    script = """() => {
      const shade = (colour) => {
        const parts = colour.match(/[\\d.]+/g).map(Number);
        const [r, g, b] = parts.map((part) => {
          const share = part / 255;
          return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
        });
        return [0.2126 * r + 0.7152 * g + 0.0722 * b, parts.length > 3 ? parts[3] : 1];
      };
      const ground = (one) => {
        for (; one; one = one.parentElement) {
          const [light, alpha] = shade(getComputedStyle(one).backgroundColor);
          if (alpha > 0.5) return light;
        }
        return 1;
      };
      const poor = new Set();
      for (const one of document.querySelectorAll('main *, nav *')) {
        const words = [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
        if (!words || !one.checkVisibility() || one.closest('svg')) continue;
        const [a, b] = [shade(getComputedStyle(one).color)[0], ground(one)].sort((x, y) => y - x);
        const contrast = (a + 0.05) / (b + 0.05);
        if (contrast < 4.5) poor.add(one.tagName + '.' + one.className + ' ' + contrast.toFixed(2));
      }
      return [...poor];
    }"""
    assert page.evaluate(script) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_it_opens_without_errors_and_fits(
    browser: Browser, page_file: Path, size: tuple[int, int], scheme: str
) -> None:
    with opened(browser, page_file, size, color_scheme=scheme) as page:
        assert page.locator("#seq-app").is_visible()
        for summary in page.locator("summary").all():
            summary.click()
        assert_fits(page, size, scheme)
        assert_contrast(page)


def test_the_diagram_is_filtered_by_channel_unit_sender_and_text(browser: Browser, page_file: Path) -> None:
    with opened(browser, page_file) as page:
        option = page.locator("#seq-connection option", has_text="47 units").first
        page.select_option("#seq-connection", option.get_attribute("value"))
        ends = page.locator("#seq-units li.tcp").count()
        assert (ends, len(rows(page))) == (2, 47 + ends), "a FIN of each side is drawn among the units"
        assert page.inner_text("#seq-count") == "47 of 47 units"
        page.select_option("#seq-channel", "2")
        on_channel = rows(page)
        assert 20 < len(on_channel) < 47 and all("ch 2" in row for row in on_channel)
        page.select_option("#seq-event", "channel.close")
        assert len(rows(page)) == 5
        page.fill("#seq-text", "unknown delivery tag")
        (row,) = rows(page)
        assert "406" in row
        page.fill("#seq-text", "unknown banana")
        assert rows(page) == []
        page.fill("#seq-text", "")
        page.select_option("#seq-event", "")
        page.select_option("#seq-channel", "")
        page.select_option("#seq-sender", "1")
        assert all(row for row in rows(page)) and len(rows(page)) < 47
        assert page.locator("#seq-units li.unit:not(.from-server)").count() == 0


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["wide", "narrow"])
def test_a_click_shows_fields_and_octets(browser: Browser, page_file: Path, size: tuple[int, int]) -> None:
    with opened(browser, page_file, size) as page:
        option = page.locator("#seq-connection option", has_text="47 units").first
        page.select_option("#seq-connection", option.get_attribute("value"))
        line = page.locator("#seq-units li.unit button", has_text="basic.ack")
        line.click()
        assert line.get_attribute("aria-expanded") == "true"
        detail = page.locator("#seq-detail")
        told = detail.inner_text()
        assert "#23 basic.ack" in told and "client → server · channel 2 · 21 octets" in told
        assert "delivery_tag\n99" in told
        assert "0-9-1/basic.ack/unknown-tag" in told
        octets = detail.locator("pre").inner_text().replace(" ", "")
        assert "01000200" in octets and "3c0050" in octets.replace("\n", "")
        assert page.evaluate("document.documentElement.scrollWidth") == size[0]
        # A rule leads to its line in the table of violations.
        detail.get_by_text("0-9-1/basic.ack/unknown-tag").click()
        assert_is_at(page, "rule-0-9-1/basic.ack/unknown-tag")
        line.click()
        assert not detail.is_visible()
        page.locator("#seq-units li.unit button", has_text="basic.publish").focus()
        page.keyboard.press("Enter")
        assert [title.partition(" · ")[0] for title in detail.locator("h5").all_inner_texts()] == [
            *("Fields", "method", "content header", "content body")
        ]
        assert "exchange\nno.such.exchange" in detail.inner_text()


def test_an_answer_leads_to_its_request(browser: Browser, page_file: Path) -> None:
    with opened(browser, page_file) as page:
        option = page.locator("#seq-connection option", has_text="47 units").first
        page.select_option("#seq-connection", option.get_attribute("value"))
        page.locator("#seq-units li.unit button", has_text="queue.declare-ok").first.click()
        page.locator("#seq-detail a", has_text="queue.declare").click()
        assert_shows(page.locator("#seq-detail"), "#14 queue.declare", "answered by #15 queue.declare-ok")


def test_links_of_the_page_open_the_connection_and_the_unit(browser: Browser, page_file: Path) -> None:
    with opened(browser, page_file) as page:
        link = page.locator("#violations a.conn").first
        target = link.get_attribute("href")
        assert target is not None
        page.fill("#seq-text", "no such text")
        link.click()
        assert_shows(page.locator("#seq-detail"), f"#{target.rpartition('/')[2]} ")
        shown = page.locator("#seq-detail").inner_text()
    with opened(browser, page_file, fragment=target) as page:
        assert_shows(page.locator("#seq-detail"), " ".join(shown.split()))


def test_a_click_on_a_life_opens_its_connection(browser: Browser, page_file: Path) -> None:
    with opened(browser, page_file) as page:
        row = page.locator(".gantt .row.link").last
        name = row.get_attribute("data-connection")
        row.locator(".track").click()
        assert_is_at(page, f"seq-{name}")
        page.locator(f"#seq-connection option:checked:has-text('{str(name)[:8]}')").wait_for(state="attached")


def test_charts_tell_their_values(browser: Browser, page_file: Path) -> None:
    with opened(browser, page_file) as page:
        point(page, "#chart-messages .plot", 3)
        tip = page.locator("#tip")
        assert tip.is_visible()
        lines = tip.inner_text().splitlines()
        assert lines[0].endswith(" UTC") and any(line.startswith("publish: ") for line in lines)
        point(page, "#chart-latency .bar")
        assert " of " in tip.inner_text()
        point(page, "#chart-latency-publish .cell")
        assert tip.inner_text().splitlines()[2].endswith(" times")
        point(page, ".gantt .life")
        assert "UTC" in tip.inner_text()


def test_in_a_notebook_links_stay_in_the_frame(browser: Browser, tmp_path: Path) -> None:
    """A notebook puts what an object shows into a document of its own, here one with another title."""
    report = report_segments(segments_in([named("o091_pika_channel_errors.pcap")]))
    path = tmp_path / "notebook.html"
    shown = report._repr_html_()  # pyright: ignore[reportPrivateUsage]
    path.write_text(f"<!DOCTYPE html><title>notebook</title><body>{shown}", encoding="utf-8")
    with opened(browser, path) as page:
        frame = page.frame_locator("iframe")
        frame.locator("nav a", has_text="Violations").click()
        frame.locator("#violations a.conn").first.click()
        assert_shows(frame.locator("#seq-detail"), "#23 basic.ack")
        frame.locator(".gantt .row.link .track").first.click()
        # The units are drawn by one event, so the last comes with the others.
        frame.locator("#seq-units li.unit:not(.tcp)").nth(46).wait_for()
        assert frame.locator("#seq-units li.unit:not(.tcp)").count() == 47
        assert page.title() == "notebook"


def test_without_scripts_all_but_the_diagrams_is_there(browser: Browser, page_file: Path) -> None:
    with opened(browser, page_file, java_script_enabled=False) as page:
        assert page.locator("noscript p").is_visible()
        assert not page.locator("#seq-app").is_visible()
        assert page.locator("#chart-messages svg path").count() > 1
