//! The keys of the files in `data`.

use std::collections::BTreeMap;

use skein_rdb::ValuePiece;

/// A value with its parts in an order that does not depend on the encoding.
#[derive(Debug, Clone, PartialEq)]
pub enum Contents {
    Text(Vec<u8>),
    List(Vec<Vec<u8>>),
    Set(Vec<Vec<u8>>),
    SortedSet(Vec<(Vec<u8>, f64)>),
    Hash(Vec<(Vec<u8>, Vec<u8>)>),
}

impl Contents {
    /// Adds a piece to a value that may have begun.
    pub fn add(before: Option<Self>, piece: ValuePiece) -> Self {
        match (before, piece) {
            (None, ValuePiece::String(text)) => Self::Text(text),
            (None, ValuePiece::List(elements)) => Self::List(elements),
            (None, ValuePiece::Set(members)) => Self::Set(members),
            (None, ValuePiece::SortedSet(members)) => Self::SortedSet(members),
            (None, ValuePiece::Hash(pairs)) => Self::Hash(pairs),
            (Some(Self::List(elements)), ValuePiece::List(more)) => Self::List([elements, more].concat()),
            (Some(Self::Set(members)), ValuePiece::Set(more)) => Self::Set([members, more].concat()),
            (Some(Self::SortedSet(members)), ValuePiece::SortedSet(more)) => {
                Self::SortedSet([members, more].concat())
            }
            (Some(Self::Hash(pairs)), ValuePiece::Hash(more)) => Self::Hash([pairs, more].concat()),
            (before, piece) => panic!("{piece:?} behind {before:?}"),
        }
    }

    /// Sorts the parts that have no order.
    pub fn sorted(mut self) -> Self {
        match &mut self {
            Self::Text(_) | Self::List(_) => {}
            Self::Set(members) => members.sort(),
            Self::SortedSet(members) => members.sort_by(|a, b| a.0.cmp(&b.0)),
            Self::Hash(pairs) => pairs.sort(),
        }
        self
    }
}

fn texts<T: ToString>(texts: impl IntoIterator<Item = T>) -> Vec<Vec<u8>> {
    texts.into_iter().map(|text| text.to_string().into_bytes()).collect()
}

fn pairs<N: ToString, V: ToString>(pairs: impl IntoIterator<Item = (N, V)>) -> Vec<(Vec<u8>, Vec<u8>)> {
    let bytes = |(name, value): (N, V)| (name.to_string().into_bytes(), value.to_string().into_bytes());
    pairs.into_iter().map(bytes).collect()
}

fn scored<M: ToString>(members: impl IntoIterator<Item = (f64, M)>) -> Vec<(Vec<u8>, f64)> {
    members.into_iter().map(|(score, member)| (member.to_string().into_bytes(), score)).collect()
}

fn strings() -> Vec<(&'static str, Contents)> {
    let text = |key, value: &str| (key, Contents::Text(value.as_bytes().to_vec()));
    vec![
        text("text", "hello"),
        text("empty", ""),
        text("int8", "-7"),
        text("int16", "300"),
        text("int32", "100000"),
        text("int64", "9223372036854775807"),
        text("packed", &"ab".repeat(150)),
        ("binary", Contents::Text((0..=255).collect())),
        text("expires", "later"),
    ]
}

fn collections() -> Vec<(&'static str, Contents)> {
    let long = |i: u64| if i.is_multiple_of(3) { (i * i * i).to_string() } else { format!("element-{i:04}") };
    let (xs, ms, vs) = ("x".repeat(70), "m".repeat(60), "v".repeat(100));
    let low: [(f64, &str); 8] = [
        (f64::NEG_INFINITY, "low"),
        (f64::INFINITY, "high"),
        (1.5, "middle"),
        (-0.1, "below"),
        (3.0, "three"),
        (0.1, "tenth"),
        (100_000.0, &ms),
        (0.0, ""),
    ];
    let quarters = (0..200).map(|i| (f64::from(i) / 4.0, format!("member-{i:04}")));
    vec![
        ("list", Contents::List(texts(["one", "2", "-3", "", &xs]))),
        ("longlist", Contents::List(texts((0..900).map(long)))),
        ("ints16", Contents::Set(texts(-5..5))),
        ("ints32", Contents::Set(texts([1, 70_000, -70_000]))),
        ("ints64", Contents::Set(texts([1, 1_i64 << 40, -(1_i64 << 40)]))),
        ("set", Contents::Set(texts(["one", "two", "3"]))),
        ("longset", Contents::Set(texts((0..600).map(|i| format!("member-{i:04}"))))),
        ("zset", Contents::SortedSet(scored(low.into_iter().take(7)))),
        ("longzset", Contents::SortedSet(scored(quarters))),
        ("hash", Contents::Hash(pairs([("name", "value"), ("n", "12"), ("empty", ""), ("neg", "-70000")]))),
        ("longhash", Contents::Hash(pairs([("field", &*vs), ("other", "2")]))),
        ("manyhash", Contents::Hash(pairs((0..600).map(|i| (format!("field-{i:04}"), i))))),
        ("hexpires", Contents::Hash(pairs([("a", "b")]))),
    ]
}

/// Returns the keys of database 0 that are in all files, without streams.
pub fn keys() -> BTreeMap<String, Contents> {
    let all = strings().into_iter().chain(collections());
    all.map(|(key, contents)| (key.to_owned(), contents.sorted())).collect()
}
