//! All users, by name.
//!
//! Invariants:
//! 1. The default user is always there.
//! 2. The version rises with every change, after it. So who reads the version first, and then a user, has the user as of that version or a later one,
//!    and hears of every change that it missed.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use skein_sync::locks::lock;

use super::password::PasswordHash;
use super::rules::AclRuleError;
use super::user::{AclUser, DEFAULT};

pub(super) type UsersByName = BTreeMap<Vec<u8>, Arc<AclUser>>;

/// All users, shared by all threads.
#[derive(Debug)]
pub(crate) struct AclUsers {
    by_name: Mutex<UsersByName>,
    version: AtomicU64,
    /// Held by who writes the ACL file.
    pub(super) saving: Mutex<()>,
}

/// Why a user is not changed.
#[derive(Debug)]
pub(crate) enum SetUserError {
    /// The name has spaces.
    BadName,
    /// A parenthesis is opened here, and never closed.
    Unmatched(Vec<u8>),
    /// This rule cannot be.
    Rule(Vec<u8>, AclRuleError),
}

impl AclUsers {
    /// The default user alone, with this password, if any.
    pub(crate) fn new(password: Option<&[u8]>) -> Self {
        let user = Arc::new(AclUser::default_user(password));
        Self {
            by_name: Mutex::new([(DEFAULT.to_vec(), user)].into()),
            version: AtomicU64::new(1),
            saving: Mutex::default(),
        }
    }

    /// How often they have changed.
    #[inline]
    pub(crate) fn version(&self) -> u64 {
        // Acquire: pairs with the Release in `changed` (invariant 2).
        self.version.load(Ordering::Acquire)
    }

    /// Changes them and says so.
    fn change<R>(&self, change: impl FnOnce(&mut UsersByName) -> R) -> R {
        let mut by_name = lock(&self.by_name);
        let result = change(&mut by_name);
        // Release: pairs with the Acquire in `version`. Under the lock, so that changes have versions in their order.
        self.version.fetch_add(1, Ordering::Release);
        result
    }

    pub(crate) fn get(&self, name: &[u8]) -> Option<Arc<AclUser>> {
        lock(&self.by_name).get(name).cloned()
    }

    /// The user that a new connection is of.
    pub(crate) fn default_user(&self) -> Arc<AclUser> {
        // Invariant 1; a user who may do nothing is the safe thing to be, were it broken.
        self.get(DEFAULT).unwrap_or_else(|| Arc::new(AclUser::new(DEFAULT)))
    }

    /// In the order of their names.
    pub(crate) fn all(&self) -> Vec<Arc<AclUser>> {
        lock(&self.by_name).values().cloned().collect()
    }

    /// Changes a user by these rules, one after the other, or makes it: all of it or nothing.
    pub(crate) fn set(&self, name: &[u8], rules: &[&[u8]]) -> Result<(), SetUserError> {
        if name.iter().any(|byte| byte.is_ascii_whitespace() || matches!(byte, 0 | b'\x0b')) {
            return Err(SetUserError::BadName);
        }
        let rules = merge(rules)?;
        // Under the lock, so that of two changes to one user none is lost.
        self.change(|by_name| {
            let mut user = by_name.get(name).map_or_else(|| AclUser::new(name), |user| AclUser::clone(user));
            for rule in &rules {
                user.apply(rule).map_err(|error| SetUserError::Rule(rule.clone(), error))?;
            }
            user.tidy();
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

    /// Removes a user, but for the default user; false if there is none of this name.
    pub(crate) fn remove(&self, name: &[u8]) -> bool {
        name != DEFAULT && self.change(|by_name| by_name.remove(name).is_some())
    }

    /// Has these users in place of all others; the default user stays if it is not among them. The names of those whose connections are to be closed: they
    /// are gone, or have changed.
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

    /// The user of this name, if it may enter with this password.
    pub(crate) fn log_in(&self, name: &[u8], password: &[u8]) -> Option<Arc<AclUser>> {
        let user = self.get(name);
        // So that a name that is not there takes about as long as one that is.
        let user = user.unwrap_or_else(|| Arc::new(AclUser::new(name)));
        user.accepts_password(password).then_some(user)
    }
}

/// Rules as they are written, those of a selector put together, whose words may come as arguments of their own.
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
