//! The output of a dump: text records, one per key. A large key has several, so that no record
//! takes much memory.

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write as _};
use std::ops::ControlFlow;

use skein_data::{RowPiece, StreamPart};

use super::target_file::DumpTarget;
use crate::console;
use crate::exit::{Exit, Failure};
use crate::format::{self, Format, RecordBody, file_head};
use crate::interrupt::Interrupt;
use crate::progress::{KeyProgress, by_type, counted, rate};
use crate::remote::FieldTimes;

/// Writes rows, and counts the keys that may still follow.
pub struct DumpOutput {
    out: BufWriter<DumpTarget>,
    format: Format,
    /// Whether only keys are written.
    pub keys_only: bool,
    /// The number of keys that may still follow.
    pub left: u64,
    written: u64,
    refused: u64,
    /// Rejected keys by type, if their type is not written.
    of_types: BTreeMap<String, u64>,
    failed: Option<io::Error>,
    progress: KeyProgress,
    /// Whether progress is shown.
    pub shows: bool,
    /// Asks the server whether the fields of its hashes expire.
    pub field_times: FieldTimes,
    interrupt: Interrupt,
}

impl DumpOutput {
    /// Returns an output that writes to `out`. `shows` says whether progress is shown.
    pub fn new(out: DumpTarget, format: Format, left: u64, shows: bool) -> Result<Self, Failure> {
        Ok(Self {
            out: BufWriter::with_capacity(1 << 18, out),
            format,
            keys_only: format == Format::Lines,
            left,
            written: 0,
            refused: 0,
            of_types: BTreeMap::new(),
            failed: None,
            progress: KeyProgress::start(None, !shows),
            shows,
            field_times: FieldTimes::new(),
            interrupt: Interrupt::noted()?,
        })
    }

    /// Sets the total of the progress to `keys`, or to the limit if that is less.
    pub fn expect(&mut self, keys: u64) {
        self.progress = KeyProgress::start(Some(keys.min(self.left)), !self.shows);
    }

    /// Writes the line that names the format, if the format has one.
    pub fn head(&mut self) {
        let line = file_head::line(self.format).unwrap_or_default();
        self.failed = self.out.write_all(line.as_bytes()).err();
    }

    /// Writes a key alone. Like all methods here, returns a break if the caller should send no more
    /// keys.
    pub fn key(&mut self, key: &[u8]) -> ControlFlow<()> {
        self.value(key, Vec::new(), None)
    }

    /// Writes a key and its value.
    pub fn value(&mut self, key: &[u8], value: Vec<u8>, expires: Option<u64>) -> ControlFlow<()> {
        let fits = self.record(key, &RecordBody::Value(value), expires)?;
        self.count(fits)
    }

    /// Writes a key and its whole value, in one record.
    pub fn body(&mut self, key: &[u8], body: &RecordBody) -> ControlFlow<()> {
        let fits = self.record(key, body, None)?;
        self.count(fits)
    }

    /// Counts a key of a type that is not written.
    pub fn refuse(&mut self, kind: &str) -> ControlFlow<()> {
        *self.of_types.entry(kind.to_owned()).or_default() += 1;
        self.passed()
    }

    /// Starts a key. Its columns, members or elements are added piece by piece.
    pub fn pieces<'o>(&'o mut self, key: &'o [u8], expires: Option<u64>) -> DumpPieces<'o> {
        DumpPieces { output: self, key, expires, body: None, len: 0, bytes: 0, any: false }
    }

    /// Writes a record. Returns whether the format can hold it.
    fn record(&mut self, key: &[u8], body: &RecordBody, expires: Option<u64>) -> ControlFlow<(), bool> {
        match format::write(&mut self.out, self.format, key, body, expires) {
            Ok(fits) => ControlFlow::Continue(fits),
            Err(error) => {
                self.failed = Some(error);
                ControlFlow::Break(())
            }
        }
    }

    fn count(&mut self, fits: bool) -> ControlFlow<()> {
        if fits {
            self.written += 1;
        } else {
            self.refused += 1;
        }
        self.passed()
    }

