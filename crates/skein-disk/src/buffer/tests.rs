//! The buffer manager: pages of numbers, with a cache so small that every step evicts. Here are
//! power cuts, errors, foreign files, and reads from the mapped file.
//!
//! In files of their own: `moments` (random steps against a model, and snapshots), `concurrent`
//! (threads), `place_census` (the use of every place), `spilled` (large writes), `walks` (longer
//! than the cache).

mod concurrent;
mod moments;
mod place_census;
mod spilled;
mod walks;

use std::collections::BTreeMap;
use std::path::Path;

use proptest::prelude::*;
use skein_log::storage::Storage;
use skein_log::storage::sim::{SimError, SimStorage};

use super::open::CacheOptions;
use super::{BufferManager, PageWriter, SharedPages, WalkResult, WalkStop};
use crate::ReplacementPolicy;
use crate::page::{DiskPageKind, PageBytes, PageId, u64_at};
use crate::page_file::{ReadMode, forge_format};
pub(super) use crate::test_fixtures::open_file as open;
use crate::test_fixtures::{FILE, new_file, take_checkpoint};

pub(super) fn checkpoint(buffer: &BufferManager, sequence: u64) -> crate::Result<()> {
    take_checkpoint(buffer, sequence, PageId(3))
}

/// Returns the number that fills a page.
fn number(page: &PageBytes) -> Result<u64, String> {
    let number = u64_at(page.body(), 0);
    if u64_at(page.body(), 4_000) == number { Ok(number) } else { Err("a page of two forms".to_owned()) }
}

pub(super) fn set(page: &mut PageBytes, number: u64) {
    page.body_mut()[..8].copy_from_slice(&number.to_le_bytes());
    page.body_mut()[4_000..4_008].copy_from_slice(&number.to_le_bytes());
}

/// Returns the number of a page that a walk has found.
pub(super) fn number_in(id: PageId, page: WalkResult<&PageBytes>) -> WalkResult<u64> {
    number(page?).map_err(|what| WalkStop::Damaged(id, what))
}

/// Publishes new pages with these numbers, by one write.
fn make_all(buffer: &BufferManager, numbers: impl IntoIterator<Item = u64>) -> crate::Result<Vec<PageId>> {
    let (mut writer, mut ids) = (buffer.write(), Vec::new());
    for number in numbers {
        let id = writer.make(DiskPageKind::Records)?;
        set(writer.page_mut(id)?, number);
        ids.push(id);
    }
    writer.publish()?;
    Ok(ids)
}

/// Publishes a page with this number.
pub(super) fn make(buffer: &BufferManager, to: u64) -> PageId {
    make_all(buffer, [to]).unwrap()[0]
}

/// Publishes pages with these numbers, by a write each.
fn make_pages(buffer: &BufferManager, numbers: impl IntoIterator<Item = u64>) -> Vec<PageId> {
    numbers.into_iter().map(|to| make(buffer, to)).collect()
}

/// Gives all of these pages a number, by one write.
fn change(buffer: &BufferManager, ids: &[PageId], to: u64) {
    let mut writer = buffer.write();
    for id in ids {
        set(writer.page_mut(*id).unwrap(), to);
    }
    writer.publish().unwrap();
}

fn free(buffer: &BufferManager, id: PageId) {
    let mut writer = buffer.write();
    writer.free(id);
    writer.publish().unwrap();
}

pub(super) fn read(buffer: &BufferManager, id: PageId) -> crate::Result<u64> {
    buffer.read_with(|view| number_in(id, view.page(id)))
}

/// Returns the numbers of pages at one moment.
fn read_all(buffer: &BufferManager, ids: &[PageId]) -> Vec<u64> {
    buffer.read_with(|view| ids.iter().map(|id| number_in(*id, view.page(*id))).collect()).unwrap()
}

/// Adds one to the number of a page, and subtracts it from that of another one.
fn move_one(writer: &mut PageWriter<'_>, from: PageId, to: PageId) {
    let of = number(writer.page(from).unwrap()).unwrap();
    set(writer.page_mut(from).unwrap(), of - 1);
    let of = number(writer.page(to).unwrap()).unwrap();
    set(writer.page_mut(to).unwrap(), of + 1);
}

fn pick(model: &BTreeMap<PageId, u64>, at: usize) -> Option<PageId> {
    model.keys().nth(at % model.len().max(1)).copied()
}

/// Fills pages, takes a checkpoint, changes all pages and takes another one. The power is cut at
/// every operation of the second half.
#[test]
fn a_power_cut_leaves_the_old_or_the_new_checkpoint() {
    let run = |storage: &SimStorage, cut: Option<u64>| -> crate::Result<u64> {
        let buffer = open(storage, 16)?;
        let ids = make_all(&buffer, [1; 12])?;
        checkpoint(&buffer, 1)?;
        let begin = storage.operations();
        if let Some(cut) = cut {
            storage.cut_power_at(begin + cut);
        }
        for id in &ids {
            let mut writer = buffer.write();
            set(writer.page_mut(*id)?, 2);
            let other = writer.make(DiskPageKind::Records)?;
            set(writer.page_mut(other)?, 2);
            writer.publish()?;
        }
        checkpoint(&buffer, 2)?;
        Ok(storage.operations() - begin)
    };
    let operations = run(&SimStorage::new(), None).unwrap();
    assert!(operations > 25, "{operations}");
    let (mut first, mut second) = (0, 0);
    for cut in 1..=operations {
        for seed in 0..4 {
            let storage = SimStorage::new();
            assert!(run(&storage, Some(cut)).is_err() || cut == operations);
            storage.reboot(seed * 1_000 + cut);
            let buffer = open(&storage, 16).unwrap();
            let sequence = buffer.header().sequence;
            *if sequence == 1 { &mut first } else { &mut second } += 1;
            for id in (0..12).map(PageId) {
                assert_eq!(read(&buffer, id).unwrap(), sequence, "cut at {cut} of {operations}");
            }
            assert_eq!(read(&buffer, PageId(12)).is_ok(), sequence == 2);
        }
    }
    assert!(first > 20 && second > 0, "{first} and {second}");
}

