"""The `__init__` of each record, by its full name: functions that make it of the fields' defaults."""

# Generated; edit the generator (tools/codegen).

# Behind the defaults, a function takes what makes the attributes that aren't fields.

from __future__ import annotations

from .._checking import TYPE_CHECKING
from ..printing import printable

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Final

INITIALIZERS: Final[dict[str, Callable[..., Callable[..., None]]]] = {}

# Checkers know the fields from the classes: `record` is a `dataclass_transform`.
if not TYPE_CHECKING:
    def make():
        def __init__(self, tag, value):
            self.tag = tag
            self.value = value

        return __init__

    INITIALIZERS["amqp_sansio._classic.codec.table_rules.Typed"] = make

    def make():
        def __init__(self, unexpected_frame, unknown_tag, not_transacted, no_queue):
            self.unexpected_frame = unexpected_frame
            self.unknown_tag = unknown_tag
            self.not_transacted = not_transacted
            self.no_queue = no_queue

        return __init__

    INITIALIZERS["amqp_sansio._classic.codec.violation.Codes"] = make

    def make(
        sasl,
        mechanisms,
        vhost,
        heartbeat,
        channel_max,
        frame_max,
        locale,
        properties,
        known_hosts,
        limits,
        dialect,
        validate_content,
        stream_above,
        handshake_timeout,
        close_timeout,
        report_heartbeats,
        nonce,
        insist,
        registry,
    ):
        def __init__(
            self,
            sasl=sasl,
            mechanisms=mechanisms,
            vhost=vhost,
            heartbeat=heartbeat,
            channel_max=channel_max,
            frame_max=frame_max,
            locale=locale,
            properties=properties,
            known_hosts=known_hosts,
            limits=limits,
            dialect=dialect,
            validate_content=validate_content,
            stream_above=stream_above,
            handshake_timeout=handshake_timeout,
            close_timeout=close_timeout,
            report_heartbeats=report_heartbeats,
            nonce=nonce,
            insist=insist,
            registry=registry,
        ):
            self.sasl = sasl
            self.mechanisms = mechanisms
            self.vhost = vhost
            self.heartbeat = heartbeat
            self.channel_max = channel_max
            self.frame_max = frame_max
            self.locale = locale
            self.properties = properties
            self.known_hosts = known_hosts
            self.limits = limits
            self.dialect = dialect
            self.validate_content = validate_content
            self.stream_above = stream_above
            self.handshake_timeout = handshake_timeout
            self.close_timeout = close_timeout
            self.report_heartbeats = report_heartbeats
            self.nonce = nonce
            self.insist = insist
            self.registry = registry

        return __init__

    INITIALIZERS["amqp_sansio._classic.endpoint.config.Config"] = make

    def make(make_properties):
        def __init__(
            self,
            channel,
            consumer_tag,
            delivery_tag,
            redelivered,
            exchange,
            routing_key,
            body,
            raw_properties,
            tables,
        ):
            self.channel = channel
            self.consumer_tag = consumer_tag
            self.delivery_tag = delivery_tag
            self.redelivered = redelivered
            self.exchange = exchange
            self.routing_key = routing_key
            self.body = body
            self.raw_properties = raw_properties
            self.tables = tables
            self.properties = make_properties(self)

        return __init__

    INITIALIZERS["amqp_sansio._classic.endpoint.events.Delivery"] = make

    def make(number, make_properties):
        def __init__(
            self,
            channel,
            exchange,
            routing_key,
            mandatory,
            immediate,
            body,
            raw_properties,
            tables,
            number=number,
        ):
            self.channel = channel
            self.exchange = exchange
            self.routing_key = routing_key
            self.mandatory = mandatory
            self.immediate = immediate
            self.body = body
            self.raw_properties = raw_properties
            self.tables = tables
            self.number = number
            self.properties = make_properties(self)

        return __init__

    INITIALIZERS["amqp_sansio._classic.endpoint.events.Published"] = make

    def make(pending, make_properties):
        def __init__(
            self,
            channel,
            reply_code,
            reply_text,
            exchange,
            routing_key,
            body,
            raw_properties,
            tables,
            pending=pending,
        ):
            self.channel = channel
            self.reply_code = reply_code
            self.reply_text = reply_text
            self.exchange = exchange
            self.routing_key = routing_key
            self.body = body
            self.raw_properties = raw_properties
            self.tables = tables
            self.pending = pending
            self.properties = make_properties(self)

        return __init__

    INITIALIZERS["amqp_sansio._classic.endpoint.events.MessageReturned"] = make

    def make():
        def __init__(self, reply_code, reply_text):
            self.reply_code = reply_code
            self.reply_text = reply_text

        return __init__

    INITIALIZERS["amqp_sansio._classic.endpoint.events.Returned"] = make

    def make():
        def __init__(self, method, properties, body):
            self.method = method
            self.properties = properties
            self.body = body

        return __init__

    INITIALIZERS["amqp_sansio._classic.endpoint.events.Message"] = make

    def make():
        def __init__(self, channel, method, properties, body):
            self.channel = channel
            self.method = method
            self.properties = properties
            self.body = body

        return __init__

    INITIALIZERS["amqp_sansio._classic.endpoint.events.ContentReceived"] = make

    def make(number):
        def __init__(self, channel, method, properties, size, number=number):
            self.channel = channel
            self.method = method
            self.properties = properties
            self.size = size
            self.number = number

        return __init__

    INITIALIZERS["amqp_sansio._classic.endpoint.events.ContentBegun"] = make

    def make():
        def __init__(self, channel, data, last):
            self.channel = channel
            self.data = data
            self.last = last

        return __init__

    INITIALIZERS["amqp_sansio._classic.endpoint.events.ContentChunk"] = make

    def make():
        def __init__(self, channel):
            self.channel = channel

        return __init__

    INITIALIZERS["amqp_sansio._classic.endpoint.events.ContentAborted"] = make

    def make():
        def __init__(self, channel, method):
            self.channel = channel
            self.method = method

        return __init__

    INITIALIZERS["amqp_sansio._classic.endpoint.events.Request"] = make

    def make():
        def __init__(self, channel, method):
            self.channel = channel
            self.method = method

        return __init__

    INITIALIZERS["amqp_sansio._classic.endpoint.events.MethodReceived"] = make

    def make():
        def __init__(self, channel, consumer_tag):
            self.channel = channel
            self.consumer_tag = consumer_tag

        return __init__

    INITIALIZERS["amqp_sansio._classic.endpoint.events.ConsumerCancelled"] = make

    def make():
        def __init__(self, channel, active):
            self.channel = channel
            self.active = active

        return __init__

    INITIALIZERS["amqp_sansio._classic.endpoint.events.FlowChanged"] = make

    def make():
        def __init__(self, reason):
            self.reason = reason

        return __init__

    INITIALIZERS["amqp_sansio._classic.endpoint.events.Blocked"] = make

    def make():
        def __init__(self):
            pass

        return __init__

    INITIALIZERS["amqp_sansio._classic.endpoint.events.Unblocked"] = make

    def make():
        def __init__(self, host, known_hosts):
            self.host = host
            self.known_hosts = known_hosts

        return __init__

    INITIALIZERS["amqp_sansio._classic.endpoint.events.Redirected"] = make

    def make():
        def __init__(self):
            pass

        return __init__

    INITIALIZERS["amqp_sansio._classic.endpoint.events.HeartbeatReceived"] = make

    def make(code, text, class_id, method_id, unsettled, unconfirmed, hint, rule, condition, method, info):
        def __init__(
            self,
            by,
            code=code,
            text=text,
            class_id=class_id,
            method_id=method_id,
            unsettled=unsettled,
            unconfirmed=unconfirmed,
            hint=hint,
            rule=rule,
            condition=condition,
            method=method,
            info=info,
        ):
            self.by = by
            self.code = code
            self.text = text
            self.class_id = class_id
            self.method_id = method_id
            self.unsettled = unsettled
            self.unconfirmed = unconfirmed
            self.hint = printable(hint)
            self.rule = rule
            self.condition = condition
            self.method = method
            self.info = info

        return __init__

    INITIALIZERS["amqp_sansio.events.CloseReport"] = make

    def make(at_ns, code, condition, text, hint, asked, name):
        def __init__(
            self,
            what,
            by,
            how,
            cause,
            at_ns=at_ns,
            code=code,
            condition=condition,
            text=text,
            hint=hint,
            asked=asked,
            name=name,
        ):
            self.what = what
            self.by = by
            self.how = how
            self.cause = cause
            self.at_ns = at_ns
            self.code = code
            self.condition = condition
            self.text = text
            self.hint = hint
            self.asked = asked
            self.name = name

        return __init__

    INITIALIZERS["amqp_sansio._watching.end.End"] = make

    def make(answers, missing, settles, context):
        def __init__(
            self,
            seq,
            sender,
            channel,
            unit,
            event,
            content,
            properties,
            body,
            body_size,
            body_sha256,
            offset,
            size,
            at_ns,
            answers=answers,
            missing=missing,
            settles=settles,
            context=context,
        ):
            self.seq = seq
            self.sender = sender
            self.channel = channel
            self.unit = unit
            self.event = event
            self.content = content
            self.properties = properties
            self.body = body
            self.body_size = body_size
            self.body_sha256 = body_sha256
            self.offset = offset
            self.size = size
            self.at_ns = at_ns
            self.answers = answers
            self.missing = missing
            self.settles = settles
            self.context = context

        return __init__

    INITIALIZERS["amqp_sansio._watching.observation.Observed"] = make

    def make(seq, channel):
        def __init__(self, sender, rule, severity, text, offset, at_ns, seq=seq, channel=channel):
            self.sender = sender
            self.rule = rule
            self.severity = severity
            self.text = printable(text)
            self.offset = offset
            self.at_ns = at_ns
            self.seq = seq
            self.channel = channel

        return __init__

    INITIALIZERS["amqp_sansio._watching.observation.Violation"] = make

    def make(settles):
        def __init__(self, sender, offset, octets, at_ns, reason, settles=settles):
            self.sender = sender
            self.offset = offset
            self.octets = octets
            self.at_ns = at_ns
            self.reason = reason
            self.settles = settles

        return __init__

    INITIALIZERS["amqp_sansio._watching.observation.Skipped"] = make

    def make():
        def __init__(self, version, dialect, client, server, by, at_ns):
            self.version = version
            self.dialect = dialect
            self.client = client
            self.server = server
            self.by = by
            self.at_ns = at_ns

        return __init__

    INITIALIZERS["amqp_sansio._watching.observation.Identified"] = make

    def make(records, holders, lane):
        def __init__(
            self,
            version,
            from_start,
            body,
            limits,
            client,
            server,
            by,
            at_ns,
            records=records,
            holders=holders,
            lane=lane,
        ):
            self.version = version
            self.from_start = from_start
            self.body = body
            self.limits = limits
            self.client = client
            self.server = server
            self.by = by
            self.at_ns = at_ns
            self.records = records
            self.holders = holders
            self.lane = lane

        return __init__

    INITIALIZERS["amqp_sansio._watching.observation.Setting"] = make

    def make(
        version,
        dialect,
        client,
        server,
        identified_by,
        client_product,
        client_version,
        server_product,
        server_version,
        mechanism,
        user,
        vhost,
        container,
        channel_max,
        frame_max,
        heartbeat,
        closed_by,
        close_code,
        close_text,
        hint,
        close_condition,
        server_container,
        connection_name,
        client_timeout,
        server_timeout,
        close_how,
        close_ns,
    ):
        def __init__(
            self,
            version=version,
            dialect=dialect,
            client=client,
            server=server,
            identified_by=identified_by,
            client_product=client_product,
            client_version=client_version,
            server_product=server_product,
            server_version=server_version,
            mechanism=mechanism,
            user=user,
            vhost=vhost,
            container=container,
            channel_max=channel_max,
            frame_max=frame_max,
            heartbeat=heartbeat,
            closed_by=closed_by,
            close_code=close_code,
            close_text=close_text,
            hint=hint,
            close_condition=close_condition,
            server_container=server_container,
            connection_name=connection_name,
            client_timeout=client_timeout,
            server_timeout=server_timeout,
            close_how=close_how,
            close_ns=close_ns,
        ):
            self.version = version
            self.dialect = dialect
            self.client = client
            self.server = server
            self.identified_by = identified_by
            self.client_product = client_product
            self.client_version = client_version
            self.server_product = server_product
            self.server_version = server_version
            self.mechanism = mechanism
            self.user = user
            self.vhost = vhost
            self.container = container
            self.channel_max = channel_max
            self.frame_max = frame_max
            self.heartbeat = heartbeat
            self.closed_by = closed_by
            self.close_code = close_code
            self.close_text = close_text
            self.hint = hint
            self.close_condition = close_condition
            self.server_container = server_container
            self.connection_name = connection_name
            self.client_timeout = client_timeout
            self.server_timeout = server_timeout
            self.close_how = close_how
            self.close_ns = close_ns

        return __init__

    INITIALIZERS["amqp_sansio._watching.outcomes.ConnectionRecord"] = make

    def make(answers, missing, settles, context, command_id, sync):
        def __init__(
            self,
            seq,
            sender,
            channel,
            unit,
            event,
            content,
            properties,
            body,
            body_size,
            body_sha256,
            offset,
            size,
            at_ns,
            answers=answers,
            missing=missing,
            settles=settles,
            context=context,
            command_id=command_id,
            sync=sync,
        ):
            self.seq = seq
            self.sender = sender
            self.channel = channel
            self.unit = unit
            self.event = event
            self.content = content
            self.properties = properties
            self.body = body
            self.body_size = body_size
            self.body_sha256 = body_sha256
            self.offset = offset
            self.size = size
            self.at_ns = at_ns
            self.answers = answers
            self.missing = missing
            self.settles = settles
            self.context = context
            self.command_id = command_id
            self.sync = sync

        return __init__

    INITIALIZERS["amqp_sansio.amqp_0_10.codec.message_fields.ObservedCommand"] = make

    def make():
        def __init__(self, name, value):
            self.name = name
            self.value = value

        return __init__

    INITIALIZERS["amqp_sansio.amqp_0_10.codec.values.Typed"] = make

    def make():
        def __init__(self, code, octets):
            self.code = code
            self.octets = octets

        return __init__

    INITIALIZERS["amqp_sansio.amqp_0_10.codec.values.Struct32"] = make

    def make(
        sasl,
        mechanisms,
        vhost,
        heartbeat,
        heartbeat_min,
        heartbeat_max,
        channel_max,
        max_frame_size,
        locales,
        properties,
        known_hosts,
        capabilities,
        insist,
        session_prefix,
        session_timeout_max,
        stream_above,
        dialect,
        validate_content,
        lenient_accepts,
        handshake_timeout,
        close_timeout,
        nonce,
        limits,
        registry,
    ):
        def __init__(
            self,
            sasl=sasl,
            mechanisms=mechanisms,
            vhost=vhost,
            heartbeat=heartbeat,
            heartbeat_min=heartbeat_min,
            heartbeat_max=heartbeat_max,
            channel_max=channel_max,
            max_frame_size=max_frame_size,
            locales=locales,
            properties=properties,
            known_hosts=known_hosts,
            capabilities=capabilities,
            insist=insist,
            session_prefix=session_prefix,
            session_timeout_max=session_timeout_max,
            stream_above=stream_above,
            dialect=dialect,
            validate_content=validate_content,
            lenient_accepts=lenient_accepts,
            handshake_timeout=handshake_timeout,
            close_timeout=close_timeout,
            nonce=nonce,
            limits=limits,
            registry=registry,
        ):
            self.sasl = sasl
            self.mechanisms = mechanisms
            self.vhost = vhost
            self.heartbeat = heartbeat
            self.heartbeat_min = heartbeat_min
            self.heartbeat_max = heartbeat_max
            self.channel_max = channel_max
            self.max_frame_size = max_frame_size
            self.locales = locales
            self.properties = properties
            self.known_hosts = known_hosts
            self.capabilities = capabilities
            self.insist = insist
            self.session_prefix = session_prefix
            self.session_timeout_max = session_timeout_max
            self.stream_above = stream_above
            self.dialect = dialect
            self.validate_content = validate_content
            self.lenient_accepts = lenient_accepts
            self.handshake_timeout = handshake_timeout
            self.close_timeout = close_timeout
            self.nonce = nonce
            self.limits = limits
            self.registry = registry

        return __init__

    INITIALIZERS["amqp_sansio.amqp_0_10.endpoint.config.Config"] = make

    def make():
        def __init__(self, host, known_hosts):
            self.host = host
            self.known_hosts = known_hosts

        return __init__

    INITIALIZERS["amqp_sansio.amqp_0_10.endpoint.events.Redirected"] = make

    def make(force):
        def __init__(self, channel, name, force=force):
            self.channel = channel
            self.name = name
            self.force = force

        return __init__

    INITIALIZERS["amqp_sansio.amqp_0_10.endpoint.events.SessionRequested"] = make

    def make(channel, pending, incomplete):
        def __init__(self, scope, channel=channel, pending=pending, incomplete=incomplete):
            self.scope = scope
            self.channel = channel
            self.pending = pending
            self.incomplete = incomplete

        return __init__

    INITIALIZERS["amqp_sansio.amqp_0_10.endpoint.events.Resumed"] = make

    def make(name, resumable):
        def __init__(self, scope, channel, report, name=name, resumable=resumable):
            self.scope = scope
            self.channel = channel
            self.report = report
            self.name = name
            self.resumable = resumable

        return __init__

    INITIALIZERS["amqp_sansio.amqp_0_10.endpoint.events.SessionClosed"] = make

    def make(sync, headers, body, pendings):
        def __init__(self, channel, command_id, command, sync=sync, headers=headers, body=body, pendings=pendings):
            self.channel = channel
            self.command_id = command_id
            self.command = command
            self.sync = sync
            self.headers = headers
            self.body = body
            self.pendings = pendings

        return __init__

    INITIALIZERS["amqp_sansio.amqp_0_10.endpoint.events.CommandReceived"] = make

    def make(sync):
        def __init__(self, channel, command_id, transfer, headers, sync=sync):
            self.channel = channel
            self.command_id = command_id
            self.transfer = transfer
            self.headers = headers
            self.sync = sync

        return __init__

    INITIALIZERS["amqp_sansio.amqp_0_10.endpoint.events.MessageBegun"] = make

    def make(last):
        def __init__(self, channel, command_id, octets, last=last):
            self.channel = channel
            self.command_id = command_id
            self.octets = octets
            self.last = last

        return __init__

    INITIALIZERS["amqp_sansio.amqp_0_10.endpoint.events.BodyReceived"] = make

    def make():
        def __init__(self, channel, command_id):
            self.channel = channel
            self.command_id = command_id

        return __init__

    INITIALIZERS["amqp_sansio.amqp_0_10.endpoint.events.BodyAborted"] = make

    def make():
        def __init__(self, channel, destination, messages, octets):
            self.channel = channel
            self.destination = destination
            self.messages = messages
            self.octets = octets

        return __init__

    INITIALIZERS["amqp_sansio.amqp_0_10.endpoint.events.CreditChanged"] = make

    def make():
        def __init__(self):
            pass

        return __init__

    INITIALIZERS["amqp_sansio.amqp_0_10.endpoint.events.Completed"] = make

    def make(code, text):
        def __init__(self, code=code, text=text):
            self.code = code
            self.text = text

        return __init__

    INITIALIZERS["amqp_sansio.amqp_0_10.endpoint.events.Rejected"] = make

    def make(set_redelivered):
        def __init__(self, set_redelivered=set_redelivered):
            self.set_redelivered = set_redelivered

        return __init__

    INITIALIZERS["amqp_sansio.amqp_0_10.endpoint.events.Released"] = make

    def make(outcome):
        def __init__(self, command_id, completion, outcome=outcome):
            self.command_id = command_id
            self.completion = completion
            self.outcome = outcome

        return __init__

    INITIALIZERS["amqp_sansio.amqp_0_10.endpoint.outgoing.Transferred"] = make

    def make():
        def __init__(self, owner, field, error, read):
            self.owner = owner
            self.field = field
            self.error = error
            self.read = read

        return __init__

    INITIALIZERS["amqp_sansio.amqp_1_0.codec.odd.Odd"] = make

    def make():
        def __init__(self, descriptor, value):
            self.descriptor = descriptor
            self.value = value

        return __init__

    INITIALIZERS["amqp_sansio.amqp_1_0.codec.types.Described"] = make

    def make():
        def __init__(self, octets):
            self.octets = octets

        return __init__

    INITIALIZERS["amqp_sansio.amqp_1_0.codec.types.Opaque"] = make

    def make(
        container_id,
        hostname,
        sasl,
        mechanisms,
        nonce,
        max_frame_size,
        channel_max,
        idle_time_out,
        properties,
        offered_capabilities,
        desired_capabilities,
        outgoing_locales,
        incoming_locales,
        handshake_timeout,
        close_timeout,
        incoming_window,
        validate_content,
        limits,
        sasl_required,
        required_capabilities,
        initial_frame_size,
        least_idle_time_out,
        tls,
        tls_required,
        strict,
        whole_lists,
        registry,
    ):
        def __init__(
            self,
            container_id=container_id,
            hostname=hostname,
            sasl=sasl,
            mechanisms=mechanisms,
            nonce=nonce,
            max_frame_size=max_frame_size,
            channel_max=channel_max,
            idle_time_out=idle_time_out,
            properties=properties,
            offered_capabilities=offered_capabilities,
            desired_capabilities=desired_capabilities,
            outgoing_locales=outgoing_locales,
            incoming_locales=incoming_locales,
            handshake_timeout=handshake_timeout,
            close_timeout=close_timeout,
            incoming_window=incoming_window,
            validate_content=validate_content,
            limits=limits,
            sasl_required=sasl_required,
            required_capabilities=required_capabilities,
            initial_frame_size=initial_frame_size,
            least_idle_time_out=least_idle_time_out,
            tls=tls,
            tls_required=tls_required,
            strict=strict,
            whole_lists=whole_lists,
            registry=registry,
        ):
            self.container_id = container_id
            self.hostname = hostname
            self.sasl = sasl
            self.mechanisms = mechanisms
            self.nonce = nonce
            self.max_frame_size = max_frame_size
            self.channel_max = channel_max
            self.idle_time_out = idle_time_out
            self.properties = properties
            self.offered_capabilities = offered_capabilities
            self.desired_capabilities = desired_capabilities
            self.outgoing_locales = outgoing_locales
            self.incoming_locales = incoming_locales
            self.handshake_timeout = handshake_timeout
            self.close_timeout = close_timeout
            self.incoming_window = incoming_window
            self.validate_content = validate_content
            self.limits = limits
            self.sasl_required = sasl_required
            self.required_capabilities = required_capabilities
            self.initial_frame_size = initial_frame_size
            self.least_idle_time_out = least_idle_time_out
            self.tls = tls
            self.tls_required = tls_required
            self.strict = strict
            self.whole_lists = whole_lists
            self.registry = registry

        return __init__

    INITIALIZERS["amqp_sansio.amqp_1_0.endpoint.config.Config"] = make

    def make():
        def __init__(self):
            pass

        return __init__

    INITIALIZERS["amqp_sansio.amqp_1_0.endpoint.events.TlsStarted"] = make

    def make():
        def __init__(self, channel, begin):
            self.channel = channel
            self.begin = begin

        return __init__

    INITIALIZERS["amqp_sansio.amqp_1_0.endpoint.events.SessionRequested"] = make

    def make():
        def __init__(self, channel, link, attach):
            self.channel = channel
            self.link = link
            self.attach = attach

        return __init__

    INITIALIZERS["amqp_sansio.amqp_1_0.endpoint.events.LinkRequested"] = make

    def make(channel, pending, link, name):
        def __init__(self, scope, channel=channel, pending=pending, link=link, name=name):
            self.scope = scope
            self.channel = channel
            self.pending = pending
            self.link = link
            self.name = name

        return __init__

    INITIALIZERS["amqp_sansio.amqp_1_0.endpoint.events.LinkOpened"] = make

    def make(pendings, link, name):
        def __init__(self, scope, channel, error, by, pendings=pendings, link=link, name=name):
            self.scope = scope
            self.channel = channel
            self.error = error
            self.by = by
            self.pendings = pendings
            self.link = link
            self.name = name

        return __init__

    INITIALIZERS["amqp_sansio.amqp_1_0.endpoint.events.LinkFailed"] = make

    def make(link, name, resumable):
        def __init__(self, scope, channel, report, link=link, name=name, resumable=resumable):
            self.scope = scope
            self.channel = channel
            self.report = report
            self.link = link
            self.name = name
            self.resumable = resumable

        return __init__

    INITIALIZERS["amqp_sansio.amqp_1_0.endpoint.events.LinkClosed"] = make

    def make(resumed):
        def __init__(
            self,
            channel,
            link,
            delivery_id,
            delivery_tag,
            message_format,
            settled,
            state,
            payload,
            resumed=resumed,
        ):
            self.channel = channel
            self.link = link
            self.delivery_id = delivery_id
            self.delivery_tag = delivery_tag
            self.message_format = message_format
            self.settled = settled
            self.state = state
            self.payload = payload
            self.resumed = resumed

        return __init__

    INITIALIZERS["amqp_sansio.amqp_1_0.endpoint.events.Delivery"] = make

    def make():
        def __init__(self, channel, link, delivery_id, delivery_tag):
            self.channel = channel
            self.link = link
            self.delivery_id = delivery_id
            self.delivery_tag = delivery_tag

        return __init__

    INITIALIZERS["amqp_sansio.amqp_1_0.endpoint.events.DeliveryAborted"] = make

    def make():
        def __init__(self, channel, link, delivery_id, delivery_tag, error):
            self.channel = channel
            self.link = link
            self.delivery_id = delivery_id
            self.delivery_tag = delivery_tag
            self.error = error

        return __init__

    INITIALIZERS["amqp_sansio.amqp_1_0.endpoint.events.DeliveryRefused"] = make

    def make():
        def __init__(self, channel, delivery_ids, state, settled):
            self.channel = channel
            self.delivery_ids = delivery_ids
            self.state = state
            self.settled = settled

        return __init__

    INITIALIZERS["amqp_sansio.amqp_1_0.endpoint.events.DeliveryUpdated"] = make

    def make():
        def __init__(self, channel, link, delivery, request):
            self.channel = channel
            self.link = link
            self.delivery = delivery
            self.request = request

        return __init__

    INITIALIZERS["amqp_sansio.amqp_1_0.endpoint.events.TransactionRequested"] = make

    def make(properties):
        def __init__(self, channel, link, credit, drain, properties=properties):
            self.channel = channel
            self.link = link
            self.credit = credit
            self.drain = drain
            self.properties = properties

        return __init__

    INITIALIZERS["amqp_sansio.amqp_1_0.endpoint.events.CreditChanged"] = make

    def make():
        def __init__(self, channel, link):
            self.channel = channel
            self.link = link

        return __init__

    INITIALIZERS["amqp_sansio.amqp_1_0.endpoint.events.Drained"] = make

    def make():
        def __init__(self, channel, link, available):
            self.channel = channel
            self.link = link
            self.available = available

        return __init__

    INITIALIZERS["amqp_sansio.amqp_1_0.endpoint.events.AvailableChanged"] = make

    def make():
        def __init__(self, pendings, state):
            self.pendings = pendings
            self.state = state

        return __init__

    INITIALIZERS["amqp_sansio.amqp_1_0.endpoint.events.Updated"] = make

    def make():
        def __init__(self, channel, link, pendings, forgotten, lost, incomplete):
            self.channel = channel
            self.link = link
            self.pendings = pendings
            self.forgotten = forgotten
            self.lost = lost
            self.incomplete = incomplete

        return __init__

    INITIALIZERS["amqp_sansio.amqp_1_0.endpoint.events.Resumed"] = make

    def make(state):
        def __init__(self, resend, state=state):
            self.resend = resend
            self.state = state

        return __init__

    INITIALIZERS["amqp_sansio.amqp_1_0.model.resume.ResumeAction"] = make

    def make():
        def __init__(self, delivery_tag, message_format, payload, local, remote):
            self.delivery_tag = delivery_tag
            self.message_format = message_format
            self.payload = payload
            self.local = local
            self.remote = remote

        return __init__

    INITIALIZERS["amqp_sansio.amqp_1_0.model.resume.SavedDelivery"] = make

    def make(rounds):
        def __init__(
            self,
            name,
            is_sender,
            source,
            target,
            snd_settle_mode,
            rcv_settle_mode,
            next_tag,
            unsettled,
            rounds=rounds,
        ):
            self.name = name
            self.is_sender = is_sender
            self.source = source
            self.target = target
            self.snd_settle_mode = snd_settle_mode
            self.rcv_settle_mode = rcv_settle_mode
            self.next_tag = next_tag
            self.unsettled = unsettled
            self.rounds = rounds

        return __init__

    INITIALIZERS["amqp_sansio.amqp_1_0.model.resume.LinkState"] = make

    def make(name, key, creates):
        def __init__(self, kind, name=name, key=key, creates=creates):
            self.kind = kind
            self.name = name
            self.key = key
            self.creates = creates

        return __init__

    INITIALIZERS["amqp_sansio.broker.addresses.Node"] = make

    def make(body):
        def __init__(self, status, body=body):
            self.status = status
            self.body = body

        return __init__

    INITIALIZERS["amqp_sansio.broker.frontends.amqp_1_0.management_requests.Response"] = make

    def make(
        exchanges,
        queues,
        bindings,
        consumers,
        transactions,
        transaction_octets,
        memory_high,
        memory_low,
        topology,
        backlog_high,
        backlog_low,
        kept_links,
        login,
        unopened,
        selector,
        turn,
    ):
        def __init__(
            self,
            exchanges=exchanges,
            queues=queues,
            bindings=bindings,
            consumers=consumers,
            transactions=transactions,
            transaction_octets=transaction_octets,
            memory_high=memory_high,
            memory_low=memory_low,
            topology=topology,
            backlog_high=backlog_high,
            backlog_low=backlog_low,
            kept_links=kept_links,
            login=login,
            unopened=unopened,
            selector=selector,
            turn=turn,
        ):
            self.exchanges = exchanges
            self.queues = queues
            self.bindings = bindings
            self.consumers = consumers
            self.transactions = transactions
            self.transaction_octets = transaction_octets
            self.memory_high = memory_high
            self.memory_low = memory_low
            self.topology = topology
            self.backlog_high = backlog_high
            self.backlog_low = backlog_low
            self.kept_links = kept_links
            self.login = login
            self.unopened = unopened
            self.selector = selector
            self.turn = turn

        return __init__

    INITIALIZERS["amqp_sansio.broker.limits.BrokerLimits"] = make

    def make(vhost, user, parent):
        def __init__(self, vhost=vhost, user=user, parent=parent):
            self.vhost = vhost
            self.user = user
            self.parent = parent

        return __init__

    INITIALIZERS["amqp_sansio.broker.model.commands.OpenOwner"] = make

    def make(redelivered, heir):
        def __init__(self, owner, redelivered=redelivered, heir=heir):
            self.owner = owner
            self.redelivered = redelivered
            self.heir = heir

        return __init__

    INITIALIZERS["amqp_sansio.broker.model.commands.CloseOwner"] = make

    def make(type, passive, durable, auto_delete, internal, alternate, arguments, compare, reserved):
        def __init__(
            self,
            owner,
            name,
            type=type,
            passive=passive,
            durable=durable,
            auto_delete=auto_delete,
            internal=internal,
            alternate=alternate,
            arguments=arguments,
            compare=compare,
            reserved=reserved,
        ):
            self.owner = owner
            self.name = name
            self.type = type
            self.passive = passive
            self.durable = durable
            self.auto_delete = auto_delete
            self.internal = internal
            self.alternate = alternate
            self.arguments = arguments
            self.compare = compare
            self.reserved = reserved

        return __init__

    INITIALIZERS["amqp_sansio.broker.model.commands.DeclareExchange"] = make

    def make(if_unused, alternates):
        def __init__(self, owner, name, if_unused=if_unused, alternates=alternates):
            self.owner = owner
            self.name = name
            self.if_unused = if_unused
            self.alternates = alternates

        return __init__

    INITIALIZERS["amqp_sansio.broker.model.commands.DeleteExchange"] = make

    def make(routing_key, arguments):
        def __init__(self, owner, destination, source, routing_key=routing_key, arguments=arguments):
            self.owner = owner
            self.destination = destination
            self.source = source
            self.routing_key = routing_key
            self.arguments = arguments

        return __init__

    INITIALIZERS["amqp_sansio.broker.model.commands.BindExchange"] = make

    def make(routing_key, arguments):
        def __init__(self, owner, destination, source, routing_key=routing_key, arguments=arguments):
            self.owner = owner
            self.destination = destination
            self.source = source
            self.routing_key = routing_key
            self.arguments = arguments

        return __init__

    INITIALIZERS["amqp_sansio.broker.model.commands.UnbindExchange"] = make

    def make(
        name,
        passive,
        durable,
        auto_delete,
        exclusive_to,
        alternate,
        arguments,
        compare,
        strict,
        reserved,
        lifetime,
        outlives,
        expires_at_head,
        delivery_limit,
    ):
        def __init__(
            self,
            owner,
            name=name,
            passive=passive,
            durable=durable,
            auto_delete=auto_delete,
            exclusive_to=exclusive_to,
            alternate=alternate,
            arguments=arguments,
            compare=compare,
            strict=strict,
            reserved=reserved,
            lifetime=lifetime,
            outlives=outlives,
            expires_at_head=expires_at_head,
            delivery_limit=delivery_limit,
        ):
            self.owner = owner
            self.name = name
            self.passive = passive
            self.durable = durable
            self.auto_delete = auto_delete
            self.exclusive_to = exclusive_to
            self.alternate = alternate
            self.arguments = arguments
            self.compare = compare
            self.strict = strict
            self.reserved = reserved
            self.lifetime = lifetime
            self.outlives = outlives
            self.expires_at_head = expires_at_head
            self.delivery_limit = delivery_limit

        return __init__

    INITIALIZERS["amqp_sansio.broker.model.commands.DeclareQueue"] = make

    def make(if_unused, if_empty):
        def __init__(self, owner, name, if_unused=if_unused, if_empty=if_empty):
            self.owner = owner
            self.name = name
            self.if_unused = if_unused
            self.if_empty = if_empty

        return __init__

    INITIALIZERS["amqp_sansio.broker.model.commands.DeleteQueue"] = make

    def make():
        def __init__(self, owner, name):
            self.owner = owner
            self.name = name

        return __init__

    INITIALIZERS["amqp_sansio.broker.model.commands.PurgeQueue"] = make

    def make(routing_key, arguments, by_arguments):
        def __init__(
            self,
            owner,
            queue,
            exchange,
            routing_key=routing_key,
            arguments=arguments,
            by_arguments=by_arguments,
        ):
            self.owner = owner
            self.queue = queue
            self.exchange = exchange
            self.routing_key = routing_key
            self.arguments = arguments
            self.by_arguments = by_arguments

        return __init__

    INITIALIZERS["amqp_sansio.broker.model.commands.Bind"] = make

    def make(routing_key, arguments, by_arguments):
        def __init__(
            self,
            owner,
            queue,
            exchange,
            routing_key=routing_key,
            arguments=arguments,
            by_arguments=by_arguments,
        ):
            self.owner = owner
            self.queue = queue
            self.exchange = exchange
            self.routing_key = routing_key
            self.arguments = arguments
            self.by_arguments = by_arguments

        return __init__

    INITIALIZERS["amqp_sansio.broker.model.commands.Unbind"] = make

    def make():
        def __init__(self, owner, name):
            self.owner = owner
            self.name = name

        return __init__

    INITIALIZERS["amqp_sansio.broker.model.commands.LinkQueue"] = make

    def make():
        def __init__(self, owner, name):
            self.owner = owner
            self.name = name

        return __init__

    INITIALIZERS["amqp_sansio.broker.model.commands.UnlinkQueue"] = make

    def make(windows, acquires, settles, exclusive, no_local, priority, filter, cursors, measure):
        def __init__(
            self,
            owner,
            queue,
            key,
            windows=windows,
            acquires=acquires,
            settles=settles,
            exclusive=exclusive,
            no_local=no_local,
            priority=priority,
            filter=filter,
            cursors=cursors,
            measure=measure,
        ):
            self.owner = owner
            self.queue = queue
            self.key = key
            self.windows = windows
            self.acquires = acquires
            self.settles = settles
            self.exclusive = exclusive
            self.no_local = no_local
            self.priority = priority
            self.filter = filter
            self.cursors = cursors
            self.measure = measure

        return __init__

    INITIALIZERS["amqp_sansio.broker.model.commands.Subscribe"] = make

    def make():
        def __init__(self, consumer):
            self.consumer = consumer

        return __init__

    INITIALIZERS["amqp_sansio.broker.model.commands.Cancel"] = make

    def make(messages, octets):
        def __init__(self, window, messages=messages, octets=octets):
            self.window = window
            self.messages = messages
            self.octets = octets

        return __init__

    INITIALIZERS["amqp_sansio.broker.model.commands.Grant"] = make

    def make(octets):
        def __init__(self, window, messages, octets=octets):
            self.window = window
            self.messages = messages
            self.octets = octets

        return __init__

    INITIALIZERS["amqp_sansio.broker.model.commands.SetWindow"] = make

    def make():
        def __init__(self, consumer, windows):
            self.consumer = consumer
            self.windows = windows

        return __init__

    INITIALIZERS["amqp_sansio.broker.model.commands.ChangeWindows"] = make

    def make(settles, filter):
        def __init__(self, owner, queue, settles=settles, filter=filter):
            self.owner = owner
            self.queue = queue
            self.settles = settles
            self.filter = filter

        return __init__

    INITIALIZERS["amqp_sansio.broker.model.commands.Get"] = make

    def make(consumer):
        def __init__(self, owner, entries, consumer=consumer):
            self.owner = owner
            self.entries = entries
            self.consumer = consumer

        return __init__

    INITIALIZERS["amqp_sansio.broker.model.commands.Acquire"] = make

    def make(mandatory, immediate, transaction, alternates, chained, rerouted, promised, also, delay):
        def __init__(
            self,
            owner,
            exchange,
            routing_key,
            content,
            mandatory=mandatory,
            immediate=immediate,
            transaction=transaction,
            alternates=alternates,
            chained=chained,
            rerouted=rerouted,
            promised=promised,
            also=also,
            delay=delay,
        ):
            self.owner = owner
            self.exchange = exchange
            self.routing_key = routing_key
            self.content = content
            self.mandatory = mandatory
            self.immediate = immediate
            self.transaction = transaction
            self.alternates = alternates
            self.chained = chained
            self.rerouted = rerouted
            self.promised = promised
            self.also = also
            self.delay = delay

        return __init__

    INITIALIZERS["amqp_sansio.broker.model.commands.Publish"] = make

    def make():
        def __init__(self, routed, consumed, refused):
            self.routed = routed
            self.consumed = consumed
            self.refused = refused

        return __init__

    INITIALIZERS["amqp_sansio.broker.model.commands.Published"] = make

    def make(redelivered, delivery_failed, excluded, content, transaction, unsaid):
        def __init__(
            self,
            owner,
            entries,
            outcome,
            redelivered=redelivered,
            delivery_failed=delivery_failed,
            excluded=excluded,
            content=content,
            transaction=transaction,
            unsaid=unsaid,
        ):
            self.owner = owner
            self.entries = entries
            self.outcome = outcome
            self.redelivered = redelivered
            self.delivery_failed = delivery_failed
            self.excluded = excluded
            self.content = content
            self.transaction = transaction
            self.unsaid = unsaid

        return __init__

    INITIALIZERS["amqp_sansio.broker.model.commands.Settle"] = make

    def make(owner, vhost):
        def __init__(self, owner=owner, vhost=vhost):
            self.owner = owner
            self.vhost = vhost

        return __init__

    INITIALIZERS["amqp_sansio.broker.model.commands.Begin"] = make

    def make():
        def __init__(self, transaction):
            self.transaction = transaction

        return __init__

    INITIALIZERS["amqp_sansio.broker.model.commands.Commit"] = make

    def make():
        def __init__(self, transaction):
            self.transaction = transaction

        return __init__

    INITIALIZERS["amqp_sansio.broker.model.commands.Rollback"] = make

    def make():
        def __init__(self, queue, reason, count, exchange, routing_keys, time):
            self.queue = queue
            self.reason = reason
            self.count = count
            self.exchange = exchange
            self.routing_keys = routing_keys
            self.time = time

        return __init__

    INITIALIZERS["amqp_sansio.broker.model.content.Death"] = make

    def make():
        def __init__(self, consumer, entry):
            self.consumer = consumer
            self.entry = entry

        return __init__

    INITIALIZERS["amqp_sansio.broker.model.effects.Deliver"] = make

    def make():
        def __init__(self, consumer, reason):
            self.consumer = consumer
            self.reason = reason

        return __init__

    INITIALIZERS["amqp_sansio.broker.model.effects.Cancelled"] = make

    def make():
        def __init__(self, vhost, kind, name):
            self.vhost = vhost
            self.kind = kind
            self.name = name

        return __init__

    INITIALIZERS["amqp_sansio.broker.model.effects.NodeDeleted"] = make

    def make():
        def __init__(self, reason):
            self.reason = reason

        return __init__

    INITIALIZERS["amqp_sansio.broker.model.effects.Blocked"] = make

    def make():
        def __init__(self):
            pass

        return __init__

    INITIALIZERS["amqp_sansio.broker.model.effects.Unblocked"] = make

    def make(queue, consumer, connection, user, redelivered, reason):
        def __init__(
            self,
            kind,
            at,
            vhost,
            number,
            exchange,
            routing_key,
            content,
            queue=queue,
            consumer=consumer,
            connection=connection,
            user=user,
            redelivered=redelivered,
            reason=reason,
        ):
            self.kind = kind
            self.at = at
            self.vhost = vhost
            self.number = number
            self.exchange = exchange
            self.routing_key = routing_key
            self.content = content
            self.queue = queue
            self.consumer = consumer
            self.connection = connection
            self.user = user
            self.redelivered = redelivered
            self.reason = reason

        return __init__

    INITIALIZERS["amqp_sansio.broker.model.history.Happened"] = make

    def make(
        message_ttl,
        expires,
        max_length,
        max_octets,
        overflow,
        dead_letter_exchange,
        dead_letter_routing_key,
        max_priority,
        single_active_consumer,
        delivery_limit,
        consumer_timeout,
        levels,
        last_value_key,
        group_key,
        shared_groups,
    ):
        def __init__(
            self,
            message_ttl=message_ttl,
            expires=expires,
            max_length=max_length,
            max_octets=max_octets,
            overflow=overflow,
            dead_letter_exchange=dead_letter_exchange,
            dead_letter_routing_key=dead_letter_routing_key,
            max_priority=max_priority,
            single_active_consumer=single_active_consumer,
            delivery_limit=delivery_limit,
            consumer_timeout=consumer_timeout,
            levels=levels,
            last_value_key=last_value_key,
            group_key=group_key,
            shared_groups=shared_groups,
        ):
            self.message_ttl = message_ttl
            self.expires = expires
            self.max_length = max_length
            self.max_octets = max_octets
            self.overflow = overflow
            self.dead_letter_exchange = dead_letter_exchange
            self.dead_letter_routing_key = dead_letter_routing_key
            self.max_priority = max_priority
            self.single_active_consumer = single_active_consumer
            self.delivery_limit = delivery_limit
            self.consumer_timeout = consumer_timeout
            self.levels = levels
            self.last_value_key = last_value_key
            self.group_key = group_key
            self.shared_groups = shared_groups

        return __init__

    INITIALIZERS["amqp_sansio.broker.model.options.QueueOptions"] = make

    def make(reason):
        def __init__(self, user, reason=reason):
            self.user = user
            self.reason = reason

        return __init__

    INITIALIZERS["amqp_sansio.broker.settings.Verdict"] = make

    def make(
        users,
        vhosts,
        mechanisms,
        anonymous,
        versions,
        heartbeat,
        history,
        history_octets,
        limits,
        connection_limits,
        name,
        product,
        product_version,
        properties,
        configs,
        urls,
        seed,
        epoch,
        auto_create,
        dialect,
        strict,
        rabbitmq,
        consumer_timeout,
        registry,
        make_shared,
        make_keys,
        make_spoken,
    ):
        def __init__(
            self,
            users=users,
            vhosts=vhosts,
            mechanisms=mechanisms,
            anonymous=anonymous,
            versions=versions,
            heartbeat=heartbeat,
            history=history,
            history_octets=history_octets,
            limits=limits,
            connection_limits=connection_limits,
            name=name,
            product=product,
            product_version=product_version,
            properties=properties,
            configs=configs,
            urls=urls,
            seed=seed,
            epoch=epoch,
            auto_create=auto_create,
            dialect=dialect,
            strict=strict,
            rabbitmq=rabbitmq,
            consumer_timeout=consumer_timeout,
            registry=registry,
        ):
            self.users = users
            self.vhosts = vhosts
            self.mechanisms = mechanisms
            self.anonymous = anonymous
            self.versions = versions
            self.heartbeat = heartbeat
            self.history = history
            self.history_octets = history_octets
            self.limits = limits
            self.connection_limits = connection_limits
            self.name = name
            self.product = product
            self.product_version = product_version
            self.properties = properties
            self.configs = configs
            self.urls = urls
            self.seed = seed
            self.epoch = epoch
            self.auto_create = auto_create
            self.dialect = dialect
            self.strict = strict
            self.rabbitmq = rabbitmq
            self.consumer_timeout = consumer_timeout
            self.registry = registry
            self._shared = make_shared(self)
            self._keys = make_keys(self)
            self._spoken = make_spoken(self)

        return __init__

    INITIALIZERS["amqp_sansio.broker.settings.Settings"] = make

    def make(password, vhosts, tags):
        def __init__(self, password=password, vhosts=vhosts, tags=tags):
            self.password = password
            self.vhosts = vhosts
            self.tags = tags

        return __init__

    INITIALIZERS["amqp_sansio.broker.users.User"] = make

    def make():
        def __init__(self, file, other, at_least_ns, at_most_ns, proofs):
            self.file = file
            self.other = other
            self.at_least_ns = at_least_ns
            self.at_most_ns = at_most_ns
            self.proofs = proofs

        return __init__

    INITIALIZERS["amqp_sansio.capture.clocks.ClockDifference"] = make

    def make():
        def __init__(self, big, header, limit, unit_ns, link, known):
            self.big = big
            self.header = header
            self.limit = limit
            self.unit_ns = unit_ns
            self.link = link
            self.known = known

        return __init__

    INITIALIZERS["amqp_sansio.capture.parser.PcapLayout"] = make

    def make():
        def __init__(self, link, multiplier, divisor, offset_ns, known, silent):
            self.link = link
            self.multiplier = multiplier
            self.divisor = divisor
            self.offset_ns = offset_ns
            self.known = known
            self.silent = silent

        return __init__

    INITIALIZERS["amqp_sansio.capture.parser.Interface"] = make

    def make():
        def __init__(self, big, interfaces):
            self.big = big
            self.interfaces = interfaces

        return __init__

    INITIALIZERS["amqp_sansio.capture.parser.PcapngLayout"] = make

    def make(point):
        def __init__(
            self,
            ts_ns,
            file,
            packet,
            src,
            sport,
            dst,
            dport,
            seq,
            ack,
            flags,
            wire_len,
            payload,
            point=point,
        ):
            self.ts_ns = ts_ns
            self.file = file
            self.packet = packet
            self.src = src
            self.sport = sport
            self.dst = dst
            self.dport = dport
            self.seq = seq
            self.ack = ack
            self.flags = flags
            self.wire_len = wire_len
            self.payload = payload
            self.point = point

        return __init__

    INITIALIZERS["amqp_sansio.capture.records.Segment"] = make

    def make():
        def __init__(self, file, packet, ts_ns, offset, kind, text):
            self.file = file
            self.packet = packet
            self.ts_ns = ts_ns
            self.offset = offset
            self.kind = kind
            self.text = text

        return __init__

    INITIALIZERS["amqp_sansio.capture.records.CaptureDamage"] = make

    def make():
        def __init__(self, connection, client, server, a, b, ts_ns, syn_seen):
            self.connection = connection
            self.client = client
            self.server = server
            self.a = a
            self.b = b
            self.ts_ns = ts_ns
            self.syn_seen = syn_seen

        return __init__

    INITIALIZERS["amqp_sansio.capture.records.ConnectionStart"] = make

    def make():
        def __init__(self, connection, sender, data, ts_ns, offset):
            self.connection = connection
            self.sender = sender
            self.data = data
            self.ts_ns = ts_ns
            self.offset = offset

        return __init__

    INITIALIZERS["amqp_sansio.capture.records.StreamData"] = make

    def make():
        def __init__(self, connection, sender, octets, ts_ns, offset, reason):
            self.connection = connection
            self.sender = sender
            self.octets = octets
            self.ts_ns = ts_ns
            self.offset = offset
            self.reason = reason

        return __init__

    INITIALIZERS["amqp_sansio.capture.records.StreamGap"] = make

    def make():
        def __init__(self, connection, sender, kind, text, ts_ns):
            self.connection = connection
            self.sender = sender
            self.kind = kind
            self.text = text
            self.ts_ns = ts_ns

        return __init__

    INITIALIZERS["amqp_sansio.capture.records.StreamDamage"] = make

    def make(by_ns, heard_ns):
        def __init__(self, connection, ts_ns, by, how, complete, by_ns=by_ns, heard_ns=heard_ns):
            self.connection = connection
            self.ts_ns = ts_ns
            self.by = by
            self.how = how
            self.complete = complete
            self.by_ns = by_ns
            self.heard_ns = heard_ns

        return __init__

    INITIALIZERS["amqp_sansio.capture.records.ConnectionEnd"] = make

    def make(expires):
        def __init__(self, text, type, expires=expires):
            self.text = text
            self.type = type
            self.expires = expires

        return __init__

    INITIALIZERS["amqp_sansio.client.amqp_1_0.cbs.Token"] = make

    def make(lifetime):
        def __init__(self, name, key, lifetime=lifetime):
            self.name = name
            self.key = key
            self.lifetime = lifetime

        return __init__

    INITIALIZERS["amqp_sansio.client.amqp_1_0.cbs.SharedAccessKey"] = make

    def make(audience):
        def __init__(self, provider, audience=audience):
            self.provider = provider
            self.audience = audience

        return __init__

    INITIALIZERS["amqp_sansio.client.amqp_1_0.cbs.Cbs"] = make

    def make(
        addresses,
        shuffle,
        first_delay,
        factor,
        ceiling,
        jitter,
        deadline,
        attempts,
        retry,
        in_doubt,
        publish,
        in_doubt_octets,
        remembered,
        declared,
        steady,
        tries,
        patience,
        redirects,
    ):
        def __init__(
            self,
            addresses=addresses,
            shuffle=shuffle,
            first_delay=first_delay,
            factor=factor,
            ceiling=ceiling,
            jitter=jitter,
            deadline=deadline,
            attempts=attempts,
            retry=retry,
            in_doubt=in_doubt,
            publish=publish,
            in_doubt_octets=in_doubt_octets,
            remembered=remembered,
            declared=declared,
            steady=steady,
            tries=tries,
            patience=patience,
            redirects=redirects,
        ):
            self.addresses = addresses
            self.shuffle = shuffle
            self.first_delay = first_delay
            self.factor = factor
            self.ceiling = ceiling
            self.jitter = jitter
            self.deadline = deadline
            self.attempts = attempts
            self.retry = retry
            self.in_doubt = in_doubt
            self.publish = publish
            self.in_doubt_octets = in_doubt_octets
            self.remembered = remembered
            self.declared = declared
            self.steady = steady
            self.tries = tries
            self.patience = patience
            self.redirects = redirects

        return __init__

    INITIALIZERS["amqp_sansio.client.recovery.RecoveryPolicy"] = make

    def make():
        def __init__(self, address, seconds, reason):
            self.address = address
            self.seconds = seconds
            self.reason = reason

        return __init__

    INITIALIZERS["amqp_sansio.client.recovery.Attempt"] = make

    def make(properties):
        def __init__(self, target, body, properties=properties):
            self.target = target
            self.body = body
            self.properties = properties

        return __init__

    INITIALIZERS["amqp_sansio.client.recovery.InDoubt"] = make

    def make():
        def __init__(self, report, attempt, address, seconds):
            self.report = report
            self.attempt = attempt
            self.address = address
            self.seconds = seconds

        return __init__

    INITIALIZERS["amqp_sansio.client.recovery.Recovering"] = make

    def make(in_doubt, resent, renamed, failed, resumed, replaced):
        def __init__(
            self,
            address,
            attempts,
            in_doubt=in_doubt,
            resent=resent,
            renamed=renamed,
            failed=failed,
            resumed=resumed,
            replaced=replaced,
        ):
            self.address = address
            self.attempts = attempts
            self.in_doubt = in_doubt
            self.resent = resent
            self.renamed = renamed
            self.failed = failed
            self.resumed = resumed
            self.replaced = replaced

        return __init__

    INITIALIZERS["amqp_sansio.client.recovery.Recovered"] = make

    def make():
        def __init__(self, cacertfile, certfile, keyfile, verify, server_name):
            self.cacertfile = cacertfile
            self.certfile = certfile
            self.keyfile = keyfile
            self.verify = verify
            self.server_name = server_name

        return __init__

    INITIALIZERS["amqp_sansio.client.tls.TlsSettings"] = make

    def make(channel, pending):
        def __init__(self, scope, channel=channel, pending=pending):
            self.scope = scope
            self.channel = channel
            self.pending = pending

        return __init__

    INITIALIZERS["amqp_sansio.events.Opened"] = make

    def make():
        def __init__(self, pending):
            self.pending = pending

        return __init__

    INITIALIZERS["amqp_sansio.events.Replied"] = make

    def make():
        def __init__(self):
            pass

        return __init__

    INITIALIZERS["amqp_sansio.events.Accepted"] = make

    def make(reason, info):
        def __init__(self, reason=reason, info=info):
            self.reason = reason
            self.info = info

        return __init__

    INITIALIZERS["amqp_sansio.events.Rejected"] = make

    def make(reason):
        def __init__(self, reason=reason):
            self.reason = reason

        return __init__

    INITIALIZERS["amqp_sansio.events.Released"] = make

    def make():
        def __init__(self, pendings, state):
            self.pendings = pendings
            self.state = state

        return __init__

    INITIALIZERS["amqp_sansio.events.Settled"] = make

    def make(pendings):
        def __init__(self, scope, channel, error, by, pendings=pendings):
            self.scope = scope
            self.channel = channel
            self.error = error
            self.by = by
            self.pendings = pendings

        return __init__

    INITIALIZERS["amqp_sansio.events.Failed"] = make

    def make(resumable):
        def __init__(self, pendings, report, resumable=resumable):
            self.pendings = pendings
            self.report = report
            self.resumable = resumable

        return __init__

    INITIALIZERS["amqp_sansio.events.Abandoned"] = make

    def make():
        def __init__(self, scope, channel, report):
            self.scope = scope
            self.channel = channel
            self.report = report

        return __init__

    INITIALIZERS["amqp_sansio.events.Closed"] = make

    def make():
        def __init__(self, mechanism, credentials):
            self.mechanism = mechanism
            self.credentials = credentials

        return __init__

    INITIALIZERS["amqp_sansio.events.AuthenticationRequested"] = make

    def make():
        def __init__(self, mechanism, user):
            self.mechanism = mechanism
            self.user = user

        return __init__

    INITIALIZERS["amqp_sansio.events.ScramKeysRequested"] = make

    def make(insist):
        def __init__(self, vhost, insist=insist):
            self.vhost = vhost
            self.insist = insist

        return __init__

    INITIALIZERS["amqp_sansio.events.OpenRequested"] = make

    def make():
        def __init__(self, backlog):
            self.backlog = backlog

        return __init__

    INITIALIZERS["amqp_sansio.events.SendPaused"] = make

    def make():
        def __init__(self, backlog):
            self.backlog = backlog

        return __init__

    INITIALIZERS["amqp_sansio.events.SendResumed"] = make

    def make(
        unparsed,
        message,
        bodies,
        header,
        channels,
        nesting,
        entries,
        requests,
        calls,
        unsettled,
        unconfirmed,
        consumers,
        backlog_high,
        backlog_low,
        backlog_hard,
        sasl_rounds,
        replay,
        replay_octets,
    ):
        def __init__(
            self,
            unparsed=unparsed,
            message=message,
            bodies=bodies,
            header=header,
            channels=channels,
            nesting=nesting,
            entries=entries,
            requests=requests,
            calls=calls,
            unsettled=unsettled,
            unconfirmed=unconfirmed,
            consumers=consumers,
            backlog_high=backlog_high,
            backlog_low=backlog_low,
            backlog_hard=backlog_hard,
            sasl_rounds=sasl_rounds,
            replay=replay,
            replay_octets=replay_octets,
        ):
            self.unparsed = unparsed
            self.message = message
            self.bodies = bodies
            self.header = header
            self.channels = channels
            self.nesting = nesting
            self.entries = entries
            self.requests = requests
            self.calls = calls
            self.unsettled = unsettled
            self.unconfirmed = unconfirmed
            self.consumers = consumers
            self.backlog_high = backlog_high
            self.backlog_low = backlog_low
            self.backlog_hard = backlog_hard
            self.sasl_rounds = sasl_rounds
            self.replay = replay
            self.replay_octets = replay_octets

        return __init__

    INITIALIZERS["amqp_sansio.limits.Limits"] = make

    def make():
        def __init__(self, exchange, key):
            self.exchange = exchange
            self.key = key

        return __init__

    INITIALIZERS["amqp_sansio.messaging.addresses.Place"] = make

    def make():
        def __init__(self, version, connection):
            self.version = version
            self.connection = connection

        return __init__

    INITIALIZERS["amqp_sansio.negotiation.Accepted"] = make

    def make():
        def __init__(self, reply, received):
            self.reply = reply
            self.received = received

        return __init__

    INITIALIZERS["amqp_sansio.negotiation.Refused"] = make

    def make():
        def __init__(self):
            pass

        return __init__

    INITIALIZERS["amqp_sansio.sasl._base.Finished"] = make

    def make(authzid):
        def __init__(self, user, password, authzid=authzid):
            self.user = user
            self.password = password
            self.authzid = authzid

        return __init__

    INITIALIZERS["amqp_sansio.sasl._client.Plain"] = make

    def make():
        def __init__(self, user, password):
            self.user = user
            self.password = password

        return __init__

    INITIALIZERS["amqp_sansio.sasl._client.AmqPlain"] = make

    def make(authzid):
        def __init__(self, authzid=authzid):
            self.authzid = authzid

        return __init__

    INITIALIZERS["amqp_sansio.sasl._client.External"] = make

    def make(trace):
        def __init__(self, trace=trace):
            self.trace = trace

        return __init__

    INITIALIZERS["amqp_sansio.sasl._client.Anonymous"] = make

    def make():
        def __init__(self):
            pass

        return __init__

    INITIALIZERS["amqp_sansio.sasl._client.ClaimsBased"] = make

    def make(nonce, success_data):
        def __init__(self, nonce=nonce, success_data=success_data):
            self.nonce = nonce
            self.success_data = success_data

        return __init__

    INITIALIZERS["amqp_sansio.sasl._registry.ServerTerms"] = make

    def make():
        def __init__(self, name):
            self.name = name

        return __init__

    INITIALIZERS["amqp_sansio.sasl._registry._Maker"] = make

    def make():
        def __init__(self, clients, servers):
            self.clients = clients
            self.servers = servers

        return __init__

    INITIALIZERS["amqp_sansio.sasl._registry.MechanismRegistry"] = make

    def make():
        def __init__(self, bare):
            self.bare = bare

        return __init__

    INITIALIZERS["amqp_sansio.sasl._scram._FirstSent"] = make

    def make():
        def __init__(self, signature):
            self.signature = signature

        return __init__

    INITIALIZERS["amqp_sansio.sasl._scram._ProofSent"] = make

    def make(nonce, authzid, min_iterations, max_iterations):
        def __init__(
            self,
            user,
            password,
            nonce=nonce,
            authzid=authzid,
            min_iterations=min_iterations,
            max_iterations=max_iterations,
        ):
            self.user = user
            self.password = password
            self.nonce = nonce
            self.authzid = authzid
            self.min_iterations = min_iterations
            self.max_iterations = max_iterations

        return __init__

    INITIALIZERS["amqp_sansio.sasl._scram.ScramClient"] = make

    def make(nonce, authzid, min_iterations, max_iterations):
        def __init__(
            self,
            user,
            password,
            nonce=nonce,
            authzid=authzid,
            min_iterations=min_iterations,
            max_iterations=max_iterations,
        ):
            self.user = user
            self.password = password
            self.nonce = nonce
            self.authzid = authzid
            self.min_iterations = min_iterations
            self.max_iterations = max_iterations

        return __init__

    INITIALIZERS["amqp_sansio.sasl._scram.ScramSha1"] = make

    def make(nonce, authzid, min_iterations, max_iterations):
        def __init__(
            self,
            user,
            password,
            nonce=nonce,
            authzid=authzid,
            min_iterations=min_iterations,
            max_iterations=max_iterations,
        ):
            self.user = user
            self.password = password
            self.nonce = nonce
            self.authzid = authzid
            self.min_iterations = min_iterations
            self.max_iterations = max_iterations

        return __init__

    INITIALIZERS["amqp_sansio.sasl._scram.ScramSha256"] = make

    def make():
        def __init__(self):
            pass

        return __init__

    INITIALIZERS["amqp_sansio.sasl._scram_server._AwaitFirst"] = make

    def make():
        def __init__(self, header, bare, client_nonce, user, authzid):
            self.header = header
            self.bare = bare
            self.client_nonce = client_nonce
            self.user = user
            self.authzid = authzid

        return __init__

    INITIALIZERS["amqp_sansio.sasl._scram_server._AwaitKeys"] = make

    def make():
        def __init__(self, header, signed, nonce, user, authzid, keys):
            self.header = header
            self.signed = signed
            self.nonce = nonce
            self.user = user
            self.authzid = authzid
            self.keys = keys

        return __init__

    INITIALIZERS["amqp_sansio.sasl._scram_server._AwaitProof"] = make

    def make():
        def __init__(self, user, authzid):
            self.user = user
            self.authzid = authzid

        return __init__

    INITIALIZERS["amqp_sansio.sasl._scram_server._AwaitEnd"] = make

    def make(success_data):
        def __init__(self, name, nonce, success_data=success_data):
            self.name = name
            self.nonce = nonce
            self.success_data = success_data

        return __init__

    INITIALIZERS["amqp_sansio.sasl._scram_server.ServerScram"] = make

    def make():
        def __init__(self):
            pass

        return __init__

    INITIALIZERS["amqp_sansio.sasl._server._NoResponseYet"] = make

    def make():
        def __init__(self, name):
            self.name = name

        return __init__

    INITIALIZERS["amqp_sansio.sasl._server.OneMessageServer"] = make

    def make():
        def __init__(self, data):
            self.data = data

        return __init__

    INITIALIZERS["amqp_sansio.sasl._steps.Challenge"] = make

    def make(user, password, token, authzid, trace, host, port, verified):
        def __init__(
            self,
            mechanism,
            user=user,
            password=password,
            token=token,
            authzid=authzid,
            trace=trace,
            host=host,
            port=port,
            verified=verified,
        ):
            self.mechanism = mechanism
            self.user = user
            self.password = password
            self.token = token
            self.authzid = authzid
            self.trace = trace
            self.host = host
            self.port = port
            self.verified = verified

        return __init__

    INITIALIZERS["amqp_sansio.sasl._steps.Credentials"] = make

    def make():
        def __init__(self, salt, iterations, stored_key, server_key):
            self.salt = salt
            self.iterations = iterations
            self.stored_key = stored_key
            self.server_key = server_key

        return __init__

    INITIALIZERS["amqp_sansio.sasl._steps.ScramKeys"] = make

    def make(authzid):
        def __init__(self, mechanism, user, authzid=authzid):
            self.mechanism = mechanism
            self.user = user
            self.authzid = authzid

        return __init__

    INITIALIZERS["amqp_sansio.sasl._steps.NeedScramKeys"] = make

    def make(authzid, additional):
        def __init__(self, mechanism, user, authzid=authzid, additional=additional):
            self.mechanism = mechanism
            self.user = user
            self.authzid = authzid
            self.additional = additional

        return __init__

    INITIALIZERS["amqp_sansio.sasl._steps.Verified"] = make

    def make(malformed):
        def __init__(self, text, malformed=malformed):
            self.text = text
            self.malformed = malformed

        return __init__

    INITIALIZERS["amqp_sansio.sasl._steps.Denied"] = make

    def make():
        def __init__(self):
            pass

        return __init__

    INITIALIZERS["amqp_sansio.sasl._tokens._TokenSent"] = make

    def make():
        def __init__(self, reason):
            self.reason = reason

        return __init__

    INITIALIZERS["amqp_sansio.sasl._tokens._TokenRefused"] = make

    def make():
        def __init__(self, user, token):
            self.user = user
            self.token = token

        return __init__

    INITIALIZERS["amqp_sansio.sasl._tokens.XOAuth2"] = make

    def make(authzid, host, port):
        def __init__(self, token, authzid=authzid, host=host, port=port):
            self.token = token
            self.authzid = authzid
            self.host = host
            self.port = port

        return __init__

    INITIALIZERS["amqp_sansio.sasl._tokens.OAuthBearer"] = make

    def make():
        def __init__(self, kind, body, text):
            self.kind = kind
            self.body = body
            self.text = text

        return __init__

    INITIALIZERS["amqp_sansio.testing.simulate.judging.Finding"] = make

    def make(faults, most, odds, order, pieces, jumps):
        def __init__(self, faults=faults, most=most, odds=odds, order=order, pieces=pieces, jumps=jumps):
            self.faults = faults
            self.most = most
            self.odds = odds
            self.order = order
            self.pieces = pieces
            self.jumps = jumps

        return __init__

    INITIALIZERS["amqp_sansio.testing.simulate.world.Hazards"] = make

    def make(
        user,
        password,
        vhost,
        heartbeat,
        channel_max,
        frame_max,
        connection_timeout,
        auth_mechanism,
        cacertfile,
        certfile,
        keyfile,
        verify,
        server_name_indication,
        options,
        path,
    ):
        def __init__(
            self,
            scheme,
            host,
            port,
            user=user,
            password=password,
            vhost=vhost,
            heartbeat=heartbeat,
            channel_max=channel_max,
            frame_max=frame_max,
            connection_timeout=connection_timeout,
            auth_mechanism=auth_mechanism,
            cacertfile=cacertfile,
            certfile=certfile,
            keyfile=keyfile,
            verify=verify,
            server_name_indication=server_name_indication,
            options=options,
            path=path,
        ):
            self.scheme = scheme
            self.host = host
            self.port = port
            self.user = user
            self.password = password
            self.vhost = vhost
            self.heartbeat = heartbeat
            self.channel_max = channel_max
            self.frame_max = frame_max
            self.connection_timeout = connection_timeout
            self.auth_mechanism = auth_mechanism
            self.cacertfile = cacertfile
            self.certfile = certfile
            self.keyfile = keyfile
            self.verify = verify
            self.server_name_indication = server_name_indication
            self.options = options
            self.path = path

        return __init__

    INITIALIZERS["amqp_sansio.uri.AmqpUri"] = make


__all__ = ["INITIALIZERS"]
