//! Restores, checks and compaction.

use std::ops::ControlFlow;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use skein_store::{Store, StoreOptions};
use skeindb::{Db, Engine, Error, Result};

const BOTH: [Engine; 2] = [Engine::Memory, Engine::Disk];

/// Returns the file that has the rows of a backup.
fn rows_file(copy: &Path, engine: Engine) -> PathBuf {
    if engine == Engine::Disk {
        return copy.join("data.skein");
    }
    let mut names =
        std::fs::read_dir(copy).expect("it is there").map(|entry| entry.expect("it can be read").path());
    names.find(|path| path.to_string_lossy().contains("checkpoint-")).expect("there is one").join("part-0000")
}

#[test]
fn a_restored_database_has_what_the_backup_has() -> Result<()> {
    for engine in BOTH {
        let folder = tempfile::tempdir().expect("a folder");
        let [path, copy, restored] = ["geese", "copy", "restored"].map(|name| folder.path().join(name));
        let db = Db::builder(&path).engine(engine).open()?;
        let geese = db.keyspace("geese")?;
        geese.bulk_load((0..3000u32).map(|number| (number.to_be_bytes(), [7; 500])))?;
        db.backup(&copy)?;
        geese.clear()?;
        let report = Db::verify(&copy)?;
        assert!(report.is_sound() && report.engine == engine && report.rows == 3002, "{report:?}");

        let cancelled = Db::restore_with(&copy, &restored, |_| ControlFlow::Break(()));
        assert!(matches!(cancelled, Err(Error::Canceled { operation: "restore" })), "{cancelled:?}");
        assert!(!restored.exists());
        let mut bytes = 0;
        let report = Db::restore_with(&copy, &restored, |progress| {
            bytes = progress.bytes;
            ControlFlow::Continue(())
        })?;
        assert!(report.bytes == bytes && report.rows == 3002, "{report:?}");
        let again = Db::restore(&copy, &restored).unwrap_err().to_string();
        assert!(again.contains("not empty"), "{again}");

        let (first, second) = (Db::open(&restored)?, Db::open(&copy)?);
        for opened in [&first, &second] {
            assert_eq!(opened.keyspace("geese")?.len()?, 3000);
        }
        let open = Db::restore(&copy, folder.path().join("third")).unwrap_err().to_string();
        assert!(open.contains("in use by"), "{open}");
        assert!(Db::verify(&copy).is_err() && !folder.path().join("third").exists());
    }
    Ok(())
}

#[test]
fn a_damaged_backup_is_not_restored() -> Result<()> {
    for engine in BOTH {
        let folder = tempfile::tempdir().expect("a folder");
        let (copy, restored) = (folder.path().join("copy"), folder.path().join("restored"));
        let db = Db::builder(folder.path().join("geese")).engine(engine).open()?;
        db.default_keyspace().bulk_load((0..3000u32).map(|number| (number.to_be_bytes(), [7; 500])))?;
        db.backup(&copy)?;
        let file = std::fs::File::options().write(true).open(rows_file(&copy, engine)).expect("it opens");
        let middle = file.metadata().expect("it has a length").len().min(1 << 20) / 2;
        file.write_all_at(&[0x5a; 4096], middle & !4095).expect("it is written");
        let report = Db::verify(&copy)?;
        assert!(!report.is_sound(), "{report:?}");
        let refused = Db::restore(&copy, &restored).unwrap_err().to_string();
        assert!(refused.contains("damaged"), "{refused}");
        assert!(!restored.exists());
    }
    Ok(())
}

#[test]
fn logs_elsewhere_and_foreign_folders_are_refused() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let [path, logs, restored] = ["geese", "logs", "restored"].map(|name| folder.path().join(name));
    let options = StoreOptions { log_folders: vec![logs], ..StoreOptions::default() };
    Store::open(&path, options)?.close()?;
    let refused = Db::restore(&path, &restored).unwrap_err().to_string();
    assert!(refused.contains("other folders"), "{refused}");
    for strange in [folder.path().to_owned(), folder.path().join("missing")] {
        let refused = Db::verify(&strange).unwrap_err().to_string();
        assert!(refused.contains("no database"), "{refused}");
        assert!(Db::restore(&strange, &restored).is_err() && !restored.exists());
    }
    Ok(())
}

