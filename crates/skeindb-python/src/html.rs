//! The views of objects in notebooks.

use std::fmt::Write as _;

use pyo3::prelude::*;

use crate::chunk::Row;
use crate::failure::{Failure, Result};
use crate::range::{KeyRange, Part};
use crate::reader::Reader;
use crate::row_iterator::RowIterator;

/// Bytes of a key or a value that are shown.
const BYTES_SHOWN: usize = 80;

/// Returns the text with HTML's special characters replaced.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Returns a table of names and texts under a caption.
pub(crate) fn figures(caption: &str, rows: &[(&str, String)]) -> String {
    let mut html = format!("<table><caption>{}</caption>", escaped(caption));
    for (name, text) in rows {
        _ = write!(html, "<tr><th>{}</th><td>{}</td></tr>", escaped(name), escaped(text));
    }
    html + "</table>"
}

/// Returns a table of the first rows of a range under a caption. An error is shown in their place.
pub(crate) fn rows(
    py: Python<'_>,
    reader: &Reader,
    range: &KeyRange,
    reverse: bool,
    most: usize,
    caption: &str,
) -> String {
    let mut html =
        format!("<table><caption>{}</caption><tr><th>key</th><th>value</th></tr>", escaped(caption));
    let shown = first_rows(py, reader, range, reverse, most + 1);
    let (rows, note) = match &shown {
        Ok(rows) if rows.len() > most => (&rows[..most], "…".to_owned()),
        Ok(rows) => (&rows[..], String::new()),
        Err(failed) => (&[][..], failed.clone()),
    };
    for (key, value) in rows {
        _ = write!(html, "<tr><td>{}</td><td>{}</td></tr>", bytes(key), bytes(value));
    }
    if !note.is_empty() {
        _ = write!(html, "<tr><td colspan=2>{}</td></tr>", escaped(&note));
    }
    html + "</table>"
}

fn first_rows(
    py: Python<'_>,
    reader: &Reader,
    range: &KeyRange,
    reverse: bool,
    most: usize,
) -> Result<Vec<Row>, String> {
    let text = |failed: Failure| PyErr::from(failed).to_string();
    let iter = RowIterator::new(reader.clone(), range.clone(), Part::Items, reverse).map_err(text)?;
    let mut rows = Vec::new();
    while rows.len() < most {
        let Some(row) = iter.next_row(py).map_err(text)? else { break };
        rows.push(row);
    }
    Ok(rows)
}

/// Returns bytes as Python writes them, shortened.
fn bytes(bytes: &[u8]) -> String {
    let shown = &bytes[..bytes.len().min(BYTES_SHOWN)];
    let more = if shown.len() < bytes.len() { "…" } else { "" };
    escaped(&format!("b'{}'{more}", shown.escape_ascii()))
}
