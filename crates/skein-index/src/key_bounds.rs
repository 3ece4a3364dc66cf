//! Bounds of keys, in the forms that `BTreeMap::range` takes.

use std::ops::{Bound, Range, RangeBounds, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

/// A range of keys: `..`, `"a".."b"`, `b"a"..=b"b"`, or a pair of [`Bound`]s.
///
/// It stands in for `RangeBounds<K>`. With the latter, the compiler cannot infer `K` for `..` and
/// for byte-string literals.
///
/// ```
/// use std::ops::Bound;
///
/// use skein_index::KeyBounds;
///
/// let bounds = ("ant".."bee").key_bounds();
/// assert_eq!(bounds, (Bound::Included(&b"ant"[..]), Bound::Excluded(&b"bee"[..])));
/// ```
pub trait KeyBounds {
    /// Returns the bounds as byte strings.
    fn key_bounds(&self) -> (Bound<&[u8]>, Bound<&[u8]>);
}

fn as_bytes<'a, K: AsRef<[u8]> + 'a>(bounds: &'a impl RangeBounds<K>) -> (Bound<&'a [u8]>, Bound<&'a [u8]>) {
    (bounds.start_bound().map(K::as_ref), bounds.end_bound().map(K::as_ref))
}

impl KeyBounds for RangeFull {
    fn key_bounds(&self) -> (Bound<&[u8]>, Bound<&[u8]>) {
        (Bound::Unbounded, Bound::Unbounded)
    }
}

macro_rules! ranges_of_keys {
    ($($range:ty),*) => {$(
        impl<K: AsRef<[u8]>> KeyBounds for $range {
            fn key_bounds(&self) -> (Bound<&[u8]>, Bound<&[u8]>) {
                as_bytes::<K>(self)
            }
        }
    )*};
}
ranges_of_keys!(
    Range<K>,
    RangeFrom<K>,
    RangeInclusive<K>,
    RangeTo<K>,
    RangeToInclusive<K>,
    (Bound<K>, Bound<K>)
);

#[cfg(all(test, not(skein_loom)))]
mod tests {
    use super::*;

    #[test]
    fn every_form_has_its_bounds() {
        let (a, b) = (&b"a"[..], &b"b"[..]);
        let forms: [(&dyn KeyBounds, _); 7] = [
            (&.., (Bound::Unbounded, Bound::Unbounded)),
            (&("a".."b"), (Bound::Included(a), Bound::Excluded(b))),
            (&("a".to_owned()..), (Bound::Included(a), Bound::Unbounded)),
            (&(b"a"..=b"b"), (Bound::Included(a), Bound::Included(b))),
            (&(..b.to_vec()), (Bound::Unbounded, Bound::Excluded(b))),
            (&(..=b), (Bound::Unbounded, Bound::Included(b))),
            (&(Bound::Excluded("a"), Bound::Unbounded), (Bound::Excluded(a), Bound::Unbounded)),
        ];
        for (form, expected) in forms {
            assert_eq!(form.key_bounds(), expected);
        }
    }
}
