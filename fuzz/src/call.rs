//! The parts of a sequence of commands.

mod deliveries;
mod groups;
mod hyperloglogs;
mod runs;
mod sequence;

pub use sequence::FuzzSequence;

use arbitrary::{Arbitrary, Unstructured};

pub use deliveries::{FuzzClaim, FuzzDeliveryCommand};
pub use groups::{FuzzConsumer, FuzzConsumerName, FuzzGroup, FuzzGroupCommand, FuzzGroupStart};
pub use hyperloglogs::{FuzzElement, FuzzHyperLogLogCommand, FuzzHyperLogLogKey};
pub use runs::FuzzRun;

/// Whether the sequences contain sorted sets.
pub const SORTED_SETS: bool = true;
/// Whether the sequences contain transactions.
pub const TRANSACTIONS: bool = true;

/// A key or a field. There are few, so that commands meet: half of them are one of two. The lengths
/// of the others are those at which indexes change their representation.
#[derive(Debug, Clone, Copy, Arbitrary)]
pub struct FuzzName(u8);

impl FuzzName {
    /// The two that are half of all.
    pub const OFTEN: [Self; 2] = [Self(12), Self(13)];

    /// Returns one of [`OFTEN`](Self::OFTEN).
    pub fn often(input: &mut Unstructured<'_>) -> arbitrary::Result<Self> {
        input.choose(&Self::OFTEN).copied()
    }

    /// Returns its bytes.
    pub fn bytes(self) -> Vec<u8> {
        match self.0 % 24 {
            0 => Vec::new(),
            1 => vec![0],
            2 => vec![0, 0],
            3 => b"12345678".to_vec(),
            4 => b"12345678\0".to_vec(),
            5 => vec![b'x'; 100],
            6 => [&[b'x'; 100][..], b"y"].concat(),
            7 => vec![0xff; 8],
            often @ 12.. => vec![b'k' + often % 2],
            other => vec![b'a' + other],
        }
    }
}

/// A value.
#[derive(Debug, Clone, Arbitrary)]
pub enum FuzzText {
    /// One of a few, so that equal ones meet.
    Name(FuzzName),
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
            Self::Name(name) => name.bytes(),
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

/// A position in a list or a sorted set, near its begin or its end.
#[derive(Debug, Clone, Copy, Arbitrary)]
pub struct FuzzPosition(i8);

impl FuzzPosition {
    /// Returns its number, from the end if it is negative.
    pub fn number(self) -> i64 {
        i64::from(self.0 % 8)
    }

    /// Returns the number as text.
    pub fn bytes(self) -> Vec<u8> {
        self.number().to_string().into_bytes()
    }
}

/// An end of a list.
#[derive(Debug, Clone, Copy, Arbitrary)]
#[allow(missing_docs, reason = "they are the ends' names")]
pub enum FuzzEnd {
    Left,
    Right,
}

/// A command on lists.
#[derive(Debug, Clone, Arbitrary)]
#[allow(missing_docs, reason = "they are the commands' names and arguments")]
pub enum FuzzListCommand {
    /// LPUSH, RPUSH, or their forms that want a list that is there.
    Push {
        key: FuzzName,
        end: FuzzEnd,
        texts: ([FuzzText; 2], Vec<FuzzText>),
        only_present: bool,
    },
    Pop(FuzzName, FuzzEnd, Option<u8>),
    Len(FuzzName),
    Range(FuzzName, FuzzPosition, FuzzPosition),
    Index(FuzzName, FuzzPosition),
    Set(FuzzName, FuzzPosition, FuzzText),
    Insert {
        key: FuzzName,
        before: bool,
        pivot: FuzzText,
        text: FuzzText,
    },
    Remove(FuzzName, FuzzPosition, FuzzText),
    Trim(FuzzName, FuzzPosition, FuzzPosition),
    Move {
        from: (FuzzName, FuzzEnd),
        to: (FuzzName, FuzzEnd),
    },
}

/// An identifier of a stream's entry. There are few, so that they meet.
#[derive(Debug, Clone, Copy, Arbitrary)]
pub struct FuzzStreamId(u8, u8);

impl FuzzStreamId {
    /// The first and the last one.
    pub const ENDS: [Self; 2] = [Self(0, 0), Self(1, 15)];

