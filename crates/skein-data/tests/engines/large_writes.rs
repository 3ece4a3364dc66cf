//! Writes of more pages than the cache of the disk engine (contract 1 and 2).

use std::time::{Duration, Instant};

use skein_data::{Engine, EngineError, EngineSession, EngineWriter, RowWriter};
use skein_log::storage::sim::{SimError, SimStorage};
use skein_store::ExpiryClock;

use crate::contents::state_of;
use crate::engines::{on_disk, over_each};

/// The time after which a test gives up.
const PATIENCE: Duration = Duration::from_secs(60);

type Write = fn(&mut EngineWriter<'_, '_>) -> Result<(), EngineError>;

static VALUE: [u8; 61] = [b'x'; 61];

/// Returns a name that is far from the names of the numbers beside it.
fn scattered(number: u32) -> Vec<u8> {
    format!("{:08x}", number.wrapping_mul(0x9e37_79b9)).into_bytes()
}

/// Incident: the disk engine refused a write when its pages filled the cache. A command of many
/// members was refused in its middle, and the writes that undo it were refused, too. Consequence: a
/// part of the command stayed, the number of members was wrong, and whole rows were lost. Fix: a
/// refused step of a write undoes its transaction, and pages beyond the cache are spilled.
#[test]
fn a_write_of_more_pages_than_the_cache_is_done() {
    let reference = std::cell::OnceCell::new();
    over_each(|kind| {
        let engine = kind.open_fresh();
        let mut session = engine.session();
        for from in (0..8000).step_by(20) {
            let names: Vec<Vec<u8>> = (from..from + 20).map(scattered).collect();
            let columns: Vec<(&[u8], &[u8])> = names.iter().map(|name| (&name[..], &VALUE[..60])).collect();
            let (hash, _) = session.keys().write(|writer| writer.put_columns(b"hash", &columns).map(drop));
            let (set, _) = session.keys().write(|writer| {
                writer.change_set::<_, EngineError>(b"set", true, |set| {
                    names.iter().try_for_each(|name| set.put(name, 1.0).map(drop).map_err(Into::into))
                })
            });
            hash.and(set).expect("batches").expect("small writes");
        }
        for number in 0..50u32 {
            let member = [&number.to_be_bytes()[..], &[b'k'; 9000][..]].concat();
            let (done, _) = session.keys().write(|writer| {
                writer.change_set::<_, EngineError>(b"big", true, |set| Ok(set.put(&member, 1.0)?))
            });
            done.expect("a batch").expect("a small write");
        }
        for (what, write) in LARGE {
            let (done, _) = session.keys().write(write);
            done.expect("a batch").unwrap_or_else(|error| panic!("{kind}, {what}: {error}"));
        }
        let after = state_of(&mut session.keys()).expect("the contents");
        assert_eq!(engine.len(), after.len(), "{kind}");
        assert!(*reference.get_or_init(|| after.clone()) == after, "{kind} has other contents");
    });
}

/// Writes of many pages.
const LARGE: [(&str, Write); 7] = [
    ("columns", |writer| {
        let names: Vec<Vec<u8>> = (7200..8400).map(scattered).collect();
        let columns: Vec<(&[u8], &[u8])> = names.iter().map(|name| (&name[..], &VALUE[..])).collect();
        writer.put_columns(b"hash", &columns).map(drop)
    }),
    ("members", |writer| {
        writer.change_set::<_, EngineError>(b"set", true, |set| {
            (4000..12_000)
                .try_for_each(|number| set.put(&scattered(number), 2.0).map(drop).map_err(Into::into))
        })?;
        Ok(())
    }),
    ("members, after another write", |writer| {
        writer.put(b"other", b"x")?;
        writer.change_set::<_, EngineError>(b"set", true, |set| {
            (4000..12_000)
                .try_for_each(|number| set.put(&scattered(number), 3.0).map(drop).map_err(Into::into))
        })?;
        Ok(())
    }),
    ("removal of members", |writer| {
        writer.change_set::<_, EngineError>(b"set", false, |set| {
            (0..7000).try_for_each(|number| set.remove(&scattered(number)).map(drop).map_err(Into::into))
        })?;
        Ok(())
    }),
    ("copy", |writer| writer.copy(b"big", b"twin", true).map(drop)),
    ("expiry in the past", |writer| writer.expire(b"big", Some(1)).map(drop)),
    ("removal", |writer| writer.remove(b"big").map(drop)),
];

/// Puts columns with numbered names into a hash.
fn put_columns(
    session: &mut EngineSession,
    key: &[u8],
    numbers: std::ops::Range<u32>,
) -> Result<(), EngineError> {
    let names: Vec<Vec<u8>> = numbers.map(scattered).collect();
    let columns: Vec<(&[u8], &[u8])> = names.iter().map(|name| (&name[..], &VALUE[..])).collect();
    session.keys().write(|writer| writer.put_columns(key, &columns).map(drop)).0?
}

fn store_of(engine: &Engine) -> &skein_disk::DiskStore {
    match engine {
        Engine::Disk(disk) => disk.store(),
        Engine::Memory(_) => panic!("no disk engine"),
    }
}

/// Repeats a write until the log has noticed that the disk has room again. A thread of the log may
/// have met the full disk, too, and looks again after a moment.
fn until_there_is_room(mut write: impl FnMut() -> Result<(), EngineError>) {
    let since = Instant::now();
    while let Err(error) = write() {
        assert!(since.elapsed() < PATIENCE, "there is room again: {error}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Incident: the disk was full when a page of a large command was spilled. The command undid its
/// steps, and its transaction continued. Consequence: the steps and their reversals were published
/// and logged, so each refused command used up space, and a restart needed room for them. Fix: a
/// page that cannot be spilled fails the transaction.
#[test]
fn a_large_write_on_a_full_disk_is_not_logged() {
    for kind in on_disk() {
        let disk = SimStorage::new();
        let engine = kind.open(&disk, &ExpiryClock::manual(1_000_000)).expect("an engine");
        let mut session = engine.session();
        (0..4000)
            .step_by(500)
            .for_each(|from| put_columns(&mut session, b"hash", from..from + 500).expect("a put"));
        let before = store_of(&engine).stats().sequence;
        disk.fail_at(disk.operations() + 1, SimError::NoSpace, true);
        put_columns(&mut session, b"hash", 2000..40_000).expect_err("a full disk");
        disk.no_faults();
        assert_eq!(store_of(&engine).stats().sequence, before, "{kind}");
        until_there_is_room(|| put_columns(&mut session, b"hash", 0..10));
        store_of(&engine).check().expect("whole pages");
    }
}

/// Incident: a large collection was replaced again and again by a copy. Consequence: the large
/// writes delayed the thread that removes members, and the file grew without end. Fix: a write that
/// replaces a collection removes as many members as it writes.
#[test]
fn a_collection_that_is_replaced_again_and_again_leaves_no_members() {
    for kind in on_disk() {
        let engine = kind.open_fresh();
        let mut session = engine.session();
        (0..4000)
            .step_by(500)
            .for_each(|from| put_columns(&mut session, b"hash", from..from + 500).expect("a put"));
        let mut copy = || {
            session
                .keys()
                .write(|writer| writer.copy(b"hash", b"twin", true))
                .0
                .expect("a batch")
                .expect("a copy")
        };
        copy();
        let once = store_of(&engine).pages_in_use();
        (0..10).for_each(|_| _ = copy());
        let pages = store_of(&engine).pages_in_use();
        assert!(pages < once * 3 / 2, "{kind}: {pages} pages, {once} after the first copy");
    }
}
