"""Functions that write fields of composite types of 1.0 as JSON members."""

# Generated; edit the generator (tools/codegen).

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from ..amqp_1_0.codec.performatives import (
    Accepted,
    Attach,
    Begin,
    Close,
    Coordinator,
    Declare,
    Declared,
    Detach,
    Discharge,
    Disposition,
    End,
    Error,
    Flow,
    Header,
    Modified,
    Open,
    Properties,
    Received,
    Rejected,
    Released,
    SaslChallenge,
    SaslMechanisms,
    SaslOutcome,
    Source,
    Target,
    TransactionalState,
    Transfer,
)

Texts: TypeAlias = Mapping[str, str]
Encode: TypeAlias = Callable[[Any], str]
FIXED: Final[Mapping[type[Any], str]] = {Accepted: '{"type":"accepted"}', Released: '{"type":"released"}'}
"""Delivery states without fields."""


def _open(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (container_id := c.container_id) is not None:
        s += f',"container_id":{texts[container_id]}'
    if (hostname := c.hostname) is not None:
        s += f',"hostname":{texts[hostname]}'
    if (max_frame_size := c.max_frame_size) is not None:
        s += f',"max_frame_size":{max_frame_size}'
    if (channel_max := c.channel_max) is not None:
        s += f',"channel_max":{channel_max}'
    if (idle_time_out := c.idle_time_out) is not None:
        s += f',"idle_time_out":{idle_time_out}'
    if outgoing_locales := c.outgoing_locales:
        s += f',"outgoing_locales":{encode(outgoing_locales)}'
    if incoming_locales := c.incoming_locales:
        s += f',"incoming_locales":{encode(incoming_locales)}'
    if offered_capabilities := c.offered_capabilities:
        s += f',"offered_capabilities":{encode(offered_capabilities)}'
    if desired_capabilities := c.desired_capabilities:
        s += f',"desired_capabilities":{encode(desired_capabilities)}'
    if (properties := c.properties) is not None and (properties.__class__ is not tuple or properties):
        s += f',"properties":{encode(properties)}'
    return s


def _begin(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (remote_channel := c.remote_channel) is not None:
        s += f',"remote_channel":{remote_channel}'
    if (next_outgoing_id := c.next_outgoing_id) is not None:
        s += f',"next_outgoing_id":{next_outgoing_id}'
    if (incoming_window := c.incoming_window) is not None:
        s += f',"incoming_window":{incoming_window}'
    if (outgoing_window := c.outgoing_window) is not None:
        s += f',"outgoing_window":{outgoing_window}'
    if (handle_max := c.handle_max) is not None:
        s += f',"handle_max":{handle_max}'
    if offered_capabilities := c.offered_capabilities:
        s += f',"offered_capabilities":{encode(offered_capabilities)}'
    if desired_capabilities := c.desired_capabilities:
        s += f',"desired_capabilities":{encode(desired_capabilities)}'
    if (properties := c.properties) is not None and (properties.__class__ is not tuple or properties):
        s += f',"properties":{encode(properties)}'
    return s


def _attach(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (name := c.name) is not None:
        s += f',"name":{texts[name]}'
    if (handle := c.handle) is not None:
        s += f',"handle":{handle}'
    if (role := c.role) is not None:
        s += ',"role":true' if role else ',"role":false'
    if (snd_settle_mode := c.snd_settle_mode) is not None:
        s += f',"snd_settle_mode":{snd_settle_mode}'
    if (rcv_settle_mode := c.rcv_settle_mode) is not None:
        s += f',"rcv_settle_mode":{rcv_settle_mode}'
    if (source := c.source) is not None and (source.__class__ is not tuple or source):
        s += f',"source":{encode(source)}'
    if (target := c.target) is not None and (target.__class__ is not tuple or target):
        s += f',"target":{encode(target)}'
    if (unsettled := c.unsettled) is not None and (unsettled.__class__ is not tuple or unsettled):
        s += f',"unsettled":{encode(unsettled)}'
    if (incomplete_unsettled := c.incomplete_unsettled) is not None:
        s += ',"incomplete_unsettled":true' if incomplete_unsettled else ',"incomplete_unsettled":false'
    if (initial_delivery_count := c.initial_delivery_count) is not None:
        s += f',"initial_delivery_count":{initial_delivery_count}'
    if (max_message_size := c.max_message_size) is not None:
        s += f',"max_message_size":{max_message_size}'
    if offered_capabilities := c.offered_capabilities:
        s += f',"offered_capabilities":{encode(offered_capabilities)}'
    if desired_capabilities := c.desired_capabilities:
        s += f',"desired_capabilities":{encode(desired_capabilities)}'
    if (properties := c.properties) is not None and (properties.__class__ is not tuple or properties):
        s += f',"properties":{encode(properties)}'
    return s


def _flow(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (next_incoming_id := c.next_incoming_id) is not None:
        s += f',"next_incoming_id":{next_incoming_id}'
    if (incoming_window := c.incoming_window) is not None:
        s += f',"incoming_window":{incoming_window}'
    if (next_outgoing_id := c.next_outgoing_id) is not None:
        s += f',"next_outgoing_id":{next_outgoing_id}'
    if (outgoing_window := c.outgoing_window) is not None:
        s += f',"outgoing_window":{outgoing_window}'
    if (handle := c.handle) is not None:
        s += f',"handle":{handle}'
    if (delivery_count := c.delivery_count) is not None:
        s += f',"delivery_count":{delivery_count}'
    if (link_credit := c.link_credit) is not None:
        s += f',"link_credit":{link_credit}'
    if (available := c.available) is not None:
        s += f',"available":{available}'
    if (drain := c.drain) is not None:
        s += ',"drain":true' if drain else ',"drain":false'
    if (echo := c.echo) is not None:
        s += ',"echo":true' if echo else ',"echo":false'
    if (properties := c.properties) is not None and (properties.__class__ is not tuple or properties):
        s += f',"properties":{encode(properties)}'
    return s


def _transfer(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (handle := c.handle) is not None:
        s += f',"handle":{handle}'
    if (delivery_id := c.delivery_id) is not None:
        s += f',"delivery_id":{delivery_id}'
    if (delivery_tag := c.delivery_tag) is not None:
        s += f',"delivery_tag":{encode(delivery_tag)}'
    if (message_format := c.message_format) is not None:
        s += f',"message_format":{message_format}'
    if (settled := c.settled) is not None:
        s += ',"settled":true' if settled else ',"settled":false'
    if (more := c.more) is not None:
        s += ',"more":true' if more else ',"more":false'
    if (rcv_settle_mode := c.rcv_settle_mode) is not None:
        s += f',"rcv_settle_mode":{rcv_settle_mode}'
    if (state := c.state) is not None and (state.__class__ is not tuple or state):
        s += f',"state":{FIXED.get(state.__class__) or encode(state)}'
    if (resume := c.resume) is not None:
        s += ',"resume":true' if resume else ',"resume":false'
    if (aborted := c.aborted) is not None:
        s += ',"aborted":true' if aborted else ',"aborted":false'
    if (batchable := c.batchable) is not None:
        s += ',"batchable":true' if batchable else ',"batchable":false'
    return s


def _disposition(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (role := c.role) is not None:
        s += ',"role":true' if role else ',"role":false'
    if (first := c.first) is not None:
        s += f',"first":{first}'
    if (last := c.last) is not None:
        s += f',"last":{last}'
    if (settled := c.settled) is not None:
        s += ',"settled":true' if settled else ',"settled":false'
    if (state := c.state) is not None and (state.__class__ is not tuple or state):
        s += f',"state":{FIXED.get(state.__class__) or encode(state)}'
    if (batchable := c.batchable) is not None:
        s += ',"batchable":true' if batchable else ',"batchable":false'
    return s


def _detach(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (handle := c.handle) is not None:
        s += f',"handle":{handle}'
    if (closed := c.closed) is not None:
        s += ',"closed":true' if closed else ',"closed":false'
    if (error := c.error) is not None and (error.__class__ is not tuple or error):
        s += f',"error":{encode(error)}'
    return s


def _end(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (error := c.error) is not None and (error.__class__ is not tuple or error):
        s += f',"error":{encode(error)}'
    return s


def _close(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (error := c.error) is not None and (error.__class__ is not tuple or error):
        s += f',"error":{encode(error)}'
    return s


def _error(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (condition := c.condition) is not None:
        s += f',"condition":{texts[condition]}'
    if (description := c.description) is not None:
        s += f',"description":{texts[description]}'
    if (info := c.info) is not None and (info.__class__ is not tuple or info):
        s += f',"info":{encode(info)}'
    return s


def _received(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (section_number := c.section_number) is not None:
        s += f',"section_number":{section_number}'
    if (section_offset := c.section_offset) is not None:
        s += f',"section_offset":{section_offset}'
    return s


def _rejected(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (error := c.error) is not None and (error.__class__ is not tuple or error):
        s += f',"error":{encode(error)}'
    return s


def _modified(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (delivery_failed := c.delivery_failed) is not None:
        s += ',"delivery_failed":true' if delivery_failed else ',"delivery_failed":false'
    if (undeliverable_here := c.undeliverable_here) is not None:
        s += ',"undeliverable_here":true' if undeliverable_here else ',"undeliverable_here":false'
    if (message_annotations := c.message_annotations) is not None and (
        message_annotations.__class__ is not tuple or message_annotations
    ):
        s += f',"message_annotations":{encode(message_annotations)}'
    return s


def _source(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (address := c.address) is not None and (address.__class__ is not tuple or address):
        s += f',"address":{encode(address)}'
    if (durable := c.durable) is not None:
        s += f',"durable":{durable}'
    if (expiry_policy := c.expiry_policy) is not None:
        s += f',"expiry_policy":{texts[expiry_policy]}'
    if (timeout := c.timeout) is not None:
        s += f',"timeout":{timeout}'
    if (dynamic := c.dynamic) is not None:
        s += ',"dynamic":true' if dynamic else ',"dynamic":false'
    if (dynamic_node_properties := c.dynamic_node_properties) is not None and (
        dynamic_node_properties.__class__ is not tuple or dynamic_node_properties
    ):
        s += f',"dynamic_node_properties":{encode(dynamic_node_properties)}'
    if (distribution_mode := c.distribution_mode) is not None:
        s += f',"distribution_mode":{texts[distribution_mode]}'
    if (filter := c.filter) is not None and (filter.__class__ is not tuple or filter):
        s += f',"filter":{encode(filter)}'
    if (default_outcome := c.default_outcome) is not None and (
        default_outcome.__class__ is not tuple or default_outcome
    ):
        s += f',"default_outcome":{FIXED.get(default_outcome.__class__) or encode(default_outcome)}'
    if outcomes := c.outcomes:
        s += f',"outcomes":{encode(outcomes)}'
    if capabilities := c.capabilities:
        s += f',"capabilities":{encode(capabilities)}'
    return s


def _target(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (address := c.address) is not None and (address.__class__ is not tuple or address):
        s += f',"address":{encode(address)}'
    if (durable := c.durable) is not None:
        s += f',"durable":{durable}'
    if (expiry_policy := c.expiry_policy) is not None:
        s += f',"expiry_policy":{texts[expiry_policy]}'
    if (timeout := c.timeout) is not None:
        s += f',"timeout":{timeout}'
    if (dynamic := c.dynamic) is not None:
        s += ',"dynamic":true' if dynamic else ',"dynamic":false'
    if (dynamic_node_properties := c.dynamic_node_properties) is not None and (
        dynamic_node_properties.__class__ is not tuple or dynamic_node_properties
    ):
        s += f',"dynamic_node_properties":{encode(dynamic_node_properties)}'
    if capabilities := c.capabilities:
        s += f',"capabilities":{encode(capabilities)}'
    return s


def _coordinator(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if capabilities := c.capabilities:
        s += f',"capabilities":{encode(capabilities)}'
    return s


def _declare(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (global_id := c.global_id) is not None and (global_id.__class__ is not tuple or global_id):
        s += f',"global_id":{encode(global_id)}'
    return s


def _discharge(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (txn_id := c.txn_id) is not None and (txn_id.__class__ is not tuple or txn_id):
        s += f',"txn_id":{encode(txn_id)}'
    if (fail := c.fail) is not None:
        s += ',"fail":true' if fail else ',"fail":false'
    return s


def _declared(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (txn_id := c.txn_id) is not None and (txn_id.__class__ is not tuple or txn_id):
        s += f',"txn_id":{encode(txn_id)}'
    return s


def _transactional_state(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (txn_id := c.txn_id) is not None and (txn_id.__class__ is not tuple or txn_id):
        s += f',"txn_id":{encode(txn_id)}'
    if (outcome := c.outcome) is not None and (outcome.__class__ is not tuple or outcome):
        s += f',"outcome":{FIXED.get(outcome.__class__) or encode(outcome)}'
    return s


def _sasl_mechanisms(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if sasl_server_mechanisms := c.sasl_server_mechanisms:
        s += f',"sasl_server_mechanisms":{encode(sasl_server_mechanisms)}'
    return s


def _sasl_challenge(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (challenge := c.challenge) is not None:
        s += f',"challenge":{encode(challenge)}'
    return s


def _sasl_outcome(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (code := c.code) is not None:
        s += f',"code":{code}'
    if (additional_data := c.additional_data) is not None:
        s += f',"additional_data":{encode(additional_data)}'
    return s


def _header(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (durable := c.durable) is not None:
        s += ',"durable":true' if durable else ',"durable":false'
    if (priority := c.priority) is not None:
        s += f',"priority":{priority}'
    if (ttl := c.ttl) is not None:
        s += f',"ttl":{ttl}'
    if (first_acquirer := c.first_acquirer) is not None:
        s += ',"first_acquirer":true' if first_acquirer else ',"first_acquirer":false'
    if (delivery_count := c.delivery_count) is not None:
        s += f',"delivery_count":{delivery_count}'
    return s


def _properties(c: Any, texts: Texts, encode: Encode) -> str:
    s = ""
    if (message_id := c.message_id) is not None and (message_id.__class__ is not tuple or message_id):
        s += f',"message_id":{encode(message_id)}'
    if (user_id := c.user_id) is not None:
        s += f',"user_id":{encode(user_id)}'
    if (to := c.to) is not None and (to.__class__ is not tuple or to):
        s += f',"to":{encode(to)}'
    if (subject := c.subject) is not None:
        s += f',"subject":{texts[subject]}'
    if (reply_to := c.reply_to) is not None and (reply_to.__class__ is not tuple or reply_to):
        s += f',"reply_to":{encode(reply_to)}'
    if (correlation_id := c.correlation_id) is not None and (correlation_id.__class__ is not tuple or correlation_id):
        s += f',"correlation_id":{encode(correlation_id)}'
    if (content_type := c.content_type) is not None:
        s += f',"content_type":{texts[content_type]}'
    if (content_encoding := c.content_encoding) is not None:
        s += f',"content_encoding":{texts[content_encoding]}'
    if (absolute_expiry_time := c.absolute_expiry_time) is not None and (
        absolute_expiry_time.__class__ is not tuple or absolute_expiry_time
    ):
        s += f',"absolute_expiry_time":{encode(absolute_expiry_time)}'
    if (creation_time := c.creation_time) is not None and (creation_time.__class__ is not tuple or creation_time):
        s += f',"creation_time":{encode(creation_time)}'
    if (group_id := c.group_id) is not None:
        s += f',"group_id":{texts[group_id]}'
    if (group_sequence := c.group_sequence) is not None:
        s += f',"group_sequence":{group_sequence}'
    if (reply_to_group_id := c.reply_to_group_id) is not None:
        s += f',"reply_to_group_id":{texts[reply_to_group_id]}'
    return s


WRITERS: Final[Mapping[type[Any], Callable[[Any, Texts, Encode], str]]] = {
    Open: _open,
    Begin: _begin,
    Attach: _attach,
    Flow: _flow,
    Transfer: _transfer,
    Disposition: _disposition,
    Detach: _detach,
    End: _end,
    Close: _close,
    Error: _error,
    Received: _received,
    Rejected: _rejected,
    Modified: _modified,
    Source: _source,
    Target: _target,
    Coordinator: _coordinator,
    Declare: _declare,
    Discharge: _discharge,
    Declared: _declared,
    TransactionalState: _transactional_state,
    SaslMechanisms: _sasl_mechanisms,
    SaslChallenge: _sasl_challenge,
    SaslOutcome: _sasl_outcome,
    Header: _header,
    Properties: _properties,
}
"""By the class of the record."""

__all__ = ["WRITERS"]
