//! The errors of typed keys and values.

use std::any::type_name;
use std::fmt;

/// The bytes of a key or a value are not an encoding of its type.
///
/// The keyspace was then written with other types, or by another program.
///
/// ```
/// use skeindb::typed::Key;
///
/// let error = <(u32, i64)>::from_key_bytes(&[0, 0, 0, 7, 128]).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "cannot decode a key as `(u32, i64)`: `i64` at byte 4 takes 8 bytes, and 1 is left; \
///      open the keyspace with the types that it was written with"
/// );
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "cannot decode a {role} as `{whole}`: `{part}` at byte {position} {problem}; \
     open the keyspace with the types that it was written with"
)]
pub struct DecodeError {
    role: Role,
    whole: &'static str,
    part: &'static str,
    position: usize,
    problem: Problem,
}

/// The use of the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Key,
    Value,
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Role::Key => "key",
            Role::Value => "value",
        })
    }
}

/// The reason why bytes are not an encoding.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Problem {
    #[error("takes {needed} bytes, and {} left", left_bytes(*.left))]
    TooShort { needed: usize, left: usize },
    #[error("has no end: the byte 0x00 that ends it is missing")]
    Unterminated,
    #[error("ends there, and {} left", left_bytes(*.left))]
    Trailing { left: usize },
    #[error("is nested in more than {limit} sequences")]
    Nested { limit: u8 },
    #[error("has {found}")]
    Invalid { found: String },
}

/// Formats the number of bytes that are left, with its verb.
fn left_bytes(left: usize) -> String {
    match left {
        1 => "1 is".to_owned(),
        left => format!("{left} are"),
    }
}

impl DecodeError {
    /// Creates the error of a part of type `T` at a position. [`of_key`](Self::of_key) adds the
    /// type of the whole key.
    pub(super) fn new<T: ?Sized>(position: usize, problem: Problem) -> Self {
        let part = type_name::<T>();
        DecodeError { role: Role::Key, whole: part, part, position, problem }
    }

    /// Names the type of the whole key.
    pub(super) fn of_key<K: ?Sized>(self) -> Self {
        DecodeError { whole: type_name::<K>(), ..self }
    }

    /// Names the type of the whole value.
    pub(super) fn of_value<V: ?Sized>(self) -> Self {
        DecodeError { role: Role::Value, whole: type_name::<V>(), ..self }
    }

    /// Creates the error of a part of a key, of type `T`. It begins at `position`
    /// ([`KeyReader::position`](super::KeyReader::position)). `found` continues the sentence "`T`
    /// at byte `position` has …".
    pub fn in_key<T: ?Sized>(position: usize, found: impl Into<String>) -> Self {
        Self::new::<T>(position, Problem::Invalid { found: found.into() })
    }

    /// Creates the error of a value of type `V`. `found` continues the sentence "`V` at byte
    /// `position` has …".
    ///
    /// ```
    /// use skeindb::typed::DecodeError;
    ///
    /// let error = DecodeError::in_value::<String>(3, "no end");
    /// assert!(error.to_string().contains("at byte 3 has no end"));
    /// ```
    pub fn in_value<V: ?Sized>(position: usize, found: impl Into<String>) -> Self {
        Self::in_key::<V>(position, found).of_value::<V>()
    }

    /// Returns the name of the type of the whole key or value.
    pub fn type_name(&self) -> &'static str {
        self.whole
    }

    /// Returns the name of the type of the part that failed. It begins at
    /// [`position`](Self::position).
    pub fn part_type_name(&self) -> &'static str {
        self.part
    }

    /// Returns the offset in bytes of the part that failed.
    pub fn position(&self) -> usize {
        self.position
    }
}

/// A value cannot be encoded. Key types never fail.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot encode a value of type `{type_name}`: {reason}")]
pub struct EncodeError {
    type_name: &'static str,
    reason: String,
}

impl EncodeError {
    /// Creates the error of a value of type `V`. `reason` should name the value, the limit and the
    /// way out.
    pub fn new<V: ?Sized>(reason: impl Into<String>) -> Self {
        EncodeError { type_name: type_name::<V>(), reason: reason.into() }
    }
}
