//! `client-output-buffer-limit`: for each class of clients a hard limit, a soft limit, and the
//! seconds for which the soft limit may be exceeded. The classes are `normal`, `replica` (also
//! `slave`) and `pubsub`. The limits of replicas are kept for CONFIG GET: this server has no
//! replicas.

use super::table::ApplyChange;
use super::values::bytes;
use crate::config::SECONDS_MAX;
use crate::config::settings::{LiveSettings, OutputSettings};
use crate::shared::ServerShared;

/// The name of a class and its three numbers.
const WORDS: usize = 4;

/// A class of clients.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ClientClass {
    Normal,
    Replica,
    /// With subscriptions.
    Pubsub,
}

/// The classes in the order of CONFIG GET, with the names that it shows.
const CLASSES: [(&str, ClientClass); 3] =
    [("normal", ClientClass::Normal), ("slave", ClientClass::Replica), ("pubsub", ClientClass::Pubsub)];

impl ClientClass {
    fn parse(name: &[u8]) -> Option<Self> {
        if name.eq_ignore_ascii_case(b"replica") {
            return Some(Self::Replica);
        }
        let named = |(known, _): &&(&str, Self)| name.eq_ignore_ascii_case(known.as_bytes());
        CLASSES.iter().find(named).map(|(_, class)| *class)
    }

    fn of(self, settings: &LiveSettings) -> &OutputSettings {
        match self {
            Self::Normal => &settings.output_limit,
            Self::Replica => &settings.replica_limit,
            Self::Pubsub => &settings.subscriber_limit,
        }
    }
}

/// Returns the value for CONFIG GET.
pub(crate) fn value(shared: &ServerShared) -> String {
    let shown = CLASSES.map(|(name, class)| {
        let limits = class.of(&shared.settings);
        format!("{name} {} {} {}", limits.hard.get(), limits.soft.get(), limits.soft_time.seconds())
    });
    shown.join(" ")
}

/// Parses the limits. If a class is given several times, the last one counts; a class that is not
/// given keeps its limits.
pub(crate) fn change(text: &[u8]) -> Result<ApplyChange, String> {
    let words: Vec<&[u8]> =
        if text.is_empty() { Vec::new() } else { text.split(|byte| *byte == b' ').collect() };
    if !words.len().is_multiple_of(WORDS) {
        return Err("Wrong number of arguments in buffer limit configuration.".to_owned());
    }
    let mut limits = Vec::new();
    for words in words.chunks_exact(WORDS) {
        let Some(class) = ClientClass::parse(words[0]) else {
            return Err("Invalid client class specified in buffer limit configuration.".to_owned());
        };
        let plain = words[3].iter().all(u8::is_ascii_digit);
        let seconds = bytes(words[3]).filter(|seconds| plain && *seconds as u64 <= SECONDS_MAX);
        let (Some(hard), Some(soft), Some(seconds)) = (bytes(words[1]), bytes(words[2]), seconds) else {
            return Err(
                "Error in hard, soft or soft_seconds setting in buffer limit configuration.".to_owned()
            );
        };
        limits.push((class, hard, soft, seconds));
    }
    Ok(Box::new(move |shared| {
        for (class, hard, soft, seconds) in limits {
            if class == ClientClass::Replica {
                tracing::warn!("CONFIG SET keeps the output limits of replicas; they have no effect here");
            }
            let settings = class.of(&shared.settings);
            settings.hard.set(hard);
            settings.soft.set(soft);
            settings.soft_time.set_micros(seconds as u64 * 1_000_000);
        }
        shared.workers.wake();
    }))
}
