//! The latest refused logins and requests, for ACL LOG.
//!
//! The log is bounded in the number of its entries and in the bytes of each, because clients
//! without a password can add entries.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use skein_sync::locks::lock;

use crate::observe::recent_entries::{MemorySize, RecentEntries};

/// A repetition within this time only increases the count of its entry.
const SAME_WITHIN: Duration = Duration::from_secs(60);

/// The number of latest entries in which a repetition is searched.
const LOOKED_AT: usize = 10;

/// The most bytes of an entry's name or object, and of each name of its client.
pub(crate) const TEXT_BYTES_MAX: usize = 128;

/// The kind of the refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DenialReason {
    Command,
    Key,
    Channel,
    /// A wrong password.
    Auth,
}

impl DenialReason {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::Key => "key",
            Self::Channel => "channel",
            Self::Auth => "auth",
        }
    }
}

/// The context in which the request was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DenialContext {
    TopLevel,
    /// It was queued between MULTI and EXEC.
    Multi,
    /// A script or a function called it.
    Script,
}

impl DenialContext {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::TopLevel => "toplevel",
            Self::Multi => "multi",
            Self::Script => "lua",
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct AclLogCase {
    pub reason: DenialReason,
    pub context: DenialContext,
    /// The command, the key, or the command that gave the password.
    pub object: Vec<u8>,
    pub user: Vec<u8>,
    /// The client's line, as in CLIENT LIST.
    pub client: String,
}

#[derive(Debug, Clone)]
pub(crate) struct AclLogEntry {
    pub case: AclLogCase,
    pub count: u64,
    /// The time of the latest repetition.
    pub at: Instant,
}

impl MemorySize for AclLogEntry {
    fn memory(&self) -> usize {
        let AclLogCase { object, user, client, .. } = &self.case;
        size_of::<Self>() + object.capacity() + user.capacity() + client.capacity()
    }
}

/// The entries, the newest first.
#[derive(Debug, Default)]
pub(crate) struct AclLog {
    entries: Mutex<RecentEntries<AclLogEntry>>,
    /// Their bytes, readable without the lock.
    bytes: AtomicUsize,
}

impl AclLog {
    /// Adds a case and keeps at most `most` entries. The texts of the case must not be longer than
    /// [`TEXT_BYTES_MAX`].
    pub(crate) fn add(&self, case: AclLogCase, most: usize) {
        let at = Instant::now();
        let mut entries = lock(&self.entries);
        let same = |entry: &AclLogEntry| {
            let (a, b) = (&entry.case, &case);
            (a.reason, a.context, &a.object, &a.user) == (b.reason, b.context, &b.object, &b.user)
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

    /// Returns the bytes of the entries.
    pub(crate) fn memory(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Returns the newest `count` entries.
    pub(crate) fn newest(&self, count: usize) -> Vec<AclLogEntry> {
        lock(&self.entries).iter().take(count).cloned().collect()
    }

    /// Removes the oldest entries until `most` are left.
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
        let (reason, context) = (DenialReason::Key, DenialContext::TopLevel);
        AclLogCase { reason, context, object: object.into(), user: b"alice".to_vec(), client: String::new() }
    }

    #[test]
    fn repetitions_are_counted_and_the_log_is_bounded() {
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
