//! The request for a page.

use std::ops::Bound;

use crate::ScanDirection;
use crate::client::bound;

/// The most names of a page, unless a request asks for fewer.
const PAGE_NAMES_MAX: u64 = 1000;

/// The parts of each key that a range returns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Projection {
    /// The name alone.
    Names,
    /// The name and the whole value.
    Whole,
    /// The name and these fields of a hash; null for each missing field.
    Columns(Vec<Vec<u8>>),
}

impl Projection {
    pub(super) fn is_names(&self) -> bool {
        *self == Self::Names
    }
}

/// The rest of a range of keys.
#[derive(Debug, Clone)]
pub(super) struct RangeRequest {
    pub min: Bound<Vec<u8>>,
    pub max: Bound<Vec<u8>>,
    pub direction: ScanDirection,
    pub shown: Projection,
    /// The most names of a page; `None` leaves it to the node.
    pub limit: Option<u64>,
}

impl RangeRequest {
    /// Returns the bound at which the range starts.
    pub fn begin(&self) -> Bound<Vec<u8>> {
        match self.direction {
            ScanDirection::Forward => self.min.clone(),
            ScanDirection::Backward => self.max.clone(),
        }
    }

    /// Shrinks the range to the keys behind `key`.
    pub fn resume_after(&mut self, key: Vec<u8>) {
        match self.direction {
            ScanDirection::Forward => self.min = Bound::Excluded(key),
            ScanDirection::Backward => self.max = Bound::Excluded(key),
        }
    }

    /// Returns the words of `SK.PAGE`.
    pub fn words(&self) -> Vec<Vec<u8>> {
        let mut words = vec![b"SK.PAGE".to_vec(), bound(&self.min, b"-"), bound(&self.max, b"+")];
        if self.direction == ScanDirection::Backward {
            words.push(b"REV".to_vec());
        }
        if let Some(limit) = self.limit.filter(|limit| *limit < PAGE_NAMES_MAX) {
            words.extend([b"LIMIT".to_vec(), limit.max(1).to_string().into_bytes()]);
        }
        match &self.shown {
            Projection::Names => words.push(b"NOVALUES".to_vec()),
            Projection::Whole => {}
            Projection::Columns(names) => {
                words.extend([b"COLUMNS".to_vec(), names.len().to_string().into_bytes()]);
                words.extend(names.iter().cloned());
            }
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_the_contract() {
        let mut request = RangeRequest {
            min: Bound::Included(b"a".to_vec()),
            max: Bound::Unbounded,
            direction: ScanDirection::Forward,
            shown: Projection::Names,
            limit: Some(7),
        };
        let text = |request: &RangeRequest| String::from_utf8(request.words().join(&b' ')).unwrap();
        assert_eq!(text(&request), "SK.PAGE [a + LIMIT 7 NOVALUES");
        request.resume_after(b"k".to_vec());
        assert_eq!(text(&request), "SK.PAGE (k + LIMIT 7 NOVALUES");
        request.direction = ScanDirection::Backward;
        request.shown = Projection::Columns(vec![b"x".to_vec(), b"y".to_vec()]);
        request.limit = Some(u64::MAX);
        request.resume_after(b"z".to_vec());
        assert_eq!(text(&request), "SK.PAGE (k (z REV COLUMNS 2 x y");
    }
}
