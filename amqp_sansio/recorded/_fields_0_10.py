"""Functions that write fields of structs, controls and commands of 0-10 as JSON members."""

# Generated; edit the generator (tools/codegen).

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from ..amqp_0_10.codec.records import (
    Acquired,
    CommandFragment,
    ConnectionClose,
    ConnectionOpen,
    ConnectionOpenOk,
    ConnectionRedirect,
    ConnectionSecure,
    ConnectionStart,
    ConnectionTune,
    ConnectionTuneOk,
    DeliveryProperties,
    DtxCommit,
    DtxEnd,
    DtxForget,
    DtxGetTimeout,
    DtxPrepare,
    DtxRollback,
    DtxSetTimeout,
    DtxStart,
    ExchangeBind,
    ExchangeBound,
    ExchangeBoundResult,
    ExchangeDeclare,
    ExchangeDelete,
    ExchangeQuery,
    ExchangeQueryResult,
    ExchangeUnbind,
    ExecutionException,
    ExecutionResult,
    FragmentProperties,
    GetTimeoutResult,
    MessageAccept,
    MessageAcquire,
    MessageCancel,
    MessageFlow,
    MessageFlush,
    MessageProperties,
    MessageReject,
    MessageRelease,
    MessageResume,
    MessageResumeResult,
    MessageSetFlowMode,
    MessageStop,
    MessageSubscribe,
    MessageTransfer,
    QueueDeclare,
    QueueDelete,
    QueuePurge,
    QueueQuery,
    QueueQueryResult,
    RecoverResult,
    ReplyTo,
    SessionAttach,
    SessionAttached,
    SessionCommandPoint,
    SessionCompleted,
    SessionConfirmed,
    SessionDetach,
    SessionDetached,
    SessionExpected,
    SessionFlush,
    SessionGap,
    SessionHeader,
    SessionKnownCompleted,
    SessionRequestTimeout,
    SessionTimeout,
    XaResult,
    Xid,
)

Texts: TypeAlias = Mapping[str, str]
Encode: TypeAlias = Callable[[Any], str]


