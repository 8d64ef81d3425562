'use strict';
// Scenarios on @azure/service-bus, with the package on NODE_PATH. A line of standard input is a request,
// {"scenario": NAME, "port": NUMBER}; a line of standard output what was found, {"told": ...} or {"failed": TEXT}.
// Before that {"advance": SECONDS} asks for the service's clock to be moved, which a line answers.

const readline = require('node:readline');
const { ServiceBusClient, isServiceBusError } = require('@azure/service-bus');

const lines = readline.createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const say = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);
const nextLine = async () => JSON.parse((await lines.next()).value);

async function advance(seconds) {
  say({ advance: seconds });
  await nextLine();
}

const WAIT = 5000;
const SHORT = 1000;
const retryOptions = { maxRetries: 1, retryDelayInMs: 10, timeoutInMs: 20000 };
const plain = { maxAutoLockRenewalDurationInMs: 0 };
const seconds = (later, earlier) => (later.getTime() - earlier.getTime()) / 1000;
const bodies = (messages) => messages.map((each) => each.body);
const inAnHour = () => new Date(Date.now() + 3600000);

async function failure(call) {
  try {
    await call();
  } catch (error) {
    return isServiceBusError(error) ? error.code : error.name;
  }
  return 'nothing';
}

async function send(client, name, ...messages) {
  const sender = client.createSender(name);
  await sender.sendMessages(messages);
  await sender.close();
}

// So many messages, or those that come.
async function take(receiver, count = 1, wait = WAIT) {
  const found = [];
  while (found.length < count) {
    const more = await receiver.receiveMessages(count - found.length, { maxWaitTimeInMs: wait });
    if (!more.length) break;
    found.push(...more);
  }
  return found;
}

const text = (body, more = {}) => ({ body: String(body), ...more });
const numbers = (count) => Array.from({ length: count }, (_, n) => text(n));

