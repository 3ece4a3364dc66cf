//! `hex`: fields in hexadecimal, separated by a tab or a space.

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// Returns the fields of a line.
///
/// # Errors
/// Returns the mistake in the line.
pub(super) fn parse(text: &[u8]) -> Result<Vec<Vec<u8>>, String> {
    let text = text.strip_suffix(b"\r").unwrap_or(text);
    text.split(|&byte| byte == b'\t' || byte == b' ').map(decode).collect()
}

/// Appends a field in hexadecimal.
pub(super) fn write_field(field: &[u8], text: &mut Vec<u8>) {
    for &byte in field {
        text.push(DIGITS[usize::from(byte >> 4)]);
        text.push(DIGITS[usize::from(byte & 15)]);
    }
}

fn decode(field: &[u8]) -> Result<Vec<u8>, String> {
    if !field.len().is_multiple_of(2) {
        return Err(format!("{} hexadecimal digits; a byte takes two", field.len()));
    }
    field.chunks_exact(2).map(|pair| Ok(digit(pair[0])? << 4 | digit(pair[1])?)).collect()
}

fn digit(byte: u8) -> Result<u8, String> {
    match byte {
        b'0'..=b'9' => Ok(byte - b'0'),
        b'a'..=b'f' => Ok(byte - b'a' + 10),
        b'A'..=b'F' => Ok(byte - b'A' + 10),
        _ => Err(format!("'{}' is not a hexadecimal digit", byte.escape_ascii())),
    }
}
