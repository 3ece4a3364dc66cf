//! The ACL file: one line per user, in Redis's format.
//!
//! ```text
//!   user default on #2bb8... ~* &* +@all
//!   user alice on #30c9... ~orders:* resetchannels -@all +@read
//! ```
//!
//! Loading replaces all users, or changes nothing after an error. Saving writes another file and
//! renames it, so that a crash leaves either the old file or the new one.

use std::collections::btree_map::Entry;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use skein_sync::locks::lock;

use super::patterns::AllKeys;
use super::rules::AclRuleError;
use super::selector::DefaultChannels;
use super::user::AclUser;
use super::users::{AclUsers, SetUserError, UsersByName, merge};
use crate::net::open_files::{read_at_most, too_long};

/// Only the owner may read the file: its hashes are quick to compute, so they do not hide passwords
/// for long.
const MODE: u32 = 0o600;

/// The longest file in bytes, enough for some hundred thousand users. A longer file is not saved
/// either, because it could not be loaded.
const BYTES_MAX: u64 = 64 << 20;

/// The reason why an ACL file was not loaded.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AclFileError {
    #[error("{0}")]
    Read(#[from] io::Error),
    /// All errors in the file, in Redis's words.
    #[error("{0}")]
    Wrong(String),
}

impl AclUsers {
    /// Replaces all users by those of a file. Returns the names of the users that must be
    /// disconnected.
    ///
    /// # Errors
    /// If the file cannot be read, or any line of it is wrong. Then nothing has changed.
    pub(crate) fn load(&self, path: &Path) -> Result<Vec<Vec<u8>>, AclFileError> {
        let text = read_at_most(path, BYTES_MAX)?;
        let users = parse(&path.display().to_string(), &text, self.default_channels())
            .map_err(AclFileError::Wrong)?;
        Ok(self.replace(users))
    }

    /// Writes all users to a file. Waits for the disk.
    ///
    /// # Errors
    /// If a file operation fails, or the file would be longer than [`BYTES_MAX`]. The file is then
    /// unchanged.
    pub(crate) fn save(&self, path: &Path) -> io::Result<()> {
        // One thread saves at a time, starting before it reads the users. All threads use one
        // temporary name, and the last thread to save must have the latest users.
        let _saving = lock(&self.saving);
        let mut text = Vec::new();
        for user in self.all() {
            text.extend_from_slice(&user.print(AllKeys::ReadBack));
            text.push(b'\n');
        }
        if text.len() as u64 > BYTES_MAX {
            return Err(too_long(BYTES_MAX));
        }
        let new = temporary(path);
        let written = write_new(&new, &text).and_then(|()| fs::rename(&new, path));
        if written.is_err() {
            // Removes an incomplete temporary file. An error here is ignored: the first error is
            // reported.
            let _ = fs::remove_file(&new);
        }
        written?;
        let folder: PathBuf = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
            _ => ".".into(),
        };
        File::open(folder)?.sync_all()
    }
}

/// Returns the name of the file until it is complete. It differs between two servers with the same
/// file.
fn temporary(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".tmp-{}", std::process::id()));
    path.with_file_name(name)
}

/// Creates a new file: a leftover from a crash may have another mode, or be a link.
fn write_new(path: &Path, text: &[u8]) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(MODE).open(path)?;
    file.write_all(text)?;
    file.sync_all()
}

/// Returns the users of a file, or all errors in it. Each user begins with `channels`.
pub(super) fn parse(name: &str, text: &[u8], channels: DefaultChannels) -> Result<UsersByName, String> {
    let (mut users, mut wrong) = (UsersByName::new(), String::new());
    for (number, line) in (1..).zip(text.split(|byte| *byte == b'\n')) {
        if let Err(error) = parse_line(line.trim_ascii(), number, name, channels, &mut users) {
            wrong.push_str(&error);
        }
    }
    if wrong.is_empty() { Ok(users) } else { Err(wrong) }
}

/// Adds the user of a line. Error texts end with a space.
fn parse_line(
    line: &[u8],
    number: usize,
    name: &str,
    channels: DefaultChannels,
    users: &mut UsersByName,
) -> Result<(), String> {
    if line.is_empty() {
        return Ok(());
    }
    // As in Redis, one space separates two words. Further spaces make empty rules, which have no
    // effect.
    let words: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
    let [b"user", user, rules @ ..] = &*words else {
        return Err(format!("{name}:{number} should start with user keyword followed by the username. "));
    };
    if user.iter().any(|byte| byte.is_ascii_whitespace() || *byte == 0) {
        return Err(format!(
            "{name}:{number}: username '{}' contains invalid characters. ",
            user.escape_ascii()
        ));
    }
    let Entry::Vacant(place) = users.entry(user.to_vec()) else {
        let user = String::from_utf8_lossy(user);
        return Err(format!("WARNING: Duplicate user '{user}' found on line {number}. "));
    };
    let mut made = AclUser::with_channels(user, channels);
    let mut wrong = String::new();
    let rules = merge(rules).map_err(|error| match error {
        SetUserError::Unmatched(rule) => {
            let rule = String::from_utf8_lossy(&rule);
            format!("{name}:{number}: Unmatched parenthesis in acl selector starting at '{rule}'. ")
        }
        SetUserError::BadName | SetUserError::Rule(..) => format!("{name}:{number}: Syntax error. "),
    })?;
    for rule in rules {
        if let Err(error) = made.apply(&rule, channels) {
            wrong.push_str(&describe_rule_error(&rule, error, name, number));
        }
    }
    if !wrong.is_empty() {
        return Err(wrong);
    }
    made.drop_ineffective_rules();
    place.insert(Arc::new(made));
    Ok(())
}

