"""FileRules: staging, delivery tags and consumers of the file and stream classes of a session (classes 9 and 10).

The end that sends a command checks it before, the end that receives it when it comes: both by this one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping

from ..._checking import TYPE_CHECKING
from ..._ground.brevity import trim
from ...endpoint import Side
from ..codec import records
from ..codec.violation import Violation, exception
from . import execution

if TYPE_CHECKING:
    from typing import ClassVar, Final

    from ..codec.record import Command

_STAGING: Final = (records.FileOpen, records.FileOpenOk, records.FileStage)


class FileRules:
    """The state that both ends have begun with commands of these classes."""

    __slots__ = ("cancelled", "consumers", "limit", "opened", "prefetch_count", "staging", "unacked", "wanted")

    def __init__(self, limit: int) -> None:
        # Most consumers, files and commands of each kind.
        self.limit = limit
        # The client's, by class and tag: whether their files needn't be acknowledged.
        self.consumers: dict[tuple[str, str], bool] = {}
        # The same of those that were cancelled and that something may still be under way to.
        self.cancelled: dict[tuple[str, str], bool] = {}
        # The delivery tags of files that wait for their ack; a dict for its order.
        self.unacked: dict[int, None] = {}
        # How many of these there may be; 0: any number. file.qos-ok changes it.
        self.prefetch_count = 0
        # What file.qos asked for and isn't agreed to, in order.
        self.wanted: deque[int] = deque()
        # By the end that asked to stage files: the content sizes of those that aren't agreed to, in order.
        self.opened: dict[Side, deque[int]] = {side: deque() for side in Side}
        # By the same end: how much is to come of each file that the other has agreed to.
        self.staging: dict[Side, deque[int]] = {side: deque() for side in Side}

    def step(self, by: Side, command: object, body_size: int) -> None:
        """Take a command that the end `by` sends. Raises Violation for one that isn't legal, nothing changed."""
        rule = self._RULES.get(command.__class__)
        if rule is not None:
            rule(self, by, command, body_size)

    # Consumers.

    def _consume(self, by: Side, command: records.FileConsume | records.StreamConsume, body_size: int) -> None:
        kind = command.NAME.partition(".")[0]
        tag = command.consumer_tag or ""
        wrong = rule = ""
        if not command.queue:
            wrong, rule = "without a queue", "queue-empty"
        elif not tag.strip():
            wrong, rule = "without a consumer tag", "tag-empty"
        elif (kind, tag) in self.consumers:
            wrong, rule = f"with the consumer tag {tag!r}, which is in use on this session", "tag-in-use"
        if wrong:
            raise exception(execution.NOT_ALLOWED, f"{command.NAME} {wrong}", f"{command.NAME}/{rule}")
        self._check_room(len(self.consumers), "consumers")
        # Streams have no acknowledgements (rule stream/acks).
        self.consumers[kind, tag] = not isinstance(command, records.FileConsume) or command.no_ack

    def _cancel(self, by: Side, command: records.FileCancel | records.StreamCancel, body_size: int) -> None:
        # A tag that isn't known isn't an error: the cancel may have met the end of the consumer.
        key = command.NAME.partition(".")[0], command.consumer_tag or ""
        no_ack = self.consumers.pop(key, None)
        if no_ack is None:
            return
        self.cancelled[key] = no_ack
        trim(self.cancelled, self.limit)

    def _qos(self, by: Side, command: records.FileQos, body_size: int) -> None:
        self._check_room(len(self.wanted), "qos commands")
        self.wanted.append(command.prefetch_count or 0)

    def _qos_ok(self, by: Side, command: records.FileQosOk, body_size: int) -> None:
        if not self.wanted:
            raise exception(execution.ILLEGAL_STATE, "file.qos-ok, which answers no file.qos")
        self.prefetch_count = self.wanted.popleft()

    # Deliveries.

    def _deliver(self, by: Side, command: records.FileDeliver | records.StreamDeliver, body_size: int) -> None:
        tag = command.delivery_tag or 0
        if not tag:
            raise zero_tag(command)
        if not isinstance(command, records.FileDeliver):
            return
        key = "file", command.consumer_tag or ""
        if self.consumers.get(key, self.cancelled.get(key, True)):
            return
        if tag in self.unacked:
            raise exception(execution.ILLEGAL_ARGUMENT, f"{command.NAME} with the delivery tag {tag}, which is in use")
        most = self.prefetch_count
        if most and len(self.unacked) >= most:
            text = f"{command.NAME} of one more than the {most} files that the client's prefetch-count allows"
            raise exception(execution.NOT_ALLOWED, text, "file.qos/ceiling")
        self._check_room(len(self.unacked), "files that wait for their ack")
        self.unacked[tag] = None

    def _ack(self, by: Side, command: records.FileAck, body_size: int) -> None:
        tag = command.delivery_tag or 0
        self._check_tag(command, tag, zero=command.multiple, rule="file.ack/validation")
        if not tag:
            self.unacked.clear()
        elif command.multiple:
            for each in list(self.unacked):
                del self.unacked[each]
                if each == tag:
                    break
        else:
            del self.unacked[tag]

    def _reject(self, by: Side, command: records.FileReject, body_size: int) -> None:
        tag = command.delivery_tag or 0
        self._check_tag(command, tag, zero=False, rule="file.reject/session-local")
        del self.unacked[tag]

    def _check_tag(self, command: Command[object], tag: int, *, zero: bool, rule: str) -> None:
        if tag not in self.unacked and not (zero and not tag):
            text = f"{command.NAME} of the delivery tag {tag}, of which no file of this session waits for it"
            raise exception(execution.INVALID_ARGUMENT, text, rule)

    # Staging.

    def _open(self, by: Side, command: records.FileOpen, body_size: int) -> None:
        self._check_room(len(self.opened[by]) + len(self.staging[by]), "files being staged")
        self.opened[by].append(command.content_size or 0)

    def _open_ok(self, by: Side, command: records.FileOpenOk, body_size: int) -> None:
        other = by.other
        opened = self.opened[other]
        if not opened:
            raise exception(execution.ILLEGAL_STATE, "file.open-ok, which answers no file.open")
        staged = command.staged_size or 0
        if staged > opened[0]:
            text = f"file.open-ok for {staged} octets of a file that has {opened[0]}"
            raise exception(execution.ILLEGAL_ARGUMENT, text)
        self.staging[other].append(opened.popleft() - staged)

    def _stage(self, by: Side, command: records.FileStage, body_size: int) -> None:
        staging = self.staging[by]
        if not staging:
            raise exception(execution.ILLEGAL_STATE, "file.stage before file.open-ok", "file.open-ok/behavior")
        if body_size != staging[0]:
            text = f"file.stage of {body_size} octets, by its file.open and file.open-ok there are {staging[0]} to come"
            raise exception(execution.INVALID_ARGUMENT, text, "file.open/content-size")
        staging.popleft()

    def _check_room(self, count: int, what: str) -> None:
        if count >= self.limit:
            raise exception(execution.RESOURCE_LIMIT_EXCEEDED, f"{count} {what}, Limits.consumers allows no more")

    _RULES: ClassVar[Mapping[type, Callable[..., None]]] = {
        records.FileQos: _qos,
        records.FileQosOk: _qos_ok,
        records.FileConsume: _consume,
        records.StreamConsume: _consume,
        records.FileCancel: _cancel,
        records.StreamCancel: _cancel,
        records.FileDeliver: _deliver,
        records.StreamDeliver: _deliver,
        records.FileAck: _ack,
        records.FileReject: _reject,
        records.FileOpen: _open,
        records.FileOpenOk: _open_ok,
        records.FileStage: _stage,
    }


