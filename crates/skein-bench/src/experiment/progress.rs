//! The progress bar of a run: on a terminal only, with the time left.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// Progress through a number of steps.
#[derive(Debug)]
pub struct RunProgress(ProgressBar);

impl RunProgress {
    /// A bar of so many steps for an experiment; hidden if nobody looks.
    ///
    /// It draws itself when a step begins and never between, so that no thread runs beside what is measured.
    pub fn new(experiment: &str, steps: usize, quiet: bool) -> Self {
        if quiet {
            return Self(ProgressBar::hidden());
        }
        let style = ProgressStyle::with_template(
            "{prefix}: {bar:24} {pos}/{len}, {elapsed} gone, {eta} left · {wide_msg}",
        );
        let bar = ProgressBar::new(steps as u64)
            .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
            .with_prefix(experiment.to_owned());
        Self(bar)
    }

    /// A step begins.
    pub fn step(&self, what: &str) {
        self.0.set_message(what.to_owned());
        self.0.inc(1);
        self.0.tick();
    }

    /// Takes the bar away; returns how long it was there.
    pub fn finish(&self) -> Duration {
        let took = self.0.elapsed();
        self.0.finish_and_clear();
        took
    }
}
