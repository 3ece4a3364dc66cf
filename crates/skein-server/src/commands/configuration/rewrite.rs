//! CONFIG REWRITE: writes the values of CONFIG SET as options of `skein serve` to the file with
//! which the server was started.
//!
//! ```text
//!   CONFIG SET timeout 60 ─► set_by_clients ─► idle-timeout = "60s" ─► OptionsFile
//! ```
//!
//! Other options in the file stay unchanged, even if the command line overrode them.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use skein_sync::locks::lock;

use super::table;
use crate::commands::{CommandError, CommandResult};
use crate::config::{CONFIG_PARAMETERS, ConfigKind, OPTIONS, OptionValue, Parameter, ValueKind};
use crate::shared::ServerShared;

/// Options and their new values.
type RewrittenOptions = Vec<(&'static str, OptionValue)>;

/// Writes the changed options to the file. Errors if there is no file or if it cannot be written.
pub(super) fn rewrite(shared: &ServerShared) -> CommandResult<()> {
    let Some(file) = &shared.options.options_file else {
        return Err(CommandError::text("ERR The server is running without a config file"));
    };
    // Held from reading the values until they are written, so that the last writer writes the
    // newest values. It is a lock of its own so that CONFIG SET does not wait for the disk.
    let _writing = lock(&shared.settings.rewriting);
    file.rewrite(&options_set(shared)?).map_err(|why| failed(&why))
}

fn failed(why: &str) -> CommandError {
    CommandError::owned(format!("ERR Rewriting config file: {why}"))
}

/// Returns the options that were set, as of one moment.
fn options_set(shared: &ServerShared) -> CommandResult<RewrittenOptions> {
    let _one = lock(&shared.settings.changing);
    let set = lock(&shared.settings.set_by_clients);
    let mut options = RewrittenOptions::new();
    for (name, row) in
        CONFIG_PARAMETERS.iter().filter(|(name, row)| set.contains(row.written_with.unwrap_or(name)))
    {
        if let Some(path) = table::tls_path(row, shared) {
            check_path(name, &path).map_err(|why| failed(&why))?;
        }
        let known = options.len();
        if row.is_option() {
            options.extend(options_of(row, &table::value(row, name, shared)));
        }
        for part in OPTIONS.iter() {
            if let ConfigKind::Part { of, value } = part.config
                && of == *name
            {
                options.extend(options_of(part, &value(&shared.settings).to_string()));
            }
        }
        if options.len() == known && !matches!(row.config, ConfigKind::Kept { .. }) {
            tracing::warn!(parameter = name, "CONFIG REWRITE cannot write this parameter");
        }
    }
    // A parameter with two names has one option.
    let mut written = BTreeSet::new();
    options.retain(|(name, _)| written.insert(*name));
    Ok(options)
}

/// Errors if a path is not UTF-8: the options file is text, and would hold a different path.
fn check_path(name: &str, path: &Path) -> Result<(), String> {
    if path.to_str().is_some() {
        return Ok(());
    }
    let path = path.as_os_str().as_bytes().escape_ascii();
    Err(format!("{name} {path} is not UTF-8, and the options file must be UTF-8; rename the file"))
}

/// Returns an option with the value that CONFIG shows. The options that it excludes are removed,
/// because they would contradict it.
fn options_of(row: &Parameter, value: &str) -> RewrittenOptions {
    let text = |value: &str| OptionValue::Text(value.to_owned());
    let value = match (row.kind, row.config) {
        (ValueKind::Number | ValueKind::Size, _) => {
            value.parse().map_or_else(|_| text(value), OptionValue::Number)
        }
        (ValueKind::TimeOrNever, _) if value.starts_with('-') => text("never"),
        (_, ConfigKind::Time(_, unit)) => text(&format!("{value}{}", unit.facts().1)),
        (ValueKind::Time, _) => text(&format!("{value}s")),
        (ValueKind::Switch, _) => OptionValue::Switch(value == "yes"),
        (ValueKind::SwitchOff, _) => OptionValue::Switch(value == "no"),
        _ => text(row.to_option.map_or(value, |convert| convert(value))),
    };
    let excludes =
        |other: &&Parameter| other.excludes.contains(&row.name) || row.excludes.contains(&other.name);
    let others = OPTIONS.iter().filter(excludes).map(|other| (other.name, OptionValue::Absent));
    [(row.name, value)].into_iter().chain(others).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parameters that are not written to the file. A password is a secret with a file of its own,
    /// percentiles have no option, and the durability does not change.
    const NOT_WRITTEN: [&str; 4] =
        ["appendfsync", "appendonly", "latency-tracking-info-percentiles", "requirepass"];

    #[test]
    fn every_parameter_that_changes_is_written() {
        for (name, row) in CONFIG_PARAMETERS.iter() {
            if !table::changes(row) || matches!(row.config, ConfigKind::Kept { .. }) {
                continue;
            }
            let part =
                |option: &Parameter| matches!(option.config, ConfigKind::Part { of, .. } if of == *name);
            let written = row.is_option() || OPTIONS.iter().any(part);
            // The sizes of Redis's encodings are no options.
            let is_size = ["-listpack-", "-ziplist-", "-intset-"].iter().any(|of| name.contains(of));
            let is_option = !is_size && !NOT_WRITTEN.contains(name);
            assert_eq!(written, is_option, "{name}");
        }
    }

    #[test]
    fn a_path_that_is_not_utf8_is_rejected() {
        let path = |bytes: &'static [u8]| Path::new(std::ffi::OsStr::from_bytes(bytes));
        assert_eq!(check_path("tls-key-file", path("/k\u{f6}/key".as_bytes())), Ok(()));
        let why = check_path("tls-key-file", path(b"/k\xf6/key")).expect_err("not UTF-8");
        assert!(why.contains(r"tls-key-file /k\xf6/key is not UTF-8"), "{why}");
    }

    #[test]
    fn values_have_the_units_of_the_options() {
        let (number, text) = (OptionValue::Number, |text: &str| OptionValue::Text(text.to_owned()));
        for (name, value, expected) in [
            ("idle-timeout", "60", text("60s")),
            ("busy-reply-threshold", "77", text("77ms")),
            ("max-memory", "1024", number(1024)),
            ("no-latency-tracking", "no", OptionValue::Switch(true)),
            ("slowlog-slower-than", "1500", text("1500us")),
            ("slowlog-slower-than", "-1", text("never")),
            ("log-level", "verbose", text("debug")),
            ("output-hard-limit", "10", number(10)),
            ("output-soft-time", "60", text("60s")),
            ("subscriber-soft-limit", "6", number(6)),
            ("subscriber-soft-time", "5", text("5s")),
            ("max-client-memory", "5%", text("5%")),
        ] {
            let row = OPTIONS.iter().find(|option| option.name == name).expect("an option");
            let written = options_of(row, value);
            assert_eq!(written[0], (name, expected), "{name} {value}");
            let absent: Vec<&str> = written[1..].iter().map(|(name, _)| *name).collect();
            let excluded: &[&str] = if name == "max-memory" { &["cache-pages", "cache"] } else { &[] };
            assert_eq!(absent, excluded, "{name}");
        }
    }
}
