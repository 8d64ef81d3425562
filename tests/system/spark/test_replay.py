"""The five tables: equal to the local engine's, however the capture is cut and shuffled."""

from __future__ import annotations

import datetime
import itertools
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from amqp_sansio import AMQP_1_0
from amqp_sansio.capture import Segment, sort_key
from amqp_sansio.recorded.histories import steps_of
from amqp_sansio.recorded.tables import COLUMNS, replay_segments
from amqp_sansio.recorded.tables import servers_of as local_servers
from tests.kit.captures import BIG, CARRIED, named
from tests.kit.conversations import CONVERSATIONS, packets_of
from tests.kit.less import changed
from tests.kit.packets import ethernet, ipv4, pcap, tcp
from tests.kit.tables import collect, digest, local_rows, normal, segments_of, spark_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark
NAMES = (
    "o091_pika_confirms.pcap",
    "o091_pika_nack_reject_requeue.pcap",
    "o08_amqplib_rabbit_errors.pcap",
    "o091d_exchange_gaps_nosyn.pcap",
    "o10_proton_proton_types.pcap",
    "o10_proton_brokerj_tx.pcap",
    "o10d_types_gaps_nosyn.pcap",
)


def paths() -> list[Path]:
    return [named(name) for name in NAMES]


def read(spark: SparkSession, files: list[Path], **options: str) -> DataFrame:
    from amqp_sansio_spark import register

    register(spark)
    return spark.read.format("amqp-capture").options(**options).load([str(path) for path in files])


def rotated(path: Path, parts: int, folder: Path) -> list[Path]:
    """The packets of a pcap dealt out to files in turn, so that every connection is in each."""
    octets = path.read_bytes()
    order = "<" if octets[:1] in (b"\xd4", b"\x4d") else ">"
    files = [bytearray(octets[:24]) for _ in range(parts)]
    pos = 24
    for file in itertools.cycle(files):
        if pos >= len(octets):
            break
        size = struct.unpack_from(order + "I", octets, pos + 8)[0] + 16
        file += octets[pos : pos + size]
        pos += size
    made = [folder / f"{path.stem}.{number}.pcap" for number in range(parts)]
    for target, content in zip(made, files, strict=True):
        target.write_bytes(content)
    return made


@pytest.mark.parametrize(
    "folder",
    [
        pytest.param(CARRIED, id="carried"),
        pytest.param(BIG, id="the-big-set", marks=pytest.mark.skipif(not BIG.is_dir(), reason=f"there is no {BIG}")),
    ],
)
def test_rows_are_the_local_engines_on_every_capture(spark: SparkSession, folder: Path) -> None:
    from pyspark.sql import functions as f

    from amqp_sansio_spark import replay

    files = sorted(folder.glob("*.pcap*"))
    # Many captures share addresses: here each file is a network of its own.
    segments = (
        read(spark, files)
        .withColumn("point", f.when(f.col("flow").isNotNull(), f.col("file")))
        .withColumn("flow", f.concat_ws("/", "flow", "point"))
        .withColumn("flow", f.when(f.col("damage").isNull(), f.col("flow")))
    )
    tables = replay(segments, 8).cache()
    try:
        ours = spark_rows(tables)
    finally:
        tables.unpersist()
    wanted = local_rows(segments_of(files, apart=True))
    for table in COLUMNS:
        assert len(ours[table]) == len(wanted[table])
        assert ours[table] == wanted[table]
    assert all(wanted.values())


def test_one_digest_for_any_partitioning_order_and_batch_size(spark: SparkSession, tmp_path: Path) -> None:
    from amqp_sansio_spark import replay

    pieces = [piece for path in paths() for piece in rotated(path, 3, tmp_path)]
    wanted = digest(local_rows(segments_of(pieces)))
    batch = "spark.sql.execution.arrow.maxRecordsPerBatch"
    adaptive = "spark.sql.adaptive.enabled"
    before = {key: spark.conf.get(key) for key in (batch, adaptive)}
    found: dict[tuple[object, ...], str] = {}
    try:
        for partitions, files, rows, octets, aqe in (
            (1, pieces, "2000", "4m", "true"),
            (3, pieces[::-1], "17", "1k", "true"),
            (8, pieces[5:] + pieces[:5], "1000", "100k", "false"),
        ):
            spark.conf.set(batch, rows)
            spark.conf.set(adaptive, aqe)
            tables = replay(read(spark, files, maxBytesPerBatch=octets), partitions).cache()
            found[partitions, rows, octets, aqe] = digest(spark_rows(tables))
            tables.unpersist()
    finally:
        for key, value in before.items():
            spark.conf.set(key, str(value))
    assert set(found.values()) == {wanted}, found


