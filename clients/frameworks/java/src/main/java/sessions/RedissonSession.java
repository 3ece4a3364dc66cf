package sessions;

import static sessions.Main.equal;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.redisson.Redisson;
import org.redisson.api.RAtomicLong;
import org.redisson.api.RBatch;
import org.redisson.api.RBlockingQueue;
import org.redisson.api.RBucket;
import org.redisson.api.RCountDownLatch;
import org.redisson.api.RLock;
import org.redisson.api.RMap;
import org.redisson.api.RMapCache;
import org.redisson.api.RQueue;
import org.redisson.api.RRateLimiter;
import org.redisson.api.RReadWriteLock;
import org.redisson.api.RScoredSortedSet;
import org.redisson.api.RSemaphore;
import org.redisson.api.RSet;
import org.redisson.api.RStream;
import org.redisson.api.RTopic;
import org.redisson.api.RTransaction;
import org.redisson.api.RateType;
import org.redisson.api.RedissonClient;
import org.redisson.api.stream.StreamMessageId;
import org.redisson.api.TransactionOptions;
import org.redisson.api.stream.StreamAddArgs;
import org.redisson.api.stream.StreamCreateGroupArgs;
import org.redisson.api.stream.StreamReadGroupArgs;
import org.redisson.client.codec.StringCodec;
import org.redisson.config.Config;

/** Objects of Redisson, over one server: most of them are Lua scripts and subscriptions. */
final class RedissonSession {
  private static final int THREADS = 8;
  private static final int ROUNDS = 25;

  private RedissonSession() {}

  static void run(String host, int port) throws Exception {
    Config config = new Config();
    config.setCodec(StringCodec.INSTANCE);
    config.useSingleServer().setAddress("redis://" + host + ":" + port);
    RedissonClient redisson = Redisson.create(config);
    try {
      redisson.getKeys().flushdb();
      values(redisson);
      locks(redisson);
      semaphoreAndLatch(redisson);
      queues(redisson);
      topic(redisson);
      rateLimiter(redisson);
      stream(redisson);
      batchAndTransaction(redisson);
    } finally {
      redisson.shutdown();
    }
  }

  /** Buckets, counters, maps (one whose entries expire) and sets. */
  private static void values(RedissonClient redisson) throws Exception {
    RBucket<String> bucket = redisson.getBucket("bucket");
    bucket.set("a");
    equal(bucket.compareAndSet("a", "b"), true);
    equal(bucket.compareAndSet("a", "c"), false);
    equal(bucket.getAndSet("d", Duration.ofMinutes(1)), "b");
    equal(bucket.remainTimeToLive() > 50_000, true);
    equal(bucket.setIfAbsent("e"), false);
    equal(bucket.getAndDelete(), "d");

    RAtomicLong counter = redisson.getAtomicLong("counter");
    inThreads(() -> {
      for (int round = 0; round < ROUNDS; round++) {
        counter.incrementAndGet();
      }
    });
    equal(counter.get(), (long) THREADS * ROUNDS);
    equal(counter.compareAndSet((long) THREADS * ROUNDS, 7), true);
    equal(counter.getAndAdd(-7), 7L);

    RMap<String, String> map = redisson.getMap("map");
    equal(map.put("a", "1"), null);
    equal(map.putIfAbsent("a", "2"), "1");
    equal(map.fastPut("b", "2"), true);
    equal(map.replace("b", "2", "3"), true);
    // A number, whatever the type of values.
    equal("" + (Object) map.addAndGet("a", 41), "42");
    equal(map.readAllMap(), Map.of("a", "42", "b", "3"));
    for (int n = 0; n < 500; n++) {
      map.fastPutAsync("n" + n, "" + n);
    }
    int seen = 0;
    for (String ignored : map.keySet()) {
      seen++;
    }
    while (map.size() < 502) {
      Thread.sleep(10);
    }
    equal(seen <= 502, true);
    equal(map.remove("b"), "3");

    RMapCache<String, String> cache = redisson.getMapCache("cache");
    cache.put("soon", "gone", 2, TimeUnit.SECONDS);
    cache.put("later", "here", 1, TimeUnit.MINUTES);
    equal(cache.get("soon"), "gone");
    Thread.sleep(2100);
    equal(cache.get("soon"), null);
    equal(cache.get("later"), "here");

    RSet<String> set = redisson.getSet("set");
    for (int n = 0; n < 300; n++) {
      set.addAsync("m" + n % 150);
    }
    equal(set.add("m0"), false);
    equal(set.contains("m149"), true);
    RScoredSortedSet<String> scores = redisson.getScoredSortedSet("scores");
    scores.add(3, "c");
    scores.add(1, "a");
    equal(scores.addAndGetRank(2, "b"), 1);
    equal(scores.readAll(), List.of("a", "b", "c"));
    equal(scores.pollFirst(), "a");
  }

