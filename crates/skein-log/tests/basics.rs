//! Tests of the log on a file system without faults.
#![cfg(not(skein_loom))]

mod common;

use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use common::*;
use skein_log::storage::sim::SimStorage;
use skein_log::storage::{LockHolder, OsStorage, Storage};
use skein_log::{Durability, Log, LogError, LogOptions, OpenProgress, Recovered};

#[test]
fn a_clean_close_loses_nothing_and_leaves_no_reserve() {
    let dir = tempfile::tempdir().unwrap();
    for durability in [Durability::Buffered, Durability::Sync] {
        let folder = dir.path().join(format!("{durability:?}"));
        let mut options = LogOptions::new(vec![folder.join("a"), folder.join("b")]);
        (options.logs, options.durability) = (3, durability);
        for round in 0..3_u64 {
            let (log, recovered) = Log::open(Arc::new(OsStorage), options.clone(), None).unwrap();
            assert!(numbers(&recovered).into_iter().eq(1..=round * 100));
            for number in round * 100 + 1..=round * 100 + 100 {
                put(&log, number as usize % 3, number, 50).unwrap();
            }
            log.close().unwrap();
            assert!(matches!(put(&log, 0, 0, 0), Err(LogError::Closed)));
        }
        let on_disk: u64 = std::fs::read_dir(folder.join("a"))
            .unwrap()
            .map(|entry| entry.unwrap().metadata().unwrap().len())
            .sum();
        assert!(on_disk < 100_000, "{on_disk} bytes for 300 small records");
    }
}

#[test]
fn a_dropped_log_is_closed_and_a_second_one_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let options = LogOptions::new(vec![dir.path().join("log")]);
    let (log, _) = Log::open(Arc::new(OsStorage), options.clone(), None).unwrap();
    put(&log, 0, 1, 10).unwrap();
    let second = Log::open(Arc::new(OsStorage), options.clone(), None);
    assert!(matches!(second, Err(LogError::Locked { .. })), "{second:?}");
    drop(log);
    let (_log, recovered) = Log::open(Arc::new(OsStorage), options, None).unwrap();
    assert_eq!(numbers(&recovered), [1]);
}

#[test]
fn a_file_in_the_place_of_the_folder_is_a_clear_error() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let opened = Log::open(Arc::new(OsStorage), LogOptions::new(vec![file.path().into()]), None);
    assert!(matches!(opened, Err(LogError::NotAFolder { .. })), "{opened:?}");
}

/// Incident: a folder in the place of a segment that no manifest names yet was skipped.
/// Consequence: the log opened, failed to make this segment, and stopped writes; a command ended as
/// if its disk were full. Fix: whatever has a segment's name and is no file is damage.
#[test]
fn a_folder_in_the_place_of_a_segment_is_damage() {
    let dir = tempfile::tempdir().unwrap();
    let options = LogOptions::new(vec![dir.path().join("log")]);
    Log::open(Arc::new(OsStorage), options.clone(), None).unwrap().0.close().unwrap();
    let segment = dir.path().join("log/log-0000-00000099.skl");
    std::fs::create_dir(&segment).unwrap();
    let opened = Log::open(Arc::new(OsStorage), options, None);
    assert!(matches!(&opened, Err(LogError::Damaged { path, .. }) if *path == segment), "{opened:?}");
}

#[test]
fn options_out_of_range_are_named() {
    let check = |change: fn(&mut LogOptions), name| {
        let mut options = options(1);
        change(&mut options);
        let opened = Log::open(Arc::new(SimStorage::new()), options, None);
        assert!(matches!(opened, Err(LogError::BadOption { name: n, .. }) if n == name), "{opened:?}");
    };
    check(|options| options.logs = 0, "logs");
    check(|options| options.folders.clear(), "folders");
    check(|options| options.segment_bytes = 1, "segment_bytes");
    check(|options| options.buffer_bytes = 1, "buffer_bytes");
    check(|options| options.flush_interval = Duration::from_secs(1), "flush_interval");
}

#[test]
fn buffered_is_on_disk_within_200_ms_without_being_asked() {
    let sim = SimStorage::new();
    let mut options = options(2);
    options.durability = Durability::Buffered;
    options.flush_interval = Duration::from_millis(100);
    let (log, _) = Log::open(sim.share(), options, None).unwrap();
    let epoch = put(&log, 1, 1, 10).unwrap();
    let began = Instant::now();
    while log.durable_epoch() < epoch {
        assert!(began.elapsed() < Duration::from_secs(5), "nobody committed");
        std::thread::sleep(Duration::from_millis(5));
    }
    let idle = log.stats();
    std::thread::sleep(Duration::from_millis(250));
    assert_eq!(log.stats().epoch, idle.epoch, "an idle log closes no epoch");
}

