use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

fn check(row: &Row, model: &Model) {
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
    let mut row = Rows::new().value(&[b"ab", b"", b"cde"]).unwrap();
    row.set_version(9);
    assert_eq!(row.as_ref().value(), Some(&b"abcde"[..]));
    assert_eq!(row.as_ref().version(), 9);
    assert_eq!((row.as_ref().column(b"ab"), row.as_ref().columns().len()), (None, 0));
    assert_eq!(Rows::new().value(&[]).unwrap().as_ref().value(), Some(&b""[..]));
    assert!(Row::tombstone(&Rows::new(), 3).as_ref().is_tombstone());
}

#[test]
fn of_equal_names_the_last_counts() {
    let row = Rows::new().columns(&[(b"b", b"1"), (b"a", b"2"), (b"b", b"3")]).unwrap().unwrap();
    assert!(row.as_ref().columns().eq([(&b"a"[..], &b"2"[..]), (b"b", b"3")]));
}

#[test]
fn a_word_and_back() {
    let word = Rows::new().value(&[b"x"]).unwrap().into_word();
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
    let row = Rows::new().columns(&columns).unwrap().unwrap();
    assert!(row.as_ref().is_large());
    let after =
        Rows::new().merged(Some(row.as_ref()), &[(b"column 0500", b"changed")], &[]).unwrap().unwrap();
    let same =
        |a: &Block| row.as_ref().blocks().iter().any(|b| std::ptr::eq(a.table().bytes(), b.table().bytes()));
    let shared = after.as_ref().blocks().iter().filter(|block| same(block)).count();
    assert!(shared + 2 >= row.as_ref().block_count(), "only {shared} blocks are shared");
    drop(row);
    assert_eq!(after.as_ref().column(b"column 0500"), Some(&b"changed"[..]));
    assert_eq!(after.as_ref().column(b"column 0999"), Some(&b"some twenty bytes..."[..]));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Any run of merges gives what the same changes give in a `BTreeMap`, small rows, large ones and the way between.
    #[test]
    fn merges_as_a_map_does(steps in prop::collection::vec((
        prop::collection::vec((0u16..400, 0usize..300), 0..60),
        prop::collection::vec(0u16..400, 0..80),
    ), 1..12)) {
        let name = |i: u16| format!("{i}").into_bytes();
        let mut model = Model::new();
        let mut row: Option<Row> = None;
        for (round, (set, remove)) in steps.into_iter().enumerate() {
            let set: Vec<(Vec<u8>, Vec<u8>)> = set.into_iter().map(|(i, len)| (name(i), vec![round as u8; len])).collect();
            let remove: Vec<Vec<u8>> = remove.into_iter().map(name).collect();
            for name in &remove {
                model.remove(name);
            }
            model.extend(set.iter().cloned());
            let set: Vec<(&[u8], &[u8])> = set.iter().map(|(n, v)| (&n[..], &v[..])).collect();
            let remove: Vec<&[u8]> = remove.iter().map(Vec::as_slice).collect();
            row = Rows::new().merged(row.as_ref().map(Row::as_ref), &set, &remove).unwrap();
            prop_assert_eq!(row.is_none(), model.is_empty());
            if let Some(row) = &row {
                check(row, &model);
            }
        }
    }
}
