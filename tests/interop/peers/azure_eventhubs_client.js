'use strict';
// Client scenarios on @azure/event-hubs, run as a program: `node azure_eventhubs_client.js PORT SCENARIO`, with the
// package on NODE_PATH. What happened is printed as one line of JSON.

const {
  EventHubBufferedProducerClient, EventHubConsumerClient, EventHubProducerClient, earliestEventPosition,
  latestEventPosition,
} = require('@azure/event-hubs');

const port = Number(process.argv[2]);
const scenario = process.argv[3];
const place = `Endpoint=sb://127.0.0.1:${port};SharedAccessKeyName=RootManageSharedAccessKey;`
  + 'SharedAccessKey=SAS_KEY_VALUE;UseDevelopmentEmulator=true;';
const options = { retryOptions: { maxRetries: 0 } };

const producer = (hub = 'clicks') => new EventHubProducerClient(place, hub, options);
const consumer = (group = '$Default', hub = 'clicks') => new EventHubConsumerClient(group, place, hub, options);

// What `found` accepts of a partition's events, or of all partitions' without one; then the error, if there was one.
function read(client, enough, settings, partition) {
  return new Promise((resolve) => {
    const events = [];
    let subscription;
    let ended = false;
    const end = (error) => {
      if (ended) return;
      ended = true;
      setImmediate(() => subscription.close().then(() => resolve({ events, error }), resolve));
    };
    const handlers = {
      processEvents: async (found, context) => {
        for (const event of found) events.push({ event, context, last: context.lastEnqueuedEventProperties });
        if (enough(events)) end(null);
      },
      processError: async (error) => end({ code: error.code, message: error.message }),
      processInitialize: async () => settings.begun && settings.begun(),
    };
    const how = { startPosition: earliestEventPosition, maxWaitTimeInSeconds: 1, ...settings };
    subscription = partition === undefined ? client.subscribe(handlers, how)
      : client.subscribe(partition, handlers, how);
  });
}

const atLeast = (number) => (events) => events.length >= number;
const bodies = (found) => found.events.map((each) => each.event.body);

const scenarios = {
  // getEventHubProperties.ts
  async properties() {
    const client = producer();
    const hub = await client.getEventHubProperties();
    const empty = await client.getPartitionProperties('1');
    await client.sendBatch([{ body: 'x' }], { partitionId: '1' });
    const filled = await client.getPartitionProperties('1');
    await client.close();
    return {
      hub: [hub.name, hub.partitionIds, Math.abs(Date.now() - hub.createdOn) < 3600000],
      empty: [empty.isEmpty, empty.lastEnqueuedSequenceNumber, empty.lastEnqueuedOffset],
      filled: [filled.isEmpty, filled.beginningSequenceNumber, filled.lastEnqueuedSequenceNumber],
    };
  },

  // sendEvents.ts, receiveEvents.ts
  async sending() {
    const client = producer();
    const batch = await client.createBatch({ partitionKey: 'alphabet' });
    const size = batch.maxSizeInBytes;
    batch.tryAdd({ body: 'keyed', properties: { n: 1 }, messageId: 'm1', contentType: 'text/plain' });
    batch.tryAdd({ body: { a: [1, 2] } });
    await client.sendBatch(batch);
    await client.sendBatch([{ body: 'at 1' }], { partitionId: '1' });
    await client.close();
    const reader = consumer('audit');
    const found = await read(reader, atLeast(3), { trackLastEnqueuedEventProperties: true });
    await reader.close();
    const keyed = found.events.find((each) => each.event.body === 'keyed');
    return {
      size,
      bodies: bodies(found).map((each) => JSON.stringify(each)).sort(),
      key: keyed.event.partitionKey,
      event: [keyed.event.properties, keyed.event.messageId, keyed.event.contentType, keyed.event.sequenceNumber],
      last: keyed.last.sequenceNumber,
      where: keyed.context.partitionId,
    };
  },

  // receiveEventsUsingCustomPosition
  async positions() {
    const client = producer();
    for (const body of ['a', 'b', 'c']) await client.sendBatch([{ body }], { partitionId: '0' });
    const reader = consumer();
    const all = await read(reader, atLeast(3), {}, '0');
    const second = all.events[1].event;
    const told = {};
    for (const [name, startPosition] of Object.entries({
      after: { sequenceNumber: second.sequenceNumber },
      from: { sequenceNumber: second.sequenceNumber, isInclusive: true },
      offset: { offset: second.offset },
      time: { enqueuedOn: new Date(second.enqueuedTimeUtc.getTime() - 1) },
    })) {
      const last = (events) => events.some((each) => each.event.body === 'c');
      told[name] = bodies(await read(reader, last, { startPosition }, '0'));
    }
    await client.close();
    await reader.close();
    return told;
  },

  async latest() {
    const client = producer();
    await client.sendBatch([{ body: 'old' }], { partitionId: '0' });
    const reader = consumer();
    let sent = false;
    const found = await read(reader, (events) => {
      // Empty batches come while it waits: the link is there then.
      if (!sent) {
        sent = true;
        client.sendBatch([{ body: 'new' }], { partitionId: '0' });
      }
      return events.length > 0;
    }, { startPosition: latestEventPosition }, '0');
    await client.close();
    await reader.close();
    return bodies(found);
  },

  // ownerLevel
  async levels() {
    const client = producer();
    await client.sendBatch([{ body: 'x' }], { partitionId: '0' });
    const [low, high] = [consumer(), consumer()];
    let later;
    const first = await read(low, (events) => {
      if (events.length && !later) later = read(high, atLeast(1), { ownerLevel: 2 }, '0');
      return false;
    }, { ownerLevel: 1 }, '0');
    const second = await later;
    await Promise.all([client.close(), low.close(), high.close()]);
    return [first.error.code, first.error.message.includes("higher epoch of '2'"), bodies(second)];
  },

  async errors() {
    const told = {};
    const failure = async (call) => call.then(() => 'nothing', (error) => error.code || error.message);
    const nowhere = producer('nothing');
    told.hub = await failure(nowhere.getEventHubProperties());
    told.send = await failure(nowhere.sendBatch([{ body: 'x' }]));
    await nowhere.close();
    const client = producer();
    told.partition = await failure(client.getPartitionProperties('7'));
    told.sendPartition = await failure(client.sendBatch([{ body: 'x' }], { partitionId: '7' }));
    told.after = await failure(client.sendBatch([{ body: 'good' }]));
    await client.close();
    const stranger = consumer('nobody');
    told.group = (await read(stranger, atLeast(1), {}, '0')).error.code;
    await stranger.close();
    return told;
  },

  // sendBufferedEvents.ts: this client chooses the partitions itself.
  async buffered() {
    const failed = [];
    const client = new EventHubBufferedProducerClient(place, 'clicks', {
      ...options,
      onSendEventsErrorHandler: async (context) => { failed.push(String(context.error)); },
    });
    for (let n = 0; n < 20; n += 1) await client.enqueueEvent({ body: `key-${n}` }, { partitionKey: `key-${n}` });
    await client.close({ flush: true });
    return failed;
  },
};

scenarios[scenario]().then((told) => {
  console.log(JSON.stringify(told));
  process.exit(0);
}, (error) => {
  console.error(error);
  process.exit(1);
});
