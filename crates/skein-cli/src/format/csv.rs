//! `csv`: RFC 4180. A quoted field may contain commas, newlines and doubled quotes. Bytes need not
//! be UTF-8.

use std::io::{self, BufRead};

use super::{LineReader, MAX_RECORD_LEN, RecordText};

/// Appends the text of the next record, which may continue over line ends inside quotes.
pub(super) fn read_text<R: BufRead>(lines: &mut LineReader<R>, text: &mut Vec<u8>) -> io::Result<RecordText> {
    let mut quoted = false;
    let mut scanned = 0;
    loop {
        match lines.read(text)? {
            // Within quotes, the end of the input ends the record. `parse` then reports that a
            // quote is open.
            RecordText::End => return Ok(if scanned == 0 { RecordText::End } else { RecordText::Whole }),
            RecordText::TooLong => return Ok(RecordText::TooLong),
            RecordText::Whole => {}
        }
        quoted = ends_quoted(&text[scanned..], quoted);
        if !quoted {
            return Ok(RecordText::Whole);
        }
        if text.len() >= MAX_RECORD_LEN {
            return Ok(RecordText::TooLong);
        }
        text.push(b'\n');
        scanned = text.len();
    }
}

/// Returns whether a line that begins inside a quoted field, or not, ends inside one. A quote opens
/// a field only at the field's start. Elsewhere it is an error of that line alone, and must not
/// swallow the next lines.
fn ends_quoted(line: &[u8], mut quoted: bool) -> bool {
    let mut at_start = !quoted;
    let mut bytes = line.iter().peekable();
    while let Some(&byte) = bytes.next() {
        match byte {
            b'"' if quoted => {
                if bytes.peek() == Some(&&b'"') {
                    bytes.next();
                } else {
                    quoted = false;
                }
            }
            b'"' if at_start => quoted = true,
            _ => {}
        }
        at_start = !quoted && byte == b',';
    }
    quoted
}

/// Returns the fields of a record.
///
/// # Errors
/// Returns the mistake in the record.
pub(super) fn parse(text: &[u8]) -> Result<Vec<Vec<u8>>, String> {
    let text = text.strip_suffix(b"\r").unwrap_or(text);
    let mut fields = Vec::with_capacity(2);
    let mut rest = text;
    loop {
        let (field, after) = match rest.strip_prefix(b"\"") {
            Some(inside) => quoted_field(inside)?,
            None => plain_field(rest)?,
        };
        fields.push(field);
        match after {
            Some(after) => rest = after,
            None => return Ok(fields),
        }
    }
}

/// Appends a field. Quotes it if necessary.
pub(super) fn write_field(field: &[u8], text: &mut Vec<u8>) {
    if !field.iter().any(|byte| matches!(byte, b',' | b'"' | b'\r' | b'\n')) {
        text.extend_from_slice(field);
        return;
    }
    text.push(b'"');
    for &byte in field {
        if byte == b'"' {
            text.push(b'"');
        }
        text.push(byte);
    }
    text.push(b'"');
}

/// A field, and the text behind its comma; `None` if it is the last field.
type CsvField<'a> = (Vec<u8>, Option<&'a [u8]>);

fn plain_field(text: &[u8]) -> Result<CsvField<'_>, String> {
    let comma = text.iter().position(|&byte| byte == b',');
    let field = &text[..comma.unwrap_or(text.len())];
    if field.contains(&b'"') {
        return Err(
            "a quote inside a field that is not quoted; quote the field and double the quote".to_owned()
        );
    }
    Ok((field.to_vec(), comma.map(|at| &text[at + 1..])))
}

fn quoted_field(inside: &[u8]) -> Result<CsvField<'_>, String> {
    let mut field = Vec::new();
    let mut rest = inside;
    loop {
        let quote = rest
            .iter()
            .position(|&byte| byte == b'"')
            .ok_or_else(|| "a quoted field that never ends".to_owned())?;
        field.extend_from_slice(&rest[..quote]);
        rest = &rest[quote + 1..];
        match rest.first() {
            Some(b'"') => {
                field.push(b'"');
                rest = &rest[1..];
            }
            Some(b',') => return Ok((field, Some(&rest[1..]))),
            None => return Ok((field, None)),
            Some(other) => {
                return Err(format!(
                    "'{}' after a closing quote; a comma or the end of the line must follow",
                    other.escape_ascii()
                ));
            }
        }
    }
}
