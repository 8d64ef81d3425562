"""The SASL layer of AMQP 1.0: every mechanism both ways, outcomes, and frames that don't belong."""

import pickle
from typing import Any

import pytest

from amqp_sansio import (
    AuthenticationRequested,
    By,
    Closed,
    CloseHint,
    EndpointClosed,
    Event,
    Failed,
    Limits,
    LocalProtocolError,
    Opened,
    RemoteProtocolError,
    ScramKeysRequested,
)
from amqp_sansio.amqp_1_0.endpoint.connection import Connection
from amqp_sansio.amqp_1_0.spec import Begin, SaslChallenge, SaslInit, SaslMechanisms, SaslOutcome, SaslResponse
from amqp_sansio.sasl import Anonymous, ClientMechanism, OAuthBearer, scram_keys
from tests.kit.applications import Accepting
from tests.kit.facing import CLIENT, SERVER
from tests.kit.facing_1_0 import Facing
from tests.kit.logins import MECHANISMS, NAMES, NONCE, OFFER, Judge
from tests.kit.octets_1_0 import AMQP_HEADER, EMPTY, SASL_HEADER, octets_of, parse, sasl, their_open
from tests.kit.pair import pieces
from tests.kit.pair_1_0 import Pair, client_config, server_config

OFFERING = server_config(**OFFER)


class Deciding(Accepting):
    """A server's application with one user."""

    def __init__(self, password: str = "secret", user: str = "user") -> None:
        super().__init__(login=False)
        self.judge = Judge(password, user)

    def __call__(self, connection: Connection, event: Event) -> None:
        if not self.judge(connection, event):
            super().__call__(connection, event)


@pytest.mark.rule("1.0/security/sasl/header", "1.0/security/sasl/outcome", "1.0/security/sasl/steps")
@pytest.mark.rule("1.0/security/sasl/roles", "1.0/security/layer/nested")
@pytest.mark.parametrize("chunk", [1, 1000])
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda each: each.name)
def test_every_mechanism_lets_in(mechanism: ClientMechanism, chunk: int) -> None:
    application = Deciding()
    pair = Pair(
        client=client_config(sasl=mechanism, hostname="example.org"),
        server=OFFERING,
        applications={SERVER: application},
        chunks=pieces(chunk),
    ).open()
    assert pair.client.mechanism == pair.server.mechanism == mechanism.name
    asked = application.judge.asked[-1]
    assert isinstance(asked, AuthenticationRequested)
    assert asked.mechanism == asked.credentials.mechanism == mechanism.name
    for side in (CLIENT, SERVER):
        names = [each.name for each in parse(bytes(pair.sent[side]))]
        assert names[0] == "header 3"
        assert names[-2:] == ["header 0", "open"]


@pytest.mark.rule("1.0/security/sasl/best-mechanism")
@pytest.mark.parametrize(
    ("offered", "taken"),
    [(NAMES, "EXTERNAL"), (("PLAIN", "SCRAM-SHA-1", "ANONYMOUS"), "SCRAM-SHA-1"), (("ANONYMOUS", "PLAIN"), "PLAIN")],
)
def test_the_strongest_common_mechanism_is_taken(offered: tuple[str, ...], taken: str) -> None:
    facing = Facing(CLIENT, client_config(sasl=MECHANISMS))
    facing.feed(SASL_HEADER)
    facing.forget().feed(sasl(SaslMechanisms(offered)))
    (init,) = facing.sent()
    assert init.body.mechanism == taken


@pytest.mark.rule("1.0/security/sasl/mechanisms-first", "1.0/security/sasl/mechanisms-nonempty")
@pytest.mark.rule("1.0/security/sasl/frame-type", "1.0/security/sasl/frame-zero")
def test_the_server_offers_its_mechanisms_in_order() -> None:
    facing = Facing.in_sasl(SERVER, OFFERING)
    header, mechanisms = facing.sent()
    assert header.header == SASL_HEADER
    assert (mechanisms.kind, mechanisms.channel) == (1, 0)
    assert mechanisms.body.sasl_server_mechanisms == NAMES
    assert facing.out[8 + 4] == 2


