//! Replies over `max-reply`: a command that answers with an error has changed nothing.
//!
//! Each command that writes runs beside data that makes its reply as long as it can be: by itself,
//! in a transaction, and in a transaction with replies that are too long already.

use std::collections::BTreeSet;

use crate::common::{TestClient, TestServer, options, start_on_disk, start_with};
use skein_disk::{DiskOptions, Values};
use skein_store::Durability;

/// The lowest limit, and the highest.
const LOW: &str = "CONFIG SET max-reply 1kb";
const HIGH: &str = "CONFIG SET max-reply 1gb";

/// The bytes of a value: two of them are over the low limit.
const VALUE: usize = 700;

/// Makes a key of each kind. `~` stands for a long value, which ends with the word before it.
pub(crate) const SETUP: [&str; 20] = [
    "SET s ~s~s~s",
    "SET n 1",
    "RPUSH l l1~ l2~ l3~ l4~",
    "RPUSH short 1 2",
    "SADD t t1~ t2~ t3~ t4~",
    "SADD t2 t1~ t2~ t3~",
    "ZADD z 1 z1~ 2 z2~ 3 z3~ 4 z4~",
    "HSET h f1 h1~ f2 h2~ f3 h3~ n 1",
    "PFADD p a b c",
    "GEOADD g 1 1 g1~ 1.001 1.001 g2~ 1.002 1.002 g3~",
    "XADD x 1-1 f x1~",
    "XADD x 2-1 f x2~",
    "XADD x 3-1 f x3~",
    "XADD x2 1-1 f y1~",
    "XGROUP CREATE x new 0",
    "XGROUP CREATE x old 0",
    "XGROUP CREATE x2 new 0",
    "XREADGROUP GROUP old me STREAMS x >",
    "XDEL x 2-1",
    "EXPIRE s 1000",
];

