//! Keys from the user's file: lines as they are, or hexadecimal digits.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use super::{KeyFamily, KeyRequest, KeySource, NameSuffix, SourceOrder};
use crate::{Error, Result};

const LINES: &str = "the lines of a file, byte by byte without the line's end (for keys in \
                     hexadecimal: hex:PATH), in random order";
const HEX: &str = "keys of any bytes, written in a file as hexadecimal digits, one key per line, \
                   in random order";

const EMPTY: &str = "is empty; each line is a key, so take it out (sed -i '/^$/d')";

/// The greatest length of a line: far more than any contender's keys, and far less than the memory.
const LONGEST: u64 = 1 << 20;

pub static FILE: KeyFamily = KeyFamily::new("file", LINES, |request| open(request, as_it_is, 1))
    .taking(NameSuffix::Path, "file:paths.txt")
    .order(SourceOrder::Drawn);

pub static HEX_FILE: KeyFamily = KeyFamily::new("hex", HEX, |request| open(request, from_hex, 2))
    .taking(NameSuffix::Path, "hex:keys.hex")
    .order(SourceOrder::Drawn);

/// Decodes a line into a key, or returns the error in the line.
type LineDecoder = fn(&[u8], &mut Vec<u8>) -> std::result::Result<(), String>;

/// Opens the file. `per_byte` is the number of characters in the file per byte of a key.
fn open(request: &KeyRequest, decode: LineDecoder, per_byte: u64) -> Result<Box<dyn KeySource>> {
    let path = request.path.clone();
    let failed = |error| Error::io("read", &path, error);
    let file = File::open(&path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    if !metadata.is_file() {
        let what = if metadata.is_dir() { "a folder" } else { "not a regular file" };
        return Err(Error::Input(format!(
            "{} is {what}; name a regular file with one key per line (it is read twice, so a pipe \
             does not work)",
            path.display()
        )));
    }
    let reader = BufReader::with_capacity(1 << 18, file);
    Ok(Box::new(KeyFileLines {
        path,
        bytes: metadata.len() / per_byte,
        reader,
        decode,
        line: Vec::new(),
        number: 0,
    }))
}

struct KeyFileLines {
    path: PathBuf,
    /// The bytes of all keys, roughly.
    bytes: u64,
    reader: BufReader<File>,
    decode: LineDecoder,
    line: Vec<u8>,
    /// The number of the last line read, from 1.
    number: u64,
}

impl KeySource for KeyFileLines {
    fn next(&mut self, key: &mut Vec<u8>) -> Result<bool> {
        self.line.clear();
        self.number += 1;
        let read = self.reader.by_ref().take(LONGEST + 1).read_until(b'\n', &mut self.line);
        if read.map_err(|error| Error::io("read", &self.path, error))? == 0 {
            return Ok(false);
        }
        let ended = self.line.pop_if(|last| *last == b'\n').is_some();
        let decoded = if self.line.len() as u64 > LONGEST && !ended {
            Err(format!("is longer than {LONGEST} bytes; is this a file with one key per line?"))
        } else {
            (self.decode)(&self.line, key)
        };
        decoded.map_err(|wrong| bad_line(&self.path, self.number, &wrong))?;
        Ok(true)
    }

    fn bytes(&self) -> Option<u64> {
        Some(self.bytes)
    }
}

fn bad_line(path: &Path, number: u64, wrong: &str) -> Error {
    Error::Input(format!("{}: line {number} {wrong}", path.display()))
}

fn as_it_is(line: &[u8], key: &mut Vec<u8>) -> std::result::Result<(), String> {
    if line.is_empty() {
        return Err(EMPTY.to_owned());
    }
    key.extend(line);
    Ok(())
}

fn from_hex(line: &[u8], key: &mut Vec<u8>) -> std::result::Result<(), String> {
    let line = line.trim_ascii();
    if line.is_empty() {
        return Err(EMPTY.to_owned());
    }
    let digit = |at: usize| {
        let digit = char::from(line[at]).to_digit(16);
        digit.ok_or_else(|| {
            format!(
                "has '{}' at column {}, which is not a hexadecimal digit",
                line[at].escape_ascii(),
                at + 1
            )
        })
    };
    for at in (0..line.len()).step_by(2) {
        let high = digit(at)?;
        if at + 1 == line.len() {
            return Err(format!(
                "has {} hexadecimal digits; a byte is two, so the number must be even",
                line.len()
            ));
        }
        key.push((16 * high + digit(at + 1)?) as u8);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::keyset::{PackedKeys, estimated_bytes, make};

    /// Creates a file with this content; returns it and its name as a key set of this family.
    fn with(family: &str, content: &[u8]) -> (tempfile::NamedTempFile, String) {
        let file = tempfile::NamedTempFile::new().expect("the temporary folder takes files");
        std::fs::write(file.path(), content).expect("just made");
        let name = format!("{family}:{}", file.path().display());
        (file, name)
    }

    fn sorted(keys: &PackedKeys) -> Vec<&[u8]> {
        let mut all: Vec<_> = keys.iter().collect();
        all.sort_unstable();
        all
    }

    /// Returns a thousand lines.
    fn lines(line: impl Fn(usize) -> String) -> String {
        (0..1000).map(line).collect::<Vec<_>>().join("\n")
    }

    fn error(family: &str, content: &[u8]) -> String {
        let (_file, name) = with(family, content);
        make(&name, 10, 0, 1).expect_err("a bad file").to_string()
    }

    #[test]
    fn lines_are_keys_as_they_are() {
        let (_file, name) = with("file", b"b\n a \nb\n\xFF\r\n\0");
        let set = make(&name, 4, 0, 1).expect("four different lines");
        assert_eq!(sorted(&set.keys), [&b"\0"[..], b" a ", b"b", b"\xFF\r"]);
        assert_eq!((set.duplicates_dropped, set.shortest, set.longest), (1, 1, 3));
        assert_eq!(set.note, None);
    }

    #[test]
    fn hexadecimal_lines_are_bytes() {
        let (_file, name) = with("hex", b"00ff\r\n  0A0b0C\n");
        let set = make(&name, 2, 0, 1).expect("two lines");
        assert_eq!(sorted(&set.keys), [&b"\x00\xFF"[..], b"\x0A\x0B\x0C"]);
    }

    #[test]
    fn a_short_file_is_divided_as_asked_and_a_long_one_sampled() {
        let content: String = lines(|n| format!("line {n}"));
        let (_file, name) = with("file", content.as_bytes());
        let set = make(&name, 3000, 1000, 1).expect("some lines");
        assert_eq!((set.keys.len(), set.absent.len()), (750, 250));
        let note = set.note.expect("fewer than asked for");
        assert!(note.contains("1000 different keys of the 4000 asked for") && note.contains("250"), "{note}");

        let set = make(&name, 100, 50, 1).expect("enough lines");
        assert_eq!((set.keys.len(), set.absent.len(), set.note), (100, 50, None));
        let late = set.keys.iter().filter(|key| key.len() == 8 && key[5] > b'4').count();
        assert!((30..60).contains(&late), "{late} of 100 are from the second half");
        assert!(set.keys.iter().all(|key| !set.absent.iter().any(|absent| absent == key)));
    }

    #[test]
    fn errors_name_their_line() {
        assert!(error("file", b"a\n\nb\n").contains("line 2 is empty"));
        assert!(error("hex", b"00\n01\n \n").contains("line 3 is empty"));
        assert!(error("hex", b"00\n0x\n").contains("line 2 has 'x' at column 2"));
        assert!(error("hex", b"00\n01\n123\n").contains("line 3 has 3 hexadecimal digits"));
        assert!(error("file", &vec![b'x'; (1 << 20) + 1]).contains("line 1 is longer than 1048576 bytes"));
        assert!(error("file", b"").contains("has no keys"));
    }

    #[test]
    fn other_than_regular_files_are_rejected_by_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().display();
        let of = |name: String| make(&name, 1, 0, 1).expect_err("no file").to_string();
        assert!(of(format!("file:{path}")).contains("is a folder"));
        assert!(
            of(format!("hex:{path}/none")).contains("cannot read")
                && of(format!("hex:{path}/none")).contains("none")
        );
        assert!(of("file:/dev/null".to_owned()).contains("is not a regular file"));
    }

    #[test]
    fn a_files_estimate_covers_all_of_it() {
        let content: String = lines(|n| format!("{n:08}"));
        let (_file, name) = with("file", content.as_bytes());
        let estimate = estimated_bytes(&name, 10).expect("readable");
        // 1,000 keys of 8 bytes, as many ends, and the table that detects duplicates.
        assert!((16_000..64_000).contains(&estimate), "{estimate}");
    }
}
