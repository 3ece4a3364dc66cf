//! Hashes with expiring fields, at a source that has such times: Redis 7.4, or Valkey 9. The tests'
//! own source answers as these do.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Output;

use crate::common::{SkeinServe, assert_partial, run};
use skeindb::client::Reply;

const TIME: &str = "4102444800000";

/// Starts a source with the hashes `expiring` and `plain`, and returns its address. The thread
/// ends with the test's process.
fn start_source() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let stream = stream.expect("a connection");
            std::thread::spawn(move || serve(stream));
        }
    });
    address
}

fn serve(mut stream: TcpStream) {
    let mut reader = BufReader::new(stream.try_clone().expect("a clone"));
    while let Some(command) = read_command(&mut reader) {
        let words: Vec<&str> = command.iter().map(String::as_str).collect();
        if stream.write_all(answer(&words).as_bytes()).is_err() {
            return;
        }
    }
}

fn read_command(reader: &mut impl BufRead) -> Option<Vec<String>> {
    let count = read_number(reader)?;
    (0..count).map(|_| read_word(reader)).collect()
}

fn read_word(reader: &mut impl BufRead) -> Option<String> {
    let len = read_number(reader)?;
    let mut bytes = vec![0; len + 2];
    reader.read_exact(&mut bytes).ok()?;
    bytes.truncate(len);
    String::from_utf8(bytes).ok()
}

/// Reads the number of a line such as `*2` or `$3`.
fn read_number(reader: &mut impl BufRead) -> Option<usize> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    line.get(1..)?.trim_end().parse().ok()
}

fn bulk(text: &str) -> String {
    format!("${}\r\n{text}\r\n", text.len())
}

fn array(items: &[String]) -> String {
    format!("*{}\r\n{}", items.len(), items.concat())
}

/// Answers as a Redis 7.4 with SkeinDB's module.
fn answer(command: &[&str]) -> String {
    let keys = || array(&[bulk("expiring"), bulk("plain")]);
    match command {
        ["PING"] => "+PONG\r\n".into(),
        ["SELECT", _] => "+OK\r\n".into(),
        ["INFO", ..] => bulk("# Keyspace\r\ndb0:keys=2,expires=0,avg_ttl=0\r\n"),
        ["DBSIZE"] => ":2\r\n".into(),
        ["SCAN", ..] => array(&[bulk("0"), keys()]),
        ["SK.RANGE", "-", ..] => keys(),
        ["SK.RANGE", ..] => array(&[]),
        ["TYPE", _] => "+hash\r\n".into(),
        ["PEXPIRETIME", _] => ":-1\r\n".into(),
        ["HSCAN", ..] => {
            let items = ["f", "1", "g", "2"].map(bulk);
            array(&[bulk("0"), array(&items)])
        }
        ["HPEXPIRETIME", key, "FIELDS", _, fields @ ..] => {
            let time = |field: &&str| match (*key, *field) {
                ("expiring", "g") => format!(":{TIME}\r\n"),
                (_, "f" | "g") => ":-1\r\n".into(),
                _ => ":-2\r\n".into(),
            };
            array(&fields.iter().map(time).collect::<Vec<_>>())
        }
        ["GET" | "LRANGE", ..] => {
            "-WRONGTYPE Operation against a key holding the wrong kind of value\r\n".into()
        }
        [name, ..] => format!("-ERR unknown command '{name}', with args beginning with: \r\n"),
        [] => "-ERR empty\r\n".into(),
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Incident: `skein copy` read a hash of Valkey 9 by `HSCAN`, which does not tell the times of its
/// fields. Consequence: "11 keys copied, 0 refused", and sessions that should have expired stayed
/// for ever. Fix: the copy asks for the times, names such a hash, and ends with exit code 4.
#[test]
fn a_hash_whose_fields_expire_is_not_copied_without_their_times() {
    let source = start_source();
    let folder = tempfile::tempdir().unwrap();
    let server = SkeinServe::start(folder.path(), &[]);
    let output = run(["copy", "--from", &source, "--to", &server.address]);
    assert!(said(&output).starts_with("1 keys copied, 1 (1 hash) refused, in "), "{}", said(&output));
    assert_partial(&output, &["not copied: \"expiring\", a hash: its fields expire", "HPERSIST"]);
    let mut client = server.client();
    assert_eq!(client.call(&[b"HLEN", b"plain"]).unwrap(), Reply::Integer(2));
    assert_eq!(client.call(&[b"EXISTS", b"expiring"]).unwrap(), Reply::Integer(0));
    server.stop();
}

/// Incident: `skein dump` of a server with the module wrote such a hash without its fields' times.
/// Consequence: a load made fields that never expire. Fix: the dump counts it, and ends with exit
/// code 4.
#[test]
fn a_hash_whose_fields_expire_is_not_dumped_without_their_times() {
    let output = run(["dump", "--from", &start_source(), "--format", "tsv"]);
    assert_partial(&output, &["left out: 1 (1 hash)", "fields of these hashes expire", "HPERSIST"]);
    assert!(said(&output).contains("plain") && !said(&output).contains("expiring"), "{}", said(&output));
}