def test_a_capture_in_pieces_has_the_rows_of_the_whole(spark: SparkSession, tmp_path: Path) -> None:
    """Times in these files are in microseconds, and no two packets of a connection share one."""
    from amqp_sansio_spark import replay

    whole = named("o091_pika_confirms.pcap")
    tables = replay(read(spark, rotated(whole, 4, tmp_path)), 2).cache()
    assert spark_rows(tables) == local_rows(segments_of([whole]))
    tables.unpersist()


def test_each_table_alone_is_what_the_cache_holds(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    from amqp_sansio_spark import replay

    segments = read(spark, paths())
    cached = replay(segments, 2).cache()
    alone = replay(segments, 2)
    for table in COLUMNS:
        one, other = getattr(alone, table), getattr(cached, table)
        assert one.schema == other.schema
        assert normal(table, collect(one)) == normal(table, collect(other))
        names = one.columns[::-2]
        wanted = one.select(*names)
        for chosen in (alone.select(table, *names), cached.select(table, *names)):
            assert chosen.schema == wanted.schema
            assert sorted(map(repr, collect(chosen))) == sorted(map(repr, collect(wanted)))
    with pytest.raises(ValueError, match="events has no column 'moment'; there are connection, seq"):
        alone.select("events", "seq", "moment")
    capsys.readouterr()
    cached.events.explain()
    assert "InMemoryTableScan" in capsys.readouterr().out
    assert cached.unpersist() is cached
    cached.events.explain()
    assert "InMemoryTableScan" not in capsys.readouterr().out


def test_the_schema_is_the_contract(spark: SparkSession) -> None:
    from amqp_sansio_spark import replay
    from amqp_sansio_spark.comments import COMMENTS

    tables = replay(read(spark, paths()))
    for table, columns in COLUMNS.items():
        frame = getattr(tables, table)
        assert frame.columns == [name for name, _ in columns]
        assert [field.metadata["comment"] for field in frame.schema] == list(COMMENTS[table].values())
        kinds = dict(frame.dtypes)
        assert all(kinds[name] == "bigint" for name in frame.columns if name.endswith("_ns"))
    kinds = dict(tables.events.dtypes)
    assert (kinds["ts"], kinds["fields"]) == ("timestamp", "variant")


def test_timestamps_are_microseconds_in_utc(spark: SparkSession) -> None:
    from amqp_sansio_spark import replay

    rows = replay(read(spark, paths()), 2).events.select("ts", "ts_ns").collect()
    epoch = datetime.datetime(1970, 1, 1)
    assert rows
    for row in rows:
        local = row.ts.astimezone(datetime.UTC).replace(tzinfo=None)
        assert (local - epoch) // datetime.timedelta(microseconds=1) == row.ts_ns // 1000


def test_fields_are_queried_as_a_variant(spark: SparkSession) -> None:
    from amqp_sansio_spark import replay

    tables = replay(read(spark, [named("o08_amqplib_rabbit_errors.pcap")]), 2)
    tables.events.createOrReplaceTempView("events_of_errors")
    rows = spark.sql(
        "select fields:reply_code::int as code from events_of_errors"
        " where event = 'channel.close' and sender = 'server' order by code"
    ).collect()
    assert [row.code for row in rows] == [404, 404, 406]


def test_outcomes_and_values_of_1_0_are_queried(spark: SparkSession) -> None:
    from amqp_sansio_spark import replay

    names = ("o10_proton_proton_outcomes.pcap", "o10_proton_proton_types.pcap")
    tables = replay(read(spark, [named(name) for name in names]), 2).cache()
    tables.messages.createOrReplaceTempView("messages_1_0")
    tables.events.createOrReplaceTempView("events_1_0")
    rows = spark.sql(
        "select address, outcome, fields:state.error.description::string as why"
        " from messages_1_0 m join events_1_0 e"
        " on m.connection = e.connection and m.settled_seq = e.seq"
        " where kind = 'publish' and address in ('rej', 'rel', 'mod', 'ok') order by m.seq"
    ).collect()
    assert [tuple(row) for row in rows] == [
        ("rej", "rejected", "rejected by lab"),
        ("rel", "released", None),
        ("mod", "modified", None),
        ("ok", "accepted", None),
    ]
    (values,) = spark.sql(
        "select fields:application_properties.ulong::decimal(20, 0) as big,"
        " fields:application_properties.dec128::string as dec,"
        " fields:application_properties.uuid::string as uuid, fields:properties.subject::string as s"
        " from events_1_0 where event = 'transfer' and sender = 'client'"
        " and fields:application_properties.ulong is not null"
    ).collect()
    assert (int(values.big), values.uuid, values.s) == (1 << 63, "00112233-4455-6677-8899-aabbccddeeff", "subj")
    assert values.dec.endswith("E-6143")
    tables.unpersist()


def test_a_part_of_the_segments_is_enough(spark: SparkSession) -> None:
    """Filters and columns of one's own before replay."""
    from pyspark.sql import functions as f

    from amqp_sansio_spark import replay

    segments = read(spark, paths()).withColumn("mine", f.lit(1))
    flow = segments.where("flow is not null").select(f.min("flow").alias("flow")).first()
    assert flow is not None
    some = replay(segments.where(f.col("flow") == flow.flow), 2).connections.collect()
    every = replay(segments, 2).connections.collect()
    assert 0 < len(some) < len(every)
    assert {row.connection for row in some} <= {row.connection for row in every}


def test_wrong_arguments_are_errors(spark: SparkSession) -> None:
    from amqp_sansio_spark import replay

    segments = read(spark, paths())
    with pytest.raises(ValueError, match="partitions is at least 1"):
        replay(segments, 0)
    with pytest.raises(ValueError, match="body is none, size or base64, not 'all'"):
        replay(segments, body="all")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="segments have no column payload"):
        replay(segments.drop("payload"))


