package sessions;

import static sessions.Main.equal;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.MapPropertySource;
import org.springframework.data.domain.Range;
import org.springframework.data.geo.Distance;
import org.springframework.data.geo.Metrics;
import org.springframework.data.geo.Point;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.connection.stream.Consumer;
import org.springframework.data.redis.connection.stream.MapRecord;
import org.springframework.data.redis.connection.stream.ReadOffset;
import org.springframework.data.redis.connection.stream.StreamOffset;
import org.springframework.data.redis.connection.stream.StreamReadOptions;
import org.springframework.data.redis.connection.stream.StreamRecords;
import org.springframework.data.redis.core.Cursor;
import org.springframework.data.redis.core.RedisKeyValueAdapter.EnableKeyspaceEvents;
import org.springframework.data.redis.core.RedisOperations;
import org.springframework.data.redis.core.ScanOptions;
import org.springframework.data.redis.core.SessionCallback;
import org.springframework.data.redis.core.StreamOperations;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.data.redis.core.ZSetOperations;
import org.springframework.data.redis.core.script.DefaultRedisScript;
import org.springframework.data.redis.listener.ChannelTopic;
import org.springframework.data.redis.listener.PatternTopic;
import org.springframework.data.redis.listener.RedisMessageListenerContainer;
import org.springframework.data.redis.repository.configuration.EnableRedisRepositories;
import org.springframework.data.redis.stream.StreamMessageListenerContainer;

/** Templates, listeners and repositories of Spring Data Redis, over Lettuce. */
final class SpringSession {
  private SpringSession() {}

  /** The beans of the documented example. */
  @Configuration
  @EnableRedisRepositories(enableKeyspaceEvents = EnableKeyspaceEvents.ON_STARTUP)
  public static class Beans {
    @Bean
    public LettuceConnectionFactory redisConnectionFactory(
        org.springframework.core.env.Environment environment) {
      return new LettuceConnectionFactory(
          new RedisStandaloneConfiguration(
              environment.getRequiredProperty("host"),
              environment.getRequiredProperty("port", Integer.class)));
    }

    @Bean
    public StringRedisTemplate redisTemplate(RedisConnectionFactory factory) {
      return new StringRedisTemplate(factory);
    }

    @Bean
    public RedisMessageListenerContainer listeners(RedisConnectionFactory factory) {
      RedisMessageListenerContainer container = new RedisMessageListenerContainer();
      container.setConnectionFactory(factory);
      return container;
    }
  }

  static void run(String host, int port) throws Exception {
    try (AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext()) {
      Map<String, Object> properties = Map.of("host", host, "port", port);
      context.getEnvironment().getPropertySources().addFirst(new MapPropertySource("server", properties));
      context.register(Beans.class);
      context.refresh();
      StringRedisTemplate redis = context.getBean(StringRedisTemplate.class);
      redis.execute((org.springframework.data.redis.core.RedisCallback<Void>) connection -> {
        connection.serverCommands().flushDb();
        return null;
      });
      values(redis);
      collections(redis);
      sortedSets(redis);
      transactionAndPipeline(redis);
      script(redis);
      listeners(redis, context.getBean(RedisMessageListenerContainer.class));
      streams(redis, context.getBean(RedisConnectionFactory.class));
      repository(redis, context.getBean(PersonRepository.class));
    }
  }

  private static void values(StringRedisTemplate redis) {
    redis.opsForValue().set("value", "a");
    equal(redis.opsForValue().setIfAbsent("value", "b"), false);
    equal(redis.opsForValue().getAndSet("value", "c"), "a");
    redis.opsForValue().set("value", "d", Duration.ofMinutes(1));
    equal(redis.getExpire("value") > 50, true);
    equal(redis.persist("value"), true);
    equal(redis.opsForValue().append("value", "e"), 2);
    for (int n = 0; n < 200; n++) {
      redis.opsForValue().increment("count", n);
    }
    equal(redis.opsForValue().get("count"), "19900");
    redis.opsForValue().multiSet(Map.of("m1", "1", "m2", "2"));
    equal(redis.opsForValue().multiGet(List.of("m1", "m2")), List.of("1", "2"));
    equal(redis.opsForValue().setBit("bits", 7, true), false);
    equal(redis.opsForHyperLogLog().add("log", "a", "b", "a"), 1L);
    equal(redis.opsForHyperLogLog().size("log"), 2L);
    equal(redis.type("value").code(), "string");
    equal(redis.delete(List.of("m1", "m2", "absent")), 2L);
  }

