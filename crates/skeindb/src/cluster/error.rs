//! Errors of the cluster client, and setbacks: failures that may pass.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::options::ClusterOptions;

/// The reason why a request to a cluster failed. The text names the node, the slots and the way
/// out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    message: String,
}

/// The kinds of [`Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Nodes or slots were missing for the whole patience. The same call may succeed later.
    Unavailable,
    /// [`ClusterOptions::stop`](super::ClusterOptions::stop) ended the wait.
    Stopped,
    /// A node rejected the user, the password or the command.
    Refused,
    /// A node has no command `SK.PAGE`.
    NoModule,
    /// The server is not a node of a cluster.
    NoCluster,
    /// A node's answer violates its protocol or the contract of a page.
    Malformed,
}

impl Error {
    pub(super) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    /// Returns the kind of the error.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

/// The reason why one attempt failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Setback {
    /// It may pass: the client repeats the attempt while its patience lasts. The fields are a
    /// sentence that "for 30 s" can be appended to, and the way out.
    Passing(String, &'static str),
    /// It does not pass.
    Final(Error),
}

impl Setback {
    pub(super) fn passing(what: impl Into<String>, way_out: &'static str) -> Self {
        Self::Passing(what.into(), way_out)
    }

    /// Returns the setback of a node that violated the protocol or the contract.
    pub(super) fn malformed(node: &str, what: impl fmt::Display) -> Self {
        Self::Final(Error::new(ErrorKind::Malformed, format!("node {node} answered {what}")))
    }
}

/// Repeats an attempt until it succeeds, fails for good, or the patience is over.
#[derive(Debug)]
pub(super) struct RetryLoop {
    options: Arc<ClusterOptions>,
    began: Instant,
    pause: Duration,
}

/// The first pause between two attempts. Each pause is twice as long as the previous one.
const PAUSE_MIN: Duration = Duration::from_millis(1);
/// The longest pause between two attempts.
const PAUSE_MAX: Duration = Duration::from_millis(200);

impl RetryLoop {
    pub(super) fn begin(options: &Arc<ClusterOptions>) -> Self {
        Self { options: Arc::clone(options), began: Instant::now(), pause: PAUSE_MIN }
    }

    /// Waits before the next attempt.
    ///
    /// # Errors
    /// Errors if the setback does not pass, the patience is over, or the caller ends the wait.
    pub(super) fn after(&mut self, setback: Setback) -> Result<(), Error> {
        let (what, way_out) = match setback {
            Setback::Passing(what, way_out) => (what, way_out),
            Setback::Final(error) => return Err(error),
        };
        // Relaxed: the flag is ordered with nothing.
        if self.options.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            return Err(Error::new(ErrorKind::Stopped, format!("interrupted while waiting: {what}")));
        }
        let patience = self.options.patience;
        if self.began.elapsed() + self.pause > patience {
            let seconds = patience.as_secs_f64();
            return Err(Error::new(ErrorKind::Unavailable, format!("{what} for {seconds} s; {way_out}")));
        }
        std::thread::sleep(self.pause);
        self.pause = (self.pause * 2).min(PAUSE_MAX);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trial(patience: Duration) -> RetryLoop {
        let mut options = ClusterOptions::default();
        options.patience = patience;
        RetryLoop::begin(&Arc::new(options))
    }

    #[test]
    fn a_trial_ends_with_its_patience() {
        let mut trial = trial(Duration::from_millis(20));
        let setback = || Setback::passing("slot 7 has no primary", "look at it");
        let error = std::iter::repeat_with(|| trial.after(setback())).find_map(Result::err).expect("it ends");
        assert_eq!(error.to_string(), "slot 7 has no primary for 0.02 s; look at it");
        assert_eq!(error.kind(), ErrorKind::Unavailable);
    }

    #[test]
    fn final_setbacks_are_not_repeated() {
        let refused = Error::new(ErrorKind::Refused, "no");
        assert_eq!(trial(Duration::from_secs(60 * 60)).after(Setback::Final(refused.clone())), Err(refused));
    }

    #[test]
    fn a_caller_ends_the_waiting() {
        let mut options = ClusterOptions::default();
        options.stop = Some(Arc::new(true.into()));
        let mut trial = RetryLoop::begin(&Arc::new(options));
        let error = trial.after(Setback::passing("slot 7 has no primary", "")).expect_err("it is stopped");
        assert_eq!(error.kind(), ErrorKind::Stopped);
        assert_eq!(error.to_string(), "interrupted while waiting: slot 7 has no primary");
    }
}
