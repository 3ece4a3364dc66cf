//! The table of parameters. A parameter has Redis's name if Redis has one, otherwise the name of
//! the option of `skein serve`.
//!
//! To add one, add a row here. A value that can change is in `settings`; its bounds are those of
//! the option, in `config`.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use super::kept::{self, KeptKind};
use super::redis_parameters::{KEPT, REFUSED};
use super::values::{NumberUnit, parse};
use super::{clients, memory, observing, output_limit, users};
use crate::bound_server::BACKLOG;
use crate::config::{SECONDS, bounds};
use crate::settings::{LiveSetting, LiveSettings};
use crate::shared::ServerShared;
use crate::{Tls, TlsClients};

/// A parameter of CONFIG.
pub(super) struct ConfigParameter {
    pub name: &'static str,
    kind: ParameterKind,
}

enum ParameterKind {
    /// Cannot change while the server runs.
    Fixed(fn(&ServerShared) -> String),
    /// Has this value always, and this error for any other one.
    Refused { value: &'static str, why: &'static str },
    /// Is kept without effect.
    Kept { default: &'static str, kind: KeptKind },
    /// A number that can change.
    Number(NumberParameter),
    /// Any other value that can change.
    Other { value: fn(&ServerShared) -> String, change: fn(&[u8]) -> Result<ApplyChange, String> },
    /// A TLS file. It can change if the server has a TLS port.
    TlsFile(TlsFile),
    /// A value of the engine. Some engines reject a change, and no engine changes its durability.
    Engine {
        value: fn(&ServerShared) -> String,
        change: fn(&ServerShared, &[u8]) -> Result<ApplyChange, String>,
    },
}

struct NumberParameter {
    setting: fn(&LiveSettings) -> &LiveSetting,
    unit: NumberUnit,
    bounds: (usize, usize),
    /// An additional check of a new value.
    check: fn(&ServerShared, usize) -> Result<(), String>,
    /// Runs after a change.
    then: fn(&ServerShared),
}

/// One of the TLS files.
#[derive(Clone, Copy)]
pub(super) struct TlsFile {
    path: fn(&Tls) -> Option<&Path>,
    /// Sets the path.
    pub put: fn(&mut Tls, PathBuf),
}

/// Applies a new value.
pub(super) type ApplyChange = Box<dyn FnOnce(&ServerShared)>;

const fn fixed(name: &'static str, value: fn(&ServerShared) -> String) -> ConfigParameter {
    ConfigParameter { name, kind: ParameterKind::Fixed(value) }
}

/// A parameter that has one value.
pub(super) const fn refused(name: &'static str, value: &'static str, why: &'static str) -> ConfigParameter {
    ConfigParameter { name, kind: ParameterKind::Refused { value, why } }
}

/// A parameter of Redis without effect.
pub(super) const fn kept(name: &'static str, default: &'static str, kind: KeptKind) -> ConfigParameter {
    ConfigParameter { name, kind: ParameterKind::Kept { default, kind } }
}

const fn other(
    name: &'static str,
    value: fn(&ServerShared) -> String,
    change: fn(&[u8]) -> Result<ApplyChange, String>,
) -> ConfigParameter {
    ConfigParameter { name, kind: ParameterKind::Other { value, change } }
}

const fn engine(
    name: &'static str,
    value: fn(&ServerShared) -> String,
    change: fn(&ServerShared, &[u8]) -> Result<ApplyChange, String>,
) -> ConfigParameter {
    ConfigParameter { name, kind: ParameterKind::Engine { value, change } }
}

const fn number(
    name: &'static str,
    setting: fn(&LiveSettings) -> &LiveSetting,
    unit: NumberUnit,
    bounds: (usize, usize),
) -> ConfigParameter {
    ConfigParameter {
        name,
        kind: ParameterKind::Number(NumberParameter {
            setting,
            unit,
            bounds,
            check: |_, _| Ok(()),
            then: |_| {},
        }),
    }
}

/// A size of an encoding of Redis.
const fn encoding(name: &'static str, setting: fn(&LiveSettings) -> &LiveSetting) -> ConfigParameter {
    number(name, setting, NumberUnit::Count, (0, i64::MAX as usize))
}

const fn tls_file(
    name: &'static str,
    path: fn(&Tls) -> Option<&Path>,
    put: fn(&mut Tls, PathBuf),
) -> ConfigParameter {
    ConfigParameter { name, kind: ParameterKind::TlsFile(TlsFile { path, put }) }
}

impl ConfigParameter {
    /// Returns the parameter with a function that runs after a change.
    const fn then(mut self, then: fn(&ServerShared)) -> Self {
        if let ParameterKind::Number(number) = &mut self.kind {
            number.then = then;
        }
        self
    }