#[test]
fn none_writes_nothing_and_replays_records_of_other_levels() {
    let sim = SimStorage::new();
    let (log, _) = open(&sim, 2).unwrap();
    put(&log, 0, 1, 10).unwrap();
    put(&log, 1, 2, 10).unwrap();
    let last = log.close().unwrap();
    let before = segment_files(&sim);

    let mut none = options(2);
    none.durability = Durability::None;
    let (log, recovered) = Log::open(sim.share(), none.clone(), None).unwrap();
    assert_eq!(numbers(&recovered), [1, 2]);
    let epoch = put(&log, 0, 3, 10).unwrap();
    assert!(epoch > last, "epochs never decrease");
    log.wait_durable(epoch).unwrap();
    let begin = log.commit().unwrap() + 1;
    let end = log.commit().unwrap();
    assert_eq!(segment_files(&sim), before);
    // The checkpoint of a clean close makes the old logs obsolete, even if they are not removed.
    log.close().unwrap();
    let (log, recovered) = Log::open(sim.share(), none, Some(covered(begin, end))).unwrap();
    assert_eq!(recovered.replay(1, begin, |_, _| Ok(())).unwrap().records, 0);
    assert!(log.epoch() > end);
    log.release_before(begin).unwrap();
    assert_eq!(segment_files(&sim), Vec::<std::path::PathBuf>::new());
}

#[test]
fn released_segments_are_removed_and_fewer_logs_read_old_ones() {
    let sim = SimStorage::new();
    let (log, _) = open(&sim, 3).unwrap();
    let mut written = AcknowledgedWrites::default();
    run(&log, 0, 120, &mut written).unwrap();
    let begin = log.commit().unwrap() + 1;
    let many = segment_files(&sim).len();
    assert!(log.release_before(begin).unwrap() >= 3);
    assert!(segment_files(&sim).len() < many);
    for number in 121..=130 {
        put(&log, number as usize % 3, number, 20).unwrap();
    }
    log.close().unwrap();

    let checkpoint = Some(covered(begin, begin - 1));
    let opened = Log::open(sim.share(), options(1), checkpoint);
    let (log, recovered) = opened.unwrap();
    let replayed = AtomicU64::new(0);
    let report = recovered
        .replay(2, begin, |_, record| {
            assert!(record.epoch >= begin);
            replayed.fetch_add(1, Ordering::Relaxed);
            Ok(())
        })
        .unwrap();
    assert_eq!((report.records, replayed.into_inner()), (10, 10));
    let begin = log.commit().unwrap() + 1;
    log.release_before(begin).unwrap();
    log.close().unwrap();
    // All segments are removed, so nothing refers to a missing one, even without the checkpoint.
    let opened = Log::open(Arc::new(sim), options(1), None);
    assert!(opened.is_ok(), "all segments are removed, so nothing refers to them: {opened:?}");
}

#[test]
fn missing_segments_are_noticed() {
    let sim = SimStorage::new();
    let (log, _) = open(&sim, 1).unwrap();
    run(&log, 0, 120, &mut AcknowledgedWrites::default()).unwrap();
    let begin = log.commit().unwrap() + 1;
    put(&log, 0, 121, 20).unwrap();
    log.close().unwrap();
    let files = segment_files(&sim);
    assert!(files.len() > 2);
    let storage = sim.share();
    let refused = |covered, gone: &std::path::Path| {
        let opened = Log::open(storage.clone(), options(1), covered);
        assert!(matches!(&opened, Err(LogError::Damaged { path, .. }) if *path == gone), "{opened:?}");
    };
    storage.remove(&files[0]).unwrap();
    refused(None, &files[0]);
    // A checkpoint does not excuse it: a released segment is removed from the manifest first.
    refused(Some(covered(begin, begin - 1)), &files[0]);
    for gone in &files[1..] {
        storage.remove(gone).unwrap();
    }
    refused(None, &files[0]);
}

