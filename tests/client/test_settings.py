"""Settings of clients: options, parameters of URLs, names of connections, versions by label."""

from __future__ import annotations

from typing import Any

import pytest

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0, Version
from amqp_sansio.client.connecting import new_connection
from amqp_sansio.client.settings import version_named
from amqp_sansio.uri import UriError, parse

VERSIONS = (AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0)
each_version = pytest.mark.parametrize("version", VERSIONS, ids=lambda each: each.label)


def draw(octets: int) -> str:
    """No randomness at all."""
    return "x" * octets


def config_of(version: Version, url: str = "amqp://localhost", **options: Any) -> Any:
    return new_connection(version, parse(url), options, draw)[0].core.config


@each_version
@pytest.mark.parametrize(
    ("url", "options"),
    [
        ("amqp://localhost/?connection_name=worker%207", {}),
        ("amqp://localhost", {"connection_name": "worker 7"}),
        ("amqp://localhost/?connection_name=other", {"connection_name": "worker 7"}),
    ],
)
def test_a_connection_has_the_name_it_is_given(version: Version, url: str, options: dict[str, Any]) -> None:
    config = config_of(version, url, **options, properties={"product": "mine"})
    assert config.properties == {"product": "mine", "connection_name": "worker 7"}
    if version is AMQP_1_0:
        assert config.container_id == "worker 7-amqp-sansio-" + "x" * 12
        assert config_of(version, url, **options, container_id="c").container_id == "c"


@each_version
def test_without_a_name_the_properties_stay(version: Version) -> None:
    assert "connection_name" not in config_of(version).properties


@each_version
def test_an_unknown_option_is_named_with_the_nearest(version: Version) -> None:
    known = "idle_time_out" if version is AMQP_1_0 else "heartbeat"
    with pytest.raises(TypeError, match=f"no '{known[:-1]}' in AMQP {version.label}; did you mean '{known}'"):
        new_connection(version, parse("amqp://localhost"), {known[:-1]: 5}, draw)


@each_version
@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("amqp://localhost/?hartbeat=5", "unknown parameter 'hartbeat'; did you mean 'heartbeat'?"),
        ("amqp://localhost/?colour=5", "unknown parameter 'colour'; known are auth_mechanism, "),
        ("amqp://localhost/?version=2.0", "AMQP has no version '2.0'"),
    ],
)
def test_an_unknown_parameter_of_the_url_is_named(version: Version, url: str, text: str) -> None:
    with pytest.raises(ValueError) as caught:
        config_of(version, url)
    assert text in str(caught.value)


@each_version
def test_the_urls_version_is_the_calls(version: Version) -> None:
    assert config_of(version, f"amqp://localhost/?version={version.label}")
    other = "0-8" if version is AMQP_1_0 else "1.0"
    with pytest.raises(UriError, match=f'pass version="{other}" too'):
        config_of(version, f"amqp://localhost/?version={other}")


@pytest.mark.parametrize(
    ("label", "version"),
    [
        ("1.0", AMQP_1_0),
        ("AMQP_1_0", AMQP_1_0),
        ("0-9-1", AMQP_0_9_1),
        ("0.9.1", AMQP_0_9_1),
        ("amqp 0-10", AMQP_0_10),
        ("0-8", AMQP_0_8),
        (AMQP_0_8, AMQP_0_8),
    ],
)
def test_versions_have_labels(label: str, version: Version) -> None:
    assert version_named(label) is version


@pytest.mark.parametrize("label", ["", "1", "0.9", "newest"])
def test_unknown_versions_say_what_to_give(label: str) -> None:
    with pytest.raises(ValueError, match=r'give one of "0-8", "0-9-1", "0-10", "1.0", or amqp_sansio.AMQP_1_0'):
        version_named(label)
