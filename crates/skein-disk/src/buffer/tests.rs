//! The buffer manager against a model: pages of numbers, with a cache so small that every step
//! evicts.
//!
//! In files of their own: `concurrent` (threads), `moments` (snapshots), `place_census` (the use of
//! every place), `spilled` (large writes), `walks` (longer than the cache).

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

use super::checkpoint::CheckpointMoment;
use super::open::CacheOptions;
use super::{BufferManager, SharedPages, WalkStop};
use crate::ReplacementPolicy;
use crate::page::{DiskPageKind, PageBytes, PageId, u64_at};
use crate::page_file::{ReadMode, forge_format};

const FILE: &str = "/db/data";

pub(super) fn open(storage: &SimStorage, pages: usize) -> crate::Result<BufferManager> {
    storage.create_dir_all(Path::new("/db")).unwrap();
    let policy = if pages.is_multiple_of(2) { ReplacementPolicy::Lru } else { ReplacementPolicy::S3Fifo };
    BufferManager::open(
        storage,
        Path::new(FILE),
        [7; 16],
        CacheOptions { pages, policy, reading: ReadMode::Calls },
    )
}

fn checkpoint(buffer: &BufferManager, sequence: u64) -> crate::Result<()> {
    let moment = || CheckpointMoment {
        sequence,
        keys: 0,
        epoch: sequence / 2,
        catalog: PageId(3),
        ..CheckpointMoment::default()
    };
    buffer.checkpoint(moment, |_| Ok(()), None)
}

/// Returns the number that fills a page.
fn number(page: &PageBytes) -> Result<u64, String> {
    let number = u64_at(page.body(), 0);
    if u64_at(page.body(), 4_000) == number { Ok(number) } else { Err("a page of two forms".to_owned()) }
}

fn set(page: &mut PageBytes, number: u64) {
    page.body_mut()[..8].copy_from_slice(&number.to_le_bytes());
    page.body_mut()[4_000..4_008].copy_from_slice(&number.to_le_bytes());
}

/// Publishes a page with this number.
fn make(buffer: &BufferManager, to: u64) -> PageId {
    let mut writer = buffer.write();
    let id = writer.make(DiskPageKind::Records).unwrap();
    set(writer.page_mut(id).unwrap(), to);
    writer.publish().unwrap();
    id
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

fn read(buffer: &BufferManager, id: PageId) -> crate::Result<u64> {
    buffer.read_with(|view| number(view.page(id)?).map_err(|what| WalkStop::Damaged(id, what)))
}

#[derive(Clone, Debug)]
enum BufferStep {
    Make(u64),
    Change(Vec<usize>, u64),
    Free(usize),
    GiveUp(usize),
    Read(usize),
    Checkpoint,
    Crash(u64),
}

fn steps() -> impl Strategy<Value = Vec<BufferStep>> {
    let step = prop_oneof![
        4 => any::<u64>().prop_map(BufferStep::Make),
        4 => (prop::collection::vec(any::<usize>(), 1..4), any::<u64>()).prop_map(|(at, number)| BufferStep::Change(at, number)),
        2 => any::<usize>().prop_map(BufferStep::Free),
        1 => any::<usize>().prop_map(BufferStep::GiveUp),
        8 => any::<usize>().prop_map(BufferStep::Read),
        1 => Just(BufferStep::Checkpoint),
        1 => any::<u64>().prop_map(BufferStep::Crash),
    ];
    prop::collection::vec(step, 1..300)
}

fn pick(model: &BTreeMap<PageId, u64>, at: usize) -> Option<PageId> {
    model.keys().nth(at % model.len().max(1)).copied()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn pages_keep_their_contents(steps in steps(), cache in 16_usize..20) {
        let storage = SimStorage::new();
        let mut buffer = open(&storage, cache).unwrap();
        let mut model: BTreeMap<PageId, u64> = BTreeMap::new();
        let (mut durable, mut sequence) = (model.clone(), 0);
        for step in steps {
            match step {
                BufferStep::Make(to) => prop_assert_eq!(model.insert(make(&buffer, to), to), None),
                BufferStep::Change(at, to) => {
                    let mut writer = buffer.write();
                    for at in at {
                        let Some(id) = pick(&model, at) else { continue };
                        set(writer.page_mut(id).unwrap(), to);
                        model.insert(id, to);
                    }
                    writer.publish().unwrap();
                }
                BufferStep::Free(at) => {
                    let Some(id) = pick(&model, at) else { continue };
                    free(&buffer, id);
                    model.remove(&id);
                }
                BufferStep::GiveUp(at) => {
                    let mut writer = buffer.write();
                    let id = writer.make(DiskPageKind::Overflow).unwrap();
                    set(writer.page_mut(id).unwrap(), 1);
                    if let Some(id) = pick(&model, at) {
                        set(writer.page_mut(id).unwrap(), 99);
                        writer.free(id);
                    }
                }
                BufferStep::Read(at) => {
                    if let Some(id) = pick(&model, at) {
                        prop_assert_eq!(read(&buffer, id).unwrap(), model[&id]);
                    }
                }
                BufferStep::Checkpoint => {
                    sequence += 1;
                    checkpoint(&buffer, sequence).unwrap();
                    durable = model.clone();
                }
                BufferStep::Crash(seed) => {
                    drop(buffer);
                    storage.reboot(seed);
                    buffer = open(&storage, cache).unwrap();
                    model = durable.clone();
                    prop_assert_eq!(buffer.header().sequence, sequence);
                }
            }
            prop_assert!(buffer.stats().resident <= cache);
        }
        for (id, to) in &model {
            prop_assert_eq!(read(&buffer, *id).unwrap(), *to);
        }
        let stats = buffer.stats();
        let kept = model.len() + 2 * durable.len() + 10;
        prop_assert!((stats.file_pages - stats.free_pages) as usize <= kept, "{:?} for {}", stats, model.len());
    }
}

/// Fills pages, takes a checkpoint, changes all pages and takes another one. The power is cut at
/// every operation of the second half.
#[test]
fn a_power_cut_leaves_the_old_or_the_new_checkpoint() {
    let run = |storage: &SimStorage, cut: Option<u64>| -> crate::Result<u64> {
        let buffer = open(storage, 16)?;
        let mut writer = buffer.write();
        let ids: Vec<PageId> = (0..12).map(|_| writer.make(DiskPageKind::Records).unwrap()).collect();
        for id in &ids {
            set(writer.page_mut(*id).unwrap(), 1);
        }
        writer.publish()?;
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
            let storage = SimStorage::new();
            let buffer = open(&storage, 16).unwrap();
            let mut model = BTreeMap::new();
            storage.fail_at(storage.operations() + at, error, false);
            let mut failed = 0;
            for number in 0..60 {
                let mut writer = buffer.write();
                let id = writer.make(DiskPageKind::Records).unwrap();
                set(writer.page_mut(id).unwrap(), number);
                match writer.publish() {
                    Ok(()) => _ = model.insert(id, number),
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
        let storage = SimStorage::new();
        let buffer = open(&storage, 16).unwrap();
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
    let mut writer = buffer.write();
    let ids: Vec<PageId> = (0..15).map(|_| writer.make(DiskPageKind::Records).unwrap()).collect();
    writer.publish().unwrap();
    checkpoint(&buffer, 1).unwrap();
    let mut writer = buffer.write();
    (0..15).for_each(|_| _ = writer.make(DiskPageKind::Records).unwrap());
    writer.publish().unwrap();
    let refused = read(&buffer, ids[0]).unwrap_err().to_string();
    assert!(refused.contains("this storage cannot be mapped into memory"), "{refused}");
}
