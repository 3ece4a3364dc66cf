//! The id of an entry: a time in milliseconds and a number within it.

use std::fmt;

/// The id of an entry. Ids are ordered by time, then by number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId {
    /// Milliseconds since 1970, if the server made the id.
    pub ms: u64,
    /// The number among the ids of this millisecond.
    pub seq: u64,
}

impl StreamId {
    /// The least id, which no entry has.
    pub const MIN: Self = Self { ms: 0, seq: 0 };
    /// The greatest id.
    pub const MAX: Self = Self { ms: u64::MAX, seq: u64::MAX };

    /// Returns the next id, or `None` behind the greatest one.
    pub fn next(self) -> Option<Self> {
        match self.seq.checked_add(1) {
            Some(seq) => Some(Self { seq, ..self }),
            None => Some(Self { ms: self.ms.checked_add(1)?, seq: 0 }),
        }
    }

    /// Returns the id before this one, or `None` before the least one.
    pub fn previous(self) -> Option<Self> {
        match self.seq.checked_sub(1) {
            Some(seq) => Some(Self { seq, ..self }),
            None => Some(Self { ms: self.ms.checked_sub(1)?, seq: u64::MAX }),
        }
    }

    /// Returns the bytes of the id, which have its order.
    pub fn to_bytes(self) -> [u8; 16] {
        ((u128::from(self.ms) << 64) | u128::from(self.seq)).to_be_bytes()
    }

    /// Returns the id of these bytes.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        let whole = u128::from_be_bytes(bytes);
        Self { ms: (whole >> 64) as u64, seq: whole as u64 }
    }
}

impl fmt::Display for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.ms, self.seq)
    }
}
