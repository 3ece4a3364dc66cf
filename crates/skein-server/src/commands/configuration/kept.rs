//! Parameters of Redis that mean nothing here: CONFIG SET checks a value as Redis does and keeps it
//! for CONFIG GET. So tools that tune a Redis run unchanged.
//!
//! Parameters with two names (`slave-priority`, `replica-priority`) share one value.

use super::table::ApplyChange;
use super::values::{NumberUnit, parse, parse_signed};
use crate::shared::ServerShared;
use skein_data::Durability;
use skein_sync::locks::lock;

/// The values that a parameter takes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum KeptKind {
    /// `yes` or `no`.
    Switch,
    /// A number between bounds, both included.
    Number(i64, i64),
    /// Any number from 0 on, which becomes one between these bounds.
    Clamped(i64, i64),
    /// Bytes, at least so many.
    Bytes(usize),
    /// One of these words.
    Word(&'static [&'static str]),
    /// Words of SHUTDOWN.
    Stop,
    /// The name of a host.
    Hostname,
    /// Pairs of seconds and changes.
    Save,
    Text,
}

const STOP_WORDS: &[&str] = &["default", "save", "nosave", "now", "force"];

/// Returns the name under which the values of both names of a parameter are kept.
fn shared_name(name: &str) -> String {
    name.replace("slave", "replica").replace("ziplist", "listpack")
}

/// Returns the kept value, if one was set.
pub(crate) fn value(shared: &ServerShared, name: &str) -> Option<String> {
    lock(&shared.settings.kept).get(&shared_name(name)).cloned()
}

/// Checks a value and returns the change that keeps it.
pub(crate) fn change(
    shared: &ServerShared,
    name: &'static str,
    kind: KeptKind,
    text: &[u8],
) -> Result<ApplyChange, String> {
    let kept = checked(kind, text)?;
    if matches!(kind, KeptKind::Save) && !kept.is_empty() && shared.data.durability == Durability::None {
        return Err("without a log, checkpoints start when memory has changed enough, not by time; \
                    restart with the durability buffered or sync"
            .to_owned());
    }
    Ok(Box::new(move |shared| {
        tracing::warn!(parameter = name, value = kept, "CONFIG SET keeps this value; it has no effect here");
        lock(&shared.settings.kept).insert(shared_name(name), kept);
    }))
}

/// Returns the value as CONFIG GET shows it, or Redis's error text.
pub(crate) fn checked(kind: KeptKind, text: &[u8]) -> Result<String, String> {
    let word = || String::from_utf8_lossy(text).into_owned();
    match kind {
        KeptKind::Switch => one_of(&["yes", "no"], text).ok_or("argument must be 'yes' or 'no'".to_owned()),
        KeptKind::Number(min, max) => parse_signed(text, (min, max)).map(|value| value.to_string()),
        KeptKind::Clamped(min, max) => {
            parse_signed(text, (0, i32::MAX.into())).map(|value| value.clamp(min, max).to_string())
        }
        KeptKind::Bytes(min) => {
            parse(text, NumberUnit::Bytes, (min, i64::MAX as usize)).map(|value| value.to_string())
        }
        KeptKind::Word(words) => one_of(words, text).ok_or_else(|| not_one_of(words)),
        KeptKind::Stop => stop_words(text),
        KeptKind::Hostname => {
            let fits = text.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-.".contains(byte));
            let fault = "Hostnames may only contain alphanumeric characters, hyphens or dots";
            if fits { Ok(word()) } else { Err(fault.to_owned()) }
        }
        KeptKind::Save => save_points(text).ok_or("Invalid save parameters".to_owned()),
        KeptKind::Text => Ok(word()),
    }
}

fn one_of(words: &[&str], text: &[u8]) -> Option<String> {
    words.iter().find(|word| text.eq_ignore_ascii_case(word.as_bytes())).map(|word| (*word).to_owned())
}

fn not_one_of(words: &[&str]) -> String {
    format!("argument(s) must be one of the following: {}", words.join(", "))
}

/// Returns words of SHUTDOWN in Redis's order.
fn stop_words(text: &[u8]) -> Result<String, String> {
    let mut found = [false; STOP_WORDS.len()];
    for word in text.split(|byte| *byte == b' ') {
        let at = STOP_WORDS.iter().position(|known| word.eq_ignore_ascii_case(known.as_bytes()));
        found[at.ok_or_else(|| not_one_of(STOP_WORDS))?] = true;
    }
    if found[1] && found[2] {
        return Err("shutdown options SAVE and NOSAVE can't be used simultaneously".to_owned());
    }
    let others = STOP_WORDS.iter().zip(found).skip(1).filter(|(_, found)| *found).map(|(word, _)| *word);
    let others: Vec<&str> = others.collect();
    Ok(if others.is_empty() { STOP_WORDS[0].to_owned() } else { others.join(" ") })
}

