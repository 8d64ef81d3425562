'use strict';
// Client scenarios on @cloudamqp/amqp-client, run as a program: `node cloudamqp_client.js PORT SCENARIO`, with it on
// NODE_PATH. What happened is printed as one line of JSON.

const { AMQPClient } = require('@cloudamqp/amqp-client');

const port = Number(process.argv[2]);
const scenario = process.argv[3];
const name = `cloudamqp.${scenario}`;

function connect(login = 'guest:guest', path = '/', query = '') {
  return new AMQPClient(`amqp://${login}@127.0.0.1:${port}${path}${query}`).connect();
}

// So many messages of a queue.
async function take(channel, queue, count, options = {}) {
  const found = [];
  let consumer;
  await new Promise((resolve, reject) => {
    channel.basicConsume(queue, Object.assign({ noAck: false }, options), (message) => {
      found.push(message);
      if (found.length === count) resolve();
    }).then((made) => { consumer = made; }, reject);
  });
  if (consumer) await consumer.cancel();
  return found;
}

async function failure(connection, attempt) {
  const channel = await connection.channel();
  try {
    await attempt(channel);
    return 'nothing';
  } catch (error) {
    return Number(/\((\d{3})\)|\b(\d{3})\b/.exec(error.message)?.slice(1).find(Boolean)) || error.message;
  }
}

const scenarios = {
  async basic(connection) {
    const channel = await connection.channel();
    await channel.exchangeDeclare(`${name}.x`, 'topic', { durable: true });
    const { name: queue } = await channel.queueDeclare(name, { durable: true });
    await channel.queueBind(queue, `${name}.x`, 'a.#');
    for (let n = 0; n < 20; n += 1) {
      await channel.basicPublish(`${name}.x`, `a.${n}`, `m${n}`, {
        headers: { n, even: n % 2 === 0, nested: { list: [1, 'two', null] } }, messageId: `id${n}`, contentType: 'text/plain', deliveryMode: 2,
      });
    }
    await channel.prefetch(20);
    const found = await take(channel, queue, 20);
    for (const message of found) await message.ack();
    const first = found[0];
    await channel.queueUnbind(queue, `${name}.x`, 'a.#');
    await channel.exchangeDelete(`${name}.x`);
    const left = await channel.queueDelete(queue);
    return {
      bodies: found.map((message) => message.bodyString()),
      headers: first.properties.headers,
      id: first.properties.messageId,
      key: first.routingKey,
      left: left.messageCount,
    };
  },

  async settling(connection) {
    const channel = await connection.channel();
    const { name: dead } = await channel.queueDeclare(`${name}.dead`, { durable: true });
    const { name: queue } = await channel.queueDeclare(name, { durable: true }, { 'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': dead });
    for (const body of ['one', 'two', 'three']) await channel.basicPublish('', queue, body);
    const [one, two, three] = await take(channel, queue, 3);
    await two.nack(true);
    await one.ack();
    await three.reject(false);
    const [again] = await take(channel, queue, 1);
    await again.ack();
    const [letter] = await take(channel, dead, 1);
    await letter.ack();
    return {
      again: [again.bodyString(), again.redelivered],
      letter: [letter.bodyString(), letter.properties.headers['x-death'][0].reason],
    };
  },

  async confirms(connection) {
    const channel = await connection.channel();
    const { name: queue } = await channel.queueDeclare(name, { durable: true }, { 'x-max-length': 2, 'x-overflow': 'reject-publish' });
    const returned = [];
    channel.onReturn = (message) => returned.push([message.replyCode, message.bodyString()]);
    await channel.confirmSelect();
    const outcomes = [];
    for (let n = 0; n < 3; n += 1) {
      outcomes.push(await channel.basicPublish('', queue, `m${n}`).then(() => true, () => false));
    }
    await channel.basicPublish('', `${name}.absent`, 'nowhere', {}, true);
    return { outcomes, returned };
  },

  async large(connection) {
    const channel = await connection.channel();
    const { name: queue } = await channel.queueDeclare('', { exclusive: true });
    const body = 'x'.repeat(3000000);
    await channel.basicPublish('', queue, body);
    const message = await channel.basicGet(queue);
    const empty = await channel.basicGet(queue);
    return { same: body === message.bodyString(), empty: empty || false };
  },

  async channels(connection) {
    const channels = await Promise.all(Array.from({ length: 30 }, () => connection.channel()));
    const { name: queue } = await channels[0].queueDeclare('', { exclusive: true });
    for (const [n, channel] of channels.entries()) await channel.basicPublish('', queue, String(n));
    await Promise.all(channels.map((channel) => channel.queueDeclare(queue, { passive: true })));
    const found = [];
    for (const channel of channels) found.push(Number((await channel.basicGet(queue, { noAck: true })).bodyString()));
    return found.sort((one, two) => one - two);
  },

  async errors(connection) {
    const codes = [
      await failure(connection, (channel) => channel.queueDeclare(`${name}.absent`, { passive: true })),
      await failure(connection, (channel) => channel.exchangeDeclare('amq.direct', 'topic', { durable: true })),
      await failure(connection, (channel) => channel.queueDeclare('amq.mine')),
    ];
    const refused = await connect('guest:wrong').then(() => 'let in', (error) => error.message);
    const absent = await connect('guest:guest', '/absent').then(() => 'let in', (error) => error.message);
    const channel = await connection.channel();
    await channel.queueDeclare('', { exclusive: true });
    return { codes, refused, absent };
  },

  async heartbeat() {
    const connection = await connect('guest:guest', '/', '?heartbeat=1');
    await new Promise((resolve) => setTimeout(resolve, 3500));
    const channel = await connection.channel();
    await channel.queueDeclare('', { exclusive: true });
    await connection.close();
    return { failed: connection.closed ? null : 'open' };
  },
};

async function main() {
  const connection = await connect();
  const found = await scenarios[scenario](connection);
  await connection.close();
  console.log(JSON.stringify(found));
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
