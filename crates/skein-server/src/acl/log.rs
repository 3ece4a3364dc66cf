//! Who was turned away: the latest cases, for ACL LOG.
//!
//! Bounded in all directions, because who fills it need not have a password: so many entries, and so many bytes of what a client sent.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use skein_sync::locks::lock;

/// The same again within this time is counted, and is no entry of its own.
const SAME_WITHIN: Duration = Duration::from_mins(1);

/// Only so many of the newest are looked at for the same.
const LOOKED_AT: usize = 10;

/// Bytes of an entry's name or object.
const TEXT_BYTES_MAX: usize = 128;

/// What was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reason {
    Command,
    Key,
    /// A password.
    Auth,
}

impl Reason {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::Key => "key",
            Self::Auth => "auth",
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub reason: Reason,
    /// Between MULTI and EXEC.
    pub in_multi: bool,
    /// The command, the key, or the command that gave the password.
    pub object: Vec<u8>,
    pub user: Vec<u8>,
    /// The client, as CLIENT LIST has it.
    pub client: String,
}

#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub case: Case,
    pub count: u64,
    /// When it was last so.
    pub at: Instant,
}

/// The newest first.
#[derive(Debug, Default)]
pub(crate) struct Log(Mutex<VecDeque<Entry>>);

impl Log {
    /// Adds a case; the log has at most `most` entries then.
    pub(crate) fn add(&self, mut case: Case, most: usize) {
        case.object.truncate(TEXT_BYTES_MAX);
        case.user.truncate(TEXT_BYTES_MAX);
        let at = Instant::now();
        let mut entries = lock(&self.0);
        let same = |entry: &Entry| {
            let (a, b) = (&entry.case, &case);
            (a.reason, a.in_multi, &a.object, &a.user) == (b.reason, b.in_multi, &b.object, &b.user)
                && at.duration_since(entry.at) <= SAME_WITHIN
        };
        let known = entries.iter().take(LOOKED_AT).position(same);
        let count = known.and_then(|place| entries.remove(place)).map_or(0, |entry| entry.count);
        entries.push_front(Entry { case, count: count + 1, at });
        entries.truncate(most);
    }

    /// The newest ones.
    pub(crate) fn newest(&self, count: usize) -> Vec<Entry> {
        lock(&self.0).iter().take(count).cloned().collect()
    }

    /// Forgets the oldest, until there are so many.
    pub(crate) fn shorten(&self, most: usize) {
        lock(&self.0).truncate(most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(object: &str) -> Case {
        let (reason, in_multi, user, client) = (Reason::Key, false, b"alice".to_vec(), String::new());
        Case { reason, in_multi, object: object.into(), user, client }
    }

    #[test]
    fn the_same_is_counted_and_the_log_is_bounded() {
        let log = Log::default();
        for object in ["a", "b", "a", "a"] {
            log.add(case(object), 128);
        }
        let found: Vec<(Vec<u8>, u64)> =
            log.newest(10).into_iter().map(|entry| (entry.case.object, entry.count)).collect();
        assert_eq!(found, [(b"a".to_vec(), 3), (b"b".to_vec(), 1)]);
        for i in 0..1000 {
            log.add(case(&format!("{i}{}", "x".repeat(1000))), 20);
        }
        let entries = log.newest(usize::MAX);
        assert_eq!(entries.len(), 20);
        assert!(entries.iter().all(|entry| entry.case.object.len() == TEXT_BYTES_MAX));
        log.add(case("none"), 0);
        assert!(log.newest(1).is_empty());
        log.add(case("a"), 1);
        log.shorten(0);
        assert!(log.newest(1).is_empty());
    }
}
