//! The text formats of `skein load` and `skein dump`.
//!
//! | format  | a record                            | bytes that must be escaped              |
//! |---------|-------------------------------------|-----------------------------------------|
//! | `lines` | a key per line                      | newline (a key with one needs `hex`)    |
//! | `tsv`   | key, tab, value                     | `\t` `\n` `\r` `\\`, written so         |
//! | `csv`   | key, comma, value (RFC 4180)        | a field with `,` `"` CR or LF is quoted |
//! | `hex`   | key, tab, value, all in hexadecimal | none                                    |
//!
//! [`fields`] has the meaning of a record's fields. `tsv`, `csv` and `hex` preserve all bytes. A
//! large hash, set, sorted set or list has several records, each with a part of it. Those of a list
//! are in its order. A stream has a record for its groups, some for its entries, and one for its
//! counters; [`streams`] has their fields. A file begins with a line that names its format
//! (`file_head`).

use std::io::{self, BufRead, Write};

use clap::ValueEnum;
use skein_data::{RowPiece, StreamPart};

mod csv;
mod fields;
pub mod file_head;
mod hex;
mod lines;
mod streams;
mod tsv;

pub use streams::parse_id;

/// The longest record that is read, in bytes of text. A longer one is rejected and skipped, so that
/// a binary file given by mistake does not fill the memory.
pub const MAX_RECORD_LEN: usize = 1 << 30;

/// The contents of a key, or a part of them.
pub type RecordBody = RowPiece<StreamPart>;

/// A text format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// One key per line.
    Lines,
    /// Fields separated by tabs, with `\t`, `\n`, `\r` and `\\` for those bytes.
    Tsv,
    /// Fields separated by commas, quoted where needed.
    Csv,
    /// Fields in hexadecimal, separated by tabs.
    Hex,
}

/// The value that `lines` gives each key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LineValue {
    /// The line's number, from 1.
    Number,
    /// The empty value.
    Empty,
    /// The key itself.
    Key,
}

/// A record of the input.
#[derive(Debug, Clone, PartialEq)]
pub struct TextRecord {
    /// The line on which the record begins, from 1.
    pub line: u64,
    /// The key.
    pub key: Vec<u8>,
    /// The value of the key.
    pub body: RecordBody,
    /// The expiry time, in milliseconds since 1970, if there is one.
    pub expires: Option<u64>,
    /// Whether it replaces the key's contents. Otherwise it adds to a collection.
    pub replaces: bool,
}

/// A record that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadLine {
    /// The line on which the record begins, from 1.
    pub line: u64,
    /// The reason.
    pub why: String,
}

/// How to read the input.
#[derive(Debug, Clone, Copy)]
pub struct ReadOptions {
    /// The format.
    pub format: Format,
    /// The values that `lines` gives.
    pub line_value: LineValue,
    /// In `tsv`, do not interpret backslashes.
    pub raw: bool,
    /// Skip the first record.
    pub header: bool,
    /// The input is a dump of `skein`, so each line has an end: a last line without one was cut
    /// off.
    pub of_dump: bool,
}

/// Reads records one by one, in bounded memory.
#[derive(Debug)]
pub struct TextReader<R> {
    lines: LineReader<R>,
    options: ReadOptions,
    text: Vec<u8>,
    header_pending: bool,
}

impl<R: BufRead> TextReader<R> {
    /// Returns a reader of `input`.
    pub fn new(input: R, options: ReadOptions) -> Self {
        Self {
            lines: LineReader { input, line: 0, bytes: 0, has_end: true },
            options,
            text: Vec::new(),
            header_pending: options.header,
        }
    }

    /// Returns the number of consumed bytes.
    pub fn bytes(&self) -> u64 {
        self.lines.bytes
    }

    /// Returns the next record, or `None` at the end of the input. The caller may continue after a
    /// bad line.
    ///
    /// # Errors
    /// Errors if the input could not be read.
    pub fn next(&mut self) -> io::Result<Option<Result<TextRecord, BadLine>>> {
        if std::mem::take(&mut self.header_pending) && self.read()?.is_none() {
            return Ok(None);
        }
        self.read()
    }

