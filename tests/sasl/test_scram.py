"""SCRAM on both sides: the RFCs' examples, every kind of tampering, bounds, both endings."""

import pickle
from base64 import b64decode

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from amqp_sansio.sasl import (
    Challenge,
    Denied,
    NeedScramKeys,
    SaslError,
    SaslState,
    ScramKeys,
    ScramSha1,
    ScramSha256,
    ServerStep,
    Verified,
    scram_keys,
    server_mechanism,
)
from amqp_sansio.sasl._scram_server import decoy_scram_keys

# RFC 5802 section 5 and RFC 7677 section 3: user "user", password "pencil".
SHA1 = (
    b"n,,n=user,r=fyko+d2lbbFgONRv9qkxdawL",
    b"r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,s=QSXCR+Q6sek8bf92,i=4096",
    b"c=biws,r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,p=v0X8v3Bz2T0CJGbJQyF0X+HI4Ts=",
    b"v=rmF9pqV8S7suAoZWja4dJRkFsKQ=",
)
SHA256 = (
    b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO",
    b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",
    b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=",
    b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=",
)
CLIENT1 = ScramSha1("user", "pencil", nonce="fyko+d2lbbFgONRv9qkxdawL")
CLIENT256 = ScramSha256("user", "pencil", nonce="rOprNGfwEbeRWgbNEkqO")
SERVER1 = ("SCRAM-SHA-1", "3rfcNHYJY1ZVvWVs7j", "QSXCR+Q6sek8bf92", "sha1")
SERVER256 = ("SCRAM-SHA-256", "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0", "W22ZaJ0SNY7soEsUEjb6gQ==", "sha256")

SALT = bytes(range(16))
QUICK = scram_keys("pencil", SALT, 1)


def copied(state: SaslState) -> SaslState:
    """The state after a pickle round trip, which must change nothing and show no secret."""
    copy: SaslState = pickle.loads(pickle.dumps(state))
    assert copy == state
    assert "pencil" not in repr(state)
    return copy


def quick_client(password: str = "pencil", **changes: str | int) -> ScramSha256:
    """A client that accepts a single iteration."""
    authzid = str(changes.get("authzid", ""))
    return ScramSha256("user", password, "client", authzid, 1, int(changes.get("most", 100)))


def run(
    client: ScramSha1 | ScramSha256, keys: ScramKeys | None, *, success_data: bool = False, nonce: str = "server"
) -> ServerStep:
    """Let the client talk to a server that has `keys`; the server's last step."""
    server = server_mechanism(client.name, nonce=nonce, success_data=success_data)
    ours, response = client.initial()
    theirs, step = server.start(response)
    assert isinstance(step, NeedScramKeys)
    theirs, step = server.keys(copied(theirs), keys)
    while isinstance(step, Challenge):
        ours, response = client.step(copied(ours), step.data)
        theirs, step = server.step(copied(theirs), response)
    if isinstance(step, Verified):
        client.complete(ours, step.additional)
    return step


@pytest.mark.parametrize(("client", "messages"), [(CLIENT1, SHA1), (CLIENT256, SHA256)])
def test_the_client_side_of_the_rfc_examples(client: ScramSha1 | ScramSha256, messages: tuple[bytes, ...]) -> None:
    state, response = client.initial()
    assert response == messages[0]
    state, response = client.step(copied(state), messages[1])
    assert response == messages[2]
    assert "signature" not in repr(state)
    client.complete(state, messages[3])
    state, response = client.step(copied(state), messages[3])
    assert response == b""
    client.complete(state)


