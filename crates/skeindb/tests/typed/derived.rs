//! Types with derived keys: order, prefixes, generics, discriminants, errors.

use std::cmp::Reverse;

use proptest::prelude::*;
use skeindb::Key;
use skeindb::typed::{AsKey, EncodeKey, KeyPrefix};

use crate::laws::{Samples, check_laws, text};

#[derive(Key, Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reading {
    pub sensor: u32,
    pub at: Reverse<i64>,
}

#[derive(Key, Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Event {
    Started,
    Measured { sensor: String, run: u32 },
    Failed(String),
}

/// Its declaration is not in the order of its discriminants.
#[derive(Key, Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    Error = 20,
    Fatal,
    Notice = 10,
}

#[derive(Key, Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Pair<A, B = String>(A, B)
where
    A: Clone;

#[derive(Key, Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Grid<T: Clone, const N: usize> {
    r#type: T,
    cells: [Pair<T>; N],
}

#[derive(Key, Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Unit;

/// A key that contains itself, through a vector.
#[derive(Key, Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Tree {
    Leaf(String),
    Branch(Vec<Tree>),
}

#[derive(EncodeKey)]
struct PairRef<'a, A>(A, &'a str);

impl<A: AsKey<K>, K: Key + Clone> AsKey<Pair<K>> for PairRef<'_, A> {}

impl Samples for Event {
    fn samples() -> BoxedStrategy<Self> {
        prop_oneof![
            Just(Event::Started),
            (text(), 0..3_u32).prop_map(|(sensor, run)| Event::Measured { sensor, run }),
            text().prop_map(Event::Failed),
        ]
        .boxed()
    }
}

#[test]
fn structs_are_ordered_by_their_fields() {
    let readings = (0..3_u32, -2..3_i64).prop_map(|(sensor, at)| Reading { sensor, at: Reverse(at) });
    check_laws(readings, Ord::cmp);
    check_laws(Just(Unit), Ord::cmp);
}

#[test]
fn enums_are_ordered_by_their_discriminants() {
    check_laws(Event::samples(), Ord::cmp);
    check_laws(prop_oneof![Just(Level::Error), Just(Level::Fatal), Just(Level::Notice)], Ord::cmp);
    assert!(Level::Notice.to_key_bytes() < Level::Error.to_key_bytes());
}

#[test]
fn type_parameters_are_keys() {
    let pairs = || (Event::samples(), text()).prop_map(|(event, text)| Pair(event, text));
    check_laws(pairs(), Ord::cmp);
    let grids = (Event::samples(), [pairs(), pairs()]).prop_map(|(r#type, cells)| Grid { r#type, cells });
    check_laws(grids, Ord::cmp);
}

#[test]
fn keys_nest_in_themselves() {
    let leaves = text().prop_map(Tree::Leaf);
    let trees =
        leaves.prop_recursive(3, 12, 3, |trees| prop::collection::vec(trees, 0..3).prop_map(Tree::Branch));
    check_laws(trees, Ord::cmp);
}

#[test]
fn types_that_borrow_have_the_same_bytes() {
    let owned = Pair(("x".to_owned(), 4_u16), "a\0".to_owned());
    assert_eq!(PairRef(("x", 4_u16), "a\0").to_key_bytes(), owned.to_key_bytes());
}

#[test]
fn first_fields_are_prefixes() {
    let prefix = KeyPrefix::<Reading>::to_prefix_bytes(&(7,));
    assert_eq!(prefix, [0, 0, 0, 7]);
    let prefix = KeyPrefix::<Pair<String, u8>>::to_prefix_bytes(&("a",));
    assert!(Pair("a".to_owned(), 3_u8).to_key_bytes().starts_with(&prefix));
    assert!(!Pair("aa".to_owned(), 3_u8).to_key_bytes().starts_with(&prefix));
}

#[test]
fn unknown_variants_are_errors() {
    let error = <(u16, Event)>::from_key_bytes(&[0, 1, 9]).unwrap_err();
    assert_eq!((error.position(), error.part_type_name().rsplit("::").next()), (2, Some("Event")));
    let message = error.to_string();
    assert!(
        message.contains("`typed::derived::Event` at byte 2 has the tag 0x09, which no variant has"),
        "{message}"
    );
    // The discriminant 0 is not used.
    assert!(Level::from_key_bytes(&[0]).is_err());
}

#[test]
fn deep_nesting_is_an_error() {
    let bytes = [1, 1].repeat(30_000);
    let error = Tree::from_key_bytes(&bytes).unwrap_err();
    assert!(error.to_string().contains("is nested in more than 128 sequences"), "{error}");
}
