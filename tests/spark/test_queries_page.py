"""The page of the worked queries, and what a notebook shows of one."""

import pytest

pytest.importorskip("pyspark", reason="needs the extra `spark`")

from tools.docs import queries as page


def test_the_page_is_that_of_the_queries() -> None:
    assert page.main(["--check"]) == 0


def test_what_a_notebook_shows_of_a_query() -> None:
    from amqp_sansio_spark import QUERIES, Query

    shown = QUERIES["unacked"]._repr_html_()  # pyright: ignore[reportPrivateUsage]
    assert shown.startswith("<p><b>Who holds unacked messages, and since when?</b></p><pre>select c.client")
    odd = Query("a < b?", "select 1 < 2")._repr_html_()  # pyright: ignore[reportPrivateUsage]
    assert odd == "<p><b>a &lt; b?</b></p><pre>select 1 &lt; 2</pre>"
