//! Our replies against those of a real `redis-server`, byte for byte.
//!
//! `tests/golden/replies.txt` holds requests and what redis-server 7.0.15 (Debian's) answered. The test needs
//! no Redis. To record again, start two of them and run the ignored test:
//!
//! ```text
//! redis-server --port 7001 --save "" &
//! redis-server --port 7002 --save "" --requirepass secret &
//! SKEIN_GOLDEN_REDIS=127.0.0.1:7001 SKEIN_GOLDEN_REDIS_PASSWORD=127.0.0.1:7002 \
//!     cargo test -p skein-server --test golden -- --ignored
//! ```
//!
//! The file's lines:
//!
//! ```text
//! == name            a new connection, an empty database; with "password" in the name, a server that has one
//! > SET a "b c"      a request: words, quoted as in Rust
//! >> "*1\r\n..."     bytes as they are
//! < "+OK\r\n"        Redis's reply (`closed` for a closed connection)
//! ! "+OK\r\n"        ours, where it differs, after a line that says why:
//! # why: ...
//! ```
//!
//! A request with several replies (a raw pipeline) is followed by as many lines; `more` asks for one reply more.

mod common;

use std::net::TcpStream;

use common::{Client, encode, options, start_with};
use skein_server::ServerOptions;
use skein_store::Durability;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/replies.txt");
const PASSWORD: &str = "secret";

fn unescape(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        out.push(match rest.next() {
            Some(b'r') => b'\r',
            Some(b'n') => b'\n',
            Some(b't') => b'\t',
            Some(b'x') => {
                let digits = [rest.next(), rest.next()].map(|digit| char::from(digit.expect("two digits")));
                u8::from_str_radix(&String::from_iter(digits), 16).expect("two hexadecimal digits")
            }
            Some(other) => other,
            None => panic!("a backslash at the end of {text:?}"),
        });
    }
    out
}

/// Splits at spaces outside of quotes, and unquotes.
fn words(line: &str) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    let mut rest = line.trim();
    while !rest.is_empty() {
        let (word, after) = if let Some(quoted) = rest.strip_prefix('"') {
            let mut escaped = false;
            let end = quoted
                .bytes()
                .position(|byte| {
                    let ends = byte == b'"' && !escaped;
                    escaped = byte == b'\\' && !escaped;
                    ends
                })
                .unwrap_or_else(|| panic!("no closing quote: {line}"));
            (&quoted[..end], &quoted[end + 1..])
        } else {
            rest.split_at(rest.find(' ').unwrap_or(rest.len()))
        };
        found.push(unescape(word));
        rest = after.trim_start();
    }
    found
}

fn quote(reply: Option<&[u8]>) -> String {
    reply.map_or("closed".to_owned(), |reply| format!("\"{}\"", reply.escape_ascii()))
}

/// The bytes to send for a line, if it is a request.
fn request(line: &str) -> Option<Vec<u8>> {
    if line == "more" {
        return Some(Vec::new());
    }
    if let Some(raw) = line.strip_prefix(">> ") {
        return Some(words(raw).concat());
    }
    let words = words(line.strip_prefix("> ")?);
    Some(encode(&words.iter().map(Vec::as_slice).collect::<Vec<_>>()))
}

/// Where the sections run.
struct Servers {
    open: String,
    with_password: String,
}

impl Servers {
    fn connect(&self, section: &str) -> Client {
        let locked = section.contains("password");
        let address = if locked { &self.with_password } else { &self.open };
        let mut client = Client::new(TcpStream::connect(address).expect("a connection"));
        if !locked {
            assert_eq!(client.call(&[b"FLUSHALL"]), b"+OK\r\n");
        }
        client
    }
}

#[test]
fn replies_are_those_of_redis() {
    let open = start_with(options(), Durability::Buffered);
    let with_password = start_with(
        ServerOptions { password: Some(PASSWORD.as_bytes().to_vec()), ..options() },
        Durability::Buffered,
    );
    let servers =
        Servers { open: open.address.to_string(), with_password: with_password.address.to_string() };
    let file = std::fs::read_to_string(FILE).expect("the golden file");
    let mut client = None;
    let mut failures = Vec::new();
    let mut lines = file.lines().enumerate().peekable();
    let mut asked = 0;
    while let Some((number, line)) = lines.next() {
        if let Some(section) = line.strip_prefix("== ") {
            client = Some(servers.connect(section));
            continue;
        }
        let Some(bytes) = request(line) else { continue };
        let client = client.as_mut().expect("a section first");
        client.send(&bytes);
        let reply = client.try_reply();
        let mut expected = None;
        while let Some((_, line)) = lines.next_if(|(_, line)| line.starts_with(['<', '!', '#'])) {
            if !line.starts_with('#') {
                expected = Some(line[2..].to_owned());
            }
        }
        let expected = expected.unwrap_or_else(|| panic!("line {}: no reply recorded", number + 1));
        let got = quote(reply.as_deref());
        asked += 1;
        if got != expected {
            failures.push(format!("line {}: {line}\n  expected {expected}\n  got      {got}", number + 1));
        }
    }
    assert!(failures.is_empty(), "{} of {asked} differ:\n{}", failures.len(), failures.join("\n"));
}

#[test]
#[ignore = "records the replies of a real redis-server, see above"]
fn record() {
    let variable = |name: &str| std::env::var(name).unwrap_or_else(|_| panic!("set {name} to HOST:PORT"));
    let servers = Servers {
        open: variable("SKEIN_GOLDEN_REDIS"),
        with_password: variable("SKEIN_GOLDEN_REDIS_PASSWORD"),
    };
    let file = std::fs::read_to_string(FILE).expect("the golden file");
    let mut client = None;
    let mut out = String::new();
    for line in file.lines().filter(|line| !line.starts_with('<')) {
        out.push_str(line);
        out.push('\n');
        if let Some(section) = line.strip_prefix("== ") {
            client = Some(servers.connect(section));
        } else if let Some(bytes) = request(line) {
            let client = client.as_mut().expect("a section first");
            client.send(&bytes);
            out.extend(["< ", &quote(client.try_reply().as_deref()), "\n"]);
        }
    }
    std::fs::write(FILE, out).expect("to write the golden file");
}