    /// Counts one more finished key.
    fn passed(&mut self) -> ControlFlow<()> {
        self.left -= 1;
        self.progress.advance(1);
        if self.left == 0 || self.interrupt.came() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    /// Flushes the output. Returns the exit code, and a summary.
    pub fn finish(mut self) -> Result<(Exit, String), Failure> {
        let how_far = self.progress.words();
        let took = self.progress.finish();
        if self.interrupt.came() {
            return Err(Failure::new(format!("interrupted after {how_far}; no output file was made")));
        }
        let summary = format!(
            "{} written in {:.1} s ({})",
            counted(self.written, "key"),
            took.as_secs_f64(),
            rate(self.written, took)
        );
        let result = match self.failed.take() {
            Some(error) => Err(error),
            None => self.out.flush(),
        };
        let whole = result.is_ok();
        console::written(result)?;
        if !whole {
            return Ok((Exit::Ok, summary));
        }
        let out = self
            .out
            .into_inner()
            .map_err(|error| Failure::during("cannot write the output", error.error()))?;
        out.finish()?;
        if self.refused > 0 {
            console::note(format_args!(
                "skein: left out: {} with a newline, which the format `lines` cannot hold; {} written; to write all, \
                 use skein dump --format hex",
                counted(self.refused, "key"),
                counted(self.written, "key")
            ));
        }
        if !self.of_types.is_empty() {
            let way_out = if self.of_types.contains_key("stream") {
                "; skein dump writes streams, with their groups"
            } else if self.of_types.contains_key("hash") {
                "; the fields of these hashes expire, so remove their times at the source (HPERSIST)"
            } else {
                ""
            };
            console::note(format_args!(
                "skein: left out: {}, which this command does not write; {} written{way_out}",
                by_type(&self.of_types),
                counted(self.written, "key")
            ));
        }
        let whole = self.refused == 0 && self.of_types.is_empty();
        Ok((if whole { Exit::Ok } else { Exit::Partial }, summary))
    }
}

/// A key and the part of its value that was found so far.
pub struct DumpPieces<'o> {
    output: &'o mut DumpOutput,
    key: &'o [u8],
    expires: Option<u64>,
    /// The body of the next record.
    body: Option<RecordBody>,
    len: usize,
    bytes: usize,
    any: bool,
}

impl DumpPieces<'_> {
    /// Adds columns, members, elements or entries of this many bytes. They follow those before.
    pub fn add(&mut self, bytes: usize, more: RecordBody) -> ControlFlow<()> {
        use RowPiece::{Columns, List, Members, Set, Stream};

        match (&mut self.body, more) {
            (Some(Columns(all)), Columns(more)) => all.extend(more),
            (Some(Members(all)), Members(more)) => all.extend(more),
            (Some(Set(all)), Set(more)) | (Some(List(all)), List(more)) => all.extend(more),
            (Some(Stream(StreamPart::Entries(all))), Stream(StreamPart::Entries(more))) => all.extend(more),
            (body, more) => *body = Some(more),
        }
        self.len += 1;
        self.bytes += bytes;
        let is_full = self.len >= RowPiece::MEMBERS || self.bytes >= RowPiece::BYTES;
        if is_full { self.write() } else { ControlFlow::Continue(()) }
    }

    fn write(&mut self) -> ControlFlow<()> {
        let Some(body) = self.body.take() else { return ControlFlow::Continue(()) };
        self.len = 0;
        self.bytes = 0;
        self.piece(&body)
    }

    /// Writes a part of a stream. Entries go into records of bounded length.
    pub fn stream_part(&mut self, part: StreamPart) -> ControlFlow<()> {
        let StreamPart::Entries(entries) = part else {
            self.write()?;
            return self.piece(&RecordBody::Stream(part));
        };
        entries.into_iter().try_for_each(|entry| {
            let bytes = entry.fields.iter().map(|(name, value)| name.len() + value.len()).sum();
            self.add(bytes, RecordBody::Stream(StreamPart::Entries(vec![entry])))
        })
    }

    /// Writes a whole piece as a record.
    pub fn piece(&mut self, piece: &RecordBody) -> ControlFlow<()> {
        self.any = true;
        self.output.record(self.key, piece, self.expires).map_continue(drop)
    }

    /// Writes the rest. A key without columns, members or elements is not written.
    pub fn finish(mut self) -> ControlFlow<()> {
        self.write()?;
        if self.any { self.output.count(true) } else { ControlFlow::Continue(()) }
    }
}