    /// Returns the parameter with an additional check of new values.
    const fn checked(mut self, check: fn(&ServerShared, usize) -> Result<(), String>) -> Self {
        if let ParameterKind::Number(number) = &mut self.kind {
            number.check = check;
        }
        self
    }

    /// Returns the value for CONFIG GET.
    pub(super) fn value(&self, shared: &ServerShared) -> String {
        match &self.kind {
            ParameterKind::Fixed(value)
            | ParameterKind::Other { value, .. }
            | ParameterKind::Engine { value, .. } => value(shared),
            ParameterKind::Refused { value, .. } => (*value).to_owned(),
            ParameterKind::Kept { default, .. } => {
                kept::value(shared, self.name).unwrap_or_else(|| (*default).to_owned())
            }
            ParameterKind::Number(number) => (number.setting)(&shared.settings).get().to_string(),
            ParameterKind::TlsFile(_) => {
                let path = self.tls_path(shared);
                path.map(|path| path.to_string_lossy().into_owned()).unwrap_or_default()
            }
        }
    }

    /// Returns whether any server can change it.
    pub(super) fn changes(&self) -> bool {
        !matches!(self.kind, ParameterKind::Fixed(_) | ParameterKind::Refused { .. })
    }

    /// Returns whether its value is kept without effect.
    pub(super) fn is_kept(&self) -> bool {
        matches!(self.kind, ParameterKind::Kept { .. })
    }

    /// Returns the error for a new value of a parameter that this server cannot change.
    pub(super) fn refusal(&self) -> &'static str {
        if let ParameterKind::Refused { why, .. } = self.kind { why } else { IMMUTABLE }
    }

    /// Returns whether this server cannot change it.
    pub(super) fn is_fixed(&self, shared: &ServerShared) -> bool {
        match self.kind {
            ParameterKind::TlsFile(_) => shared.tls.is_none(),
            // Only the program that embeds the server can change its log level.
            _ => !self.changes() || (self.name == LOG_LEVEL && shared.options.log.is_none()),
        }
    }

    /// Returns the TLS file that this parameter names, if it names one.
    pub(super) fn tls_file(&self) -> Option<TlsFile> {
        if let ParameterKind::TlsFile(file) = self.kind { Some(file) } else { None }
    }

    /// Returns the path of that TLS file, if it has one.
    pub(super) fn tls_path(&self, shared: &ServerShared) -> Option<PathBuf> {
        let files = shared.tls.as_ref()?.files();
        (self.tls_file()?.path)(&files).map(Path::to_owned)
    }

    /// Returns a function that applies this value, or an error text that says what is wrong with
    /// it.
    pub(super) fn change(&self, shared: &ServerShared, text: &[u8]) -> Result<ApplyChange, String> {
        match &self.kind {
            // A fixed parameter has this value already. All TLS files change together (see `tls`).
            ParameterKind::Fixed(_) | ParameterKind::Refused { .. } | ParameterKind::TlsFile(_) => {
                Ok(Box::new(|_| {}))
            }
            ParameterKind::Kept { kind, .. } => kept::change(shared, self.name, *kind, text),
            ParameterKind::Other { change, .. } => change(text),
            ParameterKind::Engine { change, .. } => change(shared, text),
            ParameterKind::Number(NumberParameter { setting, unit, bounds, check, then }) => {
                let (setting, then) = (*setting, *then);
                let value = parse(text, *unit, *bounds)?;
                check(shared, value)?;
                Ok(Box::new(move |shared| {
                    setting(&shared.settings).set(value);
                    then(shared);
                }))
            }
        }
    }

