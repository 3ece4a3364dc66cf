//! Converts a key's value into the body of a text record.

use skein_server::parse_double;
use skeindb::client::Reply;

use crate::format::RecordBody;

/// Returns the body for a value that was read in RESP3.
///
/// # Errors
/// Returns the type of the value if it is not written: a stream's groups are not in it.
pub fn body(held: Reply) -> Result<RecordBody, String> {
    match held {
        Reply::Bulk(value) => Ok(RecordBody::Value(value)),
        Reply::Map(pairs) => pairs_of(pairs).ok_or_else(|| "unknown value".to_owned()),
        Reply::Set(members) => {
            let members = members.into_iter().map(name).collect::<Option<_>>();
            members.map(RecordBody::Set).ok_or_else(|| "unknown value".to_owned())
        }
        // Its elements are entries. No list is empty.
        Reply::Array(elements) if matches!(elements.first(), None | Some(Reply::Array(_))) => {
            Err("stream".to_owned())
        }
        Reply::Array(elements) => {
            let elements = elements.into_iter().map(name).collect::<Option<_>>();
            elements.map(RecordBody::List).ok_or_else(|| "unknown value".to_owned())
        }
        // The module's line names the type: `stream: read it by XRANGE; ...`.
        Reply::Simple(text) if text.starts_with("stream") => Err("stream".to_owned()),
        _ => Err("module value".to_owned()),
    }
}

fn name(reply: Reply) -> Option<Vec<u8>> {
    if let Reply::Bulk(name) = reply { Some(name) } else { None }
}

/// Returns a hash if the values are strings, a sorted set if they are numbers, else `None`.
fn pairs_of(pairs: Vec<(Reply, Reply)>) -> Option<RecordBody> {
    if matches!(pairs.first(), Some((_, Reply::Number(_)))) {
        let member = |(member, score)| match score {
            Reply::Number(score) => Some((name(member)?, parse_double(score.as_bytes())?)),
            _ => None,
        };
        return pairs.into_iter().map(member).collect::<Option<_>>().map(RecordBody::Members);
    }
    pairs
        .into_iter()
        .map(|(field, value)| Some((name(field)?, name(value)?)))
        .collect::<Option<_>>()
        .map(RecordBody::Columns)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bulk(text: &str) -> Reply {
        Reply::Bulk(text.as_bytes().to_vec())
    }

    #[test]
    fn types_are_told_apart() {
        assert_eq!(body(bulk("v")), Ok(RecordBody::Value(b"v".to_vec())));
        let hash = Reply::Map(vec![(bulk("f"), bulk("1"))]);
        assert_eq!(body(hash), Ok(RecordBody::Columns(vec![(b"f".to_vec(), b"1".to_vec())])));
        let sorted = Reply::Map(vec![(bulk("m"), Reply::Number("1.5".to_owned()))]);
        assert_eq!(body(sorted), Ok(RecordBody::Members(vec![(b"m".to_vec(), 1.5)])));
        let set = Reply::Set(vec![bulk("m")]);
        assert_eq!(body(set), Ok(RecordBody::Set(vec![b"m".to_vec()])));
        let list = Reply::Array(vec![bulk("b"), bulk("a"), bulk("b")]);
        let elements = vec![b"b".to_vec(), b"a".to_vec(), b"b".to_vec()];
        assert_eq!(body(list), Ok(RecordBody::List(elements)));
        for (held, kind) in [
            (Reply::Set(vec![Reply::Null]), "unknown value"),
            (Reply::Array(vec![bulk("a"), Reply::Null]), "unknown value"),
            (Reply::Simple("stream: read it by XRANGE".to_owned()), "stream"),
            (Reply::Array(vec![Reply::Array(Vec::new())]), "stream"),
            (Reply::Array(Vec::new()), "stream"),
            (Reply::Simple("a module's own value".to_owned()), "module value"),
            (Reply::Null, "module value"),
        ] {
            assert_eq!(body(held), Err(kind.to_owned()));
        }
    }
}
