//! The traits of keys.

use super::{DecodeError, KeyReader, sequences};

/// A type with an encoding of its values as keys.
///
/// Keys have two encodings. They differ only in strings, byte strings, and keys that end in one:
///
/// - `encode_part` is for a key that others follow, as in a tuple. It is *prefix-free*: no value's
///   bytes begin with those of another value.
/// - `encode_last` is for a whole key, or for its last part. Only the end of the key ends it.
///
/// Both keep the order: a value is less than another one exactly if its bytes are less.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no encoding as a key",
    label = "not a key",
    note = "for a struct or an enum, use `#[derive(skeindb::Key)]`, or `#[derive(skeindb::EncodeKey)]` if it borrows",
    note = "maps, sets, `usize` and `isize` are no keys"
)]
pub trait EncodeKey {
    /// Appends the encoding of a key that other parts may follow.
    fn encode_part(&self, out: &mut Vec<u8>);

    /// Appends the encoding of a whole key, or of its last part.
    ///
    /// A type that overrides this must override [`Key::decode_last`].
    fn encode_last(&self, out: &mut Vec<u8>) {
        self.encode_part(out);
    }

    /// Returns the bytes of the whole key, as they are in the keyspace.
    fn to_key_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.encode_last(&mut bytes);
        bytes
    }
}

/// A type that looks keys of type `K` up: it has the encoding of an equal `K`.
///
/// So `str` looks up `String`s, and `(&str, u32)` looks up `(String, u32)`s. Every [`Key`] looks up
/// itself.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a key of the keyspace, whose keys are `{K}`",
    label = "expected `{K}`, or a type that borrows from it"
)]
pub trait AsKey<K: ?Sized>: EncodeKey {}

/// A type of keys, with an encoding that keeps its order and can be decoded.
///
/// The [module](super) lists the types that implement it. `#[derive(Key)]` implements it for
/// structs and enums. A type with an encoding of its own needs three traits:
///
/// ```
/// use skeindb::typed::{AsKey, DecodeError, EncodeKey, Key, KeyReader};
///
/// /// A percentage from 0 to 100.
/// #[derive(Debug, PartialEq)]
/// struct Percent(u8);
///
/// impl EncodeKey for Percent {
///     fn encode_part(&self, out: &mut Vec<u8>) {
///         self.0.encode_part(out);
///     }
/// }
///
/// impl AsKey<Percent> for Percent {}
///
/// impl Key for Percent {
///     fn decode_part(reader: &mut KeyReader<'_>) -> Result<Self, DecodeError> {
///         let position = reader.position();
///         match u8::decode_part(reader)? {
///             percent @ 0..=100 => Ok(Percent(percent)),
///             more => Err(DecodeError::in_key::<Self>(position, format!("{more}, and at most 100 is valid"))),
///         }
///     }
/// }
///
/// assert_eq!(Percent::from_key_bytes(&Percent(12).to_key_bytes())?, Percent(12));
/// let error = <(bool, Percent)>::from_key_bytes(&[1, 200]).unwrap_err();
/// assert_eq!(error.position(), 1);
/// # Ok::<(), DecodeError>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a key",
    label = "not a key",
    note = "for a struct or an enum, use `#[derive(skeindb::Key)]`",
    note = "a key owns its contents: `String` is a key, and `&str` looks it up"
)]
pub trait Key: AsKey<Self> + Sized {
    /// Reads the encoding that [`EncodeKey::encode_part`] wrote. It must not panic on any bytes.
    ///
    /// # Errors
    /// The bytes at the front of the reader are no such encoding.
    fn decode_part(reader: &mut KeyReader<'_>) -> Result<Self, DecodeError>;

    /// Reads the encoding that [`EncodeKey::encode_last`] wrote.
    ///
    /// # Errors
    /// As for [`decode_part`](Self::decode_part).
    fn decode_last(reader: &mut KeyReader<'_>) -> Result<Self, DecodeError> {
        Self::decode_part(reader)
    }

    /// Returns the key that these bytes encode.
    ///
    /// # Errors
    /// The bytes are no encoding of a key. The error names the type, the position and the bytes
    /// found there.
    fn from_key_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        decode_whole(bytes).map_err(DecodeError::of_key::<Self>)
    }

    // `u8` overrides the rest of the methods: a vector of bytes is a byte string, and a vector of
    // other keys is a sequence.

    /// Appends the encoding of a slice that other parts may follow.
    #[doc(hidden)]
    fn encode_slice_part(items: &[Self], out: &mut Vec<u8>) {
        sequences::encode(items, out);
    }

    /// Appends the encoding of a slice at the end of a key.
    #[doc(hidden)]
    fn encode_slice_last(items: &[Self], out: &mut Vec<u8>) {
        Self::encode_slice_part(items, out);
    }

    /// Appends the bytes with which the keys of all slices begin that begin with `items`.
    #[doc(hidden)]
    fn encode_slice_prefix(items: &[Self], out: &mut Vec<u8>) {
        sequences::encode_items(items, out);
    }

    /// Reads the encoding of `encode_slice_part`.
    ///
    /// # Errors
    /// As for [`decode_part`](Self::decode_part).
    #[doc(hidden)]
    fn decode_vec_part(reader: &mut KeyReader<'_>) -> Result<Vec<Self>, DecodeError> {
        sequences::decode(reader)
    }

    /// Reads the encoding of `encode_slice_last`.
    ///
    /// # Errors
    /// As for [`decode_part`](Self::decode_part).
    #[doc(hidden)]
    fn decode_vec_last(reader: &mut KeyReader<'_>) -> Result<Vec<Self>, DecodeError> {
        Self::decode_vec_part(reader)
    }
}

/// Decodes a key or a value that ends where the bytes end.
pub(super) fn decode_whole<K: Key>(bytes: &[u8]) -> Result<K, DecodeError> {
    let mut reader = KeyReader::new(bytes);
    let key = K::decode_last(&mut reader)?;
    reader.end::<K>()?;
    Ok(key)
}

impl<T: EncodeKey + ?Sized> EncodeKey for &T {
    fn encode_part(&self, out: &mut Vec<u8>) {
        T::encode_part(self, out);
    }

    fn encode_last(&self, out: &mut Vec<u8>) {
        T::encode_last(self, out);
    }
}

impl<K: ?Sized, T: AsKey<K> + ?Sized> AsKey<K> for &T {}
