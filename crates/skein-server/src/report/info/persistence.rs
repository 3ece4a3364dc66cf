//! INFO persistence: the log and the checkpoints, under Redis's names for its files.

use super::InfoLines;
use super::InfoNumbers;
use crate::shared::ServerShared;
use skein_data::Durability;

pub(super) fn persistence(shared: &ServerShared, numbers: &InfoNumbers, lines: &mut InfoLines) {
    lines.add("loading", 0);
    lines.add("async_loading", 0);
    lines.add("durability", shared.data.durability);
    checkpoints(shared, numbers, lines);
    lines.add("last_checkpoint_failure", one_line(numbers.last_checkpoint_failure.as_deref()));
    lines.add("writes_stopped", one_line(numbers.writes_stopped.as_deref()));
}

/// Writes the figures of checkpoints. A checkpoint takes the place of Redis's dump, and of the
/// rewriting of its log.
fn checkpoints(shared: &ServerShared, numbers: &InfoNumbers, lines: &mut InfoLines) {
    let running = u8::from(numbers.checkpoint_running);
    let status = |failed| if failed { "err" } else { "ok" };
    let failure = numbers.last_checkpoint_failure.as_deref().or(numbers.writes_stopped.as_deref());
    let last = status(failure.is_some());
    lines.add("rdb_changes_since_last_save", numbers.log_records);
    lines.add("rdb_last_bgsave_status", last);
    lines.add("rdb_saves", numbers.checkpoints);
    let has_log = shared.data.durability != Durability::None;
    lines.add("aof_enabled", u8::from(has_log));
    lines.add("aof_rewrite_in_progress", if has_log { running } else { 0 });
    lines.add("aof_rewrite_scheduled", u8::from(shared.data.checkpoints.is_scheduled()));
    lines.add("aof_last_bgrewrite_status", last);
    lines.add("aof_last_write_status", status(numbers.writes_stopped.is_some()));
    if has_log {
        log(shared, numbers, lines);
    }
    // Checkpoints copy no pages of memory, and there are no modules.
    for name in [
        "current_cow_peak",
        "current_cow_size",
        "rdb_last_cow_size",
        "aof_last_cow_size",
        "module_fork_in_progress",
        "module_fork_last_cow_size",
    ] {
        lines.add(name, 0);
    }
}

/// Writes the figures of the log under Redis's names, which Redis has only while its own log is on.
/// There is no base file, and no sync is put off.
fn log(shared: &ServerShared, numbers: &InfoNumbers, lines: &mut InfoLines) {
    lines.add("aof_current_size", numbers.log_bytes);
    lines.add("aof_base_size", 0);
    lines.add("aof_pending_rewrite", u8::from(shared.data.checkpoints.is_scheduled()));
    lines.add("aof_buffer_length", numbers.log_bytes_behind);
    lines.add("aof_pending_bio_fsync", 0);
    lines.add("aof_delayed_fsync", 0);
}

/// Returns a message as a value on one line, or `no`.
fn one_line(message: Option<&str>) -> String {
    message.unwrap_or("no").replace(['\r', '\n'], " ")
}
