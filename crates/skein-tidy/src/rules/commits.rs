//! A commit names its change in its subject, and the reason in its body.

use std::path::Path;
use std::process::Command;
use std::{io, str};

/// The maximum width of a subject.
pub const SUBJECT_COLUMNS_MAX: usize = 72;

/// Commits before this moment are as they are.
const SINCE: &str = "2026-11-28T06:00:00Z";

/// The message of a commit.
#[derive(Debug)]
pub struct Commit {
    /// Its abbreviated hash.
    pub hash: String,
    /// Its first line.
    pub subject: String,
    /// The rest, without the empty line between.
    pub body: String,
}

/// Returns the commits of the repository since this rule is checked, without merges. Returns `None`
/// without a history: an archive of the sources lacks it, and a machine may lack git.
///
/// # Errors
///
/// If git fails, or prints something else than a list of commits.
pub fn read(root: &Path) -> io::Result<Option<Vec<Commit>>> {
    if !root.join(".git").exists() {
        return Ok(None);
    }
    let since = format!("--since={SINCE}");
    let format = "--format=%h%x1f%s%x1f%b%x1e";
    // Another user may own the folder, as in a container.
    let arguments = ["-c", "safe.directory=*", "log", "--no-merges", &since, format];
    let output = match Command::new("git").current_dir(root).args(arguments).output() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        output => output?,
    };
    if !output.status.success() {
        return Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    let text = str::from_utf8(&output.stdout).map_err(io::Error::other)?;
    let records = text.split('\x1e').map(str::trim).filter(|record| !record.is_empty());
    let commits = records.map(|record| {
        let mut fields = record.split('\x1f').map(|field| field.trim().to_string());
        let mut next = || fields.next().ok_or_else(|| io::Error::other(format!("no commit: {record}")));
        Ok(Commit { hash: next()?, subject: next()?, body: next()? })
    });
    commits.collect::<io::Result<_>>().map(Some)
}

/// Returns the violations of these messages.
pub fn messages_out_of_form(commits: &[Commit]) -> Vec<String> {
    let mut found = Vec::new();
    for Commit { hash, subject, body } in commits {
        let columns = subject.chars().count();
        if columns > SUBJECT_COLUMNS_MAX {
            found.push(format!(
                "{hash}: its subject has {columns} columns, and the limit is {SUBJECT_COLUMNS_MAX}: {subject}"
            ));
        }
        if body.is_empty() {
            found.push(format!("{hash}: it has no body, which says why: {subject}"));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_needs_a_short_subject_and_a_body() {
        let commit = |subject: &str, body: &str| Commit {
            hash: "0".into(),
            subject: subject.into(),
            body: body.into(),
        };
        let fits = "a".repeat(SUBJECT_COLUMNS_MAX);
        let long = format!("{fits}a");
        assert_eq!(messages_out_of_form(&[commit(&fits, "Why.")]), [""; 0]);
        assert_eq!(messages_out_of_form(&[commit(&long, "")]).len(), 2);
    }
}
