//! The program of `docs/comparison.md` with SkeinDB.

use std::path::Path;

use skeindb::{Db, Durability, Result};

pub(crate) fn main() -> Result<()> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "geese-skeindb".into());
    for key in run(Path::new(&path))? {
        println!("{key}");
    }
    Ok(())
}

/// Adds two users and their places in an index, and returns the index's keys for London.
pub(crate) fn run(path: &Path) -> Result<Vec<String>> {
    let db = Db::builder(path).durability(Durability::Sync).open()?;
    let users = db.keyspace("users")?;
    let by_city = db.keyspace("by_city")?;
    db.transaction(|tx| {
        tx.insert(&users, "u1", "Ada")?;
        tx.insert(&users, "u2", "Alan")?;
        tx.insert(&by_city, "London/u1", "")?;
        tx.insert(&by_city, "London/u2", "")
    })?;
    assert_eq!(users.get("u1")?.as_deref(), Some(&b"Ada"[..]));
    by_city.range("London/".."London0").map(|row| Ok(String::from_utf8_lossy(&row?.0).into_owned())).collect()
}
