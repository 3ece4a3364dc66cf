//! The common part of the migrations: copies of sorted rows into a keyspace, compared with their
//! source.

use skeindb::{Db, Keyspace};

/// Any error, for a program that prints it and ends.
pub type AnyError = Box<dyn std::error::Error + Send + Sync>;

/// A key and its value.
pub type Row = (Vec<u8>, Vec<u8>);

/// Checks that a database has no keys, so that a migration mixes nothing.
///
/// # Errors
/// The database has a keyspace, or a key in the default one.
pub fn check_empty(db: &Db) -> Result<(), AnyError> {
    let keyspaces = db.keyspaces()?;
    if !keyspaces.is_empty() || !db.default_keyspace().is_empty()? {
        return Err(format!(
            "the database has keys already, in {} keyspaces: migrate to a new folder, and after a \
             migration that failed, remove its folder first",
            keyspaces.len()
        )
        .into());
    }
    Ok(())
}

/// Copies all rows of a source, which are in the order of their keys, to an empty keyspace. Reads
/// both again to compare them. Returns the number of rows.
///
/// # Errors
/// The source fails, the keyspace refuses a row, or the copy differs from its source.
pub fn copy_rows<R, E>(keyspace: &Keyspace, source: impl Fn() -> Result<R, E>) -> Result<u64, AnyError>
where
    R: Iterator<Item = Result<Row, E>>,
    E: Into<AnyError>,
{
    // `bulk_load` takes rows, so an error of the source ends them and is returned afterwards.
    let mut failure = None;
    let rows = source().map_err(Into::into)?.map_while(|row| row.map_err(|error| failure = Some(error)).ok());
    let count = keyspace.bulk_load(rows)?;
    if let Some(error) = failure {
        return Err(error.into());
    }
    let mut copies = keyspace.iter();
    for (number, row) in source().map_err(Into::into)?.enumerate() {
        let row = row.map_err(Into::into)?;
        if copies.next().transpose()? != Some(row) {
            return Err(format!("{:?}: row {number} is not that of the source", keyspace.name()).into());
        }
    }
    match copies.next() {
        Some(_) => Err(format!("{:?} has more rows than the source", keyspace.name()).into()),
        None => Ok(count),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::io;

    use super::*;

    fn row(number: u8) -> Row {
        (vec![number], vec![number, number])
    }

    /// Copies a source that returns other rows to the comparison than to the copy.
    fn copy_changed(first: &[u8], second: &[u8]) -> String {
        let keyspace = Db::in_memory().unwrap().keyspace("birds").unwrap();
        let reads = Cell::new(0);
        let source = || {
            reads.set(reads.get() + 1);
            let numbers = if reads.get() == 1 { first } else { second };
            Ok::<_, io::Error>(numbers.iter().map(|number| Ok(row(*number))))
        };
        copy_rows(&keyspace, source).unwrap_err().to_string()
    }

    #[test]
    fn a_source_that_changes_is_noticed() {
        assert!(copy_changed(&[1, 2], &[1, 3]).contains("row 1 is not"));
        assert!(copy_changed(&[1], &[1, 2]).contains("row 1 is not"));
        assert!(copy_changed(&[1, 2], &[1]).contains("more rows"));
    }

    #[test]
    fn errors_of_the_source_and_of_the_keyspace_are_returned() {
        let keyspace = Db::in_memory().unwrap().keyspace("birds").unwrap();
        let failing = || Ok([Ok(row(1)), Err(io::Error::other("the disk is gone")), Ok(row(2))].into_iter());
        assert_eq!(copy_rows(&keyspace, failing).unwrap_err().to_string(), "the disk is gone");
        let unsorted = || Ok::<_, io::Error>([row(2), row(1)].into_iter().map(Ok));
        assert!(copy_rows(&keyspace, unsorted).unwrap_err().to_string().contains("sort"));
    }
}
