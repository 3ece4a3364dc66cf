//! A user: whether it may log in, its passwords, and its rights.

use super::command_ids::CommandTarget;
use super::password::PasswordHash;
use super::patterns::{AllKeys, KeyAccess};
use super::rules::AclRuleError;
use super::selector::{AclSelector, DefaultChannels, Denial};
use crate::resp::Args;

/// The user of a connection before it logs in as another one.
pub(crate) const DEFAULT: &[u8] = b"default";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AclUser {
    pub name: Vec<u8>,
    /// Whether the user may log in. Clients that are logged in already stay.
    pub enabled: bool,
    /// Whether any password is accepted.
    pub no_password: bool,
    /// A setting for RESTORE, which this server does not have. It is kept for Redis's files.
    sanitizes: Option<bool>,
    passwords: Vec<PasswordHash>,
    pub root: AclSelector,
    pub selectors: Vec<AclSelector>,
}

impl AclUser {
    /// Creates a user without rights.
    pub(crate) fn new(name: &[u8]) -> Self {
        Self::with_channels(name, DefaultChannels::None)
    }

    /// Creates a user that may use these channels and has no other rights.
    pub(super) fn with_channels(name: &[u8], channels: DefaultChannels) -> Self {
        Self {
            name: name.to_vec(),
            enabled: false,
            no_password: false,
            sanitizes: None,
            passwords: Vec::new(),
            root: AclSelector::new(channels),
            selectors: Vec::new(),
        }
    }

    /// Creates the default user of a server without an ACL file: it has all rights, and this
    /// password if there is one.
    pub(crate) fn default_user(password: Option<&[u8]>) -> Self {
        let (enabled, root) = (true, AclSelector::all());
        let mut user = Self { enabled, root, ..Self::new(DEFAULT) };
        user.set_password(password.map(PasswordHash::of));
        user
    }

    /// Makes this the only password. With `None`, no password is accepted.
    pub(crate) fn set_password(&mut self, password: Option<PasswordHash>) {
        self.no_password = password.is_none();
        self.passwords = password.into_iter().collect();
    }

    /// Returns whether every request of this user is allowed, so that requests need no check.
    pub(crate) fn is_unrestricted(&self) -> bool {
        self.root.allows_all()
    }

    /// Returns whether new connections are logged in as this user automatically.
    pub(crate) fn is_open(&self) -> bool {
        self.enabled && self.no_password
    }

    /// Returns whether the user may log in with this password. The time it takes reveals only the
    /// number of its passwords.
    pub(crate) fn accepts_password(&self, password: &[u8]) -> bool {
        let known = PasswordHash::of(password).is_among(&self.passwords);
        self.enabled && (known || self.no_password)
    }

    /// Checks whether a request may run: one selector must allow all of it.
    ///
    /// # Errors
    /// The most specific reason of all selectors.
    pub(crate) fn check(&self, command: usize, args: &Args) -> Result<(), Denial> {
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

    /// Returns whether one selector allows a request, and to read every key besides.
    pub(crate) fn may_read_all_keys_in(&self, command: usize, args: &Args) -> bool {
        let target = CommandTarget::of(command, args);
        std::iter::once(&self.root)
            .chain(&self.selectors)
            .any(|selector| selector.allows_all_keys(KeyAccess::READ) && selector.check(target, args).is_ok())
    }

    /// Returns whether one selector allows a channel; see [`AclSelector::allows_channel`].
    pub(crate) fn may_read_channel(&self, name: &[u8], literally: bool) -> bool {
        let mut selectors = std::iter::once(&self.root).chain(&self.selectors);
        selectors.any(|selector| selector.allows_channel(name, literally))
    }

    /// Applies a rule. `channels` are those of a new user.
    pub(super) fn apply(&mut self, rule: &[u8], channels: DefaultChannels) -> Result<(), AclRuleError> {
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
            *self = Self { sanitizes: Some(true), ..Self::with_channels(&self.name, channels) };
        } else {
            match rule[0] {
                b'>' => self.add_password(PasswordHash::of(&rule[1..])),
                b'#' => self.add_password(PasswordHash::parse(&rule[1..]).ok_or(AclRuleError::BadHash)?),
                b'<' => self.remove_password(&PasswordHash::of(&rule[1..]))?,
                b'!' => {
                    self.remove_password(&PasswordHash::parse(&rule[1..]).ok_or(AclRuleError::BadHash)?)?;
                }
                b'(' => self.selectors.push(parse_selector(rule, channels)?),
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

    /// Returns the hashes of the passwords as hexadecimal digits.
    pub(crate) fn hashes(&self) -> Vec<String> {
        self.passwords.iter().map(PasswordHash::to_string).collect()
    }

    /// Returns the flags of the user, as ACL GETUSER prints them.
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

    /// Returns the line that defines this user in an ACL file and in ACL LIST.
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

    pub(super) fn drop_ineffective_rules(&mut self) {
        self.root.drop_ineffective_rules();
        self.selectors.iter_mut().for_each(AclSelector::drop_ineffective_rules);
    }
}

/// Parses a selector from its rules in parentheses.
fn parse_selector(rule: &[u8], channels: DefaultChannels) -> Result<AclSelector, AclRuleError> {
    let inner =
        rule.strip_prefix(b"(").and_then(|rest| rest.strip_suffix(b")")).ok_or(AclRuleError::Syntax)?;
    let mut selector = AclSelector::new(channels);
    for word in inner.split(|byte| *byte == b' ').filter(|word| !word.is_empty()) {
        // In a file, this would end the selector.
        if word.ends_with(b")") {
            return Err(AclRuleError::Syntax);
        }
        selector.apply(word)?;
    }
    Ok(selector)
}
