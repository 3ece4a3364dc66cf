//! Tests of operations that fail, once or permanently: the log stops with the cause and
//! acknowledges nothing false.
#![cfg(not(skein_loom))]

mod common;

use std::path::Path;
use std::time::{Duration, Instant};

use common::*;
use skein_log::storage::Storage;
use skein_log::storage::sim::{SimError, SimStorage};
use skein_log::{Durability, Log, LogError, LogOptions};

#[test]
fn a_failure_stops_writes_and_loses_no_acknowledged_record() {
    let (sim, mut total) = (SimStorage::new(), 0);
    for at in 1.. {
        for (error, lasting) in [(SimError::Io, false), (SimError::NoSpace, true)] {
            let sim = if at == 1 { sim.clone() } else { SimStorage::new() };
            sim.fail_at(sim.operations() + at, error, lasting);
            let mut written = AcknowledgedWrites::default();
            let context = format!("{error:?} at operation {at}, lasting: {lasting}");
            if let Ok((log, _)) = open(&sim, 2) {
                let ran = run(&log, 0, 25, &mut written);
                if ran.is_err() {
                    // All later operations are refused, even if the disk works again.
                    let refused = log.enter(0).map(drop);
                    let Err(LogError::Poisoned { cause } | LogError::NoRoom { cause }) = refused else {
                        panic!("{context}: {refused:?}")
                    };
                    assert!(cause.contains("/data/logs"), "{context}: {cause}");
                    let waited = log.wait_durable(log.epoch());
                    let stopped = matches!(waited, Err(LogError::Poisoned { .. } | LogError::NoRoom { .. }));
                    assert!(stopped, "{context}: {waited:?}");
                    assert!(log.poisoned().is_some());
                } else if log.close().is_ok() {
                    written.acknowledged = 25;
                }
            }
            sim.no_faults();
            // Without a power cut, a new process sees all visible bytes, including those that no
            // sync made durable ...
            let kept = inspect(&sim).unwrap_or_else(|error| panic!("{context}: {error}"));
            check_prefix(&kept, written, &context);
            // ... and the records that it accepts must then survive.
            drop(open(&sim, 2).unwrap());
            sim.reboot(at);
            let found = inspect(&sim).unwrap_or_else(|error| panic!("{context}: {error}"));
            assert_eq!(found, kept, "{context}: lost after it was accepted");
            total = sim.operations();
        }
        if at > total {
            break;
        }
    }
}

/// Incident: the thread of a log panicked while a commit waited for its part. Consequence: the
/// commit and all later ones waited for ever. Fix: a thread that panics stops writes and gives its
/// part back.
#[test]
fn a_panic_stops_writes_and_nobody_waits_for_ever() {
    let total = {
        let sim = SimStorage::new();
        let (log, _) = open(&sim, 2).unwrap();
        run(&log, 0, 25, &mut AcknowledgedWrites::default()).unwrap();
        sim.operations()
    };
    let (mut panicked, mut stopped) = (0, 0);
    for at in 1..=total {
        let sim = SimStorage::new();
        sim.fail_at(at, SimError::Panic, false);
        let (ended, end) = std::sync::mpsc::channel();
        let storage = sim.clone();
        let worker = std::thread::spawn(move || {
            let mut written = AcknowledgedWrites::default();
            let ran = open(&storage, 2).map(|(log, _)| {
                let ran = run(&log, 0, 25, &mut written);
                // Nothing more is acknowledged, and nothing waits.
                let refused = ran.and_then(|()| log.wait_durable(log.epoch())).is_err();
                assert!(log.close().is_err() || !refused, "operation {at}");
                refused
            });
            ended.send((written, matches!(ran, Ok(true)))).unwrap();
        });
        match end.recv_timeout(Duration::from_secs(60)) {
            Ok((written, refused)) => {
                stopped += u64::from(refused);
                sim.reboot(at);
                check_prefix(&inspect(&sim).unwrap(), written, &format!("a panic at operation {at}"));
            }
            // The panic was on this thread: in `open`, or in its own part of a commit.
            Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => panicked += 1,
            Err(timeout) => panic!("a panic at operation {at}: {timeout}"),
        }
        let _ = worker.join();
    }
    assert!(panicked > 0 && stopped > 0, "{panicked} panics here, {stopped} in threads of the log");
}

#[test]
fn a_failure_then_a_power_cut_loses_nothing_acknowledged() {
    for at in (1..300).step_by(3) {
        let sim = SimStorage::new();
        sim.fail_at(at, SimError::Io, false);
        let mut written = AcknowledgedWrites::default();
        if let Ok((log, _)) = open(&sim, 2) {
            let _ = run(&log, 0, 25, &mut written);
        }
        sim.reboot(at * 3);
        check_prefix(&inspect(&sim).unwrap(), written, &format!("EIO at operation {at}"));
    }
}

