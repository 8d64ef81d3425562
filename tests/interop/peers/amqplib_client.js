'use strict';
// Client scenarios on amqplib, run as a program: `node amqplib_client.js PORT SCENARIO`, with amqplib on NODE_PATH.
// What happened is printed as one line of JSON.

const amqp = require('amqplib');

const port = Number(process.argv[2]);
const scenario = process.argv[3];
const name = `amqplib.${scenario}`;

function connect(options) {
  return amqp.connect(Object.assign({
    hostname: '127.0.0.1', port, username: 'guest', password: 'guest', heartbeat: 0,
  }, options));
}

// So many messages of a queue, acknowledged or not.
function take(channel, queue, count, options) {
  return new Promise((resolve, reject) => {
    const found = [];
    channel.consume(queue, (message) => {
      found.push(message);
      if (found.length === count) channel.cancel(message.fields.consumerTag).then(() => resolve(found), reject);
    }, options).catch(reject);
  });
}

// The error that closes a channel.
async function failure(connection, attempt) {
  const channel = await connection.createChannel();
  const told = new Promise((resolve) => channel.on('error', resolve));
  Promise.resolve(attempt(channel)).catch(() => {});
  const error = await told;
  return error.code;
}

const scenarios = {
  async basic(connection) {
    const channel = await connection.createChannel();
    await channel.assertExchange(`${name}.x`, 'topic', { durable: true });
    const { queue } = await channel.assertQueue(name, { durable: true });
    await channel.bindQueue(queue, `${name}.x`, 'a.#');
    for (let n = 0; n < 20; n += 1) {
      channel.publish(`${name}.x`, `a.${n}`, Buffer.from(`m${n}`), {
        headers: { n, even: n % 2 === 0, nested: { list: [1, 'two', null] } }, messageId: `id${n}`, contentType: 'text/plain', persistent: true,
      });
    }
    await channel.prefetch(20);
    const found = await take(channel, queue, 20);
    for (const message of found) channel.ack(message);
    const first = found[0];
    await channel.unbindQueue(queue, `${name}.x`, 'a.#');
    await channel.deleteExchange(`${name}.x`);
    const left = await channel.deleteQueue(queue);
    return {
      bodies: found.map((message) => message.content.toString()),
      headers: first.properties.headers,
      id: first.properties.messageId,
      key: first.fields.routingKey,
      left: left.messageCount,
    };
  },

  async settling(connection) {
    const channel = await connection.createChannel();
    const dead = await channel.assertQueue(`${name}.dead`, { durable: true });
    const { queue } = await channel.assertQueue(name, { durable: true, deadLetterExchange: '', deadLetterRoutingKey: dead.queue });
    for (const body of ['one', 'two', 'three']) channel.sendToQueue(queue, Buffer.from(body));
    const [one, two, three] = await take(channel, queue, 3);
    channel.nack(two, false, true);
    channel.ack(one);
    channel.nack(three, false, false);
    const [again] = await take(channel, queue, 1);
    channel.ack(again);
    const [letter] = await take(channel, dead.queue, 1);
    channel.ack(letter);
    return {
      again: [again.content.toString(), again.fields.redelivered],
      letter: [letter.content.toString(), letter.properties.headers['x-death'][0].reason],
    };
  },

  async confirms(connection) {
    const channel = await connection.createConfirmChannel();
    const { queue } = await channel.assertQueue(name, { durable: true, maxLength: 2, arguments: { 'x-overflow': 'reject-publish' } });
    const returned = [];
    channel.on('return', (message) => returned.push([message.fields.replyCode, message.content.toString()]));
    const outcomes = [];
    for (let n = 0; n < 3; n += 1) {
      outcomes.push(new Promise((resolve) => channel.sendToQueue(queue, Buffer.from(`m${n}`), {}, (error) => resolve(error === null))));
    }
    const told = await Promise.all(outcomes);
    channel.publish('', `${name}.absent`, Buffer.from('nowhere'), { mandatory: true });
    await channel.waitForConfirms();
    return { outcomes: told, returned };
  },

  async large(connection) {
    const channel = await connection.createChannel();
    const { queue } = await channel.assertQueue('', { exclusive: true });
    const body = Buffer.alloc(3000000, 'x');
    channel.sendToQueue(queue, body);
    const message = await channel.get(queue);
    const empty = await channel.get(queue);
    return { same: body.equals(message.content), empty };
  },

  async channels(connection) {
    const channels = await Promise.all(Array.from({ length: 30 }, () => connection.createChannel()));
    const { queue } = await channels[0].assertQueue('', { exclusive: true });
    const found = [];
    for (const [n, channel] of channels.entries()) channel.sendToQueue(queue, Buffer.from(String(n)));
    await Promise.all(channels.map((channel) => channel.checkQueue(queue)));
    for (const channel of channels) found.push(Number((await channel.get(queue, { noAck: true })).content));
    return found.sort((one, two) => one - two);
  },

  async errors(connection) {
    const codes = [
      await failure(connection, (channel) => channel.checkQueue(`${name}.absent`)),
      await failure(connection, (channel) => channel.assertExchange('amq.direct', 'topic')),
      await failure(connection, (channel) => channel.assertQueue('amq.mine')),
      await failure(connection, (channel) => channel.publish(`${name}.absent`, '', Buffer.from(''))),
      await failure(connection, (channel) => channel.ack({ fields: { deliveryTag: 9 } })),
    ];
    const refused = await connect({ password: 'wrong' }).then(() => 'let in', (error) => error.message);
    const absent = await connect({ vhost: 'absent' }).then(() => 'let in', (error) => error.message);
    const channel = await connection.createChannel();
    await channel.assertQueue('', { exclusive: true });
    return { codes, refused, absent };
  },

  async heartbeat() {
    const connection = await connect({ heartbeat: 1 });
    let failed = null;
    connection.on('error', (error) => { failed = error.message; });
    await new Promise((resolve) => setTimeout(resolve, 3500));
    const channel = await connection.createChannel();
    await channel.assertQueue('', { exclusive: true });
    await connection.close();
    return { failed };
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
