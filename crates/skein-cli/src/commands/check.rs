//! `skein check`: reports the contents and the damage of a data folder. Changes nothing.
//!
//! This file checks folders of the engine in memory; `disk` checks those of the disk engine.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{FlockOperation, flock};
use skein_disk::is_disk_folder;
use skein_log::storage::{OsStorage, Storage as _, StorageFile};
use skein_log::{LogError, LogRecoveryReport, TornTail};
use skein_store::{Error, OpenProgress, StoreInspection, inspect_with};

mod disk;

use crate::console;
use crate::exit::{Exit, Failure};
use crate::progress::{PercentProgress, counted};
use crate::target;
use crate::units::show_size;

const EXAMPLES: &str = "\
Examples:
  skein check ./skein-data

It reads all files of the newest checkpoint and of the logs and checks every checksum. It takes the folder's lock, so \
stop the server first. Log folders need not be named: the data folder remembers them. A missing one is reported with \
the way out, and the exit code is 3.

A torn tail, left by a write during a crash, is not damage: the next start of a server cuts it off, and no promised write \
is lost. With damage the exit code is 3, and no server starts on the folder: restore the named files from a copy.

A folder of the disk engine is read in the same way: every page of its file, every node of its trie, every record of its log.";

/// Read a data folder and report its contents; change nothing.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct CheckArgs {
    /// The data folder.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// Runs `skein check`.
pub fn run(args: &CheckArgs) -> Result<Exit, Failure> {
    let folder = &args.folder;
    if is_disk_folder(folder) {
        let _lock = lock(folder)?;
        return disk::check(folder);
    }
    target::refuse_strange(folder)?;
    let _lock = lock(folder)?;
    let found = with_bar(|progress| inspect_with(folder, &OsStorage, progress));
    let found = found.map_err(|error| target::store_failure(&error))?;
    console::print(&describe(folder, &found))?;
    let Some((last, others)) = found.damage.split_last() else { return Ok(Exit::Ok) };
    for error in others {
        console::note(format_args!("skein: {error}"));
    }
    Err(target::store_failure(last))
}

/// Runs a check, and shows its progress on a terminal.
fn with_bar<R>(check: impl FnOnce(&OpenProgress) -> R) -> R {
    let bar = Arc::new(PercentProgress::start());
    let shown = bar.clone();
    let progress = OpenProgress::watched(move |progress| {
        let seen = progress.seen();
        #[expect(clippy::cast_precision_loss, reason = "a percentage, for people")]
        let part = seen.percent() as f64 / 100.0;
        shown.update(&format!("checking, {} read", show_size(seen.bytes)), part);
    });
    let checked = check(&progress);
    drop(progress);
    if let Some(bar) = Arc::into_inner(bar) {
        bar.finish();
    }
    checked
}

/// Locks the folder, so that no server starts meanwhile. If there is no lock file, no server has
/// ever used the folder, and none is created.
fn lock(folder: &Path) -> Result<Option<Box<dyn StorageFile>>, Failure> {
    let path = folder.join("lock");
    let failed = |error| target::store_failure(&LogError::io("lock", &path, &error).into());
    let file = match OsStorage.open(&path, false) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    let Some(descriptor) = file.descriptor() else { return Ok(None) };
    match flock(descriptor, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(file)),
        Err(error) if error == rustix::io::Errno::WOULDBLOCK => Err(Failure::new(format!(
            "{} is in use by {}; stop that process, or check a copy of the folder",
            folder.display(),
            OsStorage.lock_holder(&path)
        ))),
        Err(error) => Err(failed(error.into())),
    }
}

fn describe(folder: &Path, found: &StoreInspection) -> String {
    let mut lines = vec![format!("{}: store {}", folder.display(), found.store_id)];
    lines.extend(found.log_folders.iter().map(|folder| format!("log folder: {}", folder.display())));
    for checkpoint in &found.checkpoints {
        let name = checkpoint.folder.file_name().unwrap_or_default().display();
        lines.push(match checkpoint.end_epoch {
            Some(end) => format!(
                "{name}: {}, {}, epochs {} to {end}",
                counted(checkpoint.rows, "row"),
                show_size(checkpoint.bytes),
                checkpoint.begin_epoch
            ),
            None => format!("{name}: not finished, so it does not count; the next start removes it"),
        });
    }
    if let Some(logs) = &found.logs {
        lines.extend(describe_log("logs", logs, found.log_records));
    }
    let missing = found.damage.iter().filter(|error| matches!(error, Error::LogFolderMissing { .. })).count();
    if missing > 0 {
        lines.push(format!("{} missing, so the logs were not read", counted(missing as u64, "log folder")));
    }
    lines.push(describe_damage(found.damage.len() - missing));
    lines.join("\n") + "\n"
}

/// Describes a log or several logs, and the records since the checkpoint.
fn describe_log(name: &str, log: &LogRecoveryReport, records: u64) -> Vec<String> {
    let all = format!(
        "{name}: {} in {}, durable up to epoch {}; {} since the checkpoint",
        show_size(log.bytes),
        counted(log.segments as u64, "segment"),
        log.durable_epoch,
        counted(records, "record")
    );
    std::iter::once(all).chain(log.torn_tails.iter().map(torn_tail)).collect()
}

fn describe_damage(places: usize) -> String {
    match places {
        0 => "no damage".to_owned(),
        1 => "1 place is damaged".to_owned(),
        places => format!("{places} places are damaged"),
    }
}

fn torn_tail(tail: &TornTail) -> String {
    format!(
        "torn tail: {} from byte {}, {}; the next start cuts it off",
        tail.path.display(),
        tail.offset,
        show_size(tail.bytes)
    )
}
