//! Copies a redb database into a SkeinDB folder, with all its tables.
//!
//! A redb table has types, and redb's bytes of a number are not in the order of the numbers. So the
//! program names each table with its types, as the application that owns them does, and writes typed
//! keys. Change the tables to yours. A table that is not named is an error, so that none is forgotten.
//!
//! | in redb | here |
//! | --- | --- |
//! | `TableDefinition<u64, &str>` | `TypedKeyspace<u64, String>` |
//! | `TableDefinition<&str, &[u8]>` | `TypedKeyspace<String, Vec<u8>>` |
//! | `MultimapTableDefinition<&str, u64>` | `TypedKeyspace<(String, u64), ()>` |
//!
//! `cargo run --bin migrate_from_redb -- FILE FOLDER`

use redb::{
    Database, MultimapTableDefinition, MultimapTableHandle, ReadTransaction, ReadableDatabase,
    ReadableMultimapTable, ReadableTable, TableDefinition, TableHandle,
};
use skeindb::{Db, EncodeKey};
use skeindb_examples::{AnyError, Row, check_empty, copy_rows};

const USERS: TableDefinition<u64, &str> = TableDefinition::new("users");
const PHOTOS: TableDefinition<&str, &[u8]> = TableDefinition::new("photos");
const BY_CITY: MultimapTableDefinition<&str, u64> = MultimapTableDefinition::new("by_city");

fn main() -> Result<(), AnyError> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, folder] = &arguments[..] else { return Err("usage: migrate_from_redb FILE FOLDER".into()) };
    let db = Db::open(folder)?;
    for (table, rows) in migrate(&Database::open(file)?, &db)? {
        println!("{table}: {rows} rows");
    }
    // Everything is on disk then.
    Ok(db.close()?)
}

/// Copies all tables, as of one moment. Returns their names and numbers of rows.
fn migrate(source: &Database, db: &Db) -> Result<Vec<(String, u64)>, AnyError> {
    check_empty(db)?;
    let read = source.begin_read()?;
    check_tables(&read)?;

    let users = read.open_table(USERS)?;
    let photos = read.open_table(PHOTOS)?;
    let by_city = read.open_multimap_table(BY_CITY)?;
    let users = copy_rows(&db.keyspace(USERS.name())?, || {
        Ok::<_, redb::StorageError>(users.iter()?.map(|row| {
            let (number, name) = row?;
            Ok((number.value().to_key_bytes(), name.value().to_key_bytes()))
        }))
    })?;
    let photos = copy_rows(&db.keyspace(PHOTOS.name())?, || {
        Ok::<_, redb::StorageError>(photos.iter()?.map(|row| {
            let (name, photo) = row?;
            Ok((name.value().to_key_bytes(), photo.value().to_vec()))
        }))
    })?;
    let by_city = copy_rows(&db.keyspace(BY_CITY.name())?, || index_rows(&by_city))?;
    Ok(vec![(USERS.name().into(), users), (PHOTOS.name().into(), photos), (BY_CITY.name().into(), by_city)])
}

/// The rows of an index: a key for each pair of a city and a number.
fn index_rows(
    index: &impl ReadableMultimapTable<&'static str, u64>,
) -> Result<impl Iterator<Item = Result<Row, redb::StorageError>>, redb::StorageError> {
    Ok(index.iter()?.flat_map(|city| -> Box<dyn Iterator<Item = _>> {
        let (city, numbers) = match city {
            Ok(city) => city,
            Err(error) => return Box::new(std::iter::once(Err(error))),
        };
        Box::new(numbers.map(move |number| {
            let key = (city.value(), number?.value()).to_key_bytes();
            Ok((key, Vec::new()))
        }))
    }))
}

/// Checks that all tables are named above.
fn check_tables(read: &ReadTransaction) -> Result<(), AnyError> {
    let tables = read.list_tables()?.map(|table| table.name().to_owned());
    let multimaps = read.list_multimap_tables()?.map(|table| table.name().to_owned());
    let known = [USERS.name(), PHOTOS.name(), BY_CITY.name()];
    match tables.chain(multimaps).find(|name| !known.contains(&&**name)) {
        Some(name) => {
            Err(format!("this program does not know the table {name:?}: add it, with its types").into())
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A database with 3,000 users, 2 photos and an index; the numbers need more than one byte.
    fn sample(folder: &std::path::Path) -> Database {
        let source = Database::create(folder.join("geese.redb")).unwrap();
        let write = source.begin_write().unwrap();
        {
            let mut users = write.open_table(USERS).unwrap();
            let mut by_city = write.open_multimap_table(BY_CITY).unwrap();
            for number in 0..3_000 {
                users.insert(number * 100, &*format!("user {number}")).unwrap();
                by_city.insert(if number % 3 == 0 { "London" } else { "Bath" }, number * 100).unwrap();
            }
            let mut photos = write.open_table(PHOTOS).unwrap();
            photos.insert("a", &b"\0\xff"[..]).unwrap();
            photos.insert("", &b""[..]).unwrap();
        }
        write.commit().unwrap();
        source
    }

    #[test]
    fn all_tables_are_copied_in_the_order_of_their_types() {
        let folder = tempfile::tempdir().unwrap();
        let source = sample(folder.path());
        let path = folder.path().join("geese");
        let db = Db::open(&path).unwrap();
        let report = migrate(&source, &db).unwrap();
        assert_eq!(report, [("users".into(), 3_000), ("photos".into(), 2), ("by_city".into(), 3_000)]);
        db.close().unwrap();

        let db = Db::open(&path).unwrap();
        let users = db.typed::<u64, String>("users").unwrap();
        let numbers: Vec<u64> = users.keys().collect::<Result<_, _>>().unwrap();
        assert_eq!(numbers, (0..3_000).map(|number| number * 100).collect::<Vec<_>>());
        assert_eq!(users.get(&25_600).unwrap().as_deref(), Some("user 256"));
        let photos = db.typed::<String, Vec<u8>>("photos").unwrap();
        assert_eq!(photos.get("a").unwrap(), Some(vec![0, 0xff]));
        assert_eq!(photos.get("").unwrap(), Some(Vec::new()));
        let by_city = db.typed::<(String, u64), ()>("by_city").unwrap();
        assert_eq!(by_city.prefix(&("London",)).count(), 1_000);
        assert_eq!(by_city.first().unwrap(), Some((("Bath".into(), 100), ())));
        assert_eq!(by_city.last().unwrap(), Some((("London".into(), 299_700), ())));
    }

    #[test]
    fn a_table_that_is_not_named_is_refused() {
        const OTHER: TableDefinition<u64, u64> = TableDefinition::new("other");
        let folder = tempfile::tempdir().unwrap();
        let source = sample(folder.path());
        let write = source.begin_write().unwrap();
        write.open_table(OTHER).unwrap();
        write.commit().unwrap();
        let db = Db::in_memory().unwrap();
        assert!(migrate(&source, &db).unwrap_err().to_string().contains("\"other\""));
        assert!(db.keyspaces().unwrap().is_empty(), "nothing was copied");
    }

    #[test]
    fn a_database_with_keys_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let source = sample(folder.path());
        let db = Db::in_memory().unwrap();
        db.default_keyspace().insert("a", "b").unwrap();
        assert!(migrate(&source, &db).unwrap_err().to_string().contains("new folder"));
    }
}
