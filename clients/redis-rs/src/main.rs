//! A session of common calls through redis-rs, against the server at HOST PORT.
//!
//! Each part of the session is a function in [`PARTS`]. A third argument names parts to skip,
//! separated by commas.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use redis::{Commands, Connection, RedisResult, cmd, pipe};

type Text = Option<String>;
type Pairs = Vec<(String, f64)>;

fn call<T: redis::FromRedisValue>(c: &mut Connection, words: &str) -> RedisResult<T> {
    let mut command = redis::Cmd::new();
    for word in words.split(' ') {
        command.arg(word);
    }
    command.query(c)
}

/// Returns the reply to words separated by spaces. Panics if it is an error.
fn ask<T: redis::FromRedisValue>(c: &mut Connection, words: &str) -> T {
    call(c, words).unwrap_or_else(|error| panic!("{words}: {error}"))
}

fn fails<T: std::fmt::Debug>(got: RedisResult<T>, text: &str) {
    let error = got.expect_err(text).to_string();
    assert!(error.contains(text), "error {error}, expected {text:?} in it");
}

fn pairs(expected: &[(&str, f64)]) -> Pairs {
    expected.iter().map(|&(member, score)| (member.to_owned(), score)).collect()
}

fn some(text: &str) -> Text {
    Some(text.to_owned())
}

fn server(c: &mut Connection) {
    assert_eq!(ask::<String>(c, "PING"), "PONG");
    assert_eq!(ask::<String>(c, "ECHO hello"), "hello");
    ask::<()>(c, "CLIENT SETNAME session");
    assert_eq!(ask::<Text>(c, "CLIENT GETNAME"), some("session"));
    let id: u64 = ask(c, "CLIENT ID");
    assert!(ask::<String>(c, "CLIENT LIST").contains(&format!("id={id} ")));
    let info: redis::InfoDict = ask(c, "INFO");
    assert!(info.get::<String>("redis_version").expect("a version").starts_with("7."));
    assert!(ask::<u64>(c, "COMMAND COUNT") > 80);
    assert_eq!(ask::<Vec<String>>(c, "COMMAND GETKEYS MSET a 1 b 2"), ["a", "b"]);
    let config: BTreeMap<String, String> = ask(c, "CONFIG GET maxmemory-polic*");
    assert_eq!(config.keys().collect::<Vec<_>>(), ["maxmemory-policy"]);
    assert!(ask::<(u64, u64)>(c, "TIME").0 > 1_600_000_000);
    assert_eq!(ask::<u64>(c, "DBSIZE"), 0);
}

fn strings(c: &mut Connection) {
    c.set::<_, _, ()>("s", "v").expect("SET");
    assert_eq!(c.get::<_, Text>("s").expect("GET"), some("v"));
    assert_eq!(c.get::<_, Text>("none").expect("GET"), None);
    assert!(!c.set_nx::<_, _, bool>("s", "w").expect("SETNX"));
    assert_eq!(ask::<Text>(c, "SET s w XX GET"), some("v"));
    assert_eq!(c.getset::<_, _, Text>("s", "x").expect("GETSET"), some("w"));
    assert_eq!(c.append::<_, _, u64>("s", "yz").expect("APPEND"), 3);
    assert_eq!(c.getrange::<_, String>("s", 1, -1).expect("GETRANGE"), "yz");
    assert_eq!(c.setrange::<_, _, u64>("s", 1, "__").expect("SETRANGE"), 3);
    assert_eq!(c.strlen::<_, u64>("s").expect("STRLEN"), 3);
    assert_eq!(c.get_del::<_, Text>("s").expect("GETDEL"), some("x__"));
    c.mset::<_, _, ()>(&[("a", 1), ("b", 2)]).expect("MSET");
    assert!(!c.mset_nx::<_, _, bool>(&[("b", 1), ("c", 2)]).expect("MSETNX"));
    assert_eq!(c.mget::<_, Vec<Option<i64>>>(&["a", "none"]).expect("MGET"), [Some(1), None]);
    assert_eq!(c.incr::<_, _, i64>("a", 41).expect("INCRBY"), 42);
    assert_eq!(c.decr::<_, _, i64>("a", 50).expect("DECRBY"), -8);
    assert_eq!(c.incr::<_, _, f64>("a", 0.5).expect("INCRBYFLOAT"), -7.5);
}

