//! A table of columns in one sequence of bytes, the same in memory and on disk.
//!
//! ```text
//!   width u8 │ count │ (name end, value end) × count │ names, joined │ values, joined
//! ```
//!
//! Count and ends are little-endian numbers of `width` bytes: 1, 2 or 4, the smallest that has room
//! for all of them. Ends are offsets from the start of the names and of the values. Names are
//! strictly ascending, so a binary search finds a column.

use std::ops::Range;

/// Bytes of the width.
const WIDTH: usize = 1;
/// The widths of numbers, in bytes.
const WIDTHS: [usize; 3] = [1, 2, 4];

/// A name and a value.
pub type Column<'a> = (&'a [u8], &'a [u8]);

/// A table of columns, in the order of their names.
#[derive(Clone, Copy, Debug)]
pub struct ColumnTable<'a> {
    bytes: &'a [u8],
    width: usize,
    count: usize,
}

/// The numbers that decide how long a table is.
#[derive(Clone, Copy, Debug, Default)]
pub struct TableSize {
    count: usize,
    names: usize,
    values: usize,
}

impl TableSize {
    /// Returns the numbers of a table with these columns.
    #[inline]
    pub fn of(columns: &[Column<'_>]) -> Self {
        columns.iter().fold(Self::default(), |size, column| size.with(*column))
    }

    /// Returns the numbers of a table that has one column more.
    #[must_use]
    #[inline]
    pub fn with(self, (name, value): Column<'_>) -> Self {
        Self { count: self.count + 1, names: self.names + name.len(), values: self.values + value.len() }
    }

    /// Returns whether there are no columns.
    pub fn is_empty(self) -> bool {
        self.count == 0
    }

    /// Returns the width of the table's numbers. A table that is too long for the widest ones is
    /// excluded by the limits of values and records.
    #[inline]
    fn width(self) -> usize {
        match self.count.max(self.names).max(self.values) {
            0..0x100 => 1,
            0x100..0x1_0000 => 2,
            _ => 4,
        }
    }

    /// Returns the bytes before the names.
    #[inline]
    fn heads(self) -> usize {
        heads(self.width(), self.count)
    }

    /// Returns the bytes of the table.
    #[inline]
    pub fn bytes(self) -> usize {
        self.heads() + self.names + self.values
    }
}

/// The most bytes that a table of one column has beside its name and its value.
pub const HEADS_OF_ONE_MAX: usize = heads(4, 1);

/// Returns the bytes before the names.
const fn heads(width: usize, count: usize) -> usize {
    WIDTH + width + 2 * width * count
}

/// Returns the number at `at`. REQUIRES: it is within `bytes`; [`ColumnTable::parse`] has checked
/// this, and [`ColumnTable::trusted`] relies on the writer.
#[inline]
fn number_at(bytes: &[u8], width: usize, at: usize) -> usize {
    match width {
        1 => usize::from(bytes[at]),
        2 => usize::from(u16::from_le_bytes([bytes[at], bytes[at + 1]])),
        _ => {
            let mut word = [0; 4];
            word.copy_from_slice(&bytes[at..at + 4]);
            u32::from_le_bytes(word) as usize
        }
    }
}

impl<'a> ColumnTable<'a> {
    /// Wraps a table that [`write()`] wrote into this process's memory, without checks.
    #[inline]
    pub fn trusted(bytes: &'a [u8]) -> Self {
        let width = usize::from(bytes[0]);
        Self { bytes, width, count: number_at(bytes, width, WIDTH) }
    }

    /// Parses a table at the front of `bytes`, which are from disk and may hold anything. Also
    /// returns the bytes after it. Returns `None` if the table is not well-formed.
    pub fn parse(bytes: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let width = usize::from(*bytes.first()?);
        if !WIDTHS.contains(&width) || bytes.len() < WIDTH + width {
            return None;
        }
        let table = Self::trusted(bytes);
        let heads = (WIDTH + width).checked_add(table.count.checked_mul(2 * width)?)?;
        if bytes.len() < heads || table.count == 0 {
            return None;
        }
        let (mut names, mut values) = (0, 0);
        for i in 0..table.count {
            let (name, value) = table.ends(i);
            if name < names || value < values {
                return None;
            }
            (names, values) = (name, value);
        }
        let size = TableSize { count: table.count, names, values };
        let len = heads.checked_add(names)?.checked_add(values)?;
        if size.width() != width || len > bytes.len() {
            return None;
        }
        let table = Self { bytes: &bytes[..len], ..table };
        (1..table.count).all(|i| table.name(i - 1) < table.name(i)).then_some((table, &bytes[len..]))
    }

