"""Mechanisms that a user adds to a registry: by name at both ends, in every version, and the package stays as it is."""

import pickle
from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

import pytest

from amqp_sansio import Side
from amqp_sansio.broker import Settings
from amqp_sansio.client.amqp_0_10.settings import client_config as config_0_10
from amqp_sansio.client.amqp_1_0.settings import client_config as config_1_0
from amqp_sansio.client.classic.settings import client_config as config_classic
from amqp_sansio.sasl import (
    MECHANISMS,
    Challenge,
    ClientMechanism,
    Credentials,
    Denied,
    SaslError,
    SaslState,
    ScramKeys,
    ServerMechanism,
    ServerStep,
    ServerTerms,
    Verified,
    client_mechanisms,
    server_mechanism,
)
from amqp_sansio.sasl._registry import SERVER_MECHANISMS
from amqp_sansio.uri import parse
from amqp_sansio.versions import AMQP_0_9_1, AMQP_0_10, AMQP_1_0, Version
from tests.kit.hub import User, World
from tests.kit.versions import EVERY, KITS

ROUNDS = 3


class Counted(SaslState):
    """How many tokens of the other side have come."""

    __slots__ = ("seen",)

    def __init__(self, seen: int = 0) -> None:
        self.seen = seen


class Tickets(ClientMechanism):
    """GSSAPI as a client has it: tokens go to and fro until both sides have enough; the user's name is the last one."""

    name: ClassVar[str] = "GSSAPI"
    strength: ClassVar[int] = 65

    def __init__(self, user: str, password: str) -> None:
        self.user = user

    def initial(self) -> tuple[SaslState, bytes]:
        return Counted(), b"token 0"

    def step(self, state: SaslState, challenge: bytes) -> tuple[SaslState, bytes]:
        assert isinstance(state, Counted)
        if challenge != b"answer %d" % state.seen:
            raise SaslError("the server's token is wrong")
        seen = state.seen + 1
        return Counted(seen), self.user.encode() if seen == ROUNDS else b"token %d" % seen

    def complete(self, state: SaslState, additional: bytes = b"") -> None:
        assert isinstance(state, Counted)
        if state.seen != ROUNDS:
            raise SaslError("the server ends before its tokens do")


class TicketServer:
    """The server's half of it."""

    name = "GSSAPI"

    def __init__(self, terms: ServerTerms) -> None:
        self.terms = terms

    def start(self, response: bytes | None) -> tuple[SaslState, ServerStep]:
        return self.step(Counted(), response or b"")

    def step(self, state: SaslState, response: bytes) -> tuple[SaslState, ServerStep]:
        assert isinstance(state, Counted)
        if state.seen == ROUNDS:
            return state, Verified(self.name, response.decode())
        if response != b"token %d" % state.seen:
            return state, Denied("the client's token is wrong")
        return Counted(state.seen + 1), Challenge(b"answer %d" % state.seen)

    def keys(self, state: SaslState, keys: ScramKeys | None) -> tuple[SaslState, ServerStep]:
        raise SaslError("GSSAPI asks for no keys")


class Judged:
    """A mechanism with bearer tokens of the package, whose tokens are judged here: the users by token."""

    def __init__(self, name: str, users: Mapping[str, str]) -> None:
        self.name = name
        self.users = users

    def start(self, response: bytes | None) -> tuple[SaslState, ServerStep]:
        return self._judged(*server_mechanism(self.name).start(response))

    def step(self, state: SaslState, response: bytes) -> tuple[SaslState, ServerStep]:
        return self._judged(*server_mechanism(self.name).step(state, response))

    def keys(self, state: SaslState, keys: ScramKeys | None) -> tuple[SaslState, ServerStep]:
        raise SaslError("tokens ask for no keys")

    def _judged(self, state: SaslState, step: ServerStep) -> tuple[SaslState, ServerStep]:
        if isinstance(step, Credentials):
            user = self.users.get(step.token or "")
            return state, Denied("the token is nobody's") if user is None else Verified(self.name, user)
        return state, step


def judged_bearer(terms: ServerTerms) -> ServerMechanism:
    return Judged("OAUTHBEARER", {"good": "guest"})


def judged_xoauth2(terms: ServerTerms) -> ServerMechanism:
    return Judged("XOAUTH2", {"good": "guest"})


OWN = (
    MECHANISMS.with_client("GSSAPI", Tickets)
    .with_server("GSSAPI", TicketServer)
    .with_server("OAUTHBEARER", judged_bearer)
    .with_server("XOAUTH2", judged_xoauth2)
)


def logged_in(version: Version, name: str, user: str = "guest", password: str = "good", **changes: Any) -> bool:
    """Whether a client with a mechanism of `OWN` gets into a broker that offers it alone."""
    kit = KITS[version]
    world: World[User[Any]] = World(Settings(mechanisms=(name,), registry=OWN, seed=b"s", **changes))
    sasl = client_mechanisms([name], user, password, registry=OWN)[0]
    client = User(world, kit.end(Side.CLIENT, kit.client_config(sasl=sasl)))
    world.pump()
    return bool(client.end.is_open)