/// Damage to a manifest is found, and a segment that the manifest does not contain is removed as
/// the remains of a crash.
#[test]
fn segment_manifests_are_checked_and_follow_segments() {
    let sim = SimStorage::new();
    let storage = sim.share();
    let folder = std::path::Path::new(FOLDER);
    let manifest = folder.join("log.roster");
    let (log, _) = open(&sim, 2).unwrap();
    run(&log, 0, 60, &mut AcknowledgedWrites::default()).unwrap();
    let begin = log.commit().unwrap() + 1;
    put(&log, 0, 61, 20).unwrap();
    let named = |sim: &SimStorage| (sim.contents(&manifest).len() - 48) / 16;
    assert!(named(&sim) >= segment_files(&sim).len() - 1);
    log.close().unwrap();
    assert_eq!(named(&sim), segment_files(&sim).len());
    for offset in (0..sim.contents(&manifest).len() as u64).step_by(5) {
        sim.damage(&manifest, offset, &[0x40]);
        let opened = Log::open(storage.clone(), options(2), None);
        assert!(
            matches!(&opened, Err(LogError::Damaged { path, .. } | LogError::UnknownFormat { path, .. }) if *path == manifest),
            "byte {offset}: {opened:?}"
        );
        sim.damage(&manifest, offset, &[0x40]);
    }
    let (log, _) = Log::open(storage.clone(), options(2), Some(covered(begin, begin - 1))).unwrap();
    log.release_before(begin).unwrap();
    log.close().unwrap();
    assert_eq!(named(&sim), segment_files(&sim).len());
    let found =
        Recovered::inspect(&sim, &[folder.into()], Some(covered(begin, begin - 1)), &OpenProgress::default())
            .unwrap();
    assert_eq!(found.replay(1, begin, |_, _| Ok(())).unwrap().records, 1);
}

/// `give_up` discards all logs in all folders. The log continues above all earlier numbers and
/// epochs.
#[test]
fn logs_that_are_given_up_are_empty_and_continue() {
    let sim = SimStorage::new();
    let (log, _) = open(&sim, 2).unwrap();
    run(&log, 0, 60, &mut AcknowledgedWrites::default()).unwrap();
    let last = log.close().unwrap();
    let before = segment_files(&sim);
    let storage = sim.share();
    storage.remove(&before[1]).unwrap();
    assert!(open(&sim, 2).is_err());
    let mut giving_up = options(2);
    giving_up.give_up = true;
    let (log, recovered) = Log::open(storage, giving_up, Some(covered(3, 5))).unwrap();
    assert_eq!(numbers(&recovered), []);
    assert!(log.epoch() > last);
    put(&log, 0, 1, 10).unwrap();
    log.close().unwrap();
    assert!(segment_files(&sim).iter().all(|path| !before.contains(path)));
    assert_eq!(inspect(&sim).unwrap(), [1]);
}

#[test]
fn a_producer_that_outruns_the_disk_waits_and_loses_nothing() {
    let sim = SimStorage::new();
    let (log, _) = open(&sim, 2).unwrap();
    std::thread::scope(|scope| {
        for worker in 0..4_u64 {
            let log = &log;
            scope.spawn(move || {
                for turn in 0..300 {
                    put(log, worker as usize % 2, 1 + worker * 300 + turn, 4_000).unwrap();
                }
            });
        }
    });
    log.close().unwrap();
    assert!(inspect(&sim).unwrap().into_iter().eq(1..=1200));
}

#[test]
fn many_threads_wait_for_durability_and_share_commits() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = LogOptions::new(vec![dir.path().into()]);
    (options.logs, options.durability) = (2, Durability::Sync);
    let (log, _) = Log::open(Arc::new(OsStorage), options, None).unwrap();
    let woken = Arc::new(AtomicU64::new(0));
    let counter = woken.clone();
    log.on_durable(move || {
        counter.fetch_add(1, Ordering::Relaxed);
    });
    std::thread::scope(|scope| {
        for worker in 0..8_u64 {
            let log = &log;
            scope.spawn(move || {
                for turn in 0..10 {
                    let epoch = put(log, worker as usize % 2, 1 + worker * 10 + turn, 100).unwrap();
                    log.wait_durable(epoch).unwrap();
                    assert!(log.durable_epoch() >= epoch);
                }
            });
        }
    });
    let commits = log.stats().commits;
    assert!(commits < 80, "{commits} commits for 80 writes of 8 threads");
    assert_eq!(woken.load(Ordering::Relaxed), commits);
    let epoch = put(&log, 0, 81, 10).unwrap();
    log.request_durable(epoch);
    let began = Instant::now();
    while log.durable_epoch() < epoch {
        assert!(began.elapsed() < Duration::from_secs(5), "nobody committed");
        std::thread::yield_now();
    }
}

