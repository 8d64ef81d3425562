"""The exceptions of this adapter, beside those of amqp_sansio."""

from __future__ import annotations

from amqp_sansio import CloseReport, EndpointClosed


class ConsumerEnded(EndpointClosed):
    """A consumer is over while its channel goes on: the server ended it, or this side did because it fell behind.

    `consumer_tag` names it; `report` says who ended it and why.
    """

    def __init__(
        self, text: str, report: CloseReport | None = None, consumer_tag: str = ""
    ) -> None:
        super().__init__(text, report)
        self.consumer_tag = consumer_tag

    def __reduce__(self) -> tuple[object, ...]:
        return ConsumerEnded, (str(self), self.report, self.consumer_tag)


__all__ = ["ConsumerEnded"]
