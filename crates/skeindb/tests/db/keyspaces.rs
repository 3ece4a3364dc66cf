//! Creating, renaming and dropping keyspaces, and the separation of their rows.

use skeindb::{Db, Error, IndexKind};

use crate::common::{KINDS, keys, on_every_kind};

#[test]
fn keyspaces_are_apart_and_each_has_its_order() {
    on_every_kind(|db| {
        let (a, b, default) = (db.keyspace("a")?, db.keyspace("b")?, db.default_keyspace());
        for (keyspace, own) in [(&b, "b"), (&a, "a"), (&default, "d")] {
            for key in ["3", "1", "", "2", "\u{10ffff}"] {
                keyspace.insert(key, own)?;
            }
        }
        default.insert([0xff, 0xff], "behind")?;
        for (keyspace, own) in [(&a, "a"), (&b, "b")] {
            assert_eq!(keys(keyspace.iter())?, ["", "1", "2", "3", "\u{10ffff}"]);
            assert!(keyspace.values().all(|value| value.is_ok_and(|value| value == own.as_bytes())));
            assert_eq!(keyspace.len()?, 5);
        }
        assert_eq!(default.len()?, 6);
        assert_eq!(default.count("1"..)?, 5);
        assert_eq!(default.last()?.expect("a row").0, [0xff, 0xff]);
        let backward: Vec<_> = default.keys().rev().collect::<skeindb::Result<_>>()?;
        assert_eq!(backward.len(), 6);
        assert_eq!(a.clear()?, 5);
        assert_eq!((a.len()?, b.len()?, default.len()?), (0, 5, 6));
        assert_eq!(default.clear()?, 6);
        assert_eq!((db.keyspaces()?, b.len()?), (vec!["a".to_owned(), "b".into()], 5));
        Ok(())
    });
}

#[test]
fn names_survive_a_restart_and_numbers_are_not_used_again() {
    for kind in KINDS {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("db");
        let program = || {
            let db = kind.builder(&path).open()?;
            for name in ["one", "two", "three"] {
                db.keyspace(name)?.insert("name", name)?;
            }
            assert!(db.drop_keyspace("three")?);
            db.rename_keyspace("two", "zwei")?;
            db.close()?;
            let db = kind.builder(&path).open()?;
            assert_eq!(db.keyspaces()?, ["one", "zwei"]);
            assert_eq!(db.keyspace("zwei")?.get("name")?.as_deref(), Some(&b"two"[..]));
            let four = db.keyspace("four")?;
            assert!(four.is_empty()?, "a new keyspace has no rows of a dropped one");
            db.close()
        };
        program().unwrap_or_else(|error: Error| panic!("{kind:?}: {error}"));
    }
}

#[test]
fn a_dropped_keyspace_is_gone_for_its_handles() {
    on_every_kind(|db| {
        let geese = db.keyspace("geese")?;
        for number in 0..1000u32 {
            geese.insert(number.to_be_bytes(), "a goose")?;
        }
        let (before, mut half) = (db.snapshot()?, geese.iter());
        assert!(half.next().is_some());
        let mut open = db.begin()?;
        open.insert(&geese, "late", "")?;
        assert!(db.drop_keyspace("geese")? && !db.drop_keyspace("geese")?);
        for refused in [
            geese.get("x").map(drop),
            geese.insert("x", ""),
            geese.clear().map(drop),
            geese.len().map(drop),
            geese.pop_first().map(drop),
            open.commit(),
            half.last().expect("the error").map(drop),
        ] {
            assert!(
                matches!(&refused, Err(Error::KeyspaceDropped { name }) if name == "geese"),
                "{refused:?}"
            );
        }
        assert_eq!(before.iter(&geese).count(), 1000, "a snapshot still shows it");
        let again = db.keyspace("geese")?;
        assert!(again.is_empty()?);
        Ok(())
    });
}

#[test]
fn names_are_checked() -> skeindb::Result<()> {
    let db = Db::in_memory()?;
    db.keyspace("geese")?;
    db.keyspace("x".repeat(255))?;
    let refused = [
        db.keyspace("").map(drop),
        db.keyspace("x".repeat(256)).map(drop),
        db.rename_keyspace("geese", "").map(drop),
    ];
    assert!(refused.iter().all(|refused| matches!(refused, Err(Error::KeyspaceName { .. }))), "{refused:?}");
    assert!(matches!(db.rename_keyspace("swans", "ducks"), Err(Error::NoKeyspace { .. })));
    db.keyspace("ducks")?;
    assert!(matches!(db.rename_keyspace("geese", "ducks"), Err(Error::KeyspaceExists { .. })));
    db.rename_keyspace("geese", "geese")?;
    assert_eq!(db.existing_keyspace("geese")?.map(|geese| geese.name()).as_deref(), Some("geese"));
    assert!(db.existing_keyspace("swans")?.is_none());
    Ok(())
}

#[test]
fn the_index_of_short_keys_has_only_the_default_keyspace() -> skeindb::Result<()> {
    let db = Db::memory_builder().index(IndexKind::Mlp).open()?;
    assert!(matches!(db.keyspace("geese"), Err(Error::NoKeyspaces)));
    let default = db.default_keyspace();
    default.insert(7u64.to_be_bytes(), "seven")?;
    db.transaction(|tx| {
        let seven = tx.get(&default, 7u64.to_be_bytes())?;
        tx.insert(&default, 8u64.to_be_bytes(), seven.unwrap_or_default())
    })?;
    assert_eq!(default.len()?, 2);
    default.insert("nine bytes", "").expect_err("too long for the index");
    Ok(())
}

/// Keys of a server's other databases are in no keyspace of the library, which keeps them.
#[test]
fn databases_of_a_server_are_left_alone() -> skeindb::Result<()> {
    use skeindb::store::{Store, StoreOptions, StoredKeyspace};

    let folder = tempfile::tempdir().expect("a folder");
    let (third, open) =
        (StoredKeyspace::of_database(3), || Store::open(folder.path(), StoreOptions::default()));
    let store = open()?;
    for key in [&b"duck"[..], b"goose", &third.stored(b"goose"), &third.stored(b"swan")] {
        store.put(key, b"v")?;
    }
    store.close()?;
    let db = Db::open(folder.path())?;
    let rows = db.default_keyspace();
    assert_eq!((rows.len()?, keys(rows.iter())?), (2, vec!["duck".to_owned(), "goose".into()]));
    db.keyspace("named")?.insert("swan", "v")?;
    assert_eq!((rows.len()?, rows.clear()?, rows.len()?), (2, 2, 0));
    db.close()?;
    let store = open()?;
    assert_eq!(store.keyspace_stats(third).keys, 2);
    assert_eq!(store.get(&third.stored(b"swan"))?.as_deref(), Some(&b"v"[..]));
    store.close()?;
    Ok(())
}
