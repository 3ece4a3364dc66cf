//! A user: whether it may enter, by which passwords, and what it may do then.

use super::ids::Target;
use super::patterns::AllKeys;
use super::rules::RuleError;
use super::secret::Hash;
use super::selector::{Denied, Selector};
use crate::resp::Args;

/// The user that a connection is of before it says another one.
pub(crate) const DEFAULT: &[u8] = b"default";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct User {
    pub name: Vec<u8>,
    /// Whether it may log in. Who has logged in stays.
    pub enabled: bool,
    /// Whether any password will do.
    pub no_password: bool,
    /// Of RESTORE, which is not there: kept for Redis's files.
    sanitizes: Option<bool>,
    passwords: Vec<Hash>,
    pub root: Selector,
    pub selectors: Vec<Selector>,
}

impl User {
    /// One that may do nothing.
    pub(crate) fn new(name: &[u8]) -> Self {
        Self {
            name: name.to_vec(),
            enabled: false,
            no_password: false,
            sanitizes: None,
            passwords: Vec::new(),
            root: Selector::none(),
            selectors: Vec::new(),
        }
    }

    /// The default user of a server that nothing was said of: it may do everything, and has this password, if any.
    pub(crate) fn default_user(password: Option<&[u8]>) -> Self {
        let (enabled, root) = (true, Selector::all());
        let mut user = Self { enabled, root, ..Self::new(DEFAULT) };
        user.set_password(password.map(Hash::of));
        user
    }

    /// Its one password from now on; none lets anybody in.
    pub(crate) fn set_password(&mut self, password: Option<Hash>) {
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
    pub(crate) fn lets_in(&self, password: &[u8]) -> bool {
        let known = Hash::of(password).is_among(&self.passwords);
        self.enabled && (known || self.no_password)
    }

    /// Whether a request may be run: one selector that allows all of it is enough.
    ///
    /// # Errors
    /// What the selector says that came farthest.
    pub(crate) fn check(&self, command: usize, args: &Args<'_>) -> Result<(), Denied> {
        let target = Target::of(command, args);
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
    pub(super) fn apply(&mut self, rule: &[u8]) -> Result<(), RuleError> {
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
                b'>' => self.add_password(Hash::of(&rule[1..])),
                b'#' => self.add_password(Hash::parse(&rule[1..]).ok_or(RuleError::BadHash)?),
                b'<' => self.remove_password(&Hash::of(&rule[1..]))?,
                b'!' => self.remove_password(&Hash::parse(&rule[1..]).ok_or(RuleError::BadHash)?)?,
                b'(' => self.selectors.push(parse_selector(rule)?),
                _ => self.root.apply(rule)?,
            }
        }
        Ok(())
    }

    fn add_password(&mut self, hash: Hash) {
        self.no_password = false;
        if !self.passwords.contains(&hash) {
            self.passwords.push(hash);
        }
    }

    fn remove_password(&mut self, hash: &Hash) -> Result<(), RuleError> {
        let at = self.passwords.iter().position(|known| known == hash);
        self.passwords.remove(at.ok_or(RuleError::NoSuchPassword)?);
        Ok(())
    }

    /// Its passwords, as hexadecimal digits.
    pub(crate) fn hashes(&self) -> Vec<String> {
        self.passwords.iter().map(Hash::to_string).collect()
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
        self.selectors.iter_mut().for_each(Selector::tidy);
    }
}

/// A selector from its rules in parentheses.
fn parse_selector(rule: &[u8]) -> Result<Selector, RuleError> {
    let inner = rule.strip_prefix(b"(").and_then(|rest| rest.strip_suffix(b")")).ok_or(RuleError::Syntax)?;
    let mut selector = Selector::none();
    for word in inner.split(|byte| *byte == b' ').filter(|word| !word.is_empty()) {
        // In a file it would be the end of the selector.
        if word.ends_with(b")") {
            return Err(RuleError::Syntax);
        }
        selector.apply(word)?;
    }
    Ok(selector)
}
