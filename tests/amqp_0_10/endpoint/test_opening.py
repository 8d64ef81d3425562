"""Opening a connection of 0-10: headers, start, tune, open, redirection, steps out of turn (section 4.3; class 1)."""

import pickle
from typing import Any

import pytest

from amqp_sansio import (
    AuthenticationRequested,
    By,
    Closed,
    CloseHint,
    CodecError,
    Failed,
    LocalProtocolError,
    Opened,
    OpenRequested,
    Scope,
    Side,
)
from amqp_sansio.amqp_0_10 import Dialect, Redirected, SessionRequested
from amqp_sansio.sasl import Anonymous, External, Plain, ScramSha256
from tests.kit import octets_0_10 as raw
from tests.kit.facing import CLIENT, SERVER
from tests.kit.facing_0_10 import Facing, client_config, server_config


@pytest.mark.rule("0-10/wire/header-client-first", "0-10/wire/header-each-peer")
def test_the_client_sends_its_header_before_anything_has_come_and_nothing_else() -> None:
    facing = Facing(CLIENT)
    assert facing.out == bytes.fromhex("414d51500101000a")
    facing.forget()
    facing.feed(raw.HEADER)
    assert facing.out == b""
    assert facing.end.state == "headers exchanged"


@pytest.mark.rule("0-10/wire/header-supported", "0-10/wire/header-1-1", "0-10/wire/header-each-peer")
@pytest.mark.parametrize("pieces", [1, 3, 8])
def test_the_server_echoes_the_header_and_goes_on_with_start(pieces: int) -> None:
    facing = Facing(SERVER)
    assert facing.out == b""
    facing.feed(*[raw.HEADER[n : n + pieces] for n in range(0, 8, pieces)])
    assert facing.out.startswith(raw.HEADER)
    assert facing.names() == ["header", "connection.start"]
    assert facing.events == []


def test_the_client_closes_the_socket_at_octets_that_are_no_amqp() -> None:
    facing = Facing(CLIENT).forget()
    facing.feed(b"SSH-2.0-OpenSSH")
    assert facing.of(Failed)[0].error.rule == "0-10/wire/header-each-peer"
    assert (facing.out, facing.end.close_hint) == (b"", CloseHint.CLOSE_NOW)


# Opening a connection of 0-10, octet by octet: start, tune, open, redirection, steps out of turn (class 1).


# start and start-ok.


@pytest.mark.rule("0-10/connection.start/required-fields", "0-10/connection.start/required-support")
def test_start_tells_who_the_server_is_and_offers_en_us() -> None:
    facing = Facing(SERVER, server_config(mechanisms=("PLAIN", "ANONYMOUS"), locales=("de_DE", "en_US")))
    facing.feed(raw.HEADER)
    start_ = facing.records()[1]
    assert set(start_.server_properties) >= {"product", "version", "platform", "copyright", "information"}
    assert list(start_.mechanisms) == ["PLAIN", "ANONYMOUS"]
    assert list(start_.locales) == ["de_DE", "en_US"]
    # Arrays of str16.
    assert raw.strings("PLAIN", "ANONYMOUS") + raw.strings("de_DE", "en_US") in facing.out


@pytest.mark.rule("0-10/connection.start-ok/required-fields", "0-10/connection.start-ok/locale-offered")
@pytest.mark.parametrize(
    ("offered", "liked", "chosen"),
    [
        (("en_US",), ("en_US",), "en_US"),
        (("en_US", "de_DE"), ("de_DE", "en_US"), "de_DE"),
        (("en_US", "de_DE"), ("fr_FR", "de_DE"), "de_DE"),
        (("en_US",), ("de_DE",), "en_US"),
    ],
)
def test_start_ok_has_properties_and_a_locale_that_was_offered(
    offered: tuple[str, ...], liked: tuple[str, ...], chosen: str
) -> None:
    facing = Facing(CLIENT, client_config(locales=liked)).forget()
    facing.feed(raw.HEADER + raw.start(locales=offered))
    (answer,) = facing.records()
    assert answer.locale == facing.end.locale == chosen
    assert set(answer.client_properties) >= {"product", "version", "platform", "copyright", "information"}
    assert facing.end.peer_properties == {"product": "peer"}


