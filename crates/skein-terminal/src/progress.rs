//! Progress bars with rate and remaining time. They appear only on a terminal.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::time::{Duration, Instant};

use indicatif::{HumanCount, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::console;

/// The shortest time between two updates of a bar.
const STEP: Duration = Duration::from_millis(100);

/// The bar's template for an input of known size.
const KNOWN: &str = "{bar:30} {percent}% · {msg} · {binary_bytes_per_sec} · {eta} left";

/// The template for an input of unknown size.
const UNKNOWN: &str = "{spinner} {binary_bytes} · {msg} · {binary_bytes_per_sec}";

/// A bar that is updated now and then.
#[derive(Debug)]
struct TimedBar {
    bar: ProgressBar,
    started: Instant,
    shown: Option<Instant>,
}

impl TimedBar {
    fn on(target: ProgressDrawTarget, total: Option<u64>, [known, unknown]: [&str; 2]) -> Self {
        let template = if total.is_some() { known } else { unknown };
        let bar = ProgressBar::with_draw_target(total, target).with_style(style(template));
        Self { bar, started: Instant::now(), shown: None }
    }

    /// Shows this position, unless the last one was shown just now. `message` gets the elapsed
    /// time.
    fn update(&mut self, position: u64, message: impl FnOnce(Duration) -> String) {
        if self.shown.is_some_and(|shown| shown.elapsed() < STEP) {
            return;
        }
        self.shown = Some(Instant::now());
        self.bar.set_position(position);
        self.bar.set_message(message(self.started.elapsed()));
    }

    /// Removes the bar. Returns the elapsed time.
    fn finish(self) -> Duration {
        self.bar.finish_and_clear();
        self.started.elapsed()
    }
}

/// Returns the place of a bar. It is also hidden if standard error is not a terminal.
fn target(quiet: bool) -> ProgressDrawTarget {
    if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() }
}

/// Progress through an input of known or unknown size.
#[derive(Debug)]
pub struct InputProgress(TimedBar);

impl InputProgress {
    /// Starts a bar. `bytes` is the size of the input, if known.
    pub fn start(bytes: Option<u64>, quiet: bool) -> Self {
        Self::on(target(quiet), bytes)
    }

    fn on(target: ProgressDrawTarget, bytes: Option<u64>) -> Self {
        Self(TimedBar::on(target, bytes, [KNOWN, UNKNOWN]))
    }

    /// Reports that `bytes` of the input and `records` are done.
    pub fn update(&mut self, bytes: u64, records: u64) {
        self.0.update(bytes, |took| format!("{} records, {}", HumanCount(records), rate(records, took)));
    }

    /// Returns a handle that prints lines above the bar.
    pub fn printer(&self) -> ProgressPrinter {
        ProgressPrinter(self.0.bar.clone())
    }

    /// Removes the bar. Returns the elapsed time.
    pub fn finish(self) -> Duration {
        self.0.finish()
    }
}

/// The templates for a known and for an unknown number of keys.
const KEYS_KNOWN: &str = "{bar:30} {percent}% of {human_len} keys · {msg} · {eta} left";
const KEYS_UNKNOWN: &str = "{spinner} {human_pos} keys · {msg}";

/// Progress through keys.
#[derive(Debug)]
pub struct KeyProgress {
    bar: TimedBar,
    total: Option<u64>,
    done: u64,
}

impl KeyProgress {
    /// Starts a bar.
    pub fn start(total: Option<u64>, quiet: bool) -> Self {
        Self::on(target(quiet), total)
    }

    fn on(target: ProgressDrawTarget, total: Option<u64>) -> Self {
        Self { bar: TimedBar::on(target, total, [KEYS_KNOWN, KEYS_UNKNOWN]), total, done: 0 }
    }