    /// Returns the number of columns.
    #[inline]
    pub fn count(self) -> usize {
        self.count
    }

    /// Returns the bytes of names and values.
    #[inline]
    pub fn content_len(self) -> usize {
        self.bytes.len() - self.heads()
    }

    /// Returns the numbers of the table.
    #[inline]
    fn size(self) -> TableSize {
        let names = self.ends(self.count - 1).0;
        TableSize { count: self.count, names, values: self.content_len() - names }
    }

    /// Returns the table after a put of one column: it replaces the column of its name, if there is
    /// one. Returns `None` if the numbers would need another width.
    #[inline]
    pub fn put(self, column: Column<'a>) -> Option<SplicedTable<'a>> {
        let (at, after) = match self.find(column.0) {
            Ok(i) => (i, i + 1),
            Err(i) => (i, i),
        };
        self.splice(at, after, Some(column))
    }

    /// Returns the table after the removal of column `i`, which is not the only one. Returns `None`
    /// if the numbers would need another width.
    #[inline]
    pub fn remove(self, i: usize) -> Option<SplicedTable<'a>> {
        self.splice(i, i + 1, None)
    }

    #[inline]
    fn splice(self, at: usize, after: usize, column: Option<Column<'a>>) -> Option<SplicedTable<'a>> {
        let (names, values) =
            (self.starts(at).0..self.starts(after).0, self.starts(at).1..self.starts(after).1);
        let old = self.size();
        let rest = TableSize {
            count: old.count - (after - at),
            names: old.names - names.len(),
            values: old.values - values.len(),
        };
        let size = column.map_or(rest, |column| rest.with(column));
        let spliced = SplicedTable { table: self, old, columns: at..after, names, values, column, size };
        (size.width() == self.width).then_some(spliced)
    }

    /// Returns all bytes of the table.
    pub fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    #[inline]
    fn heads(self) -> usize {
        heads(self.width, self.count)
    }

    #[inline]
    fn ends(self, i: usize) -> (usize, usize) {
        let at = heads(self.width, i);
        (number_at(self.bytes, self.width, at), number_at(self.bytes, self.width, at + self.width))
    }

    /// Returns the start of column `i` within the names and within the values.
    #[inline]
    fn starts(self, i: usize) -> (usize, usize) {
        if i == 0 { (0, 0) } else { self.ends(i - 1) }
    }

    /// Returns the name of column `i`.
    #[inline]
    pub fn name(self, i: usize) -> &'a [u8] {
        let names = self.heads();
        &self.bytes[names + self.starts(i).0..names + self.ends(i).0]
    }

    /// Returns column `i`.
    #[inline]
    pub fn column(self, i: usize) -> Column<'a> {
        let values = self.heads() + self.ends(self.count - 1).0;
        (self.name(i), &self.bytes[values + self.starts(i).1..values + self.ends(i).1])
    }

    /// Returns the position of `name`.
    ///
    /// # Errors
    /// There is no such column: the position at which it would be inserted.
    #[inline]
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
    #[inline]
    pub fn columns(self) -> impl Iterator<Item = Column<'a>> {
        let names = &self.bytes[self.heads()..];
        let values = &names[self.ends(self.count - 1).0..];
        let mut starts = (0, 0);
        (0..self.count).map(move |i| {
            let ends = self.ends(i);
            let column = (&names[starts.0..ends.0], &values[starts.1..ends.1]);
            starts = ends;
            column
        })
    }
}

