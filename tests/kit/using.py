"""Using: an application of any version that does whatever it can, as octets choose."""

import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Final

from amqp_sansio import CodecError, EndpointClosed, Event, LocalProtocolError, Pending
from tests.kit.choices import Choices
from tests.kit.telling import Telling

REFUSED: Final = (LocalProtocolError, EndpointClosed, CodecError)


class Using(ABC):
    """An application that answers when it likes, and uses what there is. Commands may raise what they promise.

    `handles` are all that commands gave. With `check`, a command that raises has to leave the endpoint as it was.
    """

    acts: Sequence[Callable[[Any], object]]
    """What it does, as often as it stands there."""
    patience: int
    """It answers a question at once but for one time of so many."""

    def __init__(self, choices: Choices, end: Any, *, check: bool = False) -> None:
        self.choices = choices
        self.end = end
        self.check = check
        self.telling = Telling()
        self.handles: list[Pending[Any]] = []

    def hear(self, event: Event) -> None:
        """Remember what an event asks for."""
        self.telling(event)

    def act(self) -> None:
        """Do something, if it can be done."""
        act = self.choices.of(self.acts)
        if self.is_asked and self.choices.below(self.patience):
            act = type(self).answer
        before = pickle.dumps(self.end) if self.check else b""
        try:
            given: Any = act(self)
        except REFUSED as error:
            assert not self.check or pickle.dumps(self.end) == before, (act.__name__, error)
            return
        for each in given if given.__class__ is tuple else (given,):
            self.keep(each)

    @property
    @abstractmethod
    def is_asked(self) -> bool:
        """Whether a question waits for an answer."""

    @abstractmethod
    def answer(self) -> object:
        """Answer a question."""

    @abstractmethod
    def keep(self, given: Any) -> None:
        """Keep what a command gave: nothing, a handle, or what has one that says when it is open."""