@pytest.mark.rule("1.0/security/sasl/anonymous")
def test_a_server_that_wants_no_authentication_offers_anonymous() -> None:
    pair = Pair(client=client_config(sasl=Anonymous())).open()
    assert pair.server.mechanism == "ANONYMOUS"
    mechanisms = parse(bytes(pair.sent[SERVER]))[1]
    assert mechanisms.body.sasl_server_mechanisms == ("ANONYMOUS",)


@pytest.mark.rule("1.0/transport/open/hostname-same", "1.0/security/sasl/hostname")
def test_the_hostname_is_the_same_in_init_and_open() -> None:
    pair = Pair(client=client_config(sasl=Anonymous(), hostname="example.org")).open()
    bodies = [each.body for each in parse(bytes(pair.sent[CLIENT])) if each.body is not None]
    assert [body.hostname for body in bodies] == ["example.org", "example.org"]


@pytest.mark.rule("1.0/security/sasl/hostname")
def test_a_server_knows_the_host_before_it_decides() -> None:
    facing = Facing.in_sasl(SERVER, OFFERING)
    assert facing.end.hostname is None
    facing.feed(sasl(SaslInit("PLAIN", b"\0me\0secret", "one.example.org")))
    assert facing.end.hostname == "one.example.org"
    facing.end.accept_authentication()
    facing.feed(AMQP_HEADER + octets_of(their_open(hostname="two.example.org")))
    assert facing.end.hostname == "two.example.org"
    assert Facing(CLIENT, client_config(hostname="a")).end.hostname == "a"


@pytest.mark.rule("1.0/security/sasl/hostname-default")
def test_without_a_hostname_none_is_sent() -> None:
    pair = Pair(client=client_config(sasl=Anonymous())).open()
    bodies = [each.body for each in parse(bytes(pair.sent[CLIENT])) if each.body is not None]
    assert [body.hostname for body in bodies] == [None, None]


# No.


@pytest.mark.rule("1.0/security/sasl/outcome-codes", "1.0/security/layer/terminate")
@pytest.mark.parametrize("mechanism", MECHANISMS[:3], ids=lambda each: each.name)
def test_a_wrong_password_is_refused(mechanism: ClientMechanism) -> None:
    pair = Pair(client=client_config(sasl=mechanism), server=OFFERING, applications={SERVER: Deciding("other")})
    pair.pump()
    outcome = parse(bytes(pair.sent[SERVER]))[-1]
    assert (outcome.body.code, outcome.body.additional_data) == (1, None)
    client, server = pair.client.report, pair.server.report
    assert client is not None
    assert server is not None
    assert (client.by, server.by) == (By.REMOTE, By.LOCAL)
    assert client.condition == server.condition == "amqp:unauthorized-access"
    assert "sasl-outcome 1 (auth" in client.text
    assert "password" in client.hint
    (failed,) = [event for event in pair.events[CLIENT] if isinstance(event, Failed)]
    assert isinstance(failed.error, RemoteProtocolError)
    assert failed.error.condition == "amqp:unauthorized-access"
    assert pair.client.close_hint is pair.server.close_hint is CloseHint.CLOSE_WHEN_SENT


def test_an_unknown_scram_user_is_refused_as_a_wrong_password_is() -> None:
    pairs = [
        Pair(client=client_config(sasl=MECHANISMS[1]), server=OFFERING, applications={SERVER: Deciding(user="other")}),
        Pair(client=client_config(sasl=MECHANISMS[1]), server=OFFERING, applications={SERVER: Deciding("other")}),
    ]
    for pair in pairs:
        pair.pump()
    texts = {pair.client.report.text for pair in pairs if pair.client.report is not None}
    assert len(texts) == 1


@pytest.mark.rule("1.0/security/sasl/outcome-codes")
@pytest.mark.parametrize(
    ("code", "said", "condition"),
    [
        (1, "auth", "amqp:unauthorized-access"),
        (2, "sys:", "amqp:internal-error"),
        (3, "sys-perm", "amqp:internal-error"),
        (4, "sys-temp", "amqp:internal-error"),
    ],
)
def test_a_client_tells_the_codes_apart(code: int, said: str, condition: str) -> None:
    facing = Facing.in_sasl(CLIENT, client_config(sasl=MECHANISMS[0])).forget()
    facing.feed(sasl(SaslOutcome(code)))
    report = facing.end.report
    assert report is not None
    assert said in report.text
    assert (report.code, report.condition) == (code, condition)
    assert facing.out == b""


