//! Runs the programs that `docs/comparison.md` shows, and compares their output. The page has them
//! as they are: `skein-cli/tests/e2e/documents.rs` checks that.

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

/// `RocksDB`'s program is in C++.
#[cfg(have_rocksdb)]
#[test]
fn rocksdb_returns_the_same_keys_twice() {
    use std::process::Command;

    let folder = tempfile::tempdir().expect("a folder");
    let (program, data) = (folder.path().join("program"), folder.path().join("rocksdb"));
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/same_program_rocksdb.cpp");
    let mut compiler = Command::new(std::env::var_os("CXX").unwrap_or("c++".into()));
    compiler.args(["-std=c++17", "-Wall", "-Wextra", "-Werror", source, "-lrocksdb", "-o"]).arg(&program);
    assert!(compiler.status().expect("a C++ compiler").success(), "{source} does not compile");
    for _ in 0..2 {
        let output = Command::new(&program).arg(&data).output().expect("the program runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let keys = String::from_utf8(output.stdout).expect("keys are text");
        assert_eq!(keys.lines().collect::<Vec<_>>(), EXPECTED);
    }
}

/// Each opens its earlier database, too.
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
