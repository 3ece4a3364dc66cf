//! The text formats of `skein load` and `skein dump`.
//!
//! | format  | a record                                                | bytes that cannot stand for themselves    |
//! |---------|---------------------------------------------------------|-------------------------------------------|
//! | `lines` | a key per line                                          | newline (a key with one needs `hex`)      |
//! | `tsv`   | key, tab, value                                         | `\t` `\n` `\r` `\\`, written so           |
//! | `csv`   | key, comma, value (RFC 4180)                            | a field with `,` `"` CR or LF is quoted   |
//! | `hex`   | key, tab, value, both in hexadecimal                    | none                                      |
//!
//! What the fields of a record mean is in [`fields`]. `tsv`, `csv` and `hex` give back exactly what was written, whatever the bytes; a key that has much
//! has several records, each with a part of it.

use std::io::{self, BufRead, Write};

use clap::ValueEnum;

mod csv;
mod fields;
mod hex;
mod lines;
mod tsv;

/// The longest record that is read, in bytes of text. A longer one is refused and skipped, so that a binary file
/// given by mistake does not fill the memory.
pub const MAX_RECORD_LEN: usize = 1 << 30;

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

/// What `lines` gives each key as its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LineValue {
    /// The line's number, from 1.
    Number,
    /// Nothing: the empty value.
    Empty,
    /// The key itself.
    Key,
}

/// What a key has.
#[derive(Debug, Clone, PartialEq)]
pub enum RecordBody {
    /// One value.
    Value(Vec<u8>),
    /// Columns: names and values.
    Columns(Vec<(Vec<u8>, Vec<u8>)>),
    /// Members of a sorted set, and their scores.
    Members(Vec<(Vec<u8>, f64)>),
}

/// A record of the input.
#[derive(Debug, Clone, PartialEq)]
pub struct TextRecord {
    /// The line on which it begins, from 1.
    pub line: u64,
    /// The key.
    pub key: Vec<u8>,
    /// What the key has.
    pub body: RecordBody,
    /// When it expires, in milliseconds since 1970, if it does.
    pub expires: Option<u64>,
}

/// A record that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadLine {
    /// The line on which it begins, from 1.
    pub line: u64,
    /// What is wrong with it.
    pub why: String,
}

/// How to read.
#[derive(Debug, Clone, Copy)]
pub struct ReadOptions {
    /// The format.
    pub format: Format,
    /// What `lines` gives as values.
    pub line_value: LineValue,
    /// In `tsv`, take backslashes as they are.
    pub raw: bool,
    /// Skip the first record.
    pub header: bool,
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
    /// A reader of `input`.
    pub fn new(input: R, options: ReadOptions) -> Self {
        Self {
            lines: LineReader { input, line: 0, bytes: 0 },
            options,
            text: Vec::new(),
            header_pending: options.header,
        }
    }

    /// Bytes of input consumed.
    pub fn bytes(&self) -> u64 {
        self.lines.bytes
    }

    /// The next record; `None` at the end of the input. A bad line does not end the reading.
    ///
    /// # Errors
    /// The input could not be read.
    pub fn next(&mut self) -> io::Result<Option<Result<TextRecord, BadLine>>> {
        if std::mem::take(&mut self.header_pending) && self.read()?.is_none() {
            return Ok(None);
        }
        self.read()
    }

    fn read(&mut self) -> io::Result<Option<Result<TextRecord, BadLine>>> {
        self.text.clear();
        let line = self.lines.line + 1;
        let whole = match self.options.format {
            Format::Csv => csv::read_text(&mut self.lines, &mut self.text)?,
            _ => self.lines.read(&mut self.text)?,
        };
        let fields = match whole {
            RecordText::End => return Ok(None),
            RecordText::TooLong => {
                Err(format!("longer than the limit of {MAX_RECORD_LEN} bytes for a record"))
            }
            RecordText::Whole => match self.options.format {
                Format::Lines => {
                    let (key, value) = lines::parse(&self.text, self.options.line_value, line);
                    return Ok(Some(Ok(TextRecord {
                        line,
                        key,
                        body: RecordBody::Value(value),
                        expires: None,
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

/// Writes one record, newline included: a key, what it has, and when it expires. `Ok(false)`: this format cannot hold it, and nothing was written.
///
/// # Errors
/// The output could not be written.
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

/// What a read of a record's text came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RecordText {
    /// The input is at its end.
    End,
    /// The text is there, without its newline.
    Whole,
    /// The text was over the limit and was skipped.
    TooLong,
}

#[derive(Debug)]
struct LineReader<R> {
    input: R,
    /// Lines read so far.
    line: u64,
    bytes: u64,
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
