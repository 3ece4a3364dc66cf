//! Options of `skein serve`: a value out of range is rejected before anything is created, and every
//! limit takes effect at its value.

use std::path::Path;
use std::time::Instant;

use crate::common::{PATIENCE, SkeinServe, assert_refused, run};
use skeindb::client::{Client, Reply};

/// Returns the reply to a request.
fn ask(client: &mut Client, request: &str) -> Reply {
    let words: Vec<&[u8]> = request.split(' ').map(str::as_bytes).collect();
    client.call(&words).expect("the server answers")
}

fn assert_error(reply: &Reply, text: &str) {
    assert!(matches!(reply, Reply::Error(error) if error == text), "{text:?} expected: {reply}");
}

/// Returns a number from INFO.
fn told(client: &mut Client, name: &str) -> u64 {
    let Reply::Bulk(info) = ask(client, "INFO") else { panic!("no text") };
    let info = String::from_utf8_lossy(&info);
    let number = info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')?.parse().ok());
    number.unwrap_or_else(|| panic!("no {name}: {info}"))
}

#[track_caller]
fn wait_until(mut fine: impl FnMut() -> bool) {
    let started = Instant::now();
    while !fine() {
        assert!(started.elapsed() < PATIENCE, "it did not come");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

/// Incident: `--max-clients 0` exited with code 2, "nothing was tried", named an option
/// `clients_max`, and had created a data folder. Consequence: scripts could not rely on the exit
/// code, and users searched for an option that does not exist. Fix: all options are checked first,
/// and named as on the command line.
#[test]
fn options_out_of_range_make_no_folder() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    for (option, value, words) in [
        ("--max-key", "0", ["0", "1 to 65535"]),
        ("--max-key", "64k", ["65536", "1 to 65535"]),
        ("--max-value", "512m", ["536870912", "536870911"]),
        ("--max-memory", "much", ["much", "64m"]),
        ("--max-snapshots", "0", ["0", "1 to 65536"]),
        ("--max-snapshots", "65537", ["65537", "1 to 65536"]),
        ("--max-clients", "0", ["is 0", "1 to 1048576"]),
        ("--max-request", "3g", ["3221225472", "1024 to 2147483648"]),
        ("--max-argument", "2g", ["2147483648", "1024 to 1073741824"]),
        ("--max-arguments", "15", ["is 15", "16 to 16777216"]),
        ("--databases", "1025", ["is 1025", "1 to 1024"]),
        ("--max-pipeline", "0", ["is 0", "1 to 1048576"]),
        ("--max-output", "1", ["is 1", "1024 to 1099511627776"]),
        ("--max-reply", "1", ["is 1", "1024 to 1099511627776"]),
        ("--max-scan-cursors", "15", ["is 15", "16 to 16777216"]),
        ("--stop-timeout", "soon", ["soon", "10m"]),
        ("--stop-timeout", "99999h", ["359996400 s", "up to 86400 s"]),
        ("--log-segment-size", "1k", ["1024", "64 KiB to 4 GiB"]),
        ("--checkpoint-log-size", "1.5g", ["1.5g", "64m"]),
        ("--checkpoint-interval", "1d", ["1d", "10m"]),
        ("--checkpoint-threads", "0", ["0", "1..=1024"]),
        ("--workers", "1025", ["1025", "1..=1024"]),
        ("--listen", "0.0.0.0:0", ["0.0.0.0:0", "--password-file"]),
    ] {
        let path = data.to_str().expect("temporary paths are text");
        let listen = if option == "--listen" { vec![] } else { vec!["--listen", "127.0.0.1:0"] };
        let output = run(["serve", "--data", path, option, value].into_iter().chain(listen));
        assert_refused(&output, 2, &words);
        assert_refused(&output, 2, &[option]);
        assert!(!data.exists(), "{option} {value} made a data folder");
    }
}

/// Starts a server with these options, and connects a client.
fn serve(folder: &Path, options: &str) -> (SkeinServe, Client) {
    let server = SkeinServe::start(folder, &options.split(' ').collect::<Vec<_>>());
    let client = server.client();
    (server, client)
}

#[test]
fn keys_values_and_memory() {
    let folder = tempfile::tempdir().unwrap();
    let (server, mut client) = serve(folder.path(), "--max-key 10 --max-value 20 --max-memory 32m");
    let fits = Reply::Simple("OK".into());
    assert_eq!(ask(&mut client, "SET 1234567890 12345678901234567890"), fits);
    let refused = ask(&mut client, "SET 12345678901 v");
    assert_error(
        &refused,
        "ERR key of 11 bytes is longer than the limit of 10 bytes; shorten it or hash its tail",
    );
    let refused = ask(&mut client, "SET k 123456789012345678901");
    assert_error(
        &refused,
        "ERR value of 21 bytes is longer than the limit of 20 bytes; split it or raise the limit",
    );
    assert_eq!(ask(&mut client, "HSET h a 1 b 2"), Reply::Integer(2));
    let refused = ask(&mut client, "HSET h b 12345678901234567890");
    assert!(matches!(&refused, Reply::Error(text) if text.contains("the limit of 20 bytes")), "{refused}");
    let refused = (0..1_000).find_map(|round| {
        let keys: Vec<String> = (0..1_000).map(|n| format!("{}", round * 1_000 + n)).collect();
        let sets: Vec<[&[u8]; 3]> = keys.iter().map(|key| [b"SET", key.as_bytes(), &[b'v'; 20]]).collect();
        let replies = client.pipeline(&sets).expect("the server answers");
        replies.into_iter().find_map(|reply| if let Reply::Error(text) = reply { Some(text) } else { None })
    });
    let refused = refused.expect("no memory limit");
    assert_eq!(refused, "OOM command not allowed when used memory > 'maxmemory'.", "as Redis says it");
    assert_eq!(ask(&mut client, "DEL 1234567890 0"), Reply::Integer(2), "removing goes on");
    assert_eq!(ask(&mut client, "HDEL h a"), Reply::Integer(1), "that of columns too");
    server.stop();
}

#[test]
fn clients_and_requests() {
    let folder = tempfile::tempdir().unwrap();
    let options = "--max-clients 2 --max-request 4k --max-argument 1k --max-arguments 16 --max-pipeline 1 --max-reply 1k \
                   --max-scan-cursors 16 --workers 2";
    let (server, mut client) = serve(folder.path(), options);
    assert_eq!((told(&mut client, "workers"), told(&mut client, "maxclients")), (2, 2));
    let mut second = server.client();
    assert_eq!(ask(&mut second, "PING"), Reply::Simple("PONG".into()));
    assert_error(&server.client().call(&[b"PING"]).expect("a reply"), "ERR max number of clients reached");

    let pings: Vec<[&[u8]; 1]> = vec![[b"PING"]; 1000];
    assert_eq!(client.pipeline(&pings).expect("replies"), vec![Reply::Simple("PONG".into()); 1000]);

    let keys = (0..15).map(|n| format!("k{n}")).collect::<Vec<_>>();
    assert_eq!(ask(&mut client, &format!("DEL {}", keys.join(" "))), Reply::Integer(0), "16 arguments");
    for (request, refusal) in [
        (format!("DEL {} more", keys.join(" ")), "ERR Protocol error: invalid multibulk length"),
        (format!("SET k {}", "v".repeat(1025)), "ERR Protocol error: invalid bulk length"),
        (
            format!("DEL {}", vec!["k".repeat(1000); 5].join(" ")),
            "ERR Protocol error: request is longer than the limit of 4096 bytes; split it or raise the limit",
        ),
    ] {
        assert_error(&ask(&mut second, &request), refusal);
        // Such a connection is closed. Its slot is free once the server has noticed.
        wait_until(|| {
            second = server.client();
            second.call(&[b"PING"]).is_ok_and(|reply| reply == Reply::Simple("PONG".into()))
        });
    }

    assert_eq!(ask(&mut client, &format!("SET k {}", "v".repeat(1000))), Reply::Simple("OK".into()));
    let refused = ask(&mut client, "MGET k k");
    let limit = "the reply would be longer than the limit of 1024 bytes";
    assert!(matches!(&refused, Reply::Error(text) if text.contains(limit)), "{refused}");

    for n in 0..20 {
        ask(&mut client, &format!("SET {n} v"));
    }
    let cursor = |reply: Reply| match reply.into_array().expect("two elements").swap_remove(0) {
        Reply::Bulk(cursor) => String::from_utf8(cursor).expect("digits"),
        other => panic!("{other}"),
    };
    let first = cursor(ask(&mut client, "SCAN 0"));
    assert_ne!(cursor(ask(&mut client, &format!("SCAN {first} COUNT 1"))), "0", "it is kept");
    for _ in 0..16 {
        ask(&mut client, "SCAN 0");
    }
    let refused = ask(&mut client, &format!("SCAN {first}"));
    assert!(matches!(&refused, Reply::Error(text) if text.contains("unknown cursor")), "{refused}");
    server.stop();
}

#[test]
fn segments_and_checkpoints() {
    let folder = tempfile::tempdir().unwrap();
    let value = "v".repeat(1000);
    let fill = |client: &mut Client| {
        for n in 0..500 {
            assert_eq!(ask(client, &format!("SET {n} {value}")), Reply::Simple("OK".into()));
        }
    };
    let never = "--checkpoint-log-size 0 --checkpoint-interval 0 --workers 1 --log-segment-size 64k";
    let (server, mut client) = serve(&folder.path().join("never"), never);
    // A segment ends with the first epoch that fills it, so this takes several epochs. At the
    // default size it would take too long.
    wait_until(|| {
        fill(&mut client);
        told(&mut client, "log_segments") >= 4
    });
    assert_eq!(told(&mut client, "checkpoints"), 0);
    server.stop();

    let (server, mut client) =
        serve(&folder.path().join("size"), "--checkpoint-log-size 100k --checkpoint-interval 0");
    assert_eq!(told(&mut client, "checkpoints"), 0);
    fill(&mut client);
    wait_until(|| told(&mut client, "checkpoints") > 0);
    server.stop();

    let (server, mut client) =
        serve(&folder.path().join("time"), "--checkpoint-log-size 0 --checkpoint-interval 50ms");
    ask(&mut client, "SET k v");
    wait_until(|| told(&mut client, "checkpoints") > 0);
    server.stop();
}
