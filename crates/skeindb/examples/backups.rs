//! Backs up an open database, restores a backup, checks, compacts, and shows the progress of each.
//!
//! `cargo run -p skeindb --example backups -- FOLDER`

use std::ops::ControlFlow;
use std::path::Path;

use skeindb::{Db, Progress, Result};

fn main() -> Result<()> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| "backups-data".into());
    run(Path::new(&folder))
}

/// Runs the example in a folder that is absent or empty.
pub(crate) fn run(folder: &Path) -> Result<()> {
    let [data, sunday, monday, tuesday, restored] =
        ["data", "sunday", "monday", "tuesday", "restored"].map(|name| folder.join(name));
    let db = Db::open(&data)?;
    let birds = db.keyspace("birds")?;
    birds.bulk_load((0..20_000_u32).map(|number| (number.to_be_bytes(), [0; 100])))?;

    // A whole copy, packed, as of one moment. Writers continue meanwhile.
    let report = db.backup(&sunday)?;
    println!("sunday: {} rows, {} bytes in {:?}", report.rows, report.bytes, report.took);

    // A series of backups that share files. The first one has nothing to share, because `sunday` is
    // a database with an id of its own.
    db.checkpoint()?;
    db.backup_since(&sunday, &monday)?;
    birds.insert("goose", "Anser anser")?;
    let report = db.backup_since_with(&monday, &tuesday, shown("tuesday"))?;
    println!("tuesday: {} bytes copied, {} shared", report.bytes, report.shared_bytes);
    assert!(report.shared_bytes > report.bytes);
    // Each one is complete, so any may be deleted.
    std::fs::remove_dir_all(&monday).expect("no process uses it");

    // A check reads all of a folder that is not open, and may be given up.
    let checked = Db::verify_with(&tuesday, shown("check"))?;
    assert!(checked.is_sound(), "{:?}", checked.damage);
    let given_up = Db::verify_with(&tuesday, |_| ControlFlow::Break(()));
    println!("check: {}", given_up.expect_err("it was given up"));

    // Someone removes a row that is still needed, and the backup has it.
    birds.clear()?;
    Db::restore_with(&tuesday, &restored, shown("restore"))?;
    assert_eq!(Db::open(&restored)?.keyspace("birds")?.get("goose")?.as_deref(), Some(&b"Anser anser"[..]));

    // Gives back the space of removed rows.
    let compacted = db.compact_with(shown("compaction"))?;
    println!("{} bytes before, {} now", compacted.bytes_before, compacted.bytes_after);
    let stats = db.stats()?;
    println!("{stats:?}");
    db.close()
}

/// Returns a callback that prints the progress of an operation. Its answer could cancel it.
fn shown(name: &'static str) -> impl FnMut(&Progress) -> ControlFlow<()> {
    let mut last = 0;
    move |progress| {
        let percent = progress.bytes * 100 / progress.bytes_total.max(progress.bytes).max(1);
        if percent >= last + 10 {
            last = percent;
            println!("{name}: {percent} %");
        }
        ControlFlow::Continue(())
    }
}
