//! Snapshots of pages: a model with several moments, and concurrent threads.

use skein_sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::*;
use crate::DiskError;
use crate::buffer::MomentKey;
use crate::buffer::{CheckpointMoment, PageReader};
use crate::test_fixtures::moment_of;

const SNAPSHOTS_MOST: usize = 6;

pub(super) fn take(buffer: &BufferManager) -> MomentKey {
    buffer.take_moment(usize::MAX, || ()).unwrap().0
}

pub(super) fn end(buffer: &BufferManager, key: MomentKey) {
    let mut rest = buffer.end_moment(key);
    while buffer.release_versions(&mut rest, 3) {}
}

/// Reads a page of a moment in both ways.
pub(super) fn read_at(buffer: &BufferManager, key: MomentKey, id: PageId) -> crate::Result<u64> {
    let one = buffer.read_at(key, |pages| number_in(id, PageReader::page(pages, id)))?;
    assert_eq!(buffer.read_many_at(key, |view| number_in(id, SharedPages::page(view, id)))?, one);
    Ok(one)
}

#[derive(Clone, Debug)]
enum MomentStep {
    Make(u64),
    Change(Vec<usize>, u64),
    Free(usize),
    GiveUp(usize),
    Read(usize),
    Take,
    End(usize),
    ReadAt(usize, usize),
    Checkpoint,
    FailedCheckpoint(u64),
    Move(u32),
    Crash(u64),
}

fn steps() -> impl Strategy<Value = Vec<MomentStep>> {
    use MomentStep as S;
    let step = prop_oneof![
        6 => any::<u64>().prop_map(S::Make),
        10 => (prop::collection::vec(any::<usize>(), 1..6), any::<u64>()).prop_map(|(at, to)| S::Change(at, to)),
        4 => any::<usize>().prop_map(S::Free),
        1 => any::<usize>().prop_map(S::GiveUp),
        6 => any::<usize>().prop_map(S::Read),
        3 => Just(S::Take),
        2 => any::<usize>().prop_map(S::End),
        12 => any::<(usize, usize)>().prop_map(|(which, at)| S::ReadAt(which, at)),
        2 => Just(S::Checkpoint),
        1 => (1..30_u64).prop_map(S::FailedCheckpoint),
        1 => (2..60_u32).prop_map(S::Move),
        1 => any::<u64>().prop_map(S::Crash),
    ];
    prop::collection::vec(step, 1..400)
}

/// A checkpoint that fails at a write leaves all as it was. After a failed sync, no write could
/// continue.
fn fail_checkpoint(buffer: &BufferManager, sequence: u64) {
    let refuse = |_: &mut CheckpointMoment| Err(DiskError::NoOrder);
    _ = buffer.checkpoint(|| moment_of(sequence, PageId(3)), refuse, None).unwrap_err();
}

pub(super) type PageModel = BTreeMap<PageId, u64>;

