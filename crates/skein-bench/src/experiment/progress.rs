//! The progress bar of a run, with the time left. It shows on terminals only.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// The progress through a number of steps.
#[derive(Debug)]
pub struct RunProgress(ProgressBar);

impl RunProgress {
    /// Creates a bar of `steps` steps; hidden if `quiet`, or if the output is not a terminal.
    ///
    /// The bar draws itself only when a step begins, so that no thread runs during a measurement.
    pub fn new(experiment: &str, steps: usize, quiet: bool) -> Self {
        if quiet {
            return Self(ProgressBar::hidden());
        }
        let style = ProgressStyle::with_template(
            "{prefix}: {bar:24} {pos}/{len}, {elapsed} elapsed, {eta} left · {wide_msg}",
        );
        let bar = ProgressBar::new(steps as u64)
            .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
            .with_prefix(experiment.to_owned());
        Self(bar)
    }

    /// Begins a step.
    pub fn step(&self, what: &str) {
        self.0.set_message(what.to_owned());
        self.0.inc(1);
        self.0.tick();
    }

    /// Removes the bar; returns the time since it was created.
    pub fn finish(&self) -> Duration {
        let took = self.0.elapsed();
        self.0.finish_and_clear();
        took
    }
}
