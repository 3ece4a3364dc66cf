//! The keys that a user may access by one command.
//!
//! A user of the server has rules of its own, and may have selectors. A selector is a further set
//! of rules in brackets:
//!
//! ```text
//!   on nopass ~data:* -@all +get (~tmp:* -@all +sk.delrange)
//!             └ the user's own rules └ a selector
//! ```
//!
//! The server allows a command if one set of rules allows the command and all its keys. When the
//! server checks a single key, it consults every set, even a set that does not allow the command.
//! So the module creates a user of its own for each set of a user with selectors. It checks keys
//! only against the sets that allow the command.

use std::ffi::c_int;

use crate::api::{ServerString, ServerUser};

/// A set of rules that allows the command.
struct AclRuleSet {
    user: ServerUser,
    /// Whether the set allows all access to every key.
    all_keys: bool,
}

/// The sets of rules that allow the command. Empty for a user that no longer exists.
pub struct CommandRights(Vec<AclRuleSet>);

/// The rule that allows all access to every key. The server writes this rule if, and only if, all
/// keys are allowed. No pattern contains a space.
const ALL_KEYS: &[u8] = b"~*";

impl CommandRights {
    /// Returns the key rights that the user of this name has for a command.
    pub fn of(user: &ServerString, command: &ServerString) -> Self {
        let Some(user) = ServerUser::of(user) else { return Self(Vec::new()) };
        let rules = user.rules().unwrap_or_default();
        let sets = sets_of_rules(&rules);
        if sets.len() < 2 {
            let all_keys = sets.iter().any(|rules| rules.contains(&ALL_KEYS));
            return Self(vec![AclRuleSet { user, all_keys }]);
        }
        let allowed = sets.into_iter().filter_map(|rules| {
            let all_keys = rules.contains(&ALL_KEYS);
            let user = ServerUser::with_rules(rules)?;
            user.may_call(command).then_some(AclRuleSet { user, all_keys })
        });
        Self(allowed.collect())
    }

    /// Returns whether the command has all access to every key.
    pub fn has_all_keys(&self) -> bool {
        self.0.iter().any(|set| set.all_keys)
    }

    /// Returns whether the command has this access to a key.
    pub fn allow(&self, what: c_int, name: &ServerString) -> bool {
        self.0.iter().any(|set| set.user.may(what, name))
    }
}

/// Splits a user's rules. Returns the user's own set first, then the set of each selector.
fn sets_of_rules(rules: &[u8]) -> Vec<Vec<&[u8]>> {
    let mut sets = vec![Vec::new()];
    for word in rules.split(|byte| *byte == b' ').filter(|word| !word.is_empty()) {
        let word = match word.strip_prefix(b"(") {
            Some(first) => {
                sets.push(Vec::new());
                first
            }
            None => word,
        };
        // A pattern may end with a bracket of its own. The last rule of a selector is a command
        // rule.
        let is_pattern = matches!(word.first(), Some(b'~' | b'%' | b'&'));
        let word = if is_pattern { word } else { word.strip_suffix(b")").unwrap_or(word) };
        if let Some(set) = sets.last_mut()
            && !word.is_empty()
        {
            set.push(word);
        }
    }
    sets
}