def test_start_ok_octet_by_octet() -> None:
    facing = Facing(CLIENT, client_config(properties={})).forget()
    facing.feed(raw.HEADER + raw.start())
    octets = facing.out
    assert octets[:16] == bytes.fromhex("0f00") + raw.u16(len(octets)) + bytes(8) + bytes.fromhex("01020f00")
    assert octets.endswith(b"\x05PLAIN\x00\x00\x00\x07\x00ann\x00pw\x05en_US")


@pytest.mark.rule("0-10/connection.start-ok/security")
def test_the_client_takes_the_strongest_mechanism_that_is_offered() -> None:
    mechanisms = (Plain("ann", "pw"), ScramSha256("ann", "pw", nonce="n" * 20), Anonymous())
    facing = Facing(CLIENT, client_config(sasl=mechanisms)).forget()
    facing.feed(raw.HEADER + raw.start("ANONYMOUS", "PLAIN", "SCRAM-SHA-256"))
    assert facing.records()[0].mechanism == facing.end.mechanism == "SCRAM-SHA-256"


def test_a_client_closes_the_socket_when_it_can_none_of_the_mechanisms() -> None:
    facing = Facing(CLIENT, client_config(sasl=External())).forget()
    facing.feed(raw.HEADER + raw.start("PLAIN", "GSSAPI"))
    facing.ends(None)


@pytest.mark.rule("0-10/connection.start-ok/validity")
@pytest.mark.parametrize("name", ["EXTERNAL", "plain", ""])
def test_a_mechanism_that_was_not_offered_ends_the_connection_without_a_word(name: str) -> None:
    facing = Facing.started(SERVER)
    facing.feed(raw.start_ok(name))
    facing.ends("connection.start-ok/validity")


@pytest.mark.rule("0-10/wire/struct-required")
@pytest.mark.parametrize(
    "octets",
    [
        raw.control(0x0102, raw.table(), None, b"\0\0\0\0"),
        raw.control(0x0102, raw.table(), raw.str8("PLAIN"), None),
        raw.tune_ok(None),
    ],
)
def test_a_step_of_the_opening_without_its_fields_ends_it(octets: bytes) -> None:
    config = server_config(dialect=Dialect.ERRATA)
    facing = Facing.started(SERVER, config) if octets[13] == 2 else Facing.tuned(SERVER, config)
    facing.feed(octets)
    facing.ends("wire/struct-required")


def test_the_server_reads_start_ok_without_a_locale() -> None:
    facing = Facing.started(SERVER)
    facing.feed(raw.start_ok(locale=None))
    (asked,) = facing.of(AuthenticationRequested)
    assert (asked.mechanism, asked.credentials.user, asked.credentials.password) == ("PLAIN", "ann", "pw")
    assert (facing.end.user, facing.end.locale) == ("ann", "en_US")


def test_a_locale_that_was_not_offered_is_that_of_the_server() -> None:
    facing = Facing.started(SERVER)
    facing.feed(raw.start_ok(locale="xx_XX"))
    assert facing.end.locale == "en_US"


def test_a_refused_login_is_told_with_a_close() -> None:
    facing = Facing.started(SERVER)
    facing.feed(raw.start_ok())
    facing.end.refuse_authentication("who are you")
    (told,) = facing.records()
    assert (told.reply_code, told.reply_text) == (320, "who are you")
    assert facing.end.close_hint is CloseHint.KEEP


# tune and tune-ok.


@pytest.mark.rule("0-10/connection.tune/permitted-range", "0-10/connection.tune/no-heartbeat-min")
@pytest.mark.parametrize(
    ("config", "octets"),
    [
        ({}, "010507000010ffff0001"),
        ({"heartbeat_min": None}, "010503000010ffff"),
        ({"heartbeat_min": 5, "heartbeat_max": 60}, "01050f000010ffff0005003c"),
        ({"max_frame_size": 4096, "heartbeat_min": 0, "heartbeat_max": 0}, "01050f000010100000000000"),
    ],
)
def test_tune_octet_by_octet(config: dict[str, Any], octets: str) -> None:
    facing = Facing.started(SERVER, server_config(**config))
    facing.feed(raw.start_ok())
    facing.end.accept_authentication()
    facing.settle()
    assert facing.out == raw.frame(bytes.fromhex(octets))


