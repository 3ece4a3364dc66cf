//! LATENCY GRAPH: the samples of an event as columns of characters.
//!
//! ```text
//!      #     four rows of three steps (_ o #) for each column;
//!    _ |     below each column, top down, the age of its sample
//!    | |_
//!   _|o||
//! ```

use std::fmt::Write;

use crate::observe::latency_events::{LatencyEvent, LatencyHistory, LatencySample};

/// Columns in a line of the graph. More samples continue in further lines.
const COLUMNS: usize = 80;

/// Rows of a column, and the characters for its topmost row.
const ROWS: u64 = 4;
const STEPS: [char; 3] = ['_', 'o', '#'];

/// Draws the graph. `now_s` is the time in seconds since 1970. Takes time linear in the number of
/// samples.
pub(super) fn draw(event: LatencyEvent, history: &LatencyHistory, now_s: u64) -> String {
    let millis = || history.samples.iter().map(|sample| sample.millis);
    let (low, high) = (millis().min().unwrap_or(0), millis().max().unwrap_or(0));
    let (name, worst) = (event.name(), history.worst);
    let mut text = format!(
        "{name} - high {high} ms, low {low} ms (all time high {worst} ms)\n{}\n",
        "-".repeat(COLUMNS)
    );
    let samples: Vec<LatencySample> = history.samples.iter().copied().collect();
    for (at, line) in samples.chunks(COLUMNS).enumerate() {
        if at > 0 {
            text.push('\n');
        }
        let heights: Vec<u64> = line.iter().map(|sample| height(sample.millis, low, high)).collect();
        for row in (0..ROWS).rev() {
            text.extend(heights.iter().map(|height| cell(*height, row)).chain(['\n']));
        }
        let ages: Vec<String> = line.iter().map(|sample| age(now_s.saturating_sub(sample.unix_s))).collect();
        let longest = ages.iter().map(String::len).max().unwrap_or(0);
        text.extend(std::iter::repeat_n(' ', line.len()).chain(['\n']));
        for place in 0..longest {
            let letter = |age: &String| age.as_bytes().get(place).map_or(' ', |byte| char::from(*byte));
            text.extend(ages.iter().map(letter).chain(['\n']));
        }
    }
    text
}

/// Returns the height of a sample in steps; the lowest sample has 0.
fn height(millis: u64, low: u64, high: u64) -> u64 {
    let steps = u128::from(ROWS) * STEPS.len() as u128;
    let above = u128::from(millis - low) * steps / u128::from((high - low).max(1));
    above.min(steps - 1) as u64
}

fn cell(height: u64, row: u64) -> char {
    let steps = STEPS.len() as u64;
    match (height / steps).cmp(&row) {
        std::cmp::Ordering::Less => ' ',
        std::cmp::Ordering::Equal => STEPS[(height % steps) as usize],
        std::cmp::Ordering::Greater => '|',
    }
}

/// Formats seconds as a number with one unit.
fn age(seconds: u64) -> String {
    let (per_unit, unit) = match seconds {
        0..60 => (1, 's'),
        60..3600 => (60, 'm'),
        3600..86_400 => (3600, 'h'),
        _ => (86_400, 'd'),
    };
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write!(text, "{}{unit}", seconds / per_unit);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history(samples: impl IntoIterator<Item = (u64, u64)>) -> LatencyHistory {
        let samples = samples.into_iter().map(|(unix_s, millis)| LatencySample { unix_s, millis });
        LatencyHistory { samples: samples.collect(), worst: 60 }
    }

    /// Compares with the graph that redis-server 7.0.15 drew from these samples.
    #[test]
    fn columns_are_those_of_redis() {
        let history = history([(100, 5), (101, 30), (102, 12), (103, 53), (104, 20)]);
        let expected = [
            "command - high 53 ms, low 5 ms (all time high 60 ms)",
            &"-".repeat(80),
            "   # ",
            " _ | ",
            " | |_",
            "_|o||",
            "     ",
            "65432",
            "sssss",
            "",
        ];
        assert_eq!(draw(LatencyEvent::Command, &history, 106), expected.join("\n"));
    }

    #[test]
    fn extreme_and_many_samples_can_be_drawn() {
        let text = draw(LatencyEvent::Batch, &history([(7, u64::MAX), (8, 0)]), 5);
        assert!(text.contains("\n# \n| \n| \n|_\n  \n00\nss\n"), "{text}");
        let text = draw(LatencyEvent::Batch, &history((0..100).map(|n| (n * 1000, 9))), 100_000);
        let rows: Vec<&str> = text.lines().collect();
        assert_eq!(rows[5], "_".repeat(80), "equal samples are all low");
        assert_eq!(rows.last().map(|row| row.len()), Some(20), "{text}");
        assert_eq!(["59", "60", "7200", "90000"].map(|s| age(s.parse().unwrap())), ["59s", "1m", "2h", "1d"]);
    }
}
