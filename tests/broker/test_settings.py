"""What Settings make the engines' configurations of, and who is let in, with which proof, into which virtual host."""

import doctest
import pickle
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0, Acceptor, Refused, Version
from amqp_sansio.amqp_0_9_1 import Config, Connection
from amqp_sansio.broker import ANONYMOUS_USER, BrokerLimits, Hub, Settings, User
from amqp_sansio.negotiation import Accepted
from amqp_sansio.sasl import (
    Credentials,
    NeedScramKeys,
    Plain,
    ScramKeys,
    ScramSha256,
    Verified,
    scram_keys,
    server_mechanism,
)

ROOT = Path(__file__).resolve().parents[2]
VERSIONS = (AMQP_0_9_1, AMQP_1_0, AMQP_0_10, AMQP_0_8)


def offered(settings: Settings, version: Version, peer_name: str = "") -> tuple[str, ...]:
    mechanisms: tuple[str, ...] = settings.configs_for(1, peer_name)[version].mechanisms
    return mechanisms


def test_every_version_is_spoken_and_0_9_1_preferred() -> None:
    configs = Settings().configs_for(1)
    assert tuple(configs) == VERSIONS
    assert len(configs) == 4
    with pytest.raises(KeyError):
        Settings(versions=(AMQP_1_0,)).configs_for(1)[AMQP_0_8]


@pytest.mark.parametrize("version", VERSIONS)
def test_each_version_offers_the_mechanisms_it_knows(version: Version) -> None:
    tables = ("AMQPLAIN",) if version in (AMQP_0_8, AMQP_0_9_1) else ()
    assert offered(Settings(), version) == ("SCRAM-SHA-256", "PLAIN", *tables)
    with_card = ("SCRAM-SHA-256", "EXTERNAL", "PLAIN", *tables)
    assert offered(Settings(), version, "me") == with_card
    anonymous = Settings(mechanisms=("PLAIN",), anonymous=True)
    assert offered(anonymous, version) == ("PLAIN", "ANONYMOUS")
    assert offered(Settings(mechanisms=("PLAIN", "ANONYMOUS")), version) == ("PLAIN",)


def test_external_alone_is_offered_to_all_since_none_would_mean_no_login() -> None:
    settings = Settings(mechanisms=("EXTERNAL",))
    for version in VERSIONS:
        assert offered(settings, version) == ("EXTERNAL",)


def test_a_version_that_knows_none_of_the_mechanisms_is_not_spoken() -> None:
    assert tuple(Settings(mechanisms=("AMQPLAIN",)).configs_for(1)) == (AMQP_0_9_1, AMQP_0_8)


def test_1_0_without_sasl_is_for_anonymous_clients() -> None:
    assert Settings().configs_for(1)[AMQP_1_0].sasl_required is True
    assert Settings(anonymous=True).configs_for(1)[AMQP_1_0].sasl_required is False


@pytest.mark.parametrize("version", VERSIONS)
def test_a_nonce_for_each_connection_that_nobody_foresees(version: Version) -> None:
    one, other = Settings(seed=b"one"), Settings(seed=b"other")
    nonces = {each.configs_for(number)[version].nonce for each in (one, other) for number in (1, 2)}
    assert len(nonces) == 4
    assert all(len(nonce) >= 24 for nonce in nonces)
    assert one.configs_for(2)[version].nonce == one.configs_for(2)[version].nonce


@pytest.mark.parametrize("version", VERSIONS)
def test_without_scram_connections_share_one_configuration(version: Version) -> None:
    settings = Settings(mechanisms=("PLAIN", "EXTERNAL"))
    assert settings.configs_for(1)[version] is settings.configs_for(2)[version]
    assert settings.configs_for(1, "me")[version] is settings.configs_for(2, "me")[version]
    assert settings.configs_for(1, "me")[version] is not settings.configs_for(1)[version]


