//! Parses INFO, and computes the changes between two answers.

use std::collections::BTreeMap;
use std::time::Instant;

/// The lines of one answer.
#[derive(Debug, Clone)]
pub struct InfoReply {
    /// The time of the request.
    at: Instant,
    lines: BTreeMap<String, String>,
}

/// The activity of one command between two answers.
#[derive(Debug, Clone, PartialEq)]
pub struct CommandRate {
    pub name: String,
    /// Calls per second.
    pub calls: f64,
    /// Microseconds per call.
    pub micros: f64,
    /// Failed calls per second.
    pub failed: f64,
}

impl InfoReply {
    /// Parses `name:value` lines and ignores others.
    pub fn parse(text: &str, at: Instant) -> Self {
        let pair = |line: &str| line.split_once(':').map(|(name, value)| (name.to_owned(), value.to_owned()));
        Self { at, lines: text.lines().filter_map(pair).collect() }
    }

    /// Returns a value as text; empty if it is missing.
    pub fn text(&self, name: &str) -> &str {
        self.lines.get(name).map_or("", String::as_str)
    }

    /// Returns a value as a number; 0 if it is not one.
    pub fn number(&self, name: &str) -> f64 {
        self.text(name).parse().unwrap_or(0.0)
    }

    /// Returns a value that counts something.
    #[expect(clippy::cast_sign_loss, reason = "a count")]
    pub fn count(&self, name: &str) -> u64 {
        self.number(name) as u64
    }

    /// Returns a part of a value such as `a=1,b=2`; 0 if it is missing.
    pub fn part(&self, name: &str, part: &str) -> f64 {
        part_of(self.text(name), part)
    }

    /// Returns how fast a counter has risen since an earlier answer, per second. If it was reset
    /// meanwhile, it counts from 0.
    pub fn rate(&self, before: &Self, name: &str) -> f64 {
        risen(self.number(name), before.number(name)) / self.seconds_since(before)
    }

    /// Returns the sum of several rates.
    pub fn rates(&self, before: &Self, names: &[&str]) -> f64 {
        names.iter().map(|name| self.rate(before, name)).sum()
    }

    fn seconds_since(&self, before: &Self) -> f64 {
        self.at.saturating_duration_since(before.at).as_secs_f64().max(1e-3)
    }

    /// Returns the commands called since an earlier answer, sorted by the time that they took.
    pub fn commands(&self, before: &Self) -> Vec<CommandRate> {
        let seconds = self.seconds_since(before);
        let rate = |(line, text): (&String, &String)| {
            let name = line.strip_prefix("cmdstat_")?;
            let since = |part| risen(part_of(text, part), before.part(line, part));
            let (calls, failed) = (since("calls"), since("failed_calls") + since("rejected_calls"));
            (calls + failed > 0.0).then(|| CommandRate {
                name: name.to_owned(),
                calls: calls / seconds,
                micros: since("usec") / calls.max(1.0),
                failed: failed / seconds,
            })
        };
        let mut rates: Vec<CommandRate> = self.lines.iter().filter_map(rate).collect();
        let load = |rate: &CommandRate| rate.calls * rate.micros;
        rates.sort_by(|a, b| load(b).total_cmp(&load(a)).then_with(|| a.name.cmp(&b.name)));
        rates
    }
}

fn risen(now: f64, before: f64) -> f64 {
    if now < before { now } else { now - before }
}

fn part_of(text: &str, part: &str) -> f64 {
    let value = text.split(',').find_map(|pair| pair.strip_prefix(part)?.strip_prefix('='));
    value.and_then(|value| value.parse().ok()).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn numbers_parts_and_rates() {
        let start = Instant::now();
        let one = InfoReply::parse(
            "# Stats\r\nn:10\r\ndb0:keys=5,expires=1\r\ncmdstat_get:calls=2,usec=4\r\nx\r\n",
            start,
        );
        let two = InfoReply::parse(
            "n:30\ncmdstat_get:calls=12,usec=54,failed_calls=4\ncmdstat_set:calls=2,usec=100\ncmdstat_del:calls=0",
            start + Duration::from_secs(2),
        );
        assert_eq!(
            (one.count("n"), one.part("db0", "expires"), one.number("no"), two.text("n")),
            (10, 1.0, 0.0, "30")
        );
        assert_eq!(format!("{:.1}", two.rates(&one, &["n", "no"])), "10.0");
        assert_eq!(
            format!("{:.0}", one.rate(&two, "n")),
            "10000",
            "after a reset, and with a clock that stood"
        );
        let found = two.commands(&one);
        let names: Vec<_> = found.iter().map(|rate| rate.name.as_str()).collect();
        assert_eq!(names, ["set", "get"], "by the time they took");
        assert_eq!(found[1], CommandRate { name: "get".into(), calls: 5.0, micros: 5.0, failed: 2.0 });
    }
}
