//! The classes of keyspace notifications, with Redis's letters.

use std::fmt;

/// A class of events, or a form in which events are published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EventClass {
    Generic = 1,
    String = 1 << 1,
    List = 1 << 2,
    Set = 1 << 3,
    Hash = 1 << 4,
    SortedSet = 1 << 5,
    Expired = 1 << 6,
    Evicted = 1 << 7,
    Stream = 1 << 8,
    Module = 1 << 9,
    New = 1 << 10,
    Miss = 1 << 11,
    /// `__keyspace@0__:KEY`, with the event as the message.
    Keyspace = 1 << 12,
    /// `__keyevent@0__:EVENT`, with the key as the message.
    Keyevent = 1 << 13,
}

/// The letters, in the order in which CONFIG GET shows them.
const LETTERS: [(u8, EventClass); 14] = [
    (b'g', EventClass::Generic),
    (b'$', EventClass::String),
    (b'l', EventClass::List),
    (b's', EventClass::Set),
    (b'h', EventClass::Hash),
    (b'z', EventClass::SortedSet),
    (b'x', EventClass::Expired),
    (b'e', EventClass::Evicted),
    (b't', EventClass::Stream),
    (b'd', EventClass::Module),
    (b'n', EventClass::New),
    (b'K', EventClass::Keyspace),
    (b'E', EventClass::Keyevent),
    (b'm', EventClass::Miss),
];

/// The classes that `A` means: all but `n` and `m`.
const ALL: u32 = (1 << 10) - 1;

/// A set of classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct EventClasses(u32);

impl EventClasses {
    pub(crate) fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    pub(crate) fn bits(self) -> u32 {
        self.0
    }

    /// Parses letters. Returns `None` if one is not known.
    pub(crate) fn parse(letters: &[u8]) -> Option<Self> {
        letters
            .iter()
            .try_fold(0, |bits, letter| {
                let of = || LETTERS.iter().find(|(known, _)| known == letter).map(|(_, class)| *class as u32);
                Some(bits | if *letter == b'A' { ALL } else { of()? })
            })
            .map(Self)
    }

    pub(crate) fn has(self, class: EventClass) -> bool {
        self.0 & class as u32 != 0
    }

    /// Returns whether any event is published in any form.
    pub(crate) fn are_published(self) -> bool {
        self.has(EventClass::Keyspace) || self.has(EventClass::Keyevent)
    }
}

impl fmt::Display for EventClasses {
    /// Writes the letters. As in Redis, `A` hides `n`.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_all = self.0 & ALL == ALL;
        if is_all {
            write!(out, "A")?;
        }
        for (letter, class) in LETTERS {
            let is_hidden = is_all && (class as u32 & ALL != 0 || class == EventClass::New);
            if self.has(class) && !is_hidden {
                write!(out, "{}", char::from(letter))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_those_of_redis() {
        for (letters, shown) in [
            ("", ""),
            ("KEA", "AKE"),
            ("mnAE", "AEm"),
            ("E$glshzxetdnK", "AKE"),
            ("nxg", "gxn"),
            ("Km$", "$Km"),
            ("AA", "A"),
        ] {
            let classes = EventClasses::parse(letters.as_bytes()).expect("known letters");
            assert_eq!(classes.to_string(), shown, "{letters}");
            assert_eq!(
                EventClasses::parse(shown.as_bytes()).map(|again| again.to_string()),
                Some(shown.to_owned())
            );
        }
        assert_eq!(EventClasses::parse(b"KEq"), None);
        assert!(!EventClasses::parse(b"A").expect("a letter").are_published());
    }
}
