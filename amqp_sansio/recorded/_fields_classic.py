"""Functions that write fields of methods that 0-8 and 0-9-1 have alike as JSON members."""

# Generated; edit the generator (tools/codegen).

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from .._classic.codec.methods import (
    AccessRequest,
    AccessRequestOk,
    BasicAck,
    BasicCancel,
    BasicCancelOk,
    BasicConsumeOk,
    BasicDeliver,
    BasicGet,
    BasicGetEmpty,
    BasicGetOk,
    BasicProperties,
    BasicPublish,
    BasicQos,
    BasicReject,
    BasicReturn,
    ChannelClose,
    ChannelFlow,
    ChannelFlowOk,
    ConnectionOpenOk,
    ConnectionStart,
    ConnectionTune,
    ConnectionTuneOk,
    ExchangeBound,
    ExchangeBoundOk,
    ExchangeDeclare,
    ExchangeDelete,
    QueueBind,
    QueueDeclare,
    QueueDeclareOk,
    QueueDelete,
    QueueDeleteOk,
    QueuePurge,
    QueuePurgeOk,
    QueueUnbind,
)

Texts: TypeAlias = Mapping[str, str]
Encode: TypeAlias = Callable[[Any], str]


def reserved(name: str, text: str) -> str:
    return f',"{name}":{text}'


def _connection_start(c: ConnectionStart, texts: Texts, encode: Encode) -> str:
    return (
        f',"version_major":{c.version_major},"version_minor":{c.version_minor}'
        f',"server_properties":{encode(c.server_properties)},"mechanisms":{encode(c.mechanisms)}'
        f',"locales":{encode(c.locales)}'
    )


def _connection_tune_ok(c: ConnectionTuneOk, texts: Texts, encode: Encode) -> str:
    return f',"channel_max":{c.channel_max},"frame_max":{c.frame_max},"heartbeat":{c.heartbeat}'


def _connection_tune(c: ConnectionTune, texts: Texts, encode: Encode) -> str:
    return f',"channel_max":{c.channel_max},"frame_max":{c.frame_max},"heartbeat":{c.heartbeat}'


def _connection_open_ok(c: ConnectionOpenOk, texts: Texts, encode: Encode) -> str:
    known_hosts = reserved("known_hosts", encode(c.known_hosts)) if c.known_hosts else ""
    return f"{known_hosts}"


def _channel_flow_ok(c: ChannelFlowOk, texts: Texts, encode: Encode) -> str:
    return f',"active":{"true" if c.active else "false"}'


def _channel_flow(c: ChannelFlow, texts: Texts, encode: Encode) -> str:
    return f',"active":{"true" if c.active else "false"}'


def _channel_close(c: ChannelClose, texts: Texts, encode: Encode) -> str:
    return (
        f',"reply_code":{c.reply_code},"reply_text":{texts[c.reply_text]},"class_id":{c.class_id}'
        f',"method_id":{c.method_id}'
    )


def _access_request_ok(c: AccessRequestOk, texts: Texts, encode: Encode) -> str:
    ticket = reserved("ticket", encode(c.ticket)) if c.ticket else ""
    return f"{ticket}"


def _access_request(c: AccessRequest, texts: Texts, encode: Encode) -> str:
    return (
        f',"realm":{texts[c.realm]},"exclusive":{"true" if c.exclusive else "false"}'
        f',"passive":{"true" if c.passive else "false"},"active":{"true" if c.active else "false"}'
        f',"write":{"true" if c.write else "false"},"read":{"true" if c.read else "false"}'
    )


def _exchange_declare(c: ExchangeDeclare, texts: Texts, encode: Encode) -> str:
    ticket = reserved("ticket", encode(c.ticket)) if c.ticket else ""
    return (
        f',"exchange":{texts[c.exchange]},"type":{texts[c.type]},"passive":{"true" if c.passive else "false"}'
        f',"durable":{"true" if c.durable else "false"},"auto_delete":{"true" if c.auto_delete else "false"}'
        f',"internal":{"true" if c.internal else "false"},"no_wait":{"true" if c.no_wait else "false"}'
        f',"arguments":{encode(c.arguments)}{ticket}'
    )


def _exchange_delete(c: ExchangeDelete, texts: Texts, encode: Encode) -> str:
    ticket = reserved("ticket", encode(c.ticket)) if c.ticket else ""
    return (
        f',"exchange":{texts[c.exchange]},"if_unused":{"true" if c.if_unused else "false"}'
        f',"no_wait":{"true" if c.no_wait else "false"}{ticket}'
    )


def _exchange_bound_ok(c: ExchangeBoundOk, texts: Texts, encode: Encode) -> str:
    return f',"reply_code":{c.reply_code},"reply_text":{texts[c.reply_text]}'