/// Requests of each command that writes. `!` marks those with a refused reply.
pub(crate) const REQUESTS: &[(&str, &[&str])] = &[
    ("append", &["APPEND s x"]),
    ("bitfield", &["BITFIELD s SET u8 0 1 GET u8 8"]),
    ("bitop", &["BITOP NOT d s"]),
    ("blmove", &["BLMOVE l d LEFT LEFT 1"]),
    ("blmpop", &["BLMPOP 1 1 l LEFT COUNT 3"]),
    ("blpop", &["BLPOP l 1", "BLPOP none l 1"]),
    ("brpop", &["BRPOP l 1"]),
    ("brpoplpush", &["BRPOPLPUSH l d 1"]),
    ("bzmpop", &["BZMPOP 1 1 z MIN COUNT 3"]),
    ("bzpopmax", &["BZPOPMAX z 1"]),
    ("bzpopmin", &["BZPOPMIN z 1"]),
    ("copy", &["COPY s d"]),
    ("decr", &["DECR n"]),
    ("decrby", &["DECRBY n 2"]),
    ("del", &["DEL s l"]),
    ("expire", &["EXPIRE l 100"]),
    ("expireat", &["EXPIREAT l 9999999999"]),
    ("flushall", &["FLUSHALL"]),
    ("flushdb", &["FLUSHDB"]),
    ("function|delete", &["FUNCTION DELETE none"]),
    ("function|flush", &["FUNCTION FLUSH"]),
    ("function|load", &["FUNCTION LOAD nothing"]),
    ("function|restore", &["FUNCTION RESTORE nothing"]),
    ("geoadd", &["GEOADD g 2 2 new"]),
    ("georadius", &["GEORADIUS g 1 1 500 km STORE d", "GEORADIUS g 1 1 500 km WITHDIST"]),
    ("georadiusbymember", &["GEORADIUSBYMEMBER g g1~ 500 km STOREDIST d"]),
    ("geosearchstore", &["GEOSEARCHSTORE d g FROMLONLAT 1 1 BYRADIUS 500 km"]),
    ("getdel", &["GETDEL s"]),
    ("getex", &["GETEX s PERSIST"]),
    ("getset", &["GETSET s new"]),
    ("hdel", &["HDEL h f1 f2 f3"]),
    ("hincrby", &["HINCRBY h n 1"]),
    ("hincrbyfloat", &["HINCRBYFLOAT h n 1"]),
    ("hmset", &["HMSET h f1 x"]),
    ("hset", &["HSET h f1 x"]),
    ("hsetnx", &["HSETNX h new x"]),
    ("incr", &["INCR n"]),
    ("incrby", &["INCRBY n 2"]),
    ("incrbyfloat", &["INCRBYFLOAT n 0.5"]),
    ("linsert", &["LINSERT l BEFORE l2~ new"]),
    ("lmove", &["LMOVE l d LEFT LEFT", "LMOVE l l LEFT RIGHT"]),
    ("lmpop", &["LMPOP 1 l LEFT COUNT 3"]),
    ("lpop", &["LPOP l", "LPOP l 3"]),
    ("lpush", &["LPUSH l x"]),
    ("lpushx", &["LPUSHX l x"]),
    ("lrem", &["LREM l 1 l2~"]),
    ("lset", &["LSET l 0 x"]),
    ("ltrim", &["LTRIM l 1 2"]),
    ("migrate", &["MIGRATE 127.0.0.1 1 s 0 100"]),
    ("move", &["MOVE s 1"]),
    ("mset", &["MSET s x d x"]),
    ("msetnx", &["MSETNX d x e x"]),
    ("persist", &["PERSIST s"]),
    ("pexpire", &["PEXPIRE l 100000"]),
    ("pexpireat", &["PEXPIREAT l 9999999999999"]),
    ("pfadd", &["PFADD p d e f"]),
    ("pfdebug", &["PFDEBUG GETREG p", "PFDEBUG TODENSE p"]),
    ("pfmerge", &["PFMERGE d p"]),
    ("psetex", &["PSETEX s 100000 x"]),
    ("rename", &["RENAME s d"]),
    ("renamenx", &["RENAMENX s d"]),
    ("restore", &["RESTORE d 0 nothing"]),
    ("restore-asking", &["RESTORE-ASKING d 0 nothing"]),
    ("rpop", &["RPOP l", "RPOP l 3"]),
    ("rpoplpush", &["RPOPLPUSH l d"]),
    ("rpush", &["RPUSH l x"]),
    ("rpushx", &["RPUSHX l x"]),
    ("sadd", &["SADD t x"]),
    ("sdiffstore", &["SDIFFSTORE d t t2"]),
    ("set", &["SET s x", "SET s x GET", "SET s x XX GET KEEPTTL"]),
    ("setbit", &["SETBIT s 1 1", "SETBIT s 1 0"]),
    ("setex", &["SETEX s 1000 x"]),
    ("setnx", &["SETNX d x"]),
    ("setrange", &["SETRANGE s 1 x"]),
    ("sinterstore", &["SINTERSTORE d t t2"]),
    ("sk.cas", &["SK.CAS n 0 x", "SK.CAS d 0 x"]),
    ("sk.delrange", &["SK.DELRANGE - +"]),
    ("smove", &["SMOVE t d t1~"]),
    ("sort", &["SORT l ALPHA STORE d", "SORT l ALPHA", "SORT short BY none GET s"]),
    ("spop", &["SPOP t", "SPOP t 3", "SPOP t 9"]),
    ("srem", &["SREM t t1~"]),
    ("sunionstore", &["SUNIONSTORE d t t2"]),
    ("swapdb", &["SWAPDB 0 1"]),
    ("unlink", &["UNLINK s l"]),
    ("xack", &["XACK x old 1-1"]),
    ("xadd", &["XADD x 9-1 f v"]),
    (
        "xautoclaim",
        &["!XAUTOCLAIM x old you 0 0", "XAUTOCLAIM x old you 0 0 JUSTID", "XAUTOCLAIM x old you 0 0 COUNT 1"],
    ),
    (
        "xclaim",
        &[
            "!XCLAIM x old you 0 1-1 3-1 LASTID 9-1",
            "!XCLAIM x old you 0 1-1 1-1 1-1",
            "!XCLAIM x new you 0 1-1 3-1 FORCE",
            "XCLAIM x old you 0 1-1 2-1 3-1 JUSTID",
        ],
    ),
    ("xdel", &["XDEL x 1-1"]),
    ("xgroup|create", &["XGROUP CREATE x more 0"]),
    ("xgroup|createconsumer", &["XGROUP CREATECONSUMER x new me"]),
    ("xgroup|delconsumer", &["XGROUP DELCONSUMER x old me"]),
    ("xgroup|destroy", &["XGROUP DESTROY x old"]),
    ("xgroup|setid", &["XGROUP SETID x new 1-1"]),
    (
        "xreadgroup",
        &[
            "!XREADGROUP GROUP new me STREAMS x >",
            "!XREADGROUP GROUP new me NOACK STREAMS x >",
            "!XREADGROUP GROUP new me BLOCK 10 STREAMS x >",
            "!XREADGROUP GROUP old me STREAMS x 0",
            "!XREADGROUP GROUP new me COUNT 1 STREAMS x2 x > >",
            "!XREADGROUP GROUP new me COUNT 1 NOACK STREAMS x2 x > >",
            "XREADGROUP GROUP new me COUNT 1 STREAMS x >",
            "!XREADGROUP GROUP new me COUNT 1 STREAMS x x > >",
        ],
    ),
    ("xsetid", &["XSETID x 9-1"]),
    ("xtrim", &["XTRIM x MAXLEN 1"]),
    ("zadd", &["ZADD z 9 x", "ZADD z INCR 1 z1~"]),
    ("zdiffstore", &["ZDIFFSTORE d 2 z t"]),
    ("zincrby", &["ZINCRBY z 1 z1~"]),
    ("zinterstore", &["ZINTERSTORE d 1 z"]),
    ("zmpop", &["ZMPOP 1 z MIN COUNT 3"]),
    ("zpopmax", &["ZPOPMAX z 3"]),
    ("zpopmin", &["ZPOPMIN z", "ZPOPMIN z 3"]),
    ("zrangestore", &["ZRANGESTORE d z 0 -1"]),
    ("zrem", &["ZREM z z1~"]),
    ("zremrangebylex", &["ZREMRANGEBYLEX z - +"]),
    ("zremrangebyrank", &["ZREMRANGEBYRANK z 0 1"]),
    ("zremrangebyscore", &["ZREMRANGEBYSCORE z 1 2"]),
    ("zunionstore", &["ZUNIONSTORE d 2 z t"]),
];

