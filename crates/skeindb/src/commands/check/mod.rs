//! `skein check`: what is in a data folder, and whether a server could start on it. Changes nothing.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use skein_store::{Store, StoreOptions};

use crate::exit::{Exit, Failure};
use crate::target;
use crate::units::show_size;

mod overlay;

use overlay::Overlay;

const EXAMPLES: &str = "\
Examples:
  skein check ./skein-data

It does all that a server's start would do, with the same code, but keeps every change to itself: it reads all files,
checks every checksum, and needs as much memory as the server. It takes the folder's lock, so stop the server first, or
check a copy.

A torn tail, of what was being written when a process or the machine died, is no damage: a server's start cuts it off,
and nothing that was promised is lost. Damage ends the check at the first place found, with exit code 3.";

/// Read a data folder and say what it holds; change nothing.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The data folder.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Folders of the logs, where they do not lie in the data folder.
    #[arg(long, value_name = "DIR")]
    log_dir: Vec<PathBuf>,
}

/// Runs `skein check`.
pub fn run(args: &Args) -> Result<Exit, Failure> {
    let folder = &args.folder;
    target::refuse_strange(folder)?;
    for dir in std::iter::once(folder).chain(&args.log_dir) {
        if dir.is_dir() {
            let (files, bytes) = measure(dir)
                .map_err(|error| Failure::during(format_args!("cannot read {}", dir.display()), &error))?;
            println!("{}: {files} files, {}", dir.display(), show_size(bytes));
        }
    }
    let options = StoreOptions {
        log_folders: args.log_dir.clone(),
        storage: Arc::new(Overlay::default()),
        // No threads at work on what nobody will see.
        checkpoint_log_bytes: None,
        checkpoint_interval: None,
        ..StoreOptions::default()
    };
    let store = Store::open(folder, options).map_err(|error| target::store_failure(&error))?;
    let recovery = store.recovery();
    println!("checkpoint: {} rows", recovery.checkpoint_rows);
    println!("logs: {} records since then, durable up to epoch {}", recovery.log_records, recovery.epoch);
    for (file, bytes) in &recovery.torn_tails {
        println!("torn tail: {}, {bytes} bytes; a server's start cuts it off", file.display());
    }
    println!("{} keys, no damage", recovery.keys);
    Ok(Exit::Ok)
}

/// Files and bytes in a folder and below it.
fn measure(dir: &Path) -> std::io::Result<(u64, u64)> {
    let (mut files, mut bytes) = (0, 0);
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let meta = entry.metadata()?;
        if meta.is_dir() {
            let (below, size) = measure(&entry.path())?;
            files += below;
            bytes += size;
        } else {
            files += 1;
            bytes += meta.len();
        }
    }
    Ok((files, bytes))
}
