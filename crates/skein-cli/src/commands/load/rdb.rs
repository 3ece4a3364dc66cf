//! Files of Redis and Valkey.
//!
//! ```text
//!   FileReader ─┬─ key      ─► its database, its time, its type: loaded, or skipped with a reason
//!               ├─ piece    ─► TextRecord; the first one of a key replaces it
//!               └─ library  ─► FUNCTION LOAD
//! ```
//!
//! The file is read once, except streams, in which the groups follow the entries: [`streams`] reads
//! the groups ahead. Memory has one piece of one value, and the batches that wait for the target.
//! Each key is loaded into the database of its own number, unless one database alone is loaded.

use std::io::BufRead;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use skein_data::StreamPart;
use skein_rdb::{FileEvent, FileKey, FileReader, RdbError, RdbLimits, ValuePiece};

use super::report::LoadReport;
use super::{LoadFeed, ReadCounts, RecordSink};
use crate::exit::Failure;
use crate::format::{RecordBody, TextRecord};
use crate::interrupt::Interrupt;
use crate::progress::InputProgress;

mod streams;

use streams::{StreamFeed, StreamStep, WaitingStream};

/// Why a library of functions is rejected by other targets.
const WANTS_SERVER: &str = "a library of functions, which a server has to check; load the file into a server (--to) for its functions";

/// A file to load.
#[derive(Clone, Copy)]
pub struct RdbSource<'s> {
    /// Its path, if it can be read a second time.
    pub again: Option<&'s Path>,
    /// The only database to load.
    pub database: Option<u64>,
    /// The database to load it into, if not that of the same number. REQUIRES: `database`, too.
    pub into: Option<u64>,
}

