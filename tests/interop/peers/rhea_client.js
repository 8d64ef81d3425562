'use strict';
// Client scenarios on rhea, run as a program: `node rhea_client.js PORT SCENARIO [MAX-FRAME [USER]]`, with rhea on NODE_PATH.
// USER is guest with the password guest, anonymous for ANONYMOUS, or "" for no SASL at all. What happened is printed as one line of JSON; the node on PORT gives addresses the meanings of proton_node.py.

const rhea = require('rhea');

const port = Number(process.argv[2]);
const scenario = process.argv[3];
const maxFrame = Number(process.argv[4] || 65536);
const user = process.argv[5] === undefined ? 'guest' : process.argv[5];
const address = `rhea.${scenario}`;

function connect(options) {
  const container = rhea.create_container();
  const connection = container.connect(Object.assign({
    host: '127.0.0.1', port, reconnect: false, max_frame_size: maxFrame, username: user || undefined, password: user === 'guest' ? 'guest' : undefined,
  }, options));
  return new Promise((resolve, reject) => {
    connection.on('connection_open', () => resolve(connection));
    connection.on('connection_error', ({ error, connection: { error: told } }) => reject(told || error));
    connection.on('disconnected', (context) => reject(context.error || new Error('disconnected')));
    connection.on('protocol_error', (error) => reject(error));
  });
}

function once(emitter, ...events) {
  return new Promise((resolve) => {
    for (const event of events) emitter.once(event, (context) => resolve(Object.assign(context, { event })));
  });
}

function close(connection) {
  const closed = once(connection, 'connection_close');
  connection.close();
  return closed;
}

function asError(error) {
  return error && { condition: error.condition, description: error.description, info: error.info };
}

// Send messages and tell the outcome of each, in the order they were sent.
function send(sender, messages, events = ['accepted', 'rejected', 'released', 'modified']) {
  return new Promise((resolve) => {
    const ids = [];
    const outcomes = new Map();
    for (const event of events) {
      sender.on(event, ({ delivery }) => {
        outcomes.set(delivery.id, [event, delivery]);
        if (outcomes.size === messages.length) resolve(ids.map((id) => outcomes.get(id)));
      });
    }
    const next = () => {
      while (ids.length < messages.length && sender.sendable()) ids.push(sender.send(messages[ids.length]).id);
    };
    sender.on('sendable', next);
    next();
  });
}

// Receive a number of messages; what each delivery ends in is `settle`'s business.
function receive(receiver, count, settle) {
  return new Promise((resolve) => {
    const found = [];
    receiver.on('message', (context) => {
      found.push(context.message);
      settle(context.delivery, found.length);
      if (found.length === count) resolve(found);
    });
  });
}

function bodies(messages) {
  return messages.map(({ body }) => (body && body.typecode === 0x75 ? body.content.toString('latin1') : body));
}