  /** A lock that its holder enters twice, waiting for others by a subscription, and its watchdog. */
  private static void locks(RedissonClient redisson) throws Exception {
    RLock lock = redisson.getLock("lock");
    RBucket<String> unprotected = redisson.getBucket("unprotected");
    unprotected.set("0");
    inThreads(() -> {
      for (int round = 0; round < ROUNDS; round++) {
        lock.lock();
        try {
          lock.lock(10, TimeUnit.SECONDS);
          int value = Integer.parseInt(unprotected.get());
          unprotected.set("" + (value + 1));
          lock.unlock();
        } finally {
          lock.unlock();
        }
      }
    });
    equal(unprotected.get(), "" + THREADS * ROUNDS);
    equal(lock.isLocked(), false);
    equal(lock.tryLock(0, 300, TimeUnit.MILLISECONDS), true);
    inThreads(() -> equal(lock.isHeldByCurrentThread(), false));
    Thread.sleep(400);
    equal(lock.isLocked(), false);

    RReadWriteLock readWrite = redisson.getReadWriteLock("read-write");
    RLock read = readWrite.readLock();
    inThreads(() -> equal(read.tryLock(), true));
    equal(readWrite.writeLock().tryLock(), false);
    readWrite.readLock().forceUnlock();
    redisson.getKeys().delete("read-write");
    equal(readWrite.writeLock().tryLock(), true);
    readWrite.writeLock().unlock();
    RLock fair = redisson.getFairLock("fair");
    AtomicInteger holders = new AtomicInteger();
    inThreads(() -> {
      for (int round = 0; round < 5; round++) {
        fair.lock();
        equal(holders.incrementAndGet(), 1);
        holders.decrementAndGet();
        fair.unlock();
      }
    });
  }

  private static void semaphoreAndLatch(RedissonClient redisson) throws Exception {
    RSemaphore semaphore = redisson.getSemaphore("semaphore");
    equal(semaphore.trySetPermits(3), true);
    AtomicInteger holders = new AtomicInteger();
    inThreads(() -> {
      semaphore.acquire();
      equal(holders.incrementAndGet() <= 3, true);
      Thread.sleep(20);
      holders.decrementAndGet();
      semaphore.release();
    });
    equal(semaphore.availablePermits(), 3);
    RCountDownLatch latch = redisson.getCountDownLatch("latch");
    latch.trySetCount(THREADS);
    ExecutorService waiting = Executors.newSingleThreadExecutor();
    Future<Boolean> waited = waiting.submit(() -> latch.await(10, TimeUnit.SECONDS));
    inThreads(latch::countDown);
    equal(waited.get(), true);
    waiting.shutdown();
  }

  /** Each element is taken once, by whichever thread waits. */
  private static void queues(RedissonClient redisson) throws Exception {
    RQueue<String> queue = redisson.getQueue("queue");
    equal(queue.offer("a") && queue.add("b"), true);
    equal(queue.peek(), "a");
    equal(queue.poll(), "a");
    equal(queue.readAll(), List.of("b"));

    RBlockingQueue<String> blocking = redisson.getBlockingQueue("blocking");
    AtomicInteger sum = new AtomicInteger();
    ExecutorService takers = Executors.newFixedThreadPool(THREADS);
    List<Future<?>> taken = new ArrayList<>();
    for (int taker = 0; taker < THREADS; taker++) {
      taken.add(takers.submit(() -> {
        for (int n = 0; n < ROUNDS; n++) {
          sum.addAndGet(Integer.parseInt(blocking.take()));
        }
        return null;
      }));
    }
    int expected = 0;
    for (int n = 0; n < THREADS * ROUNDS; n++) {
      blocking.put("" + n);
      expected += n;
    }
    for (Future<?> one : taken) {
      one.get(30, TimeUnit.SECONDS);
    }
    takers.shutdown();
    equal(sum.get(), expected);
    equal(blocking.poll(100, TimeUnit.MILLISECONDS), null);
    blocking.put("moved");
    equal(blocking.pollLastAndOfferFirstTo("queue", 1, TimeUnit.SECONDS), "moved");
    equal(queue.readAll(), List.of("moved", "b"));
  }

