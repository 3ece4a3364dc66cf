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
}

/// The score of all members of a set: that with which Redis counts them in ZUNION.
pub const SET_SCORE: f64 = 1.0;

/// The properties of a kind, and its codes in rows and on disk (`docs/format.md`).
struct KindTraits {
    /// The code of a row in memory, whose body is a pointer.
    row: u32,
    /// The code of a row whose members are outside of memory. It is also on disk.
    stored: u32,
    /// The kind of its log records.
    record: u8,
    /// The kind of its rows in a checkpoint.
    part: u8,
    /// Whether its members have an order by score, and so ranks.
    scores: bool,
    /// The contents of its keys, for messages.
    contents: &'static str,
}

impl CollectionKind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::SortedSet, Self::Hash, Self::Set];

    const fn traits(self) -> KindTraits {
        match self {
            Self::SortedSet => {
                KindTraits { row: 1, stored: 3, record: 6, part: 3, scores: true, contents: "a sorted set" }
            }
            Self::Hash => {
                KindTraits { row: 2, stored: 4, record: 7, part: 4, scores: false, contents: "columns" }
            }
            Self::Set => {
                KindTraits { row: 6, stored: 5, record: 8, part: 5, scores: true, contents: "a set" }
            }
        }
    }

    /// Returns whether the members have an order by score, and so ranks.
    #[inline]
    pub const fn has_scores(self) -> bool {
        self.traits().scores
    }

    /// Returns the value of a member with this score, given as 8 bytes, little-endian.
    #[inline]
    pub fn value_of(self, score: &[u8; 8]) -> &[u8] {
        if self == Self::Set { &[] } else { score }
    }

    pub(crate) fn contents(self) -> &'static str {
        self.traits().contents
    }

    #[inline]
    pub(crate) const fn row_code(self) -> u32 {
        self.traits().row
    }

    pub(crate) const fn stored_code(self) -> u32 {
        self.traits().stored
    }

    pub(crate) const fn record_code(self) -> u8 {
        self.traits().record
    }

    pub(crate) const fn part_code(self) -> u8 {
        self.traits().part
    }

    /// Returns whether this is the code of a row that owns a pointer to a collection.
    #[inline]
    pub(crate) fn is_row_code(code: u32) -> bool {
        code < u32::BITS && ROW_CODES >> code & 1 == 1
    }

    pub(crate) fn of_stored_code(code: u32) -> Option<Self> {
        Self::find(|kind| kind.stored == code)
    }

    pub(crate) fn of_record_code(code: u8) -> Option<Self> {
        Self::find(|kind| kind.record == code)
    }

    pub(crate) fn of_part_code(code: u8) -> Option<Self> {
        Self::find(|kind| kind.part == code)
    }

    fn find(is: impl Fn(KindTraits) -> bool) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| is(kind.traits()))
    }
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
