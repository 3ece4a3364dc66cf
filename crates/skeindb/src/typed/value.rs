//! The traits of values.

use super::key::decode_whole;
use super::{AsKey, DecodeError, EncodeError, Key};

/// A type that is stored as a value of type `V`: it has the encoding of an equal `V`.
///
/// So `str` is stored as a `String`. Every [`StoredValue`] is stored as itself.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be stored as a value of type `{V}`",
    label = "expected `{V}`, or a type that borrows from it"
)]
pub trait AsValue<V> {
    /// Appends the bytes of the value.
    ///
    /// # Errors
    /// The type of the value is no key, and its format cannot express the value.
    fn encode_value(&self, out: &mut Vec<u8>) -> Result<(), EncodeError>;
}

/// A type of values.
///
/// - Every [`Key`] is a value, with the bytes of the whole key. So are numbers, strings, byte
///   strings, tuples, options, vectors, and types with `#[derive(Key)]`.
/// - With the feature `postcard`, `#[derive(StoredValue)]` stores a type of serde, and
///   `Postcard` one of another crate.
/// - A type with a format of its own implements [`AsValue`] for itself and this trait:
///
/// ```
/// use skeindb::typed::{AsValue, DecodeError, EncodeError, StoredValue};
///
/// /// A number that is stored as text, as Redis's clients do.
/// #[derive(Debug, PartialEq)]
/// struct Decimal(i64);
///
/// impl AsValue<Decimal> for Decimal {
///     fn encode_value(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
///         out.extend(self.0.to_string().bytes());
///         Ok(())
///     }
/// }
///
/// impl StoredValue for Decimal {
///     fn decode_value(bytes: &[u8]) -> Result<Self, DecodeError> {
///         let number = std::str::from_utf8(bytes).ok().and_then(|text| text.parse().ok());
///         number.map(Decimal).ok_or_else(|| DecodeError::in_value::<Self>(0, "no decimal number"))
///     }
/// }
///
/// assert_eq!(Decimal::decode_value(b"-12")?, Decimal(-12));
/// # Ok::<(), DecodeError>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be stored as a value",
    label = "not a value",
    note = "use `#[derive(skeindb::StoredValue)]` (feature `postcard`) or `#[derive(skeindb::Key)]`",
    note = "a value owns its contents: `String` is a value, and `&str` is stored as one"
)]
pub trait StoredValue: AsValue<Self> + Sized {
    /// Returns the value that these bytes encode. It must not panic on any bytes.
    ///
    /// # Errors
    /// The bytes are no encoding of a value.
    fn decode_value(bytes: &[u8]) -> Result<Self, DecodeError>;
}

#[diagnostic::do_not_recommend]
impl<V: Key, W: AsKey<V> + ?Sized> AsValue<V> for W {
    fn encode_value(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        self.encode_last(out);
        Ok(())
    }
}

#[diagnostic::do_not_recommend]
impl<V: Key> StoredValue for V {
    fn decode_value(bytes: &[u8]) -> Result<Self, DecodeError> {
        decode_whole(bytes).map_err(DecodeError::of_value::<Self>)
    }
}
