//! Clients that send but do not read. The server stops running and reading their requests, holds at
//! most as much as its limit allows, and answers everything once they read.

use std::io::Write;
use std::net::TcpStream;
use std::time::Duration;

use crate::common::{TestClient, encode, options, show, start_with};
use skein_server::ServerOptions;
use skein_store::Durability;

/// Returns a number of INFO.
fn told(watcher: &mut TestClient, name: &str) -> u64 {
    let info = watcher.ask("INFO stats");
    let number = info.split('|').find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    number.and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("no {name}: {info}"))
}

/// Returns how many requests of other clients have run, once some have and no more follow.
fn run_in_the_end(watcher: &mut TestClient) -> u64 {
    let (mut count, mut unchanged) = (0, 0);
    for look in 1.. {
        // Each INFO counts as a request, too.
        let now = told(watcher, "total_commands_processed").saturating_sub(look);
        unchanged = if now == count && now > 5 { unchanged + 1 } else { 0 };
        if unchanged == 20 {
            break;
        }
        count = now;
        std::thread::sleep(Duration::from_millis(10));
    }
    count
}

/// Returns a second handle that sends while this client does not read. Its timeout ends a failed
/// test.
fn patient_writer(client: &TestClient) -> TcpStream {
    let writer = client.stream.try_clone().expect("a second handle");
    writer.set_write_timeout(Some(Duration::from_secs(60))).expect("a timeout");
    writer
}

/// Runs a client that sends requests with large replies, and reads only much later. Until then, the
/// server must have run and read only as much as fits the system's socket buffers (some megabytes)
/// and the limit on waiting replies. Without the limit, it would run all of them.
fn reads_too_late(request: &[&[u8]], expected: &[u8]) {
    const REQUESTS: u64 = 1000;
    let limits = ServerOptions { output_bytes_max: 64 << 10, ..options() };
    let server = start_with(limits, Durability::None);
    let mut client = server.connect();
    let mut watcher = server.connect();
    assert_eq!(client.call(&[b"SET", b"big", &vec![b'v'; 100_000]]), b"+OK\r\n");
    assert_eq!(client.call(request), expected);
    let name = show(request[0]);
    let bytes = encode(request);
    let mut writer = patient_writer(&client);
    std::thread::scope(|scope| {
        scope.spawn(move || (0..REQUESTS).for_each(|_| writer.write_all(&bytes).expect("to send")));
        let run = run_in_the_end(&mut watcher);
        assert!(run < REQUESTS / 3, "{run} of {REQUESTS} {name} were run for a client that reads nothing");
        let read = told(&mut watcher, "total_net_input_bytes");
        assert!(read < 30_000_000, "{read} bytes of {name} were read from a client that reads nothing");
        for _ in 0..REQUESTS {
            assert!(client.reply() == expected, "{name}: another reply");
        }
    });
}

#[test]
fn a_slow_reader_does_not_grow_memory() {
    let value = vec![b'v'; 100_000];
    let bulk = [b"$100000\r\n", &value[..], b"\r\n"].concat();
    reads_too_late(&[b"GET", b"big"], &bulk);
    reads_too_late(&[b"SET", b"big", &value, b"GET"], &bulk);
    reads_too_late(&[b"MGET", b"big", b"nope"], &[b"*2\r\n", &bulk[..], b"$-1\r\n"].concat());
    reads_too_late(&[b"ECHO", &value], &bulk);
    reads_too_late(&[b"SK.RANGE", b"-", b"+"], &[b"*2\r\n$3\r\nbig\r\n", &bulk[..]].concat());
}

/// Reads, writes and commands that run alone, alternating: all are answered in order once the
/// client reads.
#[test]
fn a_slow_reader_gets_all_replies_in_order() {
    let server = start_with(ServerOptions { output_bytes_max: 64 << 10, ..options() }, Durability::None);
    let mut client = server.connect();
    let value = vec![b'v'; 100_000];
    let bulk = [b"$100000\r\n", &value[..], b"\r\n"].concat();
    assert_eq!(client.call(&[b"SET", b"big", &value]), b"+OK\r\n");
    let mut writer = patient_writer(&client);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for _ in 0..500 {
                for request in [&[&b"GET"[..], b"big"][..], &[b"INCR", b"n"], &[b"MGET", b"big", b"n"]] {
                    writer.write_all(&encode(request)).expect("to send");
                }
            }
        });
        assert!(run_in_the_end(&mut server.connect()) < 500);
        for i in 1..=500 {
            assert!(client.reply() == bulk);
            assert_eq!(client.reply(), format!(":{i}\r\n").as_bytes());
            let last = format!("${}\r\n{i}\r\n", i.to_string().len());
            assert!(client.reply() == [b"*2\r\n", &bulk[..], last.as_bytes()].concat());
        }
    });
}

/// A stop waits for clients that do not read their replies, but not for ever.
#[test]
fn a_stop_waits_for_slow_readers_up_to_its_timeout() {
    let server =
        start_with(ServerOptions { stop_timeout: Duration::from_millis(1), ..options() }, Durability::None);
    let mut client = server.connect();
    assert_eq!(client.call(&[b"SET", b"big", &vec![b'v'; 100_000]]), b"+OK\r\n");
    client.send(&encode(&[b"GET", b"big"]).repeat(1000));
    run_in_the_end(&mut server.connect());
    let report = server.stop();
    assert_eq!(report.cut_short, 1, "{report:?}");
}
