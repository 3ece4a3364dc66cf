//! Stopping and starting again: nothing may be lost, at any durability level.

use std::thread;
use std::time::{Duration, Instant};

use crate::common::{PATIENCE, SkeinServe, assert_refused, assert_sound, full_disk, scan_values};
use rustix::process::Signal;
use skeindb::client::{Client, Reply};

const LEVELS: [&str; 3] = ["none", "buffered", "sync"];

#[test]
fn a_clean_stop_loses_nothing_at_any_level() {
    for level in LEVELS {
        for signal in [Signal::TERM, Signal::INT] {
            let folder = tempfile::tempdir().unwrap();
            let server = SkeinServe::start(folder.path(), &["--durability", level]);
            let mut client = server.client();
            for n in 0..500 {
                let key = format!("k{n:03}");
                assert_eq!(client.call(&[b"SET", key.as_bytes(), b"old"]).unwrap(), Reply::ok());
            }
            client.call(&[b"SET", b"k000", b"new"]).unwrap();
            client.call(&[b"DEL", b"k001"]).unwrap();
            client.call(&[b"HSET", b"row", b"a", b"1", b"b", b"2"]).unwrap();
            let before = scan_values(&mut client, b"");
            server.signal(signal);
            let (status, said, errors) = server.wait();
            assert!(status.success(), "{level} {signal:?}: {said}{errors}");
            assert!(said.contains("stopped"), "{level} {signal:?}: it does not say what it did: {said}");

            let server = SkeinServe::start(folder.path(), &["--durability", level]);
            let mut client = server.client();
            assert_eq!(scan_values(&mut client, b""), before, "{level} {signal:?}");
            let row = client.call(&[b"HGETALL", b"row"]).unwrap().into_array().expect("a list");
            assert_eq!(row.len(), 4, "{level} {signal:?}");
            server.stop();
        }
    }
}

/// The level may change from one run to the next.
#[test]
fn levels_may_follow_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let mut expected = Vec::new();
    for (run, level) in LEVELS.iter().cycle().take(7).enumerate() {
        let server = SkeinServe::start(folder.path(), &["--durability", level]);
        let mut client = server.client();
        assert_eq!(scan_values(&mut client, b"run"), expected, "before run {run} at {level}");
        let (key, value) = (format!("run{run}").into_bytes(), level.as_bytes().to_vec());
        assert_eq!(client.call(&[b"SET", &key, &value]).unwrap(), Reply::ok());
        expected.push((key, value));
        server.stop();
    }
}

/// A stopping server must execute and answer every request that it has read: the replies and the
/// data must agree.
#[test]
fn a_stop_answers_the_requests_it_has_read() {
    for level in LEVELS {
        let folder = tempfile::tempdir().unwrap();
        let server = SkeinServe::start(folder.path(), &["--durability", level]);
        let (mut sender, mut receiver) = server.client().split();
        let writing = thread::spawn(move || {
            for n in 0..1_000_000u64 {
                sender.push(&["INCR", "count"]);
                if n % 100 == 0 && sender.flush().is_err() {
                    return;
                }
            }
        });
        let reading = thread::spawn(move || {
            let mut answered = 0;
            while let Ok(Reply::Integer(count)) = receiver.read() {
                assert_eq!(count, answered + 1);
                answered = count;
            }
            answered
        });
        thread::sleep(Duration::from_millis(100));
        server.stop();
        let answered = reading.join().unwrap();
        writing.join().unwrap();
        assert!(answered > 0, "{level}: nothing was answered");

        let server = SkeinServe::start(folder.path(), &["--durability", level]);
        let kept = server.client().call(&[b"GET", b"count"]).unwrap();
        assert_eq!(kept, Reply::Bulk(answered.to_string().into_bytes()), "{level}");
        server.stop();
    }
}

#[test]
fn a_second_process_is_refused_and_the_first_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let server = SkeinServe::start(folder.path(), &[]);
    let mut client = server.client();
    assert_eq!(client.call(&[b"SET", b"k", b"v"]).unwrap(), Reply::ok());
    let second = SkeinServe::try_start(folder.path(), &[]).expect_err("the folder is in use");
    assert_refused(&second, 1, &[folder.path().to_str().unwrap(), "in use"]);
    assert_eq!(client.call(&[b"GET", b"k"]).unwrap(), Reply::Bulk(b"v".to_vec()));
    server.kill();
    // A process that died holds no lock.
    SkeinServe::start(folder.path(), &[]).stop();
}

