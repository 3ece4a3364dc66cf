//! Bounds of a range of keys, in the notation of ZRANGEBYLEX: `[k` includes the key, `(k` excludes
//! it, `-` is the first key, `+` the last.

use std::ffi::OsString;
use std::ops::Bound;
use std::os::unix::ffi::OsStrExt;

use skein_store::successor;

/// The lower and the upper bound.
pub type OwnedBounds = (Bound<Vec<u8>>, Bound<Vec<u8>>);

/// Returns the range between two arguments, or under a prefix.
///
/// # Errors
/// Returns a text that says how a bound is written. `names` are the names of the arguments.
pub fn range(
    names: [&str; 2],
    min: Option<&OsString>,
    max: Option<&OsString>,
    prefix: Option<&OsString>,
) -> Result<OwnedBounds, String> {
    if let Some(prefix) = prefix {
        return Ok(under(prefix.as_bytes()));
    }
    let bound = |text: Option<&OsString>, open: &[u8], name: &str| {
        match text.map(|text| text.as_bytes()) {
        None => Ok(Bound::Unbounded),
        Some(text) => parse(text, open).ok_or_else(|| {
            let text = text.escape_ascii();
            format!("{name} {text} is not a bound; write [key to include it, (key to leave it out, - or + for no bound")
        }),
    }
    };
    Ok((bound(min, b"-", names[0])?, bound(max, b"+", names[1])?))
}

fn parse(text: &[u8], open: &[u8]) -> Option<Bound<Vec<u8>>> {
    match text.split_first()? {
        (b'[', key) => Some(Bound::Included(key.to_vec())),
        (b'(', key) => Some(Bound::Excluded(key.to_vec())),
        _ if text == open => Some(Bound::Unbounded),
        _ => None,
    }
}

/// Returns the range of all keys that begin with `prefix`.
pub fn under(prefix: &[u8]) -> OwnedBounds {
    (Bound::Included(prefix.to_vec()), successor(prefix).map_or(Bound::Unbounded, Bound::Excluded))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn os(text: &str) -> OsString {
        text.into()
    }

    fn between(min: Option<&OsString>, max: Option<&OsString>) -> Result<OwnedBounds, String> {
        range(["--min", "--max"], min, max, None)
    }

    #[test]
    fn bounds() {
        let (min, max) = between(Some(&os("[a")), Some(&os("(b"))).unwrap();
        assert_eq!(min, Bound::Included(b"a".to_vec()));
        assert_eq!(max, Bound::Excluded(b"b".to_vec()));
        assert_eq!(between(Some(&os("-")), Some(&os("+"))), Ok((Bound::Unbounded, Bound::Unbounded)));
        assert_eq!(between(Some(&os("[")), None).unwrap().0, Bound::Included(Vec::new()));
        for bad in ["a", "", "+"] {
            assert!(between(Some(&os(bad)), None).unwrap_err().contains("--min"));
        }
    }

    #[test]
    fn prefixes() {
        assert_eq!(under(b"a\xff"), (Bound::Included(b"a\xff".to_vec()), Bound::Excluded(b"b".to_vec())));
        assert_eq!(under(b"\xff"), (Bound::Included(b"\xff".to_vec()), Bound::Unbounded));
        assert_eq!(under(b""), (Bound::Included(Vec::new()), Bound::Unbounded));
    }
}
