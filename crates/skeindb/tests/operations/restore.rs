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
