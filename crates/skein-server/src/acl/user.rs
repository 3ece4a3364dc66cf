//! A user: whether it may enter, by which passwords, and what it may do then.

use super::command_ids::CommandTarget;
use super::password::PasswordHash;
use super::patterns::AllKeys;
use super::rules::AclRuleError;
use super::selector::{AclSelector, Denial};
use crate::resp::RequestArgs;

/// The user that a connection is of before it says another one.
pub(crate) const DEFAULT: &[u8] = b"default";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AclUser {
    pub name: Vec<u8>,
    /// Whether it may log in. Who has logged in stays.
    pub enabled: bool,
    /// Whether any password will do.
    pub no_password: bool,
    /// Of RESTORE, which is not there: kept for Redis's files.
    sanitizes: Option<bool>,
    passwords: Vec<PasswordHash>,
    pub root: AclSelector,
    pub selectors: Vec<AclSelector>,
}

impl AclUser {
    /// One that may do nothing.
    pub(crate) fn new(name: &[u8]) -> Self {
        Self {
            name: name.to_vec(),
            enabled: false,
            no_password: false,
            sanitizes: None,
            passwords: Vec::new(),
            root: AclSelector::none(),
            selectors: Vec::new(),
        }
    }

    /// The default user of a server that nothing was said of: it may do everything, and has this password, if any.
    pub(crate) fn default_user(password: Option<&[u8]>) -> Self {
        let (enabled, root) = (true, AclSelector::all());
        let mut user = Self { enabled, root, ..Self::new(DEFAULT) };
        user.set_password(password.map(PasswordHash::of));
        user
    }

    /// Its one password from now on; none lets anybody in.
    pub(crate) fn set_password(&mut self, password: Option<PasswordHash>) {
        self.no_password = password.is_none();
        self.passwords = password.into_iter().collect();
    }

    /// Whether every request of it is allowed, so that none needs to be looked at.
    pub(crate) fn is_unrestricted(&self) -> bool {
        self.root.allows_all()
    }

    /// Whether connections are of this user from the start.
    pub(crate) fn is_open(&self) -> bool {
        self.enabled && self.no_password
    }

    /// Whether it may enter with this password. The time it takes says nothing of its passwords but how many they are.
    pub(crate) fn accepts_password(&self, password: &[u8]) -> bool {
        let known = PasswordHash::of(password).is_among(&self.passwords);
        self.enabled && (known || self.no_password)
    }

    /// Whether a request may be run: one selector that allows all of it is enough.
    ///
    /// # Errors
    /// What the selector says that came farthest.
    pub(crate) fn check(&self, command: usize, args: &RequestArgs<'_>) -> Result<(), Denial> {
        let target = CommandTarget::of(command, args);
        let mut denied = match self.root.check(target, args) {
            Ok(()) => return Ok(()),
            Err(denied) => denied,
        };
        for selector in &self.selectors {
            match selector.check(target, args) {
                Ok(()) => return Ok(()),
                Err(other) => denied = denied.max(other),
            }
        }
        Err(denied)
    }

    /// Puts a rule in force.
    pub(super) fn apply(&mut self, rule: &[u8]) -> Result<(), AclRuleError> {
        let is = |word: &str| rule.eq_ignore_ascii_case(word.as_bytes());
        if rule.is_empty() {
        } else if is("on") || is("off") {
            self.enabled = is("on");
        } else if is("nopass") {
            self.set_password(None);
        } else if is("resetpass") {
            (self.no_password, self.passwords) = (false, Vec::new());
        } else if is("sanitize-payload") || is("skip-sanitize-payload") {
            self.sanitizes = Some(is("sanitize-payload"));
        } else if is("clearselectors") {
            self.selectors.clear();
        } else if is("reset") {
            *self = Self { sanitizes: Some(true), ..Self::new(&self.name) };
        } else {
            match rule[0] {
                b'>' => self.add_password(PasswordHash::of(&rule[1..])),
                b'#' => self.add_password(PasswordHash::parse(&rule[1..]).ok_or(AclRuleError::BadHash)?),
                b'<' => self.remove_password(&PasswordHash::of(&rule[1..]))?,
                b'!' => {
                    self.remove_password(&PasswordHash::parse(&rule[1..]).ok_or(AclRuleError::BadHash)?)?
                }
                b'(' => self.selectors.push(parse_selector(rule)?),
                _ => self.root.apply(rule)?,
            }
        }
        Ok(())
    }

    fn add_password(&mut self, hash: PasswordHash) {
        self.no_password = false;
        if !self.passwords.contains(&hash) {
            self.passwords.push(hash);
        }
    }

    fn remove_password(&mut self, hash: &PasswordHash) -> Result<(), AclRuleError> {
        let at = self.passwords.iter().position(|known| known == hash);
        self.passwords.remove(at.ok_or(AclRuleError::NoSuchPassword)?);
        Ok(())
    }

    /// Its passwords, as hexadecimal digits.
    pub(crate) fn hashes(&self) -> Vec<String> {
        self.passwords.iter().map(PasswordHash::to_string).collect()
    }

    /// What is said of it besides its passwords and rights.
    pub(crate) fn flags(&self) -> Vec<&'static str> {
        let mut flags = vec![if self.enabled { "on" } else { "off" }];
        if self.no_password {
            flags.push("nopass");
        }
        match self.sanitizes {
            None => {}
            Some(true) => flags.push("sanitize-payload"),
            Some(false) => flags.push("skip-sanitize-payload"),
        }
        flags
    }

    /// The line that makes it, in an ACL file and in ACL LIST.
    pub(crate) fn print(&self, all_keys: AllKeys) -> Vec<u8> {
        let mut words: Vec<Vec<u8>> = vec![b"user".to_vec(), self.name.clone()];
        words.extend(self.flags().into_iter().map(|flag| flag.as_bytes().to_vec()));
        words.extend(self.passwords.iter().map(|hash| format!("#{hash}").into_bytes()));
        words.push(self.root.print(all_keys));
        for selector in &self.selectors {
            words.push([b"(", &*selector.print(all_keys), b")"].concat());
        }
        words.join(&b' ')
    }

    pub(super) fn tidy(&mut self) {
        self.root.tidy();
        self.selectors.iter_mut().for_each(AclSelector::tidy);
    }
}

/// A selector from its rules in parentheses.
fn parse_selector(rule: &[u8]) -> Result<AclSelector, AclRuleError> {
    let inner =
        rule.strip_prefix(b"(").and_then(|rest| rest.strip_suffix(b")")).ok_or(AclRuleError::Syntax)?;
    let mut selector = AclSelector::none();
    for word in inner.split(|byte| *byte == b' ').filter(|word| !word.is_empty()) {
        // In a file it would be the end of the selector.
        if word.ends_with(b")") {
            return Err(AclRuleError::Syntax);
        }
        selector.apply(word)?;
    }
    Ok(selector)
}
