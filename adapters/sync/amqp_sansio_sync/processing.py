"""Processing: the usual form of a blocking consumer, a context around the work for one delivery, which settles it."""

from __future__ import annotations

from contextlib import suppress
from types import TracebackType
from typing import Generic, Protocol, TypeVar

from amqp_sansio.errors import EndpointClosed, LocalProtocolError, StaleDelivery


class Settled(Protocol):
    """A delivery of any version."""

    def accept(self) -> None: ...
    def release(self) -> None: ...


_D = TypeVar("_D", bound=Settled)


class Processing(Generic[_D]):
    """The context that `delivery.process()` returns; it can be entered once."""

    __slots__ = ("_delivery",)

    def __init__(self, delivery: _D) -> None:
        self._delivery = delivery
        """The one that the context settles at its end."""

    def __enter__(self) -> _D:
        return self._delivery

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        # A delivery that was settled within raises LocalProtocolError: it stays as it is.
        if error is None:
            with suppress(StaleDelivery, LocalProtocolError):
                self._delivery.accept()
            return False
        else:
            # With its connection it comes again by itself, and the exception that leaves says more.
            with suppress(EndpointClosed, LocalProtocolError):
                self._delivery.release()
        return isinstance(error, StaleDelivery)


class Processed:
    """The part of a delivery that processes it."""

    __slots__ = ()

    def process(self: _D) -> Processing[_D]:
        """Return a context for the work: at its end the delivery is accepted; an exception that leaves releases it, so
        that it is delivered again.

        A delivery whose connection was lost meanwhile is passed over, with `recover`: it comes again, and a
        StaleDelivery that leaves is caught. One that was settled within, as by `reject`, stays as it is. Raises
        EndpointClosed if it can't be accepted otherwise.

        >>> def work(consumer: Consumer) -> None:
        ...     for delivery in consumer:
        ...         with delivery.process():
        ...             print(delivery.body)
        """
        return Processing(self)


__all__ = ["Processed", "Processing", "Settled"]
