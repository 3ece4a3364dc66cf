//! The output of `skein stats --watch`: a screen, or one line per tick.

use super::info::InfoReply;
use crate::progress::grouped;
use crate::units::show_size;

/// The columns of [`line()`].
pub const HEAD: &str = "unix_s\trequests_per_s\tin_bytes_per_s\tout_bytes_per_s\terrors_per_s\tcpu_percent\tclients\tkeys\t\
                        memory_bytes\tresident_bytes\tlog_bytes_behind\tlog_bytes_since_checkpoint";

/// Returns a tick for programs: numbers separated by tabs.
pub fn line(now: &InfoReply, before: &InfoReply) -> String {
    let rates = [
        now.rate(before, "total_commands_processed"),
        now.rate(before, "total_net_input_bytes"),
        now.rate(before, "total_net_output_bytes"),
        now.rate(before, "total_error_replies"),
        cpu_percent(now, before),
    ];
    let counts = [
        now.count("connected_clients"),
        keys(now),
        now.count("used_memory"),
        now.count("used_memory_rss"),
        now.count("log_bytes_behind"),
        now.count("log_bytes_since_checkpoint"),
    ];
    let time = now.count("server_time_usec") / 1_000_000;
    let rates = rates.iter().map(|rate| format!("{rate:.0}"));
    let numbers = std::iter::once(time.to_string()).chain(rates).chain(counts.iter().map(u64::to_string));
    numbers.collect::<Vec<_>>().join("\t")
}

/// The indentation of continued lines: the width of the names in front.
const INDENT: &str = "          ";

/// Returns a tick for people: at most `rows` lines, each folded to the given columns.
pub fn screen(
    address: &str,
    now: &InfoReply,
    before: &InfoReply,
    rows: usize,
    columns: usize,
) -> Vec<String> {
    let mut lines = summary(address, now, before);
    lines.push(String::new());
    lines.push(format!("{:<20}{:>12}{:>12}{:>12}", "command", "calls/s", "µs/call", "errors/s"));
    for command in now.commands(before) {
        let (calls, failed) = (whole(command.calls), whole(command.failed));
        lines.push(format!("{:<20}{calls:>12}{:>12.1}{failed:>12}", command.name, command.micros));
    }
    let mut lines: Vec<String> = lines.iter().flat_map(|line| fold(line, columns)).collect();
    // The last row is the cursor's.
    lines.truncate(rows.saturating_sub(1).max(1));
    lines
}

/// Folds a long line behind a comma or a semicolon. Cuts a part that is too long by itself.
fn fold(line: &str, columns: usize) -> Vec<String> {
    let width = |text: &str| text.trim_end().chars().count();
    let mut lines = vec![String::new()];
    for part in line.split_inclusive(", ").flat_map(|part| part.split_inclusive("; ")) {
        match lines.last_mut() {
            Some(last) if last.is_empty() || last.chars().count() + width(part) <= columns => {
                last.push_str(part);
            }
            _ => lines.push(format!("{INDENT}{part}")),
        }
    }
    lines.iter().map(|line| line.trim_end().chars().take(columns).collect()).collect()
}