#[test]
fn compaction_gives_back_space() -> Result<()> {
    for engine in BOTH {
        let folder = tempfile::tempdir().expect("a folder");
        let db = Db::builder(folder.path().join("geese")).engine(engine).open()?;
        let geese = db.keyspace("geese")?;
        geese.bulk_load((0..20_000u32).map(|number| (number.to_be_bytes(), [7; 600])))?;
        db.flush()?;
        geese.remove_range(100u32.to_be_bytes()..)?;
        let report = db.compact()?;
        assert!(report.bytes_after < report.bytes_before / 2, "{engine:?}: {report:?}");
        assert_eq!(geese.len()?, 100);
        db.close()?;
        assert!(matches!(db.compact(), Err(Error::Closed)));
    }
    Ok(())
}

#[test]
fn a_check_reports_progress_and_can_be_cancelled() -> Result<()> {
    for engine in BOTH {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("geese");
        let db = Db::builder(&path).engine(engine).open()?;
        let geese = db.keyspace("geese")?;
        geese.bulk_load((0..8000u32).map(|number| (number.to_be_bytes(), [7; 500])))?;
        db.checkpoint()?;
        geese.bulk_load((8000..12_000u32).map(|number| (number.to_be_bytes(), [7; 500])))?;
        db.close()?;
        let mut seen = Vec::new();
        let report = Db::verify_with(&path, |progress| {
            seen.push(*progress);
            ControlFlow::Continue(())
        })?;
        let last = seen.last().expect("a step");
        assert!(report.is_sound() && seen.is_sorted_by_key(|step| step.bytes), "{engine:?}: {seen:?}");
        assert!(seen.len() >= 4 && last.bytes <= last.bytes_total, "{engine:?}: {seen:?}");
        assert!(last.bytes >= report.bytes / 2, "{engine:?}: {last:?}, {report:?}");
        // At the first step of pages or parts, and at the last one, of logs.
        for end in [1, seen.len()] {
            let mut steps = 0;
            let cancelled = Db::verify_with(&path, |_| {
                steps += 1;
                if steps == end { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            assert!(matches!(cancelled, Err(Error::Canceled { operation: "check" })), "{cancelled:?}");
        }
        assert!(Db::open(&path)?.keyspace("geese")?.len()? == 12_000, "the lock is released");
    }
    Ok(())
}

#[test]
fn a_cancelled_compaction_loses_nothing() -> Result<()> {
    for engine in BOTH {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("geese");
        let db = Db::builder(&path).engine(engine).open()?;
        let geese = db.keyspace("geese")?;
        geese.bulk_load((0..20_000u32).map(|number| (number.to_be_bytes(), [7; 600])))?;
        db.flush()?;
        geese.remove_range(..19_000u32.to_be_bytes())?;
        let mut bytes = 0;
        for end in [1, 2, 3] {
            let mut steps = 0;
            let cancelled = db.compact_with(|progress| {
                (steps, bytes) = (steps + 1, bytes.max(progress.bytes));
                if steps == end { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            let is_cancelled = matches!(cancelled, Err(Error::Canceled { operation: "compaction" }));
            assert!(is_cancelled || steps < end, "{engine:?}, {end}: {cancelled:?}");
            assert_eq!(geese.len()?, 1000);
        }
        assert_eq!(db.stats()?.writes_stopped, None);
        let report = db.compact_with(|progress| {
            bytes = bytes.max(progress.bytes);
            ControlFlow::Continue(())
        })?;
        assert!(bytes > 0, "{engine:?}: no page or row was counted");
        assert!(report.bytes_after <= report.bytes_before);
        db.close()?;
        assert!(Db::verify(&path)?.is_sound());
        assert_eq!(Db::open(&path)?.keyspace("geese")?.len()?, 1000);
    }
    Ok(())
}

/// A callback that panics ends the operation, and its panic is passed on.
#[test]
fn a_panic_in_a_callback_ends_the_operation() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let db = Db::open(folder.path().join("geese"))?;
    db.default_keyspace().bulk_load((0..20_000u32).map(|number| (number.to_be_bytes(), [7; 600])))?;
    let copy = folder.path().join("copy");
    let mut steps = 0;
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        db.backup_since_with(folder.path().join("none"), &copy, |_| {
            steps += 1;
            panic!("in the callback")
        })
    }));
    assert!(caught.is_err() && steps == 1 && !copy.exists());
    db.backup(&copy).map(drop)
}

/// Incident: a backup that was restored into itself copied its copies until the path was too long.
/// Fix: refused before the first file.
#[test]
fn a_backup_is_not_restored_into_itself() -> skeindb::Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let backup = folder.path().join("backup");
    Db::open(&backup)?.close()?;
    for within in [backup.join("x"), backup.join("deep/er"), backup.clone()] {
        let refused = Db::restore(&backup, &within).expect_err("it is refused").to_string();
        assert!(refused.contains("within the backup"), "{refused}");
    }
    assert!(!backup.join("x").exists() && !backup.join("deep").exists());
    Ok(())
}
