//! Incremental backups: each has all of its moment, and none changes another.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use skein_log::storage::Storage as _;
use skein_log::storage::sim::SimStorage;
use skeindb::{Batch, Db, Durability, Engine, Error, Result};

/// The rows of each keyspace.
type Contents = BTreeMap<String, BTreeMap<Vec<u8>, Vec<u8>>>;

fn contents(db: &Db) -> Result<Contents> {
    let mut found = Contents::new();
    for name in db.keyspaces()? {
        let rows = db.keyspace(&name)?.iter().collect::<Result<_>>()?;
        found.insert(name, rows);
    }
    Ok(found)
}

struct Rng(u64);

impl Rng {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// A database and its expected contents.
struct Modelled {
    db: Db,
    model: Contents,
    rng: Rng,
}

impl Modelled {
    fn act(&mut self) -> Result<()> {
        let name = format!("keyspace {}", self.rng.below(3));
        let keyspace = self.db.keyspace(&name)?;
        let rows = self.model.entry(name.clone()).or_default();
        let key = (self.rng.below(300) as u16).to_be_bytes().to_vec();
        let value = vec![self.rng.below(256) as u8; self.rng.below(2000) as usize];
        match self.rng.below(100) {
            0..60 => {
                keyspace.insert(&key, &value)?;
                rows.insert(key, value);
            }
            60..75 => assert_eq!(keyspace.remove(&key)?, rows.remove(&key).is_some()),
            75..80 => {
                let hour = Duration::from_secs(3600);
                if self.rng.below(2) == 0 {
                    keyspace.insert_until(&key, &value, SystemTime::now() + hour)?;
                    rows.insert(key, value);
                } else {
                    keyspace.insert_until(&key, &value, SystemTime::now() - hour)?;
                    rows.remove(&key);
                }
            }
            80..90 => {
                let other = [7_u8; 3].to_vec();
                self.db.transaction(|tx| {
                    tx.insert(&keyspace, &key, value.clone())?;
                    tx.remove(&keyspace, &other).map(drop)
                })?;
                rows.insert(key, value);
                rows.remove(&other);
            }
            90..94 => {
                let mut batch = Batch::new();
                batch.insert(&keyspace, &key, value.clone()).insert(&keyspace, [7; 3], value.clone());
                self.db.apply(batch)?;
                rows.insert(key, value.clone());
                rows.insert(vec![7; 3], value);
            }
            94 => {
                assert!(self.db.drop_keyspace(&name)?);
                self.model.remove(&name);
            }
            95 => {
                keyspace.clear()?;
                rows.clear();
            }
            // One in three rounds has a checkpoint, and the others share its files.
            96 if self.rng.below(4) == 0 => self.db.checkpoint()?,
            _ => {
                self.db.flush()?;
            }
        }
        Ok(())
    }
}

fn open(path: &Path, engine: Engine, durability: Durability) -> Result<Db> {
    Db::builder(path).engine(engine).durability(durability).open()
}

/// Makes ten backups, each since the one before.
fn chain(
    folder: &Path,
    engine: Engine,
    durability: Durability,
) -> Result<(Vec<PathBuf>, Vec<Contents>, u64)> {
    let mut of =
        Modelled { db: open(&folder.join("db"), engine, durability)?, model: Contents::new(), rng: Rng(99) };
    let (mut backups, mut moments, mut shared) = (Vec::<PathBuf>::new(), Vec::new(), 0);
    for number in 0..10 {
        for _ in 0..150 {
            of.act()?;
        }
        if number == 5 {
            of.db.close()?;
            of.db = open(&folder.join("db"), engine, durability)?;
        }
        let to = folder.join(format!("backup {number}"));
        let previous = backups.last().cloned().unwrap_or_else(|| folder.join("no backup"));
        let report = of.db.backup_since(previous, &to)?;
        shared += report.shared_bytes;
        assert!(Db::verify(&to)?.is_sound() && report.bytes > 0, "{report:?}");
        backups.push(to);
        moments.push(of.model.clone());
    }
    Ok((backups, moments, shared))
}

#[test]
fn ten_backups_have_ten_moments_and_do_not_change_each_other() -> Result<()> {
    for (engine, durability) in [
        (Engine::Memory, Durability::Sync),
        (Engine::Memory, Durability::Buffered),
        (Engine::Memory, Durability::None),
        (Engine::Disk, Durability::Buffered),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let (backups, moments, shared) = chain(folder.path(), engine, durability)?;
        assert_eq!(shared > 0, engine == Engine::Memory && durability != Durability::None, "{engine:?}");
        // The earlier half is deleted, and the database too.
        std::fs::remove_dir_all(folder.path().join("db")).expect("it is removed");
        for backup in &backups[..5] {
            std::fs::remove_dir_all(backup).expect("it is removed");
        }
        for round in 0..2 {
            for number in [8, 5, 9, 7, 6] {
                let about = format!("{engine:?}, {durability:?}, backup {number}, round {round}");
                assert!(Db::verify(&backups[number])?.is_sound(), "{about}");
                let db = open(&backups[number], engine, durability)?;
                let mut expected = moments[number].clone();
                if round > 0 {
                    expected
                        .insert("mine".into(), BTreeMap::from([(b"number".to_vec(), vec![number as u8])]));
                }
                assert!(contents(&db)? == expected, "{about}");
                db.keyspace("mine")?.insert("number", [number as u8])?;
                db.checkpoint()?;
                db.close()?;
            }
        }
        let restored = folder.path().join("restored");
        Db::restore(&backups[9], &restored)?;
        assert!(open(&restored, engine, durability)?.keyspaces()?.contains(&"mine".into()));
    }
    Ok(())
}

/// Each transaction writes the same number to two keyspaces.
#[test]
fn transactions_are_whole_and_acknowledged_ones_are_present() -> Result<()> {
    for (engine, durability) in [
        (Engine::Memory, Durability::Sync),
        (Engine::Memory, Durability::Buffered),
        (Engine::Memory, Durability::None),
        (Engine::Disk, Durability::Buffered),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let db = open(&folder.path().join("db"), engine, durability)?;
        let (first, last, own) = (db.keyspace("a")?, db.keyspace("c")?, db.keyspace("b")?);
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for writer in 0..3_u8 {
                let (db, first, last, stop) = (&db, &first, &last, &stop);
                scope.spawn(move || {
                    for number in (0_u32..).take_while(|_| !stop.load(Ordering::Relaxed)) {
                        let written = db.transaction(|tx| {
                            tx.insert(first, [writer], number.to_be_bytes())?;
                            tx.insert(last, [writer], number.to_be_bytes())
                        });
                        written.expect("a transaction");
                    }
                });
            }
            let made = (0..5_u8).try_for_each(|number| {
                own.insert("number", [number])?;
                if number == 2 {
                    db.checkpoint()?;
                }
                let name = |number: u8| folder.path().join(format!("backup {number}"));
                db.backup_since(name(number.wrapping_sub(1)), name(number)).map(drop)
            });
            stop.store(true, Ordering::Relaxed);
            made
        })?;
        for number in 0..5_u8 {
            let copied = open(&folder.path().join(format!("backup {number}")), engine, durability)?;
            let row = |name: &str, key: &[u8]| {
                Ok::<_, Error>(copied.keyspace(name)?.get(key)?.map(|value| value.to_vec()))
            };
            assert_eq!(row("b", b"number")?, Some(vec![number]), "{engine:?}, {durability:?}");
            for writer in 0..3_u8 {
                assert_eq!(row("a", &[writer])?, row("c", &[writer])?, "{engine:?}, {durability:?}");
            }
        }
    }
    Ok(())
}

