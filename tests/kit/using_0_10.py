"""An application of AMQP 0-10 that does whatever it can, and what must be true of its endpoint all the time."""

# pyright: reportPrivateUsage=false
from typing import Any

from amqp_sansio import By, CloseReport, Event, Pending
from amqp_sansio import amqp_0_10 as amqp
from amqp_sansio.amqp_0_10 import spec
from tests.kit import using
from tests.kit.choices import Choices
from tests.kit.hostile_0_10 import DESTINATIONS, XIDS

BODIES = (b"", b"x", b"y" * 300, b"z" * 5000)
RESULTS: dict[str, Any] = {
    each.NAME: each
    for each in (
        spec.Acquired(amqp.SequenceSet.of(0)),
        spec.MessageResumeResult(0),
        spec.XaResult(0),
        spec.GetTimeoutResult(1),
        spec.RecoverResult([]),
        spec.ExchangeQueryResult(),
        spec.ExchangeBoundResult(),
        spec.QueueQueryResult(queue="q"),
    )
}
COMMANDS: tuple[Any, ...] = (
    spec.QueueQuery("q"),
    spec.QueueDelete("q"),
    spec.MessageSubscribe("q", "d", 0, 0),
    spec.MessageSubscribe("q", "e", 1, 0),
    spec.MessageSetFlowMode("d", 0),
    spec.MessageSetFlowMode("e", 1),
    spec.MessageStop("d"),
    spec.MessageStop("e"),
    spec.MessageFlush("d"),
    spec.MessageCancel("d"),
    spec.MessageCancel("e"),
    spec.TxSelect(),
    spec.TxCommit(),
    spec.TxRollback(),
    spec.DtxSelect(),
    spec.DtxStart(XIDS[0]),
    spec.DtxEnd(XIDS[0]),
    spec.DtxCommit(XIDS[0]),
    spec.QueueQuery("q" * 300),
)
OVER = CloseReport(By.LOCAL, 0, "over")


class Using(using.Using):
    """As any; `kept` are the states of sessions that may be resumed."""

    end: amqp.Connection
    patience = 4

    def __init__(self, choices: Choices, end: amqp.Connection, *, check: bool = False) -> None:
        super().__init__(choices, end, check=check)
        self.kept: list[amqp.SessionState] = []
        self.sessions: dict[int, amqp.Session] = {}
        self.asked: amqp.SessionRequested | None = None
        self.xids = XIDS

    def hear(self, event: Event) -> None:
        """Remember what an event asks for, and what is left of a session."""
        super().hear(event)
        if isinstance(event, amqp.SessionRequested):
            self.asked = event
        elif isinstance(event, amqp.SessionClosed):
            session = self.sessions.pop(event.channel)
            assert session.name == event.name
            assert session.report == event.report
            if event.resumable:
                self.kept.append(session.detached_state())

    @property
    def is_asked(self) -> bool:
        """Whether a session is requested."""
        return self.asked is not None

    def keep(self, given: Any) -> None:
        """Keep a handle, or a session and the handle of its opening."""
        if isinstance(given, amqp.Session):
            self.sessions[given.channel] = given
            given = given.opening
        if given.__class__ is Pending:
            assert not given.done
            self.handles.append(given)

    def end_all(self) -> None:
        """What is kept won't be resumed any more."""
        for state in self.kept:
            for handle in state.abandon(OVER):
                self.telling.end(handle, None)

    def answer(self) -> object:
        """Answer the question for a session."""
        asked, choices = self.asked, self.choices
        if asked is None:
            return None
        if choices.rarely():
            self.end.refuse_session(asked.channel)
            self.asked = None
            return None
        fitting = [state for state in self.kept if state.name == asked.name]
        state = fitting[-1] if fitting and choices.below(4) else None
        session = self.end.accept_session(asked.channel, state)
        if state is not None:
            self.kept.remove(state)
        self.asked = None
        return session

    def _session(self) -> amqp.Session:
        channels = self.end.sessions
        return self.end.session(self.choices.of(channels) if channels else 0)

    def _open(self) -> object:
        name = self.choices.of((b"s", b"t", b"u", b"n" * 70_000))
        return self.end.open_session(name, timeout=self.choices.of((0, 60, 60, None)))

    def _resume(self) -> object:
        if not self.kept:
            return None
        state = self.kept[-1]
        session = self.end.resume_session(state)
        self.kept.remove(state)
        return session

    def _transfer(self) -> object:
        choices, session = self.choices, self._session()
        mode = choices.below(2)
        message = amqp.Message(choices.of(BODIES), routing_key=choices.of((None, "k")))
        sent = session.transfer(choices.of(DESTINATIONS), message, accept_mode=mode, acquire_mode=choices.of((0, 0, 1)))
        return sent.completion, sent.outcome

    def _call(self) -> object:
        choices = self.choices
        return self._session().call(choices.of(COMMANDS), sync=choices.rarely())

    def _sync(self) -> object:
        return self._session().sync()

    def _complete(self) -> object:
        choices, session = self.choices, self._session()
        waiting = session.incomplete
        number = choices.of(waiting) if waiting and choices.below(32) else choices.below(9)
        event: Any = session._state.executing.get(number)
        command = getattr(event, "command", None)
        result = None if command is None else RESULTS.get(command.RESULT)
        if choices.below(32) == 31:
            result = choices.of(tuple(RESULTS.values()))
        session.complete(number, result)
        return None

    def _settle(self) -> object:
        choices, session = self.choices, self._session()
        waiting = session.unsettled or (0,)
        ids = [choices.of(waiting) for _ in range(1 + choices.below(3))]
        match choices.below(8):
            case 0:
                return session.reject(*ids, code=1)
            case 1:
                return session.release(*ids)
            case 2:
                return session.acquire(*ids)
            case _:
                return session.accept(*ids, sync=choices.rarely())

    def _top_up(self) -> object:
        choices, session = self.choices, self._session()
        known = set(session.pending)
        session.top_up(choices.of(DESTINATIONS), choices.below(9), choices.of((None, 100, 9000)))
        return tuple([handle for handle in session.pending if handle not in known])

    def _fail(self) -> object:
        choices, session = self.choices, self._session()
        if choices.below(4):
            return None
        waiting = session.incomplete
        number = choices.of(waiting) if waiting else None
        session.fail(amqp.ExecutionError(404, "no"), number, field="queue")
        return None

    def _leave(self) -> object:
        session = self._session()
        match self.choices.below(8):
            case 0:
                session.detach()
            case 1:
                session.close()
            case _:
                session.flush(expected=True, confirmed=True)
        return None

    def _request_timeout(self) -> object:
        return self._session().request_timeout(self.choices.of((0, 60, 60, None)))

    def _gap(self) -> object:
        session = self._session()
        kept = tuple(session._state.sending.replay) or (0,)
        if self.choices.below(4) == 0:
            session.gap(*[self.choices.of(kept) for _ in range(2)])
        return None

    def _decide(self) -> object:
        self._session().decide(self.xids[0], committed=self.choices.below(2) == 1)
        return None

    def _close(self) -> object:
        if self.choices.below(16) == 0:
            self.end.close()
        return None


Using.acts = (
    *(Using._open, Using._open, Using._resume, Using._resume, Using._transfer, Using._transfer),
    *(Using._transfer, Using._call, Using._call, Using._call, Using._call, Using._sync),
    *(Using._complete, Using._complete, Using._complete, Using._settle, Using._settle, Using._settle),
    *(Using._top_up, Using._top_up, Using._fail, Using._leave, Using._request_timeout, Using._gap),
    *(Using._decide, Using._close),
)
