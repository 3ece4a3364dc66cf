//! Selects the keys of a point by the lengths that its contenders accept.
//!
//! Contenders limit the length of keys. If only a few keys are beyond a contender's limits, those
//! keys are left out for all contenders: so that contender can take part, and all see the same
//! keys. If more keys are beyond the limits, the contender is absent. The report says either.

use std::collections::BTreeMap;

use crate::keyset::KeySet;
use crate::rival::index::RegisteredIndex;

/// At most one key in this many may be left out of a set.
const ONE_IN: usize = 100;

/// The least and the greatest length of a key.
type LengthLimits = (usize, usize);

/// Removes keys that some of the wanted contenders reject, as long as those keys are few. Returns a
/// note if it removed any.
pub fn leave_out_few(set: &mut KeySet, wanted: &[&RegisteredIndex]) -> Option<String> {
    let lengths = KeyLengthCounts::of(set);
    let mut limits = (0, usize::MAX);
    let mut for_whom = Vec::new();
    for name in names(wanted) {
        let narrowed =
            wanted.iter().filter(|entry| entry.name == name).map(|entry| both(limits, entry.key_bytes));
        let Some(best) = narrowed.min_by_key(|limits| lengths.beyond(*limits)) else { continue };
        let beyond = lengths.beyond(best);
        if beyond > lengths.beyond(limits) && beyond * ONE_IN <= lengths.keys {
            limits = best;
            for_whom.push(name);
        }
    }
    let left_out = lengths.beyond(limits);
    if left_out == 0 {
        return None;
    }
    set.leave_out(limits.0, limits.1);
    Some(format!(
        "left out for all contenders: the {left_out} of {} keys of {}, absent ones included, that \
         are {}; so {} can take part, and all see the same {} keys",
        lengths.keys,
        set.name,
        beyond_in_words(limits),
        for_whom.join(" and "),
        lengths.keys - left_out,
    ))
}

/// Checks whether a contender accepts all keys of the set.
///
/// # Errors
/// Returns the reason if it does not.
pub fn takes_keys(entry: &RegisteredIndex, set: &KeySet) -> Result<(), String> {
    if set.within(entry.key_bytes) {
        return Ok(());
    }
    let bounds = in_words(entry.key_bytes);
    Err(format!(
        "accepts keys of {bounds} only, but those of {} have {}",
        set.name,
        in_words((set.shortest, set.longest))
    ))
}

/// Returns each name once, in the contenders' order.
fn names<'e>(entries: &[&'e RegisteredIndex]) -> Vec<&'e str> {
    let mut names: Vec<_> = entries.iter().map(|entry| entry.name).collect();
    names.dedup();
    names
}

fn both(a: LengthLimits, b: LengthLimits) -> LengthLimits {
    (a.0.max(b.0), a.1.min(b.1))
}

/// Returns the limits as text for reports.
pub fn in_words((least, most): LengthLimits) -> String {
    match most {
        usize::MAX => format!("{least} bytes and more"),
        most if most == least => format!("{most} bytes"),
        most => format!("{least} to {most} bytes"),
    }
}

/// Describes the keys beyond these limits, as text for reports.
fn beyond_in_words(limits: LengthLimits) -> String {
    match limits {
        (0, most) => format!("longer than {most} bytes"),
        (least, usize::MAX) => format!("shorter than {least} bytes"),
        _ => format!("of other lengths than {}", in_words(limits)),
    }
}

/// The number of keys of each length in a set, absent keys included.
struct KeyLengthCounts {
    counts: BTreeMap<usize, usize>,
    keys: usize,
}

impl KeyLengthCounts {
    fn of(set: &KeySet) -> Self {
        let mut counts = BTreeMap::new();
        for key in set.keys.iter().chain(set.absent.iter()) {
            *counts.entry(key.len()).or_default() += 1;
        }
        Self { counts, keys: set.keys.len() + set.absent.len() }
    }

