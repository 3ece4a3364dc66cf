use std::collections::BTreeMap;

use proptest::prelude::*;

use skein_index::Slot;

use super::block::ColumnBlock;
use super::*;
use crate::packed::PackedMembers;

type RowModel = BTreeMap<Vec<u8>, Vec<u8>>;

fn check(row: &Row, model: &RowModel) {
    let row = row.as_ref();
    assert!(row.has_columns() && row.value().is_none());
    assert_eq!(row.column_count(), model.len());
    assert!(row.columns().eq(model.iter().map(|(name, value)| (&name[..], &value[..]))));
    for (name, value) in model {
        assert_eq!(row.column(name), Some(&value[..]));
    }
    assert_eq!(row.column(b"no such column"), None);
}

#[test]
fn a_value_is_all_its_parts() {
    let mut row = RowAllocator::new().value(&[b"ab", b"", b"cde"]).unwrap();
    row.set_version(9);
    assert_eq!(row.as_ref().value(), Some(&b"abcde"[..]));
    assert_eq!(row.as_ref().version(), 9);
    assert_eq!((row.as_ref().column(b"ab"), row.as_ref().columns().len()), (None, 0));
    assert_eq!(RowAllocator::new().value(&[]).unwrap().as_ref().value(), Some(&b""[..]));
    assert!(Row::tombstone(&RowAllocator::new(), 3).as_ref().is_tombstone());
}

#[test]
fn of_equal_names_the_last_counts() {
    let row = RowAllocator::new().columns(&[(b"b", b"1"), (b"a", b"2"), (b"b", b"3")]).unwrap().unwrap();
    assert!(row.as_ref().columns().eq([(&b"a"[..], &b"2"[..]), (b"b", b"3")]));
}

#[test]
fn successors_of_a_row_keep_its_expiry() {
    let rows = RowAllocator::new();
    assert!(!rows.any_expiring());
    let blocks: Vec<Vec<u8>> = (0..300u16).map(|i| i.to_be_bytes().to_vec()).collect();
    let many: Vec<(&[u8], &[u8])> = blocks.iter().map(|name| (&name[..], &[7; 20][..])).collect();
    let made = [
        rows.value(&[b"abc"]).unwrap(),
        rows.columns(&[(b"a", b"1")]).unwrap().unwrap(),
        rows.columns(&many).unwrap().unwrap(),
    ];
    for row in &made {
        let row = row.as_ref();
        assert_eq!(row.expires_at(), None);
        let timed = rows.until(row, Some(1 << 50));
        let timed = timed.as_ref();
        assert!(rows.any_expiring() && timed.expires_at() == Some(1 << 50));
        assert!(timed.value() == row.value() && timed.columns().eq(row.columns()));
        assert!(timed.memory() >= row.memory() && timed.content_len() == row.content_len());
        let again = rows.until(timed, None);
        assert!(again.as_ref().expires_at().is_none() && again.as_ref().value() == row.value());
        if row.has_columns() {
            let set: &[(&[u8], &[u8])] = &[(b"x", b"y")];
            let merged = rows.merged(Some(timed), set, &[]).unwrap().unwrap();
            assert_eq!(merged.as_ref().expires_at(), Some(1 << 50), "columns that are put keep the time");
            assert_eq!(merged.as_ref().column_count(), row.column_count() + 1);
        }
    }
}

#[test]
fn a_word_and_back() {
    let word = RowAllocator::new().value(&[b"x"]).unwrap().into_word();
    // SAFETY: the word was just made, and is taken back once, after the borrow.
    unsafe {
        assert_eq!(Row::borrow(word).value(), Some(&b"x"[..]));
        drop(Row::from_word(word));
    }
}