def _exchange_bound(c: ExchangeBound, texts: Texts, encode: Encode) -> str:
    return f',"exchange":{texts[c.exchange]},"routing_key":{texts[c.routing_key]},"queue":{texts[c.queue]}'


def _queue_declare_ok(c: QueueDeclareOk, texts: Texts, encode: Encode) -> str:
    return f',"queue":{texts[c.queue]},"message_count":{c.message_count},"consumer_count":{c.consumer_count}'


def _queue_declare(c: QueueDeclare, texts: Texts, encode: Encode) -> str:
    ticket = reserved("ticket", encode(c.ticket)) if c.ticket else ""
    return (
        f',"queue":{texts[c.queue]},"passive":{"true" if c.passive else "false"}'
        f',"durable":{"true" if c.durable else "false"},"exclusive":{"true" if c.exclusive else "false"}'
        f',"auto_delete":{"true" if c.auto_delete else "false"},"no_wait":{"true" if c.no_wait else "false"}'
        f',"arguments":{encode(c.arguments)}{ticket}'
    )


def _queue_bind(c: QueueBind, texts: Texts, encode: Encode) -> str:
    ticket = reserved("ticket", encode(c.ticket)) if c.ticket else ""
    return (
        f',"queue":{texts[c.queue]},"exchange":{texts[c.exchange]},"routing_key":{texts[c.routing_key]}'
        f',"no_wait":{"true" if c.no_wait else "false"},"arguments":{encode(c.arguments)}{ticket}'
    )


def _queue_purge_ok(c: QueuePurgeOk, texts: Texts, encode: Encode) -> str:
    return f',"message_count":{c.message_count}'


def _queue_purge(c: QueuePurge, texts: Texts, encode: Encode) -> str:
    ticket = reserved("ticket", encode(c.ticket)) if c.ticket else ""
    return f',"queue":{texts[c.queue]},"no_wait":{"true" if c.no_wait else "false"}{ticket}'


def _queue_delete_ok(c: QueueDeleteOk, texts: Texts, encode: Encode) -> str:
    return f',"message_count":{c.message_count}'


def _queue_delete(c: QueueDelete, texts: Texts, encode: Encode) -> str:
    ticket = reserved("ticket", encode(c.ticket)) if c.ticket else ""
    return (
        f',"queue":{texts[c.queue]},"if_unused":{"true" if c.if_unused else "false"}'
        f',"if_empty":{"true" if c.if_empty else "false"},"no_wait":{"true" if c.no_wait else "false"}{ticket}'
    )


def _queue_unbind(c: QueueUnbind, texts: Texts, encode: Encode) -> str:
    ticket = reserved("ticket", encode(c.ticket)) if c.ticket else ""
    return (
        f',"queue":{texts[c.queue]},"exchange":{texts[c.exchange]},"routing_key":{texts[c.routing_key]}'
        f',"arguments":{encode(c.arguments)}{ticket}'
    )


def _basic_qos(c: BasicQos, texts: Texts, encode: Encode) -> str:
    return (
        f',"prefetch_size":{c.prefetch_size},"prefetch_count":{c.prefetch_count}'
        f',"global_":{"true" if c.global_ else "false"}'
    )


def _basic_consume_ok(c: BasicConsumeOk, texts: Texts, encode: Encode) -> str:
    return f',"consumer_tag":{texts[c.consumer_tag]}'


def _basic_cancel_ok(c: BasicCancelOk, texts: Texts, encode: Encode) -> str:
    return f',"consumer_tag":{texts[c.consumer_tag]}'


def _basic_cancel(c: BasicCancel, texts: Texts, encode: Encode) -> str:
    return f',"consumer_tag":{texts[c.consumer_tag]},"no_wait":{"true" if c.no_wait else "false"}'


def _basic_publish(c: BasicPublish, texts: Texts, encode: Encode) -> str:
    ticket = reserved("ticket", encode(c.ticket)) if c.ticket else ""
    return (
        f',"exchange":{texts[c.exchange]},"routing_key":{texts[c.routing_key]}'
        f',"mandatory":{"true" if c.mandatory else "false"},"immediate":{"true" if c.immediate else "false"}{ticket}'
    )


def _basic_return(c: BasicReturn, texts: Texts, encode: Encode) -> str:
    return (
        f',"reply_code":{c.reply_code},"reply_text":{texts[c.reply_text]},"exchange":{texts[c.exchange]}'
        f',"routing_key":{texts[c.routing_key]}'
    )


def _basic_deliver(c: BasicDeliver, texts: Texts, encode: Encode) -> str:
    return (
        f',"consumer_tag":{texts[c.consumer_tag]},"delivery_tag":{c.delivery_tag}'
        f',"redelivered":{"true" if c.redelivered else "false"},"exchange":{texts[c.exchange]}'
        f',"routing_key":{texts[c.routing_key]}'
    )


