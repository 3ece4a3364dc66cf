//! Parameters of the latency histograms, the notifications and the log level.

use tracing::level_filters::LevelFilter;

use super::table::ApplyChange;
use crate::notice::key_events::EventClasses;
use crate::shared::ServerShared;

/// Maximum number of percentiles. More of them are of no use.
const PERCENTILES_MAX: usize = 32;

/// Returns `latency-tracking-info-percentiles`: the percentiles of INFO latencystats, separated by
/// spaces.
pub(crate) fn percentiles(shared: &ServerShared) -> String {
    let all = shared.settings.percentiles();
    all.iter().map(f64::to_string).collect::<Vec<_>>().join(" ")
}

pub(crate) fn change_percentiles(text: &[u8]) -> Result<ApplyChange, String> {
    let name = "latency-tracking-info-percentiles";
    let text = std::str::from_utf8(text).map_err(|_| format!("Invalid {name} parameters"))?;
    let numbers: Result<Vec<f64>, _> = text.split_whitespace().map(str::parse).collect();
    let numbers = numbers.map_err(|_| format!("Invalid {name} parameters"))?;
    if !numbers.iter().all(|percent| (0.0..=100.0).contains(percent)) {
        return Err(format!("{name} parameters should sit between [0.0,100.0]"));
    }
    if numbers.len() > PERCENTILES_MAX {
        return Err(format!(
            "{} percentiles exceed the limit of {PERCENTILES_MAX}; name fewer",
            numbers.len()
        ));
    }
    Ok(Box::new(move |shared| shared.settings.set_percentiles(numbers)))
}

/// Returns `notify-keyspace-events`: the classes of keyspace notifications.
pub(crate) fn events(shared: &ServerShared) -> String {
    shared.notices.key_observer.classes().to_string()
}

pub(crate) fn change_events(text: &[u8]) -> Result<ApplyChange, String> {
    let classes = EventClasses::parse(text).ok_or("Invalid event class character. Use 'Ag$lshzxeKEtmdn'.")?;
    Ok(Box::new(move |shared| shared.notices.key_observer.set_classes(classes)))
}

/// Redis's names of the log levels, the matching levels here, and the names of these.
const LEVELS: [(&str, LevelFilter, &str); 4] = [
    ("debug", LevelFilter::TRACE, "trace"),
    ("verbose", LevelFilter::DEBUG, "debug"),
    ("notice", LevelFilter::INFO, "info"),
    ("warning", LevelFilter::WARN, "warn"),
];

/// Returns `loglevel`: the name of the current level, even if it was set in another way; `warning`
/// for levels below it.
pub(crate) fn log_level(_: &ServerShared) -> String {
    let now = LevelFilter::current();
    let found = LEVELS.iter().find(|(_, level, _)| *level <= now);
    found.map_or("warning", |(name, ..)| *name).to_owned()
}

/// Returns the value of the option `log-level` for Redis's name of a level.
pub(crate) fn option_of_log_level(name: &str) -> &'static str {
    LEVELS.into_iter().find(|(known, ..)| *known == name).map_or("warn", |(.., option)| option)
}

pub(crate) fn change_log_level(text: &[u8]) -> Result<ApplyChange, String> {
    let found = LEVELS.into_iter().find(|(name, ..)| text.eq_ignore_ascii_case(name.as_bytes()));
    let Some((_, level, _)) = found else {
        let names = LEVELS.map(|(name, ..)| name).join(", ");
        return Err(format!("argument(s) must be one of the following: {names}"));
    };
    Ok(Box::new(move |shared| {
        if let Some(log) = &shared.options.log {
            log.set_level(level);
        }
    }))
}
