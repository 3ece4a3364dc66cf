//! What is asked of servers, in their own words.

mod memcached;
mod resp;
mod sorted_set;

pub use memcached::MEMCACHED;
pub use resp::{HASHES as RESP_HASHES, VALUES as RESP_VALUES};
pub use sorted_set::{SCORED as RESP_SCORED, SORTED as RESP_SORTED, score};

/// Columns of a row.
pub const COLUMNS: usize = 10;

/// Bytes of a column.
pub const COLUMN_BYTES: usize = 4;

/// The columns of a row.
pub type RowColumns = [[u8; COLUMN_BYTES]; COLUMNS];

/// What is asked, and how it must be answered.
pub enum DialectRequest<'a> {
    /// Nothing.
    Ping,
    /// A key's value, which is this.
    Get(&'a [u8], &'a [u8]),
    /// A new key, with its value.
    Add(&'a [u8], &'a [u8]),
    /// A key that is there gets a value.
    Set(&'a [u8], &'a [u8]),
    /// A new row.
    AddRow(&'a [u8], &'a RowColumns),
    /// All columns of a row, which are these.
    GetRow(&'a [u8], &'a RowColumns),
    /// A column of a row that is there gets a value.
    SetColumn(&'a [u8], usize, &'a [u8; COLUMN_BYTES]),
    /// One column of neighbouring rows.
    Range(NeighbourRows<'a>),
    /// Neighbouring keys.
    Keys(NeighbourKeys<'a>),
    /// The values of several keys.
    GetMany(&'a [KeyValuePair<'a>]),
    /// Several keys that are there get values.
    SetMany(&'a [KeyValuePair<'a>]),
}

/// A key and its value.
pub type KeyValuePair<'a> = (&'a [u8], Vec<u8>);

/// Neighbouring keys.
pub struct NeighbourKeys<'a> {
    /// The first key, which is there.
    pub from: &'a [u8],
    /// Its value.
    pub value: &'a [u8],
    /// How many.
    pub count: usize,
    /// How many there are.
    pub found: usize,
    /// Those.
    pub keys: &'a mut dyn Iterator<Item = &'a [u8]>,
}

/// Neighbouring rows.
pub struct NeighbourRows<'a> {
    /// The first key, which is there.
    pub from: &'a [u8],
    /// How many rows.
    pub count: usize,
    /// Which column.
    pub column: usize,
    /// How many there are.
    pub found: usize,
    /// Those: their keys and their columns.
    pub rows: &'a mut dyn Iterator<Item = (&'a [u8], [u8; COLUMN_BYTES])>,
}

/// A way to say it.
pub trait Dialect: Sync + std::fmt::Debug {
    /// Adds a request to what is sent, and its reply to what must come back.
    ///
    /// REQUIRES: the server's [`Can`](super::Can) allows the request.
    fn ask(&self, request: DialectRequest<'_>, out: &mut Vec<u8>, expected: &mut Vec<u8>);
}

/// Adds text.
fn push(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    use std::io::Write;
    // Writing to a vector does not fail.
    let _ = out.write_fmt(text);
}