/// Writes a table of `columns` (strictly ascending by name) to `out`, which has exactly its size.
pub fn write(columns: &[Column<'_>], out: &mut [u8]) {
    let size = TableSize::of(columns);
    match size.width() {
        1 => write_in_width::<1>(columns, size, out),
        2 => write_in_width::<2>(columns, size, out),
        _ => write_in_width::<4>(columns, size, out),
    }
}

/// Writes a table with numbers of `W` bytes.
fn write_in_width<const W: usize>(columns: &[Column<'_>], size: TableSize, out: &mut [u8]) {
    let TableParts { ends, names, values } = TableParts::<W>::of(out, size);
    let (mut name_end, mut value_end) = (0, 0);
    for ((name, value), end) in columns.iter().zip(ends) {
        let (name_start, value_start) = (name_end, value_end);
        (name_end, value_end) = (name_end + name.len(), value_end + value.len());
        names[name_start..name_end].copy_from_slice(name);
        values[value_start..value_end].copy_from_slice(value);
        *end = [narrow(name_end), narrow(value_end)];
    }
}

/// The parts of a table that is written, with numbers of `W` bytes.
struct TableParts<'a, const W: usize> {
    /// The ends of each column's name and value.
    ends: &'a mut [[[u8; W]; 2]],
    names: &'a mut [u8],
    values: &'a mut [u8],
}

impl<'a, const W: usize> TableParts<'a, W> {
    /// Writes width and count to `out`, which has exactly the table's size, and returns the rest.
    #[inline]
    fn of(out: &'a mut [u8], size: TableSize) -> Self {
        let (heads, content) = out.split_at_mut(heads(W, size.count));
        let (names, values) = content.split_at_mut(size.names);
        let (width, numbers) = heads.split_at_mut(WIDTH);
        let (count, ends) = numbers.as_chunks_mut::<W>().0.split_at_mut(1);
        width[0] = W as u8;
        count[0] = narrow(size.count);
        Self { ends: ends.as_chunks_mut().0, names, values }
    }
}

/// Returns the lowest `W` bytes of a number that has no more.
#[inline]
fn narrow<const W: usize>(number: usize) -> [u8; W] {
    std::array::from_fn(|i| number.to_le_bytes()[i])
}

/// A table in which one column was put or removed. It is written from the bytes of the former table
/// without a look at the other columns.
#[derive(Clone, Debug)]
pub struct SplicedTable<'a> {
    table: ColumnTable<'a>,
    /// The numbers of `table`.
    old: TableSize,
    /// The columns of `table` that `column` replaces, with the bytes of their names and values.
    columns: Range<usize>,
    names: Range<usize>,
    values: Range<usize>,
    column: Option<Column<'a>>,
    size: TableSize,
}

impl SplicedTable<'_> {
    /// Returns the bytes of the table.
    #[inline]
    pub fn bytes(&self) -> usize {
        self.size.bytes()
    }

    /// Writes the table to `out`, which has exactly its size.
    pub fn write(&self, out: &mut [u8]) {
        match self.table.width {
            1 => self.write_in_width::<1>(out),
            2 => self.write_in_width::<2>(out),
            _ => self.write_in_width::<4>(out),
        }
    }

    fn write_in_width<const W: usize>(&self, out: &mut [u8]) {
        let (heads, content) = self.table.bytes.split_at(heads(W, self.old.count));
        let (names, values) = content.split_at(self.old.names);
        let (name, value) = self.column.unwrap_or_default();
        let parts = TableParts::<W>::of(out, self.size);
        replace(parts.names, names, &self.names, name);
        replace(parts.values, values, &self.values, value);
        let old = heads[WIDTH + W..].as_chunks::<W>().0.as_chunks::<2>().0;
        let (before, from) = parts.ends.split_at_mut(self.columns.start);
        before.copy_from_slice(&old[..self.columns.start]);
        let (name_end, value_end) = (self.names.start + name.len(), self.values.start + value.len());
        let (own, later) = from.split_at_mut(usize::from(self.column.is_some()));
        if let [own] = own {
            *own = [narrow(name_end), narrow(value_end)];
        }
        let shift = (name_end.wrapping_sub(self.names.end), value_end.wrapping_sub(self.values.end));
        for (new, old) in later.iter_mut().zip(&old[self.columns.end..]) {
            *new = [shifted(old[0], shift.0), shifted(old[1], shift.1)];
        }
    }
}

/// Writes `old` to `out` with `by` in place of the bytes in `range`.
#[inline]
fn replace(out: &mut [u8], old: &[u8], range: &Range<usize>, by: &[u8]) {
    let (before, rest) = out.split_at_mut(range.start);
    let (new, after) = rest.split_at_mut(by.len());
    before.copy_from_slice(&old[..range.start]);
    new.copy_from_slice(by);
    after.copy_from_slice(&old[range.end..]);
}

