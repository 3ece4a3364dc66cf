//! Sends raw bytes to both servers; the replies must be equal to the last byte. For inputs that are
//! not a sequence of whole replies, and for inputs that close the connection.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use super::common::{options, start_with};
use super::redis::ReferenceRedis;
use skein_store::Durability;

/// Sent after each case. The reply ends with it, unless the server has closed the connection.
const LAST: &str = "\r\nCLIENT REPLY ON\r\nECHO the-end\r\n";
const END: &[u8] = b"the-end\r\n";

const REPLIES: &[&str] = &[
    "CLIENT REPLY SKIP\r\nRESET\r\nPING\r\n",
    "CLIENT REPLY SKIP\r\nRESET\r\nPING\r\nPING\r\n",
    "CLIENT REPLY OFF\r\nPING\r\nRESET\r\nPING\r\n",
    "CLIENT REPLY SKIP\r\nCLIENT REPLY ON\r\nPING\r\n",
    "CLIENT REPLY SKIP\r\nCLIENT REPLY SKIP\r\nPING\r\nECHO a\r\n",
    "CLIENT REPLY SKIP\r\nNOSUCH\r\nECHO a\r\n",
    "CLIENT REPLY SKIP\r\nGET\r\nECHO a\r\n",
    "CLIENT REPLY SKIP\r\nCLIENT REPLY NOPE\r\nECHO b\r\n",
    "CLIENT REPLY SKIP\r\nCLIENT REPLY OFF\r\nECHO b\r\nCLIENT REPLY ON\r\n",
    "CLIENT REPLY OFF\r\nCLIENT REPLY SKIP\r\nECHO a\r\nCLIENT REPLY ON\r\nECHO b\r\n",
    "CLIENT REPLY SKIP\r\nKEYS *\r\nECHO a\r\n",
    "MULTI\r\nECHO x\r\nRESET\r\nECHO c\r\n",
    "MULTI\r\nCLIENT REPLY OFF\r\nRESET\r\nECHO b\r\n",
    "MULTI\r\nCLIENT REPLY OFF\r\nECHO a\r\nEXEC\r\nECHO b\r\nCLIENT REPLY ON\r\nECHO c\r\n",
    "MULTI\r\nECHO x\r\nCLIENT REPLY OFF\r\nECHO a\r\nEXEC\r\nECHO b\r\nCLIENT REPLY ON\r\nECHO c\r\n",
    "MULTI\r\nECHO x\r\nCLIENT REPLY SKIP\r\nECHO a\r\nECHO b\r\nEXEC\r\nECHO c\r\nECHO d\r\n",
    "MULTI\r\nECHO x\r\nCLIENT REPLY SKIP\r\nEXEC\r\nECHO c\r\nECHO d\r\n",
    "MULTI\r\nECHO x\r\nCLIENT REPLY ON\r\nEXEC\r\nECHO c\r\n",
    "MULTI\r\nCLIENT REPLY SKIP\r\nCLIENT REPLY ON\r\nECHO a\r\nEXEC\r\nECHO b\r\n",
    "MULTI\r\nCLIENT REPLY OFF\r\nCLIENT REPLY SKIP\r\nCLIENT REPLY ON\r\nECHO a\r\nEXEC\r\nECHO b\r\n",
    "MULTI\r\nCLIENT REPLY OFF\r\nCLIENT REPLY NOPE\r\nECHO a\r\nEXEC\r\nECHO b\r\n",
    "MULTI\r\nCLIENT REPLY SKIP\r\nKEYS nosuch*\r\nECHO a\r\nEXEC\r\nECHO b\r\nECHO c\r\n",
    "CLIENT REPLY OFF\r\nMULTI\r\nECHO x\r\nCLIENT REPLY ON\r\nECHO y\r\nEXEC\r\nECHO c\r\n",
    "CLIENT REPLY OFF\r\nMULTI\r\nCLIENT REPLY ON\r\nECHO y\r\nCLIENT REPLY OFF\r\nECHO z\r\nEXEC\r\nECHO c\r\n",
    "CLIENT REPLY OFF\r\nMULTI\r\nECHO x\r\nEXEC\r\nECHO c\r\n",
    "CLIENT REPLY SKIP\r\nMULTI\r\nECHO x\r\nEXEC\r\nECHO c\r\n",
    "MULTI\r\nCLIENT REPLY SKIP\r\nEXEC\r\nEXEC\r\nECHO c\r\n",
    "MULTI\r\nNOSUCH\r\nCLIENT REPLY OFF\r\nEXEC\r\nECHO c\r\n",
    "CLIENT REPLY SKIP\r\nMULTI\r\nCLIENT REPLY SKIP\r\nECHO a\r\nEXEC\r\nECHO b\r\nECHO c\r\n",
];