/// Returns pairs of seconds and changes as they were given, if they are well formed.
fn save_points(text: &[u8]) -> Option<String> {
    let words: Vec<&[u8]> =
        if text.is_empty() { Vec::new() } else { text.split(|byte| *byte == b' ').collect() };
    let plain = |word: &[u8], min| parse_signed(word, (min, i32::MAX.into())).ok();
    let well_formed = words.len().is_multiple_of(2)
        && words.chunks_exact(2).all(|pair| plain(pair[0], 1).is_some() && plain(pair[1], 0).is_some());
    well_formed.then(|| String::from_utf8_lossy(text).into_owned())
}

/// Returns a number that grows with the promise about writes.
fn strength(durability: Durability) -> u8 {
    match durability {
        Durability::None => 0,
        Durability::Buffered => 1,
        Durability::Sync => 2,
    }
}

/// Returns the value of `appendfsync` for the durability of the server.
pub(crate) fn append_fsync(shared: &ServerShared) -> String {
    ["no", "everysec", "always"][usize::from(strength(shared.data.durability))].to_owned()
}

pub(crate) fn append_only(shared: &ServerShared) -> String {
    if shared.data.durability == Durability::None { "no" } else { "yes" }.to_owned()
}

pub(crate) fn change_append_only(shared: &ServerShared, text: &[u8]) -> Result<ApplyChange, String> {
    let wanted = checked(KeptKind::Switch, text)?;
    weaker(shared, "appendonly", u8::from(wanted == "yes"))
}

pub(crate) fn change_append_fsync(shared: &ServerShared, text: &[u8]) -> Result<ApplyChange, String> {
    let words = ["everysec", "always", "no"];
    let wanted = one_of(&words, text).ok_or_else(|| not_one_of(&words))?;
    let strength = match &*wanted {
        "always" => 2,
        "everysec" => 1,
        _ => 0,
    };
    weaker(shared, "appendfsync", strength)
}

/// Accepts a promise that the server keeps anyway. The durability stays, and CONFIG GET shows it.
/// Errors if the promise is stronger: the server would break it.
fn weaker(shared: &ServerShared, name: &'static str, wanted: u8) -> Result<ApplyChange, String> {
    let has = strength(shared.data.durability);
    if wanted > has {
        let levels = ["none", "buffered", "sync"];
        return Err(format!(
            "the durability of this server is {} and does not change while it runs; restart it with \
             --durability {}",
            levels[usize::from(has)],
            levels[usize::from(wanted)]
        ));
    }
    Ok(Box::new(move |_| {
        if wanted < has {
            tracing::warn!(parameter = name, "CONFIG SET has no effect: the server keeps a stronger promise");
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_those_of_redis() {
        let shown = |kind, text: &str| checked(kind, text.as_bytes());
        for (kind, text, value) in [
            (KeptKind::Switch, "YES", Some("yes")),
            (KeptKind::Switch, "1", None),
            (KeptKind::Number(-2, 5), "-2", Some("-2")),
            (KeptKind::Number(-2, 5), "6", None),
            (KeptKind::Clamped(1, 500), "1000", Some("500")),
            (KeptKind::Clamped(1, 500), "-1", None),
            (KeptKind::Bytes(1), "1kb", Some("1024")),
            (KeptKind::Bytes(1), "0", None),
            (KeptKind::Word(&["ip", "hostname"]), "IP", Some("ip")),
            (KeptKind::Stop, "now Save", Some("save now")),
            (KeptKind::Stop, "default", Some("default")),
            (KeptKind::Stop, "save nosave", None),
            (KeptKind::Hostname, "a-b.c", Some("a-b.c")),
            (KeptKind::Hostname, "a b", None),
            (KeptKind::Save, "", Some("")),
            (KeptKind::Save, "900 1 300 10", Some("900 1 300 10")),
            (KeptKind::Save, "900 1 300", None),
            (KeptKind::Save, "0 1", None),
            (KeptKind::Save, "1 -1", None),
        ] {
            assert_eq!(shown(kind, text).ok().as_deref(), value, "{kind:?} {text}");
        }
        assert_eq!(shared_name("slave-priority"), shared_name("replica-priority"));
        assert_eq!(shared_name("list-max-ziplist-size"), "list-max-listpack-size");
    }
}