    /// Returns whether the parameter accepts this value, without asking an engine.
    #[cfg(fuzzing)]
    pub(super) fn takes(&self, text: &[u8]) -> bool {
        match &self.kind {
            ParameterKind::Fixed(_)
            | ParameterKind::Refused { .. }
            | ParameterKind::Engine { .. }
            | ParameterKind::TlsFile(_) => false,
            ParameterKind::Kept { kind, .. } => kept::checked(*kind, text).is_ok(),
            ParameterKind::Other { change, .. } => change(text).is_ok(),
            ParameterKind::Number(NumberParameter { unit, bounds, .. }) => {
                parse(text, *unit, *bounds).is_ok()
            }
        }
    }
}

/// The error of Redis for a parameter that cannot change.
pub(super) const IMMUTABLE: &str = "can't set immutable config";

const LOG_LEVEL: &str = "loglevel";

/// Errors, in Redis's words, if the limit on open files does not allow this number of clients.
fn check_clients(shared: &ServerShared, clients: usize) -> Result<(), String> {
    let fitting = shared.files.make(clients);
    if fitting >= clients {
        return Ok(());
    }
    Err(format!(
        "The operating system is not able to handle the specified number of clients, try with {fitting}"
    ))
}

/// All parameters, sorted by name.
pub(super) static PARAMETERS: LazyLock<Vec<&'static ConfigParameter>> = LazyLock::new(|| {
    let mut all: Vec<_> = OWN.iter().chain(KEPT).chain(REFUSED).collect();
    all.sort_unstable_by_key(|parameter| parameter.name);
    all
});