#[test]
fn shutdown_stops_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let server = SkeinServe::start(folder.path(), &["--durability", "buffered"]);
    let mut client = server.client();
    assert_eq!(client.call(&[b"SET", b"k", b"v"]).unwrap(), Reply::ok());
    assert!(client.call(&[b"SHUTDOWN"]).is_err(), "SHUTDOWN answers nothing and closes");
    let (status, ..) = server.wait();
    assert!(status.success());
    let server = SkeinServe::start(folder.path(), &[]);
    assert_eq!(server.client().call(&[b"GET", b"k"]).unwrap(), Reply::Bulk(b"v".to_vec()));
    server.stop();
}

#[test]
fn the_greeting_and_the_last_message_are_complete() {
    let folder = tempfile::tempdir().unwrap();
    let server = SkeinServe::start(folder.path(), &["--durability", "sync", "--workers", "1"]);
    let (data, port) =
        (folder.path().to_str().unwrap(), server.address.split_once(':').unwrap().1.to_owned());
    for part in
        ["masstree", "1 worker,", "durability sync", data, "0 keys (", &format!("redis-cli -p {port}")]
    {
        assert!(server.greeting.contains(part), "{part:?} is not in: {}", server.greeting);
    }
    assert_eq!(server.client().call(&[b"SET", b"k", b"v"]).unwrap(), Reply::ok());
    let said = server.stop();
    for part in ["SIGTERM: stopping", "stopped after 1 request in", "everything is on disk"] {
        assert!(said.contains(part), "{part:?} is not in: {said}");
    }
    let server = SkeinServe::start(folder.path(), &[]);
    assert!(server.greeting.contains("1 key ("), "{}", server.greeting);
    server.stop();
}

/// A disk that is full: writes must be answered with an error, reads must work, and acknowledged
/// writes must be there after a restart on a sound disk.
#[test]
fn a_full_disk_stops_writes_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let options = ["--durability", "sync", "--workers", "1", "--log-segment-size", "256k"];
    let server = SkeinServe::start_on_a_small_disk(folder.path(), &options);
    let mut client = server.client();
    for key in [b"a", b"b"] {
        assert_eq!(client.call(&[b"SET", key, b"kept"]).unwrap(), Reply::ok());
    }
    let large = vec![b'x'; 8 << 20];
    let refused = client.call(&[b"SET", b"large", &large]).unwrap().to_string();
    assert!(refused.contains("MISCONF") && refused.contains("writes are stopped"), "{refused}");
    // A connection that waited for the disk is closed; the others continue.
    let mut client = server.client();
    assert_eq!(client.call(&[b"GET", b"a"]).unwrap(), Reply::Bulk(b"kept".to_vec()));
    for command in [&[&b"SET"[..], b"c", b"1"][..], &[b"INCR", b"n"], &[b"DEL", b"a"]] {
        let refused = client.call(command).unwrap().to_string();
        assert!(refused.contains("MISCONF"), "{refused}");
    }
    assert_eq!(client.call(&[b"MGET", b"a", b"b"]).unwrap().to_string(), "1) \"kept\"\n2) \"kept\"");
    let load = crate::common::run_with_input(["load", "-", "--to", &server.address], b"k\n");
    crate::common::assert_refused(&load, 1, &["line 1", "MISCONF", "0 loaded before"]);
    server.signal(Signal::TERM);
    let (status, _, errors) = server.wait();
    assert_eq!(status.code(), Some(1), "{errors}");
    assert!(errors.contains("writes are stopped"), "{errors}");

    let server = SkeinServe::start(folder.path(), &options);
    let kept = server.client().call(&[b"MGET", b"a", b"b"]).unwrap().to_string();
    assert_eq!(kept, "1) \"kept\"\n2) \"kept\"");
    server.stop();
}

