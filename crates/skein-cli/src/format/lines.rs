//! `lines`: one key per line. Every byte but the newline stands for itself.

use std::io::{self, Write};

use super::LineValue;

/// Returns the key and the value of a line.
pub(super) fn parse(text: &[u8], value: LineValue, line: u64) -> (Vec<u8>, Vec<u8>) {
    let value = match value {
        LineValue::Number => line.to_string().into_bytes(),
        LineValue::Empty => Vec::new(),
        LineValue::Key => text.to_vec(),
    };
    (text.to_vec(), value)
}

/// Writes a key. Returns `Ok(false)` if the key contains a newline.
pub(super) fn write(out: &mut impl Write, key: &[u8]) -> io::Result<bool> {
    if key.contains(&b'\n') {
        return Ok(false);
    }
    out.write_all(key)?;
    out.write_all(b"\n")?;
    Ok(true)
}
