"""A session of common calls through redis-py, against the server at HOST PORT.

Each function below is a part of the session; a third argument names parts to leave out, with commas between.
"""

import sys
import time
import traceback

import redis

ALL_BYTES = bytes(range(256))


def equal(got, expected):
    if got != expected:
        raise AssertionError(f"got {got!r}, expected {expected!r}")


def fails(text, call, *args, **options):
    """Asserts that the server answers an error that contains the text."""
    try:
        got = call(*args, **options)
    except redis.ResponseError as error:
        if text not in str(error):
            raise AssertionError(f"error {error!s}, expected {text!r} in it") from error
    else:
        raise AssertionError(f"got {got!r}, expected an error with {text!r}")


def pairs(reply):
    """Returns members and scores. The library returns lists in RESP3 and tuples in RESP2."""
    return [tuple(pair) for pair in reply]


def until(done):
    """Waits for a condition. The bound only makes a failing test end."""
    deadline = time.monotonic() + 30
    while not done():
        if time.monotonic() > deadline:
            raise AssertionError("it did not happen in 30 s")
        time.sleep(0.01)


def server(r):
    equal(r.ping(), True)
    equal(r.echo("hello"), b"hello")
    r.client_setname("session")
    equal(r.execute_command("CLIENT", "GETNAME"), b"session")
    ours = [client for client in r.client_list() if client["name"] == "session"]
    equal(len(ours), 1)
    equal(int(ours[0]["id"]), r.client_id())
    equal(r.client_info()["name"], "session")
    info = r.info()
    assert info["redis_version"].startswith("7."), info["redis_version"]
    assert info["connected_clients"] >= 1
    assert r.command_count() > 80
    assert "get" in r.command()
    equal(r.config_get("maxmemory-polic*").keys(), {"maxmemory-policy"})
    seconds, micros = r.time()
    assert seconds > 1_600_000_000 and 0 <= micros < 1_000_000
    assert r.lastsave().timestamp() > 0
    equal(r.wait(0, 0), 0)
    equal(r.dbsize(), 0)
    r.set("a", 1)
    equal(r.dbsize(), 1)
    equal(r.flushdb(asynchronous=True), True)
    equal(r.get("a"), None)


def strings(r):
    equal(r.set("s", "v"), True)
    equal(r.get("s"), b"v")
    equal(r.get("none"), None)
    equal(r.set("s", "w", nx=True), None)
    equal(r.set("none", "w", xx=True), None)
    equal(r.set("s", "w", get=True), b"v")
    equal(r.getset("s", "x"), b"w")
    equal(r.setnx("s", "y"), False)
    equal(r.append("s", "yz"), 3)
    equal(r.strlen("s"), 3)
    equal(r.getrange("s", -2, -1), b"yz")
    equal(r.setrange("s", 5, "!"), 6)
    equal(r.get("s"), b"xyz\0\0!")
    equal(r.getdel("s"), b"xyz\0\0!")
    equal(r.mset({"a": 1, "b": 2}), True)
    equal(r.msetnx({"b": 3, "c": 3}), False)
    equal(r.mget("a", "b", "c"), [b"1", b"2", None])
    equal(r.incr("a", 41), 42)
    equal(r.decr("a"), 41)
    equal(r.incrbyfloat("f", "0.1"), 0.1)
    equal(r.incrbyfloat("f", "0.2"), 0.3)
    equal(r.get("f"), b"0.3")
    r.mset({"l1": "ohmytext", "l2": "mynewtext"})
    equal(r.lcs("l1", "l2"), b"mytext")
    equal(r.lcs("l1", "l2", len=True), 6)


def bits(r):
    equal(r.setbit("bits", 7, 1), 0)
    equal(r.setbit("bits", 100, 1), 0)
    equal(r.getbit("bits", 7), 1)
    equal(r.getbit("bits", 8), 0)
    equal(r.bitcount("bits"), 2)
    equal(r.bitcount("bits", 1, -1), 1)
    equal(r.bitcount("bits", 8, 100, "BIT"), 1)
    equal(r.bitpos("bits", 1), 7)
    equal(r.bitpos("bits", 1, 1), 100)


