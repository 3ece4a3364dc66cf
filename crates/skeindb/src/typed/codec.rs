//! Rows of typed keyspaces from and to bytes, with the errors of the library.

use super::{AsValue, Key, StoredValue};
use crate::Result;

/// Returns the bytes of a value.
pub(super) fn encode_value<V>(value: &(impl AsValue<V> + ?Sized)) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    value.encode_value(&mut bytes)?;
    Ok(bytes)
}

/// Returns the value with these bytes, if there are any.
pub(super) fn decode_value<V: StoredValue>(bytes: Option<impl AsRef<[u8]>>) -> Result<Option<V>> {
    Ok(bytes.map(|bytes| V::decode_value(bytes.as_ref())).transpose()?)
}

/// Returns the row with these bytes.
pub(super) fn decode_row<K: Key, V: StoredValue>((key, value): (Vec<u8>, Vec<u8>)) -> Result<(K, V)> {
    Ok((K::from_key_bytes(&key)?, V::decode_value(&value)?))
}