#[test]
fn a_thread_that_waits_for_space_gets_the_failure() {
    let sim = SimStorage::new();
    let (log, _) = open(&sim, 1).unwrap();
    put(&log, 0, 1, 10).unwrap();
    log.commit().unwrap();
    sim.fail_at(sim.operations() + 1, SimError::NoSpace, true);
    let error = (2..10_000).find_map(|number| put(&log, 0, number, 10_000).err());
    let Some(LogError::NoRoom { cause }) = error else { panic!("{error:?}") };
    assert!(cause.contains("No space"), "{cause}");
    assert!(matches!(log.close(), Err(LogError::Poisoned { .. })));
}

#[test]
fn a_failure_calls_the_callback() {
    let sim = SimStorage::new();
    let (log, _) = open(&sim, 1).unwrap();
    let (told, heard) = std::sync::mpsc::channel();
    log.on_durable(move || {
        let _ = told.send(());
    });
    sim.fail_at(sim.operations() + 1, SimError::Io, true);
    let epoch = put(&log, 0, 1, 10).unwrap();
    log.request_durable(epoch);
    heard.recv_timeout(std::time::Duration::from_secs(5)).unwrap();
    assert!(log.durable_epoch() < epoch);
    assert!(log.poisoned().is_some());
}

#[test]
fn a_failed_opening_unlocks_the_folder() {
    let sim = SimStorage::new();
    sim.fail_at(3, SimError::Io, false);
    let failed = Log::open(sim.share(), options(1), None);
    assert!(failed.is_err());
    open(&sim, 1).unwrap();
}

/// Incident: a full disk stopped writes until the log was opened again, although there was space a
/// moment later. Fix: the failed operation is kept and tried again, and writes continue.
#[test]
fn a_disk_that_is_full_for_a_while_stops_writes_for_a_while() {
    writes_wait_for(SimError::NoSpace);
}

/// Incident: there was no file descriptor for the next segment, because of idle connections.
/// Consequence: the log was poisoned, and acknowledged writes at `buffered` were missing after a
/// restart. Fix: the log waits, as for a full disk. Nothing is lost, because open files still work,
/// syncs included.
#[test]
fn too_many_open_files_stop_writes_for_a_while() {
    writes_wait_for(SimError::TooManyFiles);
}

