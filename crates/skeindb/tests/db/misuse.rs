//! Misuse must return an error, and change nothing.

use std::process::Command;

use skeindb::{Batch, Db, Durability, Engine, Error, Eviction, IndexKind};

use crate::common::{KINDS, on_every_kind};

#[test]
fn a_closed_database_refuses_everything() {
    for kind in KINDS {
        let folder = tempfile::tempdir().expect("a folder");
        let db = kind.builder(&folder.path().join("db")).open().expect("it opens");
        let rows = db.keyspace("rows").expect("a keyspace");
        rows.insert("a", "1").expect("a write");
        let (mut iter, snapshot, open) =
            (rows.iter(), db.snapshot().expect("a snapshot"), db.begin().expect("a transaction"));
        db.close().expect("it closes");
        db.close().expect("a second close does nothing");
        let mut batch = Batch::new();
        batch.insert(&rows, "b", "2");
        for refused in [
            rows.get("a").map(drop),
            rows.insert("a", "2"),
            rows.update("a", |old| old.map(<[u8]>::to_vec)).map(drop),
            rows.first().map(drop),
            rows.len().map(drop),
            iter.next().expect("the error").map(drop),
            snapshot.get(&rows, "a").map(drop),
            open.get(&rows, "a").map(drop),
            open.commit(),
            db.apply(batch),
            db.snapshot().map(drop),
            db.begin().map(drop),
            db.keyspace("others").map(drop),
            db.keyspaces().map(drop),
            db.rename_keyspace("rows", "others"),
            db.flush(),
            db.checkpoint(),
            db.stats().map(drop),
            db.compact().map(drop),
            db.backup(folder.path().join("copy")).map(drop),
            db.backup_since(folder.path().join("none"), folder.path().join("copy")).map(drop),
        ] {
            assert!(matches!(refused, Err(Error::Closed)), "{kind:?}: {refused:?}");
        }
        assert!(iter.next().is_none(), "an iterator ends after its error");
    }
}

/// Incident: an iterator with rows that it had read ahead yielded these after the close.
/// Consequence: a loop continued over a database that was closed. Fix: it ends with the error at
/// once.
#[test]
fn rows_that_were_read_ahead_end_with_the_database() {
    on_every_kind(|db| {
        let rows = db.keyspace("rows")?;
        for number in 0..100u8 {
            rows.insert([number], "")?;
        }
        let snapshot = db.snapshot()?;
        let mut iters = [rows.iter(), snapshot.iter(&rows)];
        for iter in &mut iters {
            assert!(iter.next().expect("a row").is_ok() && iter.next_back().expect("a row").is_ok());
        }
        rows.check_usable()?;
        snapshot.check_usable()?;
        db.close()?;
        for mut iter in iters {
            assert!(matches!(iter.clone().next_back(), Some(Err(Error::Closed))));
            assert!(matches!(iter.next(), Some(Err(Error::Closed))));
            assert!(iter.next().is_none() && iter.next_back().is_none());
        }
        assert!(matches!(rows.check_usable(), Err(Error::Closed)));
        assert!(matches!(snapshot.check_usable(), Err(Error::Closed)));
        Ok(())
    });
}

#[test]
fn a_folder_is_open_once() {
    for kind in KINDS {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("db");
        let db = kind.builder(&path).open().expect("it opens");
        let again = Db::open(&path).expect_err("it is open").to_string();
        assert!(again.contains("db"), "{again}");
        db.close().expect("it closes");
        Db::open(&path).expect("it is free again");
    }
}

/// The error said "cannot open FILE/data.skein: Not a directory", as if a database were there.
#[test]
fn a_path_that_is_a_file_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("file");
    std::fs::write(&path, "a text").expect("a file");
    for builder in [Db::builder(&path), Db::builder(&path).engine(Engine::Memory)] {
        let refused = builder.open().expect_err("no folder").to_string();
        assert!(
            refused.ends_with("is a file; name a folder, or a path that does not exist yet"),
            "{refused}"
        );
    }
    assert_eq!(std::fs::read(&path).expect("the file"), b"a text");
}

#[test]
fn handles_of_other_databases_are_refused() -> skeindb::Result<()> {
    let (db, other) = (Db::in_memory()?, Db::in_memory()?);
    let (own, foreign) = (db.keyspace("rows")?, other.keyspace("rows")?);
    let mut batch = Batch::new();
    batch.insert(&own, "a", "1").insert(&foreign, "b", "2");
    let mut tx = db.begin()?;
    let mut another = db.begin()?;
    let savepoint = another.savepoint();
    for refused in [
        db.apply(batch),
        tx.insert(&foreign, "a", "1"),
        tx.get(&foreign, "a").map(drop),
        tx.rollback_to(savepoint),
        db.snapshot()?.get(&foreign, "a").map(drop),
        tx.range(&foreign, "a"..).next().expect("the error").map(drop),
    ] {
        assert!(matches!(refused, Err(Error::Foreign { .. })), "{refused:?}");
    }
    tx.commit()?;
    assert!(own.is_empty()? && foreign.is_empty()?);
    Ok(())
}

