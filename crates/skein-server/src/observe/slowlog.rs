//! SLOWLOG: the latest requests that took longer than a limit, newest first.
//!
//! Memory is bounded: as in Redis, an entry keeps up to 32 arguments of up to 128 bytes. Secrets
//! are never kept.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::UNIX_EPOCH;

use skein_sync::locks::lock;

use crate::command_table::migration_args::MigrationArgs;
use crate::command_table::{COMMANDS, find, is};
use crate::net::transport::ConnectionAddress;
use crate::observe::recent_entries::{MemorySize, RecentEntries};
use crate::resp::Args;

/// The most arguments that an entry keeps, including one that counts the rest.
const ARGS_MAX: usize = 32;
/// The most bytes of an argument that an entry keeps.
const ARG_BYTES_MAX: usize = 128;
/// The text that replaces a secret.
pub(crate) const REDACTED: &[u8] = b"(redacted)";
/// Parameters of CONFIG SET with secret values.
const SECRET_PARAMETERS: [&str; 4] = ["requirepass", "masterauth", "masteruser", "tls-key-file-pass"];

/// The part of a request that an entry keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ClippedRequest(pub Vec<Vec<u8>>);

/// The positions of the secrets in a request.
#[derive(Debug, Clone, Copy)]
pub(crate) enum SecretArgs {
    None,
    /// From this argument on.
    From(usize),
    /// From the first of these arguments up to the second one.
    Between(usize, usize),
    /// The values of parameters.
    OfParameters,
}

impl SecretArgs {
    /// Returns the secrets of a request, as the row of its command defines them.
    pub(crate) fn of(args: &Args) -> Self {
        let secrets = find(args.get(0)).and_then(|index| COMMANDS[index].secrets);
        secrets.map_or(Self::None, |secrets| secrets(args))
    }

    /// Returns the secrets of a request of HELLO.
    pub(crate) fn of_hello(args: &Args) -> Self {
        let auth = args.from(0).position(|arg| is(arg, "AUTH"));
        // All arguments after it, because AUTH may also be a name that is set, or be given twice.
        auth.map_or(Self::None, |at| Self::From(at + 1))
    }

    /// Returns the secrets of a request of ACL.
    pub(crate) fn of_acl(args: &Args) -> Self {
        let sets_user = args.from(1).next().is_some_and(|name| is(name, "SETUSER"));
        if sets_user { Self::From(2) } else { Self::None }
    }

    /// Returns the secrets of a request of CONFIG.
    pub(crate) fn of_config(args: &Args) -> Self {
        let sets = args.from(1).next().is_some_and(|name| is(name, "SET"));
        if sets { Self::OfParameters } else { Self::None }
    }

    /// Returns the secrets of a request of MIGRATE.
    pub(crate) fn of_migrate(args: &Args) -> Self {
        let secrets = MigrationArgs::of(args).secrets;
        Self::Between(secrets.start, secrets.end)
    }

    /// Returns whether the argument at a position is secret.
    pub(crate) fn hides(self, at: usize, args: &Args) -> bool {
        match self {
            Self::None => false,
            Self::From(first) => at >= first,
            Self::Between(first, end) => (first..end).contains(&at),
            Self::OfParameters => {
                at >= 3 && at % 2 == 1 && SECRET_PARAMETERS.iter().any(|name| is(args.get(at - 1), name))
            }
        }
    }
}

impl ClippedRequest {
    pub(crate) fn of(args: &Args) -> Self {
        let secrets = SecretArgs::of(args);
        let kept = if args.len() > ARGS_MAX { ARGS_MAX - 1 } else { args.len() };
        let clip = |(at, arg): (usize, &[u8])| {
            if secrets.hides(at, args) {
                return REDACTED.to_vec();
            }
            let mut text = arg[..arg.len().min(ARG_BYTES_MAX)].to_vec();
            if arg.len() > ARG_BYTES_MAX {
                text.extend_from_slice(format!("... ({} more bytes)", arg.len() - ARG_BYTES_MAX).as_bytes());
            }
            text
        };
        let mut clipped: Vec<Vec<u8>> = args.from(0).take(kept).enumerate().map(clip).collect();
        if kept < args.len() {
            clipped.push(format!("... ({} more arguments)", args.len() - kept).into_bytes());
        }
        Self(clipped)
    }
}

/// A slow request.
#[derive(Debug, Clone)]
pub(crate) struct SlowlogEntry {
    /// Increases from 0, also across resets.
    pub id: u64,
    /// Seconds since 1970.
    pub unix_s: u64,
    pub micros: u64,
    pub request: ClippedRequest,
    pub address: Option<ConnectionAddress>,
    /// The client's name, cut like an argument; empty if there is no name.
    pub name: Vec<u8>,
}

/// The latest slow requests.
#[derive(Debug, Default)]
pub(crate) struct Slowlog {
    entries: Mutex<SlowlogEntries>,
    /// Their bytes, readable without the lock.
    bytes: AtomicUsize,
}

#[derive(Debug, Default)]
struct SlowlogEntries {
    next: u64,
    kept: RecentEntries<SlowlogEntry>,
}