@pytest.mark.rule("0-10/connection.tune-ok/heartbeat-range", "0-10/connection.tune-ok/no-heartbeat-min")
@pytest.mark.parametrize(
    ("wanted", "least", "most", "chosen"),
    [
        (60, None, None, None),
        (60, 1, None, 60),
        (60, 1, 30, 30),
        (5, 10, 30, 10),
        (10, 10, 10, 10),
        (0, 1, 30, None),
        (0, None, None, None),
        (60, None, 30, None),
    ],
)
def test_the_client_chooses_a_heartbeat_in_the_range_that_is_offered(
    wanted: int, least: int | None, most: int | None, chosen: int | None
) -> None:
    facing = Facing.started(CLIENT, client_config(heartbeat=wanted))
    facing.feed(raw.tune(16, 65_535, least, most))
    answer, opening = facing.records()
    assert (answer.NAME, opening.NAME) == ("connection.tune-ok", "connection.open")
    assert answer.heartbeat == chosen
    assert facing.end.heartbeat == (chosen or 0)


@pytest.mark.parametrize(
    ("offered", "own", "octets"),
    [
        ((16, 65_535), {}, "0010ffff"),
        ((16, 8192), {"max_frame_size": 20_000}, "00102000"),
        ((16, 20_000), {"max_frame_size": 8192, "channel_max": 3}, "00032000"),
        ((None, None), {}, "07ffffff"),
        ((0, None), {"max_frame_size": 4096}, "07ff1000"),
        ((2047, 4096), {}, "07ff1000"),
    ],
)
def test_the_client_agrees_to_the_lower_of_both_limits(
    offered: tuple[int | None, int | None], own: dict[str, Any], octets: str
) -> None:
    facing = Facing.started(CLIENT, client_config(**own))
    facing.feed(raw.tune(*offered))
    assert facing.out.startswith(raw.frame(bytes.fromhex("01060300" + octets)))
    agreed = bytes.fromhex(octets)
    assert facing.end.channel_max == int.from_bytes(agreed[:2])
    assert facing.end.max_frame_size == int.from_bytes(agreed[2:])


@pytest.mark.rule("0-10/connection.tune/minimum")
def test_a_client_turns_from_a_server_that_offers_frames_below_the_least() -> None:
    facing = Facing.started(CLIENT)
    facing.feed(raw.tune(16, 4095))
    facing.ends("connection.tune/minimum")


@pytest.mark.rule("0-10/connection.tune/minimum", "0-10/connection.tune-ok/minimum")
def test_a_frame_of_4096_octets_is_taken_before_tuning_and_none_above() -> None:
    least = raw.control(0x0102, raw.table(a=""), raw.str8("PLAIN"), b"\0\0\0\x07\0ann\0pw", raw.str8("en_US"))
    exact = raw.control(
        0x0102, raw.table(a="x" * (4096 - len(least))), raw.str8("PLAIN"), b"\0\0\0\x07\0ann\0pw", raw.str8("en_US")
    )
    assert len(exact) == 4096
    facing = Facing.started(SERVER, server_config(max_frame_size=65_535))
    facing.feed(exact)
    assert facing.of(AuthenticationRequested)
    above = raw.control(
        0x0102, raw.table(a="x" * (4097 - len(least))), raw.str8("PLAIN"), b"\0\0\0\x07\0ann\0pw", raw.str8("en_US")
    )
    facing = Facing.started(SERVER, server_config(max_frame_size=65_535))
    facing.feed(above)
    facing.closes(501, "connection.tune-ok/max-frame-size")


