//! A reader that wants few rows of a long range visits few pages (the argument `most` of scans).

use std::ops::ControlFlow;

use skein_data::{DiskEngine, Engine, EngineError, RowView, ScanDirection};
use skein_disk::{DiskOptions, DiskStore, Values};
use skein_store::StoreLimits;

use crate::contents::EVERYTHING;

const ROWS: u32 = 20_000;
const WANTED: usize = 3;

/// The pages that a walk to a few neighbors may visit, and that a walk over all rows exceeds.
const FEW_PAGES: u64 = 40;

fn filled(folder: &std::path::Path) -> DiskEngine {
    let store = DiskStore::open(folder, DiskOptions { values: Values::Rows, ..DiskOptions::default() })
        .expect("a store");
    let engine = DiskEngine::new(store, StoreLimits::default()).expect("an engine");
    let keys: Vec<[u8; 4]> = (0..ROWS).map(u32::to_be_bytes).collect();
    let rows: Vec<(&[u8], &[u8])> = keys.iter().map(|key| (&key[..], &b"some value"[..])).collect();
    Engine::from(engine.clone()).session().keys().put_all(&rows).expect("a put");
    engine
}

/// Returns a visitor that breaks behind the wanted rows, and counts them.
fn wanted(seen: &mut usize) -> impl FnMut() -> ControlFlow<()> {
    move || {
        *seen += 1;
        if *seen < WANTED { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }
}

type Read = fn(&Engine, &mut dyn FnMut() -> ControlFlow<()>, usize) -> Result<(), EngineError>;

const READS: [(&str, Read); 3] = [
    ("session", |engine, each, most| {
        engine
            .session()
            .keys()
            .scan_stored(EVERYTHING, ScanDirection::Forward, most, |_, _: RowView<'_>| each())
    }),
    ("snapshot", |engine, each, most| {
        engine.snapshot()?.scan(EVERYTHING, ScanDirection::Backward, most, |_, _| each())
    }),
    ("walk of a snapshot", |engine, each, most| engine.snapshot()?.walk(EVERYTHING, most, |_, _| each())),
];

#[test]
fn few_rows_of_a_long_range_take_few_pages() {
    let folder = tempfile::tempdir().expect("a folder");
    let disk = filled(folder.path());
    let engine = Engine::from(disk.clone());
    let visited = || {
        let stats = disk.store().stats().buffer;
        stats.hits + stats.misses
    };
    for (name, read) in READS {
        for (most, few) in [(WANTED, true), (usize::MAX, false)] {
            let (before, mut seen) = (visited(), 0);
            read(&engine, &mut wanted(&mut seen), most).expect("a scan");
            let pages = visited() - before;
            assert_eq!((seen, pages < FEW_PAGES), (WANTED, few), "{name}, {most}: {pages} pages");
        }
    }
}