fn summary(address: &str, now: &InfoReply, before: &InfoReply) -> Vec<String> {
    let rate = |name| now.rate(before, name);
    let size = |name| show_size(now.count(name));
    let traffic = |name| show_size(whole_number(rate(name)));
    let engine = match now.text("index") {
        "" => format!("disk engine, {}", now.text("trie")),
        index => format!("index {index}"),
    };
    let version = now.text("skeindb_version");
    let limit = match now.count("maxmemory") {
        0 => String::new(),
        limit => format!(" of {}", show_size(limit)),
    };
    let mut lines = vec![
        format!(
            "SkeinDB {version} at {address}: {engine}, durability {}, up {}",
            now.text("durability"),
            age(now.count("uptime_in_seconds"))
        ),
        format!(
            "requests  {} a second, {} in and {} out; errors {}; processor {:.0} %",
            whole(rate("total_commands_processed")),
            traffic("total_net_input_bytes"),
            traffic("total_net_output_bytes"),
            whole(rate("total_error_replies")),
            cpu_percent(now, before)
        ),
        format!(
            "clients   {} of {}; {} slow requests kept",
            grouped(now.count("connected_clients")),
            grouped(now.count("maxclients")),
            grouped(now.count("slowlog_len"))
        ),
        format!("keys      {}, {} of them expire", grouped(keys(now)), whole(now.part("db0", "expires"))),
        format!(
            "memory    {}{limit} (index {}, rows {}, buffers {}, not yet freed {}); {} resident",
            size("used_memory"),
            size("index_bytes"),
            size("row_bytes"),
            show_size(now.count("mem_clients_normal") + now.count("mem_aof_buffer")),
            size("unreclaimed_bytes"),
            size("used_memory_rss")
        ),
        format!(
            "log       {} behind; epoch {}, durable {}; {} since the last checkpoint{}",
            size("log_bytes_behind"),
            now.text("epoch"),
            now.text("durable_epoch"),
            size("log_bytes_since_checkpoint"),
            if now.count("rdb_bgsave_in_progress") > 0 { ", one is being written" } else { "" }
        ),
    ];
    let stopped = now.text("writes_stopped");
    if !matches!(stopped, "" | "no") {
        lines.push(format!("WRITES ARE STOPPED: {stopped}"));
    }
    lines
}

fn keys(info: &InfoReply) -> u64 {
    whole_number(info.part("db0", "keys"))
}

fn cpu_percent(now: &InfoReply, before: &InfoReply) -> f64 {
    100.0 * now.rates(before, &["used_cpu_user", "used_cpu_sys"])
}

#[expect(clippy::cast_sign_loss, reason = "what is counted is not negative")]
fn whole_number(number: f64) -> u64 {
    number.round() as u64
}

fn whole(number: f64) -> String {
    grouped(whole_number(number))
}

fn age(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        7200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    fn two() -> (InfoReply, InfoReply) {
        let start = Instant::now();
        let at = |n: u64| {
            let text = format!(
                "skeindb_version:1.2\r\nindex:masstree\r\ndurability:sync\r\nuptime_in_seconds:7300\r\n\
                 server_time_usec:{}000000\r\ntotal_commands_processed:{}\r\nused_cpu_user:{n}\r\nconnected_clients:2\r\n\
                 db0:keys=1234,expires=7,avg_ttl=0\r\nlog_bytes_behind:2048\r\nwrites_stopped:{}\r\n\
                 cmdstat_get:calls={},usec={},rejected_calls=0,failed_calls=0\r\n",
                100 + n,
                n * 4000,
                if n > 1 { "the disk is full" } else { "no" },
                n * 4000,
                n * 8000,
            );
            InfoReply::parse(&text, start + Duration::from_secs(n * 2))
        };
        (at(1), at(2))
    }

    #[test]
    fn a_line_has_a_number_for_each_column() {
        let (before, now) = two();
        let text = line(&now, &before);
        assert_eq!(text.split('\t').count(), HEAD.split('\t').count());
        assert_eq!(text, "102\t2000\t0\t0\t0\t50\t2\t1234\t0\t0\t2048\t0");
    }

    #[test]
    fn a_screen_fits_and_shows_the_main_numbers() {
        let (before, now) = two();
        let lines = screen("here:1", &now, &before, 24, 80);
        assert!(
            lines.iter().any(|line| line == "          not yet freed 0 bytes); 0 bytes resident"),
            "{lines:?}"
        );
        assert_eq!(lines[0], "SkeinDB 1.2 at here:1: index masstree, durability sync, up 2 h");
        assert!(lines[1].starts_with("requests  2,000 a second"), "{}", lines[1]);
        assert!(lines.iter().any(|line| line == "WRITES ARE STOPPED: the disk is full"));
        assert_eq!(
            lines.last().map(String::as_str),
            Some("get                        2,000         2.0           0")
        );
        for (rows, columns) in [(0, 0), (1, 1), (5, 20), (200, 300)] {
            let lines = screen("here:1", &now, &before, rows, columns);
            assert!(lines.len() < rows.max(2) && lines.iter().all(|line| line.chars().count() <= columns));
        }
    }
}