/// Incident: the next segment would have taken 64 MiB, and a disk with less never had room for it.
/// Consequence: writes waited although there was room for them. Fix: after some attempts the log
/// takes a smaller segment. The message names the size that found no room.
#[test]
fn a_disk_without_room_for_a_large_segment_gets_a_smaller_one() {
    let sim = SimStorage::new();
    let options = LogOptions { segment_bytes: 64 << 20, ..options(1) };
    let (log, _) = Log::open(sim.share(), options, None).unwrap();
    sim.limit(Path::new(FOLDER), Some(7_500 << 10));
    let write = |number| put(&log, 0, number, 100_000).and_then(|epoch| log.wait_durable(epoch));
    let mut number = 1;
    let refused = loop {
        match write(number) {
            Ok(()) => number += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(refused, LogError::NoRoom { .. }), "{refused}");
    // The size depends on how often the log has waited for a segment. There is less room for it
    // now.
    let room = (1 << 20) + (256 << 10);
    let text = refused.to_string();
    let named = text.split_once("for its ").and_then(|(_, rest)| rest.split_once(" bytes"));
    let wanted = named.and_then(|(bytes, _)| bytes.parse::<u64>().ok());
    assert!(wanted.is_some_and(|wanted| wanted > room), "{text}");
    let used: usize = segment_files(&sim).iter().map(|path| sim.contents(path).len()).sum();
    sim.limit(Path::new(FOLDER), Some(used as u64 + room));
    let began = Instant::now();
    while log.poisoned().is_some() {
        assert!(began.elapsed() < Duration::from_secs(60), "writes do not continue");
        std::thread::sleep(Duration::from_millis(5));
    }
    (number + 1..number + 4).for_each(|number| write(number).unwrap());
    let last = segment_files(&sim).pop().unwrap();
    assert_eq!(sim.contents(&last).len(), 1 << 20);
    sim.reboot(number);
    let mut found = inspect(&sim).unwrap();
    // The refused record may be there or not.
    found.retain(|found| *found != number);
    assert!(found.into_iter().eq((1..number).chain(number + 1..number + 4)));
}

/// Incident: at `buffered`, writes were acknowledged while the log had no room for them.
/// Consequence: they stayed in memory while the disk was full, and a kill lost hundreds of them.
/// Fix: operations enter only while all that the buffer holds has a place on the disk.
#[test]
fn acknowledged_writes_at_buffered_become_durable_on_a_full_disk() {
    for (logs, segment_bytes, len) in [(1, 1 << 20, 20_000), (3, 64 << 10, 500), (4, 64 << 20, 20_000)] {
        let sim = SimStorage::new();
        let log = open_buffered(&sim, logs, segment_bytes);
        sim.limit(Path::new(FOLDER), Some(20 << 20));
        let (expected, epoch) = fill(&log, logs, len);
        assert!(becomes_durable(&log, epoch), "{logs} logs: {epoch} is not durable: {log:?}");
        assert!(log.poisoned().is_some(), "{logs} logs: writes continue on a full disk");
        sim.reboot(logs as u64);
        assert!(expected.len() as u64 * len as u64 > 2 << 20, "{logs} logs: {} records fit", expected.len());
        assert!(inspect(&sim).unwrap() == expected, "{logs} logs: records are missing after the power cut");
    }
}

/// Incident: a log that was closed while the disk was full ended with an error, and lost the
/// records in memory. Fix: every acknowledged record has a place, so the close is clean.
#[test]
fn a_close_on_a_full_disk_keeps_all_acknowledged_writes() {
    let sim = SimStorage::new();
    let options = LogOptions { durability: Durability::Buffered, segment_bytes: 1 << 20, ..options(2) };
    let (log, _) = Log::open(sim.share(), options, None).unwrap();
    sim.limit(Path::new(FOLDER), Some(8 << 20));
    let mut number = 0;
    while put(&log, (number % 2) as usize, number, 10_000).is_ok() {
        number += 1;
    }
    log.close().unwrap();
    drop(log);
    sim.reboot(1);
    assert!(inspect(&sim).unwrap().into_iter().eq(0..number));
}

/// Incident: the error of a stop on a full disk said twice that writes are stopped, and then to make
/// room and to repair the disk. Consequence: the reader did not know which. Fix: the failure of the
/// close names the first cause alone.
#[test]
fn a_close_that_finds_no_room_gives_its_cause_once() {
    let sim = SimStorage::new();
    let (log, _) = open(&sim, 2).unwrap();
    sim.fail_at(sim.operations() + 1, SimError::NoSpace, true);
    let refused = |number| put(&log, 0, number, 9_000).and_then(|epoch| log.wait_durable(epoch)).err();
    let error = (0..1_000).find_map(refused).expect("the disk is full");
    assert!(matches!(error, LogError::NoRoom { .. }), "{error}");
    let LogError::Poisoned { cause } = log.close().expect_err("nothing can be written") else {
        panic!("the close has another error");
    };
    assert!(!cause.contains("writes are stopped"), "{cause}");
}

/// Makes writes wait for the fault. The threads decide how often: the next segments may be ready
/// before the fault.
fn writes_wait_for(fault: SimError) {
    let mut waited = 0;
    for _ in 0..100 {
        waited += count_waits(fault);
        if waited > 10 {
            return;
        }
    }
    panic!("in 100 rounds, {waited} writes waited for {fault:?}");
}

/// Injects the fault at each operation, and ends it when writes wait for it. Returns the number of
/// writes that waited.
fn count_waits(fault: SimError) -> u32 {
    let mut waited = 0;
    for at in 1..200 {
        let sim = SimStorage::new();
        let (log, _) = open(&sim, 2).unwrap();
        let mut written = AcknowledgedWrites::default();
        run(&log, 0, 5, &mut written).unwrap();
        sim.fail_at(sim.operations() + at, fault, true);
        let context = format!("{fault:?} from operation {at} on");
        for number in 6..=30 {
            written.appended = number;
            let put = retry_when_there_is_space(&log, &sim, &mut waited, || {
                put(&log, (number / 3) as usize % 2, number, 9_000)
            });
            let durable = put.and_then(|epoch| {
                retry_when_there_is_space(&log, &sim, &mut waited, || log.wait_durable(epoch))
            });
            match durable {
                Ok(()) => written.acknowledged = number,
                // A failed sync is never tried again.
                Err(LogError::Poisoned { cause }) if fault == SimError::NoSpace => {
                    assert!(cause.contains("sync"), "{context}: {cause}");
                    written.appended = number;
                    break;
                }
                Err(error) => panic!("{context}: {error}"),
            }
        }
        let all = log.close().is_ok();
        sim.no_faults();
        sim.reboot(at);
        let found = inspect(&sim).unwrap_or_else(|error| panic!("{context}: {error}"));
        check_prefix(&found, written, &context);
        assert!(!all || found.len() == 30, "{context}: {} records of 30", found.len());
    }
    waited
}

/// Runs the operation. If there is no space, makes some, waits until the log has noticed, and runs
/// it again.
fn retry_when_there_is_space<T>(
    log: &Log,
    sim: &SimStorage,
    waited: &mut u32,
    what: impl Fn() -> Result<T, LogError>,
) -> Result<T, LogError> {
    loop {
        match what() {
            Err(LogError::NoRoom { cause }) => {
                assert!(cause.contains("/data/logs"), "{cause}");
                *waited += 1;
                sim.no_faults();
                while matches!(log.poisoned(), Some(LogError::NoRoom { .. })) {
                    std::thread::sleep(std::time::Duration::from_millis(5));
                }
            }
            other => return other,
        }
    }
}
