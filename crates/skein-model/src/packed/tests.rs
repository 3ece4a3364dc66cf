//! Packed members beside a sorted map, and bytes that are not packed members.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use proptest::prelude::*;

use super::{PackedMembers, RowLimits, RowMembers};
use crate::{CollectionKind, ListEnd, ListLayout, ListWriter, Members, SET_SCORE, ScanDirection, SetWriter};

const WIDE: RowLimits = RowLimits { members: 1000, bytes: 100_000 };

/// Runs a change as an engine does, and returns the bytes of the next row.
fn changed<R>(
    kind: CollectionKind,
    row: Option<&[u8]>,
    change: impl FnOnce(&mut RowMembers) -> R,
) -> (R, Option<Vec<u8>>) {
    let packed = row.map(|bytes| PackedMembers::parse(kind, bytes).expect("a row of members"));
    let mut members = RowMembers::new(kind, packed, WIDE);
    let answer = change(&mut members);
    assert!(!members.is_outgrown());
    let next = (!members.is_gone()).then(|| members.pack().into_owned());
    (answer, next)
}

fn ranked(members: &dyn Members, rank: u64, direction: ScanDirection) -> Vec<(f64, Vec<u8>)> {
    let mut found = Vec::new();
    let each = &mut |score, member: crate::Member<'_>| {
        found.push((score, member.to_vec()));
        ControlFlow::Continue(())
    };
    members.walk_ranks(rank, direction, each).unwrap();
    found
}

fn score() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => (-3..40_i32).prop_map(f64::from),
        1 => prop::sample::select(vec![f64::NEG_INFINITY, f64::INFINITY, 0.5, -1e300, 9_007_199_254_740_993.0]),
        1 => any::<f64>().prop_filter("a number", |score| !score.is_nan()).prop_map(|score| score.trunc() + 0.0),
    ]
}

/// Checks all reads of a set against a map.
fn check_set(kind: CollectionKind, row: Option<&[u8]>, model: &BTreeMap<Vec<u8>, f64>) {
    let Some(row) = row else { return assert!(model.is_empty()) };
    let packed = PackedMembers::parse(kind, row).expect("a row of members");
    assert_eq!(packed.len(), model.len() as u64);
    let mut order: Vec<(f64, Vec<u8>)> = model.iter().map(|(name, score)| (*score, name.clone())).collect();
    order.sort_by(|one, other| one.0.total_cmp(&other.0).then_with(|| one.1.cmp(&other.1)));
    assert_eq!(ranked(&packed, 0, ScanDirection::Forward), order);
    let middle = order.len() / 2;
    assert_eq!(ranked(&packed, middle as u64, ScanDirection::Forward), order[middle..]);
    let mut backward: Vec<_> = order[..=middle].to_vec();
    backward.reverse();
    assert_eq!(ranked(&packed, middle as u64, ScanDirection::Backward), backward);
    for (rank, (score, name)) in order.iter().enumerate() {
        assert_eq!(packed.score(name).unwrap(), Some(*score));
        assert_eq!(packed.rank(*score, name).unwrap(), rank as u64);
    }
    assert_eq!(packed.score(b"never there").unwrap(), None);
    let (after, mut named) = (&order[middle].1, Vec::new());
    packed
        .walk_names(Some(after), &mut |name, value| {
            named.push((name.to_vec(), crate::score_in(value)));
            ControlFlow::Continue(())
        })
        .unwrap();
    let expected: Vec<_> =
        model.iter().filter(|(name, _)| *name > after).map(|(name, score)| (name.clone(), *score)).collect();
    assert_eq!(named, expected);
}

