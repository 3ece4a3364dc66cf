//! CONFIG REWRITE: writes options into the file that the server was started with, and preserves the
//! rest of the file.
//!
//! ```text
//!   file ─► replace values, add new lines below their comments ─► check that a server would start
//!        ─► .tmp ─► rename
//! ```
//!
//! After a crash the file is the old one or the new one.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::ops::Range;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, fchown};
use std::path::{Path, PathBuf};

use skein_server::{OptionValue, OptionsFile};
use toml::de::DeTable;

/// The file, and the command line that named it.
#[derive(Debug)]
pub struct ConfigFile {
    pub file: PathBuf,
    pub command_line: Vec<OsString>,
}

impl OptionsFile for ConfigFile {
    fn rewrite(&self, options: &[(&'static str, OptionValue)]) -> Result<(), String> {
        let said = |error: io::Error| format!("{}: {error}", self.file.display());
        // If the path is a symbolic link, the target is rewritten, not the link.
        let file = fs::canonicalize(&self.file).map_err(said)?;
        let text = super::file::read(&file).map_err(said)?;
        let new = edited(&text, options)?;
        if new == text {
            return Ok(());
        }
        crate::check(self.command_line.clone(), &self.file, &new).map_err(|failure| failure.message)?;
        // A frequent cause: the server's user may write to the file but not to its folder.
        replace(&file, &new).map_err(|error| format!("{}; a new file is made beside it", said(error)))
    }
}

/// Returns the text with these options.
fn edited(text: &str, options: &[(&'static str, OptionValue)]) -> Result<String, String> {
    let table = DeTable::parse(text).map_err(|error| error.message().to_owned())?;
    let entry_of = |name: &str| table.get_ref().iter().find(|(key, _)| key.get_ref() == name);
    // The positions of the values that change.
    let mut places = Vec::new();
    let mut new = String::new();
    for (name, value) in options {
        let Some(value) = written(value) else {
            places.extend(
                entry_of(name)
                    .map(|(key, old)| (lines_of(text, key.span().start..old.span().end), String::new())),
            );
            continue;
        };
        let line = || format!("{name} = {value}\n");
        if let Some((_, old)) = entry_of(name) {
            places.push((old.span(), value));
        } else if let Some(at) = after_comment(text, name) {
            places.push((at..at, line()));
        } else {
            new += &line();
        }
    }
    // A new line stands before a removed one at the same position.
    places.sort_by_key(|(span, _)| (span.start, span.end));
    let (mut out, mut from) = (String::new(), 0);
    for (span, value) in places {
        out += &text[from..span.start];
        out += &value;
        from = span.end;
    }
    out += &text[from..];
    if !new.is_empty() && !out.is_empty() && !out.ends_with('\n') {
        out.push('\n');
    }
    Ok(out + &new)
}

/// Returns the end of the line `#name = default`, as `skein config` prints it.
fn after_comment(text: &str, name: &str) -> Option<usize> {
    let mut end = 0;
    text.split_inclusive('\n').find_map(|line| {
        end += line.len();
        let rest = line.strip_prefix('#')?.strip_prefix(name)?;
        (rest.starts_with(" = ") && line.ends_with('\n')).then_some(end)
    })
}

/// Returns the whole lines of a part of the text.
fn lines_of(text: &str, part: Range<usize>) -> Range<usize> {
    let start = text[..part.start].rfind('\n').map_or(0, |end| end + 1);
    let end = text[part.end..].find('\n').map_or(text.len(), |end| part.end + end + 1);
    start..end
}

/// Returns a value in the file's notation, or `None` for an option that the file must not have.
fn written(value: &OptionValue) -> Option<String> {
    Some(match value {
        OptionValue::Text(text) => super::file::quoted(text),
        OptionValue::Number(number) => number.to_string(),
        OptionValue::Switch(on) => on.to_string(),
        OptionValue::Absent => return None,
    })
}

/// Replaces the file by the text. Keeps the file's permissions, and its owner and group if the
/// system permits.
fn replace(file: &Path, text: &str) -> io::Result<()> {
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(".tmp");
    let new = file.with_file_name(name);
    // A file left by a crash is useless.
    match fs::remove_file(&new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let done = write_new(&new, file, text).and_then(|()| fs::rename(&new, file));
    if done.is_err() {
        // The first error is the one that matters.
        let _ = fs::remove_file(&new);
    }
    done?;
    file.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

fn write_new(new: &Path, old: &Path, text: &str) -> io::Result<()> {
    let mut out = OpenOptions::new().write(true).create_new(true).mode(0o600).open(new)?;
    let old = fs::metadata(old)?;
    // Nobody else can open the new file until it has the permissions of the old one. Set the owner
    // first: the permissions apply to the owner.
    give(&out, None, Some(old.gid()))?;
    give(&out, Some(old.uid()), None)?;
    out.set_permissions(old.permissions())?;
    out.write_all(text.as_bytes())?;
    out.sync_all()
}

/// Gives the file to a user or a group, if the system permits. It does not if we lack the
/// privilege, or if no such user exists here.
fn give(file: &File, user: Option<u32>, group: Option<u32>) -> io::Result<()> {
    match fchown(file, user, group) {
        Err(error)
            if matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::InvalidInput) =>
        {
            Ok(())
        }
        done => done,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(value: u64) -> OptionValue {
        OptionValue::Number(value)
    }

    #[test]
    fn values_change_where_they_stand_and_comments_stay() {
        let text = "# ours\nmax-clients = 5   # few\n\n# how long\n#idle-timeout = \"0\"\nmax-reply = \"1m\"";
        let options = [
            ("max-reply", number(2048)),
            ("idle-timeout", OptionValue::Text("60s".to_owned())),
            ("max-clients", number(7)),
            ("no-latency-tracking", OptionValue::Switch(true)),
        ];
        let expected = "# ours\nmax-clients = 7   # few\n\n# how long\n#idle-timeout = \"0\"\nidle-timeout = \"60s\"\n\
                        max-reply = 2048\nno-latency-tracking = true\n";
        assert_eq!(edited(text, &options).as_deref(), Ok(expected));
        assert_eq!(edited(expected, &options).as_deref(), Ok(expected), "a second time nothing changes");
        assert_eq!(edited("", &options[2..3]).as_deref(), Ok("max-clients = 7\n"));
        assert!(edited("a = ", &options).is_err(), "somebody has spoiled it meanwhile");
        let absent =
            [("cache", OptionValue::Absent), ("max-memory", number(9)), ("cache-pages", OptionValue::Absent)];
        let text = "# a\n  cache = \"1g\" # all\n# b\ncache-pages = 7";
        assert_eq!(edited(text, &absent).as_deref(), Ok("# a\n# b\nmax-memory = 9\n"));
        let beside = edited("#max-memory = 0\ncache = \"1g\"\n", &absent);
        assert_eq!(beside.as_deref(), Ok("#max-memory = 0\nmax-memory = 9\n"));
        assert_eq!(edited("#cache = \"1g\"\n", &absent[..1]).as_deref(), Ok("#cache = \"1g\"\n"));
    }

    /// Incident: a value was written in Rust's notation, with `\u{301}`. Consequence: no server
    /// would start with the file, so it could never be written again. Fix: TOML has its own
    /// notation.
    #[test]
    fn every_text_is_written_so_that_it_is_read_as_the_same() {
        for text in ["/k/u\u{308}.pem", "a\u{7f}b\tc\nd\u{1b}", "\"it's\" \\ \'\'\'", "\u{1f431}\u{200d}", ""]
        {
            let line = edited("", &[("tls-key", OptionValue::Text(text.to_owned()))]).expect("an option");
            assert_eq!(line.lines().count(), 1, "{line}");
            let entries = crate::config::file::parse(&line).expect(&line);
            assert_eq!(entries[0].value, crate::config::file::ConfigValue::One(text.to_owned()), "{line}");
        }
        assert_eq!(written(&OptionValue::Text("u\u{308}".to_owned())).as_deref(), Some("\"u\u{308}\""));
    }

    /// Incident: a server of root replaced a file of another owner by a file of root. Consequence:
    /// its owner could not change it any more. Fix: the owner is kept.
    #[test]
    fn rewriting_keeps_the_owner_where_it_can() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("skein.toml");
        fs::write(&file, "max-clients = 5\n").unwrap();
        // Only root may do this. For other users the owner stays.
        let given = std::os::unix::fs::chown(&file, Some(12), Some(34)).is_ok();
        replace(&file, "max-clients = 6\n").expect("replaced");
        let now = fs::metadata(&file).unwrap();
        if given {
            assert_eq!((now.uid(), now.gid()), (12, 34));
        }
        assert_eq!(fs::read_to_string(&file).unwrap(), "max-clients = 6\n");
    }

    /// Incident: CONFIG SET accepts two limits one by one that a file cannot combine: an argument
    /// longer than a request. Consequence: the server would not start any more. Fix: such a file is
    /// not written.
    #[test]
    fn a_file_that_no_server_would_start_with_is_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("skein.toml");
        fs::write(&file, "max-request = \"1m\"\n").unwrap();
        let command_line = ["skein", "serve", "--config"].map(OsString::from).into_iter();
        let command_line = command_line.chain([file.clone().into()]).collect();
        let config = ConfigFile { file: file.clone(), command_line };
        let why = config.rewrite(&[("max-argument", number(2 << 20))]).expect_err("it is longer");
        assert!(why.contains("--max-argument is 2097152; choose 1024 to 1048576"), "{why}");
        assert_eq!(fs::read_to_string(&file).unwrap(), "max-request = \"1m\"\n");
        config.rewrite(&[("max-argument", number(1 << 20))]).expect("it fits");
        assert_eq!(fs::read_to_string(&file).unwrap(), "max-request = \"1m\"\nmax-argument = 1048576\n");
        assert_eq!(folder.path().read_dir().unwrap().count(), 1, "nothing else is left");
        fs::remove_file(&file).unwrap();
        assert!(config.rewrite(&[]).expect_err("it is gone").contains("skein.toml: No such file"));
    }
}
