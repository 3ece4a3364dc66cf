//! Writes that replace the contents of a key, and changes that first remove and then add.

use super::*;
use crate::{SetWriter, Writer};

type RemoveWrite = fn(&mut Writer<'_>, &[u8]) -> Result<(), Error>;
type SetChange = fn(&mut SetWriter<'_>) -> Result<(), Error>;

/// Runs `change` as one write.
fn write(
    session: &mut Session,
    change: impl FnOnce(&mut Writer<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    session.write(change).unwrap().0
}

fn put_three(set: &mut SetWriter<'_>) -> Result<(), Error> {
    (0..3_u8).try_for_each(|duck| set.put(&[duck], 1.5).map(drop))
}

/// One key of each kind, with and without a time of expiry.
const KEYS: [&[u8]; 8] = [b"value", b"until", b"few", b"row", b"many1", b"set1", b"set2", b"absent"];

/// Incident: a copy and a stored union removed the old contents of the key before they wrote the
/// new ones. If a new member or the time of expiry was refused, the old contents were lost. Fix:
/// the new contents are complete before they replace the old ones.
#[test]
fn a_replacement_refused_at_any_write_leaves_the_old_value() {
    let far = u64::MAX / 4;
    for index in IndexKind::ALL {
        for (number, key) in KEYS.into_iter().enumerate() {
            // Each key is tested with both values, on some index.
            let expires = (number + index as usize).is_multiple_of(2).then_some(far);
            let writes = refuse_each(index, |session| {
                write(session, |writer| writer.replace_set(key, expires, put_three))
            });
            assert_eq!(writes, 4, "{index}: three members and the row");
            let writes = refuse_each(index, |session| {
                let columns = columns(100, 105);
                write(session, |writer| writer.replace_columns(key, &borrowed(&columns), expires))
            });
            assert_eq!(writes, 1, "{index}");
        }
        let (key, expires) = if (index as usize).is_multiple_of(2) {
            (&b"many1"[..], None)
        } else {
            (&b"until"[..], Some(far))
        };
        let columns = columns(60, 130);
        let writes = refuse_each(index, |session| {
            write(session, |writer| writer.replace_columns(key, &borrowed(&columns), expires))
        });
        assert_eq!(writes, 71, "{index}");
    }
}

/// A replaced key has exactly the new contents with the new time of expiry, also after a restart.
#[test]
fn a_replaced_key_holds_what_it_was_given() {
    let far = u64::MAX / 4;
    for index in IndexKind::ALL {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path(), index);
        for (number, key) in KEYS.into_iter().enumerate() {
            fill(&store);
            let mut session = session_of(&store);
            let expires = (number % 2 == 0).then_some(far);
            let expect = |context: &str, expected: &str| {
                let held = contents(&store).remove(key);
                assert_eq!(held.as_deref(), Some(expected), "{index}, {}, {context}", key.escape_ascii());
            };
            write(&mut session, |writer| writer.replace_set(key, expires, put_three)).unwrap();
            let members: Vec<_> =
                (0..3_u8).map(|duck| format!("{}: 1.5, number {duck}", [duck].escape_ascii())).collect();
            expect("a set", &format!("None None {members:?} until {expires:?}"));
            for count in [3, 90] {
                let columns = columns(100, 100 + count);
                write(&mut session, |writer| writer.replace_columns(key, &borrowed(&columns), expires))
                    .unwrap();
                let columns: Vec<_> = columns
                    .iter()
                    .map(|(name, value)| format!("{}={} ", name.escape_ascii(), value.escape_ascii()))
                    .collect();
                expect("columns", &format!("None {:?} [] until {expires:?}", Some(columns)));
            }
            let empty: [RemoveWrite; 2] = [
                |writer, key| writer.replace_set(key, None, |_| Ok(())),
                |writer, key| writer.replace_columns(key, &[], None),
            ];
            if number > 2 {
                write(&mut session, |writer| empty[number % 2](writer, key)).unwrap();
                assert!(!contents(&store).contains_key(key), "{index}, {}", key.escape_ascii());
            }
        }
        let before = contents(&store);
        store.close().unwrap();
        drop(store);
        assert_same(&open(folder.path(), index), &before, "opened again");
    }
}

/// A replacement that exceeds a limit by its arguments alone writes nothing.
#[test]
fn a_replacement_over_a_limit_leaves_the_old_value() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path(), IndexKind::default());
    let longest = vec![b'k'; crate::KEY_BYTES_MAX];
    let long_name = vec![b'n'; crate::MEMBER_BYTES_MAX + 1];
    store.put(&longest, b"old").unwrap();
    fill(&store);
    let before = contents(&store);
    let mut session = session_of(&store);
    let many = columns(0, 90);
    let far = Some(u64::MAX / 4);
    for refused in [
        write(&mut session, |writer| writer.replace_set(&longest, far, put_three)),
        write(&mut session, |writer| writer.replace_columns(&longest, &borrowed(&many), far)),
        write(&mut session, |writer| writer.replace_columns(&longest, &borrowed(&many[..2]), far)),
        write(&mut session, |writer| {
            writer.replace_set(b"set1", None, |set| {
                put_three(set)?;
                set.put(&long_name, 1.0).map(drop)
            })
        }),
        write(&mut session, |writer| {
            writer.replace_set(b"value", None, |set| {
                put_three(set)?;
                set.put(b"drake", f64::NAN).map(drop)
            })
        }),
    ] {
        assert!(refused.is_err());
        assert_same(&store, &before, &format!("{refused:?}"));
    }
    store.set_memory_limit(Some(1), crate::Eviction::None);
    for refused in [
        write(&mut session_of(&store), |writer| writer.replace_set(b"set1", None, put_three)),
        write(&mut session_of(&store), |writer| writer.replace_columns(b"many1", &borrowed(&many), None)),
    ] {
        assert!(matches!(refused, Err(Error::OverBudget { .. })), "{refused:?}");
        assert_same(&store, &before, "over the budget");
    }
}