#[test]
fn only_the_growth_of_the_logs_is_copied() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let [path, first, second, third] = ["db", "1", "2", "3"].map(|name| folder.path().join(name));
    let db = open(&path, Engine::Memory, Durability::Buffered)?;
    let rows = db.keyspace("rows")?;
    rows.bulk_load((0..4000_u32).map(|number| (number.to_be_bytes(), [7; 1000])))?;
    db.checkpoint()?;
    let whole = db.backup_since(&third, &first)?;
    assert!(whole.bytes > 4_000_000 && whole.shared_bytes == 0, "{whole:?}");
    assert_eq!(whole.rows, Db::verify(&first)?.rows);
    rows.insert("one", "more")?;
    rows.insert_until("soon", "gone", SystemTime::now() + Duration::from_secs(2))?;
    let more = db.backup_since(&first, &second)?;
    // The last segment of a log is copied from its start. The first ones have up to 4 MiB.
    assert!(more.bytes <= 4 << 20 && more.shared_bytes > 4_000_000, "{more:?} after {whole:?}");
    std::fs::remove_dir_all(&first).expect("it is removed");
    db.checkpoint()?;
    let anew = db.backup_since(&second, &third)?;
    assert!(anew.bytes > 4_000_000, "a new checkpoint has all rows: {anew:?}");
    // Times of expiry are copied, too.
    std::thread::sleep(Duration::from_millis(2100));
    for backup in [&second, &third] {
        assert_eq!(open(backup, Engine::Memory, Durability::Buffered)?.keyspace("rows")?.len()?, 4001);
    }
    Ok(())
}

