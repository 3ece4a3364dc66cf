//! Tests the batch of waiting changes against a map.

use std::collections::BTreeMap;

use crate::expiry_knowledge::ExpiryKnowledge::{Lasting, Unsure};
use crate::pending::{BYTES, CHANGES, KeyNameChange, PendingChanges};

fn settled(pending: &mut PendingChanges) -> Vec<(Vec<u8>, KeyNameChange)> {
    let mut settled = Vec::new();
    pending
        .settle(|changes| settled = changes.iter().map(|(name, change)| (name.to_vec(), *change)).collect());
    assert!(pending.is_empty());
    settled
}

#[test]
fn the_last_change_of_each_name_counts_and_names_are_in_order() {
    let (mut pending, mut state) = (PendingChanges::default(), 3_u64);
    let mut below = |end: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % end
    };
    for round in 0..300 {
        let mut model = BTreeMap::new();
        // Names that share a prefix or no prefix, that end early, that differ beyond eight bytes,
        // and of any bytes.
        let prefix = ["", "p", "prefix-of-all-names:"][round % 3];
        for _ in 0..below(CHANGES) {
            let number = below(60);
            let mut name = prefix.as_bytes().to_vec();
            match number % 4 {
                0 => name.extend(vec![number as u8; number / 4]),
                1 => name.extend([0, 255, number as u8]),
                2 => name.extend(format!("common-part-of-many-{number}").bytes()),
                _ => name.extend(vec![0; number % 12]),
            }
            let change =
                [KeyNameChange::Put(Lasting), KeyNameChange::Put(Unsure), KeyNameChange::Remove][below(3)];
            assert!(!pending.note(&name, change), "it is not full yet");
            model.insert(name, change);
        }
        assert_eq!(settled(&mut pending), model.into_iter().collect::<Vec<_>>());
    }
}

#[test]
fn a_batch_is_bounded_by_names_and_by_bytes() {
    let mut pending = PendingChanges::default();
    for number in 1..=CHANGES {
        assert_eq!(pending.note(b"name", KeyNameChange::Put(Lasting)), number == CHANGES);
    }
    assert_eq!(settled(&mut pending), [(b"name".to_vec(), KeyNameChange::Put(Lasting))]);
    let long = vec![b'x'; usize::from(u16::MAX)];
    assert!(!pending.note(&long, KeyNameChange::Put(Lasting)));
    assert!(pending.note(&long, KeyNameChange::Remove));
    assert_eq!(settled(&mut pending), [(long, KeyNameChange::Remove)]);
    assert!(pending.memory() <= BYTES + CHANGES * 16, "{} bytes are kept", pending.memory());
}