  private static void collections(StringRedisTemplate redis) {
    redis.opsForHash().putAll("hash", Map.of("a", "1", "b", "2"));
    equal(redis.opsForHash().increment("hash", "a", 41), 42L);
    equal(redis.opsForHash().entries("hash"), Map.of("a", "42", "b", "2"));
    equal(redis.opsForHash().delete("hash", "b", "absent"), 1L);
    for (int n = 0; n < 1000; n++) {
      redis.opsForHash().put("long", "field" + n, "" + n);
    }
    int found = 0;
    try (Cursor<Map.Entry<Object, Object>> cursor =
        redis.opsForHash().scan("long", ScanOptions.scanOptions().match("field*").count(100).build())) {
      while (cursor.hasNext()) {
        cursor.next();
        found++;
      }
    }
    equal(found, 1000);

    redis.opsForList().rightPushAll("list", "a", "b", "c");
    equal(redis.opsForList().leftPop("list"), "a");
    equal(redis.opsForList().range("list", 0, -1), List.of("b", "c"));
    equal(redis.opsForList().move("list", org.springframework.data.redis.connection.RedisListCommands
        .Direction.first(), "other", org.springframework.data.redis.connection.RedisListCommands
        .Direction.last()), "b");
    equal(redis.opsForList().rightPop("list", Duration.ofSeconds(1)), "c");
    equal(redis.opsForList().rightPop("list", Duration.ofSeconds(1)), null);

    redis.opsForSet().add("set", "a", "b", "c");
    redis.opsForSet().add("set2", "b", "c", "d");
    equal(redis.opsForSet().intersect("set", "set2"), Set.of("b", "c"));
    equal(redis.opsForSet().differenceAndStore("set", "set2", "set3"), 1L);
    equal(redis.opsForSet().members("set3"), Set.of("a"));
    equal(redis.opsForSet().isMember("set", "d"), false);
  }

  private static void sortedSets(StringRedisTemplate redis) {
    ZSetOperations<String, String> zset = redis.opsForZSet();
    zset.add("zset", "a", 1);
    zset.add("zset", "b", 2);
    equal(zset.add("zset", Set.of(ZSetOperations.TypedTuple.of("c", 3.0))), 1L);
    equal(zset.incrementScore("zset", "a", 9), 10.0);
    equal(new ArrayList<>(zset.range("zset", 0, -1)), List.of("b", "c", "a"));
    equal(zset.rangeByScore("zset", 2, 3).size(), 2);
    equal(zset.reverseRank("zset", "a"), 0L);
    equal(zset.popMin("zset").getValue(), "b");
    equal(zset.count("zset", 0, 5), 1L);
  }

  private static void transactionAndPipeline(StringRedisTemplate redis) {
    List<Object> replies = redis.execute(new SessionCallback<List<Object>>() {
      @Override
      @SuppressWarnings({"unchecked", "rawtypes"})
      public List<Object> execute(RedisOperations operations) {
        operations.multi();
        operations.opsForValue().set("in-multi", "1");
        operations.opsForValue().increment("in-multi");
        return operations.exec();
      }
    });
    equal(replies, List.of(true, 2L));
    List<Object> many = redis.executePipelined(
        (org.springframework.data.redis.core.RedisCallback<Object>) connection -> {
          for (int n = 0; n < 500; n++) {
            connection.stringCommands().incr("piped".getBytes());
          }
          return null;
        });
    equal(many.size(), 500);
    equal(many.get(499), 500L);
  }

  /** The documented script: a compare-and-set, by its hash and by its text. */
  private static void script(StringRedisTemplate redis) {
    DefaultRedisScript<Boolean> checkAndSet = new DefaultRedisScript<>(
        "local current = redis.call('GET', KEYS[1]) "
            + "if current == ARGV[1] then redis.call('SET', KEYS[1], ARGV[2]) return true end "
            + "return false",
        Boolean.class);
    redis.opsForValue().set("checked", "old");
    equal(redis.execute(checkAndSet, List.of("checked"), "old", "new"), true);
    equal(redis.execute(checkAndSet, List.of("checked"), "old", "newer"), false);
    equal(redis.opsForValue().get("checked"), "new");
    @SuppressWarnings("rawtypes")
    DefaultRedisScript<List> all = new DefaultRedisScript<>("return {KEYS[1], ARGV[1], 3}", List.class);
    equal(redis.execute(all, List.of("k"), "v"), List.of("k", "v", 3L));
  }