@pytest.mark.rule("0-10/connection.tune-ok/channel-upper-limit", "0-10/connection.tune-ok/frame-upper-limit")
@pytest.mark.rule("0-10/connection.tune-ok/heartbeat-range", "0-10/connection.tune-ok/no-heartbeat-min")
@pytest.mark.rule("0-10/connection.tune-ok/minimum")
@pytest.mark.parametrize(
    ("offer", "answer", "rule"),
    [
        ({}, raw.tune_ok(17), "channel-upper-limit"),
        ({"max_frame_size": 8192}, raw.tune_ok(16, 8193), "frame-upper-limit"),
        ({}, raw.tune_ok(16, 0), "minimum"),
        ({}, raw.tune_ok(16, 12), "minimum"),
        ({}, raw.tune_ok(16, 4095), "minimum"),
        ({"heartbeat_min": None, "heartbeat_max": None}, raw.tune_ok(heartbeat=1), "no-heartbeat-min"),
        ({"heartbeat_min": 10, "heartbeat_max": None}, raw.tune_ok(heartbeat=9), "heartbeat-range"),
        ({"heartbeat_min": 10, "heartbeat_max": 20}, raw.tune_ok(heartbeat=21), "heartbeat-range"),
    ],
)
@pytest.mark.parametrize("behind", [b"", raw.open_()], ids=["alone", "with open"])
def test_an_answer_out_of_what_was_offered_closes_the_socket(
    offer: dict[str, Any], answer: bytes, rule: str, behind: bytes
) -> None:
    facing = Facing.tuned(SERVER, server_config(**offer))
    facing.feed(answer + behind)
    facing.ends(f"connection.tune-ok/{rule}")


@pytest.mark.parametrize(("given", "agreed"), [((3, 8192, 30), (3, 8192, 30.0)), ((0, None, 0), (16, 65_535, 0.0))])
def test_the_server_keeps_to_what_the_client_chose(
    given: tuple[int, int | None, int], agreed: tuple[int, int, float]
) -> None:
    facing = Facing.opened(SERVER, tuning=raw.tune_ok(*given))
    end = facing.end
    assert (end.channel_max, end.max_frame_size, end.heartbeat) == agreed


# open, open-ok, redirect.


def test_open_octet_by_octet() -> None:
    facing = Facing.started(CLIENT, client_config(vhost="work", capabilities=("x",), insist=True))
    facing.feed(raw.tune())
    assert facing.out.endswith(raw.frame(bytes.fromhex("01070700") + b"\x04work" + raw.strings("x")))
    facing = Facing.started(CLIENT)
    facing.feed(raw.tune())
    assert facing.out.endswith(raw.frame(bytes.fromhex("01070100") + b"\x01/"))


@pytest.mark.rule("0-10/connection.open/security")
def test_the_server_asks_before_it_lets_into_a_virtual_host() -> None:
    facing = Facing.tuned(SERVER)
    facing.feed(raw.tune_ok() + raw.open_("work", insist=True) + raw.attach())
    assert facing.of(OpenRequested) == [OpenRequested("work", True)]
    assert facing.end.vhost == "work"
    # What comes behind waits for the decision.
    assert facing.of(SessionRequested) == []
    facing.end.accept_open()
    facing.settle()
    assert facing.out == raw.frame(bytes.fromhex("01080100") + raw.strings())
    assert facing.of(Opened) == [Opened(Scope.CONNECTION)]
    assert facing.of(SessionRequested) == [SessionRequested(0, b"s", False)]


@pytest.mark.parametrize("code", [402, 320])
def test_a_virtual_host_that_is_refused_closes_the_connection(code: int) -> None:
    facing = Facing.tuned(SERVER)
    facing.feed(raw.tune_ok() + raw.open_("nowhere"))
    facing.end.refuse_open(code, "not here")
    facing.settle()
    assert facing.out == raw.close(code, "not here")
    facing.feed(raw.control(0x010C))
    assert facing.of(Closed)[0].report.code == code