def test_one_pass_writes_tables_and_histories(spark: SparkSession, tmp_path: Path) -> None:
    from amqp_sansio_spark import replay, write

    def counted(batches: Iterator[Any]) -> Iterator[Any]:
        (tmp_path / uuid4().hex).touch()
        yield from batches

    segments = read(spark, paths()).coalesce(1)
    found = write(replay(segments.mapInArrow(counted, segments.schema), 2), str(tmp_path / "out"))
    assert len([path for path in tmp_path.iterdir() if path.is_file()]) == 1
    assert {name: normal(name, collect(found[name])) for name in COLUMNS} == local_rows(segments_of(paths()))
    steps = steps_of(replay_segments(segments_of(paths())))
    assert found["histories"].count() == len(steps) > 0
    assert set(found) == {path.name for path in (tmp_path / "out").iterdir()}


def _moved(segment: Segment, client: int, server: int) -> Segment:
    """The segment of a connection between other ports."""
    ports = {segment.sport: segment.sport, 40_000: client, 5672: server}
    return changed(segment, sport=ports[segment.sport], dport=ports[segment.dport])


def _written(segments: list[Segment]) -> bytes:
    packets: list[tuple[int, int, bytes]] = []
    for at, each in enumerate(sorted(segments, key=sort_key)):
        octets = tcp(each.seq, each.ack, each.payload, flags=each.flags, sport=each.sport, dport=each.dport)
        packets.append((1, at, ethernet(ipv4(octets, src=each.src, dst=each.dst))))
    return pcap(packets)


def test_servers_that_other_connections_show_and_what_is_not_amqp(spark: SparkSession, tmp_path: Path) -> None:
    """A connection to an unregistered port from its middle on, beside one to the same server, and one of SSH."""
    from amqp_sansio_spark import replay, servers_of

    packets = packets_of(CONVERSATIONS[AMQP_1_0](1))
    talk = [_moved(each, 40_000, 15_672) for each in packets]
    late = [_moved(each, 40_777, 15_672) for each in packets[len(packets) // 2 :]]
    ssh = packets_of([("client", b"SSH-2.0-x\r\n"), ("server", b"SSH-2.0-y\r\n")])
    path = tmp_path / "mixed.pcap"
    path.write_bytes(_written([*talk, *late, *[_moved(each, 40_001, 22) for each in ssh]]))
    segments = read(spark, [path])
    found = servers_of(segments.select("flow", "src", "sport", "dst", "dport", "flags"))
    assert found == {"10.0.0.2:15672", "10.0.0.2:22"} == local_servers(segments_of([path]))
    assert {row.roles_by for row in replay(segments, servers=found).connections.collect()} == {"syn", "capture"}
    assert {row.roles_by for row in replay(segments, ports=(15_672,)).connections.collect()} == {"syn", "port"}
    assert [tuple(row) for row in replay(segments).passed.collect()] == [("SSH", 1)]