#[test]
fn a_group_has_one_epoch_however_often_epochs_close() {
    let sim = SimStorage::new();
    let (log, _) = open(&sim, 2).unwrap();
    std::thread::scope(|scope| {
        let commits = scope.spawn(|| (0..200).all(|_| log.commit().is_ok()));
        for worker in 0..2 {
            let log = &log;
            scope.spawn(move || {
                for number in 0..500_u64 {
                    let operation = log.enter(worker).unwrap();
                    let group = operation.group();
                    let epoch = group.epoch();
                    std::hint::black_box(number);
                    assert_eq!(operation.epoch(), epoch);
                    drop(group);
                    let mut appender = operation.appender();
                    appender.append(epoch, |out| out.extend_from_slice(&number.to_le_bytes()));
                    appender.append(epoch, |out| out.extend_from_slice(&number.to_le_bytes()));
                }
            });
        }
        assert!(commits.join().unwrap());
    });
}

#[test]
fn a_record_larger_than_a_segment_and_a_buffer() {
    let sim = SimStorage::new();
    let (log, _) = open(&sim, 1).unwrap();
    for number in 1..=5 {
        put(&log, 0, number, 300_000 * (number as usize % 2)).unwrap();
    }
    log.close().unwrap();
    assert_eq!(inspect(&sim).unwrap(), [1, 2, 3, 4, 5]);
}

/// Incident: a killed process still held a log folder for a moment. Consequence: the next process
/// was refused at once. Fix: opening waits for up to `lock_wait`.
#[test]
fn a_log_folder_in_use_is_waited_for() {
    let sim = SimStorage::new();
    let (log, _) = open(&sim, 1).unwrap();
    put(&log, 0, 1, 10).unwrap();
    let with = |lock_wait| LogOptions { lock_wait, ..options(1) };
    let refused = Log::open(sim.share(), with(Duration::ZERO), None);
    assert!(matches!(&refused, Err(LogError::Locked { holder: LockHolder::Unknown, .. })), "{refused:?}");
    std::thread::scope(|scope| {
        let tries = sim.operations() + 3;
        let opened = scope.spawn(|| Log::open(sim.share(), with(Duration::from_secs(60 * 60)), None));
        while sim.operations() < tries {
            std::thread::sleep(Duration::from_millis(1));
        }
        drop(log);
        let (_log, recovered) = opened.join().unwrap().unwrap();
        assert_eq!(numbers(&recovered), [1]);
    });
}

/// Incident: a program started a child process while it closed a database. Consequence: the child had
/// a copy of the lock's descriptor until its `exec`, and the folder was refused as in use by this
/// process. Fix: a dropped lock is unlocked, and not only closed.
#[test]
#[cfg_attr(miri, ignore = "Miri starts no processes")]
fn a_child_process_that_starts_keeps_no_folder_locked() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("LOCK");
    let lock = OsStorage.lock(&path).unwrap();
    let ((mut started, child_started), (child_goes_on, mut go_on)) =
        (std::io::pipe().unwrap(), std::io::pipe().unwrap());
    let mut command = Command::new("true");
    // SAFETY: the closure calls nothing but `read` and `write`.
    unsafe {
        command.pre_exec(move || {
            (&child_started).write_all(&[1])?;
            (&child_goes_on).read_exact(&mut [0])
        });
    }
    std::thread::scope(|scope| {
        let child = scope.spawn(move || command.status().unwrap());
        started.read_exact(&mut [0]).unwrap();
        drop(lock);
        let again = OsStorage.lock(&path);
        go_on.write_all(&[1]).unwrap();
        assert!(child.join().unwrap().success());
        assert!(again.is_ok(), "{again:?}");
    });
}

/// The first operation of a run finds no segment, and one becomes ready while it begins to wait.
#[test]
fn first_operations_that_wait_for_a_segment_are_woken() {
    for round in 0..if cfg!(miri) { 1 } else { 150 } {
        let sim = SimStorage::new();
        let options = LogOptions { durability: Durability::Buffered, ..options(3) };
        let (log, _) = Log::open(sim.share(), options, None).unwrap();
        std::thread::scope(|scope| {
            for to in 0..3 {
                let log = &log;
                scope.spawn(move || put(log, to, to as u64, 100 + round).unwrap());
            }
        });
        log.close().unwrap();
        assert_eq!(inspect(&sim).unwrap(), [0, 1, 2]);
    }
}