@pytest.mark.parametrize(("config", "messages"), [(SERVER1, SHA1), (SERVER256, SHA256)])
@pytest.mark.parametrize("success_data", [False, True])
def test_the_server_side_of_the_rfc_examples(
    config: tuple[str, str, str, str], messages: tuple[bytes, ...], success_data: bool
) -> None:
    name, nonce, salt, digest = config
    keys = scram_keys("pencil", b64decode(salt), 4096, digest)
    server = server_mechanism(name, nonce=nonce, success_data=success_data)
    assert pickle.loads(pickle.dumps(server)) == server
    state, step = server.start(messages[0])
    assert step == NeedScramKeys(name, "user")
    state, step = server.keys(copied(state), keys)
    assert step == Challenge(messages[1])
    state, step = server.step(copied(state), messages[2])
    if success_data:
        assert step == Verified(name, "user", "", messages[3])
    else:
        assert step == Challenge(messages[3])
        state, step = server.step(copied(state), b"")
        assert step == Verified(name, "user")
    with pytest.raises(SaslError, match=r"no .* challenge waits"):
        server.step(state, b"")
    with pytest.raises(SaslError, match="doesn't wait for keys"):
        server.keys(state, keys)


def test_the_example_keys_show_no_secret() -> None:
    keys = scram_keys("pencil", SALT, 4096)
    assert pickle.loads(pickle.dumps(keys)) == keys
    assert repr(keys.stored_key) not in repr(keys)
    assert repr(keys.server_key) not in repr(keys)


characters = st.characters(exclude_categories=["Cs"], exclude_characters="\0")


@given(
    user=st.text(characters, min_size=1, max_size=8),
    password=st.text(characters, max_size=8),
    authzid=st.text(characters, max_size=4),
    sha1=st.booleans(),
    success_data=st.booleans(),
    nonce=st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters=",")),
)
@example("a,b=c", "", "d,=e", False, False, "x")
@example("\u2168", "\u00aa", "", True, True, "=")
def test_client_and_server_agree(
    user: str, password: str, authzid: str, sha1: bool, success_data: bool, nonce: str
) -> None:
    assume(nonce)
    kind = ScramSha1 if sha1 else ScramSha256
    client = kind(user, password, nonce, authzid, 1)
    try:
        keys = scram_keys(password, SALT, 2, "sha1" if sha1 else "sha256")
        client.initial()
    except SaslError as error:
        assert "SASLprep" in str(error) or "is empty" in str(error)
        return
    step = run(client, keys, success_data=success_data)
    assert isinstance(step, Verified)
    assert (step.mechanism, step.authzid) == (client.name, authzid)
    assert bool(step.additional) == success_data


def test_equivalent_spellings_are_the_same_user_and_password() -> None:
    server = server_mechanism("SCRAM-SHA-256", nonce="server")
    _, step = server.start("n,,n=\u2168,r=x".encode())
    assert step == NeedScramKeys("SCRAM-SHA-256", "IX")
    client = ScramSha256("user", "I\u00adX", "client", "", 1)
    assert isinstance(run(client, scram_keys("IX", SALT, 1)), Verified)


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=8))
@example("Pencil")
@example("pencil ")
@example("")
def test_a_wrong_password_is_denied(password: str) -> None:
    assume(password != "pencil")
    assert run(quick_client(password), QUICK) == Denied("wrong password for user 'user'")


def test_an_unknown_user_is_denied_or_looks_like_a_wrong_password() -> None:
    step = run(quick_client(), None)
    assert isinstance(step, Denied)
    assert not step.malformed
    decoy = decoy_scram_keys("user", b"0123456789abcdef", 1)
    assert run(quick_client(), decoy) == Denied("wrong password for user 'user'")
    assert len(decoy.salt) == 16
    assert decoy_scram_keys("other", b"0123456789abcdef", 1).salt != decoy.salt
    sha1 = decoy_scram_keys("user", b"0123456789abcdef", 1, "sha1")
    assert (len(sha1.stored_key), len(sha1.server_key)) == (20, 20)


def test_a_server_that_does_not_know_the_password_is_found_out() -> None:
    keys = scram_keys("pencil", SALT, 1)
    impostor = ScramKeys(keys.salt, 1, keys.stored_key, scram_keys("other", SALT, 1).server_key)
    for success_data in (False, True):
        with pytest.raises(SaslError, match="it doesn't know the password"):
            run(quick_client(), impostor, success_data=success_data)


