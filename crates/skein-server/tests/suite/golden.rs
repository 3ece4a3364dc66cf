//! Our replies against those of a real `redis-server`, byte for byte.
//!
//! The files in `tests/golden`, one per family of commands, hold requests and what redis-server 7.0.15 (Debian's) answered. The test
//! needs no Redis. To record again, start two of them and run the ignored test:
//!
//! ```text
//! redis-server --port 7001 --save "" &
//! redis-server --port 7002 --save "" --requirepass secret &
//! SKEIN_GOLDEN_REDIS=127.0.0.1:7001 SKEIN_GOLDEN_REDIS_PASSWORD=127.0.0.1:7002 \
//!     cargo test -p skein-server --test suite golden -- --ignored
//! ```
//!
//! With `SKEIN_GOLDEN_FILE=strings`, that file alone. A file's lines:
//!
//! ```text
//! == name            a new connection, an empty database; with "password" in the name, a server that has one
//! > SET a "b c"      a request: words, quoted as in Rust
//! >> "*1\r\n..."     bytes as they are
//! < "$-1\r\n"        Redis's reply (`closed` for a closed connection)
//! <3 "_\r\n"         Redis's reply in RESP3, where it differs
//! ! "+OK\r\n"        ours, where it differs from Redis's, after a line that says why; `!3` in RESP3:
//! # why: ...
//! ```
//!
//! A request with several replies (a raw pipeline) is followed by as many lines; `more` asks for one reply more.
//! Every section runs twice, on a connection of each version of the protocol; but those with "hello" or "password" in
//! their names, which choose the version themselves, run once. The number of a connection is written as `N`, and
//! SkeinDB's version as `V`: they differ from run to run and from release to release.

use std::net::TcpStream;
use std::path::{Path, PathBuf};

use crate::common::{Client, encode, options, start_with};
use skein_server::ServerOptions;
use skein_store::Durability;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden");
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

/// A reply as the file has it: quoted, without the connection's number and SkeinDB's version.
fn recorded(request: &str, reply: Option<&[u8]>) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let text = quote(reply).replace(&format!(r"${}\r\n{version}\r\n", version.len()), "V");
    let before_number = match request {
        "> CLIENT ID" => ":",
        _ if request.starts_with("> HELLO") => r"$2\r\nid\r\n:",
        _ => return text,
    };
    match text.split_once(before_number) {
        None => text,
        Some((before, after)) => {
            let rest = after.trim_start_matches(|c: char| c.is_ascii_digit());
            assert!(rest.len() < after.len(), "no number: {text}");
            [before, before_number, "N", rest].concat()
        }
    }
}

/// A request, and what is to come back.
struct Exchange<'f> {
    number: usize,
    request: &'f str,
    /// By the first word of their lines: `<`, `<3`, `!` or `!3`.
    replies: Vec<(&'f str, &'f str)>,
}

impl Exchange<'_> {
    fn expected(&self, resp3: bool) -> &str {
        let find =
            |kind: &str| self.replies.iter().find(|(known, _)| *known == kind).map(|(_, reply)| *reply);
        let newer = |kind| if resp3 { find(kind) } else { None };
        let reply = newer("!3").or_else(|| find("!")).or_else(|| newer("<3")).or_else(|| find("<"));
        reply.unwrap_or_else(|| panic!("line {}: no reply recorded", self.number))
    }
}

struct Section<'f> {
    name: &'f str,
    exchanges: Vec<Exchange<'f>>,
}

impl Section<'_> {
    /// In which versions of the protocol it runs.
    fn versions(&self) -> &'static [bool] {
        let chooses = ["hello", "password"].iter().any(|word| self.name.contains(word));
        if chooses { &[false] } else { &[false, true] }
    }

    /// Whether it is about what the disk engine has not: sorted sets, or what its title says.
    fn is_of_memory_alone(&self) -> bool {
        let word = |exchange: &Exchange<'_>| words(exchange.request.strip_prefix("> ").unwrap_or_default());
        let names_z = self
            .exchanges
            .iter()
            .any(|exchange| word(exchange).first().is_some_and(|name| name.starts_with(b"Z")));
        names_z || self.name.ends_with("[memory engine]")
    }

    /// What a server answers, in order.
    fn run(&self, servers: &Servers, resp3: bool) -> Vec<String> {
        let mut client = servers.connect(self.name);
        if resp3 {
            assert!(client.call(&[b"HELLO", b"3"]).starts_with(b"%7\r\n"));
        }
        let ask = |exchange: &Exchange<'_>| {
            client.send(&request(exchange.request).expect("a request"));
            recorded(exchange.request, client.try_reply().as_deref())
        };
        self.exchanges.iter().map(ask).collect()
    }
}

