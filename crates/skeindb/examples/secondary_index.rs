//! Users by their number, and an index by city that is never out of step with them.
//!
//! `cargo run -p skeindb --example secondary_index`

use skeindb::{Db, Error, Keyspace, Result, Transaction};

pub(crate) fn main() -> Result<()> {
    let users = Users::new(&Db::in_memory()?)?;
    users.put("u1", "Ada", "London")?;
    users.put("u2", "Grace", "New York")?;
    users.put("u3", "Alan", "London")?;
    assert_eq!(users.names_in("London")?, ["Ada", "Alan"]);
    users.put("u3", "Alan", "Manchester")?;
    assert_eq!(users.names_in("London")?, ["Ada"]);
    assert!(users.put("u4", "", "London").is_err(), "a user needs a name");
    println!("in London: {:?}", users.names_in("London")?);
    Ok(())
}

/// The table and its index.
struct Users {
    db: Db,
    /// number → name, a zero byte, city
    by_number: Keyspace,
    /// city, a zero byte, number → nothing
    by_city: Keyspace,
}

impl Users {
    fn new(db: &Db) -> Result<Self> {
        Ok(Self { db: db.clone(), by_number: db.keyspace("users")?, by_city: db.keyspace("users by city")? })
    }

    /// Inserts or changes a user: the row and its place in the index, or neither.
    fn put(&self, number: &str, name: &str, city: &str) -> Result<()> {
        self.db.transaction(|tx| {
            self.forget_city(tx, number)?;
            tx.insert(&self.by_number, number, [name, city].join("\0"))?;
            tx.insert(&self.by_city, [city, number].join("\0"), "")?;
            // An error undoes everything before it.
            if name.is_empty() { Err(Error::abort("a user needs a name")) } else { Ok(()) }
        })
    }

    fn forget_city(&self, tx: &mut Transaction, number: &str) -> Result<()> {
        if let Some(row) = tx.get(&self.by_number, number)? {
            let row = String::from_utf8_lossy(&row).into_owned();
            let city = row.split('\0').nth(1).unwrap_or_default();
            tx.remove(&self.by_city, [city, number].join("\0"))?;
        }
        Ok(())
    }

    /// Returns the names of the users of a city, by their numbers, as of one moment.
    fn names_in(&self, city: &str) -> Result<Vec<String>> {
        let now = self.db.snapshot()?;
        let prefix = format!("{city}\0");
        now.prefix(&self.by_city, &prefix)
            .map(|row| {
                let row = now.get(&self.by_number, &row?.0[prefix.len()..])?.unwrap_or_default();
                Ok(String::from_utf8_lossy(&row).split('\0').next().unwrap_or_default().to_owned())
            })
            .collect()
    }
}
