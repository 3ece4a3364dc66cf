//! The types of values.
//!
//! A kind of value has several types: one for each encoding, and for each version of it. Types 6
//! and 7 are values of modules. From 22 on, Redis and Valkey have types of their own for hashes
//! with expiring fields.

use crate::{RdbError, Result};

macro_rules! value_types {
    ($($(#[$doc:meta])* $kind:ident = $byte:literal,)*) => {
        /// The type of a value, with the encoding.
        #[expect(missing_docs, reason = "the names are those of Redis")]
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(u8)]
        pub enum ValueType {
            $($(#[$doc])* $kind = $byte,)*
        }

        const TYPES: &[ValueType] = &[$(ValueType::$kind),*];
    };
}

value_types! {
    String = 0,
    List = 1,
    Set = 2,
    /// Scores are texts.
    SortedSet = 3,
    Hash = 4,
    /// Scores are 8 bytes.
    SortedSet2 = 5,
    HashZipmap = 9,
    ListZiplist = 10,
    SetIntset = 11,
    SortedSetZiplist = 12,
    HashZiplist = 13,
    ListQuicklist = 14,
    Stream = 15,
    HashListpack = 16,
    SortedSetListpack = 17,
    ListQuicklist2 = 18,
    Stream2 = 19,
    SetListpack = 20,
    Stream3 = 21,
}

impl ValueType {
    /// Returns the type that this byte, at this offset, names.
    ///
    /// # Errors
    /// There is no such type, or this crate does not read it.
    pub fn of(byte: u8, offset: u64) -> Result<Self> {
        if let Some(kind) = TYPES.iter().find(|kind| **kind as u8 == byte) {
            return Ok(*kind);
        }
        Err(match byte {
            6 | 7 => RdbError::unsupported(
                offset,
                format!("type {byte} is a value of a module of Redis; remove such keys before the dump"),
            ),
            22..=25 => RdbError::unsupported(
                offset,
                format!(
                    "type {byte} is a hash whose fields expire; remove their times (HPERSIST) before the dump"
                ),
            ),
            _ => RdbError::damaged(offset, format!("type {byte}"), "the type of a value"),
        })
    }

    /// Returns the version of the format in which this type appeared; 0 for all that Redis 7.0 has.
    /// A payload of an earlier version cannot have it.
    pub fn since(self) -> u16 {
        match self {
            Self::SetListpack | Self::Stream3 => 11,
            _ => 0,
        }
    }

    /// Returns whether this is a stream.
    pub fn is_stream(self) -> bool {
        matches!(self, Self::Stream | Self::Stream2 | Self::Stream3)
    }
}
