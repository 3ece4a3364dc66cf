//! Parameters of the slow log, the latency histograms and the log level.

use skein_syntax::number::parse_i64;
use tracing::level_filters::LevelFilter;

use super::table::ApplyChange;
use crate::key_events::EventClasses;
use crate::shared::ServerShared;

/// `slowlog-log-slower-than`: microseconds, -1 for never.
pub(super) fn slower_than(shared: &ServerShared) -> String {
    shared.settings.observing.slower_than().to_string()
}

pub(super) fn change_slower_than(text: &[u8]) -> Result<ApplyChange, String> {
    let micros = parse_i64(text).ok_or("argument couldn't be parsed into an integer")?;
    if micros < -1 {
        return Err(format!("argument must be between -1 and {} inclusive", i64::MAX));
    }
    Ok(Box::new(move |shared| shared.settings.observing.set_slower_than(micros)))
}

/// `latency-tracking`: whether the server keeps histograms.
pub(super) fn tracking(shared: &ServerShared) -> String {
    if shared.settings.observing.tracking() { "yes" } else { "no" }.to_owned()
}

pub(super) fn change_tracking(text: &[u8]) -> Result<ApplyChange, String> {
    let on = match text.to_ascii_lowercase().as_slice() {
        b"yes" => true,
        b"no" => false,
        _ => return Err("argument must be 'yes' or 'no'".to_owned()),
    };
    Ok(Box::new(move |shared| shared.settings.observing.set_tracking(on)))
}

/// Maximum number of percentiles. More of them help nobody.
const PERCENTILES_MAX: usize = 32;

/// `latency-tracking-info-percentiles`: the percentiles of INFO latencystats, separated by spaces.
pub(super) fn percentiles(shared: &ServerShared) -> String {
    let all = shared.settings.observing.percentiles();
    all.iter().map(f64::to_string).collect::<Vec<_>>().join(" ")
}

pub(super) fn change_percentiles(text: &[u8]) -> Result<ApplyChange, String> {
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
    Ok(Box::new(move |shared| shared.settings.observing.set_percentiles(numbers)))
}

/// `notify-keyspace-events`: the classes of keyspace notifications.
pub(super) fn events(shared: &ServerShared) -> String {
    shared.key_observer.classes().to_string()
}

pub(super) fn change_events(text: &[u8]) -> Result<ApplyChange, String> {
    let classes = EventClasses::parse(text).ok_or("Invalid event class character. Use 'Ag$lshzxeKEtmdn'.")?;
    Ok(Box::new(move |shared| shared.key_observer.set_classes(classes)))
}

/// Redis's names of the log levels, and the matching levels here.
const LEVELS: [(&str, LevelFilter); 4] = [
    ("debug", LevelFilter::TRACE),
    ("verbose", LevelFilter::DEBUG),
    ("notice", LevelFilter::INFO),
    ("warning", LevelFilter::WARN),
];

/// `loglevel`: the name of the current level, even if it was set in another way; `warning` for
/// levels below it.
pub(super) fn log_level(_: &ServerShared) -> String {
    let now = LevelFilter::current();
    let found = LEVELS.iter().find(|(_, level)| *level <= now);
    found.map_or("warning", |(name, _)| *name).to_owned()
}

pub(super) fn change_log_level(text: &[u8]) -> Result<ApplyChange, String> {
    let found = LEVELS.into_iter().find(|(name, _)| text.eq_ignore_ascii_case(name.as_bytes()));
    let Some((_, level)) = found else {
        let names = LEVELS.map(|(name, _)| name).join(", ");
        return Err(format!("argument(s) must be one of the following: {names}"));
    };
    Ok(Box::new(move |shared| {
        if let Some(log) = &shared.options.log {
            log.set_level(level);
        }
    }))
}
