'use strict';
// rhea as a client under test, in 1.0, with rhea on NODE_PATH: `amqp-sansio probe --client 'node examples/probe/rhea_client.js'`.

const rhea = require('rhea');

const env = process.env;
const [what, ...rest] = env.AMQP_DO.split(' ');
const count = Number(rest[0] || 1);
const queue = env.AMQP_QUEUE;
const say = (event, about) => console.log(JSON.stringify(Object.assign({ event }, about)));

if (env.AMQP_VERSION !== '1.0') process.exit(89);

const url = new URL(env.AMQP_URL);
const connection = rhea.create_container().connect({
  host: url.hostname, port: Number(url.port), username: url.username, password: url.password, reconnect: false,
});
const text = (body) => (body && body.content !== undefined ? body.content : body).toString();
let failed = false;

function ended(scope) {
  return (context) => {
    const error = context[scope] && context[scope].error;
    if (failed || !error) return;
    failed = true;
    say('closed', { scope, code: error.condition, text: error.description });
    // Behind the answer to what the server ended.
    if (scope !== 'connection') setImmediate(() => context.connection.close());
  };
}

for (const event of ['connection_error', 'connection_close']) connection.on(event, ended('connection'));
connection.on('disconnected', (context) => {
  if (failed || !context.error) return;
  failed = true;
  say('closed', { scope: 'connection', code: '', text: String(context.error) });
});
connection.on('session_error', ended('session'));
connection.on('sender_error', ended('sender'));
connection.on('receiver_error', ended('receiver'));
connection.on('error', (error) => {
  console.error(String(error));
  process.exitCode = 1;
});

const actions = {
  open() {
    connection.on('connection_open', () => say('opened'));
  },
  publish() {
    const sender = connection.open_sender(queue);
    // There is never more to send than what is sent at once.
    sender.on('sender_draining', () => sender.set_drained(true));
    const ids = [];
    const outcomes = new Map();
    const tell = () => ids.forEach((id, place) => say('published', { number: place + 1, outcome: outcomes.get(id) || 'unknown' }));
    sender.on('sendable', () => {
      while (ids.length < count && sender.sendable()) {
        const body = Buffer.from(String(ids.length + 1).padEnd(Number(env.AMQP_SIZE), '.'));
        ids.push(sender.send({ body: rhea.message.data_section(body) }).id);
      }
    });
    for (const event of ['accepted', 'rejected', 'released', 'modified']) {
      sender.on(event, ({ delivery }) => {
        outcomes.set(delivery.id, event);
        if (outcomes.size < count) return;
        tell();
        connection.close();
      });
    }
    connection.on('disconnected', () => {
      if (outcomes.size < count) tell();
    });
  },
  consume() {
    const receiver = connection.open_receiver({ source: queue, autoaccept: false, credit_window: 10 });
    let left = count;
    receiver.on('message', ({ message, delivery }) => {
      setTimeout(() => {
        say('received', { body: text(message.body), redelivered: false });
        if (rest[1] === 'reject') delivery.reject({ condition: 'amqp:precondition-failed', description: 'no' });
        else delivery.accept();
        left -= 1;
        if (!left) connection.close();
      }, Number(env.AMQP_BUSY) * 1000);
    });
  },
  rpc() {
    const receiver = connection.open_receiver({ source: { dynamic: true } });
    const sender = connection.open_sender(queue);
    let address;
    const send = () => {
      if (!address || !sender.sendable()) return;
      sender.send({ body: 'request', reply_to: address, correlation_id: '1' });
    };
    receiver.on('receiver_open', () => {
      address = receiver.source.address;
      send();
    });
    sender.once('sendable', send);
    receiver.on('message', ({ message }) => {
      if (message.correlation_id !== '1') return;
      say('reply', { body: text(message.body) });
      connection.close();
    });
  },
};
actions[what]();
