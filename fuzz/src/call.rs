//! What a sequence is made of.

use arbitrary::Arbitrary;

/// Whether sorted sets are part of the sequences.
pub const SORTED_SETS: bool = true;
/// Likewise transactions.
pub const TRANSACTIONS: bool = true;

/// A key or a field: few, so that commands meet, of lengths at which indexes change their ways.
#[derive(Debug, Clone, Copy, Arbitrary)]
pub struct Name(u8);

impl Name {
    /// Its bytes.
    pub fn bytes(self) -> Vec<u8> {
        match self.0 % 12 {
            0 => Vec::new(),
            1 => vec![0],
            2 => vec![0, 0],
            3 => b"12345678".to_vec(),
            4 => b"12345678\0".to_vec(),
            5 => vec![b'x'; 100],
            6 => [&[b'x'; 100][..], b"y"].concat(),
            7 => vec![0xff; 8],
            other => vec![b'a' + other],
        }
    }
}

/// A value.
#[derive(Debug, Clone, Arbitrary)]
pub enum Text {
    /// A number as text.
    Number(i64),
    /// A number near the ends of what there is.
    Extreme(bool, u8),
    /// Any bytes.
    Bytes(Vec<u8>),
    /// As many bytes as this.
    Long(u16),
}

impl Text {
    /// Its bytes.
    pub fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Number(number) => number.to_string().into_bytes(),
            Self::Extreme(false, below) => (i64::MAX - i64::from(*below)).to_string().into_bytes(),
            Self::Extreme(true, above) => (i64::MIN + i64::from(*above)).to_string().into_bytes(),
            Self::Bytes(bytes) => bytes.clone(),
            Self::Long(len) => vec![b'l'; usize::from(*len % 5000)],
        }
    }
}

/// When SET sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Arbitrary)]
pub enum When {
    /// Always.
    Always,
    /// With NX.
    Absent,
    /// With XX.
    Present,
}

/// What SET does to the key's expiry.
#[derive(Debug, Clone, Copy, Arbitrary)]
pub enum Until {
    /// It goes.
    Never,
    /// KEEPTTL.
    Keep,
    /// PXAT, so many milliseconds after the present.
    After(u8),
}

/// A score, with one digit after the point at most.
#[derive(Debug, Clone, Copy, Arbitrary)]
pub struct Score(i8);

impl Score {
    /// As a number.
    pub fn number(self) -> f64 {
        f64::from(self.0) / 2.0
    }
}

/// A command.
#[derive(Debug, Clone, Arbitrary)]
#[allow(missing_docs, reason = "they are the commands' names and arguments")]
pub enum Call {
    Set { key: Name, value: Text, when: When, get: bool, until: Until },
    Get(Name),
    GetDel(Name),
    Append(Name, Text),
    StrLen(Name),
    IncrBy(Name, i64),
    MSet((Name, Text), Vec<(Name, Text)>),
    MGet(Name, Vec<Name>),
    Del(Name, Vec<Name>),
    Exists(Name, Vec<Name>),
    Type(Name),
    HSet(Name, (Name, Text), Vec<(Name, Text)>),
    HGet(Name, Name),
    HDel(Name, Name, Vec<Name>),
    HIncrBy(Name, Name, i64),
    HGetAll(Name),
    HLen(Name),
    PExpireAt(Name, i8),
    PExpireTime(Name),
    Persist(Name),
    DbSize,
    Keys { above: Name, reverse: bool },
    ZAdd(Name, (Score, Name), Vec<(Score, Name)>),
    ZRem(Name, Name),
    ZScore(Name, Name),
    ZRank(Name, Name),
    ZCard(Name),
    ZRange(Name, i8, i8),
}

impl Call {
    /// Whether the server has the command.
    pub fn is_there(&self) -> bool {
        let sorted_sets = matches!(
            self,
            Self::ZAdd(..)
                | Self::ZRem(..)
                | Self::ZScore(..)
                | Self::ZRank(..)
                | Self::ZCard(_)
                | Self::ZRange(..)
        );
        SORTED_SETS || !sorted_sets
    }
}

/// A part of a sequence.
#[derive(Debug, Clone, Arbitrary)]
pub enum Step {
    /// A command. Those that follow each other are sent as one pipeline.
    Call(Call),
    /// Commands between MULTI and EXEC.
    Atomic(Vec<Call>),
    /// The clock goes on by so many milliseconds.
    Advance(u8),
}
