//! `client-output-buffer-limit`: for each class of clients a hard limit, a soft limit, and the
//! seconds for which the soft limit may be exceeded. The only class is `normal`.

use super::table::ApplyChange;
use super::values::bytes;
use crate::config::SECONDS;
use crate::shared::ServerShared;

/// `normal` and its three numbers.
const WORDS: usize = 4;

/// Returns the value for CONFIG GET.
pub(super) fn value(shared: &ServerShared) -> String {
    let all = &shared.settings;
    format!("normal {} {} {}", all.output_hard.get(), all.output_soft.get(), all.output_soft_s.get())
}

/// Parses the limits. If there are several quadruples, the last one counts.
pub(super) fn change(text: &[u8]) -> Result<ApplyChange, String> {
    let words: Vec<&[u8]> =
        if text.is_empty() { Vec::new() } else { text.split(|byte| *byte == b' ').collect() };
    if !words.len().is_multiple_of(WORDS) {
        return Err("Wrong number of arguments in buffer limit configuration.".to_owned());
    }
    let mut limits = None;
    for class in words.chunks_exact(WORDS) {
        if !class[0].eq_ignore_ascii_case(b"normal") {
            return Err("Invalid client class specified in buffer limit configuration.".to_owned());
        }
        let plain = class[3].iter().all(u8::is_ascii_digit);
        let seconds = bytes(class[3]).filter(|seconds| plain && *seconds <= SECONDS.1);
        let (Some(hard), Some(soft), Some(seconds)) = (bytes(class[1]), bytes(class[2]), seconds) else {
            return Err(
                "Error in hard, soft or soft_seconds setting in buffer limit configuration.".to_owned()
            );
        };
        limits = Some((hard, soft, seconds));
    }
    Ok(Box::new(move |shared| {
        let Some((hard, soft, seconds)) = limits else { return };
        let all = &shared.settings;
        all.output_hard.set(hard);
        all.output_soft.set(soft);
        all.output_soft_s.set(seconds);
        shared.wake_workers();
    }))
}