    /// Reports that `keys` more keys are done, whatever their outcome.
    pub fn advance(&mut self, keys: u64) {
        self.done += keys;
        // Keys may be inserted meanwhile, so `done` may exceed the total.
        let position = self.total.map_or(self.done, |total| self.done.min(total));
        self.bar.update(position, |took| rate(self.done, took));
    }

    /// Returns the progress in words: `1,000 of 5,000 keys`.
    pub fn words(&self) -> String {
        match self.total {
            Some(total) => format!("{} of {}", grouped(self.done), counted(total, "key")),
            None => counted(self.done, "key"),
        }
    }

    /// Returns a handle that prints lines above the bar.
    pub fn printer(&self) -> ProgressPrinter {
        ProgressPrinter(self.bar.bar.clone())
    }

    /// Removes the bar. Returns the elapsed time.
    pub fn finish(self) -> Duration {
        self.bar.finish()
    }
}

/// Progress through work with a known finished share.
#[derive(Debug)]
pub struct PercentProgress(ProgressBar);

impl PercentProgress {
    /// Steps of the bar.
    const FINE: u32 = 1000;

    /// Starts a bar.
    pub fn start() -> Self {
        // Hidden if standard error is not a terminal.
        Self::on(ProgressDrawTarget::stderr())
    }

    fn on(target: ProgressDrawTarget) -> Self {
        let bar = ProgressBar::with_draw_target(Some(Self::FINE.into()), target)
            .with_style(style("{bar:30} {percent}% · {msg} · {eta} left"));
        Self(bar)
    }

    /// Reports that this share of the work, 0 to 1, is done. `doing` names the next step.
    #[expect(clippy::cast_sign_loss, reason = "clamped to 0 and more")]
    pub fn update(&self, doing: &str, done: f64) {
        self.0.set_message(doing.to_owned());
        self.0.set_position((done.clamp(0.0, 1.0) * f64::from(Self::FINE)) as u64);
    }

    /// Removes the bar.
    pub fn finish(self) {
        self.0.finish_and_clear();
    }
}

/// Prints to standard error without breaking the bar.
#[derive(Debug, Clone)]
pub struct ProgressPrinter(ProgressBar);

impl ProgressPrinter {
    /// Prints one line.
    pub fn line(&self, text: impl Display) {
        self.0.suspend(|| console::note(&text));
    }
}

/// Returns a number with its thousands grouped.
pub fn grouped(number: u64) -> String {
    HumanCount(number).to_string()
}

/// Returns a number with a noun: `1 key`, `1,234 keys`, `2 hashes`.
pub fn counted(number: u64, what: &str) -> String {
    let ending = match number {
        1 => "",
        _ if what.ends_with('h') => "es",
        _ => "s",
    };
    format!("{} {what}{ending}", grouped(number))
}

/// Returns rejected keys by type: `3 (2 lists, 1 stream)`.
pub fn by_type(refused: &BTreeMap<String, u64>) -> String {
    let all: u64 = refused.values().sum();
    let types: Vec<String> = refused.iter().map(|(kind, keys)| counted(*keys, kind)).collect();
    if all == 0 { "0".to_owned() } else { format!("{all} ({})", types.join(", ")) }
}

/// Returns records per second, for people.
pub fn rate(records: u64, took: Duration) -> String {
    #[expect(clippy::cast_precision_loss, clippy::cast_sign_loss, reason = "shown rounded; never negative")]
    let per_second = (records as f64 / took.as_secs_f64().max(1e-3)) as u64;
    format!("{}/s", HumanCount(per_second))
}

