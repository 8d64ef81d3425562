"""A RabbitMQ node of the tests' own: Debian's package, own name, ports, folders and epmd."""

import base64
import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.interop.brokers.process import HOST, BrokerError, Program, answers, apt_install, free_ports
from tests.kit.certificates import Certificates, make_certificates

BIN = Path("/usr/lib/rabbitmq/bin")
GREETING = b"AMQP\x00\x00\x09\x01"


@dataclass(frozen=True)
class RabbitMQ:
    """A running node. `ctl` is its rabbitmqctl.

    `user` may do everything in the virtual host "/"; `noperm_user`, whose password is its name, may
    log in and open no virtual host. The TLS port takes a client certificate when one is offered,
    and with it EXTERNAL (as user guest). The same ports speak AMQP 1.0, by RabbitMQ's plug-in.
    `management_port` is that of its HTTP API; 0: it has none.
    """

    version: str
    host: str
    port: int
    tls_port: int
    user: str
    password: str
    noperm_user: str
    certificates: Certificates
    node: str
    pid: int
    env: dict[str, str] = field(repr=False)
    server: Program = field(repr=False)
    management_port: int = 0

    @property
    def ca_file(self) -> Path:
        """The authority that signed the server's certificate."""
        return self.certificates.ca

    @property
    def url(self) -> str:
        """The amqp URL of `user` on "/"."""
        return f"amqp://{self.user}:{self.password}@{self.host}:{self.port}/%2F"

    def ctl(self, *arguments: str, timeout: float = 60) -> str:
        """What rabbitmqctl prints. Raises BrokerError with its words when it fails."""
        run = subprocess.run(
            [str(BIN / "rabbitmqctl"), "--quiet", "--node", self.node, *arguments],
            env=self.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        if run.returncode != 0:
            raise BrokerError(f"rabbitmqctl {arguments[0]}: {run.stderr.strip() or run.stdout}")
        return run.stdout

    def describe(self) -> str:
        """One line for people."""
        return (
            f"RabbitMQ {self.version}: {self.host}:{self.port}, TLS {self.tls_port}, node {self.node}, pid {self.pid}"
        )


def install_rabbitmq() -> str:
    """Make sure that Debian's packages are there; the version. Raises BrokerError."""
    missing = [] if (BIN / "rabbitmq-server").exists() else ["rabbitmq-server"]
    missing += [] if shutil.which("openssl") else ["openssl"]
    if missing:
        apt_install(*missing)
    return (BIN / "rabbitmq-server").resolve().parents[1].name.removeprefix("rabbitmq_server-")


@contextmanager
def run_rabbitmq(folder: Path, *, management: bool = False) -> Generator[RabbitMQ]:
    """A node with its files in `folder`; gone, with its epmd, at the end. Raises BrokerError."""
    version = install_rabbitmq()
    port, tls_port, dist_port, epmd_port, management_port = free_ports(5)
    certificates = make_certificates(folder)
    _write_configuration(folder, port, tls_port, certificates, management_port if management else 0)
    node = f"amqp-sansio-{os.getpid()}@localhost"
    env = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(folder),  # Erlang's cookie
        "LANG": "C.UTF-8",
        "ERL_EPMD_PORT": str(epmd_port),
        "ERL_EPMD_ADDRESS": HOST,
        "RABBITMQ_NODENAME": node,
        "RABBITMQ_DIST_PORT": str(dist_port),
        "RABBITMQ_CONF_ENV_FILE": str(folder / "no-environment.conf"),
        "RABBITMQ_CONFIG_FILE": str(folder / "rabbitmq.conf"),
        "RABBITMQ_ADVANCED_CONFIG_FILE": str(folder / "no-advanced.config"),
        "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "enabled_plugins"),
        "RABBITMQ_MNESIA_BASE": str(folder / "mnesia"),
        "RABBITMQ_LOG_BASE": str(folder / "log"),
        "RABBITMQ_PID_FILE": str(folder / "rabbitmq.pid"),
        # Several nodes share the processors: a scheduler without work sleeps at once, in place of looking for some.
        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "+S 2:2 +sbwt none +sbwtdcpu none +sbwtdio none",
    }
    epmd = Program("epmd", [_epmd(), "-port", str(epmd_port), "-address", HOST], folder, {"PATH": env["PATH"]})
    try:
        epmd.wait_until(lambda: answers(epmd_port), 20)
        server = Program("rabbitmq", [str(BIN / "rabbitmq-server")], folder, env)
        try:
            server.wait_until(
                lambda: answers(port, GREETING) and answers(tls_port) and (not management or answers(management_port))
            )
            yield RabbitMQ(
                version=version,
                host=HOST,
                port=port,
                tls_port=tls_port,
                user="guest",
                password="guest",
                noperm_user="noperm",
                certificates=certificates,
                node=node,
                pid=server.pid,
                env=env,
                server=server,
                management_port=management_port if management else 0,
            )
        finally:
            server.stop()
    finally:
        epmd.stop()


def _epmd() -> str:
    program = shutil.which("epmd")
    if program is None:
        raise BrokerError("epmd isn't on PATH; Debian's package erlang-base has it")
    return program


def _write_configuration(
    folder: Path, port: int, tls_port: int, certificates: Certificates, management_port: int
) -> None:
    users = {"guest": "administrator", "noperm": ""}
    definitions = {
        "users": [
            {
                "name": name,
                "password_hash": _password_hash(name),
                "hashing_algorithm": "rabbit_password_hashing_sha256",
                "tags": tags,
            }
            for name, tags in users.items()
        ],
        "vhosts": [{"name": "/"}],
        "permissions": [{"user": "guest", "vhost": "/", "configure": ".*", "write": ".*", "read": ".*"}],
    }
    (folder / "definitions.json").write_text(json.dumps(definitions))
    plugins = ["rabbitmq_auth_mechanism_ssl", "rabbitmq_amqp1_0"]
    if management_port:
        plugins.append("rabbitmq_management")
    (folder / "enabled_plugins").write_text(f"[{','.join(plugins)}].\n")
    lines = {
        "listeners.tcp.1": f"{HOST}:{port}",
        "listeners.ssl.1": f"{HOST}:{tls_port}",
        "ssl_options.cacertfile": certificates.ca,
        "ssl_options.certfile": certificates.server,
        "ssl_options.keyfile": certificates.server_key,
        "ssl_options.verify": "verify_peer",
        "ssl_options.fail_if_no_peer_cert": "false",
        "ssl_cert_login_from": "common_name",
        "auth_mechanisms.1": "PLAIN",
        "auth_mechanisms.2": "AMQPLAIN",
        "auth_mechanisms.3": "EXTERNAL",
        "load_definitions": folder / "definitions.json",
        "disk_free_limit.absolute": "50MB",
        "log.console": "true",
        "log.file": "false",
    }
    if management_port:
        lines["management.tcp.ip"] = HOST
        lines["management.tcp.port"] = str(management_port)
    text = "".join(f"{key} = {value}\n" for key, value in lines.items())
    (folder / "rabbitmq.conf").write_text(text)


def _password_hash(password: str) -> str:
    """RabbitMQ's stored form: four octets of salt and SHA-256 over salt and password, base64."""
    salt = os.urandom(4)
    return base64.b64encode(salt + hashlib.sha256(salt + password.encode()).digest()).decode()
