//! A commit is visible at once: a reader that has seen one of its writes sees all others.

use std::sync::atomic::{AtomicBool, Ordering};

use skeindb::{Entry, Keyspace};

use crate::common::on_every_kind;

/// Keys far from each other, so that they are written at different times.
const KEYS: [&str; 4] = ["a", "m", "t", "z"];

fn number(value: Option<&[u8]>) -> u64 {
    value.map_or(0, |value| u64::from_be_bytes(value.try_into().expect("8 bytes")))
}

/// Reads a key in one of the ways that there are.
fn read(rows: &Keyspace, key: &str, way: usize) -> u64 {
    let value = match way {
        0 => rows.get(key).expect("a read").map(Vec::from),
        1 => match rows.entry(key).expect("a read") {
            Some(Entry::Value(value)) => Some(value),
            _ => None,
        },
        _ => match rows.compare_and_swap(key, Some(b"never"), None).expect("a read") {
            Err(refused) => refused.current,
            Ok(()) => None,
        },
    };
    number(value.as_deref())
}

/// Incident: `entry` and the reads of conditional writes showed a commit in part. Fix: they read
/// again at a latched stripe, as `get` does.
#[test]
fn who_has_seen_one_write_of_a_commit_sees_all() {
    on_every_kind(|db| {
        let (rows, done) = (db.keyspace("rows")?, AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for turn in 1..=2000u64 {
                    db.transaction(|tx| {
                        KEYS.iter().try_for_each(|key| tx.insert(&rows, key, turn.to_be_bytes()))
                    })
                    .expect("nobody else writes");
                }
                done.store(true, Ordering::Release);
            });
            while !done.load(Ordering::Acquire) {
                let mut seen = 0;
                for (way, at) in [2, 0, 3, 1, 2, 0, 3, 1, 2].into_iter().enumerate() {
                    let found = read(&rows, KEYS[at], way % 3);
                    assert!(found >= seen, "{} has {found} after {seen} was seen", KEYS[at]);
                    seen = found;
                }
                let together = rows.get_many(KEYS).expect("a read");
                let together: Vec<u64> = together.iter().map(|value| number(value.as_deref())).collect();
                assert!(together.iter().all(|one| *one == together[0] && *one >= seen), "{together:?}");
                let snapshot = db.snapshot().expect("a snapshot");
                let moment: Vec<u64> =
                    snapshot.iter(&rows).map(|row| number(Some(&row.expect("a read").1))).collect();
                assert!(moment.iter().all(|one| *one == moment[0]), "{moment:?}");
            }
        });
        Ok(())
    });
}
