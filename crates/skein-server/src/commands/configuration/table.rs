//! The parameters: each has Redis's name, if Redis has one for it, or else that of the option of `skein serve`.
//!
//! A new one is a row here. What can change stands in `settings`; its bounds are those of the option, in `config`.

use std::path::{Path, PathBuf};

use super::values::{NumberUnit, parse};
use super::{memory, observing, output_limit};
use crate::acl::PasswordHash;
use crate::config::{SECONDS, bounds};
use crate::engine::Durability;
use crate::settings::{LiveSetting, LiveSettings};
use crate::shared::ServerShared;
use crate::{Tls, TlsClients};

/// Something that a server can be configured in.
pub(super) struct ConfigParameter {
    pub name: &'static str,
    kind: ParameterKind,
}

enum ParameterKind {
    /// Cannot change while the server runs.
    Fixed(fn(&ServerShared) -> String),
    /// A number that can.
    Number(NumberParameter),
    /// Anything else that can.
    Other { value: fn(&ServerShared) -> String, change: fn(&[u8]) -> Result<ApplyChange, String> },
    /// A file of TLS, which can change if there is a port for it.
    TlsFile(TlsFile),
    /// What the engine has to know, and not every engine can do.
    Engine {
        value: fn(&ServerShared) -> String,
        change: fn(&ServerShared, &[u8]) -> Result<ApplyChange, String>,
    },
}

struct NumberParameter {
    setting: fn(&LiveSettings) -> &LiveSetting,
    unit: NumberUnit,
    bounds: (usize, usize),
    /// What else there is to say against a value.
    check: fn(&ServerShared, usize) -> Result<(), String>,
    /// What else is to be done when it has changed.
    then: fn(&ServerShared),
}

/// A file among those of TLS.
#[derive(Clone, Copy)]
pub(super) struct TlsFile {
    path: fn(&Tls) -> Option<&Path>,
    /// Names another one.
    pub put: fn(&mut Tls, PathBuf),
}

/// Puts a new value in force.
pub(super) type ApplyChange = Box<dyn FnOnce(&ServerShared)>;

const fn fixed(name: &'static str, value: fn(&ServerShared) -> String) -> ConfigParameter {
    ConfigParameter { name, kind: ParameterKind::Fixed(value) }
}

