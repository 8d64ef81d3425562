"""The versions of a server: one in which no connection opens, and one whose queues have no lifetime."""

from random import Random

import pytest

from amqp_sansio.broker import Settings
from amqp_sansio_probe import CASES, Case, Login, Names, Patience, Runner, Transport, Verdict, find_capabilities
from amqp_sansio_probe.case import Suite
from amqp_sansio_probe.talk import Talk
from amqp_sansio_probe.talk_1_0 import SASL_HEADER, Talk10
from tests.kit.probing import HubServer, Scripted


class Half:
    """A hub for clients of every version but 1.0, where the server says its header and ends the connection."""

    def __init__(self, server: HubServer) -> None:
        self._server = server
        self._whole: Transport = server()
        self.local = self._whole.local
        self.remote = self._whole.remote

    def send(self, octets: bytes) -> None:
        if octets.startswith(SASL_HEADER):
            self._whole = Scripted(lambda heard: (SASL_HEADER, True))
        self._whole.send(octets)

    def receive(self, seconds: float) -> bytes | None:
        return self._whole.receive(seconds)

    def now(self) -> float:
        return self._whole.now()

    def wall(self) -> int:
        return self._whole.wall()

    @property
    def how_it_ended(self) -> str:
        return self._whole.how_it_ended

    def close(self) -> None:
        self._whole.close()


def named(name: str) -> Case:
    [found] = [each for each in CASES if each.name == name]
    return found


def test_a_version_that_cannot_be_opened_is_not_run_and_the_others_are() -> None:
    server = HubServer(Settings())
    capabilities = find_capabilities(lambda: Half(server), Login(), Patience())
    assert [version for version, _ in capabilities.unopened] == ["1.0"]
    assert "declare" in capabilities.can and "1.0/node" not in capabilities.can
    wanted = [named("1.0/transport/open/container-id"), named("0-9-1/queue.declare/reserved")]
    runner = Runner(lambda: Half(server), Login(), capabilities)
    closed, other = runner.run(wanted)
    assert closed.verdict is Verdict.NOT_RUN and other.verdict is Verdict.CONFORMS
    assert closed.seen.startswith("needs 1.0: a connection of 1.0 can't be opened")


@pytest.mark.parametrize(
    "name", ["1.0/transport/flow/link-credit", "1.0/released/no-count", "1.0/message/bare-immutable"]
)
def test_queues_that_1_0_makes_by_their_names_are_deleted(name: str) -> None:
    server = HubServer(Settings(dialect="rabbitmq"))
    capabilities = find_capabilities(server, Login(), Patience())._replace(address="/queue/{}")
    [result] = Runner(server, Login(), capabilities).run([named(name)])
    assert result.verdict is Verdict.CONFORMS, result.seen
    sent = b"".join([piece.octets for each in result.connections for piece in each.pieces])
    assert b"/queue/probe-" in sent
    assert [queue for queue in server.hub.model.vhosts["/"].queues if queue.startswith("probe-")] == []


def test_a_case_speaks_its_own_version() -> None:
    server = HubServer(Settings())
    capabilities = find_capabilities(server, Login(), Patience())
    run = Suite(Talk).speaking(lambda talk: talk.silence())
    wrong = Case("1.0/transport/open/container-id", "", "must", ("1.0",), "A rule.", "an answer", run)
    with pytest.raises(TypeError, match=r"a case of 0-9-1 can't speak 1\.0"):
        list(Runner(server, Login(), capabilities).run([wrong]))


def test_a_server_has_less_time_when_it_answers_something_else() -> None:
    patience = Patience(answer=100.0)
    talk = Talk10(HubServer(Settings())(), Login(), Names(Random(0)), patience)
    talk.begin()
    began = talk.transport.now()
    assert talk.reaction(lambda seconds: talk.wait(("attach",), 0, seconds)) is None
    assert talk.transport.now() - began == pytest.approx(2 * patience.answer / 5)
