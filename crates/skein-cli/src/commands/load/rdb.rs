//! Files of Redis and Valkey.
//!
//! ```text
//!   FileReader ─┬─ key      ─► its database, its time, its type: loaded, or skipped with a reason
//!               ├─ piece    ─► TextRecord; the first one of a key replaces it
//!               └─ library  ─► FUNCTION LOAD
//! ```
//!
//! The file is read once. Memory has one piece of one value, and the batches that wait for the
//! target. SkeinDB has one database, so keys of several databases come together.

use std::io::{BufRead, Read};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use skein_rdb::{FileEvent, FileKey, FileReader, RdbError, RdbLimits, ValuePiece};

use super::report::LoadReport;
use super::{ReadCounts, RecordSink};
use crate::exit::Failure;
use crate::format::{RecordBody, TextRecord};
use crate::progress::InputProgress;

/// The length of the head that tells what a file is.
const HEAD: u64 = 9;

/// Reads the first bytes of the input.
pub fn head(input: &mut impl BufRead) -> Result<Vec<u8>, Failure> {
    let mut head = Vec::new();
    let read = input.by_ref().take(HEAD).read_to_end(&mut head);
    read.map_err(|error| Failure::during("cannot read the input", &error))?;
    Ok(head)
}

/// Loads a file. Counts what was read, also before a failure.
pub fn feed(
    input: impl BufRead,
    database: Option<u64>,
    sink: &mut dyn RecordSink,
    report: &LoadReport,
    progress: &mut InputProgress,
    read: &mut ReadCounts,
) -> Result<(), Failure> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    let mut feed = RdbFeed {
        sink,
        report,
        database,
        now: u64::try_from(now.as_millis()).unwrap_or(u64::MAX),
        databases: Vec::new(),
        present: None,
        keys: 0,
        expired: 0,
        records: 0,
    };
    let fed = feed.all(input, progress);
    read.records = feed.records;
    read.about = feed.about();
    fed
}

/// The key whose pieces are being read.
struct PresentKey {
    key: FileKey,
    is_new: bool,
}

/// A file that is being loaded.
struct RdbFeed<'f> {
    sink: &'f mut dyn RecordSink,
    report: &'f LoadReport,
    /// The only database to load.
    database: Option<u64>,
    now: u64,
    /// The databases of the keys so far.
    databases: Vec<u64>,
    present: Option<PresentKey>,
    keys: u64,
    expired: u64,
    /// Pieces and libraries, and keys that were not loaded.
    records: u64,
}

impl RdbFeed<'_> {
    fn all(&mut self, input: impl BufRead, progress: &mut InputProgress) -> Result<(), Failure> {
        let mut reader = FileReader::new(input, RdbLimits::default()).map_err(|error| self.failed(&error))?;
        while let Some(event) = reader.next_event().map_err(|error| self.failed(&error))? {
            match event {
                FileEvent::Fact(..) => {}
                FileEvent::Library(source) => {
                    self.records += 1;
                    self.sink.library(self.records, &source)?;
                }
                FileEvent::ModuleData => {
                    self.refuse("data of a module of Redis, which SkeinDB does not have");
                }
                FileEvent::Key(key) => {
                    if !self.begin(key) {
                        reader.skip_value();
                    }
                }
                FileEvent::Piece(piece) => self.put(piece)?,
            }
            if self.records.is_multiple_of(64) {
                progress.update(reader.offset(), self.records);
            }
        }
        Ok(())
    }

    /// Returns the failure for a file that cannot be read further, with the key where that was.
    fn failed(&self, error: &RdbError) -> Failure {
        let place = match &self.present {
            Some(present) => format!(", at or behind the key \"{}\"", present.key.key.escape_ascii()),
            None => String::new(),
        };
        Failure::new(format!("cannot read the file of Redis{place}: {error}"))
    }

    fn refuse(&mut self, why: &str) {
        self.records += 1;
        self.report.refuse(self.records, why);
    }

    /// Begins a key. Returns whether its value is loaded.
    fn begin(&mut self, key: FileKey) -> bool {
        self.keys += 1;
        let is_loaded = self.is_loaded(&key);
        self.present = Some(PresentKey { key, is_new: true });
        is_loaded
    }

    fn is_loaded(&mut self, key: &FileKey) -> bool {
        if self.database.is_some_and(|only| only != key.database) {
            return false;
        }
        if !self.databases.contains(&key.database) {
            self.databases.push(key.database);
            if let [first, _, ..] = self.databases[..] {
                self.report.note(format_args!(
                    "database {}: its keys are loaded beside those of database {first}, because SkeinDB has one; if both \
                     have a key, the later one replaces the other (--database N loads one alone)",
                    key.database
                ));
            }
        }
        if key.expires.is_some_and(|at| at <= self.now) {
            self.expired += 1;
            return false;
        }
        let what = match key.kind {
            Ok(kind) if kind.is_stream() => {
                "a stream, which is not loaded from a file of Redis yet; use skein copy"
            }
            Ok(_) => return true,
            Err(_) => "a value of a module of Redis, which SkeinDB does not have",
        };
        self.refuse(&format!("the key \"{}\" is {what}", key.key.escape_ascii()));
        false
    }

    fn put(&mut self, piece: ValuePiece) -> Result<(), Failure> {
        let body = match piece {
            ValuePiece::String(value) => RecordBody::Value(value),
            ValuePiece::Hash(columns) => RecordBody::Columns(columns),
            ValuePiece::SortedSet(members) => RecordBody::Members(members),
            ValuePiece::Set(members) => RecordBody::Set(members),
            ValuePiece::List(elements) => RecordBody::List(elements),
            // Streams are skipped.
            ValuePiece::StreamEntries(_) | ValuePiece::StreamPosition(_) | ValuePiece::StreamGroup(_) => {
                return Ok(());
            }
        };
        let Some(PresentKey { key, is_new }) = &mut self.present else { return Ok(()) };
        self.records += 1;
        self.sink.put(TextRecord {
            line: self.records,
            key: key.key.clone(),
            body,
            expires: key.expires,
            replaces: std::mem::take(is_new),
        })
    }

    /// Returns the text about the file in the summary.
    fn about(&self) -> String {
        let (keys, expired) = (self.keys, self.expired);
        let expired = if expired > 0 { format!(", {expired} of them expired") } else { String::new() };
        format!(" of {keys} keys{expired}")
    }
}
