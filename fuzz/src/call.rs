//! The parts of a sequence of commands.

use arbitrary::Arbitrary;

/// Whether the sequences contain sorted sets.
pub const SORTED_SETS: bool = true;
/// Whether the sequences contain transactions.
pub const TRANSACTIONS: bool = true;

/// A key or a field. There are few, so that commands meet, and their lengths are those at which
/// indexes change their representation.
#[derive(Debug, Clone, Copy, Arbitrary)]
pub struct FuzzName(u8);

impl FuzzName {
    /// Returns its bytes.
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
pub enum FuzzText {
    /// A number as text.
    Number(i64),
    /// A number near the greatest or the smallest one.
    Extreme(bool, u8),
    /// Any bytes.
    Bytes(Vec<u8>),
    /// This many bytes.
    Long(u16),
}

impl FuzzText {
    /// Returns its bytes.
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

/// The condition under which SET writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Arbitrary)]
pub enum SetCondition {
    /// Always.
    Always,
    /// With NX.
    Absent,
    /// With XX.
    Present,
}

/// The effect of SET on the key's expiry time.
#[derive(Debug, Clone, Copy, Arbitrary)]
pub enum SetExpiry {
    /// Removes it.
    Never,
    /// KEEPTTL.
    Keep,
    /// PXAT, this many milliseconds after the present.
    After(u8),
}

/// A score, with at most one digit after the point.
#[derive(Debug, Clone, Copy, Arbitrary)]
pub struct FuzzScore(i8);

impl FuzzScore {
    /// Returns the score as a number.
    pub fn number(self) -> f64 {
        f64::from(self.0) / 2.0
    }
}

/// An operation on several sets.
#[derive(Debug, Clone, Copy, Arbitrary)]
#[allow(missing_docs, reason = "they are the operations' names")]
pub enum FuzzSetOperation {
    Union,
    Intersection,
    Difference,
}

impl FuzzSetOperation {
    /// Returns the command that replies with the result.
    pub fn name(self) -> &'static str {
        match self {
            Self::Union => "SUNION",
            Self::Intersection => "SINTER",
            Self::Difference => "SDIFF",
        }
    }
}

/// A command.
#[derive(Debug, Clone, Arbitrary)]
#[allow(missing_docs, reason = "they are the commands' names and arguments")]
pub enum FuzzCommand {
    Set {
        key: FuzzName,
        value: FuzzText,
        when: SetCondition,
        get: bool,
        until: SetExpiry,
    },
    Get(FuzzName),
    GetDel(FuzzName),
    Append(FuzzName, FuzzText),
    StrLen(FuzzName),
    IncrBy(FuzzName, i64),
    MSet((FuzzName, FuzzText), Vec<(FuzzName, FuzzText)>),
    MGet(FuzzName, Vec<FuzzName>),
    Del(FuzzName, Vec<FuzzName>),
    Exists(FuzzName, Vec<FuzzName>),
    Type(FuzzName),
    HSet(FuzzName, (FuzzName, FuzzText), Vec<(FuzzName, FuzzText)>),
    HGet(FuzzName, FuzzName),
    HDel(FuzzName, FuzzName, Vec<FuzzName>),
    HIncrBy(FuzzName, FuzzName, i64),
    HGetAll(FuzzName),
    HLen(FuzzName),
    PExpireAt(FuzzName, i8),
    PExpireTime(FuzzName),
    Persist(FuzzName),
    DbSize,
    Keys {
        above: FuzzName,
        reverse: bool,
    },
    ZAdd(FuzzName, (FuzzScore, FuzzName), Vec<(FuzzScore, FuzzName)>),
    ZRem(FuzzName, FuzzName),
    ZScore(FuzzName, FuzzName),
    ZRank(FuzzName, FuzzName),
    ZCard(FuzzName),
    ZRange(FuzzName, i8, i8),
    SAdd(FuzzName, FuzzName, Vec<FuzzName>),
    SRem(FuzzName, FuzzName, Vec<FuzzName>),
    SMove(FuzzName, FuzzName, FuzzName),
    SIsMember(FuzzName, FuzzName),
    SCard(FuzzName),
    SMembers(FuzzName),
    /// SPOP with a count above the number of members.
    SPopAll(FuzzName),
    SCombine(FuzzSetOperation, FuzzName, Vec<FuzzName>),
    /// The first key receives the result.
    SCombineStore(FuzzSetOperation, FuzzName, FuzzName, Vec<FuzzName>),
}

impl FuzzCommand {
    /// Returns whether the server has the command.
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
pub enum FuzzStep {
    /// A command. Consecutive ones are sent as one pipeline.
    Call(FuzzCommand),
    /// Commands between MULTI and EXEC.
    Atomic(Vec<FuzzCommand>),
    /// The clock advances by this many milliseconds.
    Advance(u8),
}