fn bits(c: &mut Connection) {
    assert!(!c.setbit::<_, bool>("bits", 7, true).expect("SETBIT"));
    assert!(c.getbit::<_, bool>("bits", 7).expect("GETBIT"));
    assert_eq!(ask::<i64>(c, "SETBIT bits 100 1"), 0);
    assert_eq!(c.bitcount::<_, u64>("bits").expect("BITCOUNT"), 2);
    assert_eq!(ask::<i64>(c, "BITPOS bits 1 1"), 100);
}

fn hashes(c: &mut Connection) {
    c.hset_multiple::<_, _, _, ()>("h", &[("a", 1), ("b", 2)]).expect("HMSET");
    assert_eq!(c.hget::<_, _, Option<i64>>("h", "a").expect("HGET"), Some(1));
    let all: BTreeMap<String, i64> = c.hgetall("h").expect("HGETALL");
    assert_eq!(all, BTreeMap::from([("a".to_owned(), 1), ("b".to_owned(), 2)]));
    assert_eq!(ask::<Vec<Text>>(c, "HMGET h a none"), [some("1"), None]);
    assert_eq!(c.hincr::<_, _, _, i64>("h", "a", 4).expect("HINCRBY"), 5);
    assert_eq!(c.hincr::<_, _, _, f64>("h", "a", 0.25).expect("HINCRBYFLOAT"), 5.25);
    assert!(!c.hset_nx::<_, _, _, bool>("h", "a", 0).expect("HSETNX"));
    assert_eq!(c.hkeys::<_, BTreeSet<String>>("h").expect("HKEYS").len(), 2);
    assert_eq!(c.hvals::<_, BTreeSet<String>>("h").expect("HVALS").len(), 2);
    assert_eq!(ask::<Vec<(String, String)>>(c, "HRANDFIELD h 5 WITHVALUES").len(), 2);
    assert_eq!(ask::<i64>(c, "HSTRLEN h a"), 4);
    assert!(c.hexists::<_, _, bool>("h", "a").expect("HEXISTS"));
    assert_eq!(c.hdel::<_, _, u64>("h", &["a", "b", "none"]).expect("HDEL"), 2);
    assert!(!c.exists::<_, bool>("h").expect("EXISTS"));
    let large: Vec<(String, String)> = (0..1000).map(|i| (format!("f{i}"), i.to_string())).collect();
    c.hset_multiple::<_, _, _, ()>("large", &large).expect("HMSET");
    assert_eq!(c.hlen::<_, u64>("large").expect("HLEN"), 1000);
    let found = c.hscan_match::<_, _, (String, String)>("large", "f9*").expect("HSCAN");
    let found: BTreeMap<_, _> = found.map(|pair| pair.expect("a pair")).collect();
    assert_eq!(found.len(), 111);
    assert_eq!(found["f987"], "987");
}

fn keys(c: &mut Connection) {
    ask::<()>(c, "MSET a 1 b 2 user:1 3 user:2 4");
    assert_eq!(c.exists::<_, u64>(&["a", "a", "none"]).expect("EXISTS"), 2);
    assert_eq!(ask::<String>(c, "TYPE a"), "string");
    let users: BTreeSet<String> = c.keys("user:*").expect("KEYS");
    assert_eq!(users, BTreeSet::from(["user:1".to_owned(), "user:2".to_owned()]));
    c.rename::<_, _, ()>("a", "c").expect("RENAME");
    assert!(!c.rename_nx::<_, _, bool>("c", "b").expect("RENAMENX"));
    fails(c.rename::<_, _, ()>("none", "x"), "no such key");
    assert!(ask::<bool>(c, "COPY c d"));
    assert_eq!(ask::<u64>(c, "TOUCH c d none"), 2);
    assert_eq!(ask::<String>(c, "OBJECT ENCODING c"), "int");
    assert_eq!(c.unlink::<_, u64>(&["c", "d"]).expect("UNLINK"), 2);
    assert_eq!(c.del::<_, u64>(&["b", "none"]).expect("DEL"), 1);
    assert!(users.contains(&ask::<String>(c, "RANDOMKEY")));
}

fn scans(c: &mut Connection) {
    let mut fill = pipe();
    for i in 0..2000 {
        fill.set(format!("k:{i}"), i).ignore();
    }
    fill.exec(c).expect("a pipeline");
    let found = c.scan::<String>().expect("SCAN").map(|key| key.expect("a key"));
    assert_eq!(found.collect::<BTreeSet<_>>().len(), 2000);
    let found = c.scan_match::<_, String>("k:1?").expect("SCAN").map(|key| key.expect("a key"));
    assert_eq!(found.collect::<BTreeSet<_>>(), (0..10).map(|i| format!("k:1{i}")).collect());
}