proptest! {
    #[test]
    fn a_set_is_a_map(
        is_sorted: bool,
        changes in prop::collection::vec((prop::collection::vec(b'a'..b'd', 0..4), score(), any::<bool>()), 1..60),
    ) {
        let kind = if is_sorted { CollectionKind::SortedSet } else { CollectionKind::Set };
        let (mut row, mut model) = (None::<Vec<u8>>, BTreeMap::new());
        for (name, score, removes) in changes {
            let score = if is_sorted { score } else { SET_SCORE };
            let (before, next) = changed(kind, row.as_deref(), |members| {
                let mut set = SetWriter::new(members);
                if removes { set.remove(&name) } else { set.put(&name, score) }.unwrap()
            });
            let expected = if removes { model.remove(&name) } else { model.insert(name, score) };
            prop_assert_eq!(before, expected);
            row = next;
            check_set(kind, row.as_deref(), &model);
        }
    }

    #[test]
    fn a_list_is_a_vector(
        changes in prop::collection::vec((0..5u8, 0..100usize, prop::collection::vec(b'a'..b'd', 0..90)), 1..60),
    ) {
        let (mut row, mut model) = (None::<Vec<u8>>, Vec::<Vec<u8>>::new());
        for (what, at, element) in changes {
            let at = at * model.len() / 100;
            // A row with a list is one chunk, which has a limit of its own.
            let held: usize = model.iter().map(|element| element.len() + 1).sum();
            let what = if held > 700 { 4 } else { what };
            let ((), next) = changed(CollectionKind::List, row.as_deref(), |members| {
                let mut list = ListWriter::new(b"list", members);
                match what {
                    0 => list.push(ListEnd::Front, std::iter::once(&element[..])).unwrap(),
                    1 | 2 => list.push(ListEnd::Back, std::iter::repeat_n(&element[..], 3)).unwrap(),
                    3 => list.insert(at as u64, &element).unwrap(),
                    _ => list.pop(ListEnd::Front, 2, |_| {}).unwrap(),
                }
            });
            match what {
                0 => model.insert(0, element),
                1 | 2 => model.extend(std::iter::repeat_n(element, 3)),
                3 => model.insert(at, element),
                _ => drop(model.drain(..model.len().min(2))),
            }
            row = next;
            let Some(bytes) = &row else { prop_assert!(model.is_empty()); continue };
            let packed = PackedMembers::parse(CollectionKind::List, bytes).expect("a list");
            prop_assert_eq!(ListLayout::check(&packed).unwrap(), Ok(()));
            let layout = ListLayout::read(&packed).unwrap().expect("a list");
            prop_assert_eq!(layout.len(), model.len() as u64);
            let mut elements = Vec::new();
            packed.walk_names(None, &mut |name, value| {
                elements.extend(crate::ChunkElements::of(name, value).map(<[u8]>::to_vec));
                ControlFlow::Continue(())
            }).unwrap();
            prop_assert_eq!(&elements, &model);
        }
    }

    /// A push into the row leaves the bytes that a push to named chunks leaves when they are packed.
    #[test]
    fn a_push_into_the_row_is_one_to_its_chunks(
        pushes in prop::collection::vec(
            (any::<bool>(), prop::collection::vec(prop::collection::vec(b'a'..b'd', 0..200), 0..20)),
            1..12,
        ),
    ) {
        let (mut row, mut model) = (None::<Vec<u8>>, Vec::<Vec<u8>>::new());
        for (is_front, elements) in pushes {
            let end = if is_front { ListEnd::Front } else { ListEnd::Back };
            let push = |members: &mut RowMembers| {
                ListWriter::new(b"list", members).push(end, elements.iter().map(Vec::as_slice)).unwrap();
                let len = ListWriter::new(b"list", members).len().unwrap();
                (members.is_changed(), len)
            };
            let ((is_changed, len), next) = changed(CollectionKind::List, row.as_deref(), push);
            let (by_chunks, simple) = changed(CollectionKind::List, row.as_deref(), |members| {
                members.name_chunk();
                push(members)
            });
            prop_assert_eq!(&next, &simple);
            prop_assert_eq!((is_changed, len), by_chunks);
            prop_assert_eq!(is_changed, !elements.is_empty());
            for element in elements {
                model.insert(if is_front { 0 } else { model.len() }, element);
            }
            prop_assert_eq!(len, model.len() as u64);
            let held = next.as_deref().unwrap_or_default();
            let held: Vec<Vec<u8>> =
                crate::ChunkElements::of(&crate::lists::ROW_CHUNK, held).map(<[u8]>::to_vec).collect();
            prop_assert_eq!(&held, &model);
            row = next;
        }
    }

    /// Any bytes are members that are written as they were read, or none.
    #[test]
    fn garbage_does_no_harm(kind in 0..5usize, bytes in prop::collection::vec(0..6u8, 0..40)) {
        let kind = CollectionKind::ALL[kind];
        let trusted = PackedMembers::trusted(kind, &bytes);
        let _ = ranked(&trusted, 0, ScanDirection::Backward);
        if let Some(packed) = PackedMembers::parse(kind, &bytes) {
            prop_assert!(packed.len() > 0);
            let members = RowMembers::new(kind, Some(packed), WIDE);
            // A number may have more than one encoding.
            if kind != CollectionKind::SortedSet {
                prop_assert_eq!(members.pack().len(), bytes.len());
            }
            prop_assert_eq!(members.len(), packed.len());
        }
    }
}

