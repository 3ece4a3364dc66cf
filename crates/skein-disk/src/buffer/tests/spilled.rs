//! Writes of more pages than the cache has: their copies are spilled to the file.

use skein_sync::atomic::{AtomicBool, Ordering};

use super::moments::{PageModel, assert_moment, end, read_at, take};
use super::*;
use crate::buffer::MomentKey;

/// One access of a write to a page.
#[derive(Clone, Debug)]
enum PageStep {
    Make(u64),
    Change(usize, u64),
    Read(usize),
    Free(usize),
}

#[derive(Clone, Debug)]
enum SpillStep {
    Write(Vec<PageStep>, bool),
    Snapshot,
    EndSnapshot,
    Checkpoint,
    Crash(u64),
}

fn page_steps() -> impl Strategy<Value = Vec<PageStep>> {
    let step = prop_oneof![
        4 => any::<u64>().prop_map(PageStep::Make),
        6 => (any::<usize>(), any::<u64>()).prop_map(|(at, to)| PageStep::Change(at, to)),
        4 => any::<usize>().prop_map(PageStep::Read),
        2 => any::<usize>().prop_map(PageStep::Free),
    ];
    prop::collection::vec(step, 1..150)
}

fn spill_steps() -> impl Strategy<Value = Vec<SpillStep>> {
    let step = prop_oneof![
        6 => (page_steps(), prop::bool::weighted(0.8)).prop_map(|(steps, ends)| SpillStep::Write(steps, ends)),
        1 => Just(SpillStep::Snapshot),
        1 => Just(SpillStep::EndSnapshot),
        1 => Just(SpillStep::Checkpoint),
        1 => any::<u64>().prop_map(SpillStep::Crash),
    ];
    prop::collection::vec(step, 1..12)
}

/// Does the steps in a write and in the model of its pages.
fn do_steps(writer: &mut PageWriter<'_>, model: &mut PageModel, steps: &[PageStep], cache: usize) {
    for step in steps {
        match step {
            PageStep::Make(to) => {
                let id = writer.make(DiskPageKind::Records).unwrap();
                set(writer.page_mut(id).unwrap(), *to);
                assert_eq!(model.insert(id, *to), None);
            }
            PageStep::Change(at, to) => {
                let Some(id) = pick(model, *at) else { continue };
                let page = writer.page_mut(id).unwrap();
                assert_eq!(number(page).unwrap(), model[&id]);
                set(page, *to);
                model.insert(id, *to);
            }
            PageStep::Read(at) => {
                let Some(id) = pick(model, *at) else { continue };
                assert_eq!(number(writer.page(id).unwrap()).unwrap(), model[&id]);
                assert_eq!(writer.with_page(id, number).unwrap().unwrap(), model[&id]);
            }
            PageStep::Free(at) => {
                let Some(id) = pick(model, *at) else { continue };
                writer.free(id);
                model.remove(&id);
            }
        }
        assert!(writer.copies.loaded() <= cache * 3 / 4, "copies fill the memory");
    }
}

fn assert_pages(buffer: &BufferManager, model: &PageModel) {
    for (id, to) in model {
        assert_eq!(read(buffer, *id).unwrap(), *to, "page {}", id.0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn large_writes_are_whole_or_leave_nothing(steps in spill_steps(), cache in 16_usize..20) {
        let (storage, mut buffer) = new_file(cache);
        let (mut model, mut durable, mut sequence) = (PageModel::new(), PageModel::new(), 0);
        let mut snapshots: Vec<(MomentKey, PageModel)> = Vec::new();
        for step in steps {
            match step {
                SpillStep::Write(steps, is_published) => {
                    let mut changed = model.clone();
                    let mut writer = buffer.write();
                    do_steps(&mut writer, &mut changed, &steps, cache);
                    if is_published {
                        writer.publish().unwrap();
                        model = changed;
                    }
                }
                SpillStep::Snapshot => snapshots.push((take(&buffer), model.clone())),
                SpillStep::EndSnapshot => {
                    snapshots.pop().into_iter().for_each(|(key, _)| end(&buffer, key));
                }
                SpillStep::Checkpoint => {
                    sequence += 1;
                    checkpoint(&buffer, sequence).unwrap();
                    durable.clone_from(&model);
                }
                SpillStep::Crash(seed) => {
                    snapshots.clear();
                    drop(buffer);
                    storage.reboot(seed);
                    buffer = open(&storage, cache).unwrap();
                    model.clone_from(&durable);
                }
            }
            assert_pages(&buffer, &model);
            prop_assert_eq!(buffer.ids_in_use(), model.len());
            prop_assert!(buffer.stats().resident <= cache);
            for (key, pages) in &snapshots {
                assert_moment(&buffer, *key, pages);
            }
            buffer.check_places();
        }
    }
}

/// Each write gives all pages the same number. A reader or a snapshot that finds two numbers has
/// seen half of a write.
#[test]
fn readers_see_whole_large_writes_beside_checkpoints() {
    for cache in [16, 17] {
        let (_, buffer) = new_file(cache);
        let ids = make_all(&buffer, [0; 50]).unwrap();
        let done = AtomicBool::new(false);
        let is_done = || done.load(Ordering::Relaxed);
        let same = |pages: Vec<u64>| assert!(pages.iter().all(|page| *page == pages[0]), "{pages:?}");
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !is_done() {
                        same(read_all(&buffer, &ids));
                    }
                });
            }
            scope.spawn(|| {
                while !is_done() {
                    let key = take(&buffer);
                    same(ids.iter().map(|id| read_at(&buffer, key, *id).unwrap()).collect());
                    end(&buffer, key);
                }
            });
            scope.spawn(|| {
                while !is_done() {
                    checkpoint(&buffer, 1).unwrap();
                    buffer.move_pages_from(crate::page::PagePlace(40), |_| Ok(())).unwrap();
                }
            });
            for to in 1..300 {
                let mut writer = buffer.write();
                // Each third write changes the pages twice, so that spilled ones come back.
                for pass in 0..=u64::from(to % 3 == 0) {
                    for id in &ids {
                        set(writer.page_mut(*id).unwrap(), to + pass);
                    }
                }
                writer.publish().unwrap();
            }
            done.store(true, Ordering::Relaxed);
        });
        assert_eq!(read(&buffer, ids[0]).unwrap(), 299);
        buffer.check_places();
    }
}

/// If a copy cannot be spilled, the write fails and leaves neither pages nor places behind.
#[test]
fn a_large_write_on_a_full_disk_changes_nothing() {
    let (storage, buffer) = new_file(16);
    let id = make(&buffer, 1);
    checkpoint(&buffer, 1).unwrap();
    let mut writer = buffer.write();
    set(writer.page_mut(id).unwrap(), 2);
    storage.fail_at(storage.operations() + 1, SimError::NoSpace, true);
    let failed = (0..100_000).find_map(|_| writer.make(DiskPageKind::Records).err());
    assert!(matches!(failed, Some(crate::DiskError::Io { .. })), "{failed:?}");
    drop(writer);
    storage.no_faults();
    assert_eq!((read(&buffer, id).unwrap(), buffer.ids_in_use()), (1, 1));
    buffer.check_places();
}