pub(super) fn assert_moment(buffer: &BufferManager, key: MomentKey, model: &PageModel) {
    for (id, to) in model {
        assert_eq!(read_at(buffer, key, *id).unwrap(), *to, "page {} at {key:?}", id.0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(160))]

    #[test]
    fn pages_keep_their_contents_and_a_snapshot_shows_those_of_its_moment(steps in steps(), cache in 16_usize..20) {
        let (storage, mut buffer) = new_file(cache);
        let mut model = PageModel::new();
        let (mut durable, mut sequence) = (model.clone(), 0);
        let mut snapshots: Vec<(MomentKey, PageModel)> = Vec::new();
        for step in steps {
            match step {
                MomentStep::Make(to) => prop_assert_eq!(model.insert(make(&buffer, to), to), None),
                MomentStep::Change(at, to) => {
                    let ids: Vec<_> = at.iter().filter_map(|at| pick(&model, *at)).collect();
                    change(&buffer, &ids, to);
                    model.extend(ids.into_iter().map(|id| (id, to)));
                }
                MomentStep::Free(at) => {
                    let Some(id) = pick(&model, at) else { continue };
                    free(&buffer, id);
                    model.remove(&id);
                }
                MomentStep::GiveUp(at) => {
                    let mut writer = buffer.write();
                    let id = writer.make(DiskPageKind::Overflow).unwrap();
                    set(writer.page_mut(id).unwrap(), 1);
                    if let Some(id) = pick(&model, at) {
                        set(writer.page_mut(id).unwrap(), 99);
                        writer.free(id);
                    }
                }
                MomentStep::Read(at) => {
                    if let Some(id) = pick(&model, at) {
                        prop_assert_eq!(read(&buffer, id).unwrap(), model[&id]);
                    }
                }
                MomentStep::Take if snapshots.len() < SNAPSHOTS_MOST => {
                    snapshots.push((take(&buffer), model.clone()));
                }
                MomentStep::End(which) if !snapshots.is_empty() => {
                    end(&buffer, snapshots.swap_remove(which % snapshots.len()).0);
                }
                MomentStep::ReadAt(which, at) if !snapshots.is_empty() => {
                    let (key, then) = &snapshots[which % snapshots.len()];
                    if let Some(id) = pick(then, at) {
                        prop_assert_eq!(read_at(&buffer, *key, id).unwrap(), then[&id]);
                    }
                }
                MomentStep::Take | MomentStep::End(_) | MomentStep::ReadAt(..) => {}
                MomentStep::Checkpoint => {
                    sequence += 1;
                    checkpoint(&buffer, sequence).unwrap();
                    durable = model.clone();
                }
                MomentStep::FailedCheckpoint(at) => {
                    if at % 2 == 0 {
                        storage.fail_at(storage.operations() + at, SimError::Io, false);
                    }
                    fail_checkpoint(&buffer, sequence);
                    storage.no_faults();
                }
                MomentStep::Move(from) => _ = buffer.move_pages_from(crate::page::PagePlace(from), |_| Ok(())).unwrap(),
                MomentStep::Crash(seed) => {
                    snapshots.clear();
                    drop(buffer);
                    storage.reboot(seed);
                    buffer = open(&storage, cache).unwrap();
                    model = durable.clone();
                    prop_assert_eq!(buffer.header().sequence, sequence);
                }
            }
            let stats = buffer.moment_stats();
            prop_assert_eq!(stats.live, snapshots.len());
            prop_assert!(stats.in_memory <= 8 + cache && buffer.stats().resident <= cache, "{:?}", stats);
            buffer.check_places();
        }
        for (key, then) in &snapshots {
            assert_moment(&buffer, *key, then);
        }
        for (key, _) in snapshots {
            end(&buffer, key);
        }
        for (id, to) in &model {
            prop_assert_eq!(read(&buffer, *id).unwrap(), *to);
        }
        let (pages, kept) = (buffer.stats(), model.len() + 2 * durable.len() + 10);
        prop_assert!((pages.file_pages - pages.free_pages) as usize <= kept, "{:?} for {}", pages, model.len());
        let stats = buffer.moment_stats();
        prop_assert_eq!((stats.live, stats.in_memory, stats.in_file), (0, 0, 0));
        buffer.check_places();
    }
}

