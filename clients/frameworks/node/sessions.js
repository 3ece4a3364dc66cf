// One session for each framework of Node.js: its documented first example, and a small load.
//
//   node sessions.js HOST:PORT
//
// Prints one line for each framework, and exits with 1 if one failed.

const assert = require('node:assert');

const [host, port] = process.argv[2].split(':');
const url = `redis://${host}:${port}`;

/** Jobs of a queue, with their results. */
async function beeQueue() {
  const Queue = require('bee-queue');
  const queue = new Queue('addition', { redis: { host, port } });
  queue.process(4, async (job) => job.data.x + job.data.y);
  const results = [];
  for (let n = 0; n < 100; n++) {
    const job = queue.createJob({ x: n, y: n });
    results.push(new Promise((done) => job.on('succeeded', done)));
    await job.save();
  }
  const sum = (await Promise.all(results)).reduce((all, one) => all + one, 0);
  assert.strictEqual(sum, 9900);
  await queue.close();
}

/** Jobs with results, one of each kind of option, and their events, which are a stream. */
async function bullMq() {
  const { Queue, QueueEvents, Worker } = require('bullmq');
  const connection = { host, port: Number(port), maxRetriesPerRequest: null };
  const queue = new Queue('addition', { connection });
  const events = new QueueEvents('addition', { connection });
  await events.waitUntilReady();
  let tries = 0;
  const add = async (job) => {
    if (job.name === 'again' && ++tries < 3) throw new Error('not yet');
    return job.data.x + job.data.y;
  };
  const worker = new Worker('addition', add, { connection, concurrency: 4 });
  const jobs = await queue.addBulk(
    Array.from({ length: 100 }, (_, n) => ({ name: 'add', data: { x: n, y: n } })),
  );
  const sums = await Promise.all(jobs.map((job) => job.waitUntilFinished(events)));
  assert.strictEqual(sums.reduce((all, one) => all + one, 0), 9900);
  const data = { x: 1, y: 2 };
  const options = [{ delay: 200 }, { priority: 3 }, { attempts: 3 }];
  const others = await Promise.all(
    options.map((option) => queue.add(option.attempts ? 'again' : 'add', data, option)),
  );
  for (const job of others) assert.strictEqual(await job.waitUntilFinished(events), 3);
  assert.strictEqual(tries, 3);
  assert.strictEqual((await queue.getJobCounts('completed')).completed, 103);
  await worker.close();
  await events.close();
  await queue.close();
}

/** Ten points of thirty are allowed. */
async function rateLimiterFlexible() {
  const Redis = require('ioredis');
  const { RateLimiterRedis } = require('rate-limiter-flexible');
  const client = new Redis(port, host);
  const limiter = new RateLimiterRedis({ storeClient: client, points: 10, duration: 60 });
  let allowed = 0;
  for (let n = 0; n < 30; n++) {
    try {
      await limiter.consume('client');
      allowed++;
    } catch (refused) {
      if (refused instanceof Error) throw refused;
    }
  }
  assert.strictEqual(allowed, 10);
  client.disconnect();
}

/** A message of one server reaches the client of another. */
async function socketIo() {
  const { Server } = require('socket.io');
  const { createAdapter } = require('@socket.io/redis-adapter');
  const { createClient } = require('redis');
  const connect = require('socket.io-client');
  const clients = [];
  const serve = async () => {
    const publisher = createClient({ url });
    const subscriber = publisher.duplicate();
    await Promise.all([publisher.connect(), subscriber.connect()]);
    clients.push(publisher, subscriber);
    const server = new Server(0, { adapter: createAdapter(publisher, subscriber) });
    return { server, address: `http://127.0.0.1:${server.httpServer.address().port}` };
  };
  const [one, other] = [await serve(), await serve()];
  const client = connect(other.address);
  await new Promise((done) => client.on('connect', done));
  assert.strictEqual((await one.server.fetchSockets()).length, 1);
  const received = new Promise((done) => client.on('hello', done));
  one.server.emit('hello', 'world');
  assert.strictEqual(await received, 'world');
  client.close();
  await Promise.all([one.server.close(), other.server.close()]);
  await Promise.all(clients.map((each) => each.destroy()));
}

async function main() {
  const sessions = { 'bee-queue': beeQueue, bullmq: bullMq, 'rate-limiter-flexible': rateLimiterFlexible, 'socket.io': socketIo };
  let failed = false;
  for (const [name, session] of Object.entries(sessions)) {
    const late = new Promise((_, fail) => setTimeout(() => fail(new Error('no end after a minute')), 60_000).unref());
    try {
      await Promise.race([session(), late]);
      console.log(`${name}: works`);
    } catch (error) {
      failed = true;
      console.log(`${name}: FAILED: ${error.stack}`);
    }
  }
  process.exit(failed ? 1 : 0);
}

main();
