//! Requests of a client that has sent MONITOR: which of them Redis refuses.

use super::common::{TestClient, show, start};
use super::redis::ReferenceRedis;

const REQUESTS: &[&str] = &[
    "GET k",
    "SET k v",
    "MGET k j",
    "DEL k",
    "PING",
    "ECHO x",
    "PUBLISH c m",
    "SPUBLISH c m",
    "INFO server",
    "EVAL return(1) 0",
    "EVAL_RO return(1) 0",
    "FCALL f 0",
    "MULTI",
    "WATCH k",
    "UNWATCH",
    "EXEC",
    "DISCARD",
    "EXISTS k",
    "TYPE k",
    "TTL k",
    "TOUCH k",
    "TIME",
    "XREAD STREAMS k 0",
    "XINFO STREAM k",
    "XGROUP HELP",
    "XGROUP CREATE k g 0",
    "SCAN 0",
    "KEYS *",
    "DBSIZE",
    "RANDOMKEY",
    "BLPOP k 1",
    "OBJECT ENCODING k",
    "OBJECT HELP",
    "MEMORY USAGE k",
    "MEMORY DOCTOR",
    "DUMP k",
    "RESTORE k 0 x",
    "SORT k",
    "PFCOUNT k",
    "FLUSHALL",
    "SWAPDB 0 1",
    "SELECT 0",
    "CONFIG GET port",
    "CLIENT ID",
    "GET",
    "NOSUCH",
    "SCRIPT EXISTS x",
    "FUNCTION LIST",
    "FUNCTION FLUSH",
    "LATENCY LATEST",
    "PUBSUB CHANNELS",
    "SLOWLOG LEN",
    "WAIT 0 0",
    "ACL WHOAMI",
    "COMMAND COUNT",
    "RESET",
];

/// Sends requests of a monitor, and returns the replies without the lines that it receives.
fn ask(address: &str, requests: &[&str]) -> Vec<String> {
    let mut client = TestClient::new(std::net::TcpStream::connect(address).expect("a connection"));
    assert_eq!(client.ask("MONITOR"), "+OK|");
    let is_line = |reply: &str| reply.starts_with('+') && reply.contains(" [");
    let answer = |words: &&str| {
        let mut reply = client.ask(words);
        while is_line(&reply) {
            reply = show(&client.reply());
        }
        reply
    };
    requests.iter().map(answer).collect()
}

/// Incident: a monitor's GET was answered. Consequence: a client that waits for the lines of others
/// reads a value as a line. Programs that are tried with SkeinDB fail with Redis. Fix: Redis's
/// error for requests that touch keys.
#[test]
fn a_monitor_may_not_touch_keys() {
    let Some(redis) = ReferenceRedis::start() else { return };
    let running = start();
    let ours = running.address.to_string();
    let refused =
        |replies: &[String]| replies.iter().map(|reply| reply.contains("Replica")).collect::<Vec<_>>();
    for request in REQUESTS {
        let (got, expected) = (ask(&ours, &[request]), ask(&redis.address, &[request]));
        assert_eq!(refused(&got), refused(&expected), "{request}: {got:?}, in Redis {expected:?}");
        if expected[0].starts_with("-ERR Replica") {
            assert_eq!(got, expected, "{request}");
        }
    }
    let transaction = ["MULTI", "GET k", "EXEC", "RESET", "SET k v", "GET k"];
    assert_eq!(ask(&ours, &transaction), ask(&redis.address, &transaction));
}
