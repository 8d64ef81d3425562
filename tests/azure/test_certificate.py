"""The certificate of the stand-ins: what the module ssl takes for a server, and what its fields say."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from amqp_sansio_azure.certificate import self_signed


@pytest.mark.parametrize("draw", [bytes(32), b"\xff" * 32, bytes(range(64)), b"a" * 1000])
def test_any_draw_makes_a_certificate_with_its_key(draw: bytes, tmp_path: Path) -> None:
    made = self_signed(draw)
    certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    certificate.write_text(made.certificate)
    key.write_text(made.key)
    # Raises where the key isn't that of the certificate.
    ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key)
    trusting = ssl.create_default_context(cafile=certificate)
    assert trusting.cert_store_stats()["x509_ca"] == 1
    (told,) = trusting.get_ca_certs()
    assert told["subjectAltName"] == (
        ("DNS", "localhost"),
        ("IP Address", "127.0.0.1"),
        ("IP Address", "0:0:0:0:0:0:0:1"),
    )
    assert (told["notBefore"], told["notAfter"]) == ("Jan  1 00:00:00 2020 GMT", "Dec 31 23:59:59 2049 GMT")


def test_the_same_draw_makes_the_same_and_another_one_another() -> None:
    assert self_signed(bytes(32)) == self_signed(bytes(32))
    assert self_signed(bytes(32)).key != self_signed(bytes(33)).key


def test_a_short_draw_is_refused() -> None:
    with pytest.raises(ValueError, match="32 octets at least, these are 31"):
        self_signed(bytes(31))
