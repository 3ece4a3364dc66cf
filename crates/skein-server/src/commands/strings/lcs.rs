//! LCS: the longest common subsequence of two values.
//!
//! ```text
//!             b[0] b[1] ...   length(i, j) of the first i bytes of a and the first j bytes of b:
//!        0  0  0    0           equal last bytes:  length(i-1, j-1) + 1
//!   a[0] 0     ╲    ◄           otherwise: max(length(i-1, j) ▲, length(i, j-1) ◄)
//!   a[1] 0     ▲    ╲
//! ```
//!
//! The task keeps the last row of lengths, and one bit for each cell: whether the path back leads
//! up. A slice fills some rows of the table. The path back is short.

use skein_syntax::number::parse_i64;

use crate::commands::command_error::{NOT_AN_INTEGER, SYNTAX};
use crate::commands::task::{SliceResult, SlicedTask, TaskProgress, TaskSlice};
use crate::commands::{AfterCommand, CommandContext, CommandError, CommandResult, is};
use crate::resp::{Args, Reply};

/// Maximum number of cells: Redis's limit, which has four bytes for each cell.
const CELLS_MAX: usize = (512 << 20) / 4;

/// Number of cells that a slice fills.
const SLICE_CELLS: usize = 1 << 20;

/// The options of LCS.
#[derive(Default)]
struct LcsOptions {
    length: bool,
    matches: bool,
    match_lengths: bool,
    shortest: i64,
}

impl LcsOptions {
    fn parse(args: &Args) -> CommandResult<Self> {
        let mut options = Self::default();
        let mut rest = args.from(3);
        while let Some(word) = rest.next() {
            if is(word, "IDX") {
                options.matches = true;
            } else if is(word, "LEN") {
                options.length = true;
            } else if is(word, "WITHMATCHLEN") {
                options.match_lengths = true;
            } else if is(word, "MINMATCHLEN") {
                options.shortest = parse_i64(rest.next().ok_or(SYNTAX)?).ok_or(NOT_AN_INTEGER)?;
            } else {
                return Err(SYNTAX);
            }
        }
        if options.matches && options.length {
            return Err(CommandError::text(
                "ERR If you want both the length and indexes, please just use IDX.",
            ));
        }
        Ok(options)
    }
}

pub(crate) fn lcs(context: &mut CommandContext, args: &Args, _: &mut Reply) -> CommandResult {
    let limit = context.shared.settings.reply_bytes_max.get();
    let (mut values, mut strings) = ([Vec::new(), Vec::new()], true);
    let lookups = &mut context.client.lookups;
    context.session.get_many_atomic(&[args.get(1), args.get(2)], limit, |at, row| {
        lookups.note(row.is_some());
        match row.map(|row| row.value()) {
            None => {}
            Some(Some(value)) => values[at] = value.to_vec(),
            Some(None) => strings = false,
        }
    })?;
    if !strings {
        return Err(CommandError::text("ERR The specified keys must contain string values"));
    }
    let options = LcsOptions::parse(args)?;
    let [a, b] = values;
    if (a.len() + 1).saturating_mul(b.len() + 1) > CELLS_MAX {
        return Err(CommandError::text(
            "ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len",
        ));
    }
    Ok(AfterCommand::slices(LcsTask::new(a, b, options)))
}

/// The table of two values, partly filled.
pub(crate) struct LcsTask {
    a: Vec<u8>,
    b: Vec<u8>,
    options: LcsOptions,
    /// The lengths of the last filled row.
    row: Vec<u32>,
    rows: usize,
    /// Whether the path back from a cell leads up, indexed by `i` × length of `b` + `j`.
    up: Vec<u64>,
}

/// A common run of `len` bytes, which starts at `a` and `b`.
struct LcsMatch {
    a: usize,
    b: usize,
    len: usize,
}

impl LcsTask {
    fn new(a: Vec<u8>, b: Vec<u8>, options: LcsOptions) -> Self {
        let cells = if options.length { 0 } else { a.len() * b.len() };
        let (row, up) = (vec![0; b.len() + 1], vec![0; cells.div_ceil(64)]);
        Self { a, b, options, row, rows: 0, up }
    }

    fn fill_row(&mut self, i: usize) {
        let Self { a, b, options, row, up, .. } = self;
        // The length up and left of the cell, which the row no longer holds.
        let mut corner = 0;
        for j in 0..b.len() {
            let (above, left) = (row[j + 1], row[j]);
            row[j + 1] = if a[i] == b[j] { corner + 1 } else { above.max(left) };
            if !options.length && above > left {
                let cell = i * b.len() + j;
                up[cell / 64] |= 1 << (cell % 64);
            }
            corner = above;
        }
    }

    fn goes_up(&self, i: usize, j: usize) -> bool {
        let cell = i * self.b.len() + j;
        self.up[cell / 64] & 1 << (cell % 64) > 0
    }

    /// Returns the matches along the path back, the last one first.
    fn matches(&self) -> Vec<LcsMatch> {
        let (mut i, mut j) = (self.a.len(), self.b.len());
        let mut found: Vec<LcsMatch> = Vec::new();
        while i > 0 && j > 0 {
            if self.a[i - 1] != self.b[j - 1] {
                if self.goes_up(i - 1, j - 1) {
                    i -= 1;
                } else {
                    j -= 1;
                }
                continue;
            }
            match found.last_mut() {
                Some(last) if last.a == i && last.b == j => {
                    *last = LcsMatch { a: i - 1, b: j - 1, len: last.len + 1 };
                }
                _ => found.push(LcsMatch { a: i - 1, b: j - 1, len: 1 }),
            }
            (i, j) = (i - 1, j - 1);
        }
        found
    }

    fn write(&self, reply: &mut Reply) {
        let length = self.row[self.b.len()] as usize;
        if self.options.length {
            return reply.count(length);
        }
        let mut matches = self.matches();
        if !self.options.matches {
            let parts = matches.iter().rev().map(|found| &self.a[found.a..found.a + found.len]);
            return reply.bulk(&parts.collect::<Vec<_>>().concat());
        }
        let shortest = usize::try_from(self.options.shortest).unwrap_or(0);
        matches.retain(|found| found.len >= shortest);
        reply.map(2);
        reply.bulk(b"matches");
        reply.array(matches.len());
        for found in &matches {
            reply.array(2 + usize::from(self.options.match_lengths));
            for first in [found.a, found.b] {
                reply.array(2);
                reply.count(first);
                reply.count(first + found.len - 1);
            }
            if self.options.match_lengths {
                reply.count(found.len);
            }
        }
        reply.named("len").count(length);
    }
}

impl SlicedTask for LcsTask {
    fn step(&mut self, _: &mut TaskSlice, reply: &mut Reply) -> SliceResult {
        let most = SLICE_CELLS / self.row.len() + 1;
        let end = (self.rows + most).min(self.a.len());
        for i in self.rows..end {
            self.fill_row(i);
        }
        self.rows = end;
        if end < self.a.len() {
            return Ok(TaskProgress::More);
        }
        self.write(reply);
        Ok(TaskProgress::Done)
    }

    fn held(&self) -> usize {
        self.a.capacity() + self.b.capacity() + size_of_val(&self.row[..]) + size_of_val(&self.up[..])
    }
}
