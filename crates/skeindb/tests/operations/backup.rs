//! Backups: all of the contents, one moment, and refusals.

use std::ops::{Bound, ControlFlow};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use skein_data::{DiskEngine, RowPiece};
use skein_disk::{DiskOptions, DiskStore, Values};
use skein_store::{Store, StoreLimits, StoreOptions};
use skeindb::{Db, Engine, Error, Result};

const BOTH: [Engine; 2] = [Engine::Memory, Engine::Disk];

/// Opens a folder as a server does.
fn as_server(path: &Path, engine: Engine) -> skein_data::Engine {
    if engine == Engine::Memory {
        return Store::open(path, StoreOptions::default()).expect("it opens").into();
    }
    let options = DiskOptions { values: Values::Rows, ..DiskOptions::default() };
    let store = DiskStore::open(path, options).expect("it opens");
    DiskEngine::new(store, StoreLimits::default()).expect("it has rows").into()
}

/// Returns all pieces of all keys of a folder, with their times of expiry.
fn contents(path: &Path, engine: Engine) -> Vec<(Vec<u8>, RowPiece, Option<u64>)> {
    let (mut found, all) = (Vec::new(), (Bound::Unbounded, Bound::Unbounded));
    let read = as_server(path, engine).session().keys().walk_stored(all, usize::MAX, |key, row| {
        row.pieces(|piece| {
            found.push((key.to_vec(), piece, row.expires_at()));
            ControlFlow::Continue(())
        })
        .expect("its members can be read")
    });
    read.expect("the folder can be read");
    found
}

/// Writes contents of all kinds, as a server does.
fn fill_as_server(path: &Path, engine: Engine) {
    let engine = as_server(path, engine);
    let later = Some(engine.now() + 3_600_000);
    let name = |number: u32| format!("name-{number:05}").into_bytes();
    let pieces: [(&str, RowPiece, Option<u64>); 8] = [
        ("value", RowPiece::Value(b"v".to_vec()), None),
        ("value with a time", RowPiece::Value(vec![b'v'; 3 << 20]), later),
        ("empty", RowPiece::Value(Vec::new()), None),
        ("columns", RowPiece::Columns(vec![(name(1), b"1".to_vec()), (name(2), vec![])]), later),
        ("many columns", RowPiece::Columns((0..2500).map(|at| (name(at), name(at))).collect()), None),
        ("sorted set", RowPiece::Members((0..2500).map(|at| (name(at), f64::from(at % 7))).collect()), None),
        ("small sorted set", RowPiece::Members(vec![(name(1), f64::NEG_INFINITY)]), later),
        ("set", RowPiece::Set((0..2000).map(name).collect()), later),
    ];
    let (written, _) = engine.session().keys().write(|writer| {
        pieces.iter().try_for_each(|(key, piece, expires)| piece.write(writer, key.as_bytes(), *expires))
    });
    written.and_then(|inner| inner).expect("all can be written");
    engine.close().expect("it closes");
}

#[test]
fn has_all_kinds_of_contents_and_all_keyspaces() -> Result<()> {
    for engine in BOTH {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, copy) = (folder.path().join("geese"), folder.path().join("new/copy"));
        fill_as_server(&path, engine);
        let db = Db::open(&path)?;
        let (geese, swans) = (db.keyspace("geese")?, db.keyspace("swans")?);
        geese.bulk_load((0..3000u32).map(|number| (number.to_be_bytes(), [7; 600])))?;
        swans.insert("mute", "Cygnus olor")?;
        assert!(db.drop_keyspace("swans")?);
        let report = db.backup(&copy)?;
        assert!(report.rows >= 3008 && report.bytes > 3000 * 600, "{report:?}");
        db.close()?;
        drop((geese, swans, db));

        let copied = contents(&copy, engine);
        assert_eq!(copied, contents(&path, engine), "{engine:?}");
        assert!(copied.iter().filter(|(key, ..)| key == b"many columns").count() == 3, "pieces");
        let copied = Db::open(&copy)?;
        assert_eq!((copied.stats()?.engine, copied.keyspaces()?), (engine, vec!["geese".to_owned()]));
        assert_eq!(copied.keyspace("geese")?.len()?, 3000);
        let names: Vec<_> = std::fs::read_dir(folder.path()).expect("it is there").collect();
        assert_eq!(names.len(), 2, "only the two folders: {names:?}");
    }
    Ok(())
}

