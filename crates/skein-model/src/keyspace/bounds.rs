//! Ranges of names as ranges of stored keys.
//!
//! ```text
//!   default keyspace    …  z │ ff 53 4b 00 …  other keyspaces  … │ ff 53 4b 01  …
//!                       first piece          skipped              second piece
//!   another keyspace         ff 53 4b 00 number │ name            one piece, names without prefix
//! ```
//!
//! So the keys of other keyspaces are skipped by a second search, and not visited.

use std::borrow::Cow;
use std::ops::Bound;

use super::{AFTER_RESERVED, RESERVED, StoredKeyspace};

/// The bounds of a range of keys.
pub type KeyBounds<'b> = (Bound<&'b [u8]>, Bound<&'b [u8]>);

/// The bounds of a range of stored keys, made of names.
pub type StoredBounds<'b> = (Bound<Cow<'b, [u8]>>, Bound<Cow<'b, [u8]>>);

/// Returns the bounds without their ownership.
pub fn borrowed_bounds<'b>((lower, upper): &'b StoredBounds<'_>) -> KeyBounds<'b> {
    (lower.as_ref().map(|key| &**key), upper.as_ref().map(|key| &**key))
}

impl StoredKeyspace {
    /// Returns the bounds of the stored keys of a range of names. In the default keyspace they may
    /// enclose the keys of the others.
    pub fn bounds<'b>(self, (lower, upper): KeyBounds<'b>) -> StoredBounds<'b> {
        let stored = |bound: Bound<&'b [u8]>| bound.map(|name| self.stored(name));
        let (mut lower, mut upper) = (stored(lower), stored(upper));
        if !self.is_default() {
            if lower == Bound::Unbounded {
                lower = Bound::Included(self.prefix().to_vec().into());
            }
            if upper == Bound::Unbounded {
                let end = self.number().checked_add(1).map(|next| Self::of_number(next).prefix());
                let end = end.map_or(AFTER_RESERVED.to_vec(), |end| end.to_vec());
                upper = Bound::Excluded(end.into());
            }
        }
        (lower, upper)
    }

    /// Returns the pieces of a range of stored keys that belong to the keyspace, in the order of
    /// their keys.
    pub fn pieces(self, whole: KeyBounds<'_>) -> [Option<KeyBounds<'_>>; 2] {
        let (lower, upper) = whole;
        if !self.is_default() {
            return [Some(whole), None];
        }
        let (starts, ends) = match (lower, upper) {
            (Bound::Included(lower) | Bound::Excluded(lower), _) if lower >= &AFTER_RESERVED[..] => {
                return [None, Some(whole)];
            }
            (_, Bound::Included(upper)) if upper < &RESERVED[..] => return [Some(whole), None],
            (_, Bound::Excluded(upper)) if upper <= &RESERVED[..] => return [Some(whole), None],
            (lower, upper) => (is_before_gap(lower), is_behind_gap(upper)),
        };
        [
            starts.then_some((lower, Bound::Excluded(&RESERVED[..]))),
            ends.then_some((Bound::Included(&AFTER_RESERVED[..]), upper)),
        ]
    }
}

fn is_before_gap(lower: Bound<&[u8]>) -> bool {
    match lower {
        Bound::Included(lower) | Bound::Excluded(lower) => lower < &RESERVED[..],
        Bound::Unbounded => true,
    }
}

fn is_behind_gap(upper: Bound<&[u8]>) -> bool {
    match upper {
        Bound::Included(upper) => upper >= &AFTER_RESERVED[..],
        Bound::Excluded(upper) => upper > &AFTER_RESERVED[..],
        Bound::Unbounded => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> [bool; 2] {
        StoredKeyspace::DEFAULT.pieces((lower, upper)).map(|piece| piece.is_some())
    }

    #[test]
    fn the_default_keyspace_leaves_out_the_reserved_keys() {
        use Bound::{Excluded, Included, Unbounded};
        let (before, inside, after): (&[u8], &[u8], &[u8]) = (b"a", b"\xffSK\0\0\0\0\x01", b"\xffSK\x01");
        for (lower, upper, expected) in [
            (Unbounded, Unbounded, [true, true]),
            (Included(before), Excluded(inside), [true, false]),
            (Included(before), Included(&b"b"[..]), [true, false]),
            (Unbounded, Excluded(&RESERVED[..]), [true, false]),
            (Unbounded, Included(&RESERVED[..]), [true, false]),
            (Excluded(inside), Unbounded, [false, true]),
            (Excluded(inside), Included(inside), [false, false]),
            (Excluded(inside), Excluded(after), [false, false]),
            (Excluded(inside), Included(after), [false, true]),
            (Included(after), Unbounded, [false, true]),
            (Included(&b"\xffT"[..]), Included(&b"\xffU"[..]), [false, true]),
        ] {
            assert_eq!(pieces(lower, upper), expected, "{lower:?} {upper:?}");
        }
    }

    #[test]
    fn another_keyspace_is_one_range() {
        let last = StoredKeyspace::of_number(u32::MAX).bounds((Bound::Unbounded, Bound::Unbounded));
        assert_eq!(borrowed_bounds(&last).1, Bound::Excluded(&AFTER_RESERVED[..]));
        let third = StoredKeyspace::of_database(3);
        let some = third.bounds((Bound::Excluded(&b"a"[..]), Bound::Unbounded));
        let (lower, end) = (third.stored(b"a"), StoredKeyspace::of_database(4).prefix());
        let pieces = third.pieces(borrowed_bounds(&some));
        assert_eq!(pieces, [Some((Bound::Excluded(&*lower), Bound::Excluded(&end[..]))), None]);
    }
}