def _session_header(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (sync := c.sync) is not None:
        s += ',"sync":true' if sync else ',"sync":false'
    return s


def _command_fragment(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (command_id := c.command_id) is not None:
        s += f',"command_id":{command_id}'
    if (byte_ranges := c.byte_ranges) is not None and (byte_ranges.__class__ is not tuple or byte_ranges):
        s += f',"byte_ranges":{encode(byte_ranges)}'
    return s


def _delivery_properties(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (discard_unroutable := c.discard_unroutable) is not None:
        s += ',"discard_unroutable":true' if discard_unroutable else ',"discard_unroutable":false'
    if (immediate := c.immediate) is not None:
        s += ',"immediate":true' if immediate else ',"immediate":false'
    if (redelivered := c.redelivered) is not None:
        s += ',"redelivered":true' if redelivered else ',"redelivered":false'
    if (priority := c.priority) is not None:
        s += f',"priority":{priority}'
    if (delivery_mode := c.delivery_mode) is not None:
        s += f',"delivery_mode":{delivery_mode}'
    if (ttl := c.ttl) is not None:
        s += f',"ttl":{ttl}'
    if (timestamp := c.timestamp) is not None and (timestamp.__class__ is not tuple or timestamp):
        s += f',"timestamp":{encode(timestamp)}'
    if (expiration := c.expiration) is not None and (expiration.__class__ is not tuple or expiration):
        s += f',"expiration":{encode(expiration)}'
    if (exchange := c.exchange) is not None:
        s += f',"exchange":{texts[exchange]}'
    if (routing_key := c.routing_key) is not None:
        s += f',"routing_key":{texts[routing_key]}'
    if (resume_id := c.resume_id) is not None:
        s += f',"resume_id":{texts[resume_id]}'
    if (resume_ttl := c.resume_ttl) is not None:
        s += f',"resume_ttl":{resume_ttl}'
    return s


def _fragment_properties(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (first := c.first) is not None:
        s += ',"first":true' if first else ',"first":false'
    if (last := c.last) is not None:
        s += ',"last":true' if last else ',"last":false'
    if (fragment_size := c.fragment_size) is not None:
        s += f',"fragment_size":{fragment_size}'
    return s


def _reply_to(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (exchange := c.exchange) is not None:
        s += f',"exchange":{texts[exchange]}'
    if (routing_key := c.routing_key) is not None:
        s += f',"routing_key":{texts[routing_key]}'
    return s


def _message_properties(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (content_length := c.content_length) is not None:
        s += f',"content_length":{content_length}'
    if (message_id := c.message_id) is not None and (message_id.__class__ is not tuple or message_id):
        s += f',"message_id":{encode(message_id)}'
    if (correlation_id := c.correlation_id) is not None:
        s += f',"correlation_id":{encode(correlation_id)}'
    if (reply_to := c.reply_to) is not None and (reply_to.__class__ is not tuple or reply_to):
        s += f',"reply_to":{encode(reply_to)}'
    if (content_type := c.content_type) is not None:
        s += f',"content_type":{texts[content_type]}'
    if (content_encoding := c.content_encoding) is not None:
        s += f',"content_encoding":{texts[content_encoding]}'
    if (user_id := c.user_id) is not None:
        s += f',"user_id":{encode(user_id)}'
    if (app_id := c.app_id) is not None:
        s += f',"app_id":{encode(app_id)}'
    if (application_headers := c.application_headers) is not None and (
        application_headers.__class__ is not tuple or application_headers
    ):
        s += f',"application_headers":{encode(application_headers)}'
    return s


def _acquired(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (transfers := c.transfers) is not None and (transfers.__class__ is not tuple or transfers):
        s += f',"transfers":{encode(transfers)}'
    return s


def _message_resume_result(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (offset := c.offset) is not None:
        s += f',"offset":{offset}'
    return s


def _xa_result(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (status := c.status) is not None:
        s += f',"status":{status}'
    return s


def _xid(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (format := c.format) is not None:
        s += f',"format":{format}'
    if (global_id := c.global_id) is not None:
        s += f',"global_id":{encode(global_id)}'
    if (branch_id := c.branch_id) is not None:
        s += f',"branch_id":{encode(branch_id)}'
    return s


def _get_timeout_result(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (timeout := c.timeout) is not None:
        s += f',"timeout":{timeout}'
    return s


def _recover_result(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (in_doubt := c.in_doubt) is not None and (in_doubt.__class__ is not tuple or in_doubt):
        s += f',"in_doubt":{encode(in_doubt)}'
    return s


def _exchange_query_result(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (type := c.type) is not None:
        s += f',"type":{texts[type]}'
    if (durable := c.durable) is not None:
        s += ',"durable":true' if durable else ',"durable":false'
    if (not_found := c.not_found) is not None:
        s += ',"not_found":true' if not_found else ',"not_found":false'
    if (arguments := c.arguments) is not None and (arguments.__class__ is not tuple or arguments):
        s += f',"arguments":{encode(arguments)}'
    return s


def _exchange_bound_result(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (exchange_not_found := c.exchange_not_found) is not None:
        s += ',"exchange_not_found":true' if exchange_not_found else ',"exchange_not_found":false'
    if (queue_not_found := c.queue_not_found) is not None:
        s += ',"queue_not_found":true' if queue_not_found else ',"queue_not_found":false'
    if (queue_not_matched := c.queue_not_matched) is not None:
        s += ',"queue_not_matched":true' if queue_not_matched else ',"queue_not_matched":false'
    if (key_not_matched := c.key_not_matched) is not None:
        s += ',"key_not_matched":true' if key_not_matched else ',"key_not_matched":false'
    if (args_not_matched := c.args_not_matched) is not None:
        s += ',"args_not_matched":true' if args_not_matched else ',"args_not_matched":false'
    return s


def _queue_query_result(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (queue := c.queue) is not None:
        s += f',"queue":{texts[queue]}'
    if (alternate_exchange := c.alternate_exchange) is not None:
        s += f',"alternate_exchange":{texts[alternate_exchange]}'
    if (durable := c.durable) is not None:
        s += ',"durable":true' if durable else ',"durable":false'
    if (exclusive := c.exclusive) is not None:
        s += ',"exclusive":true' if exclusive else ',"exclusive":false'
    if (auto_delete := c.auto_delete) is not None:
        s += ',"auto_delete":true' if auto_delete else ',"auto_delete":false'
    if (arguments := c.arguments) is not None and (arguments.__class__ is not tuple or arguments):
        s += f',"arguments":{encode(arguments)}'
    if (message_count := c.message_count) is not None:
        s += f',"message_count":{message_count}'
    if (subscriber_count := c.subscriber_count) is not None:
        s += f',"subscriber_count":{subscriber_count}'
    return s


def _connection_start(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (server_properties := c.server_properties) is not None and (
        server_properties.__class__ is not tuple or server_properties
    ):
        s += f',"server_properties":{encode(server_properties)}'
    if (mechanisms := c.mechanisms) is not None and (mechanisms.__class__ is not tuple or mechanisms):
        s += f',"mechanisms":{encode(mechanisms)}'
    if (locales := c.locales) is not None and (locales.__class__ is not tuple or locales):
        s += f',"locales":{encode(locales)}'
    return s


def _connection_secure(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (challenge := c.challenge) is not None:
        s += f',"challenge":{encode(challenge)}'
    return s


def _connection_tune(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (channel_max := c.channel_max) is not None:
        s += f',"channel_max":{channel_max}'
    if (max_frame_size := c.max_frame_size) is not None:
        s += f',"max_frame_size":{max_frame_size}'
    if (heartbeat_min := c.heartbeat_min) is not None:
        s += f',"heartbeat_min":{heartbeat_min}'
    if (heartbeat_max := c.heartbeat_max) is not None:
        s += f',"heartbeat_max":{heartbeat_max}'
    return s


def _connection_tune_ok(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (channel_max := c.channel_max) is not None:
        s += f',"channel_max":{channel_max}'
    if (max_frame_size := c.max_frame_size) is not None:
        s += f',"max_frame_size":{max_frame_size}'
    if (heartbeat := c.heartbeat) is not None:
        s += f',"heartbeat":{heartbeat}'
    return s


def _connection_open(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (virtual_host := c.virtual_host) is not None:
        s += f',"virtual_host":{texts[virtual_host]}'
    if (capabilities := c.capabilities) is not None and (capabilities.__class__ is not tuple or capabilities):
        s += f',"capabilities":{encode(capabilities)}'
    if (insist := c.insist) is not None:
        s += ',"insist":true' if insist else ',"insist":false'
    return s


def _connection_open_ok(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (known_hosts := c.known_hosts) is not None and (known_hosts.__class__ is not tuple or known_hosts):
        s += f',"known_hosts":{encode(known_hosts)}'
    return s


def _connection_redirect(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (host := c.host) is not None:
        s += f',"host":{texts[host]}'
    if (known_hosts := c.known_hosts) is not None and (known_hosts.__class__ is not tuple or known_hosts):
        s += f',"known_hosts":{encode(known_hosts)}'
    return s


def _connection_close(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (reply_code := c.reply_code) is not None:
        s += f',"reply_code":{reply_code}'
    if (reply_text := c.reply_text) is not None:
        s += f',"reply_text":{texts[reply_text]}'
    return s


def _session_attach(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (name := c.name) is not None:
        s += f',"name":{encode(name)}'
    if (force := c.force) is not None:
        s += ',"force":true' if force else ',"force":false'
    return s


def _session_attached(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (name := c.name) is not None:
        s += f',"name":{encode(name)}'
    return s


def _session_detach(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (name := c.name) is not None:
        s += f',"name":{encode(name)}'
    return s


def _session_detached(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (name := c.name) is not None:
        s += f',"name":{encode(name)}'
    if (code := c.code) is not None:
        s += f',"code":{code}'
    return s


def _session_request_timeout(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (timeout := c.timeout) is not None:
        s += f',"timeout":{timeout}'
    return s


def _session_timeout(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (timeout := c.timeout) is not None:
        s += f',"timeout":{timeout}'
    return s


def _session_command_point(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (command_id := c.command_id) is not None:
        s += f',"command_id":{command_id}'
    if (command_offset := c.command_offset) is not None:
        s += f',"command_offset":{command_offset}'
    return s


def _session_expected(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (commands := c.commands) is not None and (commands.__class__ is not tuple or commands):
        s += f',"commands":{encode(commands)}'
    if (fragments := c.fragments) is not None and (fragments.__class__ is not tuple or fragments):
        s += f',"fragments":{encode(fragments)}'
    return s


def _session_confirmed(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (commands := c.commands) is not None and (commands.__class__ is not tuple or commands):
        s += f',"commands":{encode(commands)}'
    if (fragments := c.fragments) is not None and (fragments.__class__ is not tuple or fragments):
        s += f',"fragments":{encode(fragments)}'
    return s


def _session_completed(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (commands := c.commands) is not None and (commands.__class__ is not tuple or commands):
        s += f',"commands":{encode(commands)}'
    if (timely_reply := c.timely_reply) is not None:
        s += ',"timely_reply":true' if timely_reply else ',"timely_reply":false'
    return s


def _session_known_completed(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (commands := c.commands) is not None and (commands.__class__ is not tuple or commands):
        s += f',"commands":{encode(commands)}'
    return s


def _session_flush(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (expected := c.expected) is not None:
        s += ',"expected":true' if expected else ',"expected":false'
    if (confirmed := c.confirmed) is not None:
        s += ',"confirmed":true' if confirmed else ',"confirmed":false'
    if (completed := c.completed) is not None:
        s += ',"completed":true' if completed else ',"completed":false'
    return s


def _session_gap(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (commands := c.commands) is not None and (commands.__class__ is not tuple or commands):
        s += f',"commands":{encode(commands)}'
    return s


def _execution_result(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (command_id := c.command_id) is not None:
        s += f',"command_id":{command_id}'
    if (value := c.value) is not None and (value.__class__ is not tuple or value):
        s += f',"value":{encode(value)}'
    return s


def _execution_exception(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (error_code := c.error_code) is not None:
        s += f',"error_code":{error_code}'
    if (command_id := c.command_id) is not None:
        s += f',"command_id":{command_id}'
    if (class_code := c.class_code) is not None:
        s += f',"class_code":{class_code}'
    if (command_code := c.command_code) is not None:
        s += f',"command_code":{command_code}'
    if (field_index := c.field_index) is not None:
        s += f',"field_index":{field_index}'
    if (description := c.description) is not None:
        s += f',"description":{texts[description]}'
    if (error_info := c.error_info) is not None and (error_info.__class__ is not tuple or error_info):
        s += f',"error_info":{encode(error_info)}'
    return s


def _message_transfer(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (destination := c.destination) is not None:
        s += f',"destination":{texts[destination]}'
    if (accept_mode := c.accept_mode) is not None:
        s += f',"accept_mode":{accept_mode}'
    if (acquire_mode := c.acquire_mode) is not None:
        s += f',"acquire_mode":{acquire_mode}'
    return s


def _message_accept(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (transfers := c.transfers) is not None and (transfers.__class__ is not tuple or transfers):
        s += f',"transfers":{encode(transfers)}'
    return s


def _message_reject(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (transfers := c.transfers) is not None and (transfers.__class__ is not tuple or transfers):
        s += f',"transfers":{encode(transfers)}'
    if (code := c.code) is not None:
        s += f',"code":{code}'
    if (text := c.text) is not None:
        s += f',"text":{texts[text]}'
    return s


def _message_release(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (transfers := c.transfers) is not None and (transfers.__class__ is not tuple or transfers):
        s += f',"transfers":{encode(transfers)}'
    if (set_redelivered := c.set_redelivered) is not None:
        s += ',"set_redelivered":true' if set_redelivered else ',"set_redelivered":false'
    return s


def _message_acquire(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (transfers := c.transfers) is not None and (transfers.__class__ is not tuple or transfers):
        s += f',"transfers":{encode(transfers)}'
    return s


def _message_resume(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (destination := c.destination) is not None:
        s += f',"destination":{texts[destination]}'
    if (resume_id := c.resume_id) is not None:
        s += f',"resume_id":{texts[resume_id]}'
    return s


def _message_subscribe(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (queue := c.queue) is not None:
        s += f',"queue":{texts[queue]}'
    if (destination := c.destination) is not None:
        s += f',"destination":{texts[destination]}'
    if (accept_mode := c.accept_mode) is not None:
        s += f',"accept_mode":{accept_mode}'
    if (acquire_mode := c.acquire_mode) is not None:
        s += f',"acquire_mode":{acquire_mode}'
    if (exclusive := c.exclusive) is not None:
        s += ',"exclusive":true' if exclusive else ',"exclusive":false'
    if (resume_id := c.resume_id) is not None:
        s += f',"resume_id":{texts[resume_id]}'
    if (resume_ttl := c.resume_ttl) is not None:
        s += f',"resume_ttl":{resume_ttl}'
    if (arguments := c.arguments) is not None and (arguments.__class__ is not tuple or arguments):
        s += f',"arguments":{encode(arguments)}'
    return s


def _message_cancel(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (destination := c.destination) is not None:
        s += f',"destination":{texts[destination]}'
    return s


def _message_set_flow_mode(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (destination := c.destination) is not None:
        s += f',"destination":{texts[destination]}'
    if (flow_mode := c.flow_mode) is not None:
        s += f',"flow_mode":{flow_mode}'
    return s


def _message_flow(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (destination := c.destination) is not None:
        s += f',"destination":{texts[destination]}'
    if (unit := c.unit) is not None:
        s += f',"unit":{unit}'
    if (value := c.value) is not None:
        s += f',"value":{value}'
    return s


def _message_flush(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (destination := c.destination) is not None:
        s += f',"destination":{texts[destination]}'
    return s


def _message_stop(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (destination := c.destination) is not None:
        s += f',"destination":{texts[destination]}'
    return s


def _dtx_start(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (xid := c.xid) is not None and (xid.__class__ is not tuple or xid):
        s += f',"xid":{encode(xid)}'
    if (join := c.join) is not None:
        s += ',"join":true' if join else ',"join":false'
    if (resume := c.resume) is not None:
        s += ',"resume":true' if resume else ',"resume":false'
    return s


def _dtx_end(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (xid := c.xid) is not None and (xid.__class__ is not tuple or xid):
        s += f',"xid":{encode(xid)}'
    if (fail := c.fail) is not None:
        s += ',"fail":true' if fail else ',"fail":false'
    if (suspend := c.suspend) is not None:
        s += ',"suspend":true' if suspend else ',"suspend":false'
    return s


def _dtx_commit(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (xid := c.xid) is not None and (xid.__class__ is not tuple or xid):
        s += f',"xid":{encode(xid)}'
    if (one_phase := c.one_phase) is not None:
        s += ',"one_phase":true' if one_phase else ',"one_phase":false'
    return s


def _dtx_forget(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (xid := c.xid) is not None and (xid.__class__ is not tuple or xid):
        s += f',"xid":{encode(xid)}'
    return s


def _dtx_get_timeout(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (xid := c.xid) is not None and (xid.__class__ is not tuple or xid):
        s += f',"xid":{encode(xid)}'
    return s


def _dtx_prepare(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (xid := c.xid) is not None and (xid.__class__ is not tuple or xid):
        s += f',"xid":{encode(xid)}'
    return s


def _dtx_rollback(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (xid := c.xid) is not None and (xid.__class__ is not tuple or xid):
        s += f',"xid":{encode(xid)}'
    return s


def _dtx_set_timeout(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (xid := c.xid) is not None and (xid.__class__ is not tuple or xid):
        s += f',"xid":{encode(xid)}'
    if (timeout := c.timeout) is not None:
        s += f',"timeout":{timeout}'
    return s


def _exchange_declare(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (exchange := c.exchange) is not None:
        s += f',"exchange":{texts[exchange]}'
    if (type := c.type) is not None:
        s += f',"type":{texts[type]}'
    if (alternate_exchange := c.alternate_exchange) is not None:
        s += f',"alternate_exchange":{texts[alternate_exchange]}'
    if (passive := c.passive) is not None:
        s += ',"passive":true' if passive else ',"passive":false'
    if (durable := c.durable) is not None:
        s += ',"durable":true' if durable else ',"durable":false'
    if (auto_delete := c.auto_delete) is not None:
        s += ',"auto_delete":true' if auto_delete else ',"auto_delete":false'
    if (arguments := c.arguments) is not None and (arguments.__class__ is not tuple or arguments):
        s += f',"arguments":{encode(arguments)}'
    return s


def _exchange_delete(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (exchange := c.exchange) is not None:
        s += f',"exchange":{texts[exchange]}'
    if (if_unused := c.if_unused) is not None:
        s += ',"if_unused":true' if if_unused else ',"if_unused":false'
    return s


def _exchange_query(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (name := c.name) is not None:
        s += f',"name":{texts[name]}'
    return s


def _exchange_bind(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (queue := c.queue) is not None:
        s += f',"queue":{texts[queue]}'
    if (exchange := c.exchange) is not None:
        s += f',"exchange":{texts[exchange]}'
    if (binding_key := c.binding_key) is not None:
        s += f',"binding_key":{texts[binding_key]}'
    if (arguments := c.arguments) is not None and (arguments.__class__ is not tuple or arguments):
        s += f',"arguments":{encode(arguments)}'
    return s


def _exchange_unbind(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (queue := c.queue) is not None:
        s += f',"queue":{texts[queue]}'
    if (exchange := c.exchange) is not None:
        s += f',"exchange":{texts[exchange]}'
    if (binding_key := c.binding_key) is not None:
        s += f',"binding_key":{texts[binding_key]}'
    return s


def _exchange_bound(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (exchange := c.exchange) is not None:
        s += f',"exchange":{texts[exchange]}'
    if (queue := c.queue) is not None:
        s += f',"queue":{texts[queue]}'
    if (binding_key := c.binding_key) is not None:
        s += f',"binding_key":{texts[binding_key]}'
    if (arguments := c.arguments) is not None and (arguments.__class__ is not tuple or arguments):
        s += f',"arguments":{encode(arguments)}'
    return s


def _queue_declare(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (queue := c.queue) is not None:
        s += f',"queue":{texts[queue]}'
    if (alternate_exchange := c.alternate_exchange) is not None:
        s += f',"alternate_exchange":{texts[alternate_exchange]}'
    if (passive := c.passive) is not None:
        s += ',"passive":true' if passive else ',"passive":false'
    if (durable := c.durable) is not None:
        s += ',"durable":true' if durable else ',"durable":false'
    if (exclusive := c.exclusive) is not None:
        s += ',"exclusive":true' if exclusive else ',"exclusive":false'
    if (auto_delete := c.auto_delete) is not None:
        s += ',"auto_delete":true' if auto_delete else ',"auto_delete":false'
    if (arguments := c.arguments) is not None and (arguments.__class__ is not tuple or arguments):
        s += f',"arguments":{encode(arguments)}'
    return s


def _queue_delete(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (queue := c.queue) is not None:
        s += f',"queue":{texts[queue]}'
    if (if_unused := c.if_unused) is not None:
        s += ',"if_unused":true' if if_unused else ',"if_unused":false'
    if (if_empty := c.if_empty) is not None:
        s += ',"if_empty":true' if if_empty else ',"if_empty":false'
    return s


def _queue_purge(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (queue := c.queue) is not None:
        s += f',"queue":{texts[queue]}'
    return s


def _queue_query(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (queue := c.queue) is not None:
        s += f',"queue":{texts[queue]}'
    return s


WRITERS: Final[Mapping[type[Any], Callable[[Any, Texts, Encode], str]]] = {
    SessionHeader: _session_header,
    CommandFragment: _command_fragment,
    DeliveryProperties: _delivery_properties,
    FragmentProperties: _fragment_properties,
    ReplyTo: _reply_to,
    MessageProperties: _message_properties,
    Acquired: _acquired,
    MessageResumeResult: _message_resume_result,
    XaResult: _xa_result,
    Xid: _xid,
    GetTimeoutResult: _get_timeout_result,
    RecoverResult: _recover_result,
    ExchangeQueryResult: _exchange_query_result,
    ExchangeBoundResult: _exchange_bound_result,
    QueueQueryResult: _queue_query_result,
    ConnectionStart: _connection_start,
    ConnectionSecure: _connection_secure,
    ConnectionTune: _connection_tune,
    ConnectionTuneOk: _connection_tune_ok,
    ConnectionOpen: _connection_open,
    ConnectionOpenOk: _connection_open_ok,
    ConnectionRedirect: _connection_redirect,
    ConnectionClose: _connection_close,
    SessionAttach: _session_attach,
    SessionAttached: _session_attached,
    SessionDetach: _session_detach,
    SessionDetached: _session_detached,
    SessionRequestTimeout: _session_request_timeout,
    SessionTimeout: _session_timeout,
    SessionCommandPoint: _session_command_point,
    SessionExpected: _session_expected,
    SessionConfirmed: _session_confirmed,
    SessionCompleted: _session_completed,
    SessionKnownCompleted: _session_known_completed,
    SessionFlush: _session_flush,
    SessionGap: _session_gap,
    ExecutionResult: _execution_result,
    ExecutionException: _execution_exception,
    MessageTransfer: _message_transfer,
    MessageAccept: _message_accept,
    MessageReject: _message_reject,
    MessageRelease: _message_release,
    MessageAcquire: _message_acquire,
    MessageResume: _message_resume,
    MessageSubscribe: _message_subscribe,
    MessageCancel: _message_cancel,
    MessageSetFlowMode: _message_set_flow_mode,
    MessageFlow: _message_flow,
    MessageFlush: _message_flush,
    MessageStop: _message_stop,
    DtxStart: _dtx_start,
    DtxEnd: _dtx_end,
    DtxCommit: _dtx_commit,
    DtxForget: _dtx_forget,
    DtxGetTimeout: _dtx_get_timeout,
    DtxPrepare: _dtx_prepare,
    DtxRollback: _dtx_rollback,
    DtxSetTimeout: _dtx_set_timeout,
    ExchangeDeclare: _exchange_declare,
    ExchangeDelete: _exchange_delete,
    ExchangeQuery: _exchange_query,
    ExchangeBind: _exchange_bind,
    ExchangeUnbind: _exchange_unbind,
    ExchangeBound: _exchange_bound,
    QueueDeclare: _queue_declare,
    QueueDelete: _queue_delete,
    QueuePurge: _queue_purge,
    QueueQuery: _queue_query,
}
"""By the class of the record."""

__all__ = ["WRITERS"]