@pytest.mark.rule("0-10/connection.open/separation", "0-10/session.attach/scoping")
def test_what_one_connection_has_says_nothing_to_another() -> None:
    ends: list[Facing] = []
    for user, vhost in ((b"ann", "a"), (b"ann", "b"), (b"bob", "a")):
        facing = Facing.started(SERVER)
        facing.feed(raw.start_ok(response=b"\0" + user + b"\0pw"))
        facing.end.accept_authentication()
        facing.feed(raw.tune_ok() + raw.open_(vhost))
        facing.end.accept_open()
        facing.feed(raw.attach(b"one name"))
        assert facing.requested() == SessionRequested(0, b"one name", False)
        facing.end.accept_session(0)
        facing.feed(raw.command_point() + raw.subscribe("d"))
        facing.session.complete(0)
        ends.append(facing.forget())
    assert [(each.end.user, each.end.vhost) for each in ends] == [("ann", "a"), ("ann", "b"), ("bob", "a")]
    # The same destination of a session of the same name is in use in each of them for itself.
    before = pickle.dumps(ends[1].end)
    ends[0].feed(raw.subscribe("d"))
    ends[0].excepts(530, "message.subscribe/unique-destination", 1, 0x0407)
    assert pickle.dumps(ends[1].end) == before
    assert ends[2].end.session(0).is_attached


def test_open_ok_tells_the_client_other_hosts() -> None:
    facing = Facing.started(CLIENT)
    facing.feed(raw.tune() + raw.open_ok("amqp:tcp:a:5672", "b"))
    assert facing.end.known_hosts == ("amqp:tcp:a:5672", "b")
    assert facing.of(Opened) == [Opened(Scope.CONNECTION)]
    facing = Facing.tuned(SERVER, server_config(known_hosts=("b", "c")))
    facing.feed(raw.tune_ok() + raw.open_())
    facing.end.accept_open()
    facing.settle()
    assert facing.out == raw.open_ok("b", "c")


@pytest.mark.rule("0-10/connection.redirect/usage")
def test_a_redirected_client_has_the_host_and_the_others_and_is_done() -> None:
    facing = Facing.started(CLIENT)
    facing.feed(raw.tune())
    facing.forget()
    facing.feed(raw.control(0x0109, raw.str16("amqp:tcp:other:5672"), raw.strings("third")))
    told, closed = facing.events
    assert told == Redirected("amqp:tcp:other:5672", ("third",))
    assert isinstance(closed, Closed)
    assert closed.report.by is By.REMOTE
    assert (facing.out, facing.end.close_hint) == (b"", CloseHint.CLOSE_NOW)


def test_a_server_redirects_octet_by_octet() -> None:
    facing = Facing.tuned(SERVER)
    facing.feed(raw.tune_ok() + raw.open_())
    facing.end.redirect("other:5672", ("third",))
    facing.settle()
    assert facing.out == raw.frame(bytes.fromhex("01090300") + raw.str16("other:5672") + raw.strings("third"))
    assert facing.end.close_hint is CloseHint.CLOSE_WHEN_SENT
    assert facing.of(Closed)[0].report.by is By.LOCAL


def test_a_redirect_that_cannot_be_written_changes_nothing() -> None:
    facing = Facing.tuned(SERVER)
    facing.feed(raw.tune_ok() + raw.open_())
    with pytest.raises(CodecError):
        facing.end.redirect("x" * 70_000)
    with pytest.raises(CodecError):
        facing.end.refuse_open(70_000)
    facing.end.accept_open()
    assert facing.names() == ["connection.open-ok"]
    assert facing.end.is_open


@pytest.mark.rule("0-10/connection.open/insist")
def test_who_insists_is_not_redirected() -> None:
    facing = Facing.tuned(SERVER)
    facing.feed(raw.tune_ok() + raw.open_(insist=True))
    with pytest.raises(LocalProtocolError) as caught:
        facing.end.redirect("other")
    assert caught.value.rule == "0-10/connection.open/insist"
    facing.settle()
    assert facing.out == b""
    facing.end.refuse_open(320, "full")
    assert facing.names() == ["connection.close"]
    facing = Facing.started(CLIENT, client_config(insist=True))
    facing.feed(raw.tune())
    facing.forget()
    facing.feed(raw.control(0x0109, raw.str16("other")))
    facing.ends("connection.open/insist")


def test_a_redirect_without_a_host_ends_the_connection() -> None:
    facing = Facing.started(CLIENT)
    facing.feed(raw.tune())
    facing.forget()
    facing.feed(raw.control(0x0109))
    facing.ends("wire/struct-required")


