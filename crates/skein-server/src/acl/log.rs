//! Who was turned away: the latest cases, for ACL LOG.
//!
//! Bounded in all directions, because who fills it need not have a password: so many entries, and so many bytes of what a client sent.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use skein_sync::locks::lock;

use crate::recent_entries::{MemorySize, RecentEntries};

/// The same again within this time is counted, and is no entry of its own.
const SAME_WITHIN: Duration = Duration::from_mins(1);

/// Only so many of the newest are looked at for the same.
const LOOKED_AT: usize = 10;

/// Bytes of an entry's name or object, and of each name of its client.
pub(crate) const TEXT_BYTES_MAX: usize = 128;

/// What was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DenialReason {
    Command,
    Key,
    /// A password.
    Auth,
}

impl DenialReason {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::Key => "key",
            Self::Auth => "auth",
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct AclLogCase {
    pub reason: DenialReason,
    /// Between MULTI and EXEC.
    pub in_multi: bool,
    /// The command, the key, or the command that gave the password.
    pub object: Vec<u8>,
    pub user: Vec<u8>,
    /// The client, as CLIENT LIST has it.
    pub client: String,
}

#[derive(Debug, Clone)]
pub(crate) struct AclLogEntry {
    pub case: AclLogCase,
    pub count: u64,
    /// When it was last so.
    pub at: Instant,
}

impl MemorySize for AclLogEntry {
    fn memory(&self) -> usize {
        let AclLogCase { object, user, client, .. } = &self.case;
        size_of::<Self>() + object.capacity() + user.capacity() + client.capacity()
    }
}

/// The newest first.
#[derive(Debug, Default)]
pub(crate) struct AclLog {
    entries: Mutex<RecentEntries<AclLogEntry>>,
    /// Their bytes, to be read without the lock.
    bytes: AtomicUsize,
}

impl AclLog {
    /// Adds a case, whose texts are not longer than [`TEXT_BYTES_MAX`]; the log has at most `most`
    /// entries then.
    pub(crate) fn add(&self, case: AclLogCase, most: usize) {
        let at = Instant::now();
        let mut entries = lock(&self.entries);
        let same = |entry: &AclLogEntry| {
            let (a, b) = (&entry.case, &case);
            (a.reason, a.in_multi, &a.object, &a.user) == (b.reason, b.in_multi, &b.object, &b.user)
                && at.duration_since(entry.at) <= SAME_WITHIN
        };
        let known = entries.iter().take(LOOKED_AT).position(same);
        let count = known.and_then(|place| entries.remove(place)).map_or(0, |entry| entry.count);
        entries.add(AclLogEntry { case, count: count + 1, at }, most);
        self.count(&entries);
    }

    fn count(&self, entries: &RecentEntries<AclLogEntry>) {
        // Relaxed: a number for people and for the memory limit.
        self.bytes.store(entries.memory(), Ordering::Relaxed);
    }

    /// Bytes of the entries.
    pub(crate) fn memory(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// The newest ones.
    pub(crate) fn newest(&self, count: usize) -> Vec<AclLogEntry> {
        lock(&self.entries).iter().take(count).cloned().collect()
    }

    /// Forgets the oldest, until there are so many.
    pub(crate) fn shorten(&self, most: usize) {
        let mut entries = lock(&self.entries);
        entries.cut(most);
        self.count(&entries);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(object: &str) -> AclLogCase {
        let (reason, in_multi, user, client) = (DenialReason::Key, false, b"alice".to_vec(), String::new());
        AclLogCase { reason, in_multi, object: object.into(), user, client }
    }

    #[test]
    fn the_same_is_counted_and_the_log_is_bounded() {
        let log = AclLog::default();
        for object in ["a", "b", "a", "a"] {
            log.add(case(object), 128);
        }
        let found: Vec<(Vec<u8>, u64)> =
            log.newest(10).into_iter().map(|entry| (entry.case.object, entry.count)).collect();
        assert_eq!(found, [(b"a".to_vec(), 3), (b"b".to_vec(), 1)]);
        for i in 0..1000 {
            log.add(case(&format!("{i}")), 20);
        }
        let entries = log.newest(usize::MAX);
        assert_eq!((entries.len(), log.memory()), (20, entries.iter().map(AclLogEntry::memory).sum()));
        log.add(case("none"), 0);
        assert!(log.newest(1).is_empty());
        log.add(case("a"), 1);
        log.shorten(0);
        assert!(log.newest(1).is_empty());
    }
}
