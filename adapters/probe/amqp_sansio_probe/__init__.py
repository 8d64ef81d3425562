"""A conformance tester for AMQP: cases that say what a rule asks of a server or client, and judge what it does.

`amqp-sansio probe` is made of it. `Runner` runs `CASES` against what an `Opener` opens: sockets, by `SocketOpener`, or
anything else that carries octets. `page` has the page of several runs side by side.
"""

from __future__ import annotations

from .capabilities import Capabilities, find_capabilities
from .case import Case, Suite
from .cases import CASES
from .client_case import ClientCase
from .client_cases import CLIENT_CASES
from .client_running import CLIENT_WORKERS, Ability, ClientRunner
from .conversation import Conversation, Login, Names, Patience, Piece
from .expecting import Expectations, format_expectations, parse_expectations, unexpected
from .host import Host
from .listening import Listener, SocketListener
from .profiles import PROFILES, Deviation
from .programs import CANNOT, Command, Order, Program, Starter
from .recording import file_name, recording_of
from .records import Record, json_line, read_records, record_of
from .reports import Tree, badge, junit
from .running import MOST_WORKERS, WORKERS, Connection, Result, Runner
from .talk import Talk, Talk08
from .transport import Opener, SocketOpener, Transport
from .verdicts import FAILURES, FAULTS, Seen, Surprise, Unusable, Verdict

__all__ = [
    "CANNOT",
    "CASES",
    "CLIENT_CASES",
    "CLIENT_WORKERS",
    "FAILURES",
    "FAULTS",
    "MOST_WORKERS",
    "PROFILES",
    "WORKERS",
    "Ability",
    "Capabilities",
    "Case",
    "ClientCase",
    "ClientRunner",
    "Command",
    "Connection",
    "Conversation",
    "Deviation",
    "Expectations",
    "Host",
    "Listener",
    "Login",
    "Names",
    "Opener",
    "Order",
    "Patience",
    "Piece",
    "Program",
    "Record",
    "Result",
    "Runner",
    "Seen",
    "SocketListener",
    "SocketOpener",
    "Starter",
    "Suite",
    "Surprise",
    "Talk",
    "Talk08",
    "Transport",
    "Tree",
    "Unusable",
    "Verdict",
    "badge",
    "file_name",
    "find_capabilities",
    "format_expectations",
    "json_line",
    "junit",
    "parse_expectations",
    "read_records",
    "record_of",
    "recording_of",
    "unexpected",
]