    /// Reads the text of the next record, and returns its line. Skips the first line of a dump,
    /// also behind other lines: dumps may be joined or sorted.
    fn read_text(&mut self) -> io::Result<(u64, RecordText)> {
        loop {
            self.text.clear();
            let line = self.lines.line + 1;
            let whole = match self.options.format {
                Format::Csv => csv::read_text(&mut self.lines, &mut self.text)?,
                _ => self.lines.read(&mut self.text)?,
            };
            if whole != RecordText::Whole || !file_head::is_line(&self.text, self.options.format) {
                return Ok((line, whole));
            }
        }
    }

    fn read(&mut self) -> io::Result<Option<Result<TextRecord, BadLine>>> {
        let (line, whole) = self.read_text()?;
        let fields = match whole {
            RecordText::End => return Ok(None),
            RecordText::TooLong => {
                Err(format!("longer than the limit of {MAX_RECORD_LEN} bytes for a record"))
            }
            RecordText::Whole if self.options.of_dump && !self.lines.has_end => {
                Err("the file ends within this record, so it was cut off; use a complete copy".to_owned())
            }
            RecordText::Whole => match self.options.format {
                Format::Lines => {
                    let (key, value) = lines::parse(&self.text, self.options.line_value, line);
                    return Ok(Some(Ok(TextRecord {
                        line,
                        key,
                        body: RecordBody::Value(value),
                        expires: None,
                        replaces: false,
                    })));
                }
                Format::Tsv => tsv::parse(&self.text, self.options.raw),
                Format::Csv => csv::parse(&self.text),
                Format::Hex => hex::parse(&self.text),
            },
        };
        let record = fields.and_then(|fields| fields::parse(line, fields));
        Ok(Some(record.map_err(|why| BadLine { line, why })))
    }
}

/// Writes one record, newline included: a key, its value, and its expiry time. Returns `Ok(false)`,
/// and writes nothing, if the format cannot hold the record.
///
/// # Errors
/// Errors if the output could not be written.
pub fn write(
    out: &mut impl Write,
    format: Format,
    key: &[u8],
    body: &RecordBody,
    expires: Option<u64>,
) -> io::Result<bool> {
    let (field, separator): (FieldWriter, u8) = match format {
        Format::Lines => return lines::write(out, key),
        Format::Tsv => (tsv::write_field, b'\t'),
        Format::Csv => (csv::write_field, b','),
        Format::Hex => (hex::write_field, b'\t'),
    };
    let mut text = Vec::with_capacity(key.len() + 64);
    field(key, &mut text);
    let mut add = |bytes: &[u8]| {
        text.push(separator);
        field(bytes, &mut text);
    };
    fields::write(body, expires, &mut add);
    text.push(b'\n');
    out.write_all(&text).map(|()| true)
}

/// Appends a field to the text of a record.
type FieldWriter = fn(&[u8], &mut Vec<u8>);

/// The result of reading a record's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RecordText {
    /// The input is at its end.
    End,
    /// The text is complete, without its newline.
    Whole,
    /// The text was over the limit and was skipped.
    TooLong,
}

#[derive(Debug)]
struct LineReader<R> {
    input: R,
    /// The number of lines read so far.
    line: u64,
    bytes: u64,
    /// Whether the last line had a newline at its end.
    has_end: bool,
}

impl<R: BufRead> LineReader<R> {
    /// Appends the next line, without its newline, to `text`.
    fn read(&mut self, text: &mut Vec<u8>) -> io::Result<RecordText> {
        let mut too_long = false;
        let mut any = false;
        loop {
            let chunk = match self.input.fill_buf() {
                Ok(chunk) => chunk,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if chunk.is_empty() {
                break;
            }
            any = true;
            self.has_end = false;
            let newline = chunk.iter().position(|&byte| byte == b'\n');
            let part = &chunk[..newline.unwrap_or(chunk.len())];
            too_long |= text.len() + part.len() > MAX_RECORD_LEN;
            if !too_long {
                text.extend_from_slice(part);
            }
            let used = part.len() + usize::from(newline.is_some());
            self.input.consume(used);
            self.bytes += used as u64;
            if newline.is_some() {
                self.has_end = true;
                break;
            }
        }
        self.line += u64::from(any);
        Ok(match (any, too_long) {
            (false, _) => RecordText::End,
            (true, true) => RecordText::TooLong,
            (true, false) => RecordText::Whole,
        })
    }
}

#[cfg(test)]
mod tests;
