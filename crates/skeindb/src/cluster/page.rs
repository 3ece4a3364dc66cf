//! A page: one node's answer to `SK.PAGE`. `docs/design/cluster-ranges.md` has the contract.

use std::ops::Bound;

use skein_syntax::slots::SlotSet;

use super::page_request::RangeRequest;
use crate::ScanDirection;
use crate::client::Reply;

/// A key of a cluster, and its value if that was requested.
#[derive(Debug, Clone, PartialEq)]
pub struct ClusterEntry {
    /// The key.
    pub key: Vec<u8>,
    /// The value: a [`Reply::Bulk`] for a string, a [`Reply::Map`] for a hash or a sorted set, a
    /// [`Reply::Set`], a [`Reply::Array`] for a list. Scores are [`Reply::Number`]s. `None` in a
    /// range of names.
    pub held: Option<Reply>,
}

/// A node's keys up to some name, and the slots that the page covers.
#[derive(Debug, Clone)]
pub(super) struct NodePage {
    /// The slots that the node owns.
    pub owned: SlotSet,
    /// Slots that migrate to the node: their keys are being moved there.
    pub importing: SlotSet,
    /// Slots that migrate away from the node.
    pub migrating: SlotSet,
    /// The last name that the node checked; `None` if the page reaches the end of the range.
    pub last: Option<Vec<u8>>,
    /// In the order of the range, each name once.
    pub entries: Vec<ClusterEntry>,
}

impl NodePage {
    /// Parses a node's answer to `request`.
    ///
    /// # Errors
    /// Errors if the answer violates the contract. The text completes the sentence "the node
    /// answered …".
    pub fn parse(reply: Reply, request: &RangeRequest) -> Result<Self, String> {
        let parts = reply.into_array().and_then(|parts| <[Reply; 5]>::try_from(parts).ok());
        let Some([owned, importing, migrating, last, entries]) = parts else {
            return Err("a page that is not five elements".to_owned());
        };
        let last = match last {
            Reply::Null => None,
            Reply::Bulk(last) => Some(last),
            other => return Err(format!("a page with a last name that is none: {other}")),
        };
        let entries = entries.into_array().ok_or("a page without an array of entries")?;
        let entries = entries.into_iter().map(|item| entry(item, request.shown.is_names()));
        let page = Self {
            owned: slots(&owned)?,
            importing: slots(&importing)?,
            migrating: slots(&migrating)?,
            last,
            entries: entries.collect::<Result<_, _>>()?,
        };
        page.check(request)?;
        Ok(page)
    }

    /// Checks that the names are in order, in the range, and not beyond the last name.
    fn check(&self, request: &RangeRequest) -> Result<(), String> {
        let mut before = request.begin();
        let names = self.entries.iter().map(|entry| &entry.key);
        for name in names {
            if !follows(&before, name, request.direction) {
                return Err(format!("a page whose name \"{}\" is out of order", name.escape_ascii()));
            }
            before = Bound::Excluded(name.clone());
        }
        // The last name may be the name of the last entry.
        let reached = match before {
            Bound::Excluded(name) if !self.entries.is_empty() => Bound::Included(name),
            begin => begin,
        };
        match &self.last {
            Some(last) if !follows(&reached, last, request.direction) => Err(format!(
                "a page whose last name \"{}\" lies before its entries, or before the range",
                last.escape_ascii()
            )),
            _ => Ok(()),
        }
    }
}

/// Returns whether a name lies behind a bound, in the direction of the range.
fn follows(begin: &Bound<Vec<u8>>, name: &[u8], direction: ScanDirection) -> bool {
    match (begin, direction) {
        (Bound::Unbounded, _) => true,
        (Bound::Included(begin), ScanDirection::Forward) => name >= begin.as_slice(),
        (Bound::Excluded(begin), ScanDirection::Forward) => name > begin.as_slice(),
        (Bound::Included(begin), ScanDirection::Backward) => name <= begin.as_slice(),
        (Bound::Excluded(begin), ScanDirection::Backward) => name < begin.as_slice(),
    }
}