def test_what_clients_are_told() -> None:
    settings = Settings(
        name="mine",
        product="RabbitMQ",
        product_version="4.1.0",
        properties={"motto": "in memory"},
        heartbeat=10,
        urls=("amqp:tcp:127.0.0.1:5672", "amqp:tcp:127.0.0.1:5673"),
    )
    configs = settings.configs_for(1)
    for config in configs.values():
        assert config.properties["product"] == "RabbitMQ"
        assert config.properties["version"] == "4.1.0"
        assert config.properties["motto"] == "in memory"
    assert configs[AMQP_0_9_1].properties["capabilities"]["per_consumer_qos"] is True
    assert configs[AMQP_0_9_1].heartbeat == configs[AMQP_0_8].heartbeat == 10
    assert configs[AMQP_1_0].idle_time_out == 20
    assert configs[AMQP_1_0].container_id == "mine"
    assert configs[AMQP_0_8].known_hosts == "127.0.0.1:5672,127.0.0.1:5673"
    assert configs[AMQP_0_10].known_hosts == settings.urls
    silent = Settings(heartbeat=0).configs_for(1)
    assert silent[AMQP_0_10].heartbeat_min is None
    assert silent[AMQP_1_0].idle_time_out == silent[AMQP_0_9_1].heartbeat == 0


@pytest.mark.rule("0-9-1/connection.start/server-properties")
def test_a_served_broker_says_who_and_where_it_is() -> None:
    hub = Hub(Settings(urls=("amqp:tcp:broker.example.org:5672",)))
    ours, theirs = hub.connect(), Connection.client(Config(sasl=Plain("guest", "guest")))
    ours.receive_data(theirs.data_to_send(0.0), 0.0)
    ours.next_event()
    theirs.receive_data(ours.data_to_send(0.0), 0.0)
    theirs.next_event()
    said = theirs.peer_properties
    assert said["host"] == "broker.example.org"
    wanted = ("product", "version", "copyright", "platform", "information")
    assert all(isinstance(said[name], str) and said[name] for name in wanted)
    assert Settings(urls=("amqp:tls:[::1]:5671",)).any_config.properties["host"] == "[::1]"
    assert "host" not in Settings().any_config.properties


def test_known_hosts_hold_as_many_addresses_as_fit() -> None:
    urls = tuple([f"amqp:tcp:{'h' * 60}{number}:5672" for number in range(9)])
    known: str = Settings(urls=urls).configs_for(1)[AMQP_0_8].known_hosts
    assert known.count(",") == 2 and len(known) <= 255


