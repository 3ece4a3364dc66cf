// A session of common calls through ioredis, against the server at HOST PORT.
//
// Each function below is a part of the session. A third argument names parts to skip, separated by
// commas.
"use strict";

const assert = require("node:assert/strict");
const Redis = require("ioredis");
const { version } = require("ioredis/package.json");

const ALL_BYTES = Buffer.from(Array.from({ length: 256 }, (_, i) => i));
const numbers = (count) => Array.from({ length: count }, (_, i) => i);
const equal = assert.deepEqual;

async function fails(call, text) {
  await assert.rejects(call, (error) => {
    assert.ok(error.message.includes(text), `error ${error.message}, expected ${text} in it`);
    return true;
  });
}

/** Waits for a condition. The bound only makes a failing test end. */
async function until(done) {
  const deadline = Date.now() + 30_000;
  while (!(await done())) {
    assert.ok(Date.now() < deadline, "it did not happen in 30 s");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Returns all items of a stream of SCAN, HSCAN or ZSCAN, sorted as text. */
async function drain(stream) {
  const found = [];
  for await (const some of stream) found.push(...some);
  return found;
}

async function server(r) {
  equal(await r.ping(), "PONG");
  equal(await r.echo("hello"), "hello");
  equal(await r.client("SETNAME", "session"), "OK");
  equal(await r.client("GETNAME"), "session");
  const id = await r.client("ID");
  assert.match(await r.client("LIST"), new RegExp(`(^|\n)id=${id} .*name=session `));
  assert.match(await r.info("server"), /redis_version:7\./);
  assert.ok((await r.command("COUNT")) > 80);
  equal((await r.command("INFO", "get"))[0][0], "get");
  equal(await r.config("GET", "maxmemory-polic*").then((pair) => pair[0]), "maxmemory-policy");
  equal((await r.time()).length, 2);
  equal(await r.dbsize(), 0);
  equal(await r.wait(0, 0), 0);
}

async function strings(r) {
  equal(await r.set("s", "v"), "OK");
  equal(await r.get("s"), "v");
  equal(await r.get("none"), null);
  equal(await r.set("s", "w", "NX"), null);
  equal(await r.set("s", "w", "GET"), "v");
  equal(await r.getset("s", "x"), "w");
  equal(await r.append("s", "yz"), 3);
  equal(await r.strlen("s"), 3);
  equal(await r.getrange("s", 1, -1), "yz");
  equal(await r.setrange("s", 1, "__"), 3);
  equal(await r.getdel("s"), "x__");
  equal(await r.mset({ a: 1, b: "ü" }), "OK");
  equal(await r.msetnx("b", 1, "c", 2), 0);
  equal(await r.mget("a", "b", "none"), ["1", "ü", null]);
  equal(await r.incr("a"), 2);
  equal(await r.incrby("a", 40), 42);
  equal(await r.decrby("a", 50), -8);
  equal(await r.incrbyfloat("a", 0.5), "-7.5");
}

async function bits(r) {
  equal(await r.setbit("bits", 7, 1), 0);
  equal(await r.getbit("bits", 7), 1);
  equal(await r.setbit("bits", 100, 1), 0);
  equal(await r.bitcount("bits"), 2);
  equal(await r.bitpos("bits", 1, 1), 100);
}

async function hashes(r) {
  equal(await r.hset("h", { a: 1, b: 2 }), 2);
  equal(await r.hmset("h", new Map([["c", 3]])), "OK");
  equal({ ...(await r.hgetall("h")) }, { a: "1", b: "2", c: "3" });
  equal({ ...(await r.hgetall("none")) }, {});
  equal(await r.hmget("h", "a", "none"), ["1", null]);
  equal(await r.hincrby("h", "a", 4), 5);
  equal(await r.hincrbyfloat("h", "a", 0.25), "5.25");
  equal(await r.hsetnx("h", "a", 0), 0);
  equal((await r.hkeys("h")).sort(), ["a", "b", "c"]);
  equal((await r.hvals("h")).sort(), ["2", "3", "5.25"]);
  equal(await r.hstrlen("h", "a"), 4);
  equal(await r.hexists("h", "a"), 1);
  equal((await r.hrandfield("h", 9)).sort(), ["a", "b", "c"]);
  equal(await r.hdel("h", "a", "b", "c"), 3);
  equal(await r.exists("h"), 0);
  const fields = numbers(1000).flatMap((i) => [`f${i}`, `${i}`]);
  equal(await r.hset("large", ...fields), 1000);
  equal((await drain(r.hscanStream("large", { count: 50 }))).length, 2000);
  equal(await r.hget("large", "f777"), "777");
}

async function keys(r) {
  await r.mset("a", 1, "b", 2, "user:1", 3, "user:2", 4);
  equal(await r.exists("a", "a", "none"), 2);
  equal(await r.type("a"), "string");
  equal((await r.keys("user:*")).sort(), ["user:1", "user:2"]);
  equal(await r.rename("a", "c"), "OK");
  equal(await r.renamenx("c", "b"), 0);
  await fails(r.rename("none", "x"), "ERR no such key");
  equal(await r.copy("c", "d"), 1);
  equal(await r.touch("c", "d", "none"), 2);
  equal(await r.object("ENCODING", "c"), "int");
  equal(await r.unlink("c", "d"), 2);
  equal(await r.del("b", "none"), 1);
  assert.match(await r.randomkey(), /^user:/);
}

async function scans(r) {
  await r.mset(...numbers(2000).flatMap((i) => [`k:${i}`, i]));
  equal(new Set(await drain(r.scanStream({ match: "k:*", count: 100 }))).size, 2000);
  equal((await drain(r.scanStream({ match: "k:1?" }))).sort(), numbers(10).map((i) => `k:1${i}`));
  equal(await drain(r.scanStream({ type: "hash" })), []);
}

async function expiry(r) {
  equal(await r.set("e", 1, "EX", 1000), "OK");
  assert.ok((await r.ttl("e")) > 990);
  equal(await r.set("e", 2, "KEEPTTL"), "OK");
  assert.ok((await r.pttl("e")) > 990_000);
  equal(await r.persist("e"), 1);
  equal(await r.ttl("e"), -1);
  equal(await r.pexpireat("e", 4_000_000_000_000, "XX"), 0);
  equal(await r.pexpireat("e", 4_000_000_000_000), 1);
  equal(await r.expiretime("e"), 4_000_000_000);
  equal(await r.getex("e", "PERSIST"), "2");
  equal(await r.expire("e", 0), 1);
  equal(await r.ttl("e"), -2);
  equal(await r.psetex("short", 20, "v"), "OK");
  await until(async () => (await r.exists("short")) === 0);
  equal(await r.get("short"), null);
}

async function zsets(r) {
  equal(await r.zadd("z", 1, "a", 2, "b", 3.5, "c", "+inf", "d"), 4);
  equal(await r.zadd("z", "XX", "CH", 1.5, "a", 1, "none"), 1);
  equal(await r.zincrby("z", 0.25, "a"), "1.75");
  equal(await r.zscore("z", "d"), "inf");
  equal(await r.zmscore("z", "c", "none"), ["3.5", null]);
  equal(await r.zrange("z", 0, 1, "WITHSCORES"), ["a", "1.75", "b", "2"]);
  equal(await r.zrange("z", "+inf", 2, "BYSCORE", "REV", "LIMIT", 0, 2), ["d", "c"]);
  equal(await r.zrangebyscore("z", "(2", "+inf"), ["c", "d"]);
  equal(await r.zrank("z", "c"), 2);
  equal(await r.zrevrank("z", "c"), 1);
  equal(await r.zcount("z", 2, 4), 2);
  equal(await r.zpopmin("z", 2), ["a", "1.75", "b", "2"]);
  equal(await r.zmpop(2, "none", "z", "MAX"), ["z", [["d", "inf"]]]);
  equal(await r.zremrangebyrank("z", 0, -1), 1);
  equal(await r.exists("z"), 0);
  await r.zadd("x", 1, "a", 2, "b");
  await r.zadd("y", 10, "b", 20, "c");
  equal(await r.zunion(2, "x", "y", "WEIGHTS", 2, 1, "WITHSCORES"), ["a", "2", "b", "14", "c", "20"]);
  equal(await r.zinterstore("both", 2, "x", "y", "AGGREGATE", "MAX"), 1);
  equal(await r.zscore("both", "b"), "10");
  equal(await r.zdiff(2, "x", "y"), ["a"]);
  await r.zadd("lex", ...[..."edcba"].flatMap((member) => [0, member]));
  equal(await r.zrangebylex("lex", "(a", "[c"), ["b", "c"]);
  equal(await r.zlexcount("lex", "-", "+"), 5);
  equal(await r.zadd("large", ...numbers(3000).flatMap((i) => [i, `m${i}`])), 3000);
  equal((await drain(r.zscanStream("large"))).length, 6000);
  equal(await r.zrank("large", "m2345"), 2345);
}

async function sets(r) {
  equal(await r.sadd("s", "a", "b", "c", "a"), 3);
  equal(await r.scard("s"), 3);
  equal(await r.sismember("s", "a"), 1);
  equal(await r.smismember("s", "a", "none"), [1, 0]);
  equal((await r.smembers("s")).sort(), ["a", "b", "c"]);
  equal(await r.smembers("none"), []);
  equal(await r.srem("s", "a", "none"), 1);
  equal(await r.smove("s", "t", "b"), 1);
  equal(await r.smove("s", "t", "b"), 0);
  equal(await r.srandmember("s", -3), ["c", "c", "c"]);
  equal(await r.spop("s"), "c");
  equal(await r.spop("s"), null);
  equal(await r.exists("s"), 0);
  await r.sadd("x", "a", "b", "c");
  await r.sadd("y", "b", "c", "d");
  equal((await r.sunion("x", "y")).sort(), ["a", "b", "c", "d"]);
  equal((await r.sinter("x", "y")).sort(), ["b", "c"]);
  equal(await r.sdiff("x", "y"), ["a"]);
  equal(await r.sintercard(2, "x", "y", "LIMIT", 1), 1);
  equal(await r.sunionstore("u", "x", "y"), 4);
  equal(await r.sinterstore("u", "x", "y"), 2);
  equal(await r.sdiffstore("u", "x", "y"), 1);
  equal(await r.smembers("u"), ["a"]);
  equal((await r.spop("x", 9)).sort(), ["a", "b", "c"]);
  equal(await r.sadd("large", ...numbers(3000).map((i) => `m${i}`)), 3000);
  equal(new Set(await drain(r.sscanStream("large", { count: 100 }))).size, 3000);
  equal(new Set(await r.srandmember("large", 100)).size, 100);
  equal(await r.type("large"), "set");
}

async function transactions(r) {
  equal(await r.multi().set("a", 1).incr("a").get("a").exec(), [[null, "OK"], [null, 2], [null, "2"]]);
  await r.watch("a");
  equal(await r.multi().set("a", 3).exec(), [[null, "OK"]]);
  await r.watch("a");
  const other = r.duplicate();
  await other.set("a", "meanwhile");
  other.disconnect();
  equal(await r.multi().set("a", "lost").exec(), null);
  equal(await r.get("a"), "meanwhile");
  const got = await r.multi().set("b", 1).hget("b", "f").set("c", 2).exec();
  assert.ok(got[1][0].message.startsWith("WRONGTYPE"), got);
  equal(await r.mget("b", "c"), ["1", "2"]);
  equal(await r.multi({ pipeline: false }), "OK");
  equal(await r.set("b", "lost"), "QUEUED");
  equal(await r.discard(), "OK");
  equal(await r.multi({ pipeline: false }), "OK");
  await fails(r.call("SET", "b"), "wrong number of arguments");
  await fails(r.call("EXEC"), "EXECABORT");
  equal(await r.get("b"), "1");
}

async function pipelines(r) {
  const p = r.pipeline();
  numbers(1000).forEach((i) => p.set(`p:${i}`, i).get(`p:${i}`));
  equal(await p.exec(), numbers(1000).flatMap((i) => [[null, "OK"], [null, `${i}`]]));
  const mixed = await r.pipeline().set("a", "x").incr("a").get("a").exec();
  assert.match(mixed[1][0].message, /not an integer/);
  equal(mixed[2], [null, "x"]);
  equal(await Promise.all(numbers(500).map((i) => r.get(`p:${i}`))), numbers(500).map(String));
}

async function errors(r) {
  await r.set("a", "text");
  for (const [text, ...words] of [
    ["WRONGTYPE Operation against a key holding the wrong kind of value", "HGET", "a", "f"],
    ["ERR value is not an integer or out of range", "INCR", "a"],
    ["ERR wrong number of arguments for 'get' command", "GET"],
    ["ERR unknown command 'NOSUCH'", "NOSUCH", "a"],
    ["ERR syntax error", "SET", "a", "b", "NX", "XX"],
  ]) {
    await fails(r.call(...words), text);
  }
  equal(await r.get("a"), "text");
}

async function binary(r) {
  const value = Buffer.concat(Array(4096).fill(ALL_BYTES));
  await r.set(ALL_BYTES, value);
  assert.ok(value.equals(await r.getBuffer(ALL_BYTES)));
  await r.set("", "");
  equal(await r.getBuffer(""), Buffer.alloc(0));
  await r.hset("h", ALL_BYTES, Buffer.from("\r\n$5\r\n"));
  equal(await r.hmgetBuffer("h", ALL_BYTES), [Buffer.from("\r\n$5\r\n")]);
}

const PARTS = [server, strings, bits, hashes, keys, scans, expiry, zsets, sets, transactions, pipelines, errors, binary];

async function main([host, port, leftOut = ""]) {
  const parts = PARTS.filter(({ name }) => !leftOut.split(",").includes(name));
  for (const protocol of [2, 3]) {
    const r = new Redis({ host, port, protocol, retryStrategy: null, maxRetriesPerRequest: 0 });
    for (const part of parts) {
      await r.flushall();
      await part(r).catch((error) => {
        throw new Error(`${part.name}, RESP${protocol}`, { cause: error });
      });
    }
    await r.quit();
  }
  console.log(`ioredis ${version}: ${parts.length} parts in RESP2 and RESP3`);
}

main(process.argv.slice(2)).catch((error) => {
  console.error(`${error.message}:`, error.cause ?? error);
  process.exit(1);
});