def test_success_before_the_servers_proof_is_not_believed() -> None:
    state, _ = CLIENT256.initial()
    with pytest.raises(SaslError, match="impostor"):
        CLIENT256.complete(state)
    with pytest.raises(SaslError, match="impostor"):
        CLIENT256.complete(state, SHA256[3])
    state, _ = CLIENT256.step(state, SHA256[1])
    with pytest.raises(SaslError, match="impostor"):
        CLIENT256.complete(state)
    state, _ = CLIENT256.step(state, SHA256[3])
    with pytest.raises(SaslError, match="after the last"):
        CLIENT256.step(state, b"")


@pytest.mark.parametrize(
    ("challenge", "text"),
    [
        (b"", "form 'r=...,s=...,i=...'"),
        (b"\xff", "isn't UTF-8"),
        (b"r=clientx,s=QQ==", "form"),
        (b"s=QQ==,r=clientx,i=1", "form"),
        (b"m=x,r=clientx,s=QQ==,i=1", "mandatory extension"),
        (b"e=other-error", r"it refuses \(other-error\)"),
        (b"r=client,s=QQ==,i=1", "its nonce isn't the client's"),
        (b"r=xclient,s=QQ==,i=1", "its nonce isn't the client's"),
        (b"r=,s=QQ==,i=1", "its nonce isn't the client's"),
        ("r=clienté,s=QQ==,i=1".encode(), "its nonce isn't the client's"),
        (b"r=clientx,s=,i=1", "salt is empty"),
        (b"r=clientx,s=Q,i=1", "salt isn't base64"),
        (b"r=clientx,s=Q*==,i=1", "salt isn't base64"),
        ("r=clientx,s=é,i=1".encode(), "salt isn't base64"),
        (b"r=clientx,s=QQ==,i=", "count isn't a positive number"),
        (b"r=clientx,s=QQ==,i=0", "count isn't a positive number"),
        (b"r=clientx,s=QQ==,i=-1", "count isn't a positive number"),
        (b"r=clientx,s=QQ==,i=01", "count isn't a positive number"),
        ("r=clientx,s=QQ==,i=\u0661".encode(), "count isn't a positive number"),
        (b"r=clientx,s=QQ==,i=101", "asks for 101 iterations, but only 1 to 100"),
        (b"r=clientx,s=QQ==,i=" + b"9" * 9000, "asks for 999999999999 iterations"),
    ],
)
def test_first_messages_a_client_refuses(challenge: bytes, text: str) -> None:
    client = quick_client()
    state, _ = client.initial()
    with pytest.raises(SaslError, match=text) as caught:
        client.step(state, challenge)
    assert "pencil" not in str(caught.value)


@pytest.mark.parametrize("iterations", [1, 4095, 100_001, 10**30])
def test_iteration_counts_outside_the_default_bounds_are_refused(iterations: int) -> None:
    state, _ = CLIENT256.initial()
    with pytest.raises(SaslError, match="only 4096 to 100000 are allowed"):
        CLIENT256.step(state, SHA256[1].replace(b"4096", b"%d" % iterations))


def test_extensions_of_the_server_are_passed_over() -> None:
    client = quick_client()
    state, _ = client.initial()
    state, _ = client.step(state, b"r=clientx,s=QQ==,i=1,x=y")
    with pytest.raises(SaslError, match="doesn't know the password"):
        client.step(state, b"v=QQ==,x=y")


@pytest.mark.parametrize(
    ("final", "text"),
    [
        (b"", "form 'v=...'"),
        (b"e=invalid-proof", r"it refuses \(invalid-proof\)"),
        (b"v=*", "signature isn't base64"),
        (b"v=QQ==", "doesn't know the password"),
        (SHA1[3], "doesn't know the password"),
    ],
)
def test_last_messages_a_client_refuses(final: bytes, text: str) -> None:
    state, _ = CLIENT256.initial()
    state, _ = CLIENT256.step(state, SHA256[1])
    with pytest.raises(SaslError, match=text):
        CLIENT256.step(state, final)
    if final:
        with pytest.raises(SaslError, match=text):
            CLIENT256.complete(state, final)


