//! A table of columns in one sequence of bytes, the same in memory and on disk.
//!
//! ```text
//!   count u32 │ (name end u32, value end u32) × count │ names, joined │ values, joined
//! ```
//!
//! Numbers are little-endian. Ends are offsets from the start of the names and of the values. Names
//! are strictly ascending, so a binary search finds a column.

const COUNT: usize = 4;
/// Bytes of one pair of ends.
const ENDS: usize = 8;

/// A name and a value.
pub type Column<'a> = (&'a [u8], &'a [u8]);

/// A table of columns, in the order of their names.
#[derive(Clone, Copy, Debug)]
pub struct ColumnTable<'a> {
    bytes: &'a [u8],
    count: usize,
}

/// Returns the number at `at`. REQUIRES: it is within `bytes`; [`ColumnTable::parse`] has checked
/// this, and [`ColumnTable::trusted`] relies on the writer.
fn u32_at(bytes: &[u8], at: usize) -> usize {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(word) as usize
}

/// Returns the bytes of a table of `count` columns with `content` bytes of names and values
/// together.
pub const fn size_of(count: usize, content: usize) -> usize {
    COUNT + ENDS * count + content
}

impl<'a> ColumnTable<'a> {
    /// Wraps a table that [`write()`] wrote into this process's memory, without checks.
    #[inline]
    pub fn trusted(bytes: &'a [u8]) -> Self {
        Self { bytes, count: u32_at(bytes, 0) }
    }

    /// Parses a table at the front of `bytes`, which are from disk and may hold anything. Also
    /// returns the bytes after it. Returns `None` if the table is not well-formed.
    pub fn parse(bytes: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let count = bytes.get(..COUNT).map(|_| u32_at(bytes, 0))?;
        let heads = COUNT + count.checked_mul(ENDS)?;
        if bytes.len() < heads || count == 0 {
            return None;
        }
        let table = Self { bytes, count };
        let (mut name_end, mut value_end) = (0, 0);
        for i in 0..count {
            let (name, value) = table.ends(i);
            if name < name_end || value < value_end {
                return None;
            }
            (name_end, value_end) = (name, value);
        }
        let len = heads.checked_add(name_end)?.checked_add(value_end)?;
        if len > bytes.len() {
            return None;
        }
        let table = Self { bytes: &bytes[..len], count };
        (1..count).all(|i| table.name(i - 1) < table.name(i)).then_some((table, &bytes[len..]))
    }

    /// Returns the number of columns.
    #[inline]
    pub fn count(self) -> usize {
        self.count
    }

    /// Returns the bytes of names and values.
    pub fn content_len(self) -> usize {
        self.bytes.len() - size_of(self.count, 0)
    }

    /// Returns all bytes of the table.
    pub fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    fn ends(self, i: usize) -> (usize, usize) {
        let at = COUNT + ENDS * i;
        (u32_at(self.bytes, at), u32_at(self.bytes, at + 4))
    }

    /// Returns the start of column `i` within the names and within the values.
    fn starts(self, i: usize) -> (usize, usize) {
        if i == 0 { (0, 0) } else { self.ends(i - 1) }
    }

    /// Returns the name of column `i`.
    #[inline]
    pub fn name(self, i: usize) -> &'a [u8] {
        let names = COUNT + ENDS * self.count;
        &self.bytes[names + self.starts(i).0..names + self.ends(i).0]
    }

    /// Returns column `i`.
    #[inline]
    pub fn column(self, i: usize) -> Column<'a> {
        let values = COUNT + ENDS * self.count + self.ends(self.count - 1).0;
        (self.name(i), &self.bytes[values + self.starts(i).1..values + self.ends(i).1])
    }

    /// Returns the position of `name`.
    ///
    /// # Errors
    /// There is no such column: the position at which it would be inserted.
    pub fn find(self, name: &[u8]) -> Result<usize, usize> {
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = usize::midpoint(low, high);
            match self.name(middle).cmp(name) {
                std::cmp::Ordering::Equal => return Ok(middle),
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        Err(low)
    }

    /// Returns all columns, in the order of their names.
    pub fn columns(self) -> impl Iterator<Item = Column<'a>> {
        (0..self.count).map(move |i| self.column(i))
    }
}

/// Writes a table of `columns` (strictly ascending by name) to `out`, which has exactly its size.
pub fn write(columns: &[Column<'_>], out: &mut [u8]) {
    let names_len: usize = columns.iter().map(|(name, _)| name.len()).sum();
    let (heads, content) = out.split_at_mut(size_of(columns.len(), 0));
    let (names, values) = content.split_at_mut(names_len);
    heads[..COUNT].copy_from_slice(&(columns.len() as u32).to_le_bytes());
    let (mut name_end, mut value_end) = (0, 0);
    for ((name, value), head) in columns.iter().zip(heads[COUNT..].chunks_exact_mut(ENDS)) {
        names[name_end..name_end + name.len()].copy_from_slice(name);
        values[value_end..value_end + value.len()].copy_from_slice(value);
        name_end += name.len();
        value_end += value.len();
        head[..4].copy_from_slice(&(name_end as u32).to_le_bytes());
        head[4..].copy_from_slice(&(value_end as u32).to_le_bytes());
    }
}

/// Returns the bytes of the names and values of these columns.
pub fn content_len(columns: &[Column<'_>]) -> usize {
    columns.iter().map(|(name, value)| name.len() + value.len()).sum()
}

/// Returns the bytes of the table of these columns.
pub fn size(columns: &[Column<'_>]) -> usize {
    size_of(columns.len(), content_len(columns))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(columns: &[Column<'_>]) -> Vec<u8> {
        let mut bytes = vec![0; size(columns)];
        write(columns, &mut bytes);
        bytes
    }

    #[test]
    fn finds_what_was_written() {
        let columns: &[Column<'_>] = &[(b"", b"empty name"), (b"a", b""), (b"ab", b"2"), (b"b", b"three")];
        let mut bytes = table(columns);
        bytes.extend_from_slice(b"rest");
        let (table, rest) = ColumnTable::parse(&bytes).unwrap();
        assert_eq!(rest, b"rest");
        assert!(table.columns().eq(columns.iter().copied()));
        for (i, (name, _)) in columns.iter().enumerate() {
            assert_eq!(table.find(name), Ok(i));
        }
        assert_eq!(table.find(b"aa"), Err(2));
        assert_eq!(table.find(b"z"), Err(4));
    }

    #[test]
    fn refuses_bytes_that_are_no_table() {
        let good = table(&[(b"a", b"1"), (b"b", b"2")]);
        for len in 0..good.len() {
            assert!(ColumnTable::parse(&good[..len]).is_none(), "a table cut to {len} bytes");
        }
        for at in 0..COUNT + 2 * ENDS {
            let mut bad = good.clone();
            bad[at] = 0xff;
            assert!(ColumnTable::parse(&bad).is_none(), "byte {at} overwritten");
        }
        assert!(ColumnTable::parse(&table(&[(b"b", b"1"), (b"a", b"2")])).is_none(), "names out of order");
        assert!(ColumnTable::parse(&table(&[(b"a", b"1"), (b"a", b"2")])).is_none(), "a name twice");
    }
}
