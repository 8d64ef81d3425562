"""Branches beside a naive model of them; and a pickled copy that goes on beside the original."""

import pickle
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from amqp_sansio import LocalProtocolError
from amqp_sansio import amqp_0_10 as amqp
from amqp_sansio.amqp_0_10.model.dtx import Branches, Decision
from amqp_sansio.amqp_0_10.model.execution import ExecutionError
from tests.kit.books_0_10 import check_branches

XIDS = [amqp.Xid(number, b"g", b"") for number in range(4)]
LIMIT = 3
STATUS = {
    "open": 0,
    "prepared": 0,
    "rollback": 1,
    "timeout": 2,
    "hazard!": 3,
    "commit!": 4,
    "rollback!": 5,
    "mixed!": 6,
}


class Refused(Exception):
    """The model says that a command fails, with this code and this rule."""


class Work:
    """A branch as the model knows it: who works at it, who has suspended it, and what is decided of it."""

    def __init__(self, owner: object, now: float, seconds: int) -> None:
        self.workers = [owner]
        self.waiting: list[object] = []
        self.fate = "open"
        self.worked = False
        self.seconds = 0
        self.due = now + seconds if seconds else None

    @property
    def free(self) -> bool:
        return not self.workers and not self.waiting

    @property
    def doomed(self) -> bool:
        return self.fate in ("rollback", "timeout")


class Model:
    """Class dtx, written down command by command, with a search for everything."""

    def __init__(self, join: bool, default: int) -> None:
        self.join = join
        self.default = default
        self.selected: list[object] = []
        self.works: dict[amqp.Xid, Work] = {}
        # The rolled-back ones that wait to be asked about, by age.
        self.graves: list[amqp.Xid] = []
        self.outcomes: list[tuple[amqp.Xid, str]] = []

    def current(self, owner: object) -> amqp.Xid | None:
        found = [xid for xid, work in self.works.items() if owner in work.workers]
        assert len(found) < 2
        return found[0] if found else None

    def doom(self, xid: amqp.Xid, fate: str) -> None:
        work = self.works[xid]
        if not work.doomed:
            work.fate = fate
        work.waiting, work.due = [], None
        if not work.workers and xid not in self.graves:
            self.graves.append(xid)
            self.outcomes.append((xid, "rolled-back"))
        elif fate == "timeout":
            # Undone at once; what the workers still do, when the last one has gone.
            self.outcomes.append((xid, "rolled-back"))

    def remove(self, xid: amqp.Xid) -> None:
        del self.works[xid]
        self.graves = [each for each in self.graves if each != xid]

    def execute(self, owner: object, command: Any, now: float) -> object:
        """The result's status, timeout or xids; None where there is none."""
        name = command.NAME.partition(".")[2].replace("-", "_")
        return getattr(self, name)(owner, command, now)

    def select(self, owner: object, command: amqp.DtxSelect, now: float) -> None:
        if owner not in self.selected:
            self.selected.append(owner)

    def start(self, owner: object, command: Any, now: float) -> int:
        xid, join, resume = command.xid, command.join, command.resume
        if join and resume:
            raise Refused(530, "start/join-and-resume")
        if owner not in self.selected or self.current(owner) is not None:
            raise Refused(409, "start/illegal-state")
        if join and not self.join:
            raise Refused(540, "start/join-unsupported")
        work = self.works.get(xid)
        if not join and not resume:
            if work is not None:
                raise Refused(530, "start/already-known")
            if len(self.works) == LIMIT:
                if not self.graves:
                    raise Refused(506, None)
                self.remove(self.graves[0])
            self.works[xid] = Work(owner, now, self.default)
            return 0
        if work is None:
            raise Refused(530, "start/unknown-xid(sic)")
        if work.doomed:
            return STATUS[work.fate]
        if work.fate != "open" or resume != (owner in work.waiting):
            raise Refused(409, "start/illegal-state")
        if resume:
            work.waiting.remove(owner)
        work.workers.append(owner)
        return 0

    def end(self, owner: object, command: Any, now: float) -> int:
        xid = command.xid
        if command.suspend and command.fail:
            raise Refused(530, "end/suspend-and-fail")
        if owner not in self.selected:
            raise Refused(409, "end/illegal-state")
        if self.current(owner) != xid:
            raise Refused(409, "end/not-associated")
        work = self.works[xid]
        work.workers.remove(owner)
        if command.fail or work.doomed:
            self.doom(xid, "rollback")
        elif command.suspend:
            work.waiting.append(owner)
        return STATUS[work.fate]

    def known(self, command: Any) -> Work:
        if command.xid not in self.works:
            raise Refused(404, f"{command.NAME[4:]}/unknown-xid")
        return self.works[command.xid]

    def settled(self, command: Any) -> Work:
        work = self.known(command)
        if work.workers:
            raise Refused(409, f"{command.NAME[4:]}/not-disassociated")
        if work.waiting:
            raise Refused(409, f"{command.NAME[4:]}/illegal-state")
        return work

    def prepare(self, owner: object, command: Any, now: float) -> int:
        work = self.settled(command)
        if work.fate == "open" and not work.worked:
            self.outcomes.append((command.xid, "committed"))
            self.remove(command.xid)
            return 7
        if work.fate == "open":
            work.fate, work.due = "prepared", None
        elif not work.doomed:
            raise Refused(409, "prepare/illegal-state")
        return STATUS[work.fate]

    def commit(self, owner: object, command: Any, now: float) -> int:
        work = self.settled(command)
        if work.fate == "open" and not command.one_phase:
            raise Refused(409, "commit/one-phase")
        if command.one_phase and work.fate != "open" and not work.doomed:
            raise Refused(409, "commit/two-phase")
        return self.complete(command.xid, work, "committed")

    def rollback(self, owner: object, command: Any, now: float) -> int:
        return self.complete(command.xid, self.settled(command), "rolled-back")

    def complete(self, xid: amqp.Xid, work: Work, outcome: str) -> int:
        if work.fate in ("open", "prepared"):
            self.outcomes.append((xid, outcome))
        if not work.fate.endswith("!"):
            self.remove(xid)
        return STATUS[work.fate]

    def forget(self, owner: object, command: Any, now: float) -> None:
        if not self.settled(command).fate.endswith("!"):
            raise Refused(409, "forget/illegal-state")
        self.remove(command.xid)

    def recover(self, owner: object, command: Any, now: float) -> list[amqp.Xid]:
        return [xid for xid, work in self.works.items() if work.fate == "prepared" or work.fate.endswith("!")]

    def get_timeout(self, owner: object, command: Any, now: float) -> int:
        return self.known(command).seconds or self.default

    def set_timeout(self, owner: object, command: Any, now: float) -> None:
        work = self.known(command)
        work.seconds = command.timeout
        seconds = work.seconds or self.default
        if work.fate == "open":
            work.due = now + seconds if seconds else None

    def close(self, owner: object) -> None:
        if owner not in self.selected:
            return
        self.selected.remove(owner)
        for xid, work in self.works.items():
            if owner in work.workers or owner in work.waiting:
                work.workers = [each for each in work.workers if each != owner]
                self.doom(xid, "rollback")


