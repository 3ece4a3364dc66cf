//! Reports how far the data has been read: a bar on a terminal, a line in a log, a status for a
//! service manager.

use std::io::IsTerminal;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use skein_store::OpenProgress;

use super::say;
use super::service_manager::ServiceManager;
use crate::progress::{PercentProgress, counted};

/// How often the terminal is updated.
const TICK: Duration = Duration::from_millis(200);
/// The delay of the first line and status, and the time between two of them.
const LONG: Duration = Duration::from_secs(1);
/// How often a held thread checks whether it may continue.
const HOLD_TICK: Duration = Duration::from_millis(10);

/// Returns the progress of an opening. With a file, each step waits until the file exists.
pub fn progress(hold: Option<PathBuf>) -> Arc<OpenProgress> {
    let Some(file) = hold else { return Arc::default() };
    Arc::new(OpenProgress::watched(move |progress| {
        while !file.exists() && !progress.is_cancelled() {
            thread::sleep(HOLD_TICK);
        }
    }))
}

/// The progress, and the receivers of the reports.
pub struct OpenWatch<'w> {
    pub progress: &'w OpenProgress,
    /// The address where the server already listens.
    pub address: SocketAddr,
    pub supervisor: &'w ServiceManager,
}

impl OpenWatch<'_> {
    /// Opens the data, and reports the progress meanwhile.
    pub fn during<R>(&self, open: impl FnOnce() -> R) -> R {
        thread::scope(|scope| {
            // Dropped at the end, even by a panic, which ends the thread.
            let (_opening, ended) = channel::<()>();
            let name = thread::Builder::new().name("skein-progress".to_owned());
            if let Err(cause) = name.spawn_scoped(scope, move || self.tell(&ended)) {
                tracing::warn!(%cause, "nobody is told how far the data is read back");
            }
            open()
        })
    }

    fn tell(&self, ended: &Receiver<()>) {
        let (began, mut told) = (Instant::now(), 0);
        let mut bar = None;
        while ended.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
            let seen = self.progress.seen();
            let records = counted(seen.records, "record");
            let bar = bar.get_or_insert_with(PercentProgress::start);
            #[expect(clippy::cast_precision_loss, reason = "a percentage, for people")]
            let part = seen.percent() as f64 / 100.0;
            bar.update(&format!("reading the data back, {records}"), part);
            let seconds = began.elapsed().as_secs() / LONG.as_secs();
            if seconds > told {
                let percent = seen.percent();
                if told == 0 && !std::io::stderr().is_terminal() {
                    say(&format!("reading the data back: {percent}% of it; listening on {}\n", self.address));
                }
                self.supervisor.status(&format!("reading the data back: {percent}%"));
                told = seconds;
            }
        }
        if let Some(bar) = bar {
            bar.finish();
        }
    }
}
