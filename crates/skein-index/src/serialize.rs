//! Indexes as maps of `serde` (feature `serde`).
//!
//! ```text
//!   format                      a key is
//!   for people (JSON, TOML)     a string, so it must be UTF-8
//!   binary (postcard, CBOR)     a byte string
//! ```
//!
//! Values are serialized as a lookup returns them. They are deserialized as the type in the slot.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{self, Serialize, Serializer};
use skein_sync::reclaim::Guard;

use crate::byte_index::ByteIndex;
use crate::engine::{IndexEngine, StandardEngine};
use crate::index::OrderedIndex;
use crate::mlp_index::{MlpKey, MlpMap, PinnedMlpMap};
use crate::pinned::Pinned;
use crate::slot::{Boxed, Inline, InlineValue, Slot};

/// A map in the order of the keys. In a format for people, keys are strings, and a key that is not
/// UTF-8 is an error.
///
/// Copies the keys first, because some formats begin with the number of entries, and other threads
/// may change it.
impl<S: Slot, I: OrderedIndex<S>, G: Guard> Serialize for Pinned<'_, S, I, G>
where
    for<'p> S::Ref<'p>: Serialize,
{
    fn serialize<F: Serializer>(&self, serializer: F) -> Result<F::Ok, F::Error> {
        let entries: Vec<_> = self.iter().map(|(key, value)| (SerialKey(key.into()), value)).collect();
        serializer.collect_map(entries)
    }
}

/// As the index's [`pin`](ByteIndex::pin).
impl<S: Slot, E: IndexEngine<S>> Serialize for ByteIndex<S, E>
where
    for<'p> S::Ref<'p>: Serialize,
{
    fn serialize<F: Serializer>(&self, serializer: F) -> Result<F::Ok, F::Error> {
        self.pin().serialize(serializer)
    }
}

/// A map with string or byte-string keys in any order. The last value of a key counts.
impl<'de, S: Slot + Deserialize<'de>, E: StandardEngine<S>> Deserialize<'de> for ByteIndex<S, E> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(IndexVisitor(PhantomData))
    }
}

struct IndexVisitor<S, E>(PhantomData<(S, E)>);

impl<'de, S: Slot + Deserialize<'de>, E: StandardEngine<S>> Visitor<'de> for IndexVisitor<S, E> {
    type Value = ByteIndex<S, E>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map with strings or byte strings as keys")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let index = ByteIndex::new();
        while let Some((key, value)) = map.next_entry::<SerialKey<'de>, S>()? {
            index.pin().insert(&key.0, value).map_err(de::Error::custom)?;
        }
        Ok(index)
    }
}

/// A map in the order of the keys, as of serde's own types. Copies the keys first, as that of
/// [`Pinned`] does.
///
/// ```
/// use skein_index::{Inline, MlpMap};
///
/// let map = MlpMap::<i64, Inline<u64>>::from([(7, 70), (-3, 30)]);
/// let json = serde_json::to_string(&map)?;
/// assert_eq!(json, r#"{"-3":30,"7":70}"#);
/// let read: MlpMap<i64, Inline<u64>> = serde_json::from_str(&json)?;
/// assert!(read.pin().iter().eq([(-3, 30), (7, 70)]));
/// # Ok::<(), serde_json::Error>(())
/// ```
impl<K: MlpKey + Serialize, S: Slot> Serialize for MlpMap<K, S>
where
    for<'p> S::Ref<'p>: Serialize,
{
    fn serialize<F: Serializer>(&self, serializer: F) -> Result<F::Ok, F::Error> {
        self.pin().serialize(serializer)
    }
}

/// As that of the map.
impl<K: MlpKey + Serialize, S: Slot, G: Guard> Serialize for PinnedMlpMap<'_, K, S, G>
where
    for<'p> S::Ref<'p>: Serialize,
{
    fn serialize<F: Serializer>(&self, serializer: F) -> Result<F::Ok, F::Error> {
        let entries: Vec<_> = self.iter().collect();
        serializer.collect_map(entries)
    }
}

/// The last value of a key counts. A key that has no place in the order is an error.
impl<'de, K: MlpKey + Deserialize<'de>, S: Slot + Deserialize<'de>> Deserialize<'de> for MlpMap<K, S> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MlpMapVisitor(PhantomData))
    }
}

struct MlpMapVisitor<K, S>(PhantomData<(K, S)>);

impl<'de, K: MlpKey + Deserialize<'de>, S: Slot + Deserialize<'de>> Visitor<'de> for MlpMapVisitor<K, S> {
    type Value = MlpMap<K, S>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let map = MlpMap::new();
        while let Some((key, value)) = entries.next_entry::<K, S>()? {
            map.pin().insert(key, value).map_err(de::Error::custom)?;
        }
        Ok(map)
    }
}

/// A key in a serialized map.
struct SerialKey<'a>(Cow<'a, [u8]>);

impl Serialize for SerialKey<'_> {
    fn serialize<F: Serializer>(&self, serializer: F) -> Result<F::Ok, F::Error> {
        if !serializer.is_human_readable() {
            return serializer.serialize_bytes(&self.0);
        }
        let text = str::from_utf8(&self.0).map_err(|error| {
            let key = self.0.escape_ascii();
            ser::Error::custom(format_args!("the key b\"{key}\" is not text: {error}; use a binary format"))
        })?;
        serializer.serialize_str(text)
    }
}

impl<'de> Deserialize<'de> for SerialKey<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            deserializer.deserialize_str(KeyVisitor)
        } else {
            deserializer.deserialize_bytes(KeyVisitor)
        }
    }
}

struct KeyVisitor;

impl<'de> Visitor<'de> for KeyVisitor {
    type Value = SerialKey<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string or a byte string")
    }

    fn visit_str<R: de::Error>(self, key: &str) -> Result<Self::Value, R> {
        self.visit_bytes(key.as_bytes())
    }

    fn visit_borrowed_str<R: de::Error>(self, key: &'de str) -> Result<Self::Value, R> {
        self.visit_borrowed_bytes(key.as_bytes())
    }

    fn visit_bytes<R: de::Error>(self, key: &[u8]) -> Result<Self::Value, R> {
        Ok(SerialKey(key.to_vec().into()))
    }

    fn visit_borrowed_bytes<R: de::Error>(self, key: &'de [u8]) -> Result<Self::Value, R> {
        Ok(SerialKey(key.into()))
    }

    /// For formats without byte strings.
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut key = Vec::new();
        while let Some(byte) = seq.next_element()? {
            key.push(byte);
        }
        Ok(SerialKey(key.into()))
    }
}

impl<'de, T: InlineValue + Deserialize<'de>> Deserialize<'de> for Inline<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(Self)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Boxed<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(Self::new)
    }
}