def hashes(r):
    equal(r.hset("h", "a", 1), 1)
    equal(r.hset("h", mapping={"a": 2, "b": 3}), 1)
    equal(r.hget("h", "a"), b"2")
    equal(r.hgetall("h"), {b"a": b"2", b"b": b"3"})
    equal(r.hmget("h", "a", "none"), [b"2", None])
    equal(r.hsetnx("h", "a", 9), False)
    equal(r.hincrby("h", "a", 5), 7)
    equal(r.hincrbyfloat("h", "a", 0.5), 7.5)
    equal(sorted(r.hkeys("h")), [b"a", b"b"])
    equal(sorted(r.hvals("h")), [b"3", b"7.5"])
    equal(r.hstrlen("h", "a"), 3)
    equal(r.hexists("h", "none"), False)
    equal(len(r.hrandfield("h", -5)), 5)
    equal(r.hdel("h", "a", "none"), 1)
    equal(r.hlen("h"), 1)
    large = {f"field:{i}".encode(): str(i).encode() for i in range(1000)}
    equal(r.hset("large", mapping=large), 1000)
    equal(r.hgetall("large"), large)
    equal(dict(r.hscan_iter("large", count=50)), large)
    equal(len(dict(r.hscan_iter("large", match="field:99*"))), 11)
    equal(r.hdel("large", *large), 1000)
    equal(r.exists("large"), 0)


def keys(r):
    r.mset({"a": 1, "b": 2, "user:1": 3, "user:2": 4})
    r.hset("h", "f", "v")
    equal(r.exists("a", "b", "a", "none"), 3)
    equal([r.type(key) for key in ("a", "h", "none")], [b"string", b"hash", b"none"])
    equal(sorted(r.keys("user:*")), [b"user:1", b"user:2"])
    equal(r.rename("a", "c"), True)
    equal(r.renamenx("c", "b"), False)
    equal(r.copy("c", "d"), True)
    equal(r.copy("c", "b"), False)
    equal(r.copy("c", "b", replace=True), True)
    equal(r.mget("a", "b", "c", "d"), [None, b"1", b"1", b"1"])
    equal(r.touch("b", "c", "none"), 2)
    assert r.randomkey() in (b"b", b"c", b"d", b"h", b"user:1", b"user:2")
    equal(r.object("encoding", "c"), b"int")
    equal(r.unlink("b", "c", "none"), 2)
    equal(r.delete("d", "h"), 2)
    equal(r.dbsize(), 2)


def scans(r):
    expected = {f"k:{i}".encode() for i in range(2000)}
    r.mset({key: 1 for key in expected})
    r.hset("k:hash", "f", "v")
    equal(set(r.scan_iter(match="k:*", count=100)), expected | {b"k:hash"})
    equal(set(r.scan_iter(match="k:1?", count=1000)), {f"k:1{i}".encode() for i in range(10)})
    equal(list(r.scan_iter(_type="hash")), [b"k:hash"])
    equal(list(r.scan_iter(match="nothing*")), [])


def expiry(r):
    equal(r.set("e", 1, ex=1000), True)
    assert 990 < r.ttl("e") <= 1000
    equal(r.set("e", 2, keepttl=True), True)
    assert 990_000 < r.pttl("e") <= 1_000_000
    equal(r.incr("e"), 3)
    assert r.ttl("e") > 990
    equal(r.persist("e"), True)
    equal(r.ttl("e"), -1)
    equal(r.ttl("none"), -2)
    equal(r.expire("e", 100, nx=True), True)
    equal(r.expire("e", 50, gt=True), False)
    equal(r.expire("e", 50, lt=True), True)
    equal(r.expireat("e", 4_000_000_000), True)
    equal(r.expiretime("e"), 4_000_000_000)
    equal(r.pexpiretime("e"), 4_000_000_000_000)
    equal(r.getex("e", persist=True), b"3")
    equal(r.ttl("e"), -1)
    equal(r.expire("e", -1), True)
    equal(r.exists("e"), 0)
    r.set("e", "x", ex=1000)
    r.set("e", "y")
    equal(r.ttl("e"), -1)
    r.hset("h", "f", "v")
    equal(r.pexpire("h", 20), True)
    r.set("short", "v", px=20)
    until(lambda: r.exists("short", "h") == 0)
    equal(r.hgetall("h"), {})
    equal(r.hset("h", "g", "w"), 1)
    equal(r.ttl("h"), -1)