#[test]
fn keys_and_values_over_the_limit_are_refused() {
    on_every_kind(|db| {
        let (rows, default) = (db.keyspace("rows")?, db.default_keyspace());
        let limit = skeindb::store::KEY_BYTES_MAX;
        rows.insert(vec![1; limit - 8], "")?;
        default.insert(vec![1; limit], "")?;
        let long = rows.insert(vec![1; limit - 7], "");
        assert!(matches!(long, Err(Error::KeyTooLong { len, limit: l }) if len == l + 1), "{long:?}");
        rows.get(vec![1; limit]).expect_err("too long");
        default.insert(vec![1; limit + 1], "").expect_err("too long");
        assert!(matches!(default.insert(b"\xffSK\0x", ""), Err(Error::KeyReserved)));
        Ok(())
    });
}

#[test]
fn a_transaction_with_a_value_over_the_limit_writes_nothing() {
    for engine in [Engine::Memory, Engine::Disk] {
        let folder = tempfile::tempdir().expect("a folder");
        let db = Db::builder(folder.path().join("db")).engine(engine).open().expect("it opens");
        let rows = db.keyspace("rows").expect("a keyspace");
        let mut tx = db.begin().expect("it begins");
        tx.insert(&rows, "fits", "").expect("a private write");
        tx.insert(&rows, "a", vec![0; skeindb::store::VALUE_BYTES_MAX + 1]).expect("a private write");
        let error = tx.commit().expect_err("the value is too long").to_string();
        assert!(error.contains("536870911"), "{error}");
        assert!(rows.is_empty().expect("a read"));
    }
}

#[test]
fn options_of_the_other_engine_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let (memory, disk) = (folder.path().join("memory"), folder.path().join("disk"));
    Db::builder(&memory).open().expect("it opens").close().expect("it closes");
    Db::builder(&disk).engine(Engine::Disk).open().expect("it opens").close().expect("it closes");
    let missing = folder.path().join("none");
    for (name, builder) in [
        ("cache_bytes", Db::builder(&memory).cache_bytes(1 << 20)),
        ("index", Db::builder(&disk).index(IndexKind::Wormhole)),
        ("memory_limit", Db::builder(&disk).memory_limit(1 << 20)),
        ("max_snapshot_memory", Db::builder(&disk).max_snapshot_memory(1 << 20)),
        ("path", Db::builder(&missing).create(false)),
        ("engine", Db::memory_builder().engine(Engine::Disk)),
        ("durability", Db::memory_builder().durability(Durability::Sync)),
    ] {
        let refused = builder.open();
        assert!(
            matches!(&refused, Err(Error::BadOption { name: n, .. }) if *n == name),
            "{name}: {refused:?}"
        );
    }
    assert!(!missing.exists());
    Db::builder(&disk).engine(Engine::Memory).open().expect_err("of the other engine");
    Db::builder(&memory).engine(Engine::Disk).open().expect_err("of the other engine");
}

/// Incident: a database was opened in a folder with other files, such as a home folder.
/// Consequence: its files were made among them, while `skein serve` refused the same folder. Fix:
/// so does `open`.
#[test]
fn a_folder_with_files_of_others_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("letter.txt"), "dear").expect("a file");
    for engine in [Engine::Memory, Engine::Disk] {
        let refused = Db::builder(folder.path()).engine(engine).open().expect_err("it is another's");
        let text = refused.to_string();
        assert!(text.contains("neither a database nor empty: it has letter.txt; name an empty"), "{text}");
        assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 1, "nothing was made");
    }
    let inner = folder.path().join("skeindb");
    Db::open(&inner).expect("a new folder").close().expect("it closes");
    std::fs::write(inner.join("notes.txt"), "ours").expect("a file");
    Db::open(&inner).expect("it has a database").close().expect("it closes");
}