    /// Returns the number of keys that are shorter or longer than the limits.
    fn beyond(&self, (least, most): LengthLimits) -> usize {
        let beyond = self.counts.iter().filter(|(length, _)| !(least..=most).contains(*length));
        beyond.map(|(_, count)| count).sum()
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::keyset::PackedKeys;
    use crate::rival::index::{self, IndexAbilities, IndexRole};

    /// Returns a contender that accepts keys of these lengths and can only insert and look up.
    pub fn taking(name: &'static str, key_bytes: LengthLimits) -> RegisteredIndex {
        RegisteredIndex {
            name,
            about: "",
            can: IndexAbilities::NOTHING,
            key_bytes,
            scan_key_bytes: (0, usize::MAX),
            make: |_| unreachable!("nothing is measured here"),
            threads: false,
            role: IndexRole::Rival,
        }
    }

    /// Returns a set of 990 keys of 8 bytes, then `of_nine` keys of 9 bytes; every tenth key is
    /// absent.
    pub fn set(of_nine: usize) -> KeySet {
        let all: PackedKeys =
            (0..990).map(|_| &b"12345678"[..]).chain((0..of_nine).map(|_| &b"123456789"[..])).collect();
        let part =
            |absent: bool| (0..all.len()).filter(|n| (n % 10 == 9) == absent).map(|n| all.get(n)).collect();
        KeySet {
            name: "test".into(),
            keys: part(false),
            absent: part(true),
            shortest: 8,
            longest: 9,
            duplicates_dropped: 0,
            note: None,
        }
    }

    #[test]
    fn a_few_unsupported_keys_are_left_out_for_all() {
        let (any, eight) = (taking("any", (0, usize::MAX)), taking("eight", (8, 8)));
        let mut set = set(10);
        let note = leave_out_few(&mut set, &[&any, &eight]).expect("ten keys are left out");
        assert_eq!(
            note,
            "left out for all contenders: the 10 of 1000 keys of test, absent ones included, that \
             are of other lengths than 8 bytes; so eight can take part, and all see the same 990 \
             keys"
        );
        assert_eq!((set.keys.len() + set.absent.len(), set.longest), (990, 8));
        assert_eq!(takes_keys(&eight, &set), Ok(()));
    }

    #[test]
    fn more_than_a_few_make_the_contender_absent() {
        let (any, eight) = (taking("any", (0, usize::MAX)), taking("eight", (8, 8)));
        let mut set = set(11);
        assert_eq!(leave_out_few(&mut set, &[&any, &eight]), None);
        assert_eq!(set.keys.len() + set.absent.len(), 1001);
        let why = takes_keys(&eight, &set).expect_err("it does not take keys of 9 bytes");
        assert_eq!(why, "accepts keys of 8 bytes only, but those of test have 8 to 9 bytes");
    }

    #[test]
    fn the_keys_left_out_for_two_are_few_in_total() {
        let (long, short) = (taking("long", (0, 8)), taking("short", (8, 9)));
        let mut set = set(6);
        // Six keys of 9 bytes, and six empty keys.
        set.keys = set.keys.iter().chain([&b""[..]; 6]).collect();
        let note = leave_out_few(&mut set, &[&long, &short]).expect("the six of the first are left out");
        assert_eq!(
            note,
            "left out for all contenders: the 6 of 1002 keys of test, absent ones included, that \
             are longer than 8 bytes; so long can take part, and all see the same 996 keys"
        );
        assert!(takes_keys(&short, &set).is_err());
    }

    #[test]
    fn a_name_with_an_unlimited_entry_excludes_no_key() {
        let (words, bytes) = (taking("map", (8, 8)), taking("map", (0, usize::MAX)));
        assert_eq!(leave_out_few(&mut set(1), &[&words, &bytes]), None);
        assert_eq!(leave_out_few(&mut set(1), &index::all()[..1]), None);
    }
}