def zsets(r):
    equal(r.zadd("z", {"a": 1, "b": 2, "c": 3}), 3)
    equal(r.zadd("z", {"a": 0, "d": 4}, nx=True), 1)
    equal(r.zadd("z", {"a": 1.5}, ch=True), 1)
    equal(r.zadd("z", {"a": 1}, gt=True, ch=True), 0)
    equal(r.zadd("z", {"a": 0.25}, incr=True), 1.75)
    equal(r.zincrby("z", -0.75, "a"), 1.0)
    equal(r.zscore("z", "a"), 1.0)
    equal(r.zscore("z", "none"), None)
    equal(r.zmscore("z", ["a", "none"]), [1.0, None])
    equal(r.zcard("z"), 4)
    equal(r.zrange("z", 0, -1), [b"a", b"b", b"c", b"d"])
    equal(r.zrange("z", 0, 1, desc=True), [b"d", b"c"])
    equal(pairs(r.zrange("z", 0, 1, withscores=True)), [(b"a", 1.0), (b"b", 2.0)])
    equal(r.zrange("z", "(1", "+inf", byscore=True, offset=1, num=1), [b"c"])
    equal(r.zrangebyscore("z", 2, 3), [b"b", b"c"])
    equal(r.zrevrangebyscore("z", "+inf", "(3"), [b"d"])
    equal(r.zcount("z", "-inf", 2), 2)
    equal(r.zrank("z", "c"), 2)
    equal(r.zrevrank("z", "c"), 1)
    equal(r.zrank("z", "none"), None)
    equal(pairs(r.zpopmin("z", 1)), [(b"a", 1.0)])
    equal(pairs(r.zpopmax("z", 1)), [(b"d", 4.0)])
    equal(r.zrem("z", "b", "none"), 1)
    equal(r.zremrangebyscore("z", "-inf", "+inf"), 1)
    equal(r.exists("z"), 0)
    r.zadd("lex", {member: 0 for member in "edcba"})
    equal(r.zrangebylex("lex", "[b", "(d"), [b"b", b"c"])
    equal(r.zlexcount("lex", "-", "+"), 5)
    equal(r.zremrangebylex("lex", "[a", "[b"), 2)
    equal(r.zremrangebyrank("lex", 0, 0), 1)
    r.zadd("x", {"a": 1, "b": 2})
    r.zadd("y", {"b": 10, "c": 20})
    equal(r.zunionstore("u", ["x", "y"]), 3)
    equal(pairs(r.zrange("u", 0, -1, withscores=True)), [(b"a", 1.0), (b"b", 12.0), (b"c", 20.0)])
    equal(r.zinter(["x", "y"]), [b"b"])
    equal(r.zdiff(["x", "y"]), [b"a"])
    equal(r.zrangestore("part", "u", 1, -1), 2)
    large = {f"m:{i:04}".encode(): i / 4 for i in range(3000)}
    equal(r.zadd("large", large), 3000)
    equal(dict(r.zscan_iter("large", count=100)), large)
    equal(r.zrank("large", "m:1234"), 1234)
    equal(r.zrange("large", 2998, -1), [b"m:2998", b"m:2999"])
    equal(r.type("large"), b"zset")


def sets(r):
    equal(r.sadd("s", "a", "b", "c", "a"), 3)
    equal(r.scard("s"), 3)
    equal(bool(r.sismember("s", "a")), True)
    equal(bool(r.sismember("s", "none")), False)
    equal(r.smismember("s", ["a", "none"]), [1, 0])
    equal(set(r.smembers("s")), {b"a", b"b", b"c"})
    equal(set(r.smembers("none")), set())
    equal(r.srem("s", "a", "none"), 1)
    equal(bool(r.smove("s", "t", "b")), True)
    equal(bool(r.smove("s", "t", "b")), False)
    equal(set(r.smembers("t")), {b"b"})
    assert r.srandmember("s") == b"c"
    equal(r.srandmember("s", -3), [b"c"] * 3)
    equal(r.spop("s"), b"c")
    equal(r.spop("s"), None)
    equal(r.exists("s"), 0)
    r.sadd("x", "a", "b", "c")
    r.sadd("y", "b", "c", "d")
    equal(set(r.sunion("x", "y")), {b"a", b"b", b"c", b"d"})
    equal(set(r.sinter("x", "y")), {b"b", b"c"})
    equal(set(r.sdiff("x", "y")), {b"a"})
    equal(r.sintercard(2, ["x", "y"], limit=1), 1)
    equal(r.sunionstore("u", "x", "y"), 4)
    equal(r.sinterstore("u", "x", "y"), 2)
    equal(r.sdiffstore("u", "x", "y"), 1)
    equal(set(r.smembers("u")), {b"a"})
    equal(set(r.spop("x", 9)), {b"a", b"b", b"c"})
    large = {f"m:{i}".encode() for i in range(3000)}
    equal(r.sadd("large", *large), 3000)
    equal(set(r.smembers("large")), large)
    equal(set(r.sscan_iter("large", count=100)), large)
    equal(len(set(r.sscan_iter("large", match="m:99*"))), 11)
    equal(len(set(r.srandmember("large", 100))), 100)
    equal(r.type("large"), b"set")
    fails("wrong kind of value", r.zadd, "large", {"a": 1})