/// Incident: after a full disk, a server rejected writes until somebody restarted it. Fix: it
/// resumes by itself once there is space, and loses no acknowledged write. In the test the limit on
/// file sizes stands for the disk: lifting it needs no right that a test lacks.
#[test]
fn a_full_disk_that_is_emptied_takes_writes_again() {
    for level in ["buffered", "sync"] {
        let folder = tempfile::tempdir().unwrap();
        // Segments begin with 1 MiB, and the fifth is the first that is too large.
        let options = ["--durability", level, "--workers", "1"];
        let server = SkeinServe::start_on_a_small_disk(folder.path(), &options);
        let (mut written, value) = (Vec::new(), vec![b'x'; 20_000]);
        let fill = |written: &mut Vec<u32>, client: &mut Client| {
            let number = written.last().map_or(0, |last| last + 1);
            let reply = client.call(&[b"SET", number.to_string().as_bytes(), &value]);
            let reply = reply.expect("the server answers");
            if reply == Reply::ok() {
                written.push(number);
            }
            reply
        };
        for turn in 0..2 {
            let (mut client, mut refused) = (server.client(), String::new());
            while refused.is_empty() {
                if let Reply::Error(error) = fill(&mut written, &mut client) {
                    refused = error;
                }
                assert!(written.len() < 10_000, "{level}: the disk does not fill");
            }
            assert!(refused.contains("MISCONF") && refused.contains("make room"), "{level}: {refused}");
            // Other clients can still read, and a write returns the reason why it is rejected.
            let mut client = server.client();
            assert!(client.call(&[b"GET", b"0"]).unwrap().bytes().is_some(), "{level}: reads stop");
            let info = client.call(&[b"INFO", b"persistence"]).unwrap();
            let info = String::from_utf8_lossy(info.bytes().unwrap()).into_owned();
            assert!(
                info.contains("make room") && info.contains("aof_last_write_status:err"),
                "{level}: {info}"
            );
            server.limit_files(if turn == 0 { Some(12 << 20) } else { None });
            // The server checks for space several times a second.
            let started = Instant::now();
            while fill(&mut written, &mut client) != Reply::ok() {
                assert!(started.elapsed() < PATIENCE, "{level}: writes do not go on");
                thread::sleep(Duration::from_millis(20));
            }
            let info = client.call(&[b"INFO", b"persistence"]).unwrap();
            let info = String::from_utf8_lossy(info.bytes().unwrap()).into_owned();
            assert!(info.contains("writes_stopped:no"), "{level}: {info}");
        }
        let mut client = server.client();
        assert_eq!(client.call(&[b"SAVE"]).unwrap(), Reply::ok());
        assert_eq!(fill(&mut written, &mut client), Reply::ok());
        if level == "buffered" {
            // On disk within 200 ms; a busy machine gets more.
            thread::sleep(Duration::from_secs(2));
        }
        server.kill();
        assert_sound(folder.path());
        let server = SkeinServe::start(folder.path(), &options);
        let mut client = server.client();
        for number in &written {
            let kept = client.call(&[b"STRLEN", number.to_string().as_bytes()]).unwrap();
            assert_eq!(kept, Reply::Integer(20_000), "{level}: {number} of {} is lost", written.len());
        }
        server.stop();
    }
}

/// Incident: a server logged to a file on a full disk, and the first line that it could not write
/// ended it by a panic. Fix: lines that cannot be logged are lost, and nothing else.
#[test]
fn a_full_disk_under_the_log_of_messages_stops_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let server = SkeinServe::start_with_errors_to(full_disk(), folder.path(), &["--log-level", "trace"]);
    let mut client = server.client();
    assert_eq!(client.call(&[b"SET", b"goose", b"grey"]).unwrap(), Reply::ok());
    // The worker logs bytes that are not a request.
    let (mut sender, mut receiver) = server.client().split();
    sender.push_raw(b"*x\r\n");
    sender.flush().unwrap();
    assert!(matches!(receiver.read().unwrap(), Reply::Error(_)));
    assert_eq!(client.call(&[b"GET", b"goose"]).unwrap(), Reply::Bulk(b"grey".to_vec()));
    server.stop();
}

/// Incident: SIGHUP ended the server like a crash. Consequence: closing the terminal in which it
/// was started lost the writes that were not yet on disk. Fix: like Redis, it continues without its
/// terminal.
#[test]
fn a_closed_terminal_stops_nothing() {
    let folder = tempfile::tempdir().unwrap();
    // Its standard error cannot be written, as with a closed terminal.
    let server = SkeinServe::start_with_errors_to(full_disk(), folder.path(), &["--durability", "none"]);
    let mut client = server.client();
    for n in 0..100 {
        server.signal(Signal::HUP);
        let key = format!("k{n:03}");
        assert_eq!(client.call(&[b"SET", key.as_bytes(), b"kept"]).unwrap(), Reply::ok());
    }
    server.signal(Signal::TERM);
    let (status, said, _) = server.wait();
    assert!(status.success() && said.contains("stopped"), "{status}: {said}");
    let server = SkeinServe::start(folder.path(), &["--durability", "none"]);
    assert_eq!(scan_values(&mut server.client(), b"k").len(), 100);
    server.stop();
}
