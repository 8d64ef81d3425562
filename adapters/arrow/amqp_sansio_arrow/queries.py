"""Worked queries: common questions about recorded traffic, as SQL over the views, for Spark and DuckDB alike."""

from __future__ import annotations

from html import escape
from typing import NamedTuple


class Query(NamedTuple):
    """A question and the SQL that answers it, over the views with the default prefix."""

    question: str
    sql: str

    def _repr_html_(self) -> str:
        """Show the question, and the SQL to copy, in a notebook."""
        return f"<p><b>{escape(self.question)}</b></p><pre>{escape(self.sql.strip())}</pre>"


QUERIES: dict[str, Query] = {
    "unacked": Query(
        "Who holds unacked messages, and since when?",
        """
select c.client, c.client_product, c.user, u.queue, u.consumer_tag, count(*) as held,
       timestamp_micros(floor(min(u.ts_ns) / 1000)::bigint) as oldest
from amqp_unacked u join amqp_connections c using (connection)
group by all
order by oldest, held desc
""",
    ),
    "channel_closes": Query(
        "Which client causes channel closes?",
        """
select c.client_product, c.client_version, c.user,
       variant_get(e.fields, '$.reply_code', 'int')::int as code,
       regexp_extract(variant_get(e.fields, '$.reply_text', 'string')::string, '^([A-Z_]+)') as name,
       count(*) as closes, count(distinct c.connection) as connections,
       min(variant_get(e.fields, '$.reply_text', 'string')::string) as example
from amqp_events e join amqp_connections c using (connection)
where e.event = 'channel.close' and e.sender = 'server'
group by all
order by closes desc, code, client_product
""",
    ),
    "slowest_consumers": Query(
        "Which consumers are the slowest?",
        """
select c.client, c.client_product, m.queue, m.address, m.consumer_tag, m.link, count(*) as settled,
       round(percentile(m.latency_ns, 0.5) / 1e6, 3) as p50_ms,
       round(percentile(m.latency_ns, 0.99) / 1e6, 3) as p99_ms,
       round(max(m.latency_ns) / 1e6, 3) as max_ms
from amqp_messages m join amqp_connections c using (connection)
where m.kind in ('deliver', 'get') and m.latency_ns is not null
group by all
order by p99_ms desc, settled desc
""",
    ),
    "open_at": Query(
        "What was open at an instant?",
        """
select c.connection_name, c.client, c.client_product, o.kind, o.channel, o.name, o.queue,
       round((t.at_ns - o.from_ns) / 1e6, 3) as for_ms
from amqp_open o join amqp_connections c using (connection)
cross join (select unix_micros(timestamp '2026-11-20 09:39:43.465Z') * 1000 as at_ns) t
where o.from_ns <= t.at_ns and (o.until_ns is null or o.until_ns > t.at_ns)
order by o.connection, o.from_ns, o.seq
""",
    ),
    "unroutable": Query(
        "Which publishes were unroutable?",
        """
select c.client_product, c.user, m.exchange, m.routing_key, m.address, m.outcome,
       max(r.reply_text) as text, count(distinct (m.connection, m.seq)) as publishes
from amqp_messages m join amqp_connections c using (connection)
left join amqp_messages r on r.connection = m.connection and r.kind = 'return'
     and r.exchange is not distinct from m.exchange and r.routing_key is not distinct from m.routing_key
where m.kind = 'publish' and (m.outcome = 'returned' or (m.protocol = '1.0' and m.outcome = 'released'))
group by all
order by publishes desc, routing_key
""",
    ),
    "prefetch_starvation": Query(
        "Which consumers stalled because their prefetch was used up?",
        """
select c.client, c.client_product, h.channel, h.consumer, h.queue, h.most as prefetch, h.most_held, h.deliveries,
       round(h.no_room_ns / 1e6, 3) as full_ms, round(h.longest_hold_ns / 1e6, 3) as longest_hold_ms
from amqp_consumers h join amqp_connections c using (connection)
where c.protocol in ('0-8', '0-9-1') and h.no_room_ns > 0
order by h.no_room_ns desc, c.client, h.channel, h.consumer
""",
    ),
    "redelivery_storms": Query(
        "Which messages are redelivered again and again?",
        """
select max(queue) filter (where what = 'redeliver') as queue, history,
       count(*) filter (where what = 'redeliver') as redeliveries,
       max(body_size) as body_size, max(message_id) as message_id,
       max_by(outcome, ts_ns) filter (where what = 'settle') as last_outcome
from amqp_histories
group by history
having redeliveries > 0
order by redeliveries desc, history
""",
    ),
    "credit_stalls": Query(
        "Which links of 1.0 waited for credit, and for how long?",
        """
with ends as (
  select connection, sender, channel, variant_get(fields, '$.handle', 'bigint')::bigint as handle,
         variant_get(fields, '$.name', 'string')::string as link,
         variant_get(fields, '$.role', 'boolean')::boolean as receives, ts_ns,
         coalesce(variant_get(fields, '$.initial_delivery_count', 'bigint')::bigint, 0) as first_count
  from amqp_events where protocol = '1.0' and event = 'attach'
), grants as (
  select f.connection, e.link, f.ts_ns, f.seq,
         coalesce(variant_get(f.fields, '$.delivery_count', 'bigint')::bigint, 0)
         + variant_get(f.fields, '$.link_credit', 'bigint')::bigint as up_to
  from amqp_events f join ends e on e.connection = f.connection and e.sender = f.sender and e.channel = f.channel
       and e.handle = variant_get(f.fields, '$.handle', 'bigint')::bigint and e.receives and e.ts_ns <= f.ts_ns
  where f.protocol = '1.0' and f.event = 'flow' and variant_get(f.fields, '$.link_credit', 'bigint') is not null
), sends as (
  select m.connection, m.link, m.ts_ns, s.first_count
         + row_number() over (partition by m.connection, m.link order by m.seq) as count
  from amqp_messages m join (
    select connection, link, min(first_count) as first_count from ends where not receives group by connection, link
  ) s on s.connection = m.connection and s.link = m.link
  where m.protocol = '1.0'
), used_up as (
  select s.connection, s.link, s.ts_ns, s.count, max(g.up_to) as up_to
  from sends s join grants g on g.connection = s.connection and g.link = s.link and g.ts_ns <= s.ts_ns
  group by all having max_by(g.up_to, g.seq) <= s.count
), waits as (
  select u.connection, u.link, u.ts_ns, min(g.ts_ns) as granted_ns
  from used_up u left join grants g
       on g.connection = u.connection and g.link = u.link and g.ts_ns > u.ts_ns and g.up_to > u.count
  group by all
)
select c.client, w.link, count(*) as stalls, round(sum(w.granted_ns - w.ts_ns) / 1e6, 3) as waited_ms,
       count(*) filter (where w.granted_ns is null) as never_granted
from waits w join amqp_connections c using (connection)
group by all
order by waited_ms desc nulls last, link
""",
    ),
    "heartbeat_gaps": Query(
        "Who was silent for longer than the negotiated heartbeat?",
        """
with silent as (
  select connection, sender, ts_ns,
         ts_ns - lag(ts_ns) over (partition by connection, sender order by seq) as silence_ns
  from amqp_events
)
select c.client, c.client_product, c.heartbeat as heartbeat_s, s.sender,
       round(max(s.silence_ns) / 1e9, 3) as longest_s, c.closed_by, c.ended_by
from silent s join amqp_connections c using (connection)
where c.heartbeat > 0 and s.silence_ns > c.heartbeat * 1000000000
group by all
order by longest_s desc
""",
    ),
    "churn": Query(
        "Who opens and closes connections and channels all the time?",
        """
select regexp_replace(c.client, ':[0-9]+$', '') as host, c.client_product, c.user,
       count(distinct c.connection) as connections, count(e.seq) as channels,
       round(percentile((c.closed_ns - c.opened_ns) / 1e9, 0.5), 3) as median_life_s,
       round(count(e.seq) / count(distinct c.connection), 1) as channels_each
from amqp_connections c
left join amqp_events e on e.connection = c.connection and e.event in ('channel.open', 'session.attach', 'begin')
     and e.sender = 'client'
group by all
order by connections desc, channels desc
""",
    ),
    "never_delivered": Query(
        "Which messages were published and never delivered?",
        """
with stories as (
  select history, max(exchange) filter (where what = 'publish') as exchange,
         max(routing_key) filter (where what = 'publish') as routing_key,
         min(ts_ns) filter (where what = 'publish') as published_ns,
         bool_or(what in ('deliver', 'redeliver', 'get')) as delivered,
         max(outcome) filter (where what in ('confirm', 'return')) as answer
  from amqp_histories group by history
)
select exchange, routing_key, answer, count(*) as messages,
       timestamp_micros(floor(min(published_ns) / 1000)::bigint) as first,
       timestamp_micros(floor(max(published_ns) / 1000)::bigint) as last
from stories
where published_ns is not null and not delivered
group by all
order by messages desc, exchange, routing_key
""",
    ),
}
"""The queries by name; docs/queries.md shows them."""

__all__ = ["QUERIES", "Query"]
