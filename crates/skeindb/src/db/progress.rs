//! The progress of long operations, for the callbacks of the methods with the suffix `_with`.
//!
//! The engines count in an `OpenProgress`, on any of their threads. A callback of the library is
//! called on the thread that called the method, so it need not be `Send`: the operation runs on a
//! thread of its own, and waits for the callback.

use std::ops::ControlFlow;
use std::panic::resume_unwind;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use skein_data::OpenProgress;

use crate::{Error, Result};

/// The progress of a long operation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Rows that were copied or checked, those of the catalog of keyspaces included. In memory each
    /// member of a set, and each column of a large hash, is one more row. Operations on whole files
    /// or pages count none.
    pub rows: u64,
    /// Bytes that were copied, shared, checked or moved: of keys, values and members, or of files.
    pub bytes: u64,
    /// The bytes of the whole operation, as far as they are known by now; 0 if they are not known.
    /// Logs are read twice.
    pub bytes_total: u64,
}

/// Cancels an operation when it is dropped.
struct CancelOnDrop(Weak<OpenProgress>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.upgrade().inspect(|progress| progress.cancel());
    }
}

/// Runs an operation that counts in an `OpenProgress`, and calls `progress` on this thread. A break
/// cancels the operation, and is returned as the error that names it.
pub(super) fn watched<R: Send, E: Into<Error> + Send>(
    name: &'static str,
    progress: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
    operation: impl FnOnce(&OpenProgress) -> std::result::Result<R, E> + Send,
) -> Result<R> {
    let (sender, steps) = sync_channel(0);
    // Several threads count. The figures are read under the lock, so none is sent after a later
    // one.
    let sender = Mutex::new(sender);
    let counted = Arc::new(OpenProgress::watched(move |counted| {
        let sender = sender.lock().unwrap_or_else(PoisonError::into_inner);
        // A receiver that was dropped has cancelled the operation.
        _ = sender.send(counted.seen());
    }));
    // Also if the callback panics.
    let cancel = CancelOnDrop(Arc::downgrade(&counted));
    std::thread::scope(|scope| {
        // The channel ends with the thread, which has the only strong handle of its sender.
        let running = scope.spawn(move || operation(&counted));
        let is_broken = move || {
            let _cancel = cancel;
            steps.iter().any(|seen| {
                let step = Progress { rows: seen.records, bytes: seen.bytes, bytes_total: seen.bytes_total };
                progress(&step).is_break()
            })
        };
        let is_broken = is_broken();
        let result = running.join().unwrap_or_else(|panic| resume_unwind(panic));
        if is_broken { Err(Error::Canceled { operation: name }) } else { result.map_err(Into::into) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Incident: two threads that counted read the figures, and sent them in the other order.
    /// Consequence: the progress of a check went back. Fix: the figures are read under the lock of
    /// the channel.
    #[test]
    fn steps_of_several_threads_never_go_back() {
        let mut last = 0;
        let mut progress = |step: &Progress| {
            assert!(step.bytes >= last, "{} after {last}", step.bytes);
            last = step.bytes;
            ControlFlow::Continue(())
        };
        let count = |counted: &OpenProgress| {
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| (0..2_000).for_each(|_| assert!(counted.advance(1, 1))));
                }
            });
            Ok::<(), Error>(())
        };
        watched("count", &mut progress, count).expect("nothing fails");
        assert_eq!(last, 8_000);
    }
}