const scenarios = {
  async basic() {
    const connection = await connect();
    const count = 50;
    const sender = connection.open_sender(address);
    const messages = Array.from({ length: count }, (_, n) => ({
      message_id: `m${n}`, subject: 'basic', body: n, application_properties: { n, even: n % 2 === 0 },
    }));
    const outcomes = await send(sender, messages);
    const receiver = connection.open_receiver({ source: address, autoaccept: false, credit_window: 10 });
    const received = await receive(receiver, count, (delivery) => delivery.accept());
    await close(connection);
    return {
      outcomes: outcomes.map(([event]) => event),
      received: received.map((m) => [m.message_id, m.subject, m.body, m.application_properties]),
    };
  },

  async outcomes() {
    const connection = await connect();
    const found = {};
    for (const name of ['rejecting', 'releasing', 'modifying']) {
      const sender = connection.open_sender({ target: name, treat_modified_as_released: false });
      const [[event, delivery]] = await send(sender, [{ body: name }]);
      const state = delivery.remote_state || {};
      found[name] = {
        event, error: asError(state.error), failed: state.delivery_failed, here: state.undeliverable_here,
        annotations: state.message_annotations,
      };
    }
    await close(connection);
    return found;
  },

  async settling() {
    const connection = await connect();
    await send(connection.open_sender(address), ['one', 'two', 'three', 'four'].map((body) => ({ body })));
    const receiver = connection.open_receiver({ source: address, autoaccept: false, credit_window: 0 });
    const tries = [];
    const done = new Promise((resolve) => {
      receiver.on('message', ({ message, delivery }) => {
        const count = message.delivery_count || 0;
        tries.push([message.body, count, message.message_annotations || null]);
        if (message.body === 'one' && tries.length === 1) delivery.release();
        else if (message.body === 'two' && count === 0) {
          delivery.modified({ delivery_failed: true, message_annotations: { 'x-opt-why': 'again' } });
        } else if (message.body === 'three') delivery.reject({ condition: 'amqp:not-allowed', description: 'three' });
        else delivery.accept();
        if (message.body === 'four') resolve();
        else receiver.add_credit(1);
      });
    });
    receiver.add_credit(1);
    await done;
    const dead = connection.open_receiver({ source: `dead.${address}`, autoaccept: false, credit_window: 1 });
    const buried = await receive(dead, 1, (delivery) => delivery.accept());
    await close(connection);
    return { tries, dead: bodies(buried) };
  },

  async large() {
    const connection = await connect();
    const size = 1000000;
    const content = Buffer.alloc(size, 'abcdefghij');
    const [[event]] = await send(connection.open_sender(address), [{ body: rhea.message.data_section(content) }]);
    const receiver = connection.open_receiver({ source: address });
    const [message] = await receive(receiver, 1, () => {});
    await close(connection);
    return { event, size: message.body.content.length, same: content.equals(message.body.content) };
  },

  async presettled() {
    const connection = await connect();
    const sender = connection.open_sender({ target: address, snd_settle_mode: 1 });
    await once(sender, 'sendable');
    const settled = [1, 2, 3].map((body) => sender.send({ body }).settled);
    const receiver = connection.open_receiver({ source: address, snd_settle_mode: 1 });
    const received = await receive(receiver, 3, () => {});
    await close(connection);
    return { settled, received: bodies(received) };
  },

  async second() {
    const connection = await connect();
    const sender = connection.open_sender({ target: address, rcv_settle_mode: 1 });
    const [[event]] = await send(sender, [{ body: 'twice' }], ['accepted']);
    const receiver = connection.open_receiver({ source: address, rcv_settle_mode: 1 });
    const settled = once(receiver, 'settled');
    const received = await receive(receiver, 1, () => {});
    await settled;
    await close(connection);
    return { event, received: bodies(received) };
  },

  async drain() {
    const connection = await connect();
    await send(connection.open_sender(address), [1, 2, 3].map((body) => ({ body })));
    const receiver = connection.open_receiver({ source: address, credit_window: 0 });
    const found = [];
    receiver.on('message', ({ message }) => found.push(message.body));
    const drained = once(receiver, 'receiver_drained');
    receiver.drain = true;
    receiver.add_credit(10);
    await drained;
    const after = receiver.credit;
    await close(connection);
    return { found, credit: after };
  },

  async dynamic() {
    const connection = await connect();
    const replies = connection.open_receiver({ source: { dynamic: true } });
    await once(replies, 'receiver_open');
    const name = replies.source.address;
    const received = receive(replies, 1, () => {});
    await send(connection.open_sender(name), [{ body: 'reply', correlation_id: 7 }]);
    const [message] = await received;
    await close(connection);
    return { dynamic: replies.source.dynamic, name, body: message.body, id: message.correlation_id };
  },

  async absent() {
    const connection = await connect();
    const context = await once(connection.open_receiver('absent'), 'receiver_error');
    const found = asError(context.receiver.error);
    await close(connection);
    return found;
  },

  async ending() {
    const connection = await connect();
    const session = connection.create_session();
    session.begin();
    const ended = once(session, 'session_error');
    session.open_sender('ending');
    await ended;
    const found = asError(session.error);
    await close(connection);
    return found;
  },

  async closing() {
    const connection = await connect();
    const closed = once(connection, 'connection_error');
    connection.open_sender('closing');
    await closed;
    return asError(connection.error);
  },

  async password() {
    try {
      await connect({ password: 'wrong' });
    } catch (error) {
      return { error: String((error && error.message) || error) };
    }
    return { error: null };
  },

  async anonymous() {
    const connection = await connect({ username: 'anonymous', password: undefined });
    const [[event]] = await send(connection.open_sender(address), [{ body: 1 }]);
    await close(connection);
    return { event };
  },

  async sessions() {
    const connection = await connect();
    const work = Array.from({ length: 20 }, async (_, n) => {
      const session = connection.create_session();
      session.begin();
      const outcomes = await send(session.open_sender(`${address}.${n}`), [{ body: n }, { body: n + 100 }]);
      const received = await receive(session.open_receiver(`${address}.${n}`), 2, () => {});
      const closed = once(session, 'session_close');
      session.close();
      await closed;
      return [outcomes.map(([event]) => event), bodies(received)];
    });
    const found = await Promise.all(work);
    await close(connection);
    return found;
  },

  async idle() {
    const connection = await connect({ idle_time_out: 1000 });
    await new Promise((resolve) => setTimeout(resolve, 3500));
    const [[event]] = await send(connection.open_sender(address), [{ body: 1 }]);
    await close(connection);
    return { event, theirs: connection.idle_time_out };
  },

  async types() {
    const connection = await connect();
    const t = rhea.types;
    const values = {
      ubyte: t.wrap_ubyte(200), ushort: t.wrap_ushort(60000), uint: t.wrap_uint(4000000000),
      ulong: t.wrap_ulong(5), byte: t.wrap_byte(-5), short: t.wrap_short(-500), int: t.wrap_int(-70000),
      long: t.wrap_long(-8), float: t.wrap_float(1.5), double: t.wrap_double(-2.25), yes: true, no: false,
      text: 'äöü€', symbol: t.wrap_symbol('sym'), binary: t.wrap_binary(Buffer.from([0, 255, 1])),
      list: t.wrap_list([1, 'two', t.wrap_list([])]), map: t.wrap_map({ a: 1 }),
      array: t.wrap_array([1, 2, 3], 0x71), symbols: t.wrap_array(['a', 'b'], 0xb3),
      when: t.wrap_timestamp(1700000000123), nothing: null,
      uuid: t.wrap_uuid(Buffer.from('00112233445566778899aabbccddeeff', 'hex')),
    };
    const [[event]] = await send(connection.open_sender(address), [{ body: t.wrap_map(values) }]);
    const [message] = await receive(connection.open_receiver(address), 1, () => {});
    await close(connection);
    const body = Object.fromEntries(Object.entries(message.body).map(([key, value]) => {
      if (value instanceof Date) return [key, value.getTime()];
      return [key, Buffer.isBuffer(value) ? value.toString('hex') : value];
    }));
    return { event, body };
  },
};

scenarios[scenario]().then(
  (result) => { console.log(JSON.stringify(result)); process.exit(0); },
  (error) => { console.error(error); process.exit(1); },
);
