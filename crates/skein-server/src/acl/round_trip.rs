//! For tests and fuzzing: asserts that printed users are the same when they are read again.

use std::sync::Arc;

use super::file::parse;
use super::patterns::AllKeys;
use super::selector::DefaultChannels;
use super::user::AclUser;

/// Asserts it for both kinds of new users.
///
/// # Panics
/// If a user changes when it is printed and read.
pub(crate) fn assert_read_back(users: &[Arc<AclUser>]) {
    let lines: Vec<Vec<u8>> = users.iter().map(|user| user.print(AllKeys::ReadBack)).collect();
    for channels in [DefaultChannels::None, DefaultChannels::All] {
        let found = parse("printed", &lines.join(&b'\n'), channels)
            .unwrap_or_else(|error| panic!("{error}: {users:?}"));
        assert!(found.values().eq(users), "{channels:?}: {users:?}\n{found:?}");
    }
}

/// Reads any bytes as an ACL file.
///
/// # Panics
/// If a user of the file changes when it is printed and read.
pub(crate) fn assert_file_read_back(text: &[u8]) {
    if let Ok(users) = parse("given", text, DefaultChannels::None) {
        assert_read_back(&users.into_values().collect::<Vec<_>>());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::acl::AclUsers;

    const RULES: &[&str] = &[
        "on",
        "off",
        "nopass",
        "resetpass",
        ">pw",
        "<pw",
        "~a*",
        "%R~a*",
        "%W~b",
        "%RW~c",
        "%RW~*",
        "%R~*",
        "%W~*",
        "allkeys",
        "resetkeys",
        "&ch",
        "allchannels",
        "resetchannels",
        "+@all",
        "-@all",
        "+get",
        "-get",
        "+set",
        "+echo|hi",
        "-echo",
        "+echo",
        "+@read",
        "-@read",
        "+@write",
        "-@write",
        "+@admin",
        "-@dangerous",
        "+@scripting",
        "-@scripting",
        "+client",
        "-client|kill",
        "+client|id",
        "-client",
        "+config|get",
        "-config",
        "+@connection",
        "-@connection",
        "(+get",
        "~x)",
        "(+@all",
        "-get)",
        "(~a))",
        "(%R~q",
        "+echo|ho)",
        "clearselectors",
        "reset",
        "~)",
        "~(",
        "",
    ];

    proptest! {
        #[test]
        fn users_of_any_rules_come_back(chosen in prop::collection::vec(prop::sample::select(RULES), 0..30)) {
            let users = AclUsers::new(None);
            // In small groups, so that a refused rule does not undo the others.
            for rules in chosen.chunks(2) {
                let rules: Vec<&[u8]> = rules.iter().map(|rule| rule.as_bytes()).collect();
                let _ = users.set(b"user", &rules);
            }
            assert_read_back(&users.all());
        }

        #[test]
        fn files_of_any_rules_come_back(lines in prop::collection::vec(prop::collection::vec(prop::sample::select(RULES), 0..10), 0..4)) {
            let lines = lines.iter().enumerate().map(|(i, rules)| format!("user u{i} {}", rules.join(" ")));
            assert_file_read_back(lines.collect::<Vec<_>>().join("\n").as_bytes());
        }
    }
}