  private static void listeners(StringRedisTemplate redis, RedisMessageListenerContainer container)
      throws Exception {
    BlockingQueue<String> received = new LinkedBlockingQueue<>();
    container.addMessageListener(
        (message, pattern) -> received.add(new String(message.getBody())), new ChannelTopic("news"));
    container.addMessageListener(
        (message, pattern) -> received.add(new String(message.getBody())), new PatternTopic("new?"));
    long subscribers = 0;
    for (int n = 0; n < 500 && subscribers < 2; n++) {
      subscribers = redis.convertAndSend("news", "first");
      Thread.sleep(10);
    }
    equal(subscribers, 2L);
    for (int n = 0; n < 100; n++) {
      redis.convertAndSend("news", "m" + n);
    }
    int last = 0;
    while (last < 2) {
      String message = received.poll(10, TimeUnit.SECONDS);
      equal(message != null, true);
      last += message.equals("m99") ? 1 : 0;
    }
  }

  private static void streams(StringRedisTemplate redis, RedisConnectionFactory factory) throws Exception {
    StreamOperations<String, Object, Object> streams = redis.opsForStream();
    streams.add(StreamRecords.newRecord().in("stream").ofMap(Map.of("n", "0")));
    streams.createGroup("stream", ReadOffset.from("0"), "group");
    for (int n = 1; n < 100; n++) {
      streams.add(StreamRecords.newRecord().in("stream").ofMap(Map.of("n", "" + n)));
    }
    List<MapRecord<String, Object, Object>> records = streams.read(
        Consumer.from("group", "consumer"),
        StreamReadOptions.empty().count(60),
        StreamOffset.create("stream", ReadOffset.lastConsumed()));
    equal(records.size(), 60);
    equal(records.get(0).getValue(), Map.of("n", "0"));
    equal(streams.acknowledge("group", records.get(0)), 1L);
    equal(streams.pending("stream", "group").getTotalPendingMessages(), 59L);
    equal(streams.pending("stream", Consumer.from("group", "consumer"), Range.unbounded(), 5).size(), 5);
    equal(streams.info("stream").streamLength(), 100L);
    equal(streams.consumers("stream", "group").size(), 1);
    equal(streams.range("stream", Range.unbounded()).size(), 100);

    // Blocking reads in a thread of Spring's.
    var options = StreamMessageListenerContainer.StreamMessageListenerContainerOptions.builder()
        .pollTimeout(Duration.ofMillis(100))
        .build();
    var container = StreamMessageListenerContainer.create(factory, options);
    BlockingQueue<String> received = new LinkedBlockingQueue<>();
    container.receiveAutoAck(
        Consumer.from("group", "listener"),
        StreamOffset.create("stream", ReadOffset.lastConsumed()),
        record -> received.add(record.getValue().get("n")));
    container.start();
    for (int n = 60; n < 100; n++) {
      equal(received.poll(10, TimeUnit.SECONDS), "" + n);
    }
    redis.opsForStream().add("stream", Map.of("n", "late"));
    equal(received.poll(10, TimeUnit.SECONDS), "late");
    container.stop();
    equal(streams.trim("stream", 10), 91L);
  }

  /** Entities with secondary indexes, an index of places, and times to live. */
  private static void repository(StringRedisTemplate redis, PersonRepository people) throws Exception {
    Person rand = new Person(null, "Rand", "al'Thor", new Point(15.087269, 37.502669), null);
    people.save(rand);
    equal(people.findById(rand.id).orElseThrow().firstname, "Rand");
    for (int n = 0; n < 100; n++) {
      people.save(new Person("p" + n, "Mat" + n, n % 2 == 0 ? "Cauthon" : "Aybara", null, null));
    }
    equal(people.count(), 101L);
    equal(people.findByLastname("Cauthon").size(), 50);
    equal(people.findByFirstnameAndLastname("Mat7", "Aybara").get(0).id, "p7");
    equal(people.findByPlaceNear(new Point(15, 37), new Distance(200, Metrics.KILOMETERS)).size(), 1);
    people.deleteById("p7");
    equal(people.existsById("p7"), false);
    equal(redis.opsForSet().isMember("people:lastname:Aybara", "p7"), false);

    // When the entity expires, Spring hears the event and mends the indexes.
    people.save(new Person("brief", "Moiraine", "Damodred", null, 3L));
    equal(people.findByLastname("Damodred").size(), 1);
    for (int n = 0; n < 500 && redis.hasKey("people:lastname:Damodred"); n++) {
      Thread.sleep(20);
    }
    equal(redis.hasKey("people:lastname:Damodred"), false);
    people.deleteAll();
    equal(people.count(), 0L);
  }
}