#[test]
fn a_small_put_to_a_large_row_shares_the_other_blocks() {
    let names: Vec<Vec<u8>> = (0..1000).map(|i| format!("column {i:04}").into_bytes()).collect();
    let columns: Vec<(&[u8], &[u8])> =
        names.iter().map(|name| (&name[..], &b"some twenty bytes..."[..])).collect();
    let row = RowAllocator::new().columns(&columns).unwrap().unwrap();
    assert!(row.as_ref().is_large());
    let after = RowAllocator::new()
        .merged(Some(row.as_ref()), &[(b"column 0500", b"changed")], &[])
        .unwrap()
        .unwrap();
    let same = |a: &ColumnBlock| {
        row.as_ref().blocks().iter().any(|b| std::ptr::eq(a.table().bytes(), b.table().bytes()))
    };
    let shared = after.as_ref().blocks().iter().filter(|block| same(block)).count();
    assert!(shared + 2 >= row.as_ref().block_count(), "only {shared} blocks are shared");
    drop(row);
    assert_eq!(after.as_ref().column(b"column 0500"), Some(&b"changed"[..]));
    assert_eq!(after.as_ref().column(b"column 0999"), Some(&b"some twenty bytes..."[..]));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 1 } else { 64 }, ..ProptestConfig::default() })]

    /// Any sequence of merges has the result of the same changes to a `BTreeMap`: for small rows,
    /// large rows, and rows that change between the two; all at once, or each column in a merge of
    /// its own.
    #[test]
    fn merges_as_a_map_does(steps in prop::collection::vec((
        prop::collection::vec((0u16..400, 0usize..300), 0..if cfg!(miri) { 8 } else { 60 }),
        prop::collection::vec(0u16..400, 0..if cfg!(miri) { 8 } else { 80 }),
        any::<bool>(),
    ), 1..if cfg!(miri) { 3 } else { 12 })) {
        let name = |i: u16| format!("{i}").into_bytes();
        let mut model = RowModel::new();
        let mut row: Option<Row> = None;
        for (round, (set, remove, at_once)) in steps.into_iter().enumerate() {
            let set = set.into_iter().map(|(i, len)| (name(i), vec![round as u8; len]));
            let remove = remove.into_iter().map(name);
            let merges: Vec<(Vec<_>, Vec<_>)> = if at_once {
                vec![(set.collect(), remove.collect())]
            } else {
                let removals = remove.map(|name| (vec![], vec![name]));
                removals.chain(set.map(|column| (vec![column], vec![]))).collect()
            };
            for (set, remove) in merges {
                for name in &remove {
                    model.remove(name);
                }
                model.extend(set.iter().cloned());
                let set: Vec<(&[u8], &[u8])> = set.iter().map(|(n, v)| (&n[..], &v[..])).collect();
                let remove: Vec<&[u8]> = remove.iter().map(Vec::as_slice).collect();
                row = RowAllocator::new().merged(row.as_ref().map(Row::as_ref), &set, &remove).unwrap();
                prop_assert_eq!(row.is_none(), model.is_empty());
                if let Some(row) = &row {
                    check(row, &model);
                }
            }
        }
    }
}

/// Rows of plain bytes are embedded at an alignment of 2, with all that they have; their copies
/// too. Rows that own something, and long ones, are not.
#[test]
fn rows_of_plain_bytes_are_embedded() {
    let rows = RowAllocator::new();
    let embedded = |mut row: Row, version: u64, check: &dyn Fn(RowRef<'_>)| {
        row.set_version(version);
        let (stamp, size) = (row.as_ref().stamp(), row.embedded_size().expect("it is embedded"));
        let weight = row.as_ref().weight();
        let mut space = [[0_u64; 40]; 2];
        let [first, second] = space.each_mut().map(|space| NonNull::from(space).cast::<u8>());
        // SAFETY: both spaces have room, and are used through these pointers alone.
        unsafe {
            let (first, second) = (first.add(2), second.add(6));
            row.embed(first);
            second.copy_from_nonoverlapping(first, size);
            for place in [first, second] {
                assert_eq!(Row::embedded_size_at(place), size);
                let row = RowRef { start: place, row: PhantomData };
                assert_eq!((row.version(), row.stamp(), row.is_embedded()), (version, stamp, true));
                assert!(row.memory() == size && row.usage(b"key") < size + NODE_SHARE);
                assert_eq!(row.weight(), weight, "a member that moves into its index weighs the same");
                row.restamp(7 << 52);
                row.mark_removed();
                assert_eq!((row.version(), row.stamp()), (version, 7 << 52));
                check(row);
            }
        }
    };
    let last = (1 << 51) - 1;
    embedded(rows.value_until(&[b"grey"], Some(7)).unwrap(), last, &|row| {
        assert_eq!((row.value(), row.expires_at()), (Some(&b"grey"[..]), Some(7)));
        let copy = Row::until(&rows, row, Some(8));
        assert!(!copy.as_ref().is_embedded() && copy.as_ref().value() == Some(b"grey"));
    });
    embedded(rows.columns(&[(b"a", b"1"), (b"b", b"2")]).unwrap().unwrap(), 1, &|row| {
        assert!(row.columns().eq([(&b"a"[..], &b"1"[..]), (b"b", b"2")]));
    });
    embedded(Row::tombstone(&rows, 3), 3, &|row| assert!(row.is_tombstone()));
    let large = rows.columns(&[(b"a", &[1; 2 * TABLE_BYTES_MAX])]).unwrap().unwrap();
    let long = rows.value(&[&[0; 300]]).unwrap();
    assert_eq!([large, long].map(|row| row.embedded_size()), [None, None]);
    assert_eq!(rows.memory(), 0, "all rows were moved, and freed");
}

