//! CONFIG REWRITE: writes the values of CONFIG SET as options of `skein serve` to the file with
//! which the server was started.
//!
//! ```text
//!   CONFIG SET timeout 60 ─► set_by_clients ─► idle-timeout = "60s" ─► OptionsFile
//! ```
//!
//! Other options in the file stay unchanged, even if the command line overrode them.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use skein_sync::locks::lock;

use super::table::PARAMETERS;
use crate::commands::CommandError;
use crate::config::OptionValue;
use crate::shared::ServerShared;

/// Options and their new values.
type RewrittenOptions = Vec<(&'static str, OptionValue)>;

/// Writes the changed options to the file. Errors if there is no file or if it cannot be written.
pub(super) fn rewrite(shared: &ServerShared) -> Result<(), CommandError> {
    let Some(file) = &shared.options.options_file else {
        return Err(CommandError::text("ERR The server is running without a config file"));
    };
    // Held from reading the values until they are written, so that the last writer writes the
    // newest values. It is a lock of its own so that CONFIG SET does not wait for the disk.
    let _writing = lock(&shared.rewriting);
    file.rewrite(&options_set(shared)?).map_err(|why| failed(&why))
}

fn failed(why: &str) -> CommandError {
    CommandError::owned(format!("ERR Rewriting config file: {why}"))
}

/// Returns the options that were set, as of one moment.
fn options_set(shared: &ServerShared) -> Result<RewrittenOptions, CommandError> {
    let _one = lock(&shared.configuring);
    let set = lock(&shared.settings.set_by_clients);
    let mut options = RewrittenOptions::new();
    for parameter in PARAMETERS.iter().filter(|parameter| set.contains(decides(parameter.name))) {
        if let Some(path) = parameter.tls_path(shared) {
            check_path(parameter.name, &path).map_err(|why| failed(&why))?;
        }
        if parameter.is_kept() {
            continue;
        }
        if let Some(more) = options_of(parameter.name, &parameter.value(shared)) {
            options.extend(more);
        } else {
            tracing::warn!(parameter = parameter.name, "CONFIG REWRITE cannot write this parameter");
        }
    }
    Ok(options)
}

/// Returns the parameter that must have been set for this one to be written. If `tls-auth-clients`
/// is not in the file, its default depends on the presence of a CA file, so a new CA file alone
/// would change it.
fn decides(name: &str) -> &str {
    if name == "tls-auth-clients" { "tls-ca-cert-file" } else { name }
}

/// Errors if a path is not UTF-8: the options file is text, and would hold a different path.
fn check_path(name: &str, path: &Path) -> Result<(), String> {
    if path.to_str().is_some() {
        return Ok(());
    }
    let path = path.as_os_str().as_bytes().escape_ascii();
    Err(format!("{name} {path} is not UTF-8, and the options file must be UTF-8; rename the file"))
}

/// Returns a parameter with this value as options, or `None` if there is no option for it.
fn options_of(name: &str, value: &str) -> Option<RewrittenOptions> {
    let number = || value.parse().map_or_else(|_| text(value), OptionValue::Number);
    let seconds = || text(&format!("{value}s"));
    Some(vec![match name {
        "acl-pubsub-default" => ("acl-pubsub-default", text(value)),
        "acllog-max-len" => ("max-acl-log", number()),
        "busy-reply-threshold" | "lua-time-limit" => ("busy-reply-threshold", text(&format!("{value}ms"))),
        "client-output-buffer-limit" => return output_limit(value),
        "client-query-buffer-limit" => ("max-request", number()),
        "latency-monitor-threshold" => ("latency-threshold", text(&format!("{value}ms"))),
        "latency-tracking" => ("no-latency-tracking", OptionValue::Switch(value == "no")),
        "loglevel" => ("log-level", text(log_level(value))),
        "max-arguments" => ("max-arguments", number()),
        "max-output" => ("max-output", number()),
        "max-pipeline" => ("max-pipeline", number()),
        "max-reply" => ("max-reply", number()),
        "maxclients" => ("max-clients", number()),
        "maxmemory" => return Some(memory_limit(number())),
        "maxmemory-clients" => ("max-client-memory", text(value)),
        "maxmemory-policy" => ("max-memory-policy", text(value)),
        "proto-max-bulk-len" => ("max-argument", number()),
        "notify-keyspace-events" => ("notify-keyspace-events", text(value)),
        "slowlog-log-slower-than" => ("slowlog-slower-than", text(&slower_than(value))),
        "slowlog-max-len" => ("slowlog-max-len", number()),
        "tcp-keepalive" => ("tcp-keepalive", seconds()),
        "timeout" => ("idle-timeout", seconds()),
        "tls-auth-clients" => ("tls-auth-clients", text(value)),
        "tls-ca-cert-file" => ("tls-ca", text(value)),
        "tls-cert-file" => ("tls-cert", text(value)),
        "tls-handshake-timeout" => ("tls-handshake-timeout", seconds()),
        "tls-key-file" => ("tls-key", text(value)),
        "tracking-table-max-keys" => ("tracking-table-max-keys", number()),
        _ => return None,
    }])
}

/// Writes the limit. Other options for the size of the disk engine's cache would contradict it.
fn memory_limit(bytes: OptionValue) -> RewrittenOptions {
    vec![("max-memory", bytes), ("cache-pages", OptionValue::Absent), ("cache", OptionValue::Absent)]
}

fn text(value: &str) -> OptionValue {
    OptionValue::Text(value.to_owned())
}

/// Converts the numbers of `normal` and of `pubsub`. Those of replicas are kept without effect, so
/// they are no options.
fn output_limit(value: &str) -> Option<RewrittenOptions> {
    let words: Vec<&str> = value.split(' ').collect();
    let mut options = Vec::new();
    for limits in words.chunks(4) {
        let &[class, hard, soft, seconds] = limits else {
            return None;
        };
        let names = match class {
            "normal" => ["output-hard-limit", "output-soft-limit", "output-soft-time"],
            "pubsub" => ["subscriber-hard-limit", "subscriber-soft-limit", "subscriber-soft-time"],
            _ => continue,
        };
        options.push((names[0], OptionValue::Number(hard.parse().ok()?)));
        options.push((names[1], OptionValue::Number(soft.parse().ok()?)));
        options.push((names[2], text(&format!("{seconds}s"))));
    }
    Some(options)
}

/// Converts microseconds; a negative number means never.
fn slower_than(micros: &str) -> String {
    if micros.starts_with('-') { "never".to_owned() } else { format!("{micros}us") }
}

/// Converts Redis's log level to the option's.
fn log_level(level: &str) -> &'static str {
    match level {
        "debug" => "trace",
        "verbose" => "debug",
        "notice" => "info",
        _ => "warn",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parameters that the file does not get: a password is a secret with a file of its own, percentiles
    /// have no option, and the durability does not change.
    const NOT_WRITTEN: [&str; 4] =
        ["appendfsync", "appendonly", "latency-tracking-info-percentiles", "requirepass"];

    #[test]
    fn every_parameter_that_changes_is_written() {
        for parameter in PARAMETERS.iter().filter(|parameter| parameter.changes() && !parameter.is_kept()) {
            let value = if parameter.name == "client-output-buffer-limit" {
                "normal 1 2 3 slave 1 2 3 pubsub 1 2 3"
            } else {
                "1"
            };
            let written = options_of(parameter.name, value).is_some();
            // The sizes of Redis's encodings are no options.
            let is_size =
                ["-listpack-", "-ziplist-", "-intset-"].iter().any(|of| parameter.name.contains(of));
            let is_option = !is_size && !NOT_WRITTEN.contains(&parameter.name);
            assert_eq!(written, is_option, "{}", parameter.name);
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
        let number = OptionValue::Number;
        for (name, value, options) in [
            ("timeout", "60", vec![("idle-timeout", text("60s"))]),
            ("maxmemory", "1024", memory_limit(number(1024))),
            ("latency-tracking", "no", vec![("no-latency-tracking", OptionValue::Switch(true))]),
            ("slowlog-log-slower-than", "1500", vec![("slowlog-slower-than", text("1500us"))]),
            ("slowlog-log-slower-than", "-1", vec![("slowlog-slower-than", text("never"))]),
            ("loglevel", "verbose", vec![("log-level", text("debug"))]),
            (
                "client-output-buffer-limit",
                "normal 10 5 60 slave 3 2 1 pubsub 7 6 5",
                vec![
                    ("output-hard-limit", number(10)),
                    ("output-soft-limit", number(5)),
                    ("output-soft-time", text("60s")),
                    ("subscriber-hard-limit", number(7)),
                    ("subscriber-soft-limit", number(6)),
                    ("subscriber-soft-time", text("5s")),
                ],
            ),
        ] {
            assert_eq!(options_of(name, value), Some(options), "{name} {value}");
        }
    }
}
