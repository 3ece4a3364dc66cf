//! The keys and the secrets in a request of MIGRATE.
//!
//! ```text
//!   MIGRATE host port key 0 1000 COPY                         ─► key
//!   MIGRATE host port ""  0 1000 AUTH secret KEYS key key     ─► key key, secret
//! ```

use std::ops::Range;

use super::is;
use crate::resp::Args;
use skein_data::name_within;

/// The argument that is the key, unless KEYS follows.
pub(crate) const KEY: usize = 3;
/// The argument where the options begin.
pub(crate) const OPTIONS: usize = 6;

/// The parts of a request of MIGRATE that matter before it runs.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct MigrationArgs {
    /// The arguments that are keys. Empty if the request has a key at its place and KEYS, which is
    /// an error.
    pub keys: Range<usize>,
    /// The arguments from the first secret to the last one.
    pub secrets: Range<usize>,
}

impl MigrationArgs {
    /// Searches a request. As in Redis, unknown options are skipped.
    pub(crate) fn of(args: &Args) -> Self {
        let (mut secrets, mut at) = (0..0, OPTIONS);
        while at < args.len() {
            let word = args.get(at);
            at += 1;
            if is(word, "KEYS") {
                return Self { keys: keys_from(at, args), secrets };
            }
            let count = if is(word, "AUTH") { 1 } else { usize::from(is(word, "AUTH2")) * 2 };
            if count > 0 {
                let start = if secrets.is_empty() { at } else { secrets.start };
                secrets = start.min(args.len())..(at + count).min(args.len());
                at += count;
            }
        }
        Self { keys: KEY..(KEY + 1).min(args.len()), secrets }
    }
}

/// Returns the keys behind the word KEYS, which ends at `first`.
fn keys_from(first: usize, args: &Args) -> Range<usize> {
    if !name_within(args.get(KEY)).is_empty() {
        return 0..0;
    }
    // As in Redis, a list without keys leaves the key at its place.
    if first == args.len() { KEY..KEY + 1 } else { first..args.len() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resp::RequestQueue;

    #[test]
    fn keys_and_secrets_are_found() {
        for (options, keys, secrets) in [
            ("k 0 1", 3..4, 0..0),
            ("k 0 1 COPY REPLACE", 3..4, 0..0),
            ("k 0 1 AUTH pw COPY", 3..4, 7..8),
            ("k 0 1 auth2 user pw", 3..4, 7..9),
            ("k 0 1 AUTH", 3..4, 7..7),
            ("k 0 1 AUTH2 user", 3..4, 7..8),
            (" 0 1 KEYS a b", 7..9, 0..0),
            (" 0 1 AUTH keys a", 3..4, 7..8),
            (" 0 1 AUTH2 keys keys KEYS a b", 10..12, 7..9),
            (" 0 1 AUTH a COPY AUTH b KEYS c", 12..13, 7..11),
            (" 0 1 COPY KEYS", 3..4, 0..0),
            (" 0 1 NOPE KEYS a", 8..9, 0..0),
            ("k 0 1 KEYS a", 0..0, 0..0),
        ] {
            let request = format!("MIGRATE h p {options}");
            let words: Vec<&[u8]> = request.split(' ').map(str::as_bytes).collect();
            let queue = RequestQueue::of(&[&words]);
            let (_, args) = queue.iter().next().expect("a request");
            assert_eq!(MigrationArgs::of(&args), MigrationArgs { keys, secrets }, "{request}");
        }
    }
}