#[test]
fn refusals_leave_nothing() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let text =
        |refused: Result<skeindb::BackupReport>| refused.map(|report| report.rows).unwrap_err().to_string();
    for engine in [Engine::Memory, Engine::Disk] {
        let name = |name: &str| at(&format!("{name} {engine:?}"));
        let db = open(&name("db"), engine, Durability::Buffered)?;
        db.default_keyspace().insert("grey", "Anser anser")?;
        let (first, second) = (name("1"), name("2"));
        db.backup_since(name("none"), &first)?;
        assert!(text(db.backup_since(name("db"), &second)).contains("in use by"));
        assert!(text(db.backup_since(folder.path(), &second)).contains("no database"));
        assert!(text(db.backup_since(&first, first.join("within"))).contains("within the backup"));
        assert!(text(db.backup_since(&first, &first)).contains("within the backup"));
        assert!(text(db.backup_since(name("none"), &first)).contains("not empty"));
        // Incident: a backup in the database's folder had the name of a checkpoint. Consequence:
        // the next checkpoint removed a part of it and failed, and the database could not be opened
        // any more. Fix: such a folder is refused.
        let inside = name("db").join("checkpoint-0000000000000001");
        assert!(text(db.backup(&inside)).contains("it is within the database; choose a folder beside it"));
        assert!(text(db.backup_since(&first, &inside)).contains("within the database"));
        assert!(!inside.exists());
        let open_one = Db::open(&first)?;
        assert!(text(db.backup_since(&first, &second)).contains("in use by"));
        drop(open_one);
        let cancelled = db.backup_since_with(&first, &second, |_| ControlFlow::Break(()));
        assert!(matches!(cancelled, Err(Error::Canceled { operation: "backup" })), "{cancelled:?}");
        assert!(!second.exists() && !name("2").with_extension("partial-backup").exists());

        let mut seen = Vec::new();
        db.backup_since_with(&first, &second, |progress| {
            seen.push(*progress);
            ControlFlow::Continue(())
        })?;
        assert!(seen.is_sorted_by_key(|progress| progress.bytes) && !seen.is_empty(), "{seen:?}");
        let last = seen.last().expect("a step");
        assert!(engine == Engine::Disk || last.bytes > 0 && last.bytes <= last.bytes_total, "{last:?}");
        db.close()?;
        assert!(matches!(db.backup_since(&first, name("3")), Err(Error::Closed)));
    }
    Ok(())
}

/// The earlier backup is of another engine or database, or of one without a folder.
#[test]
fn backups_with_nothing_in_common_are_whole() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let databases = [
        open(&at("memory"), Engine::Memory, Durability::Sync)?,
        open(&at("disk"), Engine::Disk, Durability::Sync)?,
        Db::in_memory()?,
    ];
    for (number, db) in databases.iter().enumerate() {
        db.keyspace("rows")?.insert("number", [number as u8])?;
        db.backup(at(&format!("earlier {number}")))?;
    }
    for (number, db) in databases.iter().enumerate() {
        for earlier in 0..3 {
            let to = at(&format!("{number} since {earlier}"));
            let report = db.backup_since(at(&format!("earlier {earlier}")), &to)?;
            assert_eq!(report.shared_bytes, 0);
            let value = Db::open(&to)?.keyspace("rows")?.get("number")?.map(|value| value.to_vec());
            assert_eq!(value, Some(vec![number as u8]));
        }
    }
    Ok(())
}

/// Bytes are copied as they are on disk, so the copy is checked before it gets its name.
#[test]
fn a_damaged_file_of_the_database_is_not_backed_up() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let [path, first, second] = ["db", "1", "2"].map(|name| folder.path().join(name));
    let disk = SimStorage::new();
    let db = Db::builder("/db").storage(disk.share()).durability(Durability::Buffered).open()?;
    db.keyspace("rows")?.bulk_load((0..2000_u32).map(|number| (number.to_be_bytes(), [7; 100])))?;
    db.checkpoint()?;
    db.backup_since(&path, &first)?;
    let names = disk.list(Path::new("/db")).expect("the folder");
    let checkpoint = names.into_iter().find(|entry| entry.name.starts_with("checkpoint")).expect("one");
    disk.damage(&Path::new("/db").join(checkpoint.name).join("part-0000"), 5000, &[1]);
    let refused = db.backup_since(&first, &second).map(drop).unwrap_err().to_string();
    assert!(refused.contains("`backup`") && refused.contains("part-0000"), "{refused}");
    assert!(!second.exists());
    db.backup(&second)?;
    assert_eq!(Db::open(&second)?.keyspace("rows")?.len()?, 2000);
    Ok(())
}

/// While the disk is full no epoch becomes durable, so there is no moment to copy.
#[test]
fn a_full_disk_refuses_and_a_whole_backup_works() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let [first, second] = ["1", "2"].map(|name| folder.path().join(name));
    let disk = SimStorage::new();
    let db = Db::builder("/db").storage(disk.share()).durability(Durability::Sync).open()?;
    let rows = db.keyspace("rows")?;
    rows.insert("before", "1")?;
    disk.limit(Path::new("/db"), Some(0));
    let stopped = (0..10_000_u32).find_map(|number| rows.insert(number.to_be_bytes(), [7; 1000]).err());
    assert!(stopped.is_some(), "the first segment has room for a thousand rows");
    let refused = db.backup_since(&second, &first).map(drop).unwrap_err().to_string();
    assert!(refused.contains("make room"), "{refused}");
    assert!(!first.exists());
    db.backup(&second)?;
    disk.limit(Path::new("/db"), None);
    let made = (0..200).find_map(|_| {
        std::thread::sleep(Duration::from_millis(20));
        db.backup_since(&second, &first).ok()
    });
    assert!(made.is_some_and(|report| report.bytes > 0));
    assert!(Db::open(&first)?.keyspace("rows")?.contains_key("before")?);
    Ok(())
}