/// Adds `shift`, which may be negative and then wraps.
#[inline]
fn shifted<const W: usize>(number: [u8; W], shift: usize) -> [u8; W] {
    narrow(number_at(&number, W, 0).wrapping_add(shift))
}

/// Returns the bytes of the names and values of these columns.
pub fn content_len(columns: &[Column<'_>]) -> usize {
    columns.iter().map(|(name, value)| name.len() + value.len()).sum()
}

/// Returns the bytes of the table of these columns.
pub fn size(columns: &[Column<'_>]) -> usize {
    TableSize::of(columns).bytes()
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
        for at in 0..heads(1, 2) {
            let mut bad = good.clone();
            bad[at] = 0xff;
            assert!(ColumnTable::parse(&bad).is_none(), "byte {at} overwritten");
        }
        let wider = [2, 1, 0, 1, 0, 1, 0, b'a', b'1'];
        assert!(ColumnTable::parse(&wider).is_none(), "wider than it must be");
        assert!(ColumnTable::parse(&table(&[(b"b", b"1"), (b"a", b"2")])).is_none(), "names out of order");
        assert!(ColumnTable::parse(&table(&[(b"a", b"1"), (b"a", b"2")])).is_none(), "a name twice");
    }

    #[test]
    fn numbers_are_as_wide_as_the_longest_end_needs() {
        for (len, width) in [(0, 1), (1, 1), (254, 1), (255, 2), (65_534, 2), (65_535, 4)] {
            let long = vec![b'z'; len];
            for columns in [&[(&b"a"[..], &long[..]), (b"b", b"1")][..], &[(&long[..], b"2"), (b"{", b"")]] {
                let bytes = table(columns);
                assert_eq!(usize::from(bytes[0]), width, "a name or a value of {len} bytes");
                let (table, rest) = ColumnTable::parse(&bytes).unwrap();
                assert!(rest.is_empty() && table.columns().eq(columns.iter().copied()));
                assert_eq!(table.content_len(), content_len(columns));
                assert!((0..table.count()).all(|i| table.find(columns[i].0) == Ok(i)));
            }
        }
    }

    #[test]
    fn a_splice_is_the_table_written_anew() {
        let names: Vec<Vec<u8>> = (0..40).map(|i| vec![b'a' + i as u8; 1 + i % 7]).collect();
        for (count, len) in [(1, 3), (2, 0), (7, 30), (20, 300), (3, 30_000)] {
            let value = vec![b'v'; len];
            let columns: Vec<Column<'_>> =
                (0..count).map(|i| (&names[2 * i + 1][..], &value[i.min(len)..])).collect();
            let bytes = table(&columns);
            for (name, new) in names.iter().take(2 * count + 1).flat_map(|name| [(name, 0), (name, 9)]) {
                let column = (&name[..], &b"new value"[..new]);
                let mut wanted = columns.clone();
                match wanted.binary_search_by(|column| column.0.cmp(name)) {
                    Ok(i) => wanted[i] = column,
                    Err(i) => wanted.insert(i, column),
                }
                check_splice(ColumnTable::trusted(&bytes).put(column), &wanted, bytes[0]);
            }
            for i in (0..count).filter(|_| count > 1) {
                let mut wanted = columns.clone();
                wanted.remove(i);
                check_splice(ColumnTable::trusted(&bytes).remove(i), &wanted, bytes[0]);
            }
        }
    }

    /// Checks a splice of a table with numbers of `width` bytes.
    fn check_splice(spliced: Option<SplicedTable<'_>>, wanted: &[Column<'_>], width: u8) {
        let wanted = table(wanted);
        assert_eq!(spliced.is_some(), wanted[0] == width);
        let Some(spliced) = spliced else { return };
        let mut bytes = vec![0xee; spliced.bytes()];
        spliced.write(&mut bytes);
        assert_eq!(bytes, wanted);
    }

    #[test]
    fn many_columns_have_a_wide_count() {
        let names: Vec<[u8; 2]> = (0..300_u16).map(u16::to_be_bytes).collect();
        let columns: Vec<Column<'_>> = names.iter().map(|name| (&name[..], &b""[..])).collect();
        let bytes = table(&columns);
        assert_eq!((bytes[0], bytes.len()), (2, heads(2, 300) + 600));
        assert!(ColumnTable::parse(&bytes).unwrap().0.columns().eq(columns.iter().copied()));
    }
}
