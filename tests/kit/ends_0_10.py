"""A client and a server of 0-10 joined in memory, each with an application that completes what it's told."""

# What a peer sends that keeps no rules can only be made by taking an end's books away.
# pyright: reportPrivateUsage=false
from typing import Any

from amqp_sansio import AuthenticationRequested, Failed, OpenRequested, RemoteProtocolError, Side, Signal
from amqp_sansio import amqp_0_10 as amqp
from amqp_sansio.amqp_0_10.model.file_rules import FileRules
from amqp_sansio.amqp_0_10.model.session_model import SessionHalf
from amqp_sansio.sasl import Plain


def agree(here: amqp.Connection, event: Any) -> None:
    """What an application does that agrees to everything."""
    if isinstance(event, AuthenticationRequested):
        here.accept_authentication()
    elif isinstance(event, OpenRequested):
        here.accept_open()
    elif isinstance(event, amqp.SessionRequested):
        here.accept_session(event.channel)
    elif isinstance(event, (amqp.CommandReceived, amqp.MessageReceived)):
        here.session(event.channel).complete(event.command_id)


class Ends:
    """A client and a server joined in memory; the server's application completes what it's told."""

    def __init__(self) -> None:
        self.client = amqp.Connection.client(amqp.Config(sasl=Plain("guest", "guest")))
        self.server = amqp.Connection.server()
        self.told: dict[amqp.Connection, list[Any]] = {self.client: [], self.server: []}
        self.move()
        self.session = self.client.open_session("s")
        self.move()

    @property
    def served(self) -> amqp.Session:
        return self.server.session(0)

    def move(self) -> None:
        """Octets both ways, until nobody has any."""
        moved = True
        while moved:
            moved = False
            for here, there in ((self.client, self.server), (self.server, self.client)):
                while not isinstance(event := here.next_event(), Signal):
                    self.told[here].append(event)
                    self.answer(here, event)
                octets = here.data_to_send(0.0)
                if octets:
                    there.receive_data(octets, 0.0)
                    moved = True

    def answer(self, here: amqp.Connection, event: Any) -> None:
        """The application of either end."""
        agree(here, event)

    def commands(self, here: amqp.Connection) -> list[Any]:
        return [event.command for event in self.told[here] if isinstance(event, amqp.CommandReceived)]

    def failure(self, here: amqp.Connection) -> RemoteProtocolError:
        found = [event for event in self.told[here] if isinstance(event, Failed)]
        assert len(found) == 1, self.told[here]
        assert isinstance(found[0].error, RemoteProtocolError)
        return found[0].error

    def forced(self, session: amqp.Session, command: Any, message: amqp.Message | None = None) -> None:
        """Send a command that the sender's own check would refuse."""
        state = session._state
        files, own = state.files, state.own
        state.files, state.own = Unchecked(1), Lawless(state.side, 1)
        session.call(command, message)
        state.files = files
        state.own = own
        self.move()


class Unchecked(FileRules):
    """Books that take everything: those of a peer that keeps no rules."""

    def step(self, by: Side, command: Any, body_size: int) -> None:
        """Whatever it is."""


class Lawless(SessionHalf):
    """The same for the other classes."""

    def step(self, command: Any) -> None:
        """Whatever it is."""
