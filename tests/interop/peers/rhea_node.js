'use strict';
// A message node on rhea, run as a program: `node rhea_node.js PORT [MAX-FRAME]`, with rhea on NODE_PATH.
//
// The addresses mean what they mean in proton_node.py: absent, rejecting, releasing, modifying, ending, closing,
// every other one is a queue. PLAIN takes guest with the password guest; ANONYMOUS takes anybody.

const rhea = require('rhea');

const container = rhea.create_container({ id: 'rhea-node' });
const port = Number(process.argv[2]);
const maxFrame = Number(process.argv[3] || 65536);
const queues = new Map(); // address -> messages
const consumers = new Map(); // address -> senders
const settings = { autoaccept: false, credit_window: 0 };
let dynamic = 0;

function queue(address) {
  if (!queues.has(address)) queues.set(address, []);
  return queues.get(address);
}

// One message at a time: rhea counts the credit down when it writes, not when `send` is called.
function dispatch(address) {
  for (const sender of consumers.get(address) || []) {
    if (sender.busy || !sender.is_open()) continue;
    if (!queue(address).length) {
      sender.set_drained(true);
      sender.connection._register(); // set_drained itself writes nothing
    } else if (sender.sendable()) {
      const message = queue(address).shift();
      const delivery = sender.send(message);
      if (!delivery.settled) sender.held.set(delivery.id, message);
      rest(sender, address);
    }
  }
}

function rest(sender, address) {
  sender.busy = true;
  setImmediate(() => { sender.busy = false; dispatch(address); });
}

function refuse(context, link, address) {
  if (address === 'absent') {
    link.close({ condition: 'amqp:not-found', description: 'no such node', info: { node: 'absent' } });
  } else if (address === 'ending') {
    link.session.close({ condition: 'amqp:internal-error', description: 'the session ends here' });
  } else if (address === 'closing') {
    context.connection.close({ condition: 'amqp:connection:forced', description: 'closed by intent' });
  } else {
    return false;
  }
  return true;
}

// What the peer asked for, as our own word; a dynamic node gets its name.
function agreed(terminus) {
  const found = {};
  if (!terminus) return found;
  for (const name of ['address', 'durable', 'expiry_policy', 'timeout', 'dynamic', 'filter', 'capabilities', 'outcomes']) {
    if (terminus[name] !== undefined && terminus[name] !== null) found[name] = terminus[name];
  }
  if (found.dynamic) found.address = `temporary.${(dynamic += 1)}`;
  return found;
}

container.on('sender_open', (context) => {
  const sender = context.sender;
  const wanted = sender.source && sender.source.address;
  if (refuse(context, sender, wanted)) return;
  const source = agreed(sender.source);
  sender.set_source(source);
  sender.set_target(agreed(sender.target));
  sender.local.attach.snd_settle_mode = sender.snd_settle_mode;
  sender.local.attach.rcv_settle_mode = sender.rcv_settle_mode;
  sender.held = new Map();
  sender.from = source.address;
  if (!consumers.has(source.address)) consumers.set(source.address, new Set());
  consumers.get(source.address).add(sender);
  rest(sender, source.address); // a transfer in this turn would go out before the attach
});

container.on('receiver_open', (context) => {
  const receiver = context.receiver;
  const wanted = receiver.target && receiver.target.address;
  if (refuse(context, receiver, wanted)) return;
  const target = agreed(receiver.target);
  receiver.set_source(agreed(receiver.source));
  receiver.set_target(target);
  receiver.local.attach.snd_settle_mode = receiver.snd_settle_mode;
  receiver.local.attach.rcv_settle_mode = receiver.rcv_settle_mode;
  receiver.to = target.address;
  receiver.add_credit(100);
});

container.on('message', (context) => {
  const { receiver, delivery, message } = context;
  receiver.add_credit(1);
  const address = receiver.to || message.to;
  if (address === 'rejecting') {
    delivery.reject({ condition: 'amqp:not-allowed', description: 'never here', info: { why: 'by intent' } });
  } else if (address === 'releasing') {
    delivery.release();
  } else if (address === 'modifying') {
    delivery.modified({
      delivery_failed: true, undeliverable_here: true, message_annotations: { 'x-opt-by': 'rhea' },
    });
  } else {
    delivery.accept();
    queue(address).push(message);
    dispatch(address);
  }
});

function takenBack(context) {
  const { delivery, sender } = context;
  const message = sender.held.get(delivery.id);
  sender.held.delete(delivery.id);
  if (!delivery.settled) delivery.update(true); // the receiver waits for it in mode second
  return message;
}

container.on('settled', ({ receiver, delivery }) => {
  if (receiver && !delivery.settled) delivery.update(true);
});
container.on('accepted', takenBack);
container.on('rejected', (context) => {
  const address = `dead.${context.sender.from}`;
  const message = takenBack(context);
  if (!message) return;
  queue(address).push(message);
  dispatch(address);
});
// `released` is emitted for modified too.
container.on('released', (context) => {
  const message = takenBack(context);
  if (!message) return; // the link was closed right behind it, which rhea tells first: `forget` has put it back
  const state = context.delivery.remote_state;
  if (state && state.delivery_failed) message.delivery_count = (message.delivery_count || 0) + 1;
  if (state && state.message_annotations) {
    message.message_annotations = Object.assign(message.message_annotations || {}, state.message_annotations);
  }
  queue(context.sender.from).unshift(message);
  dispatch(context.sender.from);
});
container.on('sendable', (context) => dispatch(context.sender.from));
container.on('sender_draining', (context) => dispatch(context.sender.from));

function forget(sender) {
  if (!sender.held) return;
  consumers.get(sender.from).delete(sender);
  queue(sender.from).unshift(...sender.held.values());
  sender.held.clear();
}

container.on('sender_close', (context) => forget(context.sender));
container.on('session_close', (context) => context.session.each_sender(forget));
container.on('connection_close', (context) => context.connection.each_sender(forget));
container.on('disconnected', (context) => context.connection.each_sender(forget));
for (const event of ['error', 'protocol_error', 'connection_error', 'session_error', 'receiver_error', 'sender_error']) {
  container.on(event, (context) => console.log(event, String(context.error || context)));
}

container.sasl_server_mechanisms.enable_anonymous();
container.sasl_server_mechanisms.enable_plain((user, password) => user === 'guest' && password === 'guest');
container.listen({ port, host: '127.0.0.1', max_frame_size: maxFrame, idle_time_out: 30000, receiver_options: settings });
process.on('SIGTERM', () => process.exit(0));