class Tags:
    """The delivery tags that were used: a run of consecutive ones, and at most `most` others, else it isn't `sure`."""

    __slots__ = ("first", "last", "most", "others", "sure")

    def __init__(self, most: int) -> None:
        # How many outside of the run are remembered.
        self.most = most
        # Where the run begins; it is empty while it lies above `last`.
        self.first = 0
        # Where it ends.
        self.last = -1
        # Tags outside of the run.
        self.others: set[int] = set()
        # Whether all are known: with too many others any tag may have been used.
        self.sure = True

    def add(self, tag: int) -> None:
        """A tag is used."""
        if self.last < self.first:
            self.first = tag
            self.last = tag
        elif tag == self.last + 1:
            self.last = tag
        elif not self.first <= tag <= self.last:
            self.others.add(tag)
            if len(self.others) > self.most:
                self.others = set()
                self.sure = False

    def has(self, tag: int) -> bool:
        """Whether a tag may have been used."""
        return not self.sure or self.first <= tag <= self.last or tag in self.others


class SeenFiles(FileRules):
    """The same as seen from both sides: what isn't known is held against nobody."""

    __slots__ = ("assumed", "tags")

    def __init__(self, limit: int, most: int) -> None:
        super().__init__(limit)
        # Whether not all of what is staged was seen: staging is judged no more.
        self.assumed = False
        # The delivery tags that the server used.
        self.tags = Tags(most)

    def step(self, by: Side, command: object, body_size: int) -> None:
        """Take a command that a side sends. Raises Violation for one that breaks a rule."""
        kind = command.__class__
        if kind in _STAGING:
            if not self.assumed:
                self._stages(by, command, body_size)
        elif isinstance(command, (records.FileDeliver, records.FileAck, records.FileReject)):
            self._tagged(command)
        elif kind is not records.FileQos and kind is not records.FileQosOk:
            super().step(by, command, body_size)

    def _stages(self, by: Side, command: object, body_size: int) -> None:
        try:
            super().step(by, command, body_size)
        except Violation as violation:
            # The next command may be about any file from here on.
            self.assumed = True
            if violation.rule is not None:
                raise

    def _tagged(self, command: records.FileDeliver | records.FileAck | records.FileReject) -> None:
        """Of what came on this session; 0 is all of it."""
        tag = command.delivery_tag
        if isinstance(command, records.FileDeliver):
            if tag == 0:
                raise zero_tag(command)
            if tag is not None:
                self.tags.add(tag)
        elif tag and not self.tags.has(tag):
            text = f"{command.NAME} of the delivery tag {tag}, which no file of this session had"
            raise exception(execution.INVALID_ARGUMENT, text, f"{command.NAME}/session-local")


def zero_tag(command: Command[object]) -> Violation:
    """A delivery with the tag 0, which stands for all."""
    rule = "file.deliver/non-zero" if isinstance(command, records.FileDeliver) else None
    return exception(execution.ILLEGAL_ARGUMENT, f"{command.NAME} with the delivery tag 0", rule)
