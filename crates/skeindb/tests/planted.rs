//! Plants bugs in the commit of transactions, and shows that the checker of histories finds them.
//!
//! One test, because a planted bug affects the whole process.

mod serializability;

use serializability::{Workload, run};
use skeindb::Db;
use skeindb::planted_bugs::{self, PlantedBug};

/// Returns whether the checker finds a history that is not serializable.
fn is_noticed() -> bool {
    let db = Db::in_memory().expect("it opens");
    (0..40).any(|seed| {
        let history = run(&db, Workload { threads: 4, transactions: 100, seed }).expect("it runs");
        history.check().is_err()
    })
}

#[test]
fn planted_mistakes_are_noticed() {
    assert!(!is_noticed());
    for bug in [PlantedBug::UncheckedKeys, PlantedBug::UncheckedRanges] {
        planted_bugs::set(bug, true);
        assert!(is_noticed(), "{bug:?}");
        planted_bugs::set(bug, false);
    }
}
