//! Ranges and prefixes of typed keys.

use std::ops::{Bound, Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

use super::AsKey;

/// A range of keys of type `K`: a Rust range of keys, or of types that look them up.
///
/// ```
/// use std::ops::Bound;
///
/// use skeindb::typed::KeyRange;
///
/// let bounds = KeyRange::<u16>::bounds(7..=8);
/// assert_eq!(bounds, (Bound::Included(vec![0, 7]), Bound::Included(vec![0, 8])));
/// let bounds = KeyRange::<String>::bounds((Bound::Excluded("a"), Bound::Unbounded));
/// assert_eq!(bounds, (Bound::Excluded(b"a".to_vec()), Bound::Unbounded));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a range of keys of type `{K}`",
    label = "expected `..` or a range of `{K}`, or of a type that borrows from it"
)]
pub trait KeyRange<K> {
    /// Returns the bounds as bytes.
    fn bounds(self) -> (Bound<Vec<u8>>, Bound<Vec<u8>>);
}

/// Implements [`KeyRange`] for a range, with expressions that return its bounds.
macro_rules! key_ranges {
    ($($range:ty, $self:ident => $start:expr, $end:expr;)*) => {$(
        impl<K, Q: AsKey<K>> KeyRange<K> for $range {
            fn bounds($self) -> (Bound<Vec<u8>>, Bound<Vec<u8>>) {
                ($start.map(Q::to_key_bytes), $end.map(Q::to_key_bytes))
            }
        }
    )*};
}
key_ranges! {
    Range<Q>, self => Bound::Included(&self.start), Bound::Excluded(&self.end);
    RangeInclusive<Q>, self => Bound::Included(self.start()), Bound::Included(self.end());
    RangeFrom<Q>, self => Bound::Included(&self.start), Bound::Unbounded;
    RangeTo<Q>, self => Bound::Unbounded, Bound::Excluded(&self.end);
    RangeToInclusive<Q>, self => Bound::Unbounded, Bound::Included(&self.end);
    (Bound<Q>, Bound<Q>), self => self.0.as_ref(), self.1.as_ref();
}

impl<K> KeyRange<K> for RangeFull {
    fn bounds(self) -> (Bound<Vec<u8>>, Bound<Vec<u8>>) {
        (Bound::Unbounded, Bound::Unbounded)
    }
}

/// The beginning of keys of type `K`.
///
/// - The first parts of a tuple, as a shorter tuple: `(7,)` and `(7, "a")` are prefixes of
///   `(u32, String, bool)`. With `#[derive(Key)]` it is the same for the first fields of a struct.
/// - The beginning of a `String`: a `str`.
/// - The first items of a `Vec`: a slice.
///
/// ```
/// use skeindb::typed::{EncodeKey, KeyPrefix};
///
/// let prefix = KeyPrefix::<(String, u16)>::to_prefix_bytes(&("a",));
/// assert!(("a", 3_u16).to_key_bytes().starts_with(&prefix));
/// assert!(!("ab", 3_u16).to_key_bytes().starts_with(&prefix));
///
/// let prefix = KeyPrefix::<String>::to_prefix_bytes("a");
/// assert!("ab".to_key_bytes().starts_with(&prefix));
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a prefix of keys of type `{K}`",
    label = "expected a shorter tuple, a `str` or a slice",
    note = "a prefix of one part is a tuple too: `(7,)`"
)]
pub trait KeyPrefix<K: ?Sized> {
    /// Appends the bytes with which exactly those keys begin that begin with the prefix.
    fn encode_prefix(&self, out: &mut Vec<u8>);

    /// Returns the bytes with which exactly those keys begin that begin with the prefix.
    fn to_prefix_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.encode_prefix(&mut bytes);
        bytes
    }
}