def test_a_configuration_of_ones_own_is_used_but_for_what_is_not_its_to_say() -> None:
    own = Config(mechanisms=("PLAIN", "SCRAM-SHA-256", "EXTERNAL"), frame_max=8192)
    settings = Settings(configs={AMQP_0_9_1: own})
    config = settings.configs_for(7)[AMQP_0_9_1]
    assert config.frame_max == 8192
    assert config.mechanisms == ("PLAIN", "SCRAM-SHA-256")
    assert config.nonce == settings.text("nonce", "7")
    assert settings.configs_for(7, "me")[AMQP_0_9_1].mechanisms == own.mechanisms
    assert settings.any_config.frame_max == 8192


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"mechanisms": ("PLAIN", "NONE")}, "'NONE' isn't known"),
        ({"mechanisms": ()}, "no version spoken has one"),
        ({"versions": ()}, "at least one version"),
        ({"vhosts": ()}, "one virtual host"),
        ({"vhosts": ("v" * 256,)}, "longer than 255"),
        ({"users": {"": "guest"}}, "needs a name"),
    ],
    ids=["mechanism", "no-mechanism", "no-version", "no-vhost", "long-vhost", "no-name"],
)
def test_settings_that_cannot_be(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Settings(**fields)


def test_changing_some_fields() -> None:
    settings = Settings(seed=b"s").but(vhosts=("/", "x"), limits=BrokerLimits(queues=3))
    assert settings.vhosts == ("/", "x") and settings.limits.queues == 3 and settings.seed == b"s"
    with pytest.raises(TypeError):
        settings.but(colour="red")


def test_a_snapshot_makes_the_same() -> None:
    settings = Settings(users={"me": User("pw")}, seed=b"s")
    assert settings.configs_for(1)[AMQP_0_10].nonce
    copy = pickle.loads(pickle.dumps(settings))
    assert copy == settings
    for version in VERSIONS:
        assert copy.configs_for(5)[version] == settings.configs_for(5)[version]


def test_labels_dont_run_into_each_other() -> None:
    settings = Settings(seed=b"s")
    assert settings.octets("ab", "c") != settings.octets("a", "bc") != settings.octets("abc")


@pytest.mark.parametrize("version", VERSIONS)
def test_the_acceptor_makes_server_connections_of_them(version: Version) -> None:
    acceptor = Acceptor(Settings().configs_for(1))
    acceptor.receive_data(version.header, 0.0)
    accepted = acceptor.result()
    assert isinstance(accepted, Accepted) and accepted.version is version


def test_who_asks_for_no_version_that_there_is_gets_0_9_1_offered() -> None:
    acceptor = Acceptor(Settings().configs_for(1))
    acceptor.receive_data(b"GET / HTTP/1.1\r\n", 0.0)
    refused = acceptor.result()
    assert isinstance(refused, Refused) and refused.reply == AMQP_0_9_1.header


SETTINGS = Settings(
    users={"guest": "guest", "me": User("s3cret", vhosts=("test",)), "card": User(), "ü": "ö"},
    vhosts=("/", "test"),
    seed=b"0123456789abcdef",
)


def verdict(credentials: Credentials, peer_name: str = "", settings: Settings = SETTINGS) -> str:
    """The user that is let in, or ""."""
    return settings.authenticate(credentials, is_secure=bool(peer_name), peer_name=peer_name).user


@pytest.mark.parametrize(
    ("credentials", "peer_name", "user"),
    [
        (Credentials("PLAIN", "guest", "guest"), "", "guest"),
        (Credentials("AMQPLAIN", "me", "s3cret"), "", "me"),
        (Credentials("PLAIN", "ü", "ö"), "", "ü"),
        (Credentials("PLAIN", "guest", "guest", authzid="guest"), "", "guest"),
        (Credentials("PLAIN", "guest", "guest", authzid="me"), "", ""),
        (Credentials("PLAIN", "guest", "guess"), "", ""),
        (Credentials("PLAIN", "guest", ""), "", ""),
        (Credentials("PLAIN", "nobody", "guest"), "", ""),
        (Credentials("PLAIN", "nobody", ""), "", ""),
        (Credentials("PLAIN", "card", ""), "", ""),
        (Credentials("PLAIN", "card", "card"), "", ""),
        (Credentials("PLAIN", "guest", "\ud800"), "", ""),
        (Credentials("SCRAM-SHA-256", "guest", verified=True), "", "guest"),
        (Credentials("SCRAM-SHA-256", "nobody", verified=True), "", ""),
        (Credentials("SCRAM-SHA-256", "guest", authzid="me", verified=True), "", ""),
        (Credentials("EXTERNAL"), "card", "card"),
        (Credentials("EXTERNAL", authzid="card"), "card", "card"),
        (Credentials("EXTERNAL", authzid="guest"), "card", ""),
        (Credentials("EXTERNAL"), "nobody", ""),
        (Credentials("EXTERNAL"), "", ""),
        (Credentials("EXTERNAL", authzid="card"), "", ""),
        (Credentials("ANONYMOUS", trace="me"), "", ""),
        (Credentials("XOAUTH2", "guest", token="guest"), "", ""),
        (Credentials("OAUTHBEARER", token="guest", authzid="guest"), "", ""),
    ],
    ids=str,
)
def test_who_is_let_in(credentials: Credentials, peer_name: str, user: str) -> None:
    assert verdict(credentials, peer_name) == user


def test_a_refusal_says_why_and_holds_no_secret() -> None:
    refused = SETTINGS.authenticate(Credentials("PLAIN", "me", "wr0ng"), is_secure=False, peer_name="")
    assert refused.reason == "the password of user 'me' is wrong"
    assert "s3cret" not in repr(SETTINGS) and "s3cret" not in repr(SETTINGS.users["me"])


def test_without_tls_a_certificates_name_counts_for_nothing() -> None:
    answer = SETTINGS.authenticate(Credentials("EXTERNAL"), is_secure=False, peer_name="card")
    assert answer.user == ""


def test_anonymous_clients_come_in_when_they_may() -> None:
    settings = Settings(anonymous=True)
    assert verdict(Credentials("ANONYMOUS"), settings=settings) == ANONYMOUS_USER
    assert settings.may_open(ANONYMOUS_USER, "/") == ""


@pytest.mark.parametrize(
    ("user", "vhost", "answer"),
    [
        ("guest", "/", ""),
        ("guest", "test", ""),
        ("guest", "nowhere", "unknown"),
        ("me", "/", "refused"),
        ("me", "test", ""),
        ("me", "nowhere", "unknown"),
    ],
)
def test_which_virtual_hosts_may_be_opened(user: str, vhost: str, answer: str) -> None:
    assert SETTINGS.may_open(user, vhost) == answer


def test_scram_with_the_keys_of_a_user() -> None:
    server = server_mechanism("SCRAM-SHA-256", nonce=SETTINGS.text("nonce", "1"))
    client = ScramSha256("me", "s3cret", nonce="rOprNGfwEbeRWgbNEkqO")
    state, response = client.initial()
    waiting, step = server.start(response)
    assert step == NeedScramKeys("SCRAM-SHA-256", "me")
    keys = SETTINGS.scram_keys("SCRAM-SHA-256", "me")
    waiting, step = server.keys(waiting, keys)
    while not isinstance(step, Verified):
        state, response = client.step(state, getattr(step, "data"))  # noqa: B009
        waiting, step = server.step(waiting, response)
    assert step.user == "me"
    client.complete(state)


def test_keys_are_made_once_and_the_same_again_with_the_same_seed() -> None:
    settings = Settings(seed=b"a")
    first = settings.scram_keys("SCRAM-SHA-256", "guest")
    assert first is not None
    assert first is settings.scram_keys("SCRAM-SHA-256", "guest")
    assert first == Settings(seed=b"a").scram_keys("SCRAM-SHA-256", "guest")
    assert first == pickle.loads(pickle.dumps(settings)).scram_keys("SCRAM-SHA-256", "guest")
    assert first != Settings(seed=b"b").scram_keys("SCRAM-SHA-256", "guest")
    assert first == scram_keys("guest", first.salt)
    assert settings.scram_keys("SCRAM-SHA-1", "guest") == scram_keys("guest", first.salt, digest="sha1")


@pytest.mark.parametrize("user", ["nobody", "card"])
def test_who_cant_use_scram_looks_like_a_wrong_password(user: str) -> None:
    keys = SETTINGS.scram_keys("SCRAM-SHA-256", user)
    assert isinstance(keys, ScramKeys)
    assert keys == SETTINGS.scram_keys("SCRAM-SHA-256", user)
    assert keys.iterations == 4096 and len(keys.salt) == 16


def test_other_mechanisms_have_no_keys() -> None:
    assert SETTINGS.scram_keys("PLAIN", "guest") is None


@pytest.mark.parametrize("name", ["", ".settings", ".users"])
def test_examples(name: str) -> None:
    failed, tried = doctest.testmod(import_module(f"amqp_sansio.broker{name}"))
    assert tried and not failed


def test_every_name_of_the_package_can_be_imported() -> None:
    """Most are looked up in their modules when they are first asked for."""
    package = import_module("amqp_sansio.broker")
    for name in package.__all__:
        assert getattr(package, name) is not None
