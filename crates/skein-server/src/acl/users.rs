//! All users, by name.
//!
//! # Invariants
//! 1. The default user always exists.
//! 2. Every change increases the version, after the change itself. So if a thread reads the version
//!    first, and then a user, it has the user as of that version or a later one. It notices every
//!    change that it missed.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use skein_sync::locks::lock;

use super::password::PasswordHash;
use super::rules::AclRuleError;
use super::selector::DefaultChannels;
use super::user::{AclUser, DEFAULT};

pub(super) type UsersByName = BTreeMap<Vec<u8>, Arc<AclUser>>;

/// All users, shared by all threads.
#[derive(Debug)]
pub(crate) struct AclUsers {
    by_name: Mutex<UsersByName>,
    version: AtomicU64,
    /// Whether new users may use every channel.
    all_channels: AtomicBool,
    /// Held while the ACL file is written.
    pub(super) saving: Mutex<()>,
}

/// The reason why a user was not changed.
#[derive(Debug)]
pub(crate) enum SetUserError {
    /// The name contains spaces.
    BadName,
    /// This parenthesis is never closed.
    Unmatched(Vec<u8>),
    /// This rule is wrong.
    Rule(Vec<u8>, AclRuleError),
}

impl AclUsers {
    /// Creates the default user alone, with this password if there is one.
    pub(crate) fn new(password: Option<&[u8]>) -> Self {
        let user = Arc::new(AclUser::default_user(password));
        Self {
            by_name: Mutex::new([(DEFAULT.to_vec(), user)].into()),
            version: AtomicU64::new(1),
            all_channels: AtomicBool::new(false),
            saving: Mutex::default(),
        }
    }

    /// Returns the channels of new users.
    pub(crate) fn default_channels(&self) -> DefaultChannels {
        // Relaxed, like below: it is independent of the users that exist.
        if self.all_channels.load(Ordering::Relaxed) { DefaultChannels::All } else { DefaultChannels::None }
    }

    /// Sets the channels of users that are created from now on.
    pub(crate) fn set_default_channels(&self, channels: DefaultChannels) {
        self.all_channels.store(channels == DefaultChannels::All, Ordering::Relaxed);
    }

    /// Returns the number of changes.
    #[inline]
    pub(crate) fn version(&self) -> u64 {
        // Acquire: pairs with the Release in `change` (invariant 2).
        self.version.load(Ordering::Acquire)
    }

    /// Applies a change and increases the version.
    fn change<R>(&self, change: impl FnOnce(&mut UsersByName) -> R) -> R {
        let mut by_name = lock(&self.by_name);
        let result = change(&mut by_name);
        // Release: pairs with the Acquire in `version`. Under the lock, so that the versions are in
        // the order of the changes.
        self.version.fetch_add(1, Ordering::Release);
        result
    }

    pub(crate) fn get(&self, name: &[u8]) -> Option<Arc<AclUser>> {
        lock(&self.by_name).get(name).cloned()
    }

    /// Returns the user of new connections.
    pub(crate) fn default_user(&self) -> Arc<AclUser> {
        // Invariant 1. If it were broken, a user without rights would be the safe answer.
        self.get(DEFAULT).unwrap_or_else(|| Arc::new(AclUser::new(DEFAULT)))
    }

    /// Returns the users in the order of their names.
    pub(crate) fn all(&self) -> Vec<Arc<AclUser>> {
        lock(&self.by_name).values().cloned().collect()
    }

    /// Creates a user or changes it by these rules, in order: all of them or none.
    pub(crate) fn set(&self, name: &[u8], rules: &[&[u8]]) -> Result<(), SetUserError> {
        if name.iter().any(|byte| byte.is_ascii_whitespace() || matches!(byte, 0 | b'\x0b')) {
            return Err(SetUserError::BadName);
        }
        let rules = merge(rules)?;
        let channels = self.default_channels();
        // This runs under the lock, so that two changes to one user are both kept.
        self.change(|by_name| {
            let mut user = by_name
                .get(name)
                .map_or_else(|| AclUser::with_channels(name, channels), |user| AclUser::clone(user));
            for rule in &rules {
                user.apply(rule, channels).map_err(|error| SetUserError::Rule(rule.clone(), error))?;
            }
            user.drop_ineffective_rules();
            by_name.insert(name.to_vec(), Arc::new(user));
            Ok(())
        })
    }

    /// Gives the default user this one password, or none.
    pub(crate) fn set_default_password(&self, password: Option<PasswordHash>) {
        self.change(|by_name| {
            let mut user =
                by_name.get(DEFAULT).map_or_else(|| AclUser::new(DEFAULT), |user| AclUser::clone(user));
            user.set_password(password);
            by_name.insert(DEFAULT.to_vec(), Arc::new(user));
        });
    }

    /// Removes a user. Returns `false` if there is no user of this name. The default user cannot be
    /// removed.
    pub(crate) fn remove(&self, name: &[u8]) -> bool {
        name != DEFAULT && self.change(|by_name| by_name.remove(name).is_some())
    }

    /// Replaces all users by these. The default user stays if it is not among them. Returns the
    /// names of the removed and changed users, which must be disconnected.
    pub(super) fn replace(&self, mut users: UsersByName) -> Vec<Vec<u8>> {
        self.change(|by_name| {
            if let Some(user) = by_name.get(DEFAULT) {
                users.entry(DEFAULT.to_vec()).or_insert_with(|| Arc::clone(user));
            }
            let before = std::mem::replace(by_name, users);
            let same =
                |name: &Vec<u8>, user: &Arc<AclUser>| name == DEFAULT || by_name.get(name) == Some(user);
            before.iter().filter(|(name, user)| !same(name, user)).map(|(name, _)| name.clone()).collect()
        })
    }

    /// Returns the user of this name if it may log in with this password.
    pub(crate) fn log_in(&self, name: &[u8], password: &[u8]) -> Option<Arc<AclUser>> {
        let user = self.get(name);
        // An unknown name must take about as long as a known one.
        let user = user.unwrap_or_else(|| Arc::new(AclUser::new(name)));
        user.accepts_password(password).then_some(user)
    }
}

/// Returns the rules that the words form. The words of a selector, from its opening parenthesis to
/// the closing one, are joined into one rule.
pub(super) fn merge(words: &[&[u8]]) -> Result<Vec<Vec<u8>>, SetUserError> {
    let mut rules = Vec::with_capacity(words.len());
    let mut open: Option<Vec<u8>> = None;
    let mut begun: &[u8] = b"";
    for word in words {
        let closes = word.last() == Some(&b')');
        let mut rule = match open.take() {
            Some(mut rule) => {
                rule.push(b' ');
                rule
            }
            None if word.first() == Some(&b'(') => {
                begun = word;
                Vec::new()
            }
            None => {
                rules.push(word.to_vec());
                continue;
            }
        };
        rule.extend_from_slice(word);
        if closes {
            rules.push(rule);
        } else {
            open = Some(rule);
        }
    }
    if open.is_some() { Err(SetUserError::Unmatched(begun.to_vec())) } else { Ok(rules) }
}
