//! Types that borrow have the bytes of the keys that they look up, and ranges and prefixes infer
//! their types.

use std::cmp::Reverse;
use std::ops::Bound;

use skeindb::typed::{AsKey, EncodeKey, Key, KeyPrefix, KeyRange};

/// Returns the bytes that a keyspace with keys of type `K` looks up for `key`.
fn looked_up<K: Key>(key: &(impl AsKey<K> + ?Sized)) -> Vec<u8> {
    key.to_key_bytes()
}

fn prefix<K: Key>(prefix: &(impl KeyPrefix<K> + ?Sized)) -> Vec<u8> {
    prefix.to_prefix_bytes()
}

fn bounds<K: Key>(range: impl KeyRange<K>) -> (Bound<Vec<u8>>, Bound<Vec<u8>>) {
    range.bounds()
}

#[test]
fn borrowed_parts_look_up_owned_ones() {
    type Owned = (String, Vec<u8>, Option<Reverse<String>>);
    let owned: Owned = ("a\u{1}".to_owned(), vec![0, 9], Some(Reverse("b".to_owned())));
    assert_eq!(looked_up::<Owned>(&("a\u{1}", &[0, 9][..], Some(Reverse("b")))), owned.to_key_bytes());
    assert_eq!(looked_up::<String>("a"), b"a");
    assert_eq!(looked_up::<Vec<u8>>(&[0, 1][..]), [0, 1]);
    assert_eq!(looked_up::<Vec<u16>>(&[7][..]), [1, 0, 7, 0]);
    assert_eq!(looked_up::<[String; 2]>(&["a", "b"]), b"a\0b");
}

#[test]
fn literals_have_the_type_of_the_key() {
    assert_eq!(looked_up::<(u32, i64)>(&(7, -5)).len(), 12);
    assert_eq!(looked_up::<f32>(&21.5).len(), 4);
    assert_eq!(prefix::<(u16, u8, i64)>(&(7, 1)), [0, 7, 1]);
}

#[test]
fn ranges_of_every_form_are_ranges_of_bytes() {
    let (start, end) = ((7_u32, i64::MIN), (8_u32, i64::MIN));
    let bytes = (Bound::Included(start.to_key_bytes()), Bound::Excluded(end.to_key_bytes()));
    assert_eq!(bounds::<(u32, i64)>((7, i64::MIN)..(8, i64::MIN)), bytes);
    assert_eq!(bounds::<(u32, i64)>(&start..&end), bytes);
    assert_eq!(bounds::<(u32, i64)>((Bound::Included(start), Bound::Excluded(end))), bytes);
    assert_eq!(bounds::<u8>(3..), (Bound::Included(vec![3]), Bound::Unbounded));
    assert_eq!(bounds::<u8>(..3), (Bound::Unbounded, Bound::Excluded(vec![3])));
    assert_eq!(bounds::<u8>(..=3), (Bound::Unbounded, Bound::Included(vec![3])));
    assert_eq!(bounds::<u8>(2..=3), (Bound::Included(vec![2]), Bound::Included(vec![3])));
    assert_eq!(bounds::<u8>(..), (Bound::Unbounded, Bound::Unbounded));
    assert_eq!(bounds::<String>("a".."b"), (Bound::Included(b"a".to_vec()), Bound::Excluded(b"b".to_vec())));
}

/// A prefix has the keys that begin with it, and no other.
#[test]
fn prefixes_are_the_first_parts() {
    let keys = [("a", "x"), ("a", ""), ("a\0", "x"), ("ab", ""), ("", "a")];
    let of_a = prefix::<(String, String)>(&("a",));
    let found: Vec<_> = keys.iter().filter(|key| key.to_key_bytes().starts_with(&of_a)).collect();
    assert_eq!(found, [&("a", "x"), &("a", "")]);

    assert!("ab".to_key_bytes().starts_with(&prefix::<String>("a")));
    let path = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
    let of_usr = prefix::<Vec<String>>(&path(&["usr"]));
    assert!(path(&["usr", "bin"]).to_key_bytes().starts_with(&of_usr));
    assert!(path(&["usr"]).to_key_bytes().starts_with(&of_usr));
    assert!(!path(&["usr2"]).to_key_bytes().starts_with(&of_usr));
    assert_eq!(prefix::<Vec<u8>>(&[0, 1]), [0, 1]);
}
