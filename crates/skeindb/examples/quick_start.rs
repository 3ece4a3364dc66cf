//! Opens a database, writes, reads in order, and opens it again.
//!
//! `cargo run -p skeindb --example quick_start -- FOLDER`

use std::path::Path;

use skeindb::{Db, Durability, Engine, Result};

fn main() -> Result<()> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| "quick-start-data".into());
    run(Path::new(&folder))
}

/// Runs the example in a folder.
pub(crate) fn run(folder: &Path) -> Result<()> {
    // `Engine::Disk` is for data that is larger than memory; nothing else changes.
    let db = Db::builder(folder).engine(Engine::Memory).durability(Durability::Sync).open()?;
    let birds = db.keyspace("birds")?;
    birds.insert("goose:grey", "Anser anser")?;
    birds.insert("goose:bean", "Anser fabalis")?;
    birds.insert("swan:mute", "Cygnus olor")?;

    // A value, without a copy of its bytes.
    if let Some(name) = birds.get("goose:grey")? {
        println!("goose:grey is {}", String::from_utf8_lossy(&name));
    }

    // All geese, in order; `.rev()` begins at the other end.
    for row in birds.prefix("goose:") {
        let (key, name) = row?;
        println!("{} = {}", String::from_utf8_lossy(&key), String::from_utf8_lossy(&name));
    }

    // A read and a write that belong together.
    let seen = db.transaction(|tx| tx.increment(&birds, "seen:goose:grey", 1))?;
    println!("seen {seen} times");

    // At `Sync` every write above is on disk already. Closing reports errors that dropping cannot.
    db.close()?;
    let db = Db::open(folder)?;
    assert_eq!(db.keyspace("birds")?.prefix("goose:").count(), 2);
    db.close()
}