@EVERY
@pytest.mark.parametrize("name", ["GSSAPI", "OAUTHBEARER", "XOAUTH2"])
def test_a_mechanism_that_a_user_adds_logs_in_at_a_broker(version: Version, name: str) -> None:
    assert logged_in(version, name)


@EVERY
@pytest.mark.parametrize(("name", "user", "password"), [("OAUTHBEARER", "guest", "bad"), ("GSSAPI", "nobody", "")])
def test_what_it_refuses_doesnt_get_in(version: Version, name: str, user: str, password: str) -> None:
    assert not logged_in(version, name, user, password)


@EVERY
def test_a_mechanism_without_a_name_gets_in_where_anonymous_does(version: Version) -> None:
    assert logged_in(version, "MSSBCBS", anonymous=True)
    assert not logged_in(version, "MSSBCBS", anonymous=False)


@pytest.mark.parametrize("response", [None, b"", b"\0\xff anything"])
def test_mssbcbs_asks_nothing_of_its_response(response: bytes | None) -> None:
    server = server_mechanism("MSSBCBS")
    _, step = server.start(response)
    assert step == Credentials("MSSBCBS")


def test_mssbcbs_is_preferred_to_no_name_only() -> None:
    names = sorted(SERVER_MECHANISMS, key=lambda name: MECHANISMS.client(name, "u", "p").strength)
    assert names[:2] == ["ANONYMOUS", "MSSBCBS"]


def name_of(octets: int) -> str:
    return "n" * octets


@pytest.mark.parametrize(
    ("version", "config"),
    [(AMQP_0_9_1, partial(config_classic, AMQP_0_9_1)), (AMQP_0_10, config_0_10), (AMQP_1_0, config_1_0)],
)
def test_a_url_names_what_the_registry_has(version: Version, config: Any) -> None:
    uri = parse("amqp://ann:pw@host/?auth_mechanism=gssapi&auth_mechanism=plain")
    made = config(uri, {"registry": OWN}, name_of).sasl
    assert [each.name for each in made] == ["GSSAPI", "PLAIN"]
    with pytest.raises(SaslError, match="'GSSAPI' isn't known; known are PLAIN"):
        config(uri, {}, name_of)


@EVERY
def test_a_server_refuses_a_name_that_its_registry_lacks(version: Version) -> None:
    kit = KITS[version]
    with pytest.raises(ValueError, match="'GSSAPI' isn't known"):
        kit.end(Side.SERVER, kit.server_config(mechanisms=("GSSAPI",)))
    with pytest.raises(ValueError, match="'GSSAPI' isn't known"):
        Settings(mechanisms=("GSSAPI",))
    kit.end(Side.SERVER, kit.server_config(mechanisms=("GSSAPI",), registry=OWN))


@pytest.mark.parametrize("name", ["", "gssapi", "A B", "A" * 21, "\u0391"])
def test_what_cant_be_a_name_isnt_added(name: str) -> None:
    with pytest.raises(SaslError, match="can't name a SASL mechanism"):
        MECHANISMS.with_server(name, TicketServer)
    with pytest.raises(SaslError, match="can't name a SASL mechanism"):
        MECHANISMS.with_client(name, Tickets)


def test_adding_leaves_the_registry_as_it_was() -> None:
    assert MECHANISMS.server_names == SERVER_MECHANISMS
    assert OWN.server_names == (*SERVER_MECHANISMS, "GSSAPI")
    assert OWN != MECHANISMS
    assert MECHANISMS.with_client("GSSAPI", Tickets) == MECHANISMS.with_client("GSSAPI", Tickets)


def test_a_registry_pickles_and_names_what_is_added() -> None:
    assert pickle.loads(pickle.dumps(MECHANISMS)) is MECHANISMS
    assert pickle.loads(pickle.dumps(OWN)) == OWN
    assert repr(OWN) == "MechanismRegistry(XOAUTH2, OAUTHBEARER, GSSAPI, ...)"
    assert repr(MECHANISMS) == "MECHANISMS"


@pytest.mark.parametrize("name", SERVER_MECHANISMS)
def test_a_nonce_is_drawn_for_those_that_need_one(name: str) -> None:
    assert MECHANISMS.needs_nonce(name) is name.startswith("SCRAM")
    assert OWN.needs_nonce("GSSAPI")


def test_a_mechanism_of_ones_own_is_given_the_nonce_of_its_connection() -> None:
    settings = Settings(mechanisms=("GSSAPI",), registry=OWN, seed=b"s")
    one, two = [settings.configs_for(number)[AMQP_1_0].nonce for number in (1, 2)]
    assert one and two and one != two


def test_a_mechanisms_terms_hide_the_nonce() -> None:
    assert repr(ServerTerms("n0nce", True)) == "ServerTerms(success_data=True)"