def plain(result: object) -> object:
    """What a result says."""
    if isinstance(result, amqp.XaResult):
        return result.status
    if isinstance(result, amqp.GetTimeoutResult):
        return result.timeout
    return result.in_doubt if isinstance(result, amqp.RecoverResult) else result


OWNERS = st.sampled_from(["a", "b", "c"])
FLAGS = st.sampled_from([(False, False), (False, False), (True, False), (False, True), (True, True)])
PICK = st.sampled_from(XIDS)


class Machine(RuleBasedStateMachine):
    """Every rule does one thing to the branches, to their copy and to the model, and all three say the same."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    @initialize(join=st.sampled_from([True, True, True, False]), default=st.sampled_from([0, 5]))
    def create(self, join: bool, default: int) -> None:
        """Begin with two sessions that are selected."""
        self.real = Branches(join=join, default_timeout=default, limit=LIMIT)
        self.copy = Branches(join=join, default_timeout=default, limit=LIMIT)
        self.model = Model(join, default)
        for owner in ("a", "b"):
            self.execute(owner, amqp.DtxSelect())

    def execute(self, owner: str, command: amqp.Command[Any]) -> None:
        """A command, which all execute alike or refuse alike."""
        said: list[object] = []
        for branches in (self.real, self.copy):
            try:
                said.append(plain(branches.execute(owner, command, self.now)))
            except ExecutionError as error:
                said.append((error.code, error.rule))
        try:
            expected = self.model.execute(owner, command, self.now)
        except Refused as refused:
            code, name = refused.args
            expected = (code, f"0-10/dtx.{name}" if name else None)
        assert said == [expected, expected], command
        self.compare()

    def compare(self) -> None:
        """What can be asked is answered alike, and what is told is told alike."""
        outcomes, self.model.outcomes = self.model.outcomes, []
        deadlines = [work.due for work in self.model.works.values() if work.due is not None]
        for branches in (self.real, self.copy):
            check_branches(branches)
            assert branches.take_outcomes() == outcomes
            assert branches.next_deadline == min(deadlines, default=None)
            for owner in ("a", "b", "c"):
                assert branches.selected(owner) == (owner in self.model.selected)
                assert branches.current(owner) == self.model.current(owner)
            for xid in XIDS:
                assert (branches.state(xid).value == "non-existent") == (xid not in self.model.works)

    @rule(owner=OWNERS)
    def select(self, owner: str) -> None:
        """A session is selected, perhaps once more."""
        self.execute(owner, amqp.DtxSelect())

    @rule(owner=OWNERS, xid=PICK, flags=FLAGS)
    def start(self, owner: str, xid: amqp.Xid, flags: tuple[bool, bool]) -> None:
        self.execute(owner, amqp.DtxStart(xid, *flags))

    @rule(owner=OWNERS, xid=PICK)
    def fitting_start(self, owner: str, xid: amqp.Xid) -> None:
        """A start of the kind that fits the branch."""
        work = self.model.works.get(xid)
        resume = work is not None and owner in work.waiting
        self.execute(owner, amqp.DtxStart(xid, work is not None and not resume, resume))

    @rule(owner=OWNERS, xid=PICK, flags=FLAGS, own=st.sampled_from([True, True, True, False]))
    def end(self, owner: str, xid: amqp.Xid, flags: tuple[bool, bool], own: bool) -> None:
        """An end, mostly of what the session works for."""
        self.execute(owner, amqp.DtxEnd(self.model.current(owner) or xid if own else xid, *flags))

    @rule(owner=OWNERS)
    def work(self, owner: str) -> None:
        """Work is done, in a branch or in none."""
        xid = self.model.current(owner)
        if xid is not None:
            self.model.works[xid].worked = True
        assert self.real.mark_work(owner) == self.copy.mark_work(owner) == xid

    @rule(owner=OWNERS, xid=PICK, free=st.booleans(), data=st.data())
    def settle(self, owner: str, xid: amqp.Xid, free: bool, data: st.DataObject) -> None:
        """A command that a branch is settled with, or on the way to it; if `free`, of one that nobody works for."""
        settleable = [each for each, work in self.model.works.items() if work.free]
        if free and settleable:
            xid = data.draw(st.sampled_from(settleable))
        commands = [
            amqp.DtxPrepare(xid), amqp.DtxPrepare(xid), amqp.DtxCommit(xid), amqp.DtxCommit(xid, True),
            amqp.DtxRollback(xid),
        ]  # fmt: skip
        self.execute(owner, data.draw(st.sampled_from([*commands, amqp.DtxForget(xid)])))

    @rule(owner=OWNERS, xid=PICK, seconds=st.integers(0, 8))
    def set_timeout(self, owner: str, xid: amqp.Xid, seconds: int) -> None:
        self.execute(owner, amqp.DtxSetTimeout(xid, seconds))

    @rule(owner=OWNERS, xid=PICK)
    def ask(self, owner: str, xid: amqp.Xid) -> None:
        """What only asks."""
        self.execute(owner, amqp.DtxGetTimeout(xid))
        self.execute(owner, amqp.DtxRecover())

    @rule(seconds=st.sampled_from([0.5, 1.0, 4.0]), told=st.booleans())
    def pass_time(self, seconds: float, told: bool) -> None:
        """Time goes by; what is late isn't late before the branches are told."""
        self.now += seconds
        if not told:
            return
        due = [(work.due, xid) for xid, work in self.model.works.items() if work.due and work.due <= self.now]
        timed_out = self.real.handle_timeout(self.now)
        assert self.copy.handle_timeout(self.now) == timed_out
        assert sorted(xid.format or 0 for xid in timed_out) == sorted(xid.format or 0 for _, xid in due)
        deadlines = {xid: deadline for deadline, xid in due}
        assert [deadlines[xid] for xid in timed_out] == sorted(deadlines.values())
        for xid in timed_out:
            self.model.doom(xid, "timeout")
        self.compare()

    @rule(owner=OWNERS)
    def close(self, owner: str) -> None:
        """A session ends."""
        # The order in which a session got its branches is that in which it gives them up; the outcomes of one closing
        # are compared without it.
        self.model.close(owner)
        expected = sorted(self.model.outcomes, key=str)
        told: list[list[tuple[amqp.Xid, str]]] = []
        for branches in (self.real, self.copy):
            branches.close_session(owner)
            told.append(list(branches.take_outcomes()))
        assert told[0] == told[1]
        assert sorted(told[0], key=str) == expected
        self.model.graves[len(self.model.graves) - len(expected) :] = [xid for xid, _ in told[0]]
        self.model.outcomes = []
        self.compare()

    @precondition(lambda self: self.model.works)
    @rule(data=st.data(), decision=st.sampled_from(["commit", "rollback", "mixed", "hazard"]))
    def decide(self, data: st.DataObject, decision: Decision) -> None:
        """The server decides by itself, which it can only of what is prepared."""
        xid = data.draw(st.sampled_from(list(self.model.works)))
        work = self.model.works[xid]
        prepared = work.fate == "prepared"
        if prepared:
            work.fate = f"{decision}!"
            if decision in ("commit", "rollback"):
                self.model.outcomes.append((xid, "committed" if decision == "commit" else "rolled-back"))
        for branches in (self.real, self.copy):
            try:
                branches.decide(xid, decision)
                assert prepared
            except LocalProtocolError:
                assert not prepared
        self.compare()

    @rule()
    def pickled(self) -> None:
        """The copy is one that was pickled just now."""
        self.copy = pickle.loads(pickle.dumps(self.real))
        self.compare()


TestModel = Machine.TestCase