@pytest.mark.parametrize(
    ("first", "text"),
    [
        (b"", "GS2 header"),
        (b"\xff", "isn't UTF-8"),
        (b"n,,", "form 'n=...,r=...'"),
        (b"n,,r=x,n=user", "form 'n=...,r=...'"),
        (b"n,,m=x,n=user,r=x", "mandatory extension"),
        (b"p=tls-unique,,n=user,r=x", "channel binding, which wasn't offered"),
        (b"n,,n=,r=x", "user name is empty"),
        (b"n,,n=a=2c,r=x", "bare '='"),
        (b"n,,n=\x07,r=x", "SASLprep"),
        ("n,,n=\u200b,r=x".encode(), "user name is empty"),
        (b"n,,n=a\0,r=x", "holds a NUL"),
        (b"n,,n=user,r=", "nonce isn't visible"),
        (b"n,,n=user,r=a b", "nonce isn't visible"),
        (b"n,x=y,n=user,r=x", "other than 'a='"),
    ],
)
def test_first_messages_a_server_denies(first: bytes, text: str) -> None:
    _, step = server_mechanism("SCRAM-SHA-1", nonce="server").start(first)
    assert isinstance(step, Denied)
    assert step.malformed
    assert text in step.text


def answered(first: bytes = b"n,,n=user,r=client") -> SaslState:
    """The state of a server that waits for the client's proof."""
    server = server_mechanism("SCRAM-SHA-256", nonce="server")
    state, _ = server.start(first)
    state, step = server.keys(state, QUICK)
    assert isinstance(step, Challenge)
    return state


@pytest.mark.parametrize(
    ("final", "text"),
    [
        (b"", "form 'c=...,r=...'"),
        (b"\xff", "isn't UTF-8"),
        (b"c=biws,r=clientserver", "proof isn't the last"),
        (b"c=biws,r=clientserver,p=QQ==,x=y", "proof isn't the last"),
        (b"c=eSws,r=clientserver,p=QQ==", "channel binding isn't the GS2 header"),
        (b"c=*,r=clientserver,p=QQ==", "channel binding isn't base64"),
        (b"c=biws,r=client,p=QQ==", "nonce isn't the one"),
        (b"c=biws,r=clientserverx,p=QQ==", "nonce isn't the one"),
        (b"c=biws,r=clientserver,p=*", "proof isn't base64"),
        (b"c=biws,r=clientserver,p=QQ==", "hasn't the digest's size"),
        (b"m=x,c=biws,r=clientserver,p=QQ==", "mandatory extension"),
    ],
)
def test_last_messages_a_server_denies(final: bytes, text: str) -> None:
    _, step = server_mechanism("SCRAM-SHA-256", nonce="server").step(answered(), final)
    assert isinstance(step, Denied)
    assert step.malformed
    assert text in step.text


def test_a_client_that_could_bind_channels_is_let_in() -> None:
    client = quick_client()
    state = answered(b"y,,n=user,r=client")
    # "y" instead of "n" is part of what is signed: another c= gives another proof.
    _, step = server_mechanism("SCRAM-SHA-256", nonce="server").step(
        state, client.step(client.initial()[0], b"r=clientserver,s=QQ==,i=1")[1]
    )
    assert isinstance(step, Denied)
    assert "channel binding isn't the GS2 header" in step.text


def test_an_answer_to_the_servers_proof_is_empty() -> None:
    client, server = quick_client(), server_mechanism("SCRAM-SHA-256", nonce="server")
    ours, response = client.initial()
    theirs, _ = server.start(response)
    theirs, step = server.keys(theirs, QUICK)
    assert isinstance(step, Challenge)
    theirs, step = server.step(theirs, client.step(ours, step.data)[1])
    assert isinstance(step, Challenge)
    _, step = server.step(theirs, b"x")
    assert isinstance(step, Denied)
    assert step.malformed