const HTTP: &[&str] = &[
    "POST / HTTP/1.1\r\nHost: 127.0.0.1:6380\r\nContent-Length: 14\r\n\r\nSET posted 1\r\n",
    "GET / HTTP/1.1\r\nHost: 127.0.0.1:6380\r\n\r\nSET posted 1\r\n",
    "host: x\r\nSET posted 1\r\n",
    "*1\r\n$4\r\npOsT\r\nSET posted 1\r\n",
    "MULTI\r\nPOST\r\nSET posted 1\r\n",
    "POSTS\r\nHost\r\nPING\r\n",
];

/// A line with a zero byte has no end, so the server waits for more, up to the longest line.
const ZEROES: &[&str] = &[
    "ECHO a\0b\r\n",
    "PING\0\r\nPING\r\n",
    "\0\r\nPING\r\n",
    "ECHO \"a\0b\"\r\nPING\r\n",
    "PING\r\nECHO \0\"\r\nPING\r\n",
    "*1\0\r\n$4\r\nPING\r\n",
    "*1\r\n$4\0\r\nPING\r\n",
    "*1\r\n$4\r\nPING\r\n\0\r\nPING\r\n",
];

/// Returns the reply of a server.
fn ask(address: &str, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).expect("a connection");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
    // A server that has closed the connection accepts no more bytes.
    let _ = stream.write_all(bytes);
    let (mut answer, mut piece) = (Vec::new(), [0; 4096]);
    while !answer.ends_with(END) {
        match stream.read(&mut piece) {
            Ok(0) => break,
            Ok(count) => answer.extend_from_slice(&piece[..count]),
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => break,
            Err(error) => panic!("{error}; so far: {:?}", answer.escape_ascii().to_string()),
        }
    }
    answer
}

#[track_caller]
fn assert_same(cases: impl IntoIterator<Item = Vec<u8>>) {
    let Some(redis) = ReferenceRedis::start() else { return };
    let ours = start_with(options(), Durability::Buffered);
    for case in cases {
        let [expected, got] = [&redis.address, &ours.address.to_string()].map(|address| ask(address, &case));
        assert_eq!(
            got.escape_ascii().to_string(),
            expected.escape_ascii().to_string(),
            "{}",
            case[..case.len().min(200)].escape_ascii()
        );
    }
    let asked = encode_get();
    assert_eq!(ask(&ours.address.to_string(), &asked), ask(&redis.address, &asked), "nothing was posted");
}

fn encode_get() -> Vec<u8> {
    format!("EXISTS posted{LAST}").into_bytes()
}

/// Incident: the server answered RESET after CLIENT REPLY SKIP, and the reply to EXEC was sent
/// whole or not at all, whatever its requests set. Consequence: clients that count replies read the
/// wrong one. Fix: the flags work as in Redis, and each part of EXEC's reply is written or left out
/// according to the flags at that point.
#[test]
fn wishes_for_replies_are_those_of_redis() {
    let twice = ["", "HELLO 3\r\n"];
    // The replies to HELLO differ between the servers.
    let quiet =
        |hello: &str| if hello.is_empty() { String::new() } else { format!("CLIENT REPLY SKIP\r\n{hello}") };
    let cases = REPLIES
        .iter()
        .flat_map(|case| twice.map(|hello| format!("{}{case}{LAST}", quiet(hello)).into_bytes()));
    assert_same(cases);
}

/// Incident: the server answered the lines of an HTTP request one by one. Consequence: any web page
/// that the operator opens could send commands (`fetch` with a body of them). Fix: as in Redis,
/// POST and `Host:` close the connection before any reply.
#[test]
fn requests_of_web_pages_close_the_connection() {
    assert_same(HTTP.iter().map(|case| format!("{case}{LAST}").into_bytes()));
}

/// Incident: the server answered a line with a zero byte as a request. Consequence: proxies that
/// follow Redis saw other requests in the same bytes than SkeinDB. Fix: as in Redis, such a line
/// has no end.
#[test]
fn a_byte_0_in_a_line_is_waited_past() {
    let filler = "x".repeat(65_600);
    let cases = ZEROES.iter().map(|case| format!("{case}{filler}{LAST}").into_bytes());
    assert_same(cases);
}
