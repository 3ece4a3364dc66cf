//! Tests of damage: a durable record that reads back differently is an error with its position; a
//! torn tail is not an error.
#![cfg(not(skein_loom))]

mod common;

use std::path::Path;

use common::*;
use skein_log::storage::Storage;
use skein_log::storage::sim::SimStorage;
use skein_log::{Durability, Log, LogError, LogOptions, OpenProgress, Recovered};

/// Returns the disk of a closed log with two logs and several segments.
fn closed() -> SimStorage {
    let sim = SimStorage::new();
    let (log, _) = open(&sim, 2).unwrap();
    run(&log, 0, 30, &mut AcknowledgedWrites::default()).unwrap();
    log.close().unwrap();
    sim
}

/// Returns the files with their bytes, to show that a refused opening changes nothing.
fn everything(sim: &SimStorage) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    segment_files(sim).into_iter().map(|path| (path.clone(), sim.contents(&path))).collect()
}

fn refused(sim: &SimStorage, context: &str) -> LogError {
    let before = everything(sim);
    let inspected =
        Recovered::inspect(sim, &[FOLDER.into()], None, &OpenProgress::default()).map(|_| ()).unwrap_err();
    let error = Log::open(sim.share(), options(2), None).map(|_| ()).unwrap_err();
    assert_eq!(inspected.to_string(), error.to_string(), "{context}");
    assert!(everything(sim) == before, "{context}: a file was changed");
    error
}

#[test]
fn a_flipped_byte_anywhere_in_a_closed_log_is_found() {
    let sim = closed();
    let files = everything(&sim);
    let (mut found, mut torn) = (0, 0);
    for (path, bytes) in &files {
        for offset in (0..bytes.len() as u64).step_by(97).chain(0..64) {
            sim.damage(path, offset, &[0x40]);
            let context = format!("{} byte {offset}", path.display());
            match Recovered::inspect(&sim, &[FOLDER.into()], None, &OpenProgress::default()) {
                Err(LogError::Damaged { path: named, offset: at, .. }) => {
                    assert_eq!(named, *path, "{context}");
                    assert!(at <= offset, "{context}: named byte {at}");
                    found += 1;
                }
                Err(error) => panic!("{context}: {error}"),
                // Nothing behind the last mark of a clean close can prove it.
                Ok(recovered) => {
                    assert_eq!(numbers(&recovered).len(), 30, "{context}: records were lost silently");
                    torn += 1;
                }
            }
            sim.damage(path, offset, &[0x40]);
        }
    }
    assert!(found > 500 && torn < 10, "{found} found, {torn} taken for torn");
    assert_eq!(inspect(&sim).unwrap().len(), 30);
}

#[test]
fn zeros_over_durable_records_are_damage_too() {
    let sim = closed();
    let path = segment_files(&sim).remove(0);
    let bytes = sim.contents(&path);
    // Sectors as if they had never been written. They look like the clean end of a segment.
    sim.damage(&path, 1024, &bytes[1024..2048]);
    let error = refused(&sim, "zeroed sectors");
    assert!(matches!(&error, LogError::Damaged { path: named, .. } if *named == path), "{error}");
    assert!(error.to_string().contains("skein check"), "{error}");
}

#[test]
fn a_missing_end_of_a_log_is_noticed_by_the_others() {
    let sim = SimStorage::new();
    let (log, _) = open(&sim, 2).unwrap();
    for number in 1..=20 {
        put(&log, 0, number * 2 - 1, 10).unwrap();
        put(&log, 1, number * 2, 10).unwrap();
        log.commit().unwrap();
    }
    log.close().unwrap();
    let storage: &dyn Storage = &sim;
    let second =
        segment_files(&sim).into_iter().find(|path| path.to_string_lossy().contains("log-0001")).unwrap();
    let file = storage.open(&second, true).unwrap();
    file.set_len(600).unwrap();
    let error = refused(&sim, "cut short");
    assert!(matches!(&error, LogError::Damaged { path, .. } if *path == second), "{error}");
    assert!(error.to_string().contains("another log"), "{error}");
    storage.remove(&second).unwrap();
    let error = refused(&sim, "removed");
    assert!(error.to_string().contains("missing"), "{error}");
}

