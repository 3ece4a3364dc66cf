//! `skein check` of a disk store's folder.

use std::path::Path;

use skein_disk::{DiskInspection, TrieInspection, inspect_with};
use skein_log::storage::OsStorage;

use super::{describe_damage, describe_log, with_bar};
use crate::console;
use crate::disk;
use crate::exit::{Exit, Failure};
use crate::progress::counted;
use crate::units::show_size;

/// Checks a folder. The caller must hold its lock.
pub fn check(folder: &Path) -> Result<Exit, Failure> {
    let found = with_bar(|progress| inspect_with(folder, &OsStorage, progress));
    let found = found.map_err(|error| disk::failure(&error))?;
    console::print(&describe(folder, &found))?;
    let Some((last, others)) = found.damage.split_last() else { return Ok(Exit::Ok) };
    for error in others {
        console::note(format_args!("skein: {error}"));
    }
    Err(disk::failure(last))
}

fn describe(folder: &Path, found: &DiskInspection) -> String {
    let mut lines = vec![
        format!("{}: disk store {}", folder.display(), found.store_id),
        format!(
            "file: {}, {} of it free; {} read, up to write {}",
            show_size(found.file_bytes),
            show_size(found.free_bytes),
            counted(found.pages, "page"),
            found.sequence
        ),
    ];
    lines.extend(found.tries.iter().map(trie));
    if let Some(offset) = found.unfinished_header {
        lines.push(format!(
            "the header at byte {offset} is not whole, by a checkpoint that was not ended or by damage: the other one counts, and the next start mends it"
        ));
    }
    if let Some(log) = &found.log {
        lines.extend(describe_log("log", log, found.log_records));
    }
    lines.push(describe_damage(found.damage.len()));
    lines.join("\n") + "\n"
}

fn trie(found: &TrieInspection) -> String {
    let TrieInspection { name, shape, values, census, .. } = found;
    let holds = match census {
        Some(census) => format!(
            "{} in {} and {}, {} for long values",
            counted(census.keys as u64, "key"),
            counted(census.nodes as u64, "node"),
            counted(census.pages as u64, "page"),
            counted(census.overflow_pages as u64, "page")
        ),
        None => "not looked at, since pages are damaged".to_owned(),
    };
    format!("trie {name}: {shape}, {holds}; its values are {values}")
}
