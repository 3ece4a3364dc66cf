//! The kinds of collections. A kind's codes and properties are here alone; all other code asks for
//! them. So a new kind is a variant, and its row in [`KindTraits`].

/// The kind of a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CollectionKind {
    /// Members with scores.
    SortedSet,
    /// Spread columns: too many for a row.
    Hash,
    /// Members alone. Each has the score [`SET_SCORE`], which is not stored.
    Set,
    /// Elements in an order of their own. The name of a member is its position, and its value is
    /// the element.
    List,
    /// The entries of a stream and its consumer groups, as records of the data model. The name of a
    /// member says which record it is.
    Stream,
}

/// The score of all members of a set: that with which Redis counts them in ZUNION.
pub const SET_SCORE: f64 = 1.0;

/// The properties of a kind, and its codes in rows and on disk (`docs/format.md`).
struct KindTraits {
    /// The code of a row in memory with a pointer as its body.
    row: u32,
    /// The code of a row with members outside of memory. It is also on disk.
    stored: u32,
    /// The kind of its log records.
    record: u8,
    /// The kind of its rows in a checkpoint.
    part: u8,
    /// The code of a row that has its members packed, in memory and on disk, and the kind of its log
    /// records; `None` if such rows do not exist.
    packed: Option<u8>,
    /// The order of its members besides that of their names.
    order: MemberOrder,
    /// The contents of its keys, for messages.
    contents: &'static str,
}

/// The order of a collection's members besides that of their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberOrder {
    /// None: members have values, and no ranks.
    Unranked,
    /// By the score in the member's value.
    ByScore,
    /// By name, counted: all members have the score [`SET_SCORE`], which is not stored.
    ByName,
}

impl CollectionKind {
    /// All kinds.
    pub const ALL: [Self; 5] = [Self::SortedSet, Self::Hash, Self::Set, Self::List, Self::Stream];

    const fn traits(self) -> KindTraits {
        use MemberOrder::{ByName, ByScore, Unranked};
        match self {
            Self::SortedSet => KindTraits {
                row: 1,
                stored: 3,
                record: 6,
                part: 3,
                packed: Some(11),
                order: ByScore,
                contents: "a sorted set",
            },
            Self::Hash => KindTraits {
                row: 2,
                stored: 4,
                record: 7,
                part: 4,
                packed: None,
                order: Unranked,
                contents: "columns",
            },
            Self::Set => KindTraits {
                row: 6,
                stored: 5,
                record: 8,
                part: 5,
                packed: Some(12),
                order: ByName,
                contents: "a set",
            },
            Self::List => KindTraits {
                row: 8,
                stored: 7,
                record: 9,
                part: 6,
                packed: Some(13),
                order: ByName,
                contents: "a list",
            },
            Self::Stream => KindTraits {
                row: 10,
                stored: 9,
                record: 10,
                part: 7,
                packed: None,
                order: ByName,
                contents: "a stream",
            },
        }
    }

    /// Returns the order of the members besides that of their names.
    #[inline]
    pub const fn order(self) -> MemberOrder {
        self.traits().order
    }

    /// Returns whether the members have a counted order, and so ranks.
    #[inline]
    pub const fn has_ranks(self) -> bool {
        !matches!(self.order(), MemberOrder::Unranked)
    }

    /// Returns whether its members are those of a set, sorted or not.
    #[inline]
    pub const fn is_set(self) -> bool {
        matches!(self, Self::SortedSet | Self::Set)
    }

    /// Returns the score of a member with this value.
    #[inline]
    pub fn score_in(self, value: &[u8]) -> f64 {
        if matches!(self, Self::List | Self::Stream) { SET_SCORE } else { score_in(value) }
    }

    /// Returns the value of a member with this score, given as 8 bytes, little-endian.
    #[inline]
    pub fn value_of(self, score: &[u8; 8]) -> &[u8] {
        if self == Self::Set { &[] } else { score }
    }

    /// Returns the contents of its keys, for messages.
    pub fn contents(self) -> &'static str {
        self.traits().contents
    }

    /// Returns the code of a row in memory that owns a pointer to the collection.
    #[inline]
    pub const fn row_code(self) -> u32 {
        self.traits().row
    }

    /// Returns the code of a row with members outside of memory.
    pub const fn stored_code(self) -> u32 {
        self.traits().stored
    }

    /// Returns the kind of its log records.
    pub const fn record_code(self) -> u8 {
        self.traits().record
    }

    /// Returns the kind of its rows in a checkpoint.
    pub const fn part_code(self) -> u8 {
        self.traits().part
    }

    /// Returns the code of a row that has the members packed; `None` if there are no such rows.
    #[inline]
    pub const fn packed_code(self) -> Option<u8> {
        self.traits().packed
    }

    /// Returns the kind that has this code for its packed rows.
    pub fn of_packed_code(code: u8) -> Option<Self> {
        Self::find(|kind| kind.packed == Some(code))
    }

    /// Returns the kind of a row with this code, wherever its members are.
    pub fn of_any_row_code(code: u32) -> Option<Self> {
        let packed = |kind: &KindTraits| kind.packed.map(u32::from) == Some(code);
        Self::find(|kind| kind.row == code || kind.stored == code || packed(&kind))
    }

    /// Returns whether this is the code of a row that owns a pointer to a collection.
    #[inline]
    pub fn is_row_code(code: u32) -> bool {
        code < u32::BITS && ROW_CODES >> code & 1 == 1
    }

    /// Returns the kind with this [`stored_code`](Self::stored_code).
    pub fn of_stored_code(code: u32) -> Option<Self> {
        Self::find(|kind| kind.stored == code)
    }

    /// Returns the kind with this [`record_code`](Self::record_code).
    pub fn of_record_code(code: u8) -> Option<Self> {
        Self::find(|kind| kind.record == code)
    }

    /// Returns the kind with this [`part_code`](Self::part_code).
    pub fn of_part_code(code: u8) -> Option<Self> {
        Self::find(|kind| kind.part == code)
    }

    fn find(is: impl Fn(KindTraits) -> bool) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| is(kind.traits()))
    }
}

/// Returns the score in the value of a set's member. The members of a set that is not sorted have
/// no value.
#[inline]
pub fn score_in(value: &[u8]) -> f64 {
    value.try_into().map_or(SET_SCORE, f64::from_le_bytes)
}

/// The codes of all rows that own a pointer, one bit each: each read of a collection looks at them.
const ROW_CODES: u32 = {
    let (mut bits, mut at) = (0, 0);
    while at < CollectionKind::ALL.len() {
        bits |= 1 << CollectionKind::ALL[at].row_code();
        at += 1;
    }
    bits
};
