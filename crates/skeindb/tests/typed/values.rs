//! Typed values: those of keys, and those of serde.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde::ser::Error as _;
use serde::{Deserialize, Serialize, Serializer};
use skeindb::StoredValue;
use skeindb::typed::{AsValue, Postcard};

/// Appends a value to bytes that are there already, and returns the value's own.
fn bytes_of<V: StoredValue>(value: &impl AsValue<V>) -> Vec<u8> {
    let mut bytes = b"before".to_vec();
    value.encode_value(&mut bytes).unwrap();
    assert!(bytes.starts_with(b"before"));
    bytes.split_off(6)
}

#[derive(Serialize, Deserialize, StoredValue, Debug, Clone, PartialEq)]
struct User<T> {
    name: String,
    logins: Vec<u64>,
    extra: Option<T>,
}

/// A value that serde cannot write.
#[derive(Deserialize, StoredValue, Debug)]
struct Secret;

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, _serializer: S) -> Result<S::Ok, S::Error> {
        Err(S::Error::custom("secrets are not stored"))
    }
}

#[test]
fn keys_are_values() {
    assert_eq!(bytes_of::<String>(&"Ada"), b"Ada");
    assert_eq!(bytes_of::<Vec<u8>>(&vec![0_u8, 1]), [0, 1]);
    assert_eq!(f64::decode_value(&bytes_of(&21.5)), Ok(21.5));
    assert_eq!(bytes_of::<(String, String)>(&("a", "b")), b"a\0b");
}

#[test]
fn values_of_serde_have_the_format_of_postcard() {
    let user = User { name: "Ada".to_owned(), logins: vec![3, 300], extra: Some(true) };
    let bytes = bytes_of(&user);
    assert_eq!(bytes, [3, b'A', b'd', b'a', 2, 3, 0xac, 2, 1, 1]);
    assert_eq!(bytes_of(&Postcard(user.clone())), bytes);
    assert_eq!(User::decode_value(&bytes), Ok(user));
}

#[test]
fn values_that_serde_rejects_are_errors() {
    let error = Secret.encode_value(&mut Vec::new()).unwrap_err();
    assert!(error.to_string().contains("cannot encode a value of type `typed::values::Secret`"), "{error}");

    let error = User::<bool>::decode_value(&[3, b'A', b'd', b'a', 0, 0, 7, 7]).unwrap_err();
    assert!(error.to_string().contains("has 2 bytes behind its end"), "{error}");
    let error = User::<bool>::decode_value(&[3, b'A']).unwrap_err();
    assert!(error.to_string().contains("has bytes that postcard rejects"), "{error}");
}

proptest! {
    #[test]
    fn any_bytes_are_a_value_of_serde_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..32)) {
        if let Ok(user) = User::<char>::decode_value(&bytes) {
            prop_assert_eq!(User::decode_value(&bytes_of(&user)), Ok(user));
        }
    }

    #[test]
    fn maps_are_read_back(map: BTreeMap<i16, char>) {
        let value = Postcard(map);
        prop_assert_eq!(Postcard::decode_value(&bytes_of(&value)), Ok(value));
    }
}