#[test]
fn a_member_costs_its_bytes_and_one_or_two_more() {
    let names: Vec<Vec<u8>> = (0..10).map(|n| format!("item{n}").into_bytes()).collect();
    let sizes = [CollectionKind::Set, CollectionKind::SortedSet, CollectionKind::List].map(|kind| {
        let ((), row) = changed(kind, None, |members| match kind {
            CollectionKind::List => {
                let elements = names.iter().map(Vec::as_slice);
                ListWriter::new(b"list", members).push(ListEnd::Back, elements).unwrap();
            }
            _ => {
                for (at, name) in (0..10_u8).zip(&names) {
                    let score = if kind == CollectionKind::Set { SET_SCORE } else { f64::from(at) };
                    SetWriter::new(members).put(name, score).unwrap();
                }
            }
        });
        row.expect("a row").len()
    });
    assert_eq!(sizes, [60, 70, 62]);
}

#[test]
fn what_exceeds_a_limit_has_outgrown_the_row() {
    let limits = RowLimits { members: 3, bytes: 20 };
    let outgrows = |kind, elements: &[&[u8]]| {
        let mut members = RowMembers::new(kind, None, limits);
        let written = if kind == CollectionKind::List {
            ListWriter::new(b"list", &mut members).push(ListEnd::Front, elements.iter().copied())
        } else {
            let mut set = SetWriter::new(&mut members);
            elements.iter().try_for_each(|name| set.put(name, 1.0).map(drop))
        };
        assert_eq!(written.is_err(), members.is_outgrown());
        members.is_outgrown()
    };
    for kind in [CollectionKind::Set, CollectionKind::SortedSet, CollectionKind::List] {
        assert!(!outgrows(kind, &[b"a", b"b"]), "{kind:?}");
        assert!(outgrows(kind, &[b"a", b"b", b"c", b"d"]), "{kind:?}");
        assert!(outgrows(kind, &[&[b'x'; 21]]), "{kind:?}");
    }
    assert!(!RowLimits::NONE.admit(CollectionKind::Set));
    assert!(!limits.admit(CollectionKind::Stream) && limits.admit(CollectionKind::List));
}

/// A pop splits a long chunk in two, whose names no row will have: they count for no limit.
#[test]
fn a_list_that_fills_its_row_stays_there_when_it_shrinks() {
    let element = [b'x'; 16];
    let mut full = RowMembers::new(CollectionKind::List, None, RowLimits::DEFAULT);
    ListWriter::new(b"list", &mut full).push(ListEnd::Back, std::iter::repeat_n(&element[..], 60)).unwrap();
    let row = full.pack().into_owned();
    assert_eq!(row.len(), 1022);
    for end in [ListEnd::Front, ListEnd::Back] {
        let packed = PackedMembers::parse(CollectionKind::List, &row);
        let mut members = RowMembers::new(CollectionKind::List, packed, RowLimits::DEFAULT);
        ListWriter::new(b"list", &mut members).pop(end, 1, |_| {}).unwrap();
        assert!(!members.is_outgrown());
        assert_eq!(members.pack().len(), row.len() - 17);
    }
}