/// Loads a file. Counts the keys that were read, also before a failure.
pub fn feed(
    input: impl BufRead,
    source: RdbSource<'_>,
    load: &mut LoadFeed<'_>,
    read: &mut ReadCounts,
) -> Result<(), Failure> {
    let LoadFeed { sink, report, progress, interrupt } = load;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    let mut feed = RdbFeed {
        sink: &mut **sink,
        report,
        interrupt,
        source,
        selected: None,
        now: u64::try_from(now.as_millis()).unwrap_or(u64::MAX),
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

/// The key to which the pieces belong.
struct PresentKey {
    key: FileKey,
    is_new: bool,
    /// If it is a stream.
    stream: Option<StreamFeed>,
}

/// A file that is being loaded.
struct RdbFeed<'f> {
    sink: &'f mut dyn RecordSink,
    report: &'f LoadReport,
    interrupt: &'f Interrupt,
    source: RdbSource<'f>,
    /// The database of the last loaded key, and whether the target has it.
    selected: Option<(u64, bool)>,
    now: u64,
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
            self.interrupt.check()?;
            if !matches!(event, FileEvent::Piece(_)) {
                self.end_stream()?;
            }
            match event {
                FileEvent::Fact(..) => {}
                FileEvent::Library(source) => {
                    self.records += 1;
                    if !self.sink.library(self.records, &source)? {
                        self.report.refuse(self.records, WANTS_SERVER);
                    }
                }
                FileEvent::ModuleData => {
                    self.refuse("data of a module of Redis, which SkeinDB does not have");
                }
                FileEvent::Key(key) => {
                    if !self.begin(key, reader.offset())? {
                        reader.skip_value();
                    }
                }
                FileEvent::Piece(piece) => {
                    if !self.put(piece)? {
                        reader.skip_value();
                    }
                }
            }
            if self.records.is_multiple_of(64) {
                progress.update(reader.offset(), self.records);
            }
        }
        self.end_stream()
    }

    /// Returns the failure for a file that cannot be read further, with the key where that was; or
    /// for a read that a signal ended.
    fn failed(&self, error: &RdbError) -> Failure {
        if let Err(interrupted) = self.interrupt.check() {
            return interrupted;
        }
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

    /// Begins a key with its value at `offset`. Returns whether the value is loaded.
    fn begin(&mut self, key: FileKey, offset: u64) -> Result<bool, Failure> {
        self.keys += 1;
        let is_loaded = self.is_loaded(&key)?;
        let kind = key.kind;
        let present = self.present.insert(PresentKey { key, is_new: true, stream: None });
        let Some(kind) = kind.ok().filter(|kind| is_loaded && kind.is_stream()) else { return Ok(is_loaded) };
        let Some(path) = self.source.again else {
            present.stream = Some(StreamFeed::Waiting(WaitingStream::default()));
            return Ok(true);
        };
        present.stream = Some(StreamFeed::GroupsAhead);
        let groups = streams::groups_ahead(path, offset, kind).map_err(|error| self.failed(&error))?;
        self.put_body(RecordBody::Stream(StreamPart::Groups(groups)))?;
        Ok(true)
    }

    /// Ends the present key, if it is a stream.
    fn end_stream(&mut self) -> Result<(), Failure> {
        let stream = self.present.as_mut().and_then(|present| present.stream.take());
        let mut parts = stream.into_iter().flat_map(StreamFeed::finish);
        parts.try_for_each(|part| self.put_body(RecordBody::Stream(part)))
    }

    fn is_loaded(&mut self, key: &FileKey) -> Result<bool, Failure> {
        if self.source.database.is_some_and(|only| only != key.database) {
            return Ok(false);
        }
        if key.expires.is_some_and(|at| at <= self.now) {
            self.expired += 1;
            return Ok(false);
        }
        let why = match key.kind {
            Err(_) => "is a value of a module of Redis, which SkeinDB does not have".to_owned(),
            Ok(_) if self.select(key.database)? => return Ok(true),
            Ok(_) => format!(
                "is of database {0}, and the target has one database alone; load it by --database {0}",
                key.database
            ),
        };
        self.refuse(&format!("the key \"{}\" {why}", key.key.escape_ascii()));
        Ok(false)
    }

    /// Selects the database for the keys of this one of the file. Returns false if the target does
    /// not have it.
    fn select(&mut self, database: u64) -> Result<bool, Failure> {
        match self.selected {
            Some((selected, has)) if selected == database => return Ok(has),
            _ => {}
        }
        // One database alone fits into a target that has no more.
        let has = self.sink.select(self.source.into.unwrap_or(database))? || self.source.database.is_some();
        self.selected = Some((database, has));
        Ok(has)
    }

    /// Loads a piece. Returns false if the rest of the value is skipped.
    fn put(&mut self, piece: ValuePiece) -> Result<bool, Failure> {
        let body = match piece {
            ValuePiece::String(value) => RecordBody::Value(value),
            ValuePiece::Hash(columns) => RecordBody::Columns(columns),
            ValuePiece::SortedSet(members) => RecordBody::Members(members),
            ValuePiece::Set(members) => RecordBody::Set(members),
            ValuePiece::List(elements) => RecordBody::List(elements),
            piece @ (ValuePiece::StreamEntries(_)
            | ValuePiece::StreamPosition(_)
            | ValuePiece::StreamGroup(_)) => return self.put_stream(piece),
        };
        self.put_body(body).map(|()| true)
    }

    fn put_stream(&mut self, piece: ValuePiece) -> Result<bool, Failure> {
        let Some(present) = &mut self.present else { return Ok(true) };
        let (key, Some(stream)) = (&present.key, &mut present.stream) else { return Ok(true) };
        match stream.take(piece) {
            StreamStep::Put(part) => self.put_body(RecordBody::Stream(part)).map(|()| true),
            StreamStep::Wait => Ok(true),
            StreamStep::TooLong(limit) => {
                let why = format!(
                    "the key \"{}\" is a stream whose entries take more than {limit} bytes of memory until its groups \
                     follow; write the input to a file and load that, because a file is read twice",
                    key.key.escape_ascii()
                );
                present.stream = None;
                self.refuse(&why);
                Ok(false)
            }
        }
    }

    fn put_body(&mut self, body: RecordBody) -> Result<(), Failure> {
        let Some(PresentKey { key, is_new, .. }) = &mut self.present else { return Ok(()) };
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
