//! Decides which epoch is the last durable one, and whether a log is damaged.

use std::collections::BTreeMap;

use super::log_chain::{LogChain, ScannedSegment};
use super::scan::{self, MarkAt};
use crate::record::{LogPosition, Mark};
use crate::{CheckpointEpochs, LogError, Result};

/// The decision.
#[derive(Debug)]
pub struct DurabilityVerdict {
    /// The last durable epoch.
    pub durable: u64,
    /// The greatest epoch found.
    pub last_epoch: u64,
    /// Epochs found past the last durable one.
    pub discarded: Vec<u64>,
}

/// Decides by the numbered rules of `docs/format.md`.
pub fn decide_last_durable_epoch(
    chains: &[LogChain],
    checkpoint: CheckpointEpochs,
) -> Result<DurabilityVerdict> {
    let all = || chains.iter().flat_map(|chain| chain.held.iter().chain(&chain.behind));
    // Rule 3.
    let proven = all().map(|scanned| scanned.scan.proven).fold(checkpoint.end, u64::max);
    check_stops(chains)?;
    check_participants(chains, proven, checkpoint.begin)?;
    chains.iter().try_for_each(check_lengths)?;
    let durable = durable(chains, proven);
    let epochs = || {
        all().flat_map(|scanned| scanned.scan.recent_epochs.iter().copied().chain([scanned.scan.last_epoch]))
    };
    let mut discarded: Vec<u64> = epochs().filter(|epoch| *epoch > durable).collect();
    discarded.sort_unstable();
    discarded.dedup();
    let last_epoch = epochs().fold(durable, u64::max);
    Ok(DurabilityVerdict { durable, last_epoch, discarded })
}

/// Rule 4, first part: checks that no mark behind the stop says that the log was durable beyond it.
fn check_stops(chains: &[LogChain]) -> Result<()> {
    for chain in chains {
        let Some(last) = chain.held.last() else { continue };
        let stop = chain.stop();
        let behind =
            chain.behind.iter().map(|scanned| scanned.scan.own_durable.max(scanned.scan.own_durable_behind));
        let proven = behind.fold(last.scan.own_durable_behind, LogPosition::max);
        if proven > stop {
            return Err(damaged(last, stop, "a later mark says that more was durable"));
        }
    }
    Ok(())
}

/// Rule 4, third part: checks that the end of a log was not cut off from outside. Before the last
/// segment with records, the next one's link has noticed that.
fn check_lengths(chain: &LogChain) -> Result<()> {
    let last = chain.held.last();
    // A clean close, a copy and a recovery cut a segment exactly behind a mark.
    let ends_with_mark = |scanned: &ScannedSegment| {
        let mark = scanned.scan.last_mark.as_ref();
        mark.is_some_and(|mark| mark.end == scanned.segment.len)
    };
    let cut_by_us = |scanned: &ScannedSegment| {
        last.is_some_and(|last| last.segment.path == scanned.segment.path) && ends_with_mark(scanned)
    };
    for scanned in last.into_iter().chain(&chain.behind) {
        let (len, reserved) = (scanned.segment.len, scanned.segment.header.capacity);
        // A crash may leave any length while a segment is made, before the manifest contains it.
        if len < reserved && scanned.segment.listed && !cut_by_us(scanned) {
            let what = format!(
                "{}, and the file has {len} of the {reserved} bytes that were reserved before its first record; \
                 its last records may be lost",
                scanned.scan.why
            );
            return Err(LogError::damaged(&scanned.segment.path, scanned.scan.stop, what));
        }
    }
    Ok(())
}

/// Rule 4, second part: checks that all participants of proven epochs have their marks.
fn check_participants(chains: &[LogChain], proven: u64, begin: u64) -> Result<()> {
    let mut required = BTreeMap::new();
    for scanned in chains.iter().flat_map(|chain| &chain.held) {
        for (log, position) in &scanned.scan.required {
            let place: &mut LogPosition = required.entry(*log).or_default();
            *place = (*place).max(*position);
        }
        for last in scanned.scan.last_mark.iter().filter(|last| (begin..=proven).contains(&last.mark.epoch)) {
            scan::require(&mut required, &last.mark);
        }
    }
    for (log, position) in required {
        match chains.iter().find(|chain| chain.log == log) {
            Some(chain) if chain.stop() > position => {}
            Some(chain) => {
                if let Some(last) = chain.held.last() {
                    return Err(damaged(last, chain.stop(), "another log says that more was durable"));
                }
            }
            None => return Err(missing(chains, log, position)),
        }
    }
    Ok(())
}

fn damaged(last: &ScannedSegment, stop: LogPosition, evidence: &str) -> LogError {
    LogError::Damaged {
        path: last.segment.path.clone(),
        offset: stop.offset,
        what: format!("{}, but {evidence}", last.scan.why),
    }
}

fn missing(chains: &[LogChain], log: u32, position: LogPosition) -> LogError {
    let name = crate::segment::file_name(log, position.segment);
    let beside = chains.iter().find_map(|chain| chain.held.first());
    let path =
        beside.map_or_else(|| name.clone().into(), |scanned| scanned.segment.path.with_file_name(&name));
    LogError::Damaged {
        path,
        offset: position.offset,
        what: "the file is missing, and other logs say that it was durable; searched all log folders".into(),
    }
}

/// Rule 5: returns the last epoch, at or past `proven`, before the first epoch with a participant
/// that lacks its mark.
fn durable(chains: &[LogChain], proven: u64) -> u64 {
    let mut candidates: Vec<&Mark> = chains
        .iter()
        .filter_map(last_mark)
        .map(|last| &last.mark)
        .filter(|mark| mark.epoch > proven)
        .collect();
    candidates.sort_by_key(|mark| mark.epoch);
    let mut durable = proven;
    for mark in candidates {
        let complete = mark.participants.iter().all(|participant| {
            chains
                .iter()
                .find(|chain| chain.log == participant.log)
                .is_some_and(|chain| has_mark(chain, mark.epoch, participant.mark))
        });
        if !complete {
            break;
        }
        durable = mark.epoch;
    }
    durable
}

/// Returns the last mark of a log that is before the stop.
fn last_mark(chain: &LogChain) -> Option<&MarkAt> {
    chain.held.iter().rev().find_map(|scanned| scanned.scan.last_mark.as_ref())
}

fn has_mark(chain: &LogChain, epoch: u64, position: LogPosition) -> bool {
    chain.held.iter().any(|scanned| {
        scanned.segment.header.number == position.segment
            && scanned
                .scan
                .last_mark
                .as_ref()
                .is_some_and(|last| last.mark.epoch == epoch && last.at == position.offset)
    })
}
