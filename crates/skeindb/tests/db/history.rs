//! Random transactions of several threads are strictly serializable.

use crate::common::on_every_kind;

#[path = "../serializability/mod.rs"]
mod serializability;

use serializability::{History, Reads, Workload, run};

/// Transactions of each thread in one history.
const SHORT: Workload = Workload { threads: 3, transactions: 60, seed: 7 };

#[test]
fn random_transactions_are_serializable() {
    on_every_kind(|db| {
        for seed in 0..3 {
            let history = run(db, Workload { seed, ..SHORT })?;
            assert!(history.committed() > 100, "too little was committed");
            if let Err(cycle) = history.check() {
                panic!("seed {seed}: {cycle}");
            }
        }
        Ok(())
    });
}

/// `cargo test --release -p skeindb --test db -- --ignored history`: about two minutes.
#[test]
#[ignore = "long"]
fn many_random_transactions_are_serializable() {
    on_every_kind(|db| {
        for seed in 100..160 {
            let history = run(db, Workload { threads: 4, transactions: 150, seed })?;
            if let Err(cycle) = history.check() {
                panic!("seed {seed}: {cycle}");
            }
        }
        Ok(())
    });
}

/// The reads of a transaction, as keys with their lists, and the keys to which it appended its
/// number.
type Done<'d> = (&'d [(usize, &'d [u64])], &'d [usize]);

/// Builds a history of transactions that all run at the same time.
fn history(transactions: &[Done<'_>]) -> History {
    let mut history = History::default();
    for (reads, appends) in transactions {
        let reads: Reads = reads.iter().map(|(key, list)| (*key, list.to_vec())).collect();
        history.add(reads, appends.to_vec(), 0, 100);
    }
    history
}

/// The checker finds the anomalies that have names. The numbers of transactions start at 1.
#[test]
fn the_checker_finds_the_known_anomalies() {
    let good =
        history(&[(&[(0, &[])], &[0]), (&[(0, &[1]), (1, &[])], &[1]), (&[(0, &[1]), (1, &[2])], &[])]);
    assert_eq!(good.check(), Ok(()));
    for (name, bad) in [
        ("lost update", history(&[(&[(0, &[])], &[0]), (&[(0, &[])], &[0])])),
        ("write skew", history(&[(&[(0, &[]), (1, &[])], &[0]), (&[(0, &[]), (1, &[])], &[1])])),
        ("a phantom", history(&[(&[(0, &[]), (1, &[])], &[1]), (&[(0, &[]), (1, &[])], &[0])])),
        (
            "read-only anomaly",
            history(&[(&[(0, &[]), (1, &[])], &[0]), (&[(1, &[])], &[1]), (&[(0, &[]), (1, &[2])], &[])]),
        ),
        ("a read from nowhere", history(&[(&[(0, &[9])], &[])])),
        (
            "two orders",
            history(&[(&[(0, &[])], &[0]), (&[(0, &[])], &[0]), (&[(0, &[1, 2])], &[]), (&[(0, &[2])], &[])]),
        ),
    ] {
        assert!(bad.check().is_err(), "{name} was not found");
    }
    let mut stale = History::default();
    stale.add(Reads::from([(0, vec![])]), vec![0], 0, 1);
    stale.add(Reads::from([(0, vec![])]), vec![], 2, 3);
    assert!(stale.check().is_err(), "a read that begins after a commit must see it");
}