fn expiry(c: &mut Connection) {
    c.set_ex::<_, _, ()>("e", 1, 1000).expect("SETEX");
    assert!(c.ttl::<_, i64>("e").expect("TTL") > 990);
    ask::<()>(c, "SET e 2 KEEPTTL");
    assert!(c.pttl::<_, i64>("e").expect("PTTL") > 990_000);
    assert!(c.persist::<_, bool>("e").expect("PERSIST"));
    assert_eq!(c.ttl::<_, i64>("e").expect("TTL"), -1);
    assert!(!ask::<bool>(c, "EXPIRE e 100 XX"));
    assert!(c.expire_at::<_, bool>("e", 4_000_000_000).expect("EXPIREAT"));
    assert_eq!(c.pexpire_time::<_, i64>("e").expect("PEXPIRETIME"), 4_000_000_000_000);
    assert_eq!(c.get_ex::<_, Text>("e", redis::Expiry::PERSIST).expect("GETEX"), some("2"));
    assert_eq!(c.ttl::<_, i64>("e").expect("TTL"), -1);
    assert!(c.expire::<_, bool>("e", -1).expect("EXPIRE"));
    assert_eq!(c.ttl::<_, i64>("e").expect("TTL"), -2);
    c.pset_ex::<_, _, ()>("short", 1, 20).expect("PSETEX");
    let began = Instant::now();
    while c.exists::<_, bool>("short").expect("EXISTS") {
        assert!(began.elapsed() < Duration::from_secs(30), "it did not go in 30 s");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn zsets(c: &mut Connection) {
    assert_eq!(c.zadd_multiple::<_, _, _, u64>("z", &[(1.0, "a"), (2.0, "b"), (3.5, "c")]).expect("ZADD"), 3);
    assert_eq!(ask::<u64>(c, "ZADD z XX CH 1.5 a 9 none"), 1);
    assert_eq!(c.zincr::<_, _, _, f64>("z", "a", 0.25).expect("ZINCRBY"), 1.75);
    assert_eq!(c.zscore::<_, _, Option<f64>>("z", "c").expect("ZSCORE"), Some(3.5));
    assert_eq!(c.zscore::<_, _, Option<f64>>("z", "none").expect("ZSCORE"), None);
    assert_eq!(
        c.zscore_multiple::<_, _, Vec<Option<f64>>>("z", &["c", "none"]).expect("ZMSCORE"),
        [Some(3.5), None]
    );
    let found: Pairs = c.zrange_withscores("z", 0, 1).expect("ZRANGE");
    assert_eq!(found, pairs(&[("a", 1.75), ("b", 2.0)]));
    assert_eq!(ask::<Vec<String>>(c, "ZRANGE z +inf (1.75 BYSCORE REV LIMIT 1 5"), ["b"]);
    let found: Vec<String> = c.zrangebyscore("z", 2, "+inf").expect("ZRANGEBYSCORE");
    assert_eq!(found, ["b", "c"]);
    assert_eq!(c.zrank::<_, _, Option<u64>>("z", "c").expect("ZRANK"), Some(2));
    assert_eq!(c.zrevrank::<_, _, Option<u64>>("z", "none").expect("ZREVRANK"), None);
    assert_eq!(c.zcount::<_, _, _, u64>("z", "-inf", "(2").expect("ZCOUNT"), 1);
    assert_eq!(c.zpopmin::<_, Pairs>("z", 1).expect("ZPOPMIN"), pairs(&[("a", 1.75)]));
    let popped: (String, Pairs) = ask(c, "ZMPOP 2 none z MAX COUNT 5");
    assert_eq!(popped.0, "z");
    assert_eq!(popped.1, pairs(&[("c", 3.5), ("b", 2.0)]));
    assert!(!c.exists::<_, bool>("z").expect("EXISTS"));
    ask::<()>(c, "ZADD x 1 a 2 b");
    ask::<()>(c, "ZADD y 10 b 20 c");
    assert_eq!(
        ask::<Pairs>(c, "ZUNION 2 x y WEIGHTS 2 1 WITHSCORES"),
        pairs(&[("a", 2.0), ("b", 14.0), ("c", 20.0)])
    );
    assert_eq!(c.zinterstore_max::<_, _, u64>("both", &["x", "y"]).expect("ZINTERSTORE"), 1);
    assert_eq!(c.zscore::<_, _, f64>("both", "b").expect("ZSCORE"), 10.0);
    assert_eq!(ask::<Vec<String>>(c, "ZDIFF 2 x y"), ["a"]);
    ask::<()>(c, "ZADD lex 0 a 0 b 0 c");
    assert_eq!(c.zrangebylex::<_, _, _, Vec<String>>("lex", "(a", "+").expect("ZRANGEBYLEX"), ["b", "c"]);
    assert_eq!(c.zrembylex::<_, _, _, u64>("lex", "-", "[b").expect("ZREMRANGEBYLEX"), 2);
    let large: Vec<(u32, String)> = (0..3000).map(|i| (i, format!("m{i}"))).collect();
    assert_eq!(c.zadd_multiple::<_, _, _, u64>("large", &large).expect("ZADD"), 3000);
    assert_eq!(c.zrank::<_, _, u64>("large", "m1234").expect("ZRANK"), 1234);
    assert_eq!(c.zscan::<_, (String, f64)>("large").expect("ZSCAN").count(), 3000);
}

fn sets(c: &mut Connection) {
    let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<BTreeSet<String>>();
    assert_eq!(c.sadd::<_, _, u64>("s", &["a", "b", "c", "a"]).expect("SADD"), 3);
    assert_eq!(c.scard::<_, u64>("s").expect("SCARD"), 3);
    assert!(c.sismember::<_, _, bool>("s", "a").expect("SISMEMBER"));
    assert_eq!(c.smismember::<_, _, Vec<bool>>("s", &["a", "none"]).expect("SMISMEMBER"), [true, false]);
    assert_eq!(c.smembers::<_, BTreeSet<String>>("s").expect("SMEMBERS"), names(&["a", "b", "c"]));
    assert_eq!(c.smembers::<_, BTreeSet<String>>("none").expect("SMEMBERS"), names(&[]));
    assert_eq!(c.srem::<_, _, u64>("s", &["a", "none"]).expect("SREM"), 1);
    assert!(c.smove::<_, _, _, bool>("s", "t", "b").expect("SMOVE"));
    assert!(!c.smove::<_, _, _, bool>("s", "t", "b").expect("SMOVE"));
    assert_eq!(ask::<Vec<String>>(c, "SRANDMEMBER s -3"), ["c", "c", "c"]);
    assert_eq!(c.spop::<_, Text>("s").expect("SPOP"), some("c"));
    assert_eq!(c.spop::<_, Text>("s").expect("SPOP"), None);
    assert!(!c.exists::<_, bool>("s").expect("EXISTS"));
    ask::<()>(c, "SADD x a b c");
    ask::<()>(c, "SADD y b c d");
    let union: BTreeSet<String> = c.sunion(&["x", "y"]).expect("SUNION");
    assert_eq!(union, names(&["a", "b", "c", "d"]));
    assert_eq!(c.sinter::<_, BTreeSet<String>>(&["x", "y"]).expect("SINTER"), names(&["b", "c"]));
    assert_eq!(c.sdiff::<_, BTreeSet<String>>(&["x", "y"]).expect("SDIFF"), names(&["a"]));
    assert_eq!(ask::<u64>(c, "SINTERCARD 2 x y LIMIT 1"), 1);
    assert_eq!(c.sunionstore::<_, _, u64>("u", &["x", "y"]).expect("SUNIONSTORE"), 4);
    assert_eq!(c.sinterstore::<_, _, u64>("u", &["x", "y"]).expect("SINTERSTORE"), 2);
    assert_eq!(c.sdiffstore::<_, _, u64>("u", &["x", "y"]).expect("SDIFFSTORE"), 1);
    assert_eq!(ask::<BTreeSet<String>>(c, "SPOP x 9"), names(&["a", "b", "c"]));
    let large: Vec<String> = (0..3000).map(|i| format!("m{i}")).collect();
    assert_eq!(c.sadd::<_, _, u64>("large", &large).expect("SADD"), 3000);
    let scanned: BTreeSet<String> =
        c.sscan::<_, String>("large").expect("SSCAN").map(|member| member.expect("a member")).collect();
    assert_eq!(scanned, large.into_iter().collect());
    assert_eq!(ask::<String>(c, "TYPE large"), "set");
}

fn transactions(c: &mut Connection) {
    let got: (String, i64, i64) = pipe().atomic().set("a", 1).incr("a", 1).get("a").query(c).expect("EXEC");
    assert_eq!(got, ("OK".to_owned(), 2, 2));
    let mut runs = 0;
    let got: (i64,) = redis::transaction(c, &["a"], |c, p| {
        let value: i64 = c.get("a")?;
        if runs == 0 {
            // This connection changes the watched key, so the first EXEC must do nothing.
            c.set::<_, _, ()>("a", 10)?;
        }
        runs += 1;
        p.incr("a", value).query(c)
    })
    .expect("a transaction");
    assert_eq!((got, runs), ((20,), 2));
    ask::<()>(c, "MULTI");
    assert_eq!(ask::<String>(c, "SET b lost"), "QUEUED");
    ask::<()>(c, "DISCARD");
    ask::<()>(c, "MULTI");
    fails(call::<()>(c, "SET b"), "wrong number of arguments");
    fails(call::<()>(c, "EXEC"), "Transaction discarded because of previous errors");
    assert_eq!(ask::<Text>(c, "GET b"), None);
    fails(pipe().atomic().set("b", 1).hget("b", "f").set("d", 2).exec(c), "WRONGTYPE");
    assert_eq!(ask::<Vec<String>>(c, "MGET b d"), ["1", "2"]);
}

fn pipelines(c: &mut Connection) {
    let mut many = pipe();
    for i in 0..1000 {
        many.set(format!("p:{i}"), i).ignore().get(format!("p:{i}"));
    }
    assert_eq!(many.query::<Vec<i64>>(c).expect("a pipeline"), (0..1000).collect::<Vec<_>>());
    fails(pipe().set("a", "x").incr("a", 1).set("b", "y").exec(c), "not an integer");
    assert_eq!(ask::<Vec<String>>(c, "MGET a b"), ["x", "y"]);
}

fn errors(c: &mut Connection) {
    ask::<()>(c, "SET a text");
    fails(call::<()>(c, "HGET a f"), "Operation against a key holding the wrong kind of value");
    fails(call::<()>(c, "INCR a"), "value is not an integer or out of range");
    fails(call::<()>(c, "GET"), "wrong number of arguments for 'get' command");
    fails(call::<()>(c, "NOSUCH a"), "unknown command 'NOSUCH'");
    fails(call::<()>(c, "SET a b NX XX"), "syntax error");
    assert_eq!(ask::<Text>(c, "GET a"), some("text"));
}

fn binary(c: &mut Connection) {
    let all: Vec<u8> = (0..=255).collect();
    let value = all.repeat(4096);
    c.set::<_, _, ()>(&all, &value).expect("SET");
    assert!(c.get::<_, Vec<u8>>(&all).expect("GET") == value);
    c.set::<_, _, ()>("", "").expect("SET");
    assert_eq!(c.get::<_, Option<Vec<u8>>>("").expect("GET"), Some(Vec::new()));
    cmd("HSET").arg("h\r\n").arg(&all).arg("\r\n$5\r\n").exec(c).expect("HSET");
    let got: Vec<(Vec<u8>, Vec<u8>)> = c.hgetall("h\r\n").expect("HGETALL");
    assert_eq!(got, [(all, b"\r\n$5\r\n".to_vec())]);
}

const PARTS: [(&str, fn(&mut Connection)); 13] = [
    ("server", server),
    ("strings", strings),
    ("bits", bits),
    ("hashes", hashes),
    ("keys", keys),
    ("scans", scans),
    ("expiry", expiry),
    ("zsets", zsets),
    ("sets", sets),
    ("transactions", transactions),
    ("pipelines", pipelines),
    ("errors", errors),
    ("binary", binary),
];

/// Returns the pinned version of the crate.
fn version() -> &'static str {
    let pinned = include_str!("../Cargo.toml").split_once("version = \"=").expect("a pinned version").1;
    pinned.split('"').next().unwrap_or(pinned)
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let left_out: Vec<&str> = args.get(3).map_or("", String::as_str).split(',').collect();
    let parts: Vec<_> = PARTS.iter().filter(|(name, _)| !left_out.contains(name)).collect();
    for protocol in [2, 3] {
        let address = format!("redis://{}:{}/?protocol=resp{protocol}", args[1], args[2]);
        let mut c =
            redis::Client::open(address).and_then(|client| client.get_connection()).expect("a connection");
        for (name, part) in &parts {
            ask::<()>(&mut c, "FLUSHALL");
            let run = std::panic::AssertUnwindSafe(|| part(&mut c));
            if std::panic::catch_unwind(run).is_err() {
                eprintln!("{name}, RESP{protocol}: failed, see above");
                std::process::exit(1);
            }
        }
    }
    println!("redis-rs {}: {} parts in RESP2 and RESP3", version(), parts.len());
}