/// Incident: the 256th transaction that reads failed in memory, with no way to raise the limit.
/// Consequence: a program with some hundred threads could not use transactions. Fix: 65,536
/// snapshots for each engine.
#[test]
fn snapshots_have_a_limit_in_both_engines() -> skeindb::Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let most = 65_536;
    for engine in [Engine::Memory, Engine::Disk] {
        let builder = || Db::builder(folder.path().join(format!("{engine:?}"))).engine(engine);
        for wrong in [0, most + 1] {
            let refused = builder().max_snapshots(wrong).open().expect_err("it is out of the range");
            assert!(matches!(&refused, Error::BadOption { name: "max_snapshots", .. }), "{refused}");
            assert!(refused.to_string().ends_with(&format!("{wrong}; it can be 1 to {most}")), "{refused}");
        }
        let db = builder().max_snapshots(2).open()?;
        let live = (db.snapshot()?, db.snapshot()?);
        let refused = db.snapshot().expect_err("there are two").to_string();
        let expected = "2 snapshots are live, which is the limit of 2 (each transaction that reads has one); \
                        end one, or raise `max_snapshots`";
        assert_eq!(refused, expected);
        drop(live);
        db.snapshot()?;
        db.close()?;
        let db = builder().open()?;
        let rows = db.keyspace("rows")?;
        rows.insert("count", "0")?;
        let mut readers = Vec::new();
        for number in 0..1000 {
            let reader = db.begin()?;
            assert_eq!(reader.get(&rows, "count")?, Some(number.to_string().into_bytes()));
            readers.push(reader);
            rows.increment("count", 1)?;
        }
        for (number, reader) in readers.into_iter().enumerate() {
            assert_eq!(reader.first(&rows)?.expect("a row").1, number.to_string().into_bytes());
        }
        assert_eq!(db.stats()?.snapshots, 0);
        db.close()?;
    }
    Ok(())
}

/// The writes of a limited database stop with an error, and the memory is freed.
#[test]
fn a_memory_limit_refuses_writes() -> skeindb::Result<()> {
    let db = Db::memory_builder().memory_limit(4 << 20).open()?;
    let rows = db.keyspace("rows")?;
    let refused =
        (0..100_000u32).map(|number| rows.insert(number.to_be_bytes(), [7; 200])).find(Result::is_err);
    let error = refused.expect("4 MiB do not suffice").expect_err("a refusal").to_string();
    assert!(error.contains("memory"), "{error}");
    rows.clear()?;
    rows.insert("again", "there is room")
}

/// A cache evicts rows, but never the names of its keyspaces.
#[test]
fn eviction_keeps_the_catalog() -> skeindb::Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let open = || Db::builder(folder.path()).memory_limit(4 << 20).eviction(Eviction::Lru).open();
    let db = open()?;
    let names: Vec<String> = (0..50).map(|number| format!("cache {number:02}")).collect();
    for name in &names {
        db.keyspace(name)?.insert("first", "")?;
    }
    let rows = db.keyspace("rows")?;
    for number in 0..60_000u32 {
        rows.insert(number.to_be_bytes(), [7; 200])?;
    }
    let kept = rows.len()?;
    assert!((1000..30_000).contains(&kept), "{kept} of 60,000 fit");
    db.close()?;
    assert_eq!(open()?.keyspaces()?, [&names[..], &["rows".to_owned()]].concat());
    Ok(())
}

/// A child of a fork has the handles, but neither threads nor locks.
#[test]
fn a_forked_child_gets_errors() {
    const CHILD: &str = "SKEINDB_TEST_FORKS";
    if std::env::var_os(CHILD).is_none() {
        let own = std::env::current_exe().expect("the test's program");
        let mut run = Command::new(own);
        run.args(["misuse::a_forked_child_gets_errors", "--exact", "--test-threads=1"]).env(CHILD, "1");
        let output = run.output().expect("it runs");
        assert!(output.status.success(), "{output:?}");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let db = Db::open(folder.path().join("db")).expect("it opens");
    let rows = db.keyspace("rows").expect("a keyspace");
    rows.insert("a", "1").expect("a write");
    let snapshot = db.snapshot().expect("a snapshot");
    // The child drops a value that protects removed rows.
    let value = rows.get("a").expect("a read");
    for number in 0..1000_u32 {
        rows.insert("b", number.to_string()).expect("a write");
    }
    // SAFETY: the child only reads memory and ends by `_exit`, which runs no destructors.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let copy = folder.path().join("copy");
        let refused = [
            rows.get("a").map(drop),
            rows.insert("a", "2"),
            db.close(),
            db.flush(),
            db.backup(&copy).map(drop),
            db.backup_since(folder.path().join("none"), &copy).map(drop),
            db.compact().map(drop),
        ];
        let all = refused.iter().all(|refused| matches!(refused, Err(Error::Forked)));
        drop(value);
        drop(snapshot);
        drop(rows);
        drop(db);
        // SAFETY: it only ends the process.
        unsafe { libc::_exit(i32::from(!all)) };
    }
    let mut status = 0;
    // SAFETY: the child is ours, and the status is a variable of this thread.
    unsafe { libc::waitpid(child, &raw mut status, 0) };
    assert_eq!(status, 0, "the child saw something else");
    assert_eq!(rows.get("a").expect("the parent goes on").as_deref(), Some(&b"1"[..]));
}
