"""A naive model of distributed transactions, which the broker's and the endpoints' branches are compared with."""

from typing import Any

from amqp_sansio.amqp_0_10 import spec

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


class NaiveBranches:
    """Class dtx, written down command by command, with a search for everything."""

    def __init__(self, join: bool, default: int) -> None:
        self.join = join
        self.default = default
        self.selected: list[object] = []
        self.works: dict[spec.Xid, Work] = {}
        # The rolled-back ones that wait to be asked about, by age.
        self.graves: list[spec.Xid] = []
        self.outcomes: list[tuple[spec.Xid, str]] = []

    def current(self, owner: object) -> spec.Xid | None:
        found = [xid for xid, work in self.works.items() if owner in work.workers]
        assert len(found) < 2
        return found[0] if found else None

    def doom(self, xid: spec.Xid, fate: str) -> None:
        work = self.works[xid]
        if not work.doomed:
            work.fate = fate
        work.waiting = []
        work.due = None
        if not work.workers and xid not in self.graves:
            self.graves.append(xid)
            self.outcomes.append((xid, "rolled-back"))
        elif fate == "timeout":
            # Undone at once; what the workers still do, when the last one has gone.
            self.outcomes.append((xid, "rolled-back"))

    def remove(self, xid: spec.Xid) -> None:
        del self.works[xid]
        self.graves = [each for each in self.graves if each != xid]

    def execute(self, owner: object, command: Any, now: float) -> object:
        """The result's status, timeout or xids; None where there is none."""
        name = command.NAME.partition(".")[2].replace("-", "_")
        return getattr(self, name)(owner, command, now)

    def select(self, owner: object, command: spec.DtxSelect, now: float) -> None:
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
            work.fate = "prepared"
            work.due = None
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

    def complete(self, xid: spec.Xid, work: Work, outcome: str) -> int:
        if work.fate in ("open", "prepared"):
            self.outcomes.append((xid, outcome))
        if not work.fate.endswith("!"):
            self.remove(xid)
        return STATUS[work.fate]

    def forget(self, owner: object, command: Any, now: float) -> None:
        if not self.settled(command).fate.endswith("!"):
            raise Refused(409, "forget/illegal-state")
        self.remove(command.xid)

    def recover(self, owner: object, command: Any, now: float) -> list[spec.Xid]:
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
    if isinstance(result, spec.XaResult):
        return result.status
    if isinstance(result, spec.GetTimeoutResult):
        return result.timeout
    return result.in_doubt if isinstance(result, spec.RecoverResult) else result