fn slots(reply: &Reply) -> Result<SlotSet, String> {
    let text = reply.bytes().map(String::from_utf8_lossy).ok_or("a page without its slots")?;
    text.parse().map_err(|error| format!("a page with bad slots: {error}"))
}

fn entry(item: Reply, names_only: bool) -> Result<ClusterEntry, String> {
    match item {
        Reply::Bulk(key) if names_only => Ok(ClusterEntry { key, held: None }),
        Reply::Array(pair) if !names_only => match <[Reply; 2]>::try_from(pair) {
            Ok([Reply::Bulk(key), held]) => Ok(ClusterEntry { key, held: Some(held) }),
            _ => Err("a page with an entry that is no name and value".to_owned()),
        },
        other => Err(format!("a page with an entry of another form: {other}")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::page_request::Projection;
    use super::*;

    fn bulk(text: &str) -> Reply {
        Reply::Bulk(text.as_bytes().to_vec())
    }

    fn page(last: Reply, entries: Vec<Reply>) -> Reply {
        Reply::Array(vec![bulk("0-99"), bulk("100"), bulk("7"), last, Reply::Array(entries)])
    }

    fn names() -> RangeRequest {
        let min = Bound::Excluded(b"a".to_vec());
        RangeRequest {
            min,
            max: Bound::Unbounded,
            direction: ScanDirection::Forward,
            shown: Projection::Names,
            limit: None,
        }
    }

    #[test]
    fn a_page_is_read() {
        let read = NodePage::parse(page(bulk("d"), vec![bulk("b"), bulk("c")]), &names()).unwrap();
        assert_eq!(read.owned.to_string(), "0-99");
        assert_eq!((read.importing.to_string(), read.migrating.to_string()), ("100".into(), "7".into()));
        assert_eq!(read.last.as_deref(), Some(&b"d"[..]));
        assert_eq!(read.entries.len(), 2);
        assert!(
            NodePage::parse(page(bulk("c"), vec![bulk("c")]), &names()).is_ok(),
            "the last name is an entry's"
        );
        assert!(NodePage::parse(page(bulk("b"), vec![]), &names()).is_ok(), "a page without entries");

        let whole = RangeRequest { shown: Projection::Whole, ..names() };
        let pair = Reply::Array(vec![bulk("b"), Reply::Set(vec![bulk("x")])]);
        let read = NodePage::parse(page(Reply::Null, vec![pair]), &whole).unwrap();
        assert_eq!(read.entries[0].held, Some(Reply::Set(vec![bulk("x")])));
    }

    #[test]
    fn a_page_that_breaks_the_contract_is_refused() {
        for (last, entries, word) in [
            (Reply::Null, vec![bulk("c"), bulk("b")], "order"),
            (Reply::Null, vec![bulk("b"), bulk("b")], "order"),
            (Reply::Null, vec![bulk("a")], "order"),
            (bulk("b"), vec![bulk("c")], "before its entries"),
            // A last name that does not lie behind the last window would repeat the window without
            // end.
            (bulk("a"), vec![], "before the range"),
            (Reply::Integer(1), vec![], "last name"),
            (Reply::Null, vec![Reply::Integer(1)], "another form"),
            (Reply::Null, vec![Reply::Array(vec![bulk("b"), bulk("c")])], "another form"),
        ] {
            let error = NodePage::parse(page(last, entries), &names()).expect_err(word);
            assert!(error.contains(word), "{error}");
        }
        assert!(NodePage::parse(Reply::Array(vec![]), &names()).is_err());
        let bad = Reply::Array(vec![bulk("x"), bulk(""), bulk(""), Reply::Null, Reply::Array(vec![])]);
        assert!(NodePage::parse(bad, &names()).unwrap_err().contains("slots"));
    }

    #[test]
    fn backwards_names_fall() {
        let request = RangeRequest {
            min: Bound::Unbounded,
            max: Bound::Included(b"m".to_vec()),
            direction: ScanDirection::Backward,
            ..names()
        };
        assert!(NodePage::parse(page(bulk("b"), vec![bulk("m"), bulk("c")]), &request).is_ok());
        assert!(NodePage::parse(page(Reply::Null, vec![bulk("b"), bulk("c")]), &request).is_err());
    }
}