def test_a_server_says_why_with_a_code() -> None:
    facing = _asked()
    before = pickle.dumps(facing.end)
    for code in (0, 5, -1):
        with pytest.raises(LocalProtocolError, match="sasl-outcome"):
            facing.end.refuse_authentication("no", code)
    assert pickle.dumps(facing.end) == before
    facing.end.refuse_authentication("the directory is away", 4)
    facing.settle()
    (outcome,) = facing.sent()
    assert outcome.body.code == 4
    (closed,) = facing.of(Closed)
    assert (closed.report.text, closed.report.code) == ("the directory is away", 4)


def _asked() -> Facing:
    facing = Facing.in_sasl(SERVER, OFFERING)
    facing.feed(sasl(SaslInit("PLAIN", b"\0me\0secret")))
    assert facing.of(AuthenticationRequested)
    return facing.forget()


@pytest.mark.rule("1.0/security/sasl/mechanism-unsupported")
def test_a_mechanism_that_was_not_offered_is_refused() -> None:
    facing = Facing.in_sasl(SERVER, server_config(mechanisms=("EXTERNAL",))).forget()
    facing.feed(sasl(SaslInit("PLAIN", b"\0me\0secret")))
    error = facing.ends("security/sasl/mechanism-unsupported")
    assert error.condition == "amqp:unauthorized-access"
    (outcome,) = facing.sent()
    assert outcome.body.code == 1


@pytest.mark.parametrize("response", [b"", b"\0me", b"\0\0secret", b"\xff\0\xff\0\xff"])
def test_a_malformed_response_is_refused(response: bytes) -> None:
    facing = Facing.in_sasl(SERVER, OFFERING).forget()
    facing.feed(sasl(SaslInit("PLAIN", response)))
    (failed,) = facing.of(Failed)
    assert "malformed" in str(failed.error)
    assert facing.sent()[0].body.code == 1


def test_a_client_without_a_common_mechanism_says_so() -> None:
    facing = Facing(CLIENT, client_config(sasl=MECHANISMS[0])).forget()
    facing.feed(SASL_HEADER, sasl(SaslMechanisms(("EXTERNAL", "ANONYMOUS"))))
    (failed,) = facing.of(Failed)
    assert "no SASL mechanism in common" in str(failed.error)
    assert facing.out == b""
    assert facing.end.close_hint is CloseHint.CLOSE_WHEN_SENT


@pytest.mark.rule("1.0/security/sasl/additional-data")
def test_a_server_that_proves_nothing_is_an_impostor() -> None:
    config = client_config(sasl=MECHANISMS[1])
    for additional in (None, b"", b"v=AAAA", b"v=" + b"A" * 43 + b"="):
        facing = Facing.in_sasl(CLIENT, config)
        challenge = f"r={NONCE}more,s=c2l4dGVlbiBvY3RldHMuLg==,i=4096"
        facing.feed(sasl(SaslChallenge(challenge.encode())))
        facing.forget().feed(sasl(SaslOutcome(0, additional)))
        (failed,) = facing.of(Failed)
        assert failed.by is By.LOCAL
        assert "SCRAM-SHA-256" in str(failed.error)
        assert facing.out == b""


@pytest.mark.rule("1.0/security/sasl/additional-data")
def test_the_servers_proof_comes_with_the_outcome() -> None:
    pair = Pair(client=client_config(sasl=MECHANISMS[1]), server=OFFERING, applications={SERVER: Deciding()}).open()
    outcome = [each.body for each in parse(bytes(pair.sent[SERVER])) if each.name == "sasl-outcome"]
    assert outcome[0].additional_data.startswith(b"v=")
    names = [each.name for each in parse(bytes(pair.sent[SERVER]))]
    assert names.count("sasl-challenge") == 1