def transactions(r):
    with r.pipeline(transaction=True) as p:
        p.set("a", 1).incr("a").hset("h", "f", "v").get("a")
        equal(p.execute(), [True, 2, 1, b"2"])
    with r.pipeline() as p:
        p.watch("a")
        value = int(p.get("a"))
        p.multi()
        p.set("a", value * 10)
        equal(p.execute(), [True])
    with r.pipeline() as p:
        p.watch("a")
        r.set("a", "meanwhile")
        p.multi()
        p.set("a", "lost")
        try:
            raise AssertionError(f"a changed, and yet {p.execute()!r}")
        except redis.WatchError:
            pass
    equal(r.get("a"), b"meanwhile")
    with r.pipeline() as p:
        p.set("b", 1).hget("b", "f").set("c", 2)
        got = p.execute(raise_on_error=False)
        equal((got[0], got[2]), (True, True))
        assert "WRONGTYPE" in str(got[1]), got
    equal(r.mget("b", "c"), [b"1", b"2"])
    with r.pipeline() as p:
        p.set("b", "lost").execute_command("SET", "b")
        fails("wrong number of arguments", p.execute)
    equal(r.get("b"), b"1")
    r.set("n", 0)

    def twice(p):
        value = int(p.get("n"))
        p.multi()
        p.set("n", value + 2)

    r.transaction(twice, "n")
    equal(r.get("n"), b"2")


def pipelines(r):
    with r.pipeline(transaction=False) as p:
        for i in range(1000):
            p.set(f"p:{i}", i)
            p.get(f"p:{i}")
        got = p.execute()
    equal(got, [reply for i in range(1000) for reply in (True, str(i).encode())])
    with r.pipeline(transaction=False) as p:
        p.set("a", "x").incr("a").get("a")
        got = p.execute(raise_on_error=False)
    assert isinstance(got[1], redis.ResponseError), got
    equal((got[0], got[2]), (True, b"x"))


def errors(r):
    r.set("a", "text")
    for text, words in [
        ("wrong kind of value", ["HGET", "a", "f"]),
        ("value is not an integer or out of range", ["INCR", "a"]),
        ("wrong number of arguments for 'get' command", ["GET"]),
        ("unknown command 'NOSUCH'", ["NOSUCH", "a"]),
        ("syntax error", ["SET", "a", "b", "NX", "XX"]),
        ("DB index is out of range", ["SELECT", "100"]),
        ("unknown subcommand", ["CLIENT", "NOSUCH"]),
    ]:
        fails(text, r.execute_command, *words)
    equal(r.get("a"), b"text")


def binary(r):
    for i in range(256):
        r.set(bytes([i]), bytes([i, 0, i]))
    equal(r.mget([bytes([i]) for i in range(256)]), [bytes([i, 0, i]) for i in range(256)])
    r.set(ALL_BYTES, ALL_BYTES * 4096)
    equal(r.get(ALL_BYTES), ALL_BYTES * 4096)
    r.set("", "")
    equal(r.get(""), b"")
    r.hset(b"h\r\n", ALL_BYTES, b"\r\n$5\r\n")
    equal(r.hgetall(b"h\r\n"), {ALL_BYTES: b"\r\n$5\r\n"})
    equal(len(list(r.scan_iter(count=100))), 259)


PARTS = [server, strings, bits, hashes, keys, scans, expiry, zsets, sets, transactions, pipelines, errors, binary]


def main():
    host, port = sys.argv[1], int(sys.argv[2])
    left_out = (sys.argv[3] if len(sys.argv) > 3 else "").split(",")
    parts = [part for part in PARTS if part.__name__ not in left_out]
    for protocol in (2, 3):
        r = redis.Redis(host=host, port=port, protocol=protocol, single_connection_client=True)
        for part in parts:
            r.flushall()
            try:
                part(r)
            except Exception as error:
                raise SystemExit(f"{part.__name__}, RESP{protocol}: {traceback.format_exc()}") from error
        r.close()
    print(f"redis-py {redis.__version__}: {len(parts)} parts in RESP2 and RESP3")


main()