const fn other(
    name: &'static str,
    value: fn(&ServerShared) -> String,
    change: fn(&[u8]) -> Result<ApplyChange, String>,
) -> ConfigParameter {
    ConfigParameter { name, kind: ParameterKind::Other { value, change } }
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

const fn tls_file(
    name: &'static str,
    path: fn(&Tls) -> Option<&Path>,
    put: fn(&mut Tls, PathBuf),
) -> ConfigParameter {
    ConfigParameter { name, kind: ParameterKind::TlsFile(TlsFile { path, put }) }
}

impl ConfigParameter {
    /// The same parameter, with more to be done when it has changed.
    const fn then(mut self, then: fn(&ServerShared)) -> Self {
        if let ParameterKind::Number(number) = &mut self.kind {
            number.then = then;
        }
        self
    }

    /// The same parameter, whose values are also looked at by this.
    const fn checked(mut self, check: fn(&ServerShared, usize) -> Result<(), String>) -> Self {
        if let ParameterKind::Number(number) = &mut self.kind {
            number.check = check;
        }
        self
    }

    /// Its value, as CONFIG GET tells it.
    pub(super) fn value(&self, shared: &ServerShared) -> String {
        match &self.kind {
            ParameterKind::Fixed(value)
            | ParameterKind::Other { value, .. }
            | ParameterKind::Engine { value, .. } => value(shared),
            ParameterKind::Number(number) => (number.setting)(&shared.settings).get().to_string(),
            ParameterKind::TlsFile(_) => {
                let path = self.tls_path(shared);
                path.map(|path| path.to_string_lossy().into_owned()).unwrap_or_default()
            }
        }
    }

    /// Whether there are servers in which it can change.
    pub(super) fn changes(&self) -> bool {
        !matches!(self.kind, ParameterKind::Fixed(_))
    }

    /// Whether it stays what it was when the server started.
    pub(super) fn is_fixed(&self, shared: &ServerShared) -> bool {
        match self.kind {
            ParameterKind::TlsFile(_) => shared.tls.is_none(),
            // Only the program that has the server can change how much it logs.
            _ => !self.changes() || (self.name == LOG_LEVEL && shared.options.log.is_none()),
        }
    }

    /// The file of TLS that it names, if it does.
    pub(super) fn tls_file(&self) -> Option<TlsFile> {
        if let ParameterKind::TlsFile(file) = self.kind { Some(file) } else { None }
    }

    /// The path of that file, if it has one.
    pub(super) fn tls_path(&self, shared: &ServerShared) -> Option<PathBuf> {
        let files = shared.tls.as_ref()?.files();
        (self.tls_file()?.path)(&files).map(Path::to_owned)
    }

    /// What puts this value in force; `Err` says what is wrong with it.
    pub(super) fn change(&self, shared: &ServerShared, text: &[u8]) -> Result<ApplyChange, String> {
        match &self.kind {
            // It has this value already; or all files of TLS are changed together (see `tls`).
            ParameterKind::Fixed(_) | ParameterKind::TlsFile(_) => Ok(Box::new(|_| {})),
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

    /// Whether it would take this value; what an engine says to it is left out.
    #[cfg(fuzzing)]
    pub(super) fn takes(&self, text: &[u8]) -> bool {
        match &self.kind {
            ParameterKind::Fixed(_) | ParameterKind::Engine { .. } | ParameterKind::TlsFile(_) => false,
            ParameterKind::Other { change, .. } => change(text).is_ok(),
            ParameterKind::Number(NumberParameter { unit, bounds, .. }) => {
                parse(text, *unit, *bounds).is_ok()
            }
        }
    }
}

const LOG_LEVEL: &str = "loglevel";

/// What is known of the default user's password: nothing but its hash, as a rule of ACL SETUSER.
fn default_password(shared: &ServerShared) -> String {
    shared.acl.users.default_user().hashes().first().map_or_else(String::new, |hash| format!("#{hash}"))
}

/// An empty one is none at all, as in Redis.
fn change_default_password(text: &[u8]) -> Result<ApplyChange, String> {
    // What CONFIG GET tells can be set again.
    let hash = text.strip_prefix(b"#").and_then(PasswordHash::parse);
    let hash = hash.or_else(|| (!text.is_empty()).then(|| PasswordHash::of(text)));
    Ok(Box::new(move |shared| {
        if hash.is_none()
            && let Some(listen) = shared.options.first_public_address()
        {
            tracing::warn!(%listen, "the default user has no password any more; clients of other machines are turned away");
        }
        shared.acl.users.set_default_password(hash);
    }))
}

/// As many clients as the limit on open files has room for; in Redis's words.
fn check_clients(shared: &ServerShared, clients: usize) -> Result<(), String> {
    let fitting = shared.files.make(clients);
    if fitting >= clients {
        return Ok(());
    }
    Err(format!(
        "The operating system is not able to handle the specified number of clients, try with {fitting}"
    ))
}

/// By name.
pub(super) const PARAMETERS: &[ConfigParameter] = &[
    fixed("aclfile", |shared| {
        shared.acl.file.as_ref().map_or_else(String::new, |path| path.to_string_lossy().into_owned())
    }),
    number("acllog-max-len", |all| &all.acl_log_max, NumberUnit::Count, bounds::ACL_LOG)
        .then(|shared| shared.acl.log.shorten(shared.settings.acl_log_max.get())),
    fixed("appendfsync", |shared| {
        match shared.durability {
            Durability::None => "no",
            Durability::Buffered => "everysec",
            Durability::Sync => "always",
        }
        .to_owned()
    }),
    fixed("appendonly", |shared| if shared.durability == Durability::None { "no" } else { "yes" }.to_owned()),
    fixed("bind", |shared| shared.address.ip().to_string()),
    other("client-output-buffer-limit", output_limit::value, output_limit::change),
    number(
        "client-query-buffer-limit",
        |all| &all.request_bytes_max,
        NumberUnit::Bytes,
        bounds::REQUEST_BYTES,
    ),
    fixed("databases", |_| "1".to_owned()),
    fixed("enable-debug-command", |shared| {
        if shared.options.debug_command { "yes" } else { "no" }.to_owned()
    }),
    number(
        "latency-monitor-threshold",
        |all| &all.observing.event_ms,
        NumberUnit::Count,
        (0, i64::MAX as usize),
    ),
    other("latency-tracking", observing::tracking, observing::change_tracking),
    other("latency-tracking-info-percentiles", observing::percentiles, observing::change_percentiles),
    other(LOG_LEVEL, observing::log_level, observing::change_log_level),
    number("max-arguments", |all| &all.args_max, NumberUnit::Count, bounds::ARGS),
    number("max-output", |all| &all.output_bytes_max, NumberUnit::Bytes, bounds::OUTPUT_BYTES),
    number("max-pipeline", |all| &all.pipeline_max, NumberUnit::Count, bounds::PIPELINE),
    number("max-reply", |all| &all.reply_bytes_max, NumberUnit::Bytes, bounds::REPLY_BYTES),
    fixed("max-scan-cursors", |shared| shared.options.scan_cursors_max.to_string()),
    number("maxclients", |all| &all.clients_max, NumberUnit::Count, bounds::CLIENTS).checked(check_clients),
    ConfigParameter {
        name: "maxmemory",
        kind: ParameterKind::Engine { value: memory::limit, change: memory::change_limit },
    },
    ConfigParameter {
        name: "maxmemory-policy",
        kind: ParameterKind::Engine { value: memory::policy, change: memory::change_policy },
    },
    fixed("port", |shared| shared.address.port().to_string()),
    number("proto-max-bulk-len", |all| &all.arg_bytes_max, NumberUnit::Bytes, bounds::REQUEST_BYTES),
    ConfigParameter {
        name: "requirepass",
        kind: ParameterKind::Other { value: default_password, change: change_default_password },
    },
    // Checkpoints are written when the log has grown, not by time and number of writes.
    fixed("save", |_| String::new()),
    other("slowlog-log-slower-than", observing::slower_than, observing::change_slower_than),
    number("slowlog-max-len", |all| &all.observing.slowlog_len, NumberUnit::Count, bounds::SLOWLOG_LEN),
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
    fixed("unixsocket", |shared| {
        let path = shared.options.unix_socket.as_ref().map(|socket| socket.path.to_string_lossy());
        path.unwrap_or_default().into_owned()
    }),
    fixed("unixsocketperm", |shared| {
        format!("{:o}", shared.options.unix_socket.as_ref().map_or(0, |socket| socket.mode))
    }),
];
