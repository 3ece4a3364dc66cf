//! Indexes as maps of `serde`, in a format for people and in a binary one.

use std::collections::BTreeMap;

use skein_index::{Boxed, CuckooTrie, Inline, Masstree, MlpIndex, SkipList, Wormhole};

#[test]
fn json_is_the_same_as_that_of_a_map() {
    let entries =
        [("goose", "Anser"), ("duck", "Anas"), ("sw\u{e4}n", "Cygnus")].map(|(k, v)| (k, v.to_owned()));
    let index = Masstree::<Boxed<String>>::from(entries.clone());
    let text = serde_json::to_string(&index).unwrap();
    assert_eq!(text, serde_json::to_string(&BTreeMap::from(entries)).unwrap());
    let again: Wormhole<Boxed<String>> = serde_json::from_str(&text).unwrap();
    assert_eq!(serde_json::to_string(&again.pin()).unwrap(), text);
    let again: SkipList<Boxed<String>> = serde_json::from_reader(text.as_bytes()).unwrap();
    assert_eq!(format!("{:?}", again.pin()), format!("{:?}", index.pin()));
}

#[test]
fn a_binary_format_keeps_any_key() {
    let keys = [&b""[..], b"\0", b"goose", b"\xff\xfe"];
    let index: CuckooTrie<Inline<u64>> = keys.iter().zip(0..).collect();
    let bytes = postcard::to_allocvec(&index).unwrap();
    let again: MlpIndex<Inline<u64>> = postcard::from_bytes(&bytes).unwrap();
    assert!(again.pin().iter().eq(index.pin().iter()));
    assert_eq!(again.pin().len(), keys.len());
}

#[test]
fn a_key_that_is_no_text_is_an_error_in_json() {
    let index = Masstree::<Inline<u64>>::from([(b"a\xff", 1)]);
    let refused = serde_json::to_string(&index).unwrap_err().to_string();
    assert!(refused.starts_with(r#"the key b"a\xff" is not text: invalid utf-8"#), "{refused}");
}

#[test]
fn bad_input_is_an_error() {
    let refused = |text: &str| serde_json::from_str::<MlpIndex<Inline<u8>>>(text).unwrap_err().to_string();
    assert!(refused(r#"{"nine byte": 1}"#).starts_with("key of 9 bytes is longer than the limit of 8 bytes"));
    assert!(refused(r#"{"goose": 256}"#).starts_with("invalid value: integer `256`, expected u8"));
    assert!(refused("[1]").contains("expected a map with strings or byte strings as keys"));
}