# The opening of 0-10 out of turn: steps too early, too late, by the wrong end; snapshots at every octet (class 1).


@pytest.mark.parametrize(
    "octets", [raw.tune(), raw.open_ok(), raw.HEARTBEAT, raw.control(0x010C), raw.attach(), raw.transfer()]
)
def test_before_start_nothing_but_start_is_heard_and_nothing_can_be_said(octets: bytes) -> None:
    facing = Facing(CLIENT)
    facing.feed(raw.HEADER)
    facing.forget()
    assert facing.end.state == "headers exchanged"
    facing.feed(octets)
    facing.ends(None)


@pytest.mark.parametrize("code", [200, 320])
def test_a_server_may_close_before_it_starts(code: int) -> None:
    facing = Facing(CLIENT)
    facing.feed(raw.HEADER)
    facing.forget()
    facing.feed(raw.close(code, "not today"))
    assert facing.names() == ["connection.close-ok"]
    (closed,) = facing.of(Closed)
    assert (closed.report.by, closed.report.code, closed.report.text) == (By.REMOTE, code, "not today")
    assert facing.end.close_hint is CloseHint.CLOSE_WHEN_SENT


OUT_OF_TURN = {
    CLIENT: [
        raw.start(),
        raw.open_ok(),
        raw.tune_ok(),
        raw.open_(),
        raw.HEARTBEAT,
        raw.control(0x010C),
        raw.attach(),
        raw.flush("completed"),
        raw.transfer(),
    ],
    SERVER: [
        raw.start(),
        raw.tune(),
        raw.tune_ok(),
        raw.open_(),
        raw.open_ok(),
        raw.HEARTBEAT,
        raw.control(0x010C),
        raw.attach(),
        raw.command(0x0501),
    ],
}


@pytest.mark.parametrize(("side", "octets"), [(side, each) for side, wrong in OUT_OF_TURN.items() for each in wrong])
def test_what_is_out_of_turn_in_the_opening_is_a_framing_error(side: Side, octets: bytes) -> None:
    facing = Facing.started(side)
    facing.feed(octets)
    facing.closes(501, None)


@pytest.mark.parametrize(
    "octets",
    [
        raw.start(),
        raw.start_ok(),
        raw.tune(),
        raw.tune_ok(),
        raw.open_(),
        raw.open_ok(),
        raw.control(0x010C),
        raw.control(0x0103, b"\0\0\0\0"),
    ],
)
def test_a_control_of_the_opening_does_not_come_again(opened: Facing, octets: bytes) -> None:
    opened.feed(octets)
    opened.closes(501, None)


def test_decisions_nobody_asked_for_are_refused() -> None:
    facing = Facing.started(SERVER)
    for decide in (
        facing.end.accept_authentication,
        facing.end.accept_open,
        facing.end.refuse_open,
        facing.end.refuse_authentication,
        lambda: facing.end.provide_scram_keys(None),
        lambda: facing.end.redirect("x"),
    ):
        with pytest.raises(LocalProtocolError, match="waiting for an answer"):
            decide()
    with pytest.raises(LocalProtocolError, match="not open yet"):
        facing.end.open_session("s")
    assert facing.sent() == []


def test_the_opening_goes_on_from_a_snapshot_at_every_octet(side: Side) -> None:
    whole = Facing(side)
    script = raw.HEADER + (
        raw.start() + raw.tune(16, 65_535, 5, 60) + raw.open_ok()
        if side is CLIENT
        else raw.start_ok() + raw.tune_ok() + raw.open_()
    )

    def play(pickled: bool) -> bytes:
        facing = Facing(side)
        for octet in script:
            facing.feed(bytes([octet]))
            if pickled:
                facing.end = pickle.loads(pickle.dumps(facing.end))
            if side is SERVER and facing.of(AuthenticationRequested):
                facing.end.accept_authentication()
                facing.events.clear()
        if side is SERVER:
            facing.end.accept_open()
            facing.settle()
        assert facing.end.is_open
        return facing.out

    assert play(True) == play(False)
    assert whole.events == []
