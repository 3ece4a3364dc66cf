//! The program that the library was designed around, as a user writes it.

use skeindb::{Db, Engine, TypedKeyspace};

fn program(engine: Engine, path: &std::path::Path) -> skeindb::Result<()> {
    let db = Db::builder(path).engine(engine).open()?;
    let users = db.keyspace("users")?;
    let by_city = db.keyspace("by_city")?;
    db.transaction(|tx| {
        tx.insert(&users, "u1", "Ada")?;
        tx.insert(&by_city, ["London", "u1"].join("/"), "")?;
        Ok(())
    })?;
    assert_eq!(users.get("u1")?.as_deref(), Some(&b"Ada"[..]));
    for item in by_city.range("London".."London0") {
        let (key, _value) = item?;
        println!("{}", String::from_utf8_lossy(&key));
    }
    let last = by_city.iter().next_back().transpose()?;
    assert!(last.is_some());
    let failed: Result<(), skeindb::Error> = db.transaction(|tx| {
        tx.remove(&users, "u1")?;
        Err(skeindb::Error::abort("changed my mind"))
    });
    assert!(failed.is_err() && users.contains_key("u1")?);
    let before = db.snapshot()?;
    users.remove("u1")?;
    assert!(before.get(&users, "u1")?.is_some());
    let readings: TypedKeyspace<(u32, i64), f64> = db.typed("readings")?;
    readings.insert(&(7, -5), &21.5)?;
    assert_eq!(readings.range((7, i64::MIN)..(8, i64::MIN)).count(), 1);
    db.close()
}

#[test]
fn runs_on_both_engines() -> skeindb::Result<()> {
    for engine in [Engine::Memory, Engine::Disk] {
        let folder = tempfile::tempdir().expect("a folder");
        program(engine, &folder.path().join("geese"))?;
    }
    Ok(())
}
