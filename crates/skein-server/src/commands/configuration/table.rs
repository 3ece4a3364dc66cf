//! The actions of CONFIG on the row of a parameter: shows its value, checks a new one, applies it.

use std::path::{Path, PathBuf};

use super::values::{NumberUnit, parse, parse_signed};
use super::{kept, yes_or_no};
use crate::Tls;
use crate::config::settings::{LiveSettings, LiveTime};
use crate::config::{ConfigKind, Parameter, TimeUnit, ValueKind};
use crate::shared::ServerShared;

/// One of the TLS files.
#[derive(Clone, Copy)]
pub(crate) struct TlsFile {
    pub path: fn(&Tls) -> Option<&Path>,
    /// Sets the path.
    pub put: fn(&mut Tls, PathBuf),
}

/// Applies a new value.
pub(crate) type ApplyChange = Box<dyn FnOnce(&ServerShared)>;

/// The error of Redis for a parameter that cannot change.
pub(crate) const IMMUTABLE: &str = "can't set immutable config";

/// Returns the value of a parameter for CONFIG GET. `name` is one of its names.
pub(super) fn value(row: &Parameter, name: &str, shared: &ServerShared) -> String {
    match &row.config {
        ConfigKind::Unknown | ConfigKind::Part { .. } => String::new(),
        ConfigKind::Fixed(value) | ConfigKind::Other { value, .. } | ConfigKind::Engine { value, .. } => {
            value(shared)
        }
        ConfigKind::Refused { value, .. } => (*value).to_owned(),
        ConfigKind::Kept { default, .. } => {
            kept::value(shared, name).unwrap_or_else(|| (*default).to_owned())
        }
        ConfigKind::Number(setting) => setting(&shared.settings).get().to_string(),
        ConfigKind::Time(setting, unit) => match setting(&shared.settings).micros() {
            u64::MAX if matches!(row.kind, ValueKind::TimeOrNever) => "-1".to_owned(),
            u64::MAX => i64::MAX.to_string(),
            micros => (micros / unit.facts().0).to_string(),
        },
        ConfigKind::Switch(setting) => yes_or_no(setting(&shared.settings).get()).to_owned(),
        ConfigKind::TlsFile(_) => {
            tls_path(row, shared).map(|path| path.to_string_lossy().into_owned()).unwrap_or_default()
        }
    }
}

/// Returns whether any server can change it.
pub(super) fn changes(row: &Parameter) -> bool {
    !matches!(row.config, ConfigKind::Fixed(_) | ConfigKind::Refused { .. })
}

/// Returns the error for a new value of a parameter that this server cannot change.
pub(super) fn refusal(row: &Parameter) -> &'static str {
    if let ConfigKind::Refused { why, .. } = row.config { why } else { IMMUTABLE }
}

/// Returns whether this server cannot change it.
pub(super) fn is_fixed(row: &Parameter, shared: &ServerShared) -> bool {
    match row.config {
        ConfigKind::TlsFile(_) => shared.identity.tls.is_none(),
        // Only the program that embeds the server can change its log level.
        ConfigKind::Other { .. } if row.is_global => shared.options.log.is_none(),
        _ => !changes(row),
    }
}

/// Returns the TLS file that this parameter names, if it names one.
pub(super) fn tls_file(row: &Parameter) -> Option<TlsFile> {
    if let ConfigKind::TlsFile(file) = row.config { Some(file) } else { None }
}

/// Returns the path of that TLS file, if it has one.
pub(super) fn tls_path(row: &Parameter, shared: &ServerShared) -> Option<PathBuf> {
    let files = shared.identity.tls.as_ref()?.files();
    (tls_file(row)?.path)(&files).map(Path::to_owned)
}

/// Returns a function that applies this value, or an error text if the value is wrong.
pub(super) fn change(
    row: &Parameter,
    name: &'static str,
    shared: &ServerShared,
    text: &[u8],
) -> Result<ApplyChange, String> {
    match row.config {
        ConfigKind::Kept { kind, .. } => kept::change(shared, name, kind, text),
        ConfigKind::Engine { change, .. } => change(shared, text),
        ConfigKind::Number(_) => {
            (row.check)(shared, number(row, text)? as u64)?;
            changed(row, text)
        }
        _ => changed(row, text),
    }
}

/// Does the same as [`change`], for parameters with a check that needs no server.
fn changed(row: &Parameter, text: &[u8]) -> Result<ApplyChange, String> {
    let then = row.then;
    match row.config {
        ConfigKind::Other { change, .. } => change(text),
        ConfigKind::Number(setting) => {
            let value = number(row, text)?;
            Ok(applied(then, move |settings| setting(settings).set(value)))
        }
        ConfigKind::Time(setting, unit) => {
            let micros = micros(row, unit, text)?;
            Ok(applied(then, move |settings| setting(settings).set_micros(micros)))
        }
        ConfigKind::Switch(setting) => {
            let on = parse_yes_or_no(text)?;
            Ok(applied(then, move |settings| setting(settings).set(on)))
        }
        // A fixed parameter has this value already. All TLS files change together (see `tls`).
        _ => Ok(Box::new(|_| {})),
    }
}

fn applied(then: fn(&ServerShared), set: impl FnOnce(&LiveSettings) + 'static) -> ApplyChange {
    Box::new(move |shared| {
        set(&shared.settings);
        then(shared);
    })
}

fn number(row: &Parameter, text: &[u8]) -> Result<usize, String> {
    let unit = if matches!(row.kind, ValueKind::Size) { NumberUnit::Bytes } else { NumberUnit::Count };
    let (min, max) = row.bounds.unwrap_or((0, u64::MAX));
    parse(text, unit, (min as usize, usize::try_from(max).unwrap_or(usize::MAX)))
}

/// Parses a time in its unit. If the option takes `never`, -1 means it. A time beyond the longest one
/// is for ever.
fn micros(row: &Parameter, unit: TimeUnit, text: &[u8]) -> Result<u64, String> {
    let of_unit = unit.facts().0;
    let of_seconds = |(min, max): (u64, u64)| (min * 1_000_000 / of_unit, max * 1_000_000 / of_unit);
    let (min, max) = row.bounds.map_or((0, i64::MAX as u64), of_seconds);
    let min = if matches!(row.kind, ValueKind::TimeOrNever) { -1 } else { min.cast_signed() };
    let value = parse_signed(text, (min, max.cast_signed()))?;
    let fits = |micros: &u64| *micros <= LiveTime::MICROS_MAX;
    let micros = u64::try_from(value).ok().and_then(|value| value.checked_mul(of_unit)).filter(fits);
    Ok(micros.unwrap_or(u64::MAX))
}

fn parse_yes_or_no(text: &[u8]) -> Result<bool, String> {
    match text.to_ascii_lowercase().as_slice() {
        b"yes" => Ok(true),
        b"no" => Ok(false),
        _ => Err("argument must be 'yes' or 'no'".to_owned()),
    }
}

/// Returns whether the parameter accepts this value, without asking an engine.
#[cfg(fuzzing)]
pub(super) fn takes(row: &Parameter, text: &[u8]) -> bool {
    match &row.config {
        ConfigKind::Fixed(_)
        | ConfigKind::Refused { .. }
        | ConfigKind::Engine { .. }
        | ConfigKind::TlsFile(_) => false,
        ConfigKind::Kept { kind, .. } => kept::checked(*kind, text).is_ok(),
        _ => changed(row, text).is_ok(),
    }
}