/// The parameters that mean something here.
const OWN: &[ConfigParameter] = &[
    other("acl-pubsub-default", users::channels, users::change_channels),
    fixed("aclfile", |shared| {
        shared.acl.file.as_ref().map_or_else(String::new, |path| path.to_string_lossy().into_owned())
    }),
    number("acllog-max-len", |all| &all.acl_log_max, NumberUnit::Count, bounds::ACL_LOG)
        .then(|shared| shared.acl.log.shorten(shared.settings.acl_log_max.get())),
    engine("appendfsync", kept::append_fsync, kept::change_append_fsync),
    engine("appendonly", kept::append_only, kept::change_append_only),
    fixed("bind", |shared| shared.address.ip().to_string()),
    number("busy-reply-threshold", |all| &all.busy_reply_ms, NumberUnit::Count, (0, i64::MAX as usize)),
    other("client-output-buffer-limit", output_limit::value, output_limit::change),
    number(
        "client-query-buffer-limit",
        |all| &all.request_bytes_max,
        NumberUnit::Bytes,
        bounds::REQUEST_BYTES,
    ),
    fixed("cluster-enabled", |_| "no".to_owned()),
    fixed("daemonize", |_| "no".to_owned()),
    fixed("databases", |shared| shared.databases.count().to_string()),
    fixed("dir", |shared| {
        let folder = shared.options.data_folder.as_deref();
        folder.map(|path| path.to_string_lossy().into_owned()).unwrap_or_default()
    }),
    fixed("enable-debug-command", |shared| {
        if shared.options.debug_command { "yes" } else { "no" }.to_owned()
    }),
    // The encodings that OBJECT ENCODING names, also under the names of earlier Redis versions.
    encoding("hash-max-listpack-entries", |all| &all.encodings.hash_entries),
    encoding("hash-max-listpack-value", |all| &all.encodings.hash_value),
    encoding("hash-max-ziplist-entries", |all| &all.encodings.hash_entries),
    encoding("hash-max-ziplist-value", |all| &all.encodings.hash_value),
    fixed("io-threads", |shared| shared.mailboxes.len().to_string()),
    number(
        "latency-monitor-threshold",
        |all| &all.observing.event_ms,
        NumberUnit::Count,
        (0, i64::MAX as usize),
    ),
    other("latency-tracking", observing::tracking, observing::change_tracking),
    other("latency-tracking-info-percentiles", observing::percentiles, observing::change_percentiles),
    other(LOG_LEVEL, observing::log_level, observing::change_log_level),
    // Redis's earlier name of `busy-reply-threshold`.
    number("lua-time-limit", |all| &all.busy_reply_ms, NumberUnit::Count, (0, i64::MAX as usize)),
    number("max-arguments", |all| &all.args_max, NumberUnit::Count, bounds::ARGS),
    number("max-output", |all| &all.output_bytes_max, NumberUnit::Bytes, bounds::OUTPUT_BYTES),
    number("max-pipeline", |all| &all.pipeline_max, NumberUnit::Count, bounds::PIPELINE),
    number("max-reply", |all| &all.reply_bytes_max, NumberUnit::Bytes, bounds::REPLY_BYTES),
    fixed("max-scan-cursors", |shared| shared.options.scan_cursors_max.to_string()),
    number("maxclients", |all| &all.clients_max, NumberUnit::Count, bounds::CLIENTS).checked(check_clients),
    engine("maxmemory", memory::limit, memory::change_limit),
    other("maxmemory-clients", clients::limit, clients::change_limit),
    engine("maxmemory-policy", memory::policy, memory::change_policy),
    other("notify-keyspace-events", observing::events, observing::change_events),
    fixed("port", |shared| shared.address.port().to_string()),
    number("proto-max-bulk-len", |all| &all.arg_bytes_max, NumberUnit::Bytes, bounds::REQUEST_BYTES),
    // There are no replicas.
    fixed("replicaof", |_| String::new()),
    ConfigParameter {
        name: "requirepass",
        kind: ParameterKind::Other { value: users::password, change: users::change_password },
    },
    encoding("set-max-intset-entries", |all| &all.encodings.set_integers),
    fixed("slaveof", |_| String::new()),
    other("slowlog-log-slower-than", observing::slower_than, observing::change_slower_than),
    number("slowlog-max-len", |all| &all.observing.slowlog_len, NumberUnit::Count, bounds::SLOWLOG_LEN),
    fixed("tcp-backlog", |_| BACKLOG.to_string()),
    number("tcp-keepalive", |all| &all.keepalive_s, NumberUnit::Count, SECONDS),
    number("timeout", |all| &all.idle_timeout_s, NumberUnit::Count, SECONDS).then(ServerShared::wake_workers),
    fixed("tls-auth-clients", |shared| {
        match shared.options.tls.as_ref().map(|tls| tls.clients) {
            Some(TlsClients::No) => "no",
            Some(TlsClients::Optional) => "optional",
            Some(TlsClients::Required) | None => "yes",
        }
        .to_owned()
    }),
    tls_file(
        "tls-ca-cert-file",
        |tls| tls.ca.as_deref(),
        |tls, path| tls.ca = Some(path).filter(|path| !path.as_os_str().is_empty()),
    ),
    tls_file("tls-cert-file", |tls| Some(&tls.cert), |tls, path| tls.cert = path),
    number("tls-handshake-timeout", |all| &all.tls_handshake_s, NumberUnit::Count, SECONDS)
        .then(ServerShared::wake_workers),
    tls_file("tls-key-file", |tls| Some(&tls.key), |tls, path| tls.key = path),
    fixed("tls-port", |shared| shared.tls.as_ref().map_or(0, |port| port.address.port()).to_string()),
    number("tracking-table-max-keys", |all| &all.tracking_keys_max, NumberUnit::Count, bounds::TRACKING_KEYS)
        .then(|shared| shared.key_observer.tracking.keep_at_most(shared.settings.tracking_keys_max.get())),
    fixed("unixsocket", |shared| {
        let path = shared.options.unix_socket.as_ref().map(|socket| socket.path.to_string_lossy());
        path.unwrap_or_default().into_owned()
    }),
    fixed("unixsocketperm", |shared| {
        format!("{:o}", shared.options.unix_socket.as_ref().map_or(0, |socket| socket.mode))
    }),
    encoding("zset-max-listpack-entries", |all| &all.encodings.sorted_set_entries),
    encoding("zset-max-listpack-value", |all| &all.encodings.sorted_set_value),
    encoding("zset-max-ziplist-entries", |all| &all.encodings.sorted_set_entries),
    encoding("zset-max-ziplist-value", |all| &all.encodings.sorted_set_value),
];
