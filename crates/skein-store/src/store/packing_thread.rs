//! The thread that packs the pages of the indexes that hold their rows (`PageTree::pack`).
//!
//! ```text
//!   pass 1    marks all pages                   a second or more between the beginnings of two passes
//!   pass 2    packs those that nobody wrote     ──► memory lies free between the pages
//!   pass 3    moves pages into that room        ──► memory goes back to the system
//! ```
//!
//! A pass that replaces nothing doubles the time to the next one. The thread works at most a tenth of
//! its interval at once.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use skein_index::page_tree::PackPass;
use skein_sync::background::{BackgroundThread, ThreadSignal};

use super::open_store::OpenStore;
use crate::store_keys::StoreKeys;
use crate::{Error, Result};

/// The share of an interval in which the thread works, at most.
const SHARE: u32 = 10;

/// The least and the greatest time between the beginnings of two passes.
const PAUSE_MIN: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_secs(32);

/// The number of pages that are visited under one guard.
const PAGES: usize = 64;

/// Starts the thread, if the options want it. The thread keeps the store's memory alive until it is
/// stopped.
pub(super) fn start(store: Arc<OpenStore>) -> Result<Option<BackgroundThread>> {
    let Some(interval) = store.core.options.pack_interval else { return Ok(None) };
    let run = move |signal: &ThreadSignal| run(&store.core.keys, interval, signal);
    BackgroundThread::start("skein-packing", Arc::default(), run)
        .map(Some)
        .map_err(|error| Error::io("start a thread for", Path::new("packing"), &error))
}

fn run(keys: &StoreKeys, interval: Duration, signal: &ThreadSignal) {
    let (mut pause, mut began) = (PAUSE_MIN.min(interval.saturating_mul(SHARE)), Instant::now());
    let mut pass = KeysPass::default();
    while signal.wait_timeout(interval) {
        if pass.is_new() {
            if began.elapsed() < pause {
                continue;
            }
            began = Instant::now();
        }
        if let Some(replaced) = pass.run(keys, interval / SHARE) {
            pause = if replaced > 0 { PAUSE_MIN } else { (2 * pause).min(PAUSE_MAX) };
        }
    }
}

/// A pass over all indexes of a store, one after the other.
#[derive(Default, PartialEq, Eq)]
struct KeysPass {
    passes: [PackPass; 3],
    /// The number of indexes that are done.
    done: usize,
}

impl KeysPass {
    /// Returns whether the pass has not begun.
    fn is_new(&self) -> bool {
        *self == Self::default()
    }

    /// Works for up to `time`. At the end of the pass, returns the number of pages that it has replaced,
    /// and begins anew.
    fn run(&mut self, keys: &StoreKeys, time: Duration) -> Option<usize> {
        let began = Instant::now();
        while began.elapsed() < time {
            let Some(pass) = self.passes.get_mut(self.done) else {
                let replaced = self.passes.iter().map(PackPass::replaced).sum();
                *self = Self::default();
                return Some(replaced);
            };
            let is_more = match self.done {
                0 => keys.index.pack(pass, PAGES),
                1 => keys.members.index.pack(pass, PAGES),
                _ => keys.expiry_index.pack(pass, PAGES),
            };
            self.done += usize::from(!is_more);
        }
        None
    }
}