  private static void topic(RedissonClient redisson) throws Exception {
    RTopic topic = redisson.getTopic("topic");
    BlockingQueue<String> received = new LinkedBlockingQueue<>();
    int listener = topic.addListener(String.class, (channel, message) -> received.add(message));
    redisson.getPatternTopic("top*")
        .addListener(String.class, (pattern, channel, message) -> received.add(message));
    for (int n = 0; n < 100; n++) {
      equal(topic.publish("m" + n), 2L);
    }
    int count = 0;
    while (count < 200) {
      equal(received.poll(10, TimeUnit.SECONDS) != null, true);
      count++;
    }
    topic.removeListener(listener);
    equal(topic.publish("last"), 1L);
  }

  /** Five of twenty are allowed within the time. */
  private static void rateLimiter(RedissonClient redisson) throws Exception {
    RRateLimiter limiter = redisson.getRateLimiter("limiter");
    equal(limiter.trySetRate(RateType.OVERALL, 5, Duration.ofSeconds(5)), true);
    int allowed = 0;
    for (int n = 0; n < 20; n++) {
      allowed += limiter.tryAcquire() ? 1 : 0;
    }
    equal(allowed, 5);
    equal(limiter.availablePermits(), 0L);
    // Waits for the next permit.
    limiter.acquire(1);
    equal(limiter.getConfig().getRate(), 5L);
  }

  private static void stream(RedissonClient redisson) {
    RStream<String, String> stream = redisson.getStream("stream");
    stream.createGroup(StreamCreateGroupArgs.name("group").makeStream());
    StreamMessageId first = stream.add(StreamAddArgs.entry("n", "0"));
    for (int n = 1; n < 100; n++) {
      stream.add(StreamAddArgs.entry("n", "" + n));
    }
    equal(stream.size(), 100L);
    Map<StreamMessageId, Map<String, String>> messages =
        stream.readGroup("group", "consumer", StreamReadGroupArgs.neverDelivered().count(60));
    equal(messages.size(), 60);
    equal(messages.get(first), Map.of("n", "0"));
    equal(stream.ack("group", first), 1L);
    equal(stream.getPendingInfo("group").getTotal(), 59L);
    equal(
        stream.autoClaim("group", "other", 0, TimeUnit.MILLISECONDS, StreamMessageId.MIN, 10)
            .getMessages()
            .size(),
        10);
    equal(stream.getInfo().getGroups(), 1);
    equal(stream.listConsumers("group").size(), 2);
    equal(stream.remove(first), 1L);
    equal(stream.range(StreamMessageId.MIN, StreamMessageId.MAX).size(), 99);
  }

  private static void batchAndTransaction(RedissonClient redisson) {
    RBatch batch = redisson.createBatch();
    for (int n = 0; n < 200; n++) {
      batch.getMap("batch").fastPutAsync("f" + n, "v");
    }
    equal(batch.execute().getResponses().size(), 200);
    equal(redisson.getMap("batch").size(), 200);

    RTransaction transaction = redisson.createTransaction(TransactionOptions.defaults());
    RBucket<String> bucket = transaction.getBucket("in-transaction");
    bucket.set("1");
    transaction.<String, String>getMap("map-in-transaction").put("f", "2");
    equal(redisson.getBucket("in-transaction").isExists(), false);
    transaction.commit();
    equal(redisson.getBucket("in-transaction").get(), "1");
    equal(redisson.getMap("map-in-transaction").get("f"), "2");
  }

  /** A step that a thread does. */
  private interface Work {
    void run() throws Exception;
  }

  /** Does the same in several threads at once, and waits for them. */
  private static void inThreads(Work work) throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(THREADS);
    List<Future<?>> started = new ArrayList<>();
    for (int thread = 0; thread < THREADS; thread++) {
      started.add(threads.submit(() -> {
        work.run();
        return null;
      }));
    }
    for (Future<?> one : started) {
      one.get(60, TimeUnit.SECONDS);
    }
    threads.shutdown();
  }
}