def test_a_missing_first_response_is_asked_for() -> None:
    server = server_mechanism("SCRAM-SHA-256", nonce="server")
    state, step = server.start(None)
    assert step == Challenge(b"")
    _, step = server.step(copied(state), SHA256[0])
    assert step == NeedScramKeys("SCRAM-SHA-256", "user")


@given(st.binary(max_size=60))
def test_any_octets_end_in_a_decision(octets: bytes) -> None:
    server = server_mechanism("SCRAM-SHA-256", nonce="server")
    assert isinstance(server.start(octets)[1], NeedScramKeys | Denied)
    assert isinstance(server.step(answered(), octets)[1], Denied)
    client = quick_client()
    state, _ = client.initial()
    with pytest.raises(SaslError):
        client.step(state, octets)
    state, _ = client.step(state, b"r=clientserver,s=QQ==,i=1")
    with pytest.raises(SaslError):
        client.step(state, octets)


@given(st.data())
def test_no_message_survives_a_change(data: st.DataObject) -> None:
    """Whatever one octet becomes, on any of the four messages, somebody refuses."""
    target = data.draw(st.integers(0, 3))

    def pass_on(number: int, message: bytes) -> bytes:
        if number != target or not message:
            return message
        position = data.draw(st.integers(0, len(message) - 1))
        octet = data.draw(st.integers(0, 255).filter(lambda it: it != message[position]))
        return message[:position] + bytes([octet]) + message[position + 1 :]

    client = ScramSha256("user", "pencil", "client", "you", 1)
    server = server_mechanism("SCRAM-SHA-256", nonce="server")
    try:
        ours, response = client.initial()
        theirs, step = server.start(pass_on(0, response))
        if isinstance(step, NeedScramKeys):
            theirs, step = server.keys(theirs, QUICK)
        for number in (1, 3):
            if isinstance(step, Challenge):
                ours, response = client.step(ours, pass_on(number, step.data))
                theirs, step = server.step(theirs, pass_on(number + 1, response))
        if isinstance(step, Verified):
            client.complete(ours, step.additional)
    except SaslError:
        return
    assert isinstance(step, Denied)


@pytest.mark.parametrize("nonce", ["", "a,b", "a b", "é", "\x7f"])
def test_a_server_needs_a_nonce(nonce: str) -> None:
    with pytest.raises(SaslError, match="nonce"):
        server_mechanism("SCRAM-SHA-1", nonce=nonce)


def test_keys_that_do_not_fit_are_the_applications_fault() -> None:
    server = server_mechanism("SCRAM-SHA-1", nonce="server")
    state, _ = server.start(b"n,,n=user,r=client")
    with pytest.raises(SaslError, match="aren't keys for SCRAM-SHA-1"):
        server.keys(state, QUICK)
    with pytest.raises(SaslError, match="lack a salt"):
        server.keys(state, ScramKeys(b"", 1, bytes(20), bytes(20)))
    with pytest.raises(SaslError, match="lack a salt"):
        server.keys(state, ScramKeys(b"x", 0, bytes(20), bytes(20)))


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("x", b"salt", 1, "md5"), "isn't one of sha256, sha1"),
        (("x", b"", 1, "sha1"), "at least one octet"),
        (("x", b"salt", 0, "sha1"), "at least one iteration"),
        (("a\x07", b"salt", 1, "sha1"), "forbids the password"),
        (("a\0", b"salt", 1, "sha1"), "holds a NUL"),
        (("\U0001f600", b"salt", 1, "sha1"), r"Unicode 3\.2"),
    ],
)
def test_what_no_keys_are_made_of(arguments: tuple[str, bytes, int, str], text: str) -> None:
    with pytest.raises(SaslError, match=text):
        scram_keys(*arguments)
    if text.startswith("isn't"):
        with pytest.raises(SaslError, match=text):
            decoy_scram_keys("user", b"secret", 1, "md5")
