//! Discards the log behind the last durable epoch, so that no later record can reappear.
//!
//! 1. All records of an epoch lie before its mark and behind the previous mark. So a log that is
//!    cut behind its last durable mark keeps exactly the durable epochs.
//! 2. Segments behind the cut are removed from the last to the first, and then the file is cut.
//!    After a crash at any point the next recovery finds the same cuts: more of the discarded
//!    epochs is missing, never less.
//! 3. The process that wrote the kept records may have died before it synced, or its sync may have
//!    failed. Then the system may hold pages that are not on disk and yet call them clean. So every
//!    record that no mark proves durable is written again and synced. Otherwise a power cut could
//!    still lose the epoch that recovery calls durable.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::found_segments::FoundSegment;
use super::last_durable_epoch::DurabilityVerdict;
use super::log_chain::{LogChain, ScannedSegment};
use super::{KeptLog, KeptSegment, folder_of};
use crate::record::{LogPosition, SegmentLink};
use crate::segment::SEGMENT_HEADER;
use crate::storage::{Storage, StorageFile};
use crate::{LogError, Result, TornTail};

/// The changes that recovery will make.
#[derive(Debug, Default)]
pub struct DiscardPlan {
    pub logs: Vec<KeptLog>,
    pub torn_tails: Vec<TornTail>,
    /// The number of records kept.
    pub records: u64,
    /// Files to remove, in this order.
    remove: Vec<PathBuf>,
    /// Segments to cut, with their new lengths.
    cut: Vec<(Arc<FoundSegment>, u64)>,
    /// Kept records that are not proven durable. They must be written again and synced.
    affirm: Vec<(Arc<FoundSegment>, Range<u64>)>,
}

/// Plans the cuts.
pub fn plan(chains: &[LogChain], verdict: &DurabilityVerdict, leftovers: Vec<PathBuf>) -> DiscardPlan {
    let mut plan = DiscardPlan { remove: leftovers, ..DiscardPlan::default() };
    for chain in chains {
        plan.remove.extend(chain.obsolete.iter().map(|segment| segment.path.clone()));
        plan_log(chain, verdict, &mut plan);
    }
    plan
}

/// Plans to remove all segments. Their numbers, and those `listed` in manifests, are not used
/// again.
pub fn plan_giving_up(
    segments: &[Arc<FoundSegment>],
    listed: impl Iterator<Item = (u32, u64)>,
    leftovers: Vec<PathBuf>,
) -> DiscardPlan {
    let mut plan = DiscardPlan { remove: leftovers, ..DiscardPlan::default() };
    plan.remove.extend(segments.iter().map(|segment| segment.path.clone()));
    let found = segments.iter().map(|segment| (segment.header.log, segment.header.number));
    for (log, number) in found.chain(listed) {
        match plan.logs.iter_mut().find(|kept| kept.log == log) {
            Some(kept) => kept.last_number = kept.last_number.max(number),
            None => plan.logs.push(KeptLog { log, last_number: number, ..KeptLog::default() }),
        }
    }
    plan
}

fn plan_log(chain: &LogChain, verdict: &DurabilityVerdict, plan: &mut DiscardPlan) {
    let cut = chain.held.iter().enumerate().rev().find_map(|(place, scanned)| {
        let marks = [&scanned.scan.last_mark, &scanned.scan.mark_before];
        let kept = marks.into_iter().flatten().find(|mark| mark.mark.epoch <= verdict.durable);
        kept.map(|mark| (place, mark))
    });
    let mut log = KeptLog { log: chain.log, last_number: chain.last_number(), ..KeptLog::default() };
    let kept = cut.map_or(0, |(place, _)| place + 1);
    for scanned in chain.behind.iter().rev().chain(chain.held[kept..].iter().rev()) {
        plan.torn(scanned, SEGMENT_HEADER as u64);
        plan.remove.push(scanned.segment.path.clone());
    }
    if let Some((place, mark)) = cut {
        let durable = chain
            .held
            .iter()
            .map(|scanned| scanned.scan.own_durable)
            .fold(LogPosition::default(), LogPosition::max);
        for scanned in &chain.held[..place] {
            plan.records += scanned.scan.records;
            log.add(scanned, scanned.scan.stop, scanned.scan.last_epoch);
        }
        let last = &chain.held[place];
        plan.records += mark.records;
        log.add(last, mark.end, mark.mark.epoch);
        log.link = SegmentLink {
            previous: LogPosition { segment: last.segment.header.number, offset: mark.end },
            last_epoch: log.segments.iter().map(|kept| kept.last_epoch).fold(0, u64::max),
        };
        if last.segment.len != mark.end {
            plan.torn(last, mark.end);
            plan.cut.push((last.segment.clone(), mark.end));
        }
        for kept in &log.segments {
            let number = kept.segment.header.number;
            let from = match number.cmp(&durable.segment) {
                Ordering::Less => continue,
                Ordering::Equal => durable.offset,
                Ordering::Greater => SEGMENT_HEADER as u64,
            };
            plan.affirm.push((kept.segment.clone(), from..kept.end));
        }
    }
    plan.logs.push(log);
}