@pytest.mark.parametrize("name", ["PLAIN", "EXTERNAL", "SCRAM-SHA-256"])
def test_no_first_response_is_asked_for(name: str) -> None:
    """An absent initial response isn't an empty one."""
    facing = Facing.in_sasl(SERVER, OFFERING).forget()
    facing.feed(sasl(SaslInit(name)))
    (challenge,) = facing.sent()
    assert challenge.body == SaslChallenge(b"")
    answers = {"PLAIN": b"\0me\0secret", "EXTERNAL": b"", "SCRAM-SHA-256": b"n,,n=u,r=abc"}
    facing.feed(sasl(SaslResponse(answers[name])))
    assert facing.of(AuthenticationRequested) or facing.of(ScramKeysRequested)


def test_a_mechanism_without_a_message_needs_no_first_response() -> None:
    """Qpid's proton-j sends none for ANONYMOUS, and answers no challenge."""
    facing = Facing.in_sasl(SERVER, OFFERING).forget()
    facing.feed(sasl(SaslInit("ANONYMOUS")))
    assert not facing.sent()
    assert facing.of(AuthenticationRequested)


def test_a_bearer_token_is_refused_with_a_reason() -> None:
    facing = Facing.in_sasl(CLIENT, client_config(sasl=MECHANISMS[5])).forget()
    facing.feed(sasl(SaslChallenge(b'{"status":"invalid_token"}')))
    assert facing.sent()[0].body == SaslResponse(b"\x01")
    facing.feed(sasl(SaslOutcome(1)))
    assert facing.end.report is not None
    assert "invalid_token" in facing.end.report.text


# Frames that don't belong.


def frames_of_both(wrong: str) -> bytes:
    """A SASL frame that is wrong for both sides, whatever comes next."""
    return {
        "empty": octets_of(kind=1),
        "amqp": octets_of(their_open()),
        "amqp empty": EMPTY,
        "performative": sasl(their_open()),
        "surplus": octets_of(SaslResponse(b""), kind=1, payload=b"\x40"),
        "doff": octets_of(SaslResponse(b""), kind=1, doff=1),
        "size": octets_of(kind=1, size=7),
        "large": octets_of(SaslResponse(b"x" * 600), kind=1),
        "cut": octets_of(b"\x00\x53\x43\xc0\x09\x01", kind=1),
        "unknown": octets_of(b"\x00\x53\x70\x45", kind=1),
        "untimely": sasl(SaslMechanisms(("PLAIN",))),
    }[wrong]


@pytest.mark.rule("1.0/security/sasl/frame-empty", "1.0/security/sasl/frame-one", "1.0/security/sasl/frame-max")
@pytest.mark.rule("1.0/security/sasl/frame-type", "1.0/security/sasl/mechanisms-first", "1.0/security/sasl/roles")
@pytest.mark.parametrize(
    ("wrong", "rule"),
    [
        ("empty", "security/sasl/frame-empty"),
        ("amqp", "transport/frame/type"),
        ("amqp empty", "transport/frame/type"),
        ("performative", "security/sasl/frame-one"),
        ("surplus", "security/sasl/frame-one"),
        ("doff", "transport/frame/doff"),
        ("size", "transport/frame/size"),
        ("large", "transport/open/max-frame-size"),
        ("cut", "types/compound-layout"),
        ("unknown", "transport/frame/performative"),
        ("untimely", "security/sasl/"),
    ],
)
@pytest.mark.parametrize("side", [CLIENT, SERVER], ids=lambda side: side.value)
def test_wrong_frames_end_the_layer_without_a_word(side: Any, wrong: str, rule: str) -> None:
    config = client_config(sasl=MECHANISMS[0]) if side is CLIENT else OFFERING
    facing = Facing.in_sasl(side, config).forget()
    offset = facing.fed
    facing.feed(frames_of_both(wrong))
    (failed,) = facing.of(Failed)
    error = failed.error
    assert isinstance(error, RemoteProtocolError)
    assert error.rule is not None
    if wrong != "cut":
        assert error.rule.startswith(f"1.0/{rule}")
    assert (error.offset, error.condition) == (offset, "")
    assert facing.out == b""
    assert facing.end.close_hint is CloseHint.CLOSE_WHEN_SENT