def _basic_get_ok(c: BasicGetOk, texts: Texts, encode: Encode) -> str:
    return (
        f',"delivery_tag":{c.delivery_tag},"redelivered":{"true" if c.redelivered else "false"}'
        f',"exchange":{texts[c.exchange]},"routing_key":{texts[c.routing_key]},"message_count":{c.message_count}'
    )


def _basic_get_empty(c: BasicGetEmpty, texts: Texts, encode: Encode) -> str:
    cluster_id = reserved("cluster_id", encode(c.cluster_id)) if c.cluster_id else ""
    return f"{cluster_id}"


def _basic_get(c: BasicGet, texts: Texts, encode: Encode) -> str:
    ticket = reserved("ticket", encode(c.ticket)) if c.ticket else ""
    return f',"queue":{texts[c.queue]},"no_ack":{"true" if c.no_ack else "false"}{ticket}'


def _basic_ack(c: BasicAck, texts: Texts, encode: Encode) -> str:
    return f',"delivery_tag":{c.delivery_tag},"multiple":{"true" if c.multiple else "false"}'


def _basic_reject(c: BasicReject, texts: Texts, encode: Encode) -> str:
    return f',"delivery_tag":{c.delivery_tag},"requeue":{"true" if c.requeue else "false"}'


def _basic_properties(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (content_type := c.content_type) is not None:
        s += f',"content_type":{texts[content_type]}'
    if (content_encoding := c.content_encoding) is not None:
        s += f',"content_encoding":{texts[content_encoding]}'
    if (headers := c.headers) is not None and (headers.__class__ is not tuple or headers):
        s += f',"headers":{encode(headers)}'
    if (delivery_mode := c.delivery_mode) is not None:
        s += f',"delivery_mode":{delivery_mode}'
    if (priority := c.priority) is not None:
        s += f',"priority":{priority}'
    if (correlation_id := c.correlation_id) is not None:
        s += f',"correlation_id":{texts[correlation_id]}'
    if (reply_to := c.reply_to) is not None:
        s += f',"reply_to":{texts[reply_to]}'
    if (expiration := c.expiration) is not None:
        s += f',"expiration":{texts[expiration]}'
    if (message_id := c.message_id) is not None:
        s += f',"message_id":{texts[message_id]}'
    if (timestamp := c.timestamp) is not None and (timestamp.__class__ is not tuple or timestamp):
        s += f',"timestamp":{encode(timestamp)}'
    if (type := c.type) is not None:
        s += f',"type":{texts[type]}'
    if (user_id := c.user_id) is not None:
        s += f',"user_id":{texts[user_id]}'
    if (app_id := c.app_id) is not None:
        s += f',"app_id":{texts[app_id]}'
    if (cluster_id := c.cluster_id) is not None:
        s += f',"cluster_id":{texts[cluster_id]}'
    return s


WRITERS: Final[Mapping[type[Any], Callable[[Any, Texts, Encode], str]]] = {
    ConnectionStart: _connection_start,
    ConnectionTuneOk: _connection_tune_ok,
    ConnectionTune: _connection_tune,
    ConnectionOpenOk: _connection_open_ok,
    ChannelFlowOk: _channel_flow_ok,
    ChannelFlow: _channel_flow,
    ChannelClose: _channel_close,
    AccessRequestOk: _access_request_ok,
    AccessRequest: _access_request,
    ExchangeDeclare: _exchange_declare,
    ExchangeDelete: _exchange_delete,
    ExchangeBoundOk: _exchange_bound_ok,
    ExchangeBound: _exchange_bound,
    QueueDeclareOk: _queue_declare_ok,
    QueueDeclare: _queue_declare,
    QueueBind: _queue_bind,
    QueuePurgeOk: _queue_purge_ok,
    QueuePurge: _queue_purge,
    QueueDeleteOk: _queue_delete_ok,
    QueueDelete: _queue_delete,
    QueueUnbind: _queue_unbind,
    BasicQos: _basic_qos,
    BasicConsumeOk: _basic_consume_ok,
    BasicCancelOk: _basic_cancel_ok,
    BasicCancel: _basic_cancel,
    BasicPublish: _basic_publish,
    BasicReturn: _basic_return,
    BasicDeliver: _basic_deliver,
    BasicGetOk: _basic_get_ok,
    BasicGetEmpty: _basic_get_empty,
    BasicGet: _basic_get,
    BasicAck: _basic_ack,
    BasicReject: _basic_reject,
    BasicProperties: _basic_properties,
}
"""By the class of the record."""

__all__ = ["WRITERS"]
