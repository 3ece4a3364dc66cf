//! Groups and commands with one write that the index refuses, for each of their writes. `replacing`
//! has those that replace contents, or first remove and then add.

mod replacing;

use std::collections::BTreeMap;
use std::ops::Bound::Unbounded;
use std::path::Path;

use crate::index::planted;
use crate::session::undo_journal::UndoJournal;
use crate::{
    Batch, CollectionReads as _, Error, IndexKind, RowWriter as _, ScanDirection, Session, Store,
    StoreOptions,
};

/// The contents of a store, key by key.
type GroupContents = BTreeMap<Vec<u8>, String>;

fn open(path: &Path, index: IndexKind) -> Store {
    let options = StoreOptions {
        index,
        logs: 1,
        recovery_threads: 1,
        expiry_interval: None,
        ..StoreOptions::default()
    };
    Store::open(path, options).unwrap()
}

fn contents(store: &Store) -> GroupContents {
    let mut found = GroupContents::new();
    store.session().scan((Unbounded, Unbounded), ScanDirection::Forward, |key, row| {
        let mut members = Vec::new();
        if let Some(set) = row.sorted_set() {
            let set = set.read();
            set.members_after(None, |member, score| {
                let rank = set.rank(score, member);
                members.push(format!("{}: {score}, number {rank}", member.escape_ascii()));
                std::ops::ControlFlow::Continue(())
            });
            assert_eq!(set.len(), members.len() as u64);
        }
        let columns = row.read_columns().map(|columns| {
            let all = columns.to_vec();
            assert_eq!(all.len(), columns.len());
            all.iter()
                .map(|(name, value)| format!("{}={} ", name.escape_ascii(), value.escape_ascii()))
                .collect::<Vec<_>>()
        });
        let held = format!("{:?} {columns:?} {members:?} until {:?}", row.value(), row.expires_at());
        found.insert(key.to_vec(), held);
        std::ops::ControlFlow::Continue(())
    });
    found
}

fn assert_same(store: &Store, before: &GroupContents, context: &str) {
    let after = contents(store);
    for key in before.keys().chain(after.keys()) {
        assert_eq!(after.get(key), before.get(key), "{context}: {}", key.escape_ascii());
    }
}

fn columns(from: u32, to: u32) -> Vec<(Vec<u8>, Vec<u8>)> {
    (from..to).map(|at| (at.to_be_bytes().to_vec(), b"value".to_vec())).collect()
}

fn borrowed(columns: &[(Vec<u8>, Vec<u8>)]) -> Vec<(&[u8], &[u8])> {
    columns.iter().map(|(name, value)| (&name[..], &value[..])).collect()
}

fn session_of(store: &Store) -> Session {
    let mut session = store.session();
    session.spread_columns(true);
    session
}

/// Puts one key of each kind, and several keys of some kinds.
fn fill(store: &Store) {
    let far = session_of(store).now() + 10_000_000;
    for key in ["value", "goes", "kept"] {
        store.put(key.as_bytes(), b"old").unwrap();
    }
    store.put_until(b"until", b"old", far).unwrap();
    store.put_columns(b"few", &borrowed(&columns(0, 3))).unwrap();
    store.put_columns(b"row", &borrowed(&columns(0, 60))).unwrap();
    let (done, _) = session_of(store)
        .write(|writer| {
            for key in [b"many1", b"many2", b"many3"] {
                writer.put_columns(key, &borrowed(&columns(0, 70)))?;
            }
            for key in [b"set1", b"set2", b"set3"] {
                writer.change_set::<_, Error>(key, true, |set| {
                    (0..5_u8).try_for_each(|goose| set.put(&[goose], f64::from(goose)).map(drop))
                })?;
            }
            writer.expire(b"set2", Some(far))
        })
        .unwrap();
    done.unwrap();
}

/// Returns a batch with every kind of write, applied to every kind of row.
fn batch() -> Batch {
    let mut batch = Batch::new();
    batch.put("value", "new").put("added", "new").put("until", "new").put("many1", "new").put("set1", "new");
    batch.put_until("kept", "new", u64::MAX / 4).put_until("added2", "new", u64::MAX / 4);
    batch.put_columns("few", &borrowed(&columns(2, 5)));
    batch.put_columns("row", &borrowed(&columns(50, 80)));
    batch.put_columns("many2", &borrowed(&columns(69, 72))).put_columns("many2", &borrowed(&columns(70, 74)));
    batch.remove("many3").put_columns("many3", &borrowed(&columns(0, 2)));
    batch.put("value", "newer").remove("added2").put("added2", "again");
    batch.put("goes", "for a moment").remove("goes").remove("set2").remove("absent");
    batch
}

