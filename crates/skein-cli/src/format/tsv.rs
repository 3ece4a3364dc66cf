//! `tsv`: fields separated by tabs; tab, newline, carriage return and backslash are escaped.

/// Returns the fields of a line.
///
/// # Errors
/// Returns the mistake in the line.
pub(super) fn parse(text: &[u8], raw: bool) -> Result<Vec<Vec<u8>>, String> {
    if raw {
        return Ok(text.split(|&byte| byte == b'\t').map(<[u8]>::to_vec).collect());
    }
    // A bare carriage return at the end belongs to a Windows line end. One that belongs to the
    // value is written as `\r`.
    let text = text.strip_suffix(b"\r").unwrap_or(text);
    text.split(|&byte| byte == b'\t').map(unescape).collect()
}

/// Appends a field, escaped.
pub(super) fn write_field(field: &[u8], text: &mut Vec<u8>) {
    for &byte in field {
        match byte {
            b'\t' => text.extend_from_slice(b"\\t"),
            b'\n' => text.extend_from_slice(b"\\n"),
            b'\r' => text.extend_from_slice(b"\\r"),
            b'\\' => text.extend_from_slice(b"\\\\"),
            _ => text.push(byte),
        }
    }
}

fn unescape(field: &[u8]) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field.iter();
    while let Some(&byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        bytes.push(match rest.next() {
            Some(b't') => b'\t',
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b'\\') => b'\\',
            Some(&other) => {
                return Err(format!(
                    "unknown escape \\{}; write a backslash as \\\\, or use --raw",
                    other.escape_ascii()
                ));
            }
            None => {
                return Err("a backslash ends the field; write it as \\\\, or use --raw".to_owned());
            }
        });
    }
    Ok(bytes)
}