#[test]
fn an_error_is_reported_and_loses_nothing() {
    for error in [SimError::Io, SimError::NoSpace] {
        for at in 1..80 {
            let (storage, buffer) = new_file(16);
            let mut model = BTreeMap::new();
            storage.fail_at(storage.operations() + at, error, false);
            let mut failed = 0;
            for number in 0..60 {
                match make_all(&buffer, [number]) {
                    Ok(ids) => _ = model.insert(ids[0], number),
                    Err(_) => failed += 1,
                }
                if number == 40 {
                    failed += usize::from(checkpoint(&buffer, 1).is_err());
                }
            }
            for (id, number) in &model {
                match read(&buffer, *id) {
                    Ok(found) => assert_eq!(found, *number),
                    Err(_) => failed += 1,
                }
            }
            let reported = failed > 0 || buffer.stats().failed_evictions > 0;
            assert!(reported || storage.operations() < at, "at {at}");
            storage.no_faults();
            for (id, number) in &model {
                // After a failed sync no changed page can be evicted; missing pages are read
                // without the cache.
                assert_eq!(read(&buffer, *id).unwrap(), *number);
            }
        }
    }
}

#[test]
fn foreign_and_damaged_files_are_refused_unchanged() {
    let path = Path::new(FILE);
    let refused = |prepare: &dyn Fn(&SimStorage)| {
        let (storage, buffer) = new_file(16);
        let id = make(&buffer, 5);
        checkpoint(&buffer, 1).unwrap();
        drop(buffer);
        prepare(&storage);
        let before = storage.contents(path);
        let refused = open(&storage, 16).and_then(|buffer| read(&buffer, id)).unwrap_err();
        assert_eq!(storage.contents(path), before);
        refused.to_string()
    };
    let foreign = refused(&|storage| {
        let file = storage.open(path, true).unwrap();
        file.set_len(0).unwrap();
        file.write_at(b"dear diary", 0).unwrap();
    });
    assert!(foreign.contains("/db/data is not a disk file of SkeinDB: it has 10 bytes"), "{foreign}");
    let foreign = refused(&|storage| storage.open(path, true).unwrap().write_at(&[b'x'; 8_192], 0).unwrap());
    assert!(foreign.contains("its first bytes are not those of such a file"), "{foreign}");
    let damaged = refused(&|storage| [0, 4096].iter().for_each(|at| storage.damage(path, at + 8, &[3])));
    assert!(damaged.contains("the header's checksum does not match its bytes"), "{damaged}");
    let version = refused(&|storage| forge_format(storage, path, 11));
    assert!(
        version.contains("has format version 11") && version.contains("this program reads version 10 alone"),
        "{version}"
    );
    let short = refused(&|storage| storage.open(path, true).unwrap().set_len(3 * 4096).unwrap());
    assert!(short.contains("it was cut off"), "{short}");
    let damaged = refused(&|storage| storage.damage(path, 2 * 4096 + 77, &[1]));
    assert!(damaged.contains("byte 8192: its checksum is"), "{damaged}");
}

fn mapping() -> ReadMode {
    // SAFETY: the test's own folder.
    unsafe { ReadMode::mapping() }
}

/// Reads through the mapping return the written bytes, even if another page used the place before.
#[test]
fn pages_can_be_read_from_the_mapped_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data");
    let open = || {
        let cache = CacheOptions { pages: 16, policy: ReplacementPolicy::S3Fifo, reading: mapping() };
        BufferManager::open(&skein_log::storage::OsStorage, &path, [1; 16], cache).unwrap()
    };
    let mut buffer = open();
    let mut model = BTreeMap::new();
    for round in 0..6_u64 {
        for step in 0..400_u64 {
            let mut writer = buffer.write();
            let id = match pick(&model, (step * 7 + round) as usize) {
                Some(id) if step % 2 == 0 => id,
                _ => writer.make(DiskPageKind::Records).unwrap(),
            };
            set(writer.page_mut(id).unwrap(), step + 1_000 * round);
            writer.publish().unwrap();
            model.insert(id, step + 1_000 * round);
            if step % 50 == 0 {
                checkpoint(&buffer, step).unwrap();
            }
            let other = pick(&model, (step * 31) as usize).unwrap();
            assert_eq!(read(&buffer, other).unwrap(), model[&other]);
        }
        checkpoint(&buffer, round).unwrap();
        drop(buffer);
        buffer = open();
        for (id, number) in &model {
            assert_eq!(read(&buffer, *id).unwrap(), *number);
        }
    }
    let storage = SimStorage::new();
    storage.create_dir_all(Path::new("/db")).unwrap();
    let cache = CacheOptions { pages: 16, policy: ReplacementPolicy::Lru, reading: mapping() };
    let buffer = BufferManager::open(&storage, Path::new(FILE), [1; 16], cache).unwrap();
    let ids = make_all(&buffer, [0; 15]).unwrap();
    checkpoint(&buffer, 1).unwrap();
    make_all(&buffer, [0; 15]).unwrap();
    let refused = read(&buffer, ids[0]).unwrap_err().to_string();
    assert!(refused.contains("this storage cannot be mapped into memory"), "{refused}");
}
