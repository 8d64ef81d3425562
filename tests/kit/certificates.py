"""A certificate authority, a server and a client certificate, made by the openssl command."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

KEPT = Path(__file__).resolve().parents[1] / "data" / "certificates"
_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]


@dataclass(frozen=True)
class Certificates:
    """PEM files; the server is localhost (by name and address), the client a user."""

    ca: Path
    server: Path
    server_key: Path
    client: Path
    client_key: Path


def kept_certificates(user: str = "guest") -> Certificates:
    """Those that the repository carries, valid from 2020 to 2119; the client's common name is guest, card or stranger.

    Their authority's key was thrown away. `openssl ca -startdate ... -enddate ...` makes others, with the extensions
    that `make_certificates` has.
    """
    return Certificates(*[KEPT / f"{name}.pem" for name in ("ca", "server", "server-key", user, f"{user}-key")])


def make_certificates(folder: Path, user: str = "guest") -> Certificates:
    """Make them in `folder`, valid for two days; the client's common name is `user`.

    Raises RuntimeError with openssl's words when it fails; FileNotFoundError where it isn't there.
    """
    ca, ca_key = folder / "ca.pem", folder / "ca-key.pem"
    _openssl(
        *("req", "-x509", "-days", "2", "-subj", "/CN=amqp-sansio test authority", *_KEY),
        *("-addext", "keyUsage=critical,keyCertSign,cRLSign"),
        *("-keyout", str(ca_key), "-out", str(ca)),
    )
    names = "subjectAltName=DNS:localhost,IP:127.0.0.1,IP:::1"
    server = _signed(folder, "server", "localhost", [names, "extendedKeyUsage=serverAuth"])
    client = _signed(folder, "client", user, ["extendedKeyUsage=clientAuth"])
    return Certificates(ca, *server, *client)


def _signed(folder: Path, name: str, common_name: str, extensions: list[str]) -> tuple[Path, Path]:
    certificate, key = folder / f"{name}.pem", folder / f"{name}-key.pem"
    request, config = folder / f"{name}.csr", folder / f"{name}.ext"
    lines = ["basicConstraints=critical,CA:FALSE", "keyUsage=critical,digitalSignature"]
    lines += ["subjectKeyIdentifier=hash", "authorityKeyIdentifier=keyid", *extensions]
    config.write_text("\n".join(lines) + "\n")
    _openssl(*("req", "-new", "-subj", f"/CN={common_name}", *_KEY), *("-keyout", str(key), "-out", str(request)))
    _openssl(
        *("x509", "-req", "-in", str(request), "-extfile", str(config), "-days", "2"),
        *("-CA", str(folder / "ca.pem"), "-CAkey", str(folder / "ca-key.pem")),
        *("-set_serial", "0x" + name.encode().hex(), "-out", str(certificate)),
    )
    return certificate, key


def _openssl(*arguments: str) -> None:
    run = subprocess.run(["openssl", *arguments], capture_output=True, text=True, check=False)
    if run.returncode != 0:
        raise RuntimeError(f"openssl {arguments[0]}: {run.stderr.strip()}")