/// Incident: the last segment of a killed process was cut short, and recovery took the missing end
/// for a torn tail. Consequence: acknowledged records were lost, with the words that no promised
/// write was. Fix: a segment's header has the length that was durable before the first record, and
/// a shorter file is damage.
#[test]
fn a_last_segment_that_was_cut_short_is_damage() {
    for durability in [Durability::Buffered, Durability::Sync] {
        let sim = SimStorage::new();
        let options = LogOptions { durability, ..options(1) };
        let (log, _) = Log::open(sim.share(), options.clone(), None).unwrap();
        run(&log, 0, 30, &mut AcknowledgedWrites::default()).unwrap();
        log.commit().unwrap();
        sim.kill();
        drop(log);
        let path = segment_files(&sim)
            .into_iter()
            .rfind(|path| sim.contents(path)[64..].iter().any(|byte| *byte != 0))
            .unwrap();
        let (bytes, storage) = (sim.contents(&path), &sim as &dyn Storage);
        let file = storage.open(&path, true).unwrap();
        let (mut accepted, mut lengths) = (0, 0);
        for len in (0..bytes.len()).step_by(if bytes.len() > 40_000 { 211 } else { 37 }) {
            file.set_len(len as u64).unwrap();
            lengths += 1;
            match Recovered::inspect(&sim, &[FOLDER.into()], None, &OpenProgress::default()) {
                Err(LogError::Damaged { path: named, .. }) => assert_eq!(named, path, "{len} bytes"),
                // So ends a segment that a close or a recovery has cut behind a mark.
                Ok(_) => accepted += 1,
                Err(error) => panic!("{len} bytes: {error}"),
            }
            file.write_at(&bytes[len..], len as u64).unwrap();
        }
        assert!(lengths > 100 && accepted * 20 < lengths, "{accepted} of {lengths} accepted");
        assert_eq!(inspect(&sim).unwrap().len(), 30);
        // A recovery cuts the segment, and a close trims another; neither is damage.
        for _ in 0..2 {
            let (log, _) = Log::open(sim.share(), options.clone(), None).unwrap();
            put(&log, 0, 31, 10).unwrap();
            log.close().unwrap();
        }
    }
}

#[test]
fn an_unknown_format_is_refused_and_not_touched() {
    let sim = closed();
    let path = segment_files(&sim).pop().unwrap();
    let mut header = sim.contents(&path)[..64].to_vec();
    header[8] = 9;
    let checksum = crc32c::crc32c(&header[..60]);
    header[60..].copy_from_slice(&checksum.to_le_bytes());
    sim.open(&path, true).unwrap().write_at(&header, 0).unwrap();
    let error = refused(&sim, "version 9");
    assert!(
        matches!(&error, LogError::UnknownFormat { found: 9, known: 1, path: named } if *named == path),
        "{error}"
    );
}

/// Incident: a segment that was cut off within its header was said to be of "format version 0",
/// with the advice to use another program. Consequence: the damage was not recognized as such. Fix:
/// a version counts only with the header's checksum.
#[test]
fn a_header_that_was_cut_off_is_damage_and_not_another_version() {
    for len in 1..64 {
        let sim = closed();
        let path = segment_files(&sim).pop().unwrap();
        sim.open(&path, true).unwrap().set_len(len).unwrap();
        let error = refused(&sim, "cut off");
        assert!(matches!(&error, LogError::Damaged { path: named, .. } if *named == path), "{len}: {error}");
    }
}

/// Incident: the only segment of a log was replaced by one of another store. Consequence: `skein
/// check` found no damage, and the opening blamed an option. Fix: each segment is compared with the
/// segment manifest of its folder.
#[test]
fn a_segment_of_another_database_is_damage() {
    let (sim, other) = (closed(), closed());
    for path in segment_files(&sim) {
        let file = sim.open(&path, true).unwrap();
        file.set_len(0).unwrap();
        file.write_at(&other.contents(&path), 0).unwrap();
    }
    let error = refused(&sim, "all segments of another database");
    assert!(error.to_string().contains("files of two data folders are mixed"), "{error}");
}

