//! The first line of a dump that is written to a file. It names the format, so that `skein load`
//! reads the file without `--format`, and never takes its lines for keys.
//!
//! ```text
//!   #skein-dump 1 tsv
//! ```

use clap::ValueEnum;

use super::Format;

const MAGIC: &str = "#skein-dump ";
/// The version of the formats: another one is a file that this program does not know.
const VERSION: &str = "1";

/// Returns the first line of a file in a format, newline included. A file of `lines` has no such
/// line, because each of its lines is a key, which may be any text.
pub fn line(format: Format) -> Option<String> {
    (format != Format::Lines).then(|| format!("{MAGIC}{VERSION} {}\n", name(format)))
}

/// Removes the byte order mark that an editor put before the first line of a dump. Other text keeps
/// it, because a key may begin with these bytes.
pub fn remove_mark(head: &mut Vec<u8>) {
    const MARK: &[u8] = "\u{feff}".as_bytes();
    if head.strip_prefix(MARK).is_some_and(|rest| rest.starts_with(MAGIC.as_bytes())) {
        head.drain(..MARK.len());
    }
}

/// Returns whether the text of a record is the first line of a dump of this format. No record has
/// this text: each of these formats has two fields or more.
pub fn is_line(text: &[u8], format: Format) -> bool {
    format != Format::Lines && format_of(text) == Ok(Some(format))
}

fn name(format: Format) -> String {
    format.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

/// Returns the format that the first line of a file names; `None` if the file is not a dump. A key
/// that begins like that line is followed by a tab or a comma.
///
/// # Errors
/// It is a dump of another version, or of a format that this program does not know.
pub fn format_of(head: &[u8]) -> Result<Option<Format>, String> {
    let Some(rest) = head.strip_prefix(MAGIC.as_bytes()) else { return Ok(None) };
    let end = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
    if rest[..end].iter().any(|byte| matches!(byte, b'\t' | b',')) {
        return Ok(None);
    }
    let words = String::from_utf8_lossy(&rest[..end]);
    let format = match words.trim_end().split_once(' ') {
        Some((VERSION, name)) => Format::from_str(name, false).ok(),
        _ => None,
    };
    format.map(Some).ok_or_else(|| {
        format!(
            "its first line says `{MAGIC}{}`, and this program reads version {VERSION} of tsv, csv and hex; \
             use the skein that wrote it, or a later one",
            words.trim_end()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_as_it_was_written() {
        for format in Format::value_variants() {
            let Some(line) = line(*format) else {
                assert_eq!(*format, Format::Lines);
                continue;
            };
            assert_eq!(format_of(line.as_bytes()), Ok(Some(*format)));
            assert_eq!(format_of(format!("{line}a\t1\n").as_bytes()), Ok(Some(*format)));
            // A file of Windows.
            assert_eq!(format_of(line.replace('\n', "\r\n").as_bytes()), Ok(Some(*format)));
        }
        for text in
            ["", "a\t1\n", "#skein", "# skein-dump 1 tsv\n", "#skein-dump 1 tsv\t1\n", "#skein-dump 2,1\n"]
        {
            assert_eq!(format_of(text.as_bytes()), Ok(None), "{text:?}");
        }
        let mut marked = "\u{feff}#skein-dump 1 tsv\n".as_bytes().to_vec();
        remove_mark(&mut marked);
        assert_eq!(format_of(&marked), Ok(Some(Format::Tsv)));
        let mut text = "\u{feff}key\n".as_bytes().to_vec();
        remove_mark(&mut text);
        assert_eq!(text, "\u{feff}key\n".as_bytes());
        for text in ["#skein-dump 2 tsv\n", "#skein-dump 1 json\n", "#skein-dump 1\n", "#skein-dump 11 tsv\n"]
        {
            let refused = format_of(text.as_bytes()).expect_err(text);
            assert!(refused.contains(text.trim_end()), "{refused}");
        }
    }
}
