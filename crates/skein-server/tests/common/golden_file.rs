//! Golden files of requests and replies, one for each family of commands.
//!
//! ```text
//! == name            a new connection, an empty database;
//!                    with "password" in the name: a server that has one
//! > SET a "b c"      a request: words, quoted as in Rust
//! >> "*1\r\n..."     raw bytes
//! < "$-1\r\n"        Redis's reply (`closed` for a closed connection)
//! <3 "_\r\n"         Redis's reply in RESP3, where it differs
//! ! "+OK\r\n"        ours, where it differs from Redis's, after a line with the reason;
//!                    `!3` in RESP3:
//! # why: ...
//! ```
//!
//! A request with several replies (a raw pipeline) is followed by as many lines; `more` reads one
//! more reply. Every section runs twice, on a connection of each version of the protocol. Sections
//! with "hello" or "password" in their names choose the version themselves and run once. The number
//! of a connection is written as `N` and SkeinDB's version as `V`, because they differ between runs
//! and releases.

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

/// Splits at spaces outside quotes, and unquotes.
pub fn words(line: &str) -> Vec<Vec<u8>> {
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

/// Returns the bytes to send for a line, or `None` if the line is not a request.
pub fn request(line: &str) -> Option<Vec<u8>> {
    if line == "more" {
        return Some(Vec::new());
    }
    if let Some(raw) = line.strip_prefix(">> ") {
        return Some(words(raw).concat());
    }
    let words = words(line.strip_prefix("> ")?);
    let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
    for word in &words {
        bytes.extend(format!("${}\r\n", word.len()).into_bytes());
        bytes.extend([&word[..], b"\r\n"].concat());
    }
    Some(bytes)
}

/// Returns a reply in the form of the file: quoted, without the connection's number and SkeinDB's
/// version.
pub fn recorded(request: &str, reply: Option<&[u8]>) -> String {
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

/// A request and its expected replies.
pub struct GoldenExchange<'f> {
    pub number: usize,
    pub request: &'f str,
    /// Replies by the first word of their lines: `<`, `<3`, `!` or `!3`.
    replies: Vec<(&'f str, &'f str)>,
}

#[allow(dead_code, reason = "each of those who use this file asks for one of them")]
impl GoldenExchange<'_> {
    /// Returns the reply expected of SkeinDB.
    pub fn expected(&self, resp3: bool) -> &str {
        self.first(if resp3 { &["!3", "!", "<3", "<"] } else { &["!", "<"] })
    }

    /// Returns the reply of the server that recorded the file.
    pub fn theirs(&self, resp3: bool) -> &str {
        self.first(if resp3 { &["<3", "<"] } else { &["<"] })
    }

    fn first(&self, kinds: &[&str]) -> &str {
        let find =
            |kind: &&str| self.replies.iter().find(|(known, _)| known == kind).map(|(_, reply)| *reply);
        let reply = kinds.iter().find_map(find);
        reply.unwrap_or_else(|| panic!("line {}: no reply recorded", self.number))
    }
}

pub struct GoldenSection<'f> {
    pub name: &'f str,
    pub exchanges: Vec<GoldenExchange<'f>>,
}

impl GoldenSection<'_> {
    /// Returns the versions of the protocol in which the section runs; true is RESP3.
    pub fn versions(&self) -> &'static [bool] {
        let chooses = ["hello", "password"].iter().any(|word| self.name.contains(word));
        if chooses { &[false] } else { &[false, true] }
    }
}

pub fn parse(file: &str) -> Vec<GoldenSection<'_>> {
    let mut sections: Vec<GoldenSection<'_>> = Vec::new();
    for (line, number) in file.lines().zip(1..) {
        if let Some(name) = line.strip_prefix("== ") {
            sections.push(GoldenSection { name, exchanges: Vec::new() });
        } else if request(line).is_some() {
            let section = sections.last_mut().expect("a section first");
            section.exchanges.push(GoldenExchange { number, request: line, replies: Vec::new() });
        } else if line.starts_with(['<', '!']) {
            let exchange = sections.last_mut().and_then(|section| section.exchanges.last_mut());
            let reply = line.split_once(' ').expect("a kind and a reply");
            exchange.expect("a request first").replies.push(reply);
        }
    }
    sections
}
