//! The program of `docs/comparison.md` with fjall.

use std::path::Path;

use fjall::{KeyspaceCreateOptions, PersistMode, Readable, Result, SingleWriterTxDatabase};

pub(crate) fn main() -> Result<()> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "geese-fjall".into());
    for key in run(Path::new(&path))? {
        println!("{key}");
    }
    Ok(())
}

/// Adds two users and their places in an index, and returns the index's keys for London.
pub(crate) fn run(path: &Path) -> Result<Vec<String>> {
    let db = SingleWriterTxDatabase::builder(path).open()?;
    let users = db.keyspace("users", KeyspaceCreateOptions::default)?;
    let by_city = db.keyspace("by_city", KeyspaceCreateOptions::default)?;
    let mut tx = db.write_tx().durability(Some(PersistMode::SyncAll));
    tx.insert(&users, "u1", "Ada");
    tx.insert(&users, "u2", "Alan");
    tx.insert(&by_city, "London/u1", "");
    tx.insert(&by_city, "London/u2", "");
    tx.commit()?;
    assert_eq!(users.get("u1")?.as_deref(), Some(&b"Ada"[..]));
    db.read_tx()
        .range(&by_city, "London/".."London0")
        .map(|row| Ok(String::from_utf8_lossy(&row.key()?).into_owned()))
        .collect()
}
