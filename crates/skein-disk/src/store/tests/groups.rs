//! Groups of keys that one transaction sets.

use super::DiskStore;
use crate::{KeySpace, Result, Values};

/// Keys of a group, which one transaction sets. Another key per group is added and removed.
pub(super) const GROUP: usize = 5;

pub(super) fn group_key(at: usize) -> Vec<u8> {
    format!("group/{}", at * 37 % 11).into_bytes()
}

fn has_members(store: &DiskStore) -> bool {
    store.options().values == Values::Rows
}

/// Returns a member's value. One of them has pages of its own.
fn member(number: usize, at: usize) -> String {
    format!("member {number}").repeat(if at == 2 { 600 } else { 1 })
}

/// Sets all keys of a group to a number, adds a key and removes the previous one. Does the same in
/// the space of members if the store has it.
pub(super) fn set_group(store: &DiskStore, number: usize) -> Result<()> {
    let key_of = |number: usize| format!("only/{number}").into_bytes();
    store.write(|transaction| {
        for at in 0..GROUP {
            // Long values have pages of their own, so that a torn group would be noticed.
            let value = number.to_string().repeat(if at == 3 { 600 } else { 1 });
            transaction.set(&group_key(at), value.as_bytes())?;
        }
        transaction.set(&key_of(number), b"")?;
        if number > 0 {
            assert!(transaction.remove(&key_of(number - 1))?);
        }
        if has_members(store) {
            let space = KeySpace::Members;
            for at in 0..GROUP {
                transaction.set_in(space, &group_key(at), member(number, at).as_bytes())?;
            }
            transaction.set_in(space, &key_of(number), b"")?;
            if number > 0 {
                assert!(transaction.remove_in(space, &key_of(number - 1))?);
            }
        }
        transaction.inc(b"groups", 1).map(|_| ())
    })
}

/// Returns how many groups were set. Checks that everything they wrote is there, and nothing else.
pub(super) fn groups(store: &DiskStore) -> usize {
    let count =
        store.get(b"groups").unwrap().map_or(0, |sum| String::from_utf8(sum).unwrap().parse().unwrap());
    let number = count - usize::from(count > 0);
    for at in (0..GROUP).filter(|_| count > 0) {
        let value = number.to_string().repeat(if at == 3 { 600 } else { 1 });
        assert_eq!(
            store.get(&group_key(at)).unwrap(),
            Some(value.into_bytes()),
            "key {at} of group {number}"
        );
        assert!(store.get(format!("only/{number}").as_bytes()).unwrap().is_some());
    }
    assert_eq!(store.len(), if count > 0 { GROUP as u64 + 2 } else { 0 });
    let census = store.check().unwrap();
    if has_members(store) {
        let members = store.space(KeySpace::Members).unwrap();
        for at in (0..GROUP).filter(|_| count > 0) {
            let value = Some(member(number, at).into_bytes());
            assert_eq!(members.get(&group_key(at)).unwrap(), value, "member {at} of group {number}");
        }
        assert_eq!(census.members.unwrap().keys, if count > 0 { GROUP + 1 } else { 0 });
    }
    count
}