/// Incident: a refused change put the members that it had removed back into a full index. Another
/// writer had taken their places meanwhile, so they were lost, and only the server's log told it.
/// Fix: a removed member keeps its place until the change is complete.
#[test]
fn members_removed_by_a_refused_change_keep_their_places() {
    let changes: [SetChange; 4] = [
        |set| {
            set.remove(&[2])?;
            set.put(&[9], 0.5).map(drop)
        },
        |set| {
            set.put(&[3], 7.5)?;
            set.remove(&[3])?;
            set.remove(&[1])?;
            set.put(&[1], 8.5)?;
            set.put(&[9], 4.5).map(drop)
        },
        |set| {
            set.clear();
            set.put(&[0], 0.5)?;
            set.put(&[9], 0.5).map(drop)
        },
        |set| {
            (0..5).try_for_each(|goose| set.remove(&[goose]).map(drop))?;
            set.put(&[9], 0.5).map(drop)
        },
    ];
    for index in IndexKind::ALL {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path(), index);
        fill(&store);
        let before = contents(&store);
        let mut session = session_of(&store);
        for (number, change) in changes.iter().enumerate() {
            let refused = planted::while_full(|| {
                write(&mut session, |writer| writer.change_set(b"set1", false, change).map(drop))
            });
            assert!(matches!(refused, Err(Error::IndexFull { .. })), "{refused:?}");
            assert_same(&store, &before, &format!("{index}, change {number}"));
        }
        let batch = planted::while_full(|| session.apply(&batch()).map(drop));
        assert!(matches!(batch, Err(Error::IndexFull { .. })), "{batch:?}");
        assert_same(&store, &before, &format!("{index}, a batch"));
        let renamed = planted::while_full(|| {
            write(&mut session, |writer| writer.rename(b"set1", b"new", true).map(drop))
        });
        assert!(matches!(renamed, Err(Error::IndexFull { .. })), "{renamed:?}");
        assert_same(&store, &before, &format!("{index}, a new name"));
        drop(session);
        store.close().unwrap();
        drop(store);
        assert_same(&open(folder.path(), index), &before, "opened again");
    }
}

/// A change that removes, puts again and removes has the expected result, although the rows of
/// members are removed only at its end.
#[test]
fn removed_members_are_gone_for_the_rest_of_the_change() {
    for index in IndexKind::ALL {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path(), index);
        fill(&store);
        write(&mut session_of(&store), |writer| {
            writer
                .change_set::<_, Error>(b"set1", false, |set| {
                    assert_eq!(
                        (set.remove(&[1])?, set.remove(&[1])?, set.score(&[1])?),
                        (Some(1.0), None, None)
                    );
                    assert_eq!((set.put(&[1], 9.0)?, set.score(&[1])?), (None, Some(9.0)));
                    assert_eq!((set.remove(&[2])?, set.len()), (Some(2.0), 4));
                    assert_eq!((set.put(&[7], 0.5)?, set.remove(&[7])?, set.len()), (None, Some(0.5), 4));
                    Ok(())
                })
                .map(drop)
        })
        .unwrap();
        let gone = session_of(&store)
            .write(|writer| writer.remove_columns(b"many1", &[&[0; 4], &[0; 4], b"none", &[0, 0, 0, 1]]));
        assert_eq!(gone.unwrap().0.unwrap(), 2);
        let before = contents(&store);
        let members: Vec<_> = [(0_u8, 0.0, 0), (1, 9.0, 3), (3, 3.0, 1), (4, 4.0, 2)]
            .iter()
            .map(|(goose, score, rank)| format!("{}: {score}, number {rank}", [*goose].escape_ascii()))
            .collect();
        assert_eq!(before[&b"set1"[..]], format!("None None {members:?} until None"));
        store.close().unwrap();
        drop(store);
        assert_same(&open(folder.path(), index), &before, "opened again");
    }
}