impl MemorySize for SlowlogEntry {
    fn memory(&self) -> usize {
        let args: usize = self.request.0.iter().map(|arg| size_of::<Vec<u8>>() + arg.capacity()).sum();
        size_of::<Self>() + args + self.name.capacity()
    }
}

impl Slowlog {
    /// Adds an entry. Removes the oldest entries beyond `most`.
    pub(crate) fn add(
        &self,
        nanos: u64,
        request: ClippedRequest,
        address: Option<ConnectionAddress>,
        name: &[u8],
        most: usize,
    ) {
        let name = name[..name.len().min(ARG_BYTES_MAX)].to_vec();
        let unix_s = UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs());
        let mut entries = lock(&self.entries);
        let id = entries.next;
        entries.next += 1;
        entries.kept.add(SlowlogEntry { id, unix_s, micros: nanos / 1000, request, address, name }, most);
        self.count(&entries);
    }

    fn count(&self, entries: &SlowlogEntries) {
        // Relaxed: a number for people and for the memory limit.
        self.bytes.store(entries.kept.memory(), Ordering::Relaxed);
    }

    /// Returns the bytes of the entries.
    pub(crate) fn memory(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Returns up to `most` of the newest entries.
    pub(crate) fn newest(&self, most: usize) -> Vec<SlowlogEntry> {
        lock(&self.entries).kept.iter().take(most).cloned().collect()
    }

    pub(crate) fn len(&self) -> usize {
        lock(&self.entries).kept.len()
    }

    pub(crate) fn reset(&self) {
        let mut entries = lock(&self.entries);
        entries.kept.cut(0);
        self.count(&entries);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resp::RequestQueue;

    fn clipped(request: &[&[u8]]) -> Vec<String> {
        let queue = RequestQueue::of(&[request]);
        let (_, args) = queue.iter().next().expect("a request");
        ClippedRequest::of(&args)
            .0
            .into_iter()
            .map(|arg| String::from_utf8_lossy(&arg).into_owned())
            .collect()
    }

    #[test]
    fn secrets_are_never_kept() {
        for (request, kept) in [
            ("AUTH pw", "AUTH (redacted)"),
            ("auth user pw", "auth (redacted) (redacted)"),
            ("HELLO 3 AUTH user pw SETNAME me", "HELLO 3 AUTH (redacted) (redacted) (redacted) (redacted)"),
            ("HELLO 3 SETNAME auth", "HELLO 3 SETNAME auth"),
            // Incident: the first `auth` was read as the option. Consequence: the password was
            // kept.
            ("HELLO 3 SETNAME auth AUTH user pw", "HELLO 3 SETNAME auth (redacted) (redacted) (redacted)"),
            ("ACL SETUSER me on >pw", "ACL SETUSER (redacted) (redacted) (redacted)"),
            ("ACL LIST", "ACL LIST"),
            ("MIGRATE h 1 k 0 1 AUTH2 u pw COPY", "MIGRATE h 1 k 0 1 AUTH2 (redacted) (redacted) COPY"),
            ("MIGRATE auth 1 k 0 1", "MIGRATE auth 1 k 0 1"),
            (
                "CONFIG SET timeout 1 RequirePass pw maxclients 2",
                "CONFIG SET timeout 1 RequirePass (redacted) maxclients 2",
            ),
            ("CONFIG GET requirepass", "CONFIG GET requirepass"),
            ("SET requirepass pw", "SET requirepass pw"),
        ] {
            let words: Vec<&[u8]> = request.split(' ').map(str::as_bytes).collect();
            assert_eq!(clipped(&words).join(" "), kept);
        }
    }

    #[test]
    fn kept_part_of_a_request_is_bounded() {
        let long = [b'x'; 200];
        let kept = clipped(&[b"SET", &long[..128], &long[..129]]);
        assert_eq!(kept[1].len(), 128);
        assert_eq!(kept[2], format!("{}... (1 more bytes)", "x".repeat(128)));
        assert_eq!(clipped(&[b"DEL" as &[u8]; 32]).len(), 32);
        let kept = clipped(&[b"DEL" as &[u8]; 100]);
        assert_eq!((kept.len(), kept[31].as_str()), (32, "... (69 more arguments)"));
    }

    #[test]
    fn newest_entries_stay_and_ids_continue() {
        let slowlog = Slowlog::default();
        let add = |most| slowlog.add(7_500, ClippedRequest(Vec::new()), None, b"name", most);
        (0..5).for_each(|_| add(3));
        let ids = |most| slowlog.newest(most).iter().map(|entry| entry.id).collect::<Vec<_>>();
        assert_eq!((ids(10), ids(1), slowlog.len()), (vec![4, 3, 2], vec![4], 3));
        assert_eq!(slowlog.newest(1)[0].micros, 7);
        slowlog.reset();
        add(3);
        assert_eq!(ids(10), [5]);
        assert!(slowlog.memory() >= size_of::<SlowlogEntry>() + 4);
        add(0);
        assert_eq!((slowlog.len(), slowlog.memory()), (0, 0));
    }
}
