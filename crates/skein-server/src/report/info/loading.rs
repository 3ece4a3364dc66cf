//! INFO while the server is loading: the program, and the progress of loading, under Redis's names.

use std::fmt::Write;

use super::{InfoLines, program};
use crate::shared::loading::Loading;

/// Returns the sections `server` and `persistence` if they are named, or both if all sections are
/// wanted.
pub(crate) fn text(loading: &Loading, names: &[&[u8]]) -> String {
    let has = |wanted: &str| names.iter().any(|name| name.eq_ignore_ascii_case(wanted.as_bytes()));
    let both = names.is_empty() || ["default", "all", "everything"].into_iter().any(has);
    let mut lines = InfoLines::default();
    if both || has("server") {
        lines.0.push_str("# Server\r\n");
        program(&loading.run_id, loading.address, &mut lines);
        lines.add("uptime_in_seconds", loading.elapsed().as_secs());
    }
    if both || has("persistence") {
        // Writing to a string cannot fail.
        let _ = write!(lines.0, "{}# Persistence\r\n", if lines.0.is_empty() { "" } else { "\r\n" });
        persistence(loading, &mut lines);
    }
    lines.0
}

fn persistence(loading: &Loading, lines: &mut InfoLines) {
    let seen = loading.progress.seen();
    lines.add("loading", 1);
    lines.add("async_loading", 0);
    lines.add("loading_start_time", loading.started_unix_s);
    lines.add("loading_total_bytes", seen.bytes_total);
    lines.add("loading_loaded_bytes", seen.bytes);
    lines.add("loading_loaded_perc", seen.percent());
    lines.add("loading_loaded_records", seen.records);
    // Clients that use this number to wait retry after one second at the latest.
    lines.add("loading_eta_seconds", loading.left().unwrap_or(1));
}
