//! Slotted pages against a model, and with damaged bytes.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::{BODY, PageRecords, PageRecordsMut, RecordId, SLOT};
use crate::page::PageId;

#[derive(Clone, Debug)]
enum RecordStep {
    Insert(usize, u8),
    Replace(usize, usize, u8),
    Remove(usize),
}

fn steps() -> impl Strategy<Value = Vec<RecordStep>> {
    let len = || prop_oneof![0_usize..40, 0_usize..1_500];
    let step = prop_oneof![
        4 => (len(), any::<u8>()).prop_map(|(len, byte)| RecordStep::Insert(len, byte)),
        3 => (any::<usize>(), len(), any::<u8>()).prop_map(|(at, len, byte)| RecordStep::Replace(at, len, byte)),
        3 => any::<usize>().prop_map(RecordStep::Remove),
    ];
    prop::collection::vec(step, 1..300)
}

fn pick(model: &BTreeMap<u16, Vec<u8>>, at: usize) -> Option<u16> {
    model.keys().nth(at % model.len().max(1)).copied()
}

proptest! {
    #[test]
    fn records_keep_their_contents(steps in steps()) {
        let mut body = vec![0; BODY];
        let mut model: BTreeMap<u16, Vec<u8>> = BTreeMap::new();
        for step in steps {
            let mut page = PageRecordsMut::of(&mut body).unwrap();
            let room = page.read().room();
            match step {
                RecordStep::Insert(len, byte) => {
                    let slot = page.insert(&vec![byte; len]).unwrap();
                    prop_assert_eq!(slot.is_some(), room.is_some_and(|room| len <= room));
                    if let Some(slot) = slot {
                        prop_assert_eq!(model.insert(slot, vec![byte; len]), None);
                    }
                }
                RecordStep::Replace(at, len, byte) => {
                    let Some(slot) = pick(&model, at) else { continue };
                    let bytes: usize = model.values().map(Vec::len).sum();
                    let slots = usize::from(model.keys().last().copied().unwrap_or(0)) + 1;
                    let fits = 8 + SLOT * slots + bytes - model[&slot].len() + len <= BODY;
                    prop_assert_eq!(page.replace(slot, &vec![byte; len]).unwrap(), fits);
                    if fits {
                        model.insert(slot, vec![byte; len]);
                    }
                }
                RecordStep::Remove(at) => {
                    let Some(slot) = pick(&model, at) else { continue };
                    page.remove(slot).unwrap();
                    model.remove(&slot);
                }
            }
            let page = PageRecords::of(&body).unwrap();
            prop_assert_eq!(page.check(), Ok(()));
            let found: Result<BTreeMap<u16, Vec<u8>>, String> =
                page.iter().map(|record| record.map(|(slot, bytes)| (slot, bytes.to_vec()))).collect();
            prop_assert_eq!(found.as_ref(), Ok(&model));
            prop_assert_eq!(page.len(), model.len());
            prop_assert_eq!(page.used(), model.values().map(|bytes| bytes.len() + SLOT).sum::<usize>());
            for (slot, bytes) in &model {
                prop_assert_eq!(page.get(*slot), Ok(&bytes[..]));
            }
        }
    }

    #[test]
    fn a_damaged_page_gives_errors_and_no_panic(
        head in prop::collection::vec(any::<u8>(), 8),
        small in any::<bool>(),
        slots in prop::collection::vec(any::<u8>(), 200),
        steps in steps(),
    ) {
        let mut body = vec![0; BODY];
        body[..8].copy_from_slice(&head);
        if small {
            // The head must pass its check, so that the damage is found later.
            for at in [1, 3, 5, 7] {
                body[at] &= 3;
            }
        }
        body[8..208].copy_from_slice(&slots);
        for (step, slot) in steps.into_iter().zip(0_u16..) {
            let Ok(page) = PageRecords::of(&body) else { break };
            let _ = (page.get(slot), page.check(), page.room(), page.used(), page.iter().count());
            let Ok(mut page) = PageRecordsMut::of(&mut body) else { break };
            match step {
                RecordStep::Insert(len, byte) => _ = page.insert(&vec![byte; len]),
                RecordStep::Replace(at, len, byte) => _ = page.replace(at as u16 % 50, &vec![byte; len]),
                RecordStep::Remove(at) => _ = page.remove(at as u16 % 50),
            }
        }
    }
}

#[test]
fn a_record_can_fill_a_page() {
    let mut body = vec![0; BODY];
    let mut page = PageRecordsMut::of(&mut body).unwrap();
    let most = page.read().room().unwrap();
    assert_eq!(most, BODY - 8 - SLOT);
    assert_eq!(page.insert(&vec![1; most + 1]), Ok(None));
    assert_eq!(page.insert(&vec![1; most]), Ok(Some(0)));
    assert_eq!((page.read().room(), page.insert(b"")), (None, Ok(None)));
    page.get_mut(0).unwrap()[0] = 7;
    assert_eq!(page.read().get(0).unwrap()[..2], [7, 1]);
    assert_eq!(page.read().get(1).unwrap_err(), "a pointer leads to slot 1, which has no record");
}

#[test]
fn record_names_take_eight_bytes() {
    let id = RecordId { page: PageId(0x0102_0304), slot: 0x0506 };
    assert_eq!(id.bytes(), [4, 3, 2, 1, 6, 5, 0, 0]);
    assert_eq!(RecordId::of(&id.bytes()), id);
    assert_eq!(RecordId::of(&RecordId::NONE.bytes()), RecordId::NONE);
    assert_eq!(RecordId::of(&[1, 0, 0, 0, 0, 0, 1, 0]), RecordId::NONE);
}