fn parse(file: &str) -> Vec<Section<'_>> {
    let mut sections: Vec<Section<'_>> = Vec::new();
    for (line, number) in file.lines().zip(1..) {
        if let Some(name) = line.strip_prefix("== ") {
            sections.push(Section { name, exchanges: Vec::new() });
        } else if request(line).is_some() {
            let section = sections.last_mut().expect("a section first");
            section.exchanges.push(Exchange { number, request: line, replies: Vec::new() });
        } else if line.starts_with(['<', '!']) {
            let exchange = sections.last_mut().and_then(|section| section.exchanges.last_mut());
            let reply = line.split_once(' ').expect("a kind and a reply");
            exchange.expect("a request first").replies.push(reply);
        }
    }
    sections
}

/// The golden files, or the one that is asked for: their names and what is in them.
fn files() -> Vec<(PathBuf, String)> {
    let only = std::env::var("SKEIN_GOLDEN_FILE").ok();
    let asked = |path: &PathBuf| {
        only.as_ref().is_none_or(|only| path.file_stem().is_some_and(|stem| stem == &only[..]))
    };
    let folder = std::fs::read_dir(FOLDER).expect("the folder of golden files");
    let mut paths: Vec<PathBuf> = folder.map(|entry| entry.expect("an entry").path()).filter(asked).collect();
    paths.sort();
    assert!(!paths.is_empty(), "no golden file");
    paths
        .into_iter()
        .map(|path| (path.clone(), std::fs::read_to_string(path).expect("a golden file")))
        .collect()
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

/// Runs a section in its versions of the protocol, and notes what differs; how many requests.
fn compare(servers: &Servers, path: &Path, section: &Section<'_>, failures: &mut Vec<String>) -> usize {
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    for &resp3 in section.versions() {
        for (exchange, got) in section.exchanges.iter().zip(section.run(servers, resp3)) {
            let expected = exchange.expected(resp3);
            if got != expected {
                let (number, request) = (exchange.number, exchange.request);
                let version = if resp3 { 3 } else { 2 };
                failures.push(format!(
                    "{file}:{number}, RESP{version}: {request}\n  expected {expected}\n  got      {got}"
                ));
            }
        }
    }
    section.exchanges.len() * section.versions().len()
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
    let (mut failures, mut asked) = (Vec::new(), 0);
    let on_disk = crate::common::trie().is_some();
    for (path, file) in files() {
        for section in parse(&file)
            .iter()
            .filter(|section| !(on_disk && (section.is_of_memory_alone() || path.ends_with("memory.txt"))))
        {
            asked += compare(&servers, &path, section, &mut failures);
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
    for (path, file) in files() {
        std::fs::write(path, record_file(&servers, &file)).expect("to write the golden file");
    }
}

/// The file with the replies that the servers give now.
fn record_file(servers: &Servers, file: &str) -> String {
    let mut answered = Vec::new();
    for section in parse(file) {
        let by_version: Vec<_> =
            section.versions().iter().map(|&resp3| section.run(servers, resp3)).collect();
        for (i, exchange) in section.exchanges.iter().enumerate() {
            let older = &by_version[0][i];
            let newer = by_version.last().map(|replies| &replies[i]).filter(|newer| *newer != older);
            answered.push((exchange.number, older.clone(), newer.cloned()));
        }
    }
    let mut answered = answered.into_iter().peekable();
    let mut out = String::new();
    for (line, number) in file.lines().zip(1..).filter(|(line, _)| !line.starts_with('<')) {
        out.extend([line, "\n"]);
        if let Some((_, older, newer)) = answered.next_if(|(asked, ..)| *asked == number) {
            out.extend(["< ", &older, "\n"]);
            if let Some(newer) = newer {
                out.extend(["<3 ", &newer, "\n"]);
            }
        }
    }
    out
}