/// Describes the error of a rule. Only rules about commands are quoted, because others may hold
/// passwords.
fn describe_rule_error(rule: &[u8], error: AclRuleError, name: &str, number: usize) -> String {
    match error {
        AclRuleError::Unknown => {
            let rule = String::from_utf8_lossy(rule);
            format!("{name}:{number}: Error in applying operation '{rule}': {error}. ")
        }
        _ => format!("{name}:{number}: {error}. "),
    }
}

#[cfg(test)]
mod tests {
    use super::super::user::DEFAULT;
    use super::*;

    fn lines(users: &AclUsers) -> Vec<String> {
        users
            .all()
            .iter()
            .map(|user| String::from_utf8(user.print(AllKeys::ReadBack)).expect("text"))
            .collect()
    }

    #[test]
    fn saved_users_are_loaded() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("users.acl");
        let users = AclUsers::new(Some(b"secret"));
        for rules in [&["on", ">a", "~a*", "%R~b", "+@read", "-get"][..], &["(~a", "+get)", "(%W~b +set)"]] {
            let rules: Vec<&[u8]> = rules.iter().map(|rule| rule.as_bytes()).collect();
            users.set(b"alice", &rules).expect("rules");
        }
        users.save(&path).expect("saved");
        let others = AclUsers::new(None);
        assert!(others.load(&path).expect("loaded").is_empty());
        assert_eq!(lines(&others), lines(&users));
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1, "nothing else is left");
        let mode =
            std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&path).expect("a file").permissions());
        assert_eq!(mode & 0o777, MODE);
    }

    #[test]
    fn wrong_file_changes_nothing_and_lists_all_errors() {
        for (text, wrong) in [
            (
                "user a +foo -@bar\nuser b on",
                "f:1: Error in applying operation '+foo': Unknown command or category name in ACL. f:1: Error in applying operation '-@bar': Unknown command or category name in ACL. ",
            ),
            ("user a on\nfoo", "f:2 should start with user keyword followed by the username. "),
            ("user a on\n\nuser a off", "WARNING: Duplicate user 'a' found on line 3. "),
            ("user a (+get", "f:1: Unmatched parenthesis in acl selector starting at '(+get'. "),
            (
                "user a #secret",
                "f:1: The password hash must be exactly 64 characters and contain only lowercase hexadecimal characters. ",
            ),
        ] {
            assert_eq!(
                parse("f", text.as_bytes(), DefaultChannels::None).expect_err("a wrong file"),
                wrong,
                "{text}"
            );
        }
    }

    #[test]
    fn default_user_stays_and_changed_users_are_returned() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("users.acl");
        let users = AclUsers::new(Some(b"secret"));
        for name in [b"gone", b"same", b"less"] {
            users.set(name, &[b"on", b"+get"]).expect("rules");
        }
        fs::write(&path, "user same on +get\r\nuser less off +get\nuser new on\n").expect("written");
        let changed = users.load(&path).expect("loaded");
        assert_eq!(changed, [&b"gone"[..], b"less"]);
        assert!(users.log_in(DEFAULT, b"secret").is_some() && users.get(b"gone").is_none());
        assert!(users.load(&folder.path().join("none")).is_err());
    }

    /// Incident: a device in place of the file filled all memory. Fix: the length is limited. A
    /// file that is too long to load is not saved either, because no server would start with it.
    #[test]
    fn length_of_a_file_is_limited() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("users.acl");
        let users = AclUsers::new(None);
        let error = users.load(Path::new("/dev/zero")).expect_err("it never ends");
        assert_eq!(error.to_string(), format!("it is longer than the limit of {BYTES_MAX} bytes"));
        users.save(&path).expect("saved");
        let before = fs::read(&path).expect("a file");
        let pattern = [&b"~"[..], &vec![b'x'; 64 << 20]].concat();
        users.set(b"long", &[&pattern]).expect("rules");
        assert_eq!(users.save(&path).expect_err("too long").kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(fs::read(&path).expect("a file"), before);
    }

    /// Incident: two threads wrote to one file of the same name. Consequence: one renamed the file
    /// that the other was still writing, or the other found it missing. Fix: one thread saves at a
    /// time.
    #[test]
    fn concurrent_saves_and_leftovers_do_not_interfere() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("users.acl");
        let leftover = temporary(&path);
        fs::write(&leftover, "user half on").expect("written");
        fs::set_permissions(&leftover, std::os::unix::fs::PermissionsExt::from_mode(0o644)).expect("a mode");
        let users = AclUsers::new(Some(b"secret"));
        for number in 0..50 {
            users.set(format!("user{number}").as_bytes(), &[b"on", b"+get", b"~a*"]).expect("rules");
        }
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..10).for_each(|_| users.save(&path).expect("saved")));
            }
        });
        let others = AclUsers::new(None);
        others.load(&path).expect("whole");
        assert_eq!(lines(&others), lines(&users));
        let mode =
            std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&path).expect("a file").permissions());
        assert_eq!(mode & 0o777, MODE);
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1, "nothing else is left");
    }
}