/// How a request is sent.
#[derive(Clone, Copy, Debug)]
enum Sent {
    Alone,
    InTransaction,
    /// The request stands behind one that keeps its key and has a reply over the limit by itself.
    BehindTooMuch,
}

fn expand(words: &str) -> String {
    words.replace('~', &"v".repeat(VALUE))
}

fn set_up(client: &mut TestClient) {
    let requests: Vec<String> = ["FLUSHALL"].iter().chain(&SETUP).map(|words| expand(words)).collect();
    let replies = client.ask_all(&requests);
    assert!(replies.iter().all(|reply| !reply.starts_with('-')), "{replies:?}");
}

/// Returns everything that is in database 0.
fn contents(client: &mut TestClient) -> Vec<(Vec<u8>, Vec<u8>, Vec<u8>)> {
    let keys = client.ask("KEYS *");
    let names: Vec<&str> = keys.split('|').skip(2).step_by(2).collect();
    names
        .into_iter()
        .map(|name| {
            let key = name.as_bytes();
            let dump = client.call(&[b"DUMP", key]);
            (key.to_vec(), dump, client.call(&[b"PEXPIRETIME", key]))
        })
        .collect()
}

/// Sends a request, and returns its reply without that of the transaction around it.
fn run(client: &mut TestClient, request: &str, sent: Sent) -> String {
    match sent {
        Sent::Alone => client.ask(request),
        Sent::InTransaction => {
            let replies = client.ask_all(&["MULTI".into(), request.into(), "EXEC".into()]);
            replies[2].strip_prefix("*1|").unwrap_or(&replies[2]).to_owned()
        }
        Sent::BehindTooMuch => {
            let replies = client.ask_all(&["MULTI".into(), "GETEX s".into(), request.into(), "EXEC".into()]);
            let text = expand("~s~s~s");
            let before = format!("*2|${}|{text}|", text.len());
            replies[3].strip_prefix(&before).expect("the reply of GETEX").to_owned()
        }
    }
}

fn check(server: &TestServer) {
    let mut client = server.connect();
    for (request, is_refused, sent) in
        REQUESTS.iter().flat_map(|(_, requests)| *requests).flat_map(|request| {
            let (text, is_refused) = request.strip_prefix('!').map_or((*request, false), |text| (text, true));
            [Sent::Alone, Sent::InTransaction, Sent::BehindTooMuch]
                .map(|sent| (text, is_refused || matches!(sent, Sent::BehindTooMuch), sent))
        })
    {
        set_up(&mut client);
        let before = contents(&mut client);
        client.ask(LOW);
        let reply = run(&mut client, &expand(request), sent);
        client.ask(HIGH);
        let shown = &reply[..reply.len().min(200)];
        if is_refused {
            assert!(
                reply.starts_with("-ERR") && reply.contains("limit of 1024 bytes"),
                "{request} {sent:?}: {shown}"
            );
        } else {
            assert!(!reply.contains("limit of 1024 bytes"), "{request} {sent:?}: {shown}");
        }
        if reply.starts_with('-') {
            assert!(contents(&mut client) == before, "{request} {sent:?} has changed something: {shown}");
        }
    }
}

/// Incident: XREADGROUP with a reply over `max-reply` answered an error, and had moved the group
/// on. Consequence: with NOACK the entries were lost to it. In EXEC, the reply to any command that
/// pops was omitted behind long ones. Fix: a reply is refused before the first change, and the
/// reply to a change is never omitted.
#[test]
fn a_command_whose_reply_is_refused_has_changed_nothing() {
    check(&start_with(options(), Durability::Buffered));
    check(&start_on_disk(options(), DiskOptions { values: Values::Rows, ..DiskOptions::default() }));
}

#[test]
fn each_command_that_writes_is_in_the_table() {
    let server = start_with(options(), Durability::Buffered);
    let listed = server.connect().call(&[b"COMMAND", b"LIST", b"FILTERBY", b"ACLCAT", b"write"]);
    let listed = String::from_utf8(listed).expect("names");
    let listed: BTreeSet<&str> = listed.split("\r\n").skip(2).step_by(2).collect();
    let requests: BTreeSet<&str> = REQUESTS.iter().map(|(name, _)| *name).collect();
    let missing: Vec<_> = listed.difference(&requests).collect();
    assert!(missing.is_empty(), "REQUESTS has no request of {missing:?}");
    assert_eq!(requests, listed, "REQUESTS has commands that do not write");
}
