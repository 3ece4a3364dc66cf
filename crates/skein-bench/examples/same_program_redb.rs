//! The program of `docs/comparison.md` with redb.

use std::path::Path;

use redb::{Database, Error, ReadableDatabase, TableDefinition};

const USERS: TableDefinition<&str, &str> = TableDefinition::new("users");
const BY_CITY: TableDefinition<&str, &str> = TableDefinition::new("by_city");

pub(crate) fn main() -> Result<(), Error> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "geese.redb".into());
    for key in run(Path::new(&path))? {
        println!("{key}");
    }
    Ok(())
}

/// Adds two users and their places in an index, and returns the index's keys for London.
pub(crate) fn run(path: &Path) -> Result<Vec<String>, Error> {
    let db = Database::create(path)?;
    let write = db.begin_write()?;
    {
        let mut users = write.open_table(USERS)?;
        let mut by_city = write.open_table(BY_CITY)?;
        users.insert("u1", "Ada")?;
        users.insert("u2", "Alan")?;
        by_city.insert("London/u1", "")?;
        by_city.insert("London/u2", "")?;
    }
    write.commit()?;
    let read = db.begin_read()?;
    let name = read.open_table(USERS)?.get("u1")?;
    assert_eq!(name.map(|name| name.value().to_owned()).as_deref(), Some("Ada"));
    read.open_table(BY_CITY)?.range("London/".."London0")?.map(|row| Ok(row?.0.value().to_owned())).collect()
}