fn is_draft(row: &Row) -> bool {
    row.as_ref().is_embedded()
}

/// Rows of every form around the greatest size of an embedded one, with and without a time of expiry,
/// are the same from an allocator with drafts and from one without.
#[test]
fn drafts_are_the_rows_that_they_would_be() {
    let (drafts, plain) = (RowAllocator::for_embedding(), RowAllocator::new());
    let mut kinds = [0, 0];
    let mut check = |make: &dyn Fn(&RowAllocator) -> Row| {
        let (draft, row) = (make(&drafts), make(&plain));
        assert!(!is_draft(&row));
        kinds[usize::from(is_draft(&draft))] += 1;
        assert_eq!(is_draft(&draft), row.embedded_size().is_some());
        assert_eq!(draft.embedded_size(), row.embedded_size());
        for (one, other) in [
            (draft.as_ref(), row.as_ref()),
            (plain.until(draft.as_ref(), None).as_ref(), plain.until(row.as_ref(), None).as_ref()),
        ] {
            assert_eq!(
                (one.value(), one.expires_at(), one.version()),
                (other.value(), other.expires_at(), other.version())
            );
            assert!(one.columns().eq(other.columns()) && one.is_tombstone() == other.is_tombstone());
            assert_eq!(
                one.packed().map(PackedMembers::as_bytes),
                other.packed().map(PackedMembers::as_bytes)
            );
            assert_eq!((one.weight(), one.content_len()), (other.weight(), other.content_len()));
        }
        let mut embedded = [[0_u64; 40]; 2];
        let [first, second] = embedded.each_mut().map(|space| NonNull::from(space).cast::<u8>());
        if let Some(size) = draft.embedded_size() {
            // SAFETY: both have room, and are used through these pointers alone.
            unsafe {
                draft.embed(first);
                row.embed(second);
                let [first, second] =
                    [first, second].map(|at| NonNull::slice_from_raw_parts(at, size).as_ref());
                assert_eq!(first[..6], second[..6], "the version");
                assert_eq!(first[8..], second[8..], "all behind the stamp");
            }
        }
    };
    for expires in [None, Some(1 << 50)] {
        for len in (0..3).chain(200..280) {
            check(&|rows| {
                rows.value_until(&[&vec![7; len / 2], &vec![8; len.div_ceil(2)]], expires).unwrap()
            });
            check(&|rows| {
                let row = plain.columns(&[(b"a", &vec![1; len]), (b"b", b"2")]).unwrap().unwrap();
                rows.until(row.as_ref(), expires)
            });
            let members = vec![0; len];
            check(&|rows| {
                rows.packed(PackedMembers::trusted(CollectionKind::Set, &members), expires).unwrap()
            });
        }
    }
    check(&|rows| Row::tombstone(rows, 9));
    assert!(kinds.iter().all(|&count| count > 10), "{kinds:?} were rows and drafts");
    assert_eq!((drafts.memory(), plain.memory()), (0, 0));
}

