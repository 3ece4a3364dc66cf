//! The requests to servers and the expected replies, in each server's protocol: `resp` (Redis and
//! SkeinDB), `sorted_set` (the same, with all keys in one sorted set) and `memcached`.

mod memcached;
mod resp;
mod sorted_set;

pub use memcached::MEMCACHED;
pub use resp::{
    HASHES as RESP_HASHES, VALUES as RESP_VALUES, any_id as resp_any_id, bulk as resp_bulk,
    command as resp_command, number as resp_number,
};
pub use sorted_set::{SCORED as RESP_SCORED, SORTED as RESP_SORTED, score};

/// The number of columns in a row.
pub const COLUMNS: usize = 10;

/// The number of bytes in a column.
pub const COLUMN_BYTES: usize = 4;

/// The columns of a row.
pub type RowColumns = [[u8; COLUMN_BYTES]; COLUMNS];

/// A request, with the values that its reply must hold.
pub enum DialectRequest<'a> {
    /// A request that does nothing.
    Ping,
    /// Reads a key's value, which must be this.
    Get(&'a [u8], &'a [u8]),
    /// Adds a key with this value.
    Add(&'a [u8], &'a [u8]),
    /// Sets the value of a present key.
    Set(&'a [u8], &'a [u8]),
    /// Adds a row.
    AddRow(&'a [u8], &'a RowColumns),
    /// Reads all columns of a row, which must be these.
    GetRow(&'a [u8], &'a RowColumns),
    /// Sets one column of a present row.
    SetColumn(&'a [u8], usize, &'a [u8; COLUMN_BYTES]),
    /// Reads one column of neighbouring rows.
    Range(NeighbourRows<'a>),
    /// Reads neighbouring keys.
    Keys(NeighbourKeys<'a>),
    /// Reads the values of several keys, which must be these.
    GetMany(&'a [KeyValuePair<'a>]),
    /// Sets the values of several present keys.
    SetMany(&'a [KeyValuePair<'a>]),
}

/// A key and its value.
pub type KeyValuePair<'a> = (&'a [u8], Vec<u8>);

/// A range of keys.
pub struct NeighbourKeys<'a> {
    /// The first key, which is present.
    pub from: &'a [u8],
    /// Its value.
    pub value: &'a [u8],
    /// The number of keys asked for.
    pub count: usize,
    /// The number of keys that the reply must have.
    pub found: usize,
    /// The keys that the reply must have.
    pub keys: &'a mut dyn Iterator<Item = &'a [u8]>,
}

/// A range of rows.
pub struct NeighbourRows<'a> {
    /// The first key, which is present.
    pub from: &'a [u8],
    /// The number of rows asked for.
    pub count: usize,
    /// The number of the column.
    pub column: usize,
    /// The number of rows that the reply must have.
    pub found: usize,
    /// The keys and columns that the reply must have.
    pub rows: &'a mut dyn Iterator<Item = (&'a [u8], [u8; COLUMN_BYTES])>,
}

/// A server's protocol.
pub trait Dialect: Sync + std::fmt::Debug {
    /// Appends a request to `out`, and its reply to `expected`.
    ///
    /// REQUIRES: the server's [`ServerAbilities`](super::ServerAbilities) include the request.
    fn ask(&self, request: DialectRequest<'_>, out: &mut Vec<u8>, expected: &mut Vec<u8>);
}

/// Appends text.
fn push(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    use std::io::Write;
    // A write to a vector cannot fail.
    let _ = out.write_fmt(text);
}
