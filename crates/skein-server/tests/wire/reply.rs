//! Replies, as the model and the server give them.

use crate::command::WireCommand;

/// A reply in RESP2, without the parts that no check needs: the kind of a text, and the words of an
/// error after its code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WireReply {
    Nil,
    Number(i64),
    Text(String),
    Error(String),
    Array(Vec<Self>),
}

impl WireReply {
    pub fn ok() -> Self {
        Self::Text("OK".to_owned())
    }

    pub fn count(number: usize) -> Self {
        Self::Number(i64::try_from(number).expect("a small number"))
    }

    pub fn flag(flag: bool) -> Self {
        Self::Number(flag.into())
    }

    pub fn element(number: u32) -> Self {
        Self::Text(number.to_string())
    }

    /// Returns the reply with an element, or with none.
    pub fn maybe(number: Option<u32>) -> Self {
        number.map_or(Self::Nil, Self::element)
    }

    pub fn elements(numbers: impl IntoIterator<Item = u32>) -> Self {
        Self::Array(numbers.into_iter().map(Self::element).collect())
    }

    pub fn error(code: &str) -> Self {
        Self::Error(code.to_owned())
    }

    /// Parses one whole reply.
    pub fn parse(bytes: &[u8]) -> Self {
        let (reply, rest) = Self::parse_first(bytes);
        assert!(rest.is_empty(), "bytes behind a reply: {}", bytes.escape_ascii());
        reply
    }

    fn parse_first(bytes: &[u8]) -> (Self, &[u8]) {
        let end = bytes.windows(2).position(|pair| pair == b"\r\n").expect("a line");
        let line = String::from_utf8_lossy(&bytes[1..end]).into_owned();
        let mut rest = &bytes[end + 2..];
        let number = || line.parse::<i64>().expect("a number");
        let reply = match bytes[0] {
            b'+' => Self::Text(line),
            b'-' => Self::Error(line.split(' ').next().unwrap_or_default().to_owned()),
            b':' => Self::Number(number()),
            b'_' => Self::Nil,
            b'$' | b'*' if number() < 0 => Self::Nil,
            b'$' => {
                let (text, after) = rest.split_at(usize::try_from(number()).expect("a length"));
                rest = &after[2..];
                Self::Text(String::from_utf8_lossy(text).into_owned())
            }
            b'*' | b'>' => {
                let elements = (0..number()).map(|_| {
                    let (element, after) = Self::parse_first(rest);
                    rest = after;
                    element
                });
                Self::Array(elements.collect())
            }
            other => panic!("a reply that begins with {:?}", char::from(other)),
        };
        (reply, rest)
    }

    /// Returns the reply in the form of the model: the members of a set are sorted as numbers, and
    /// a delivered entry has no id. A client that waits for a group may be told in two ways that
    /// the group was removed.
    pub fn of(self, command: &WireCommand) -> Self {
        match (self, command) {
            (reply, WireCommand::SetMembers(_)) => reply.sorted(),
            (
                reply @ Self::Array(_),
                WireCommand::GroupRead(key) | WireCommand::WaitGroupRead { key, .. },
            ) => {
                let value = reply.last().and_then(Self::last).and_then(Self::last).and_then(Self::last);
                let value = value.and_then(Self::last).cloned().expect("one entry with one field");
                Self::Array(vec![Self::Text(key.to_string()), value])
            }
            (Self::Error(code), WireCommand::WaitGroupRead { .. }) if code == "UNBLOCKED" => {
                Self::error("NOGROUP")
            }
            (reply, _) => reply,
        }
    }

    /// Sorts the elements of an array as numbers.
    fn sorted(self) -> Self {
        let Self::Array(mut elements) = self else { return self };
        elements.sort_by_key(|element| match element {
            Self::Text(text) => text.parse::<u32>().ok(),
            _ => None,
        });
        Self::Array(elements)
    }

    /// Returns a range of keys and contents in the form of the model, as [`of`](Self::of) does. The
    /// names of sets begin with `s`.
    pub fn of_range(self) -> Self {
        let Self::Array(parts) = self else { return self };
        let mut after_set = false;
        let parts = parts.into_iter().map(|part| {
            let part = if after_set { part.sorted() } else { part };
            after_set = matches!(&part, Self::Text(name) if name.starts_with('s'));
            part
        });
        Self::Array(parts.collect())
    }

    fn last(&self) -> Option<&Self> {
        match self {
            Self::Array(elements) => elements.last(),
            _ => None,
        }
    }
}

impl std::fmt::Display for WireReply {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Nil => out.write_str("nil"),
            Self::Number(number) => write!(out, ":{number}"),
            Self::Text(text) => out.write_str(text),
            Self::Error(code) => write!(out, "-{code}"),
            Self::Array(elements) => {
                out.write_str("[")?;
                for (at, element) in elements.iter().enumerate() {
                    write!(out, "{}{element}", if at > 0 { " " } else { "" })?;
                }
                out.write_str("]")
            }
        }
    }
}
