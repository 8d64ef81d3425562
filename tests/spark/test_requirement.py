"""What is said where Spark is too old."""

import sys
from types import SimpleNamespace

import pytest

pytest.importorskip("pyspark", reason="needs the extra `spark`")


def test_a_spark_that_is_too_old_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from amqp_sansio_spark.requirement import STREAMS, check_spark

    check_spark()
    monkeypatch.setitem(sys.modules, "pyspark.version", SimpleNamespace(__version__="3.5.6"))
    with pytest.raises(ImportError, match=r"needs pyspark 4\.1 or newer, and 3\.5\.6 is installed: pip install"):
        check_spark()
    with pytest.raises(ImportError, match=r"replay_stream needs pyspark 4\.2 or newer"):
        check_spark(STREAMS, "replay_stream")
