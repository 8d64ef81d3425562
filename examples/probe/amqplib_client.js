'use strict';
// amqplib as a client under test, in 0-9-1, with amqplib on NODE_PATH: `amqp-sansio probe --client 'node examples/probe/amqplib_client.js'`.

const amqp = require('amqplib');
const { randomUUID } = require('crypto');

const env = process.env;
const [what, ...rest] = env.AMQP_DO.split(' ');
const count = Number(rest[0] || 1);
const queue = env.AMQP_QUEUE;
const sleep = (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));
const say = (event, about) => console.log(JSON.stringify(Object.assign({ event }, about)));
const published = (number, outcome) => say('published', { number, outcome });

function withResolvers() {
  const found = {};
  found.promise = new Promise((resolve) => {
    found.resolve = resolve;
  });
  return found;
}

// A callback also has an error when the channel ends before the confirmation.
function outcome(error, isReturned) {
  if (error) return error.message === 'message nacked' ? 'rejected' : 'unknown';
  return isReturned ? 'returned' : 'accepted';
}

async function open(connection, ended) {
  connection.on('blocked', () => say('blocked'));
  connection.on('unblocked', () => say('unblocked'));
  say('opened');
  await ended;
}

async function publish(connection, ended) {
  const channel = await connection.createConfirmChannel();
  const returned = new Set();
  channel.on('return', (message) => returned.add(message.properties.messageId));
  channel.on('error', (error) => say('closed', { scope: 'channel', code: error.code, text: error.message }));
  const outcomes = [];
  for (let number = 1; number <= count; number += 1) {
    const messageId = String(number);
    const body = Buffer.from(messageId.padEnd(Number(env.AMQP_SIZE), '.'));
    outcomes.push(new Promise((resolve) => {
      ended.then(() => resolve('unknown'));
      channel.on('close', () => resolve('unknown'));
      channel.publish('', queue, body, { mandatory: true, messageId }, (error) => resolve(outcome(error, returned.has(messageId))));
    }));
  }
  for (const [place, outcome] of outcomes.entries()) published(place + 1, await outcome);
}

async function consume(connection, ended) {
  const channel = await connection.createChannel();
  await channel.prefetch(100);
  const { promise, resolve } = withResolvers();
  let left = count;
  const { consumerTag } = await channel.consume(queue, async (message) => {
    if (message === null) {
      say('cancelled');
      resolve();
      return;
    }
    if (!left) return; // It came while the consumer was being cancelled.
    await sleep(Number(env.AMQP_BUSY));
    say('received', { body: message.content.toString(), redelivered: message.fields.redelivered });
    if (rest[1] === 'reject') channel.reject(message, false);
    else channel.ack(message);
    left -= 1;
    if (!left) channel.cancel(consumerTag).then(resolve, resolve);
  });
  await Promise.race([promise, ended]);
}

async function rpc(connection) {
  const channel = await connection.createChannel();
  const replies = await channel.assertQueue('', { exclusive: true });
  const correlationId = randomUUID();
  const { promise, resolve } = withResolvers();
  await channel.consume(replies.queue, (message) => {
    if (message.properties.correlationId !== correlationId) return;
    say('reply', { body: message.content.toString() });
    resolve();
  }, { noAck: true });
  channel.sendToQueue(queue, Buffer.from('request'), { correlationId, replyTo: replies.queue });
  await promise;
}

async function main() {
  if (env.AMQP_VERSION !== '0-9-1') process.exit(89);
  const connection = await amqp.connect(env.AMQP_URL);
  let failure;
  const fails = (error) => {
    if (!failure) say('closed', { scope: 'connection', code: error.code, text: error.message });
    failure = error;
  };
  // A close by an operator, 320, is told by `close` alone.
  const ended = new Promise((resolve) => connection.on('close', (error) => {
    if (error) fails(error);
    resolve();
  }));
  connection.on('error', fails);
  await { open, publish, consume, rpc }[what](connection, ended);
  if (!failure) await connection.close().catch(() => ended);
}

main().catch((error) => {
  console.error(String(error));
  process.exitCode = 1;
});
