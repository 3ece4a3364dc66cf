//! A process is killed in the middle of backups. The folder of a backup is absent or whole, and the
//! next process makes the same backup.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use skeindb::{Db, Durability, Engine, Result};

const CHILD: &str = "SKEINDB_TEST_BACKUP_KILLS";
/// Kills of each engine and durability.
const KILLS: u64 = 12;

fn backup_name(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("backup {number:04}"))
}

/// Returns the number of the first backup that is missing.
fn next_backup(folder: &Path) -> u64 {
    (0..100_000).find(|number| !backup_name(folder, *number).exists()).expect("fewer backups")
}

fn open(folder: &Path, engine: Engine, durability: Durability) -> Result<Db> {
    Db::builder(folder.join("db")).engine(engine).durability(durability).open()
}

/// Writes and backs up until it is killed. Every fourth backup is whole. The keys of the last
/// transactions before a backup follow from its number.
fn work(folder: &Path, engine: Engine, durability: Durability) -> Result<()> {
    let db = open(folder, engine, durability)?;
    let (first, last) = (db.keyspace("first")?, db.keyspace("last")?);
    for number in next_backup(folder).. {
        for key in 0..40_u64 {
            db.transaction(|tx| {
                tx.insert(&first, (number * 40 + key).to_be_bytes(), [number as u8; 700])?;
                tx.insert(&last, (number * 40 + key).to_be_bytes(), [number as u8; 700])
            })?;
        }
        let to = backup_name(folder, number);
        match number {
            0 => db.backup_since(folder.join("none"), &to)?,
            _ if number % 4 == 3 => db.backup(&to)?,
            _ => db.backup_since(backup_name(folder, number - 1), &to)?,
        };
        if number % 3 == 1 {
            db.checkpoint()?;
        }
    }
    Ok(())
}

/// Checks a backup: sound, transactions whole, and all that its writer had acknowledged.
fn check(path: &Path, number: u64) -> Result<()> {
    let report = Db::verify(path)?;
    assert!(report.is_sound(), "{number}: {report:?}");
    let db = Db::open(path)?;
    let (first, last) = (db.keyspace("first")?, db.keyspace("last")?);
    let keys = |keyspace: &skeindb::Keyspace| keyspace.keys().collect::<Result<Vec<_>>>();
    let (first, last) = (keys(&first)?, keys(&last)?);
    assert!(first == last, "{number}: half of a transaction");
    for key in 0..40_u64 {
        assert!(first.contains(&(number * 40 + key).to_be_bytes().to_vec()), "{number}: {key} is missing");
    }
    db.close()
}

/// Returns whether a backup has begun and not ended.
fn is_partial(folder: &Path) -> bool {
    let names = std::fs::read_dir(folder).expect("it is there");
    let mut names = names.map(|entry| entry.expect("it can be read").file_name());
    names.any(|name| name.to_string_lossy().ends_with(".partial-backup"))
}

/// Waits for up to a minute.
fn wait_for(is_so: impl Fn() -> bool) {
    for _ in 0..60_000 {
        if is_so() {
            return;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn engine_of(name: &str) -> (Engine, Durability) {
    match name {
        "disk" => (Engine::Disk, Durability::Buffered),
        "none" => (Engine::Memory, Durability::None),
        _ => (Engine::Memory, Durability::Sync),
    }
}

#[test]
fn a_killed_process_leaves_whole_backups_or_none() {
    if let Ok(task) = std::env::var(CHILD) {
        let (name, folder) = task.split_once(' ').expect("a name and a folder");
        let (engine, durability) = engine_of(name);
        work(Path::new(folder), engine, durability).expect("only a kill ends it");
        return;
    }
    for name in ["memory", "none", "disk"] {
        let folder = tempfile::tempdir().expect("a folder");
        let (mut random, mut partial) = (0x9E37_79B9_u64, 0);
        for turn in 0..KILLS {
            let mut run = Command::new(std::env::current_exe().expect("the test's program"));
            run.args(["kills::a_killed_process_leaves_whole_backups_or_none", "--exact"]);
            run.env(CHILD, format!("{name} {}", folder.path().display()));
            run.stdout(Stdio::null()).stderr(Stdio::null());
            let mut child = run.spawn().expect("it runs");
            random = random.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
            let begun = next_backup(folder.path());
            // At least one backup in each run, so that the next one is killed in a later place.
            wait_for(|| next_backup(folder.path()) > begun);
            // Two of three kills wait until a backup has begun.
            if turn % 3 != 0 {
                wait_for(|| is_partial(folder.path()));
            }
            std::thread::sleep(Duration::from_micros((random >> 33) % 8000));
            assert!(child.try_wait().expect("its state").is_none(), "{name}: it ended by itself");
            child.kill().expect("a kill");
            child.wait().expect("its end");
            partial += u64::from(is_partial(folder.path()));
        }
        let backups = next_backup(folder.path());
        assert!(backups >= KILLS, "{name}: {backups} backups");
        assert!(partial > 0, "{name}: no kill met a backup");
        for number in (0..backups).rev() {
            check(&backup_name(folder.path(), number), number)
                .unwrap_or_else(|error| panic!("{name}: {error}"));
        }
        // Once more, after all of them were opened.
        for number in 0..backups {
            assert!(Db::verify(backup_name(folder.path(), number)).expect("a report").is_sound());
        }
    }
}