#[test]
fn files_of_two_databases_are_not_mixed() {
    let (sim, other) = (closed(), closed());
    let stray = Path::new(FOLDER).join("log-0007-00000001.skl");
    let mut bytes = other.contents(&segment_files(&other)[0]);
    bytes[12] = 7;
    let storage: &dyn Storage = &sim;
    let file = storage.create(&stray).unwrap();
    file.write_at(&bytes, 0).unwrap();
    assert!(matches!(refused(&sim, "a changed header"), LogError::Damaged { .. }));
    storage.remove(&stray).unwrap();
    let copy = Path::new(FOLDER).join("log-0000-00000099.skl");
    let file = storage.create(&copy).unwrap();
    file.write_at(&sim.contents(&segment_files(&sim)[0]), 0).unwrap();
    assert!(refused(&sim, "a renamed segment").to_string().contains("name"));
}

#[test]
fn empty_files_are_removed_and_garbage_is_refused() {
    let sim = closed();
    let storage: &dyn Storage = &sim;
    // A crash interrupted their creation, so they hold nothing.
    storage.create(&Path::new(FOLDER).join("log-0000-00000077.skl")).unwrap();
    let zeros = storage.create(&Path::new(FOLDER).join("log-0001-00000077.skl")).unwrap();
    zeros.write_at(&[0; 5000], 0).unwrap();
    storage.create(&Path::new(FOLDER).join("notes.txt")).unwrap().write_at(b"mine", 0).unwrap();
    let (log, recovered) = open(&sim, 2).unwrap();
    assert_eq!(numbers(&recovered).len(), 30);
    assert!(segment_files(&sim).iter().all(|path| !path.to_string_lossy().contains("77.skl")));
    log.close().unwrap();
    assert_eq!(sim.contents(&Path::new(FOLDER).join("notes.txt")), b"mine");
    // Garbage is refused, because it may be somebody's data.
    let file = storage.create(&Path::new(FOLDER).join("log-0000-00000088.skl")).unwrap();
    file.write_at(&[7; 5000], 0).unwrap();
    assert!(matches!(refused(&sim, "garbage"), LogError::Damaged { offset: 0, .. }));
}

#[test]
fn a_record_refused_by_replay_is_reported_as_damage() {
    let sim = closed();
    let (log, recovered) = open(&sim, 2).unwrap();
    let error = recovered.replay(2, 0, |_, _| Err("not a row".into())).unwrap_err();
    assert!(matches!(&error, LogError::Damaged { what, .. } if what == "not a row"), "{error}");
    log.close().unwrap();
}

/// Guards the second part of rule 4 of `docs/format.md`: a log's last mark, of an epoch that
/// another log proves durable. Without the check, recovery cuts the log behind its mark before, and
/// drops acknowledged records without a word.
#[test]
fn a_lost_mark_of_an_epoch_that_another_log_proves_is_damage() {
    let sim = SimStorage::new();
    let (log, _) = open(&sim, 2).unwrap();
    let mut written = 0;
    let mut write_to_both = || {
        let epochs = [0, 1].map(|to| {
            written += 1;
            put(&log, to, written, 10).unwrap()
        });
        log.commit().unwrap();
        epochs[0] == epochs[1]
    };
    write_to_both();
    // The log may end an epoch between two records.
    while !write_to_both() {}
    // The mark of this epoch says that the one before was durable, in both logs.
    put(&log, 0, written + 1, 10).unwrap();
    log.commit().unwrap();
    sim.kill();
    drop(log);
    let (mark, path) = segment_files(&sim)
        .into_iter()
        .filter(|path| path.to_string_lossy().contains("log-0001"))
        .filter_map(|path| Some((last_mark(&sim.contents(&path))?, path)))
        .next_back()
        .unwrap();
    assert_eq!(inspect(&sim).unwrap().len() as u64, written + 1);
    // The mark's checksum, its kind, its payload.
    for (at, flipped) in [(0, 0x40), (14, 2), (30, 1)] {
        sim.damage(&path, mark + at, &[flipped]);
        let error = refused(&sim, "a damaged mark");
        let LogError::Damaged { path: named, offset, .. } = &error else { panic!("{error}") };
        assert_eq!((named, *offset), (&path, mark));
        assert!(error.to_string().contains("another log"), "{error}");
        sim.damage(&path, mark + at, &[flipped]);
    }
    assert_eq!(inspect(&sim).unwrap().len() as u64, written + 1);
}

/// Returns where the record of the last mark begins.
fn last_mark(bytes: &[u8]) -> Option<u64> {
    const RECORD_HEADER: usize = 16;
    let magic = bytes.windows(8).rposition(|window| window == b"SKEINMRK")?;
    Some((magic - RECORD_HEADER) as u64)
}
