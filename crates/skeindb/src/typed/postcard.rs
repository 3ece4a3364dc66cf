//! Values of serde, in the format of the crate `postcard`.

use std::ops::{Deref, DerefMut};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{AsValue, DecodeError, EncodeError, StoredValue};

/// A value that is stored in the [format of postcard](https://postcard.jamesmunns.com), through
/// serde. For types of other crates; your own can use `#[derive(StoredValue)]`, with the same
/// bytes.
///
/// The format has neither names nor types. So a field that is added, removed or moved changes the
/// bytes of the whole value. Variants may be added to the end of an enum: store an enum with a
/// variant for each version of a value.
///
/// ```
/// use std::collections::BTreeMap;
///
/// use skeindb::typed::{AsValue, Postcard, StoredValue};
///
/// let counts = Postcard(BTreeMap::from([("goose", 12), ("swan", 2)]));
/// let mut bytes = Vec::new();
/// counts.encode_value(&mut bytes)?;
/// let counts: Postcard<BTreeMap<String, i32>> = Postcard::decode_value(&bytes)?;
/// assert_eq!(counts["goose"], 12);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Postcard<T>(pub T);

impl<T> Deref for Postcard<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for Postcard<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T: Serialize> AsValue<Postcard<T>> for Postcard<T> {
    fn encode_value(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        encode_postcard(&self.0, out)
    }
}

impl<T: SerdeValue> StoredValue for Postcard<T> {
    fn decode_value(bytes: &[u8]) -> Result<Self, DecodeError> {
        decode_postcard(bytes).map(Postcard)
    }
}

/// A type that serde writes and reads.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be stored through serde",
    label = "not a type of serde",
    note = "add `#[derive(serde::Serialize, serde::Deserialize)]`"
)]
pub trait SerdeValue: Serialize + DeserializeOwned {}

impl<T: Serialize + DeserializeOwned> SerdeValue for T {}

/// Appends a value in the format of postcard. `#[derive(StoredValue)]` calls it.
///
/// # Errors
/// The value's `Serialize` fails, or postcard has no encoding for it.
#[doc(hidden)]
pub fn encode_postcard<T: Serialize>(value: &T, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    *out = postcard::to_extend(value, std::mem::take(out))
        .map_err(|error| EncodeError::new::<T>(error.to_string()))?;
    Ok(())
}

/// Returns the value that these bytes encode in the format of postcard. `#[derive(StoredValue)]`
/// calls it.
///
/// # Errors
/// The bytes are no encoding of a value of this type, or bytes are left.
#[doc(hidden)]
pub fn decode_postcard<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, DecodeError> {
    let (value, rest) = postcard::take_from_bytes(bytes)
        .map_err(|error| DecodeError::in_value::<T>(0, format!("bytes that postcard rejects: {error}")))?;
    match rest.len() {
        0 => Ok(value),
        left => Err(DecodeError::in_value::<T>(bytes.len() - left, format!("{left} bytes behind its end"))),
    }
}