impl KeptLog {
    fn add(&mut self, scanned: &ScannedSegment, end: u64, last_epoch: u64) {
        self.segments.push(KeptSegment { segment: scanned.segment.clone(), end, last_epoch });
    }
}

impl DiscardPlan {
    /// Notes that the bytes from `offset` on are cut off, if there are any.
    fn torn(&mut self, scanned: &ScannedSegment, offset: u64) {
        let bytes = scanned.scan.content_end.saturating_sub(offset);
        if bytes > 0 {
            self.torn_tails.push(TornTail { path: scanned.segment.path.clone(), offset, bytes });
        }
    }

    /// Returns the files of the segments that are kept.
    pub fn kept(&self) -> Vec<PathBuf> {
        let kept = self.logs.iter().flat_map(|log| &log.segments);
        kept.map(|kept| kept.segment.path.clone()).collect()
    }

    /// Returns the files of the segments that are kept and not written to. Later openings do not
    /// write to them either: their last durable epoch is no earlier one, and the mark that proves
    /// these segments durable is in a later segment, which is removed after them.
    pub fn sealed(&self) -> Vec<PathBuf> {
        let written: BTreeSet<&Path> = self
            .cut
            .iter()
            .map(|(segment, _)| segment)
            .chain(self.affirm.iter().map(|(segment, _)| segment))
            .map(|segment| segment.path.as_path())
            .collect();
        self.kept().into_iter().filter(|path| !written.contains(path.as_path())).collect()
    }

    /// Executes the plan. REQUIRES: the manifests contain exactly the kept segments.
    pub fn execute(&self, storage: &dyn Storage) -> Result<()> {
        let mut folders = BTreeSet::new();
        for path in &self.remove {
            storage.remove(path).map_err(|error| LogError::io("remove the log segment", path, &error))?;
            folders.insert(folder_of(path));
        }
        for (segment, len) in &self.cut {
            let file = segment.open(true)?;
            file.set_len(*len).map_err(|error| LogError::io("cut the log segment", &segment.path, &error))?;
        }
        for (segment, range) in &self.affirm {
            let file = segment.open(true)?;
            write_again_and_sync(&*file, range.clone())
                .map_err(|error| LogError::io("sync the log segment", &segment.path, &error))?;
        }
        for folder in folders {
            sync_dir(storage, folder)?;
        }
        Ok(())
    }
}

/// Writes the same bytes again and syncs (invariant 3).
fn write_again_and_sync(file: &dyn StorageFile, range: Range<u64>) -> io::Result<()> {
    let mut piece = vec![0; (256 << 10).min((range.end - range.start.min(range.end)) as usize)];
    let mut at = range.start;
    while at < range.end {
        let want = ((range.end - at) as usize).min(piece.len());
        let read = file.read_at(&mut piece[..want], at)?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        file.write_at(&piece[..read], at)?;
        at += read as u64;
    }
    file.sync_data()
}

fn sync_dir(storage: &dyn Storage, folder: &Path) -> Result<()> {
    storage.sync_dir(folder).map_err(|error| LogError::io("sync the folder", folder, &error))
}
