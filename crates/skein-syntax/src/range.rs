//! Bounds of ranges, in the notation of ZRANGEBYLEX: `[key`, `(key`, `-` and `+`.

use std::ops::Bound;

use crate::SyntaxError;

/// A range of keys. Empty ranges are detected here, so that no index receives crossed bounds.
///
/// ```
/// use skein_syntax::KeyRange;
///
/// let range = KeyRange::parse(b"[goose:", b"(goose;")?;
/// assert_eq!(range, Some(KeyRange::with_prefix(b"goose:")));
/// assert_eq!(KeyRange::parse(b"[b", b"[a")?, None);
/// # Ok::<(), skein_syntax::SyntaxError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRange {
    /// The lower bound.
    pub lower: Bound<Vec<u8>>,
    /// The upper bound.
    pub upper: Bound<Vec<u8>>,
}

/// One bound as it was written.
enum WrittenBound<'a> {
    BeforeAll,
    AfterAll,
    At(Bound<&'a [u8]>),
}

impl<'a> WrittenBound<'a> {
    fn parse(text: &'a [u8]) -> Result<Self, SyntaxError> {
        match text {
            b"-" => Ok(Self::BeforeAll),
            b"+" => Ok(Self::AfterAll),
            [b'[', key @ ..] => Ok(Self::At(Bound::Included(key))),
            [b'(', key @ ..] => Ok(Self::At(Bound::Excluded(key))),
            _ => Err(SyntaxError::Bound),
        }
    }
}

impl KeyRange {
    /// The range of all keys.
    pub const ALL: Self = Self { lower: Bound::Unbounded, upper: Bound::Unbounded };

    /// Returns the memory of its bounds in bytes.
    pub fn memory(&self) -> usize {
        let bytes = |bound: &Bound<Vec<u8>>| match bound {
            Bound::Included(key) | Bound::Excluded(key) => key.capacity(),
            Bound::Unbounded => 0,
        };
        bytes(&self.lower) + bytes(&self.upper)
    }

    /// Returns the range from `min` to `max`, or `None` if it cannot contain a key.
    ///
    /// # Errors
    /// Returns [`SyntaxError::Bound`] if a bound has another form.
    pub fn parse(min: &[u8], max: &[u8]) -> Result<Option<Self>, SyntaxError> {
        let (min, max) = (WrittenBound::parse(min)?, WrittenBound::parse(max)?);
        let lower = match min {
            WrittenBound::BeforeAll => Bound::Unbounded,
            WrittenBound::At(bound) => bound,
            WrittenBound::AfterAll => return Ok(None),
        };
        let upper = match max {
            WrittenBound::AfterAll => Bound::Unbounded,
            WrittenBound::At(bound) => bound,
            WrittenBound::BeforeAll => return Ok(None),
        };
        let crossed = match (lower, upper) {
            (Bound::Included(a), Bound::Included(b)) => a > b,
            (Bound::Included(a) | Bound::Excluded(a), Bound::Included(b) | Bound::Excluded(b)) => a >= b,
            _ => false,
        };
        Ok((!crossed).then(|| Self { lower: lower.map(<[u8]>::to_vec), upper: upper.map(<[u8]>::to_vec) }))
    }

    /// Returns the range of all keys that begin with `prefix`.
    pub fn with_prefix(prefix: &[u8]) -> Self {
        let upper = skein_index::successor(prefix).map_or(Bound::Unbounded, Bound::Excluded);
        Self { lower: Bound::Included(prefix.to_vec()), upper }
    }

    /// Returns the part of the range behind `key`, or `None` if it cannot contain a key.
    pub fn after(self, key: Vec<u8>) -> Option<Self> {
        match (&self.lower, &self.upper) {
            (_, Bound::Included(last) | Bound::Excluded(last)) if key >= *last => None,
            (Bound::Included(first), _) if key < *first => Some(self),
            _ => Some(Self { lower: Bound::Excluded(key), ..self }),
        }
    }

    /// Returns both bounds in the form that an index expects.
    pub fn bounds(&self) -> (Bound<&[u8]>, Bound<&[u8]>) {
        (self.lower.as_ref().map(Vec::as_slice), self.upper.as_ref().map(Vec::as_slice))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_of_zrangebylex() {
        let parse = |min: &str, max: &str| KeyRange::parse(min.as_bytes(), max.as_bytes()).expect("a range");
        assert_eq!(parse("-", "+"), Some(KeyRange::ALL));
        assert_eq!(
            parse("[a", "(b"),
            Some(KeyRange { lower: Bound::Included(b"a".to_vec()), upper: Bound::Excluded(b"b".to_vec()) })
        );
        assert_eq!(parse("[", "+").map(|range| range.lower), Some(Bound::Included(Vec::new())));
        for (min, max) in
            [("+", "-"), ("+", "+"), ("-", "-"), ("[b", "[a"), ("(a", "(a"), ("[a", "(a"), ("(a", "[a")]
        {
            assert_eq!(parse(min, max), None, "{min} {max}");
        }
        assert!(parse("[a", "[a").is_some());
        for bad in ["", "a", "--", "+1"] {
            assert!(KeyRange::parse(bad.as_bytes(), b"+").is_err(), "{bad}");
            assert!(KeyRange::parse(b"-", bad.as_bytes()).is_err(), "{bad}");
        }
    }

    #[test]
    fn ranges_of_prefixes() {
        let range = KeyRange::with_prefix(b"ab");
        assert_eq!(range.bounds(), (Bound::Included(&b"ab"[..]), Bound::Excluded(&b"ac"[..])));
        assert_eq!(KeyRange::with_prefix(b"\xff").upper, Bound::Unbounded);
    }
}