/// Runs `write` on a store with the contents of `fill`, once for each of its writes, and refuses
/// that write. Each time the contents must be unchanged, for readers and after a restart. In the
/// last run nothing is refused, and the contents must change. Returns the number of writes.
fn refuse_each(index: IndexKind, write: impl Fn(&mut Session) -> Result<(), Error>) -> usize {
    let folder = tempfile::tempdir().unwrap();
    let mut store = open(folder.path(), index);
    fill(&store);
    let before = contents(&store);
    for writes in 0.. {
        let mut session = session_of(&store);
        planted::refuse_after(Some(writes));
        let done = write(&mut session);
        let refused = !planted::is_waiting();
        planted::refuse_after(None);
        drop(session);
        if !refused {
            done.unwrap();
            assert_ne!(contents(&store), before, "{index}: nothing was written");
            return writes;
        }
        assert!(matches!(done, Err(Error::IndexFull { keys: 77 })), "{index}, after {writes}: {done:?}");
        assert_same(&store, &before, &format!("{index}: refused after {writes} writes"));
        // Collections must still be collections.
        let (put, _) = session_of(&store)
            .write(|writer| {
                writer.change_set::<_, Error>(b"set1", false, |set| set.put(&[writes as u8, 1], 9.0))?;
                writer.put_columns(b"many1", &[(b"more", &[writes as u8])])
            })
            .unwrap();
        put.unwrap();
        let (back, _) = session_of(&store)
            .write(|writer| {
                writer.change_set::<_, Error>(b"set1", false, |set| set.remove(&[writes as u8, 1]))?;
                writer.remove_columns(b"many1", &[b"more"])
            })
            .unwrap();
        back.unwrap();
        // Reopens after a third of the writes, other writes for each index; the log is the same for
        // all indexes.
        if (writes + index as usize).is_multiple_of(3) {
            store.close().unwrap();
            drop(store);
            store = open(folder.path(), index);
            assert_same(
                &store,
                &before,
                &format!("{index}: refused after {writes} writes, and opened again"),
            );
        }
    }
    unreachable!("a write ends")
}

/// Incident: if a write of a batch was refused late, the earlier writes stayed, for readers and in
/// the log. But `apply` promises all or nothing. Fix: the writes are undone, in the epoch of the
/// batch.
#[test]
fn a_batch_refused_at_any_write_leaves_nothing() {
    for index in IndexKind::ALL {
        let writes = refuse_each(index, |session| session.apply(&batch()).map(drop));
        assert!(writes > 15, "{index}: {writes} writes");
    }
}

/// The same for MSET, alone and in an open batch, where earlier writes must stay.
#[test]
fn an_mset_refused_at_any_write_leaves_nothing() {
    let pairs: [(&[u8], &[u8]); 6] = [
        (b"value", b"1"),
        (b"new", b"2"),
        (b"value", b"3"),
        (b"few", b"4"),
        (b"many1", b"5"),
        (b"set1", b"6"),
    ];
    for index in IndexKind::ALL {
        assert_eq!(refuse_each(index, |session| session.put_all(&pairs).map(drop)), 6);
        let in_batch = |session: &mut Session| {
            let mut batch = session.open_batch()?;
            let done = batch.put_all(&pairs);
            batch.commit()?;
            done
        };
        assert_eq!(refuse_each(index, in_batch), 6);
    }
}

