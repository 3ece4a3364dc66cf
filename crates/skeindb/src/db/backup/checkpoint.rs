//! Copies the engine in memory: a checkpoint of one moment in the other folder.

use std::panic::resume_unwind;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;

use skein_data::OpenProgress;
use skein_store::Store;

use super::Progress;
use crate::Result;

/// Copies all rows into an empty folder. `progress` is called on this thread, while the writing
/// threads wait for it, and its error ends the copy.
pub(super) fn copy(
    store: &Store,
    folder: &Path,
    progress: &mut dyn FnMut(&Progress) -> Result<()>,
) -> Result<Progress> {
    let (sender, parts) = sync_channel(0);
    // A receiver that is gone has cancelled the copy.
    let watch = move |copied: &OpenProgress| _ = sender.send(copied.seen());
    let copied = Arc::new(OpenProgress::watched(watch));
    let cancels = Arc::downgrade(&copied);
    std::thread::scope(|scope| {
        // The channel ends with the thread, which has the only strong handle of its sender.
        let copying = scope.spawn(move || store.copy_to(folder, &copied));
        let mut told = Ok(());
        for seen in &parts {
            told = progress(&Progress { rows: seen.records, bytes: seen.bytes });
            if told.is_err() {
                cancels.upgrade().inspect(|copied| copied.cancel());
                break;
            }
        }
        drop(parts);
        let report = copying.join().unwrap_or_else(|panic| resume_unwind(panic));
        told?;
        let report = report?;
        Ok(Progress { rows: report.rows, bytes: report.bytes })
    })
}
