//! `skein compact`: returns the unused space of a disk store's file.

use std::path::PathBuf;

use skein_disk::{Durability, is_disk_folder};

use crate::console;
use crate::disk;
use crate::exit::{Exit, Failure};
use crate::progress::counted;
use crate::units::show_size;

const EXAMPLES: &str = "\
Examples:
  skein compact ./disk-data

The folder must belong to the disk engine, and no server may use it. The command merges pages with few nodes, as far as the trie \
allows, moves pages from the end of the file to free places before them, and truncates the file, in steps of 4 MiB. It can be \
stopped at any moment; nothing is lost.";

/// Shrink a disk store's file to the space that it needs.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct CompactArgs {
    /// The data folder of a disk store.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// Runs `skein compact`.
pub fn run(args: &CompactArgs) -> Result<Exit, Failure> {
    let folder = &args.folder;
    let name = folder.display();
    if !folder.exists() {
        return Err(Failure::new(format!("{name} does not exist; name the data folder of a disk store")));
    }
    if !is_disk_folder(folder) {
        return Err(Failure::new(format!(
            "{name} is not a data folder of the disk engine: it has no file `data.skein`; the memory engine needs no \
             compaction, because its checkpoints contain only live rows"
        )));
    }
    let store = disk::open_existing(folder, Durability::default())?;
    let report = store.compact().map_err(|error| disk::failure(&error))?;
    store.close().map_err(|error| disk::failure(&error))?;
    console::print(&format!(
        "{name}: {} before, {} now; {} merged, {} moved\n",
        show_size(report.bytes_before),
        show_size(report.bytes_after),
        counted(report.pages_merged as u64, "page"),
        report.pages_moved
    ))?;
    Ok(Exit::Ok)
}