/// Incident: a command for several columns or members stopped half-way, too: an HSET of three
/// columns had put two when it returned the error.
#[test]
fn a_command_refused_at_any_write_leaves_nothing() {
    let write = |session: &mut Session, change: &dyn Fn(&mut crate::Writer<'_>) -> Result<(), Error>| {
        session.write(|writer| change(writer)).unwrap().0
    };
    for index in IndexKind::ALL {
        let put = refuse_each(index, |session| {
            write(session, &|writer| writer.put_columns(b"many1", &borrowed(&columns(68, 73))).map(drop))
        });
        assert_eq!(put, 5, "{index}");
        let spread = refuse_each(index, |session| {
            write(session, &|writer| writer.put_columns(b"row", &borrowed(&columns(0, 70))).map(drop))
        });
        assert_eq!(spread, 71, "{index}");
        let gone = refuse_each(index, |session| {
            write(session, &|writer| writer.remove_columns(b"many1", &[&[0; 4], &[0, 0, 0, 1]]).map(drop))
        });
        assert_eq!(gone, 2, "{index}");
        let changed = refuse_each(index, |session| {
            write(session, &|writer| {
                let changed = writer.change_set::<_, Error>(b"set1", false, |set| {
                    set.put(&[9], 0.5)?;
                    set.put(&[3], 7.5)?;
                    set.remove(&[2])?;
                    set.put(&[2], 1.5)?;
                    set.put(&[9], 4.5).map(drop)
                });
                changed.map(drop)
            })
        });
        // A member that is removed and put again is written once.
        assert_eq!(changed, 4, "{index}");
        let cleared = refuse_each(index, |session| {
            write(session, &|writer| {
                let changed = writer.change_set::<_, Error>(b"set1", false, |set| {
                    set.clear();
                    set.put(&[7], 0.5)?;
                    set.put(&[1], 0.5).map(drop)
                });
                changed.map(drop)
            })
        });
        assert_eq!(cleared, 6, "{index}");
    }
}

/// Incident: a batch with a key that is too long for the index failed at the removal of that key,
/// after its first puts. Fix: such a key cannot exist, so its removal does nothing, and a put of it
/// is rejected before the first write.
#[test]
fn a_batch_with_a_key_too_long_for_the_index() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), IndexKind::Mlp);
    let long = "longer than eight bytes";
    assert!(!store.remove(long.as_bytes()).unwrap() && !store.expire(long.as_bytes(), 5).unwrap());
    let mut batch = Batch::new();
    store.apply(batch.put("a", "1").remove(long).put("b", "2")).unwrap();
    assert_eq!(store.len(), 2);
    let refused = store.apply(batch.put("c", "3").put(long, "4"));
    assert!(matches!(refused, Err(Error::KeyTooLong { len: 23, limit: 8 })), "{refused:?}");
    assert!(store.get(b"c").unwrap().is_none());
}

/// Incident: a column name that was too long, once the batch itself had spread the columns, stopped
/// the batch half-way.
#[test]
fn a_batch_with_a_name_too_long_to_spread() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), IndexKind::default());
    let long = vec![b'n'; crate::MEMBER_BYTES_MAX + 1];
    let mut batch = Batch::new();
    batch.put("other", "1").put_columns("h", &borrowed(&columns(0, 65)));
    batch.put_columns("h", &[(&long, b"v")]).put("last", "2");
    let refused = session_of(&store).apply(&batch);
    assert!(matches!(refused, Err(Error::ColumnNameTooLong { .. })), "{refused:?}");
    assert!(store.is_empty());
    store.close().unwrap();
    assert!(open(folder.path(), IndexKind::default()).is_empty());
}

/// Found by reading the code: another session removed all former columns of a hash, and then a
/// group was refused and removed its own column. An empty hash stayed, which no command makes. Fix:
/// an undo, too, removes a key with its last member.
#[test]
fn an_undone_group_leaves_no_empty_hash() {
    for index in IndexKind::ALL {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path(), index);
        let old = columns(0, 70);
        session_of(&store).write(|writer| writer.put_columns(b"many", &borrowed(&old))).unwrap().0.unwrap();
        let mut session = session_of(&store);
        let undone = session.write(|writer| {
            writer.journal = Some(UndoJournal::default());
            writer.put_columns(b"many", &[(b"new", b"value")]).unwrap();
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    let names: Vec<&[u8]> = old.iter().map(|(name, _)| &name[..]).collect();
                    let gone = session_of(&store).write(|writer| writer.remove_columns(b"many", &names));
                    assert_eq!(gone.unwrap().0.unwrap(), 70);
                });
            });
            assert_eq!(
                writer.get_with(b"many", |row| row.map(|row| row.read_columns().unwrap().len())),
                Some(1)
            );
            let journal = writer.journal.take().unwrap();
            writer.undo(journal, |_| b"many");
        });
        undone.unwrap();
        assert_eq!(contents(&store), GroupContents::new(), "{index}");
        drop(session);
        store.close().unwrap();
        drop(store);
        assert!(open(folder.path(), index).is_empty());
    }
}