/// Each transaction writes the same number to two keyspaces. The copy reads one of them first and
/// the other last, with writes between, so without one moment it would find a greater number there.
#[test]
fn shows_one_moment_while_writers_go_on() -> Result<()> {
    for engine in BOTH {
        let folder = tempfile::tempdir().expect("a folder");
        let db = Db::builder(folder.path().join("geese")).engine(engine).open()?;
        let (first, filler, last) = (db.keyspace("a")?, db.keyspace("b")?, db.keyspace("c")?);
        let write = |number: u32| {
            db.transaction(|tx| {
                tx.insert(&first, "number", number.to_be_bytes())?;
                tx.insert(&last, "number", number.to_be_bytes())
            })
        };
        filler.bulk_load((0..5000u32).map(|number| (number.to_be_bytes(), [7; 600])))?;
        write(0)?;
        let done = AtomicBool::new(false);
        let copy = folder.path().join("copy");
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                (1u32..).take_while(|_| !done.load(Ordering::Relaxed)).try_for_each(|number| {
                    filler.remove(number.to_be_bytes())?;
                    write(number)
                })
            });
            let mut steps = 0;
            let copied = db.backup_with(&copy, |progress| {
                steps += 1;
                assert!(progress.bytes > 0 && !copy.exists());
                // Writes pass between two parts.
                let before = first.get("number").ok().flatten().map(|value| value.to_vec());
                while first.get("number").ok().flatten().map(|value| value.to_vec()) == before {
                    std::thread::yield_now();
                }
                ControlFlow::Continue(())
            });
            done.store(true, Ordering::Relaxed);
            writer.join().expect("no panic")?;
            assert!(steps >= 3, "{steps} steps");
            copied
        })?;
        let copied = Db::open(&copy)?;
        let number = |name| Ok::<_, Error>(copied.keyspace(name)?.get("number")?.map(|value| value.to_vec()));
        assert_eq!(number("a")?, number("c")?, "{engine:?}");
    }
    Ok(())
}

#[test]
fn a_cancelled_backup_leaves_nothing() -> Result<()> {
    for engine in BOTH {
        let folder = tempfile::tempdir().expect("a folder");
        let db = Db::builder(folder.path().join("geese")).engine(engine).open()?;
        db.default_keyspace().insert("grey", "Anser anser")?;
        let copy = folder.path().join("copy");
        let cancelled = db.backup_with(&copy, |_| ControlFlow::Break(()));
        assert!(matches!(cancelled, Err(Error::Canceled { operation: "backup" })), "{cancelled:?}");
        assert_eq!(std::fs::read_dir(folder.path()).expect("it is there").count(), 1);
        db.backup(&copy)?;
    }
    Ok(())
}

/// A backup replaces the files of a killed process, and leaves foreign files alone.
#[test]
fn replaces_its_own_rest_and_nothing_else() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let db = Db::in_memory()?;
    db.default_keyspace().insert("grey", "Anser anser")?;
    let (copy, partial) = (folder.path().join("copy"), folder.path().join("copy.partial-backup"));

    std::fs::create_dir_all(partial.join("checkpoint-0000000000000001")).expect("it is created");
    std::fs::write(partial.join("identity"), "torn").expect("it is written");
    std::fs::create_dir(&copy).expect("it is created");
    db.backup(&copy)?;
    assert!(!partial.exists());
    assert_eq!(Db::open(&copy)?.default_keyspace().get("grey")?.as_deref(), Some(&b"Anser anser"[..]));

    let text = |refused: Result<_>| {
        refused.map(|report: skeindb::BackupReport| report.rows).unwrap_err().to_string()
    };
    assert!(text(db.backup(&copy)).contains("not empty"));
    assert!(text(db.backup("/")).contains("not empty"));

    let (second, partial) = (folder.path().join("second"), folder.path().join("second.partial-backup"));
    std::fs::create_dir(&partial).expect("it is created");
    std::fs::write(partial.join("letter"), "mine").expect("it is written");
    assert!(text(db.backup(&second)).contains("letter"));
    assert!(partial.join("letter").exists() && !second.exists());

    std::fs::write(folder.path().join("file"), "mine").expect("it is written");
    assert!(text(db.backup(folder.path().join("file"))).contains("cannot read"));
    Ok(())
}
