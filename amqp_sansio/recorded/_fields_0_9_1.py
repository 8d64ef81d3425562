"""Functions that write fields of methods that only 0-9-1 has so as JSON members."""

# Generated; edit the generator (tools/codegen).

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from .._classic.codec.methods_0_9_1 import (
    BasicConsume,
    BasicCredit,
    BasicCreditDrained,
    BasicCreditOk,
    BasicNack,
    BasicRecover,
    BasicRecoverAsync,
    ConfirmSelect,
    ConnectionBlocked,
    ConnectionClose,
    ConnectionOpen,
    ExchangeBind,
    ExchangeUnbind,
)

Texts: TypeAlias = Mapping[str, str]
Encode: TypeAlias = Callable[[Any], str]


def _connection_open(c: ConnectionOpen, texts: Texts, encode: Encode) -> str:
    return f',"virtual_host":{texts[c.virtual_host]}'


def _connection_close(c: ConnectionClose, texts: Texts, encode: Encode) -> str:
    return (
        f',"reply_code":{c.reply_code},"reply_text":{texts[c.reply_text]},"class_id":{c.class_id}'
        f',"method_id":{c.method_id}'
    )


def _connection_blocked(c: ConnectionBlocked, texts: Texts, encode: Encode) -> str:
    return f',"reason":{texts[c.reason]}'


def _exchange_bind(c: ExchangeBind, texts: Texts, encode: Encode) -> str:
    return (
        f',"destination":{texts[c.destination]},"source":{texts[c.source]},"routing_key":{texts[c.routing_key]}'
        f',"no_wait":{"true" if c.no_wait else "false"},"arguments":{encode(c.arguments)}'
    )


def _exchange_unbind(c: ExchangeUnbind, texts: Texts, encode: Encode) -> str:
    return (
        f',"destination":{texts[c.destination]},"source":{texts[c.source]},"routing_key":{texts[c.routing_key]}'
        f',"no_wait":{"true" if c.no_wait else "false"},"arguments":{encode(c.arguments)}'
    )


def _basic_consume(c: BasicConsume, texts: Texts, encode: Encode) -> str:
    return (
        f',"queue":{texts[c.queue]},"consumer_tag":{texts[c.consumer_tag]}'
        f',"no_local":{"true" if c.no_local else "false"},"no_ack":{"true" if c.no_ack else "false"}'
        f',"exclusive":{"true" if c.exclusive else "false"},"no_wait":{"true" if c.no_wait else "false"}'
        f',"arguments":{encode(c.arguments)}'
    )


def _basic_recover_async(c: BasicRecoverAsync, texts: Texts, encode: Encode) -> str:
    return f',"requeue":{"true" if c.requeue else "false"}'


def _basic_recover(c: BasicRecover, texts: Texts, encode: Encode) -> str:
    return f',"requeue":{"true" if c.requeue else "false"}'


def _basic_nack(c: BasicNack, texts: Texts, encode: Encode) -> str:
    return (
        f',"delivery_tag":{c.delivery_tag},"multiple":{"true" if c.multiple else "false"}'
        f',"requeue":{"true" if c.requeue else "false"}'
    )


def _basic_credit_ok(c: BasicCreditOk, texts: Texts, encode: Encode) -> str:
    return f',"available":{c.available}'


def _basic_credit(c: BasicCredit, texts: Texts, encode: Encode) -> str:
    return f',"consumer_tag":{texts[c.consumer_tag]},"credit":{c.credit},"drain":{"true" if c.drain else "false"}'


def _basic_credit_drained(c: BasicCreditDrained, texts: Texts, encode: Encode) -> str:
    return f',"consumer_tag":{texts[c.consumer_tag]},"credit_drained":{c.credit_drained}'


def _confirm_select(c: ConfirmSelect, texts: Texts, encode: Encode) -> str:
    return f',"no_wait":{"true" if c.no_wait else "false"}'


WRITERS: Final[Mapping[type[Any], Callable[[Any, Texts, Encode], str]]] = {
    ConnectionOpen: _connection_open,
    ConnectionClose: _connection_close,
    ConnectionBlocked: _connection_blocked,
    ExchangeBind: _exchange_bind,
    ExchangeUnbind: _exchange_unbind,
    BasicConsume: _basic_consume,
    BasicRecoverAsync: _basic_recover_async,
    BasicRecover: _basic_recover,
    BasicNack: _basic_nack,
    BasicCreditOk: _basic_credit_ok,
    BasicCredit: _basic_credit,
    BasicCreditDrained: _basic_credit_drained,
    ConfirmSelect: _confirm_select,
}
"""By the class of the record."""

__all__ = ["WRITERS"]
