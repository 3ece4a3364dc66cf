//! The program of `docs/comparison.md` with LMDB, by heed.

use std::ops::Bound;
use std::path::Path;

use heed::types::Str;
use heed::{Database, EnvOpenOptions, Result};

pub(crate) fn main() -> Result<()> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "geese-lmdb".into());
    for key in run(Path::new(&path))? {
        println!("{key}");
    }
    Ok(())
}

/// Adds two users and their places in an index, and returns the index's keys for London.
pub(crate) fn run(path: &Path) -> Result<Vec<String>> {
    std::fs::create_dir_all(path)?;
    // SAFETY: nobody else changes the files of this folder.
    let env = unsafe { EnvOpenOptions::new().map_size(1 << 30).max_dbs(2).open(path)? };
    let mut write = env.write_txn()?;
    let users: Database<Str, Str> = env.create_database(&mut write, Some("users"))?;
    let by_city: Database<Str, Str> = env.create_database(&mut write, Some("by_city"))?;
    users.put(&mut write, "u1", "Ada")?;
    users.put(&mut write, "u2", "Alan")?;
    by_city.put(&mut write, "London/u1", "")?;
    by_city.put(&mut write, "London/u2", "")?;
    write.commit()?;
    let read = env.read_txn()?;
    assert_eq!(users.get(&read, "u1")?, Some("Ada"));
    let london = (Bound::Included("London/"), Bound::Excluded("London0"));
    by_city.range(&read, &london)?.map(|row| Ok(row?.0.to_owned())).collect()
}
