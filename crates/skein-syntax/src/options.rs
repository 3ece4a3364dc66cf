//! The words behind the bounds of a range.

use crate::SyntaxError;
use crate::number::{parse_i64, parse_u64};

/// What a range returns for each key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RangeProjection {
    /// The key and its value.
    Entries,
    /// The key alone.
    Keys,
    /// The key and these columns; null for each missing column.
    Columns(Vec<Vec<u8>>),
}

/// `[REV] [LIMIT n] [NOVALUES | COLUMNS n name...] [SNAPSHOT]`, in any order, each at most once.
///
/// ```
/// use skein_syntax::{RangeOptions, RangeProjection};
///
/// let options = RangeOptions::parse([b"LIMIT".as_slice(), b"10", b"novalues"].into_iter())?;
/// assert_eq!((options.limit, options.shown), (10, RangeProjection::Keys));
/// assert!(!options.reverse && !options.snapshot);
/// # Ok::<(), skein_syntax::SyntaxError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RangeOptions {
    /// From the greatest key to the smallest.
    pub reverse: bool,
    /// The most keys.
    pub limit: usize,
    /// What the range returns for each key.
    pub shown: RangeProjection,
    /// Whether all keys are of one moment.
    pub snapshot: bool,
}

impl RangeOptions {
    /// Parses the words.
    ///
    /// # Errors
    /// Returns a [`SyntaxError`], but never [`SyntaxError::Bound`].
    pub fn parse<'a>(mut words: impl ExactSizeIterator<Item = &'a [u8]>) -> Result<Self, SyntaxError> {
        let (mut reverse, mut limit, mut shown, mut snapshot) = (false, None, None, false);
        while let Some(word) = words.next() {
            let is = |name: &str| word.eq_ignore_ascii_case(name.as_bytes());
            if is("REV") && !reverse {
                reverse = true;
            } else if is("LIMIT") && limit.is_none() {
                let most =
                    parse_u64(words.next().ok_or(SyntaxError::Syntax)?).ok_or(SyntaxError::NotAnInteger)?;
                limit = Some(usize::try_from(most).unwrap_or(usize::MAX));
            } else if is("NOVALUES") && shown.is_none() {
                shown = Some(RangeProjection::Keys);
            } else if is("COLUMNS") && shown.is_none() {
                shown = Some(RangeProjection::Columns(columns(&mut words)?));
            } else if is("SNAPSHOT") && !snapshot {
                snapshot = true;
            } else {
                return Err(SyntaxError::Syntax);
            }
        }
        let (limit, shown) = (limit.unwrap_or(usize::MAX), shown.unwrap_or(RangeProjection::Entries));
        Ok(Self { reverse, limit, shown, snapshot })
    }
}

/// Parses a count and as many names.
fn columns<'a>(words: &mut impl ExactSizeIterator<Item = &'a [u8]>) -> Result<Vec<Vec<u8>>, SyntaxError> {
    let count = parse_i64(words.next().ok_or(SyntaxError::Syntax)?).ok_or(SyntaxError::NotAnInteger)?;
    let count = usize::try_from(count).ok().filter(|count| *count > 0).ok_or(SyntaxError::NoColumns)?;
    if words.len() < count {
        return Err(SyntaxError::Syntax);
    }
    Ok(words.take(count).map(<[u8]>::to_vec).collect())
}
