//! Measures the resident size of a filled index, in a child process. In this process the index
//! would reuse pages that other contenders have freed.
//!
//! ```text
//!   bench                      child: `skein bench weigh NAME`, without huge pages from its start
//!     keys ──── pipe ────────► the keys, in two allocations of exactly their size
//!                              resident ─► an empty index ─► all keys ─► resident
//!     figures ◄─ one line ───  the bytes added, and the peak in between
//! ```

use std::io::{BufReader, BufWriter, Read, Write};
use std::process::{Child, Command, Stdio};

use rustix::thread::{disable_transparent_huge_pages, transparent_huge_pages_are_disabled};
use serde::{Deserialize, Serialize};

use crate::keyset::PackedKeys;
use crate::machine::{PeakResident, ResidentBytes};
use crate::rival::index::{self, RegisteredIndex};
use crate::sys::{LoopClock, this_program};
use crate::{Error, Result};

/// The arguments that make this program the child; the name of a contender follows.
const CHILD: [&str; 2] = ["bench", "weigh"];

/// The bytes that an index added to its process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResidentGrowth {
    /// Resident bytes with all keys inserted.
    pub bytes: u64,
    /// The peak of resident bytes in between.
    pub peak_bytes: u64,
}

/// Measures a contender in a child process.
///
/// # Errors
/// If the child cannot be started or fails; the error holds the child's own message.
pub fn in_own_process(entry: &RegisteredIndex, keys: &PackedKeys) -> Result<ResidentGrowth> {
    let failed = |what: String| Error::Failed(format!("measuring {} in its own process: {what}", entry.name));
    let child = start(entry).map_err(|error| failed(error.to_string()))?;
    let (sent, output) = send_keys_and_wait(child, keys).map_err(|error| failed(error.to_string()))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(failed(format!("it ended ({}): {}", output.status, said.trim())));
    }
    sent.map_err(|error| failed(format!("cannot send it the keys: {error}")))?;
    serde_json::from_slice(&output.stdout)
        .map_err(|error| failed(format!("cannot parse its figures: {error}")))
}

/// Starts the child, which inherits the setting of huge pages. The child itself could not switch
/// them off in time: its allocator already has a huge page, with room in it.
fn start(entry: &RegisteredIndex) -> std::io::Result<Child> {
    let program = this_program().ok_or(std::io::ErrorKind::NotFound)?;
    let mut command = Command::new(program);
    command.args(CHILD).arg(entry.name);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let disabled = transparent_huge_pages_are_disabled()?;
    disable_transparent_huge_pages(true)?;
    let child = command.spawn();
    disable_transparent_huge_pages(disabled)?;
    child
}

/// Sends the keys and waits for the child to end. If the child fails early, it reads no more keys;
/// then its own message is more useful than the write error.
fn send_keys_and_wait(
    mut child: Child,
    keys: &PackedKeys,
) -> std::io::Result<(std::io::Result<()>, std::process::Output)> {
    let sent = match child.stdin.take() {
        Some(input) => {
            let mut input = BufWriter::new(input);
            keys.write_to(&mut input).and_then(|()| input.flush())
        }
        None => Ok(()),
    };
    Ok((sent, child.wait_with_output()?))
}

/// Runs in the child: reads the keys, fills the contender of this name, and returns the line of
/// figures.
///
/// # Errors
/// If there is no such contender for these keys, if the process has huge pages, or if a system call
/// fails.
pub fn weigh_here(name: &str, keys: &mut impl Read) -> Result<String> {
    // A small buffer and no temporary copy of the keys, so that there are no freed pages which the
    // index could reuse.
    let keys = PackedKeys::read_from(&mut BufReader::new(keys));
    let keys = keys.map_err(|error| Error::Input(format!("cannot read the keys to measure: {error}")))?;
    let entry = made_for(name, &keys)?;
    let (before, peak) = (ResidentBytes::now()?, PeakResident::begin()?);
    let index = (entry.make)(keys.len());
    index.fill(&keys, 0, 1, LoopClock::Wall);
    let after = ResidentBytes::now()?;
    if after.huge_bytes > 0 {
        let text = "this process has huge pages, which distort its resident size; run `skein bench \
                    run memory`, which starts it without them";
        return Err(Error::Failed(text.to_owned()));
    }
    let bytes = after.bytes.saturating_sub(before.bytes);
    let added = ResidentGrowth { bytes, peak_bytes: peak.above()?.max(bytes) };
    serde_json::to_string(&added).map_err(|error| Error::Failed(error.to_string()))
}

/// Returns the contender of this name that is made for keys of these lengths.
fn made_for(name: &str, keys: &PackedKeys) -> Result<&'static RegisteredIndex> {
    let lengths = || keys.iter().map(<[u8]>::len);
    let (shortest, longest) = (lengths().min().unwrap_or(0), lengths().max().unwrap_or(0));
    let takes = |entry: &&RegisteredIndex| entry.key_bytes.0 <= shortest && longest <= entry.key_bytes.1;
    let mut entries: Vec<_> = index::all().into_iter().filter(|entry| entry.name == name).collect();
    entries.retain(takes);
    index::keep_most_specialised(&mut entries);
    entries.first().copied().ok_or_else(|| {
        Error::Input(format!(
            "there is no contender '{name}' for keys of {shortest} to {longest} bytes; choose from: {}",
            index::names().join(", ")
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_contender_is_found_by_name_and_key_lengths() {
        let keys: PackedKeys = [&b"12345678"[..], b"1"].into_iter().collect();
        assert_eq!(made_for("skein-masstree", &keys).expect("in every build").name, "skein-masstree");
        let error = made_for("geese", &keys).expect_err("no such contender").to_string();
        assert!(error.contains("'geese' for keys of 1 to 8 bytes") && error.contains("btreemap"), "{error}");
    }

    #[test]
    fn malformed_keys_are_rejected() {
        let error = weigh_here("btreemap", &mut &b"12345678"[..]).expect_err("too short").to_string();
        assert!(error.contains("cannot read the keys"), "{error}");
    }
}
