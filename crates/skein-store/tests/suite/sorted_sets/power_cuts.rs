//! Sorted sets after power cuts: a command is there whole, or not at all.

use std::ops::Bound::Unbounded;
use std::ops::ControlFlow;

use super::{SetsByKey, put, read};
use crate::power_cut_harness::{CutHistory, cut_everywhere};
use skein_store::{Error, RowWriter as _, ScanDirection, Store};

fn state_of(store: &Store) -> SetsByKey {
    let session = store.session();
    let mut keys = Vec::new();
    session.scan((Unbounded, Unbounded), ScanDirection::Forward, |key, row| {
        keys.push((key.to_vec(), row.value().is_some()));
        ControlFlow::Continue(())
    });
    keys.into_iter()
        .map(|(key, value)| if value { (key, None) } else { (key.clone(), read(&session, &key)) })
        .collect()
}

/// Ignores the error for a key that holds a value.
fn unless_wrong_kind<R>(done: Result<R, Error>) -> Result<(), Error> {
    match done {
        Err(Error::WrongKind { .. }) => Ok(()),
        done => done.map(drop),
    }
}

/// Sets are made, changed, replaced and removed, with checkpoints in between. Stops at the first
/// error.
fn workload(store: &Store, history: &mut CutHistory<SetsByKey>) -> Result<(), Error> {
    let mut sessions = [store.session(), store.session()];
    for step in 0..26u32 {
        let key = [b'k', (step % 3) as u8];
        let members = [[(step % 4) as u8], [(step % 5) as u8 + 8]];
        let session = &mut sessions[step as usize % 2];
        let done = match step % 9 {
            4 => session.write(|w| w.remove(&key).map(drop)),
            6 => session.write(|w| w.put(&key, b"value").map(drop)),
            7 => session.write(|w| w.remove(&[b'k', 0]).map(drop)),
            3 | 8 => session.write(|w| {
                let emptied = w.change_set::<_, Error>(&key, false, |set| {
                    if step % 9 == 8 {
                        set.clear();
                        return Ok(());
                    }
                    let mut all = Vec::new();
                    set.walk(0, ScanDirection::Forward, |_, member| {
                        all.push(member.to_vec());
                        ControlFlow::Continue(())
                    })?;
                    all.iter().try_for_each(|member| set.remove(member).map(drop))
                });
                unless_wrong_kind(emptied)
            }),
            _ => session.write(|w| {
                unless_wrong_kind(w.change_set::<_, Error>(&key, true, |set| {
                    members.iter().try_for_each(|member| set.put(member, f64::from(step % 3)).map(drop))
                }))
            }),
        };
        if let Ok((result, _)) = &done {
            result.clone()?;
        }
        history.note(store, state_of(store), done.map(|(_, ticket)| ticket))?;
        if step % 8 == 7 {
            store.checkpoint()?;
        }
    }
    Ok(())
}

#[test]
fn power_cuts_leave_commands_whole() {
    cut_everywhere(workload, state_of, |store| {
        let mut session = store.session();
        put(&mut session, b"new", &[(b"a", 1.0)]);
        assert_eq!(read(&session, b"new").unwrap().len(), 1);
    });
}
