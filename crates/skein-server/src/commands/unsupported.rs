//! Redis's command families that SkeinDB does not support. The error for such a command says so,
//! after the part that clients look for.

use crate::command_table::OF_REPLICAS;

/// A family: the message, and the names of its commands in lower case, or their prefixes.
struct UnsupportedFamily {
    what: &'static str,
    names: &'static [&'static str],
    prefixes: &'static [&'static str],
}

const fn family(
    what: &'static str,
    names: &'static [&'static str],
    prefixes: &'static [&'static str],
) -> UnsupportedFamily {
    UnsupportedFamily { what, names, prefixes }
}

const FAMILIES: [UnsupportedFamily; 2] = [
    family("SkeinDB has no replicas", &OF_REPLICAS, &[]),
    family("SkeinDB has no modules", &[], &["bf.", "cf.", "ft.", "json.", "ts.", "topk.", "tdigest."]),
];

/// Returns the message for an unknown command, if it belongs to one of these families.
pub(super) fn family_of(name: &[u8]) -> Option<&'static str> {
    let name = name.to_ascii_lowercase();
    let is_of = |family: &&UnsupportedFamily| {
        family.names.iter().any(|known| known.as_bytes() == name)
            || family.prefixes.iter().any(|prefix| name.starts_with(prefix.as_bytes()))
    };
    FAMILIES.iter().find(is_of).map(|family| family.what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::find;

    #[test]
    fn no_command_that_is_there_is_called_absent() {
        for family in &FAMILIES {
            for name in family.names {
                assert!(find(name.as_bytes()).is_none(), "there is {name}: {}", family.what);
            }
        }
        for command in &crate::command_table::COMMANDS {
            assert_eq!(family_of(command.name.as_bytes()), None, "{}", command.name);
        }
    }

    #[test]
    fn names_are_known_in_any_case() {
        assert_eq!(family_of(b"PSync"), Some("SkeinDB has no replicas"));
        assert_eq!(family_of(b"Json.Get"), Some("SkeinDB has no modules"));
        assert_eq!(family_of(b"nope"), None);
    }
}