const scenarios = {
  async complete(client) {
    await send(client, 'orders', text('hello', {
      messageId: 'm1', subject: 's', correlationId: 'c', contentType: 'text/plain', replyTo: 'r', to: 't',
      partitionKey: 'p', applicationProperties: { a: 1, b: 'two' }, timeToLive: 300000,
    }));
    const receiver = client.createReceiver('orders', plain);
    const [found] = await take(receiver);
    await receiver.completeMessage(found);
    await receiver.close();
    return {
      body: found.body, id: found.messageId, subject: found.subject, correlation: found.correlationId,
      type: found.contentType, replyTo: found.replyTo, to: found.to, key: found.partitionKey,
      properties: found.applicationProperties, count: found.deliveryCount, number: Number(found.sequenceNumber),
      enqueued: Number(found.enqueuedSequenceNumber), ttl: found.timeToLive / 1000,
      lock: seconds(found.lockedUntilUtc, found.enqueuedTimeUtc),
      expires: seconds(found.expiresAtUtc, found.enqueuedTimeUtc),
    };
  },

  async batch(client) {
    const sender = client.createSender('orders');
    await sender.sendMessages(numbers(3));
    const batch = await sender.createMessageBatch();
    for (const n of [3, 4, 5]) batch.tryAddMessage(text(n));
    await sender.sendMessages(batch);
    const receiver = client.createReceiver('orders', plain);
    return bodies(await take(receiver, 6));
  },

  async largest(client) {
    const sender = client.createSender('orders');
    const batch = await sender.createMessageBatch();
    let fit = 0;
    while (batch.tryAddMessage(text('x'.repeat(100)))) fit += 1;
    // The service closes the link, and this SDK goes on waiting for the message's outcome, for a minute and more.
    const large = await failure(
      () => sender.sendMessages(text('x'.repeat(3000)), { abortSignal: AbortSignal.timeout(500) }),
    );
    await sender.sendMessages(text('small'));
    return { fit: fit > 5 && fit < 20, large };
  },

  async large(client) {
    await send(client, 'orders', text('x'.repeat(900000)));
    const receiver = client.createReceiver('orders', plain);
    const [found] = await take(receiver);
    await receiver.completeMessage(found);
    return found.body.length;
  },

  async deleting(client) {
    await send(client, 'orders', ...numbers(2));
    return bodies(await take(client.createReceiver('orders', { receiveMode: 'receiveAndDelete' }), 2));
  },

  // The SDK's loop that calls a handler for each message.
  async processor(client) {
    await send(client, 'orders', ...numbers(5));
    const receiver = client.createReceiver('orders', plain);
    const found = [];
    await new Promise((resolve, reject) => {
      receiver.subscribe({
        processMessage: async (message) => {
          found.push(message.body);
          if (found.length === 5) setTimeout(resolve, 300);
        },
        processError: async ({ error }) => reject(error),
      });
    });
    await receiver.close();
    return found.sort();
  },

  async abandon(client) {
    await send(client, 'orders', text('hello'));
    const receiver = client.createReceiver('orders', plain);
    const counts = [];
    for (let n = 0; n < 3; n += 1) {
      const [found] = await take(receiver);
      counts.push(found.deliveryCount);
      await receiver.abandonMessage(found, { seen: n });
    }
    const left = await take(receiver, 1, SHORT);
    const [dead] = await take(client.createReceiver('orders', { ...plain, subQueueType: 'deadLetter' }));
    return { counts, left: left.length, reason: dead.deadLetterReason, seen: dead.applicationProperties.seen };
  },

  async dead(client) {
    await send(client, 'orders', text('hello'));
    const receiver = client.createReceiver('orders', plain);
    const [found] = await take(receiver);
    await receiver.deadLetterMessage(found, { deadLetterReason: 'bad', deadLetterErrorDescription: 'why' });
    const letters = client.createReceiver('orders', { ...plain, subQueueType: 'deadLetter' });
    const [dead] = await take(letters);
    await letters.completeMessage(dead);
    return [dead.body, dead.deadLetterReason, dead.deadLetterErrorDescription, dead.deadLetterSource];
  },

  async defer(client) {
    await send(client, 'orders', text('hello'));
    const receiver = client.createReceiver('orders', plain);
    const [found] = await take(receiver);
    await receiver.deferMessage(found);
    const [again] = await receiver.receiveDeferredMessages(found.sequenceNumber);
    await receiver.completeMessage(again);
    const [gone] = await receiver.receiveDeferredMessages(found.sequenceNumber).catch(() => ['refused']);
    return [again.body, gone === undefined ? 'nothing' : gone];
  },

  async deferred(client) {
    await send(client, 'orders', ...numbers(4));
    const receiver = client.createReceiver('orders', plain);
    const found = await take(receiver, 4);
    for (const each of found) await receiver.deferMessage(each);
    const again = await receiver.receiveDeferredMessages(found.map((each) => each.sequenceNumber));
    await receiver.abandonMessage(again[0]);
    await receiver.deadLetterMessage(again[1], { deadLetterReason: 'bad' });
    await receiver.renewMessageLock(again[2]);
    await receiver.deferMessage(again[2]);
    await receiver.completeMessage(again[3]);
    return bodies(again);
  },

  async peek(client) {
    await send(client, 'orders', ...numbers(5));
    const receiver = client.createReceiver('orders', plain);
    const Long = require('long');
    const first = await receiver.peekMessages(3);
    const more = await receiver.peekMessages(5, { fromSequenceNumber: Long.fromNumber(4) });
    const none = await receiver.peekMessages(5, { fromSequenceNumber: Long.fromNumber(9) });
    return [bodies(first), bodies(more), bodies(none), first[0].state];
  },

  async schedule(client) {
    const sender = client.createSender('orders');
    const found = await sender.scheduleMessages([text(1), text(2)], inAnHour());
    await sender.cancelScheduledMessages(found[0]);
    await sender.sendMessages(text(3, { scheduledEnqueueTimeUtc: inAnHour() }));
    const again = await failure(() => sender.cancelScheduledMessages(found[0]));
    const receiver = client.createReceiver('orders', plain);
    const before = await take(receiver, 1, SHORT);
    await advance(3700);
    return [found.length, again, bodies(before), bodies(await take(receiver, 2))];
  },

  async locks(client) {
    await send(client, 'orders', text('hello'));
    const receiver = client.createReceiver('orders', plain);
    const [found] = await take(receiver);
    const before = found.lockedUntilUtc;
    await advance(20);
    const until = await receiver.renewMessageLock(found);
    await advance(31);
    const renewing = await failure(() => receiver.renewMessageLock(found));
    const [again] = await take(receiver);
    const settling = await failure(() => receiver.completeMessage(found));
    await receiver.completeMessage(again);
    return [Math.round(seconds(until, before)), renewing, again.deliveryCount, settling];
  },

  async expiry(client) {
    await send(client, 'orders', text('hello', { timeToLive: 30000 }));
    await advance(31);
    const [dead] = await take(client.createReceiver('orders', { ...plain, subQueueType: 'deadLetter' }));
    return dead.deadLetterReason;
  },

  async duplicates(client) {
    await send(client, 'orders', ...['a', 'a', 'b'].map((messageId) => text('hello', { messageId })));
    return 'sent';
  },

  async session(client) {
    await send(client, 'orders', ...[[1, 'a'], [2, 'b'], [3, 'a']].map(([n, sessionId]) => text(n, { sessionId })));
    const receiver = await client.acceptSession('orders', 'a', plain);
    const found = await take(receiver, 2);
    const states = [await receiver.getSessionState() ?? null];
    await receiver.setSessionState('half');
    states.push(String(await receiver.getSessionState()));
    const before = receiver.sessionLockedUntilUtc;
    await advance(10);
    const renewed = Math.round(seconds(await receiver.renewSessionLock(), before));
    for (const each of found) await receiver.completeMessage(each);
    await receiver.close();
    return { found: found.map((each) => [each.body, each.sessionId]), id: receiver.sessionId, states, renewed };
  },

  async next(client) {
    await send(client, 'orders', text(1, { sessionId: 'a' }), text(2, { sessionId: 'b' }));
    const found = [];
    for (let n = 0; n < 2; n += 1) {
      const receiver = await client.acceptNextSession('orders', plain);
      const [each] = await take(receiver);
      found.push([receiver.sessionId, each.body]);
      await receiver.completeMessage(each);
      await receiver.close();
    }
    return found.sort();
  },

  async none(client) {
    const waiting = failure(() => client.acceptNextSession('orders', plain));
    let done = false;
    waiting.then(() => { done = true; });
    while (!done) {
      await new Promise((resolve) => { setTimeout(resolve, 200); });
      if (!done) await advance(66);
    }
    return waiting;
  },

  async held(client) {
    await client.acceptSession('orders', 'a', plain);
    return failure(() => client.acceptSession('orders', 'a', plain));
  },

  async lost(client) {
    await send(client, 'orders', text(1, { sessionId: 'a' }));
    const receiver = await client.acceptSession('orders', 'a', plain);
    const [found] = await take(receiver);
    await advance(31);
    const settling = await failure(() => receiver.completeMessage(found));
    const again = await client.acceptSession('orders', 'a', plain);
    const [other] = await take(again);
    return [settling, other.deliveryCount];
  },

  async deferredOfSession(client) {
    await send(client, 'orders', text(1, { sessionId: 'a' }));
    const receiver = await client.acceptSession('orders', 'a', plain);
    const [found] = await take(receiver);
    await receiver.deferMessage(found);
    const [again] = await receiver.receiveDeferredMessages([found.sequenceNumber]);
    await receiver.completeMessage(again);
    return again.body;
  },

  async topic(client) {
    await send(client, 'news', text(1, { subject: 's1', applicationProperties: { colour: 'red' } }), text(2));
    const receiver = client.createReceiver('news', 'red', plain);
    const [found] = await take(receiver);
    await receiver.deadLetterMessage(found);
    const [dead] = await take(client.createReceiver('news', 'red', { ...plain, subQueueType: 'deadLetter' }));
    const every = await take(client.createReceiver('news', 'every', plain), 2);
    return [found.body, dead.body, bodies(every)];
  },

  async scheduledToTopic(client) {
    const sender = client.createSender('news');
    await sender.scheduleMessages([text('later')], inAnHour());
    const receiver = client.createReceiver('news', 'every', plain);
    const before = await take(receiver, 1, SHORT);
    await advance(3700);
    return [bodies(before), bodies(await take(receiver))];
  },

  // ruleManager: rules over AMQP.
  async rules(client) {
    const manager = client.createRuleManager('news', 'every');
    await manager.createRule('blue', { sqlExpression: "colour = 'blue'" }, { sqlExpression: "SET seen = 'yes'" });
    await manager.createRule('mine', { correlationId: 'me', applicationProperties: { n: 1 } });
    await manager.deleteRule('$Default');
    const found = [];
    for await (const each of manager.listRules()) found.push(each);
    found.sort((a, b) => (a.name < b.name ? -1 : 1));
    const twice = await failure(() => manager.createRule('blue', { sqlExpression: '1=1' }));
    const wrong = await failure(() => manager.createRule('wrong', { sqlExpression: 'colour =' }));
    const missing = await failure(() => manager.deleteRule('nothing'));
    await send(
      client, 'news', text(1, { applicationProperties: { colour: 'blue' } }),
      text(2, { correlationId: 'me', applicationProperties: { n: 1 } }), text(3),
    );
    const taken = await take(client.createReceiver('news', 'every', plain), 2);
    return {
      rules: found.map((each) => [each.name, each.filter.sqlExpression ?? each.filter.correlationId]),
      action: found[0].action.sqlExpression, twice, wrong, missing,
      found: taken.map((each) => [each.body, each.applicationProperties.seen ?? null]),
    };
  },

  async missing(client) {
    const sender = await failure(() => send(client, 'nowhere', text('hello')));
    const receiver = client.createReceiver('nowhere', plain);
    const receiving = await failure(() => receiver.receiveMessages(1, { maxWaitTimeInMs: SHORT }));
    await send(client, 'orders', text('good'));
    return [sender, receiving];
  },

  async refused(client) {
    return failure(() => send(client, 'orders', text('x'.repeat(400))));
  },

  async idle(client) {
    const sender = client.createSender('orders');
    await sender.sendMessages(text(1));
    await advance(601);
    await sender.sendMessages(text(2));
    return bodies(await take(client.createReceiver('orders', plain), 2));
  },
};

async function main() {
  for (;;) {
    const { value, done } = await lines.next();
    if (done) return;
    const { scenario, port } = JSON.parse(value);
    const client = new ServiceBusClient(
      `Endpoint=sb://127.0.0.1:${port};SharedAccessKeyName=RootManageSharedAccessKey;`
      + 'SharedAccessKey=SAS_KEY_VALUE;UseDevelopmentEmulator=true;', { retryOptions },
    );
    let answer;
    try {
      answer = { told: await scenarios[scenario](client) };
    } catch (error) {
      answer = { failed: (error.errors ?? [error]).map((each) => each.stack).join('\n') };
    }
    await client.close();
    // Now the service may end: a client that is still closing then waits for a minute.
    say(answer);
  }
}

main().then(() => process.exit(0));
