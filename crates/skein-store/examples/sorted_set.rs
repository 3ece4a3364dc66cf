//! Measures the cost of a member of a large sorted set, on each index: memory by part, and CPU time
//! per insert.
//!
//! ```text
//! cargo run --release -p skein-store --example sorted_set [members]
//! ```

use std::ops::ControlFlow;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use skein_store::{
    CollectionReads as _, Durability, Error, IndexKind, RowWriter as _, ScanDirection, Store, StoreOptions,
};

fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Maps the numbers below a power of two to a permutation of them.
fn scattered(number: u64) -> u64 {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 24
}

fn measure(kind: IndexKind, members: u64, scores: u64) -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let options = StoreOptions { durability: Durability::None, index: kind, ..StoreOptions::default() };
    let store = Store::open(folder.path(), options)?;
    let mut session = store.session();
    let empty = store.stats();
    let began = cpu_time();
    for first in (0..members).step_by(16) {
        let (done, _) = session.write(|writer| {
            for number in first..members.min(first + 16) {
                let member = format!("element:{:012}", scattered(number) % 1_000_000_000_000);
                let score = f64::from(u32::try_from(scattered(number) % scores).unwrap_or(0));
                writer.change_set::<_, Error>(b"set", true, |set| set.put(member.as_bytes(), score))?;
            }
            Ok::<_, Error>(())
        })?;
        done?;
    }
    let added = cpu_time().saturating_sub(began);
    let stats = store.stats();
    let per =
        |after: usize, before: usize| after.saturating_sub(before) / usize::try_from(members).unwrap_or(1);
    let began = cpu_time();
    let mut read = 0;
    for number in 0..10_000 {
        session.get_with(b"set", |row| {
            let Some(set) = row.and_then(skein_store::RowRef::sorted_set) else { return };
            let mut left = 100;
            set.read().walk(scattered(number) % members, ScanDirection::Forward, |_, member| {
                (left, read) = (left - 1, read + member.len());
                if left > 0 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            });
        });
    }
    let walked = cpu_time().saturating_sub(began);
    println!(
        "{:12} {scores:>10} scores: {} ns to add, {} ns for 100 in order, {} bytes in indexes, {} in rows, {} with what is kept free ({read})",
        kind.name(),
        added.as_nanos() / u128::from(members),
        walked.as_nanos() / 10_000,
        per(stats.index_bytes, empty.index_bytes),
        per(stats.row_bytes, empty.row_bytes),
        per(stats.reserved_bytes, empty.reserved_bytes),
    );
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let members = std::env::args().nth(1).map_or(Ok(1_000_000), |text| text.parse())?;
    for kind in IndexKind::ALL {
        for scores in [1, 1 << 30] {
            measure(kind, members, scores)?;
        }
    }
    Ok(())
}