/// Writers keep the sum of all pages constant. Each snapshot must show this sum, and the same pages
/// at every read, while pages are evicted, checkpoints run, pages move, and other snapshots begin
/// and end.
#[test]
fn a_snapshot_shows_one_moment_beside_writers_and_checkpoints() {
    for cache in [16, 17] {
        let (_, buffer) = new_file(cache);
        let ids = make_pages(&buffer, [1_000; 40]);
        let (done, read_snapshots) = (AtomicBool::new(false), AtomicU64::new(0));
        let show = |key| -> Vec<u64> { ids.iter().map(|id| read_at(&buffer, key, *id).unwrap()).collect() };
        std::thread::scope(|scope| {
            for reader in 0..3 {
                let (done, read_snapshots, buffer, show) = (&done, &read_snapshots, &buffer, &show);
                scope.spawn(move || {
                    while !done.load(Ordering::Relaxed) {
                        let key = take(buffer);
                        let shown = show(key);
                        assert_eq!(shown.iter().sum::<u64>(), 40_000);
                        (0..reader).for_each(|_| assert_eq!(show(key), shown));
                        end(buffer, key);
                        read_snapshots.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    checkpoint(&buffer, 1).unwrap();
                    buffer.move_pages_from(crate::page::PagePlace(40), |_| Ok(())).unwrap();
                }
            });
            for step in 0.. {
                if step >= 6_000 && read_snapshots.load(Ordering::Relaxed) > 20 {
                    break;
                }
                let mut writer = buffer.write();
                let (from, to) = (ids[step * 7 % 40], ids[(step * 11 + 3) % 40]);
                move_one(&mut writer, from, to);
                writer.publish().unwrap();
            }
            done.store(true, Ordering::Relaxed);
        });
        buffer.check_places();
        assert_eq!(buffer.moment_stats().in_file, 0);
    }
}

/// Incident: a reader loaded a page after a publication had freed it, and before its place was
/// released. The frame stayed in the table. Consequence: when the id was used again beside a
/// snapshot, the frame was kept, and its place got a reason although it was free. Two pages were
/// written there. Fix: the frame leaves the table together with the place.
#[test]
fn a_page_that_is_freed_during_a_load_leaves_no_frame() {
    for cache in [16, 17] {
        let (_, buffer) = new_file(cache);
        let ids = make_pages(&buffer, [1; 40]);
        let resident = buffer.stats().resident;
        let freed = *ids.iter().find(|id| !buffer.write().is_in_memory(**id)).unwrap();
        let mut writer = buffer.write();
        writer.free(freed);
        // The walk of this reader began before the publication.
        writer.publish_then(|| drop(buffer.fetch(freed).unwrap())).unwrap();
        buffer.check_places();
        assert!(!buffer.is_page(freed));
        assert!(buffer.stats().resident <= resident, "{:?}", buffer.stats());
        let key = take(&buffer);
        assert_eq!(make_pages(&buffer, [2; 1]), [freed], "the id is used again");
        buffer.check_places();
        end(&buffer, key);
        assert_eq!(read(&buffer, freed).unwrap(), 2);
        buffer.check_places();
    }
}

/// Old versions that are nowhere in the file are written to their promised places, so they fill
/// neither the memory nor the disk.
#[test]
fn dirty_old_versions_leave_the_memory_on_a_full_disk() {
    let (storage, buffer) = new_file(64);
    let ids = make_pages(&buffer, [1; 40]);
    let key = take(&buffer);
    // The file has no more room than it has now.
    let bytes = storage.contents(Path::new(FILE)).len() as u64;
    storage.limit(Path::new("/db"), Some(bytes));
    for id in &ids {
        change(&buffer, &[*id], 2);
    }
    let stats = buffer.moment_stats();
    assert!(stats.in_memory <= 9 && stats.in_memory + stats.in_file == 40, "{stats:?}");
    buffer.check_places();
    for id in &ids {
        assert_eq!(read_at(&buffer, key, *id).unwrap(), 1);
    }
    end(&buffer, key);
    buffer.check_places();
}

/// If an old version cannot be written, the next publication is refused, and nothing is lost.
#[test]
fn a_write_is_refused_if_an_old_version_cannot_leave_the_memory() {
    let (storage, buffer) = new_file(64);
    let ids = make_pages(&buffer, [1; 40]);
    let key = take(&buffer);
    storage.fail_at(storage.operations() + 1, SimError::Io, true);
    let publish = |id: &PageId| {
        let mut writer = buffer.write();
        set(writer.page_mut(*id).unwrap(), 2);
        writer.publish()
    };
    let published = ids.iter().take_while(|id| publish(id).is_ok()).count();
    assert_eq!(published, 9, "the limit of 8, and those of one publication");
    storage.no_faults();
    for (at, id) in ids.iter().enumerate() {
        assert_eq!(read_at(&buffer, key, *id).unwrap(), 1);
        assert_eq!(read(&buffer, *id).unwrap(), 1 + u64::from(at < published));
    }
    publish(&ids[20]).unwrap();
    assert_eq!(read_at(&buffer, key, ids[20]).unwrap(), 1);
    buffer.check_places();
}

/// A page that a snapshot reads often stays in memory, and comes back if it was only in the file.
#[test]
fn kept_versions_are_cached_by_use() {
    let (_, buffer) = new_file(64);
    let ids = make_pages(&buffer, [1; 40]);
    let key = take(&buffer);
    for id in &ids {
        change(&buffer, &[*id], 2);
    }
    let misses = || buffer.stats().misses;
    read_at(&buffer, key, ids[0]).unwrap();
    let before = misses();
    for id in &ids[1..] {
        assert_eq!(read_at(&buffer, key, *id).unwrap(), 1);
        assert_eq!(read_at(&buffer, key, ids[0]).unwrap(), 1);
    }
    let count = misses() - before;
    assert!(count <= 45, "{count} pages were read for 39");
    assert!(buffer.moment_stats().in_memory <= 8);
}

/// Incident: a frame that a reader had loaded for a kept version was not counted. Consequence: the
/// end of the snapshot decremented its count from 0 to the greatest number; nobody read the count
/// of a written frame, so nothing else went wrong. Fix: each kept version in memory counts once on
/// its frame, and the end of a keep asserts that there was one.
#[test]
fn each_kept_version_in_memory_counts_once_on_its_frame() {
    let (_, buffer) = new_file(64);
    let ids = make_pages(&buffer, [1; 40]);
    let key = take(&buffer);
    for id in &ids {
        change(&buffer, &[*id], 2);
    }
    for id in ids.iter().chain(&ids) {
        assert_eq!(read_at(&buffer, key, *id).unwrap(), 1);
        let counts = buffer.times_kept();
        assert!(counts.len() <= 8 && counts.iter().all(|count| *count == 1), "{counts:?}");
    }
    assert!(buffer.stats().misses >= 40, "most of them were loaded again");
    end(&buffer, key);
    assert_eq!(buffer.moment_stats().in_memory, 0);
    buffer.check_places();
}

/// The numbers of a snapshot are of its moment: a publication stores them before a snapshot can
/// begin.
#[test]
fn a_snapshot_waits_for_the_numbers_of_a_publication() {
    let (_, buffer) = new_file(16);
    let ids = make_pages(&buffer, [1; 1]);
    let (sender, taken) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        let mut writer = buffer.write();
        set(writer.page_mut(ids[0]).unwrap(), 2);
        let published = || {
            scope.spawn(|| sender.send(take(&buffer)).unwrap());
            let waited = taken.recv_timeout(std::time::Duration::from_millis(50));
            assert!(waited.is_err(), "the publication has not stored its numbers");
        };
        writer.publish_then(published).unwrap();
    });
    let key = taken.recv().unwrap();
    assert_eq!(read_at(&buffer, key, ids[0]).unwrap(), 2);
    end(&buffer, key);
}

#[test]
fn the_number_of_snapshots_is_limited() {
    let (_, buffer) = new_file(16);
    let (first, ()) = buffer.take_moment(2, || ()).unwrap();
    let second = take(&buffer);
    let error = buffer.take_moment(2, || ()).unwrap_err().to_string();
    assert_eq!(error, "2 snapshots are live, which is the limit of 2; drop one, or raise the limit");
    assert!(buffer.moment_stats().oldest.is_some());
    end(&buffer, first);
    assert!(buffer.end_moment(first).is_empty(), "it has ended already");
    let (third, ()) = buffer.take_moment(2, || ()).unwrap();
    for key in [second, third] {
        end(&buffer, key);
    }
    assert_eq!((buffer.moment_stats().live, buffer.moment_stats().oldest), (0, None));
}