@pytest.mark.rule("1.0/security/sasl/frame-type")
def test_ignored_parts_of_a_frame_are_ignored() -> None:
    """Octets 6 and 7 and the extended header mean nothing."""
    facing = Facing.in_sasl(SERVER, OFFERING).forget()
    init = SaslInit("PLAIN", b"\0me\0secret").encode()
    facing.feed(octets_of(init, 0xABCD, kind=1, doff=4, extended=b"whatever"))
    assert facing.of(AuthenticationRequested)


@pytest.mark.rule("1.0/security/sasl/mechanisms-nonempty")
def test_no_mechanisms_are_an_error() -> None:
    facing = Facing(CLIENT, client_config(sasl=MECHANISMS[0])).forget()
    facing.feed(SASL_HEADER, sasl(b"\x00\x53\x40\x45"))
    facing.ends("types/field-multiple-mandatory")


@pytest.mark.rule("1.0/security/sasl/steps")
def test_rounds_without_end_are_ended() -> None:
    config = client_config(sasl=MECHANISMS[5], limits=Limits(sasl_rounds=1))
    facing = Facing.in_sasl(CLIENT, config).forget()
    facing.feed(sasl(SaslChallenge(b"{}")))
    facing.feed(sasl(SaslChallenge(b"{}")))
    facing.ends("security/sasl/steps")


@pytest.mark.rule("1.0/security/sasl/frame-max")
def test_long_tokens_need_a_peer_that_takes_them() -> None:
    token = "x" * 3000
    facing = Facing.in_sasl(CLIENT, client_config(sasl=OAuthBearer(token)))
    error = facing.ends("security/sasl/frame-max")
    assert "initial_frame_size" in str(error)
    pair = Pair(
        client=client_config(sasl=OAuthBearer(token), initial_frame_size=8192),
        server=server_config(mechanisms=("OAUTHBEARER",), initial_frame_size=8192),
    ).open()
    asked = [event for event in pair.events[SERVER] if isinstance(event, AuthenticationRequested)]
    assert asked[0].credentials.token == token


# Decisions.


def test_nothing_is_read_before_the_decision() -> None:
    facing = _asked()
    begin = Begin(next_outgoing_id=0, incoming_window=1, outgoing_window=1)
    facing.feed(AMQP_HEADER + octets_of(their_open()) + octets_of(begin))
    assert facing.events == []
    assert facing.end.receive_budget > 0
    facing.end.accept_authentication()
    facing.settle()
    assert facing.names() == ["sasl-outcome", "header 0"]


def test_decisions_are_taken_once_and_when_asked() -> None:
    facing = Facing.in_sasl(SERVER, OFFERING)
    calls: list[Any] = [
        facing.end.accept_authentication,
        facing.end.refuse_authentication,
        facing.end.accept_open,
        facing.end.refuse_open,
        lambda: facing.end.provide_scram_keys(None),
    ]
    for call in calls:
        before = pickle.dumps(facing.end)
        with pytest.raises(LocalProtocolError):
            call()
        assert pickle.dumps(facing.end) == before
    facing.feed(sasl(SaslInit("PLAIN", b"\0me\0secret")))
    facing.end.refuse_authentication("no")
    for call in calls:
        with pytest.raises(EndpointClosed):
            call()


def test_scram_keys_that_are_none_are_refused_with_the_question_open() -> None:
    facing = Facing.in_sasl(SERVER, OFFERING)
    facing.feed(sasl(SaslInit("SCRAM-SHA-256", b"n,,n=user,r=abc")))
    with pytest.raises(LocalProtocolError, match="aren't keys"):
        facing.end.provide_scram_keys(scram_keys("x", b"salt", digest="sha1"))
    facing.end.provide_scram_keys(scram_keys("x", b"salt"))
    facing.forget()


def test_opened_comes_behind_the_layers() -> None:
    pair = Pair(client=client_config(sasl=MECHANISMS[0]), server=OFFERING).open()
    assert [type(event) for event in pair.events[CLIENT]] == [Opened]
    assert [type(event).__name__ for event in pair.events[SERVER]] == [
        "AuthenticationRequested",
        "OpenRequested",
        "Opened",
    ]