    /// Returns its two numbers.
    pub fn numbers(self) -> (u64, u64) {
        (u64::from(self.0 % 2), u64::from(self.1 % 16))
    }
}

/// The identifier that XADD gives.
#[derive(Debug, Clone, Copy, Arbitrary)]
#[allow(missing_docs, reason = "they are the forms' names")]
pub enum FuzzEntryId {
    Exact(FuzzStreamId),
    /// The server chooses the second number.
    Within(FuzzStreamId),
    /// The same, after the last entry.
    Next,
}

/// A command on streams.
#[derive(Debug, Clone, Arbitrary)]
#[allow(missing_docs, reason = "they are the commands' names and arguments")]
pub enum FuzzStreamCommand {
    /// XADD.
    Add {
        key: FuzzName,
        id: FuzzEntryId,
        fields: ((FuzzName, FuzzText), Vec<(FuzzName, FuzzText)>),
    },
    Len(FuzzName),
    Range {
        key: FuzzName,
        from: FuzzStreamId,
        to: FuzzStreamId,
        most: Option<u8>,
        reverse: bool,
    },
    Delete(FuzzName, FuzzStreamId, Vec<FuzzStreamId>),
    TrimToLength(FuzzName, u8),
    TrimBelow(FuzzName, FuzzStreamId),
}

impl FuzzStreamCommand {
    /// Returns one that adds an entry after the last one.
    fn append(input: &mut Unstructured<'_>) -> arbitrary::Result<Self> {
        let key = FuzzName::often(input)?;
        Ok(Self::Add { key, id: FuzzEntryId::Next, fields: (input.arbitrary()?, Vec::new()) })
    }
}

/// An operation of BITOP on several keys.
#[derive(Debug, Clone, Copy, Arbitrary)]
#[allow(missing_docs, reason = "they are the operations' names")]
pub enum FuzzBitOperation {
    And,
    Or,
    Xor,
}

/// The rule of BITFIELD for a number that does not fit.
#[derive(Debug, Clone, Copy, Arbitrary)]
#[allow(missing_docs, reason = "they are the rules' names")]
pub enum FuzzOverflow {
    Wrap,
    Sat,
    Fail,
}

/// The write of a field.
#[derive(Debug, Clone, Copy, Arbitrary)]
#[allow(missing_docs, reason = "they are the operations' names")]
pub enum FuzzFieldWrite {
    Set(i64),
    IncrBy(i64),
}

/// A field of BITFIELD, read or written.
#[derive(Debug, Clone, Copy, Arbitrary)]
pub struct FuzzField {
    /// Whether the number may be negative.
    pub signed: bool,
    width: u8,
    /// The position of its first bit.
    pub offset: u8,
    /// The written value, unless the call only reads.
    pub write: Option<(FuzzOverflow, FuzzFieldWrite)>,
}

impl FuzzField {
    /// Returns the number of its bits.
    pub fn bits(self) -> u32 {
        1 + u32::from(self.width) % if self.signed { 64 } else { 63 }
    }
}

/// A command on the bits of values.
#[derive(Debug, Clone, Arbitrary)]
#[allow(missing_docs, reason = "they are the commands' names and arguments")]
pub enum FuzzBitCommand {
    /// The first key receives the result.
    Combine(FuzzBitOperation, FuzzName, FuzzName, Vec<FuzzName>),
    Not(FuzzName, FuzzName),
    Fields(FuzzName, Vec<FuzzField>),
}

/// A database. There are few.
#[derive(Debug, Clone, Copy, Arbitrary)]
pub struct FuzzDatabase(u8);

impl FuzzDatabase {
    /// The databases that are used.
    pub const COUNT: usize = 3;

    /// Returns its number.
    pub fn number(self) -> usize {
        usize::from(self.0) % Self::COUNT
    }
}

/// A command on whole keys, in one database or two.
#[derive(Debug, Clone, Arbitrary)]
#[allow(missing_docs, reason = "they are the commands' names and arguments")]
pub enum FuzzKeyCommand {
    Select(FuzzDatabase),
    SwapDb(FuzzDatabase, FuzzDatabase),
    Move(FuzzName, FuzzDatabase),
    Copy {
        from: FuzzName,
        to: FuzzName,
        database: Option<FuzzDatabase>,
        replace: bool,
    },
    Rename(FuzzName, FuzzName),
    /// SORT by bytes, or by numbers if all elements are some.
    Sort {
        key: FuzzName,
        by_number: bool,
        descending: bool,
        limit: Option<(u8, u8)>,
        store: Option<FuzzName>,
    },
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
    ZRange(FuzzName, FuzzPosition, FuzzPosition),
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
    /// Longitudes, latitudes and members.
    GeoAdd(FuzzName, (i8, i8, FuzzName), Vec<(i8, i8, FuzzName)>),
    List(FuzzListCommand),
    Stream(FuzzStreamCommand),
    Group(FuzzGroupCommand),
    Delivery(FuzzDeliveryCommand),
    HyperLogLog(FuzzHyperLogLogCommand),
    Bits(FuzzBitCommand),
    Keyed(FuzzKeyCommand),
    FlushDb,
    FlushAll,
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
                | Self::GeoAdd(..)
        );
        SORTED_SETS || !sorted_sets
    }

    /// Returns whether its reply is the same if it passes through a script. There a number is a
    /// double, and an absent list becomes an absent text.
    pub fn fits_a_script(&self) -> bool {
        match self {
            Self::IncrBy(..)
            | Self::HIncrBy(..)
            | Self::Bits(FuzzBitCommand::Fields(..))
            | Self::List(FuzzListCommand::Pop(_, _, Some(_))) => false,
            Self::Delivery(call) => call.fits_a_script(),
            _ => true,
        }
    }
}

/// A part of a sequence.
#[derive(Debug, Clone, Arbitrary)]
pub enum FuzzStep {
    /// A command. Consecutive ones are sent as one pipeline.
    Call(FuzzCommand),
    /// Commands of the same kind on one key, in the same pipeline.
    Run(FuzzRun),
    /// Commands between MULTI and EXEC.
    Atomic(Vec<FuzzCommand>),
    /// Commands of one Lua script.
    Script(Vec<FuzzCommand>),
    /// The clock advances by this many milliseconds.
    Advance(u8),
}
