"""The login of 0-10: every mechanism both ways, challenges, refusals, steps out of turn (class 1)."""

import pickle

import pytest

from amqp_sansio import (
    AuthenticationRequested,
    By,
    Closed,
    CloseHint,
    Event,
    Failed,
    Limits,
    LocalProtocolError,
    Opened,
    OpenRequested,
    ScramKeysRequested,
    Side,
)
from amqp_sansio import amqp_0_10 as amqp
from amqp_sansio.sasl import ClientMechanism, OAuthBearer, Plain, ScramSha1, ScramSha256, scram_keys
from tests.kit.facing import CLIENT, SERVER
from tests.kit.facing_0_10 import Facing, client_config, server_config
from tests.kit.logins import MECHANISMS, NONCE, OFFER, Judge
from tests.kit.octets_0_10 import HEADER, Sent, control, parse, start, start_ok, tune, tune_ok, vbin32
from tests.kit.pair import pieces
from tests.kit.pair_0_10 import Pair


class Login(Pair):
    """A client and a server that log in; the server has one user. `pickled`: both are copied at every step."""

    def __init__(self, client: amqp.Config, *, step: int = 1000, pickled: bool = False) -> None:
        super().__init__(client=client, server=server_config(**OFFER), chunks=pieces(step))
        self.judge = Judge()
        self.pickled = pickled
        self.pump()

    def hear(self, side: Side, event: Event) -> None:
        """The server's application decides."""
        self.events[side].append(event)
        if not self.judge(self.ends[side], event) and isinstance(event, OpenRequested):
            self.ends[side].accept_open()

    def drain(self, side: Side) -> bool:
        """As the base's, and goes on with a copy."""
        found = super().drain(side)
        if self.pickled:
            self.ends[side] = pickle.loads(pickle.dumps(self.ends[side]))
        return found

    def wrote(self, side: Side) -> list[Sent]:
        """The header and controls that one side has sent."""
        return parse(bytes(self.sent[side]))


@pytest.mark.parametrize("step", [1, 1000])
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda each: each.name)
def test_every_mechanism_lets_in(mechanism: ClientMechanism, step: int) -> None:
    login = Login(client_config(sasl=mechanism), step=step, pickled=step == 1)
    for side in (CLIENT, SERVER):
        assert login.ends[side].is_open, login.events
        assert login.ends[side].mechanism == mechanism.name
        assert isinstance(login.events[side][-1], Opened)
    asked = login.judge.asked[-1]
    assert isinstance(asked, AuthenticationRequested)
    assert asked.mechanism == asked.credentials.mechanism == mechanism.name
    # Who the others are, their certificate or token says.
    known = mechanism.name in ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-1", "XOAUTH2")
    assert login.ends[SERVER].user == ("user" if known else "")


def test_scram_takes_two_rounds() -> None:
    login = Login(client_config(sasl=MECHANISMS[1]))
    names = [each.name for each in login.wrote(SERVER)]
    assert names[:5] == ["header", "connection.start", "connection.secure", "connection.secure", "connection.tune"]
    assert [type(event) for event in login.judge.asked] == [ScramKeysRequested, AuthenticationRequested]
    challenge = login.wrote(SERVER)[2]
    assert challenge.record.challenge.startswith(b"r=" + NONCE.encode())
    answer = next(each for each in login.wrote(CLIENT) if each.name == "connection.secure-ok")
    assert answer.record.response.startswith(b"c=biws,r=")


@pytest.mark.parametrize(
    "mechanism",
    [
        Plain("user", "wrong"),
        ScramSha256("user", "wrong", nonce=NONCE),
        ScramSha256("nobody", "secret", nonce=NONCE),
        ScramSha1("user", "wrong", nonce=NONCE),
    ],
)
def test_who_may_not_is_told_with_a_close(mechanism: ClientMechanism) -> None:
    login = Login(client_config(sasl=mechanism))
    told = login.wrote(SERVER)[-1]
    assert (told.name, told.record.reply_code) == ("connection.close", 320)
    for side, by in ((CLIENT, By.REMOTE), (SERVER, By.LOCAL)):
        (closed,) = [event for event in login.events[side] if isinstance(event, Closed)]
        assert closed.report.by is by
        assert login.ends[side].close_hint is CloseHint.CLOSE_WHEN_SENT
    (closed,) = [event for event in login.events[CLIENT] if isinstance(event, Closed)]
    assert (closed.report.code, "login was refused" in closed.report.hint) == (320, True)