fn style(template: &str) -> ProgressStyle {
    // A template that does not parse is a mistake in this file. The plain style is then better than
    // a failed load.
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::{Arc, Mutex};

    use indicatif::TermLike;

    use super::*;

    /// Incident: a copy refused "2 (2 hashs)". Fix: the plural of a noun in `h` has its `e`.
    #[test]
    fn types_have_their_plurals() {
        let refused = [("hash", 2), ("list", 1), ("stream", 3)].map(|(kind, keys)| (kind.to_owned(), keys));
        assert_eq!(by_type(&refused.into()), "6 (2 hashes, 1 list, 3 streams)");
    }

    /// A terminal that records its output.
    #[derive(Debug, Clone, Default)]
    struct TestTerminal(Arc<Mutex<String>>);

    impl TestTerminal {
        fn text(&self) -> String {
            self.0.lock().expect("no test panicked").clone()
        }
    }

    impl TermLike for TestTerminal {
        fn width(&self) -> u16 {
            120
        }

        fn move_cursor_up(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_down(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_right(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_left(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn write_line(&self, text: &str) -> io::Result<()> {
            self.write_str(text)
        }

        fn write_str(&self, text: &str) -> io::Result<()> {
            self.0.lock().expect("no test panicked").push_str(text);
            Ok(())
        }

        fn clear_line(&self) -> io::Result<()> {
            Ok(())
        }

        fn flush(&self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Returns the terminal's text after half of a thousand bytes and 20 records.
    fn half_way(bytes: Option<u64>) -> String {
        let screen = TestTerminal::default();
        let target = ProgressDrawTarget::term_like(Box::new(screen.clone()));
        let mut progress = InputProgress::on(target, bytes);
        progress.update(500, 20);
        progress.0.bar.force_draw();
        let shown = screen.text();
        progress.finish();
        shown
    }

    #[test]
    fn the_bar_shows_how_far_how_fast_and_how_long() {
        let known = half_way(Some(1000));
        for part in ["50%", "20 records, ", "/s ·", "B/s ·", " left"] {
            assert!(known.contains(part), "{part:?} is not in {known:?}");
        }
        let unknown = half_way(None);
        for part in ["500 B ·", "20 records, ", "/s ·", "B/s"] {
            assert!(unknown.contains(part), "{part:?} is not in {unknown:?}");
        }
        assert!(!unknown.contains('%') && !unknown.contains("left"), "{unknown:?}");
    }

    #[test]
    fn keys_are_told_with_their_total_and_the_time_left() {
        let shown = |total| {
            let screen = TestTerminal::default();
            let mut keys = KeyProgress::on(ProgressDrawTarget::term_like(Box::new(screen.clone())), total);
            keys.advance(1_500);
            keys.bar.bar.force_draw();
            (screen.text(), keys.words())
        };
        let (known, words) = shown(Some(6_000));
        for part in ["25% of 6,000 keys ·", "/s ·", " left"] {
            assert!(known.contains(part), "{part:?} is not in {known:?}");
        }
        assert_eq!(words, "1,500 of 6,000 keys");
        let (unknown, words) = shown(None);
        assert!(unknown.contains("1,500 keys ·") && !unknown.contains('%'), "{unknown:?}");
        assert_eq!(words, "1,500 keys");
    }

    #[test]
    fn percent_bars_show_the_share_and_the_time_left() {
        let screen = TestTerminal::default();
        let parts = PercentProgress::on(ProgressDrawTarget::term_like(Box::new(screen.clone())));
        parts.update("reading the data back, 1,500 records", 0.25);
        parts.0.force_draw();
        let shown = screen.text();
        for part in ["25% ·", "reading the data back, 1,500 records ·", " left"] {
            assert!(shown.contains(part), "{part:?} is not in {shown:?}");
        }
        parts.finish();
    }

    #[test]
    fn a_quiet_bar_shows_nothing() {
        assert!(InputProgress::start(Some(1000), true).0.bar.is_hidden());
    }

    #[test]
    fn counts_have_their_plural() {
        assert_eq!(counted(1, "key"), "1 key");
        assert_eq!(counted(1_234, "key"), "1,234 keys");
    }

    #[test]
    fn rates_are_grouped_and_never_divide_by_zero() {
        assert_eq!(rate(3_000_000, Duration::from_secs(2)), "1,500,000/s");
        assert_eq!(rate(5, Duration::ZERO), "5,000/s");
    }
}