/// A thread has one draft. While a row has it, other rows lie in the arena.
#[test]
fn a_thread_has_one_draft_at_a_time() {
    let rows = RowAllocator::for_embedding();
    let first = rows.value(&[b"first"]).unwrap();
    let second = rows.value(&[b"second"]).unwrap();
    assert_eq!([&first, &second].map(is_draft), [true, false]);
    assert!(rows.memory() > 0);
    drop(first);
    let third = RowAllocator::for_embedding().value(&[b"third"]).unwrap();
    assert!(is_draft(&third), "the draft is free again");
    assert_eq!(
        (second.as_ref().value(), third.as_ref().value()),
        (Some(&b"second"[..]), Some(&b"third"[..]))
    );
    drop((second, third));
    assert_eq!(rows.memory(), 0);
    let long = rows.value(&[&[0; 300]]).unwrap();
    let merged = rows.merged(None, &[(b"a", b"1")], &[]).unwrap().unwrap();
    assert_eq!([&long, &merged].map(is_draft), [false, true], "a long row takes no draft");
    let copy = rows.kept_copy(merged.as_ref());
    drop(merged);
    assert!(!is_draft(&copy) && copy.as_ref().column(b"a") == Some(b"1"), "a kept copy takes none");
}

/// A draft may end on another thread, and may outlive its own.
#[test]
fn drafts_cross_threads() {
    let rows = &RowAllocator::for_embedding();
    let row = rows.value(&[b"here"]).unwrap();
    std::thread::scope(|scope| {
        let there = scope.spawn(move || {
            assert_eq!((row.as_ref().value(), is_draft(&row)), (Some(&b"here"[..]), true));
            drop(row);
            rows.value(&[b"there"]).unwrap()
        });
        let there = there.join().unwrap();
        let here = rows.value(&[b"again"]).unwrap();
        assert!(is_draft(&there) && is_draft(&here), "each thread has its own");
        assert_eq!(there.as_ref().value(), Some(&b"there"[..]));
    });
    assert_eq!(rows.memory(), 0);
}

/// A draft is used again as soon as the row is gone, on whatever thread that was.
#[test]
fn drafts_that_others_drop_are_used_again() {
    let rows = &RowAllocator::for_embedding();
    let (sender, receiver) = std::sync::mpsc::sync_channel::<(Row, u64)>(0);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for (row, number) in receiver {
                assert_eq!(row.as_ref().value(), Some(&number.to_be_bytes()[..]));
            }
        });
        for number in 0..if cfg!(miri) { 30 } else { 3_000_u64 } {
            let row = rows.value(&[&number.to_be_bytes()]).unwrap();
            sender.send((row, number)).unwrap();
        }
        drop(sender);
    });
    assert_eq!(rows.memory(), 0);
}

/// An index that does not embed takes a copy with all that the row has, and the draft is free.
#[test]
fn a_draft_becomes_a_word() {
    let rows = RowAllocator::for_embedding();
    let mut row = rows.value_until(&[b"goose"], Some(7)).unwrap();
    row.set_version(5);
    row.as_ref().restamp(3 << 52);
    assert!(is_draft(&row));
    let word = row.into_word();
    let next = rows.value(&[b"next"]).unwrap();
    assert!(is_draft(&next));
    // SAFETY: the word was just made, and is taken back once, after the borrow.
    unsafe {
        let row: RowRef<'_> = Row::borrow(word);
        assert_eq!((row.value(), row.expires_at(), row.version()), (Some(&b"goose"[..]), Some(7), 5));
        assert!(!row.is_embedded() && row.stamp() == 3 << 52);
        drop(Row::from_word(word));
    }
    assert_eq!(next.as_ref().value(), Some(&b"next"[..]));
}

/// Rows of drafts in an index that does not embed, and in one that does.
#[test]
fn indexes_take_rows_of_drafts() {
    use skein_index::{Masstree, OrderedIndex, PageTree};
    fn fill(index: &impl OrderedIndex<Row>) {
        let rows = RowAllocator::for_embedding();
        for round in 0..2_u8 {
            for number in 0..if cfg!(miri) { 20 } else { 500_u16 } {
                let bytes = vec![round; usize::from(number % 300)];
                let row = rows.value(&[&bytes]).unwrap();
                index.insert(&number.to_be_bytes(), row, &index.collector().enter()).unwrap();
                let guard = index.collector().enter();
                let found = index.get(&number.to_be_bytes(), &guard).expect("just inserted");
                assert_eq!(found.value(), Some(&bytes[..]));
            }
        }
    }
    fill(&Masstree::<Row>::new());
    fill(&PageTree::<Row>::new());
}
