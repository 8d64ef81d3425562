"""A Qpid Broker-J of the tests' own: jars from Maven Central, everything it keeps in memory or on disk."""

import base64
import hashlib
import hmac
import json
import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from amqp_sansio import EndpointClosed
from amqp_sansio_sync import connect
from tests.interop.brokers.maven import class_path
from tests.interop.brokers.process import HOST, BrokerError, Program, answers, free_ports

POM = Path(__file__).with_name("pom.xml")
GREETING = b"AMQP\x00\x00\x09\x01"
PROTOCOLS = ["AMQP_0_8", "AMQP_0_9", "AMQP_0_9_1", "AMQP_0_10", "AMQP_1_0"]


@dataclass(frozen=True)
class BrokerJ:
    """A running broker: one port for each kind of authentication, AMQP 0-8 to 1.0 on each.

    `port` offers PLAIN, `scram_port` SCRAM-SHA-256, `anonymous_port` ANONYMOUS. The virtual host
    "default" is also the one for an empty name and for "/". AMQP 1.0 makes queues whose name begins with
    "auto." when an attach names them.
    """

    version: str
    host: str
    port: int
    scram_port: int
    anonymous_port: int
    user: str
    password: str
    vhost: str
    pid: int
    server: Program = field(repr=False)

    @property
    def url(self) -> str:
        """The amqp URL of `user` on the virtual host, with PLAIN."""
        return f"amqp://{self.user}:{self.password}@{self.host}:{self.port}/{self.vhost}"

    @property
    def scram_url(self) -> str:
        """The amqp URL of `user` on the virtual host, with SCRAM-SHA-256."""
        return f"amqp://{self.user}:{self.password}@{self.host}:{self.scram_port}/{self.vhost}"

    @property
    def anonymous_url(self) -> str:
        """The amqp URL of nobody on the virtual host."""
        return f"amqp://{self.host}:{self.anonymous_port}/{self.vhost}"

    def describe(self) -> str:
        """One line for people."""
        return (
            f"Qpid Broker-J {self.version}: {self.host}:{self.port}, SCRAM {self.scram_port}, "
            f"ANONYMOUS {self.anonymous_port}, pid {self.pid}"
        )


def install_brokerj() -> tuple[str, str]:
    """Make sure that the jars are in Maven's own cache; (version, class path). Raises BrokerError."""
    if shutil.which("java") is None:
        raise BrokerError("Qpid Broker-J needs java on PATH")
    found = class_path("Qpid Broker-J", POM)
    jars = [Path(name) for name in found.split(os.pathsep)]
    version = next(jar.parent.name for jar in jars if jar.parents[1].name == "qpid-broker")
    return version, found


@contextmanager
def run_brokerj(folder: Path, *, durable: bool = False) -> Generator[BrokerJ]:
    """A broker with its files in `folder`, gone when the block ends. Raises BrokerError.

    A `durable` one keeps queues and messages in a Derby database, and can be killed and started again.
    """
    version, jars = install_brokerj()
    plain, scram, anonymous = free_ports(3)
    ports = {"plain": plain, "scram": scram, "anonymous": anonymous}
    user, password, vhost = "guest", "guest", "default"
    configuration = folder / "initial-configuration.json"
    configuration.write_text(json.dumps(_configuration(ports, user, password, vhost, durable), indent=1))
    server = Program(
        "brokerj",
        [
            *("java", "-Xmx2g", "-XX:MaxDirectMemorySize=1g", "-XX:TieredStopAtLevel=1"),
            *("-cp", jars, "org.apache.qpid.server.Main"),
            *("--store-type", "Memory", "--initial-config-path", str(configuration)),
            *("-prop", f"qpid.work_dir={folder / 'work'}"),
        ],
        folder,
        {**os.environ, "QPID_WORK": str(folder / "work")},
    )
    try:
        # Its ports answer before the virtual host is active.
        url = f"amqp://{user}:{password}@{HOST}:{plain}/{vhost}"
        server.wait_until(lambda: all(answers(port, GREETING) for port in ports.values()) and _lets_in(url))
        yield BrokerJ(
            version=version,
            host=HOST,
            port=plain,
            scram_port=scram,
            anonymous_port=anonymous,
            user=user,
            password=password,
            vhost=vhost,
            pid=server.pid,
            server=server,
        )
    finally:
        server.stop()


def _lets_in(url: str) -> bool:
    try:
        connect(url, timeout=10).close()
    except (EndpointClosed, OSError):
        return False
    return True


def _configuration(ports: dict[str, int], user: str, password: str, vhost: str, durable: bool) -> dict[str, object]:
    store = "DERBY" if durable else "Memory"
    users = [{"name": user, "type": "managed", "password": password}]
    return {
        "name": "broker",
        "modelVersion": "9.1",
        "authenticationproviders": [
            {
                "name": "plain",
                "type": "Plain",
                "secureOnlyMechanisms": [],
                "disabledMechanisms": ["CRAM-MD5", "SCRAM-SHA-1", "SCRAM-SHA-256"],
                "users": users,
            },
            {
                "name": "scram",
                "type": "SCRAM-SHA-256",
                "secureOnlyMechanisms": [],
                "disabledMechanisms": ["PLAIN"],
                "users": [{**users[0], "password": _scram_password(password)}],
            },
            {"name": "anonymous", "type": "Anonymous"},
        ],
        "ports": [
            {
                "name": name,
                "type": "AMQP",
                "port": port,
                "bindingAddress": HOST,
                "authenticationProvider": name,
                "protocols": PROTOCOLS,
                "virtualhostaliases": [
                    {"name": "name", "type": "nameAlias"},
                    {"name": "default", "type": "defaultAlias"},
                    {"name": "hostname", "type": "hostnameAlias"},
                    {"name": "slash", "type": "patternMatchingAlias", "pattern": "^/$"},
                ],
            }
            for name, port in ports.items()
        ],
        "virtualhostnodes": [
            {
                "name": vhost,
                "type": store,
                "defaultVirtualHostNode": "true",
                "virtualHostInitialConfiguration": json.dumps(_virtual_host(store)),
            }
        ],
    }


def _virtual_host(store: str) -> dict[str, object]:
    made_when_named: dict[str, object] = {
        "pattern": "auto\\..*",
        "nodeType": "queue",
        "createdOnPublish": True,
        "createdOnConsume": True,
        "attributes": {},
    }
    return {"type": store, "nodeAutoCreationPolicies": [made_when_named]}


def _scram_password(password: str) -> str:
    """A password as the broker stores it for SCRAM-SHA-256: salt, nothing, stored key, server key, iterations."""
    salt, iterations = b"salt of the tests", 4096
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, iterations)
    client_key = hmac.digest(salted, b"Client Key", "sha256")
    server_key = hmac.digest(salted, b"Server Key", "sha256")
    stored = (salt, b"", hashlib.sha256(client_key).digest(), server_key)
    return ",".join([*(base64.b64encode(part).decode() for part in stored), str(iterations)])
