//! The words behind the bounds of a range.

use crate::SyntaxError;
use crate::number::{parse_i64, parse_u64};

/// The parts of each key that a range returns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RangeProjection {
    /// The key and its value.
    Entries,
    /// The key alone.
    Keys,
    /// The key and these columns; null for each missing column.
    Columns(Vec<Vec<u8>>),
    /// The key, and an array of its type, expiry time, version and value.
    Details,
}

/// The moment of the keys of a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RangeMoment {
    /// Each key is as it is when the range reaches it.
    #[default]
    Present,
    /// All keys are of one moment, that of the range.
    Snapshot,
    /// All keys are of the moment of the snapshot that the client holds.
    Held,
}

/// `[REV] [LIMIT n] [NOVALUES | DETAILS | COLUMNS n name...] [SNAPSHOT | HELD]`, in any order, each
/// at most once.
///
/// ```
/// use skein_syntax::{RangeMoment, RangeOptions, RangeProjection};
///
/// let options = RangeOptions::parse([b"LIMIT".as_slice(), b"10", b"novalues"].into_iter())?;
/// assert_eq!((options.limit, options.shown), (10, RangeProjection::Keys));
/// assert_eq!((options.reverse, options.moment), (false, RangeMoment::Present));
/// # Ok::<(), skein_syntax::SyntaxError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RangeOptions {
    /// From the greatest key to the smallest.
    pub reverse: bool,
    /// The most keys.
    pub limit: usize,
    /// The parts of each key that the range returns.
    pub shown: RangeProjection,
    /// The moment of the keys.
    pub moment: RangeMoment,
}

impl RangeOptions {
    /// Parses the words.
    ///
    /// # Errors
    /// Returns a [`SyntaxError`], but never [`SyntaxError::Bound`].
    pub fn parse<'a>(mut words: impl ExactSizeIterator<Item = &'a [u8]>) -> Result<Self, SyntaxError> {
        let (mut reverse, mut limit, mut shown, mut moment) = (false, None, None, None);
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
            } else if is("DETAILS") && shown.is_none() {
                shown = Some(RangeProjection::Details);
            } else if is("COLUMNS") && shown.is_none() {
                shown = Some(RangeProjection::Columns(columns(&mut words)?));
            } else if is("SNAPSHOT") && moment.is_none() {
                moment = Some(RangeMoment::Snapshot);
            } else if is("HELD") && moment.is_none() {
                moment = Some(RangeMoment::Held);
            } else {
                return Err(SyntaxError::Syntax);
            }
        }
        let (limit, shown) = (limit.unwrap_or(usize::MAX), shown.unwrap_or(RangeProjection::Entries));
        Ok(Self { reverse, limit, shown, moment: moment.unwrap_or_default() })
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
