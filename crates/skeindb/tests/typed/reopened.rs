//! Keyspaces that are opened with other types than those they were written with.

use skeindb::{Db, Error, ErrorCode, TypedKeyspace};

/// Incident: `typed` took any types, and rows that were decoded as others looked right by chance.
/// Consequence: wrong keys and values without an error. Fix: it refuses other types than before.
#[test]
fn other_types_in_one_process_are_refused() -> skeindb::Result<()> {
    let db = Db::in_memory()?;
    let geese = db.typed::<String, u64>("geese")?;
    geese.insert("grey", &3)?;
    let refused = [
        db.typed::<String, i64>("geese").map(drop),
        db.typed::<String, f64>("geese").map(drop),
        db.typed::<Vec<u8>, u64>("geese").map(drop),
    ];
    for refused in refused {
        let refused = refused.expect_err("other types");
        assert!(matches!(&refused, Error::TypesDiffer { name, .. } if name == "geese"), "{refused}");
        assert_eq!(refused.code(), ErrorCode::WrongKind);
        assert!(refused.to_string().contains("values of type `u64`"), "{refused}");
    }
    assert_eq!(db.typed::<String, u64>("geese")?.get("grey")?, Some(3));
    // Another view of the same bytes, and a keyspace that takes the place of another one.
    assert_eq!(TypedKeyspace::<Vec<u8>, Vec<u8>>::new(db.keyspace("geese")?).len()?, 1);
    db.drop_keyspace("geese")?;
    db.typed::<u32, ()>("geese")?;
    Ok(())
}

#[test]
fn types_that_the_rows_are_not_of_are_refused_in_another_process() -> skeindb::Result<()> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("db");
    let db = Db::open(&path)?;
    db.typed::<(u32, i64), f64>("readings")?.insert(&(7, -5), &21.5)?;
    db.typed::<u32, ()>("empty")?;
    db.close()?;
    drop(db);
    let db = Db::open(&path)?;
    for refused in
        [db.typed::<u32, f64>("readings").map(drop), db.typed::<(u32, i64), u32>("readings").map(drop)]
    {
        assert!(matches!(refused, Err(Error::Decode(_))), "{refused:?}");
    }
    assert_eq!(db.typed::<(u32, i64), f64>("readings")?.get(&(7, -5))?, Some(21.5));
    // Nothing in it contradicts.
    db.typed::<String, String>("empty")?;
    Ok(())
}
