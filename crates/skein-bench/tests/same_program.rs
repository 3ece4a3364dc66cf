//! Runs the programs that `docs/comparison.md` shows, and compares what they return. The page has
//! them as they are: `skein-cli/tests/e2e/documents.rs` checks that.

#![expect(dead_code, reason = "the programs' own main functions take their paths from the command line")]

#[path = "../examples/same_program_fjall.rs"]
mod same_program_fjall;
#[path = "../examples/same_program_heed.rs"]
mod same_program_heed;
#[path = "../examples/same_program_redb.rs"]
mod same_program_redb;
#[path = "../examples/same_program_skeindb.rs"]
mod same_program_skeindb;

const EXPECTED: [&str; 2] = ["London/u1", "London/u2"];

/// Each opens what it has written before, too.
#[test]
fn all_programs_return_the_same_keys_twice() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    for _ in 0..2 {
        assert_eq!(same_program_skeindb::run(&path("skeindb")).expect("SkeinDB"), EXPECTED);
        assert_eq!(same_program_redb::run(&path("redb")).expect("redb"), EXPECTED);
        assert_eq!(same_program_fjall::run(&path("fjall")).expect("fjall"), EXPECTED);
        assert_eq!(same_program_heed::run(&path("heed")).expect("LMDB"), EXPECTED);
    }
}