def test_an_unknown_user_is_refused_in_the_words_of_a_wrong_password() -> None:
    wrong = Login(client_config(sasl=ScramSha256("user", "wrong", nonce=NONCE)))
    nobody = Login(client_config(sasl=ScramSha256("nobody", "secret", nonce=NONCE)))
    assert wrong.wrote(SERVER)[-1].octets == nobody.wrote(SERVER)[-1].octets


def test_a_server_that_does_not_know_the_password_is_found_out() -> None:
    facing = Facing(CLIENT, client_config(sasl=MECHANISMS[1]))
    facing.feed(HEADER + start("SCRAM-SHA-256"))
    facing.forget()
    facing.feed(control(0x0103, vbin32(b"r=" + NONCE.encode() + b"more,s=c2l4dGVlbiBvY3RldHMuLg==,i=4096")))
    assert facing.names() == ["connection.secure-ok"]
    facing.forget()
    # It lets in without having proven that it knows the user.
    facing.feed(tune())
    facing.ends(None)


@pytest.mark.parametrize(
    "challenge",
    [
        b"",
        b"r=other,s=c2l4dGVlbiBvY3RldHMuLg==,i=4096",
        b"e=other-error",
        b"\xff\xff",
        b"r=" + NONCE.encode() + b"x,s=c2l4dGVlbg==,i=1",
    ],
)
def test_a_challenge_that_makes_no_sense_ends_the_login(challenge: bytes) -> None:
    facing = Facing(CLIENT, client_config(sasl=MECHANISMS[1]))
    facing.feed(HEADER + start("SCRAM-SHA-256"))
    facing.forget()
    facing.feed(control(0x0103, vbin32(challenge)))
    facing.ends(None)


def test_plain_has_no_challenge() -> None:
    facing = Facing.started(CLIENT)
    facing.feed(control(0x0103, vbin32(b"more?")))
    facing.ends(None)


def test_challenges_are_bounded() -> None:
    facing = Facing(CLIENT, client_config(sasl=OAuthBearer("t"), limits=Limits(sasl_rounds=0)))
    facing.feed(HEADER + start("OAUTHBEARER"))
    facing.forget()
    facing.feed(control(0x0103, vbin32(b"{}")))
    error = facing.ends(None)
    assert "Limits.sasl_rounds" in str(error)


@pytest.mark.parametrize("response", [b"", b"ann", b"\0ann", b"ann\0pw"])
def test_a_response_that_is_none_is_refused(response: bytes) -> None:
    facing = Facing.started(SERVER)
    facing.feed(start_ok("PLAIN", response))
    assert facing.of(AuthenticationRequested) == []
    assert isinstance(facing.events[0], Failed)
    assert facing.names() == ["connection.close"]


def test_nothing_goes_on_before_the_decision() -> None:
    facing = Facing.started(SERVER)
    facing.feed(start_ok() + tune_ok())
    assert facing.out == b""
    assert facing.end.state == "authenticating"
    with pytest.raises(LocalProtocolError, match="scram keys"):
        facing.end.provide_scram_keys(None)
    with pytest.raises(LocalProtocolError):
        facing.end.accept_open()
    facing.end.accept_authentication()
    with pytest.raises(LocalProtocolError):
        facing.end.accept_authentication()
    facing.settle()
    assert facing.names() == ["connection.tune"]
    assert facing.end.state == "tuned"


def test_a_client_that_answers_no_challenge_is_out_of_turn() -> None:
    facing = Facing.started(SERVER)
    facing.feed(control(0x0104, vbin32(b"x")))
    facing.closes(501, None)
    client = Facing.started(CLIENT)
    client.feed(start())
    client.closes(501, None)


def test_secure_octet_by_octet() -> None:
    facing = Facing.started(SERVER, server_config(mechanisms=("SCRAM-SHA-256",), nonce="n" * 24))
    facing.feed(start_ok("SCRAM-SHA-256", b"n,,n=user,r=" + NONCE.encode()))
    facing.end.provide_scram_keys(scram_keys("secret", b"sixteen octets..", digest="sha256"))
    facing.settle()
    challenge = b"r=" + NONCE.encode() + b"n" * 24 + b",s=c2l4dGVlbiBvY3RldHMuLg==,i="
    assert facing.out[12:16] == bytes.fromhex("01030100")
    assert facing.out[20:].startswith(challenge)
