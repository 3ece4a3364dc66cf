//! A range over a cluster, read window by window.
//!
//! ```text
//!   round n   ─ ask all ─ read all ─ rules ─► window n ─► entries, returned one by one
//!   round n+1              └ requested before the entries of window n are returned
//! ```

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use skein_syntax::slots::SlotSet;

use super::connections::{NodeConnections, RequestRound, answered};
use super::error::{Error, RetryLoop, Setback};
use super::page::{ClusterEntry, NodePage};
use super::page_request::RangeRequest;
use super::window::{self, MergeWindow, NextRequests};
use crate::client::Reply;

/// After this time, the previous round says nothing about slots that are in motion.
const RECENT: Duration = Duration::from_secs(1);

/// A range over a cluster in progress: [`Cluster::range`](super::Cluster::range).
///
/// It has its own connections, and closes them when it is dropped.
#[derive(Debug)]
pub struct ClusterScan {
    links: NodeConnections,
    /// Nodes that know the slot map.
    seeds: BTreeSet<String>,
    /// The primaries.
    nodes: BTreeSet<String>,
    /// The range behind the present window.
    request: RangeRequest,
    window: MergeWindow,
    /// The round of the next window and the time of its request, if there was one.
    ahead: Option<(Instant, RequestRound)>,
    /// The time of the previous round's request, and the slots that were in motion then.
    recent: Option<(Instant, SlotSet)>,
    at_end: bool,
    /// The last key that was returned.
    resume: Option<Vec<u8>>,
    /// The number of keys still wanted, if there is a limit.
    left: Option<u64>,
}

impl ClusterScan {
    pub(super) fn new(
        links: NodeConnections,
        seeds: BTreeSet<String>,
        nodes: BTreeSet<String>,
        request: RangeRequest,
    ) -> Self {
        Self {
            links,
            seeds,
            nodes,
            request,
            window: MergeWindow::default(),
            ahead: None,
            recent: None,
            at_end: false,
            resume: None,
            left: None,
        }
    }

    /// Ends the range after `keys` keys. If that is less than a page, the client requests smaller
    /// pages.
    #[must_use]
    pub fn limit(self, keys: u64) -> Self {
        Self { left: Some(keys), ..self }
    }

    /// Returns the next entry of the range, or `None` at its end.
    ///
    /// # Errors
    /// Errors if no window could be read for the whole patience, or if a node answered an error
    /// that does not pass. The range keeps its position, so the caller may call again.
    #[expect(clippy::should_implement_trait, reason = "an iterator that failed ends; this goes on")]
    pub fn next(&mut self) -> Result<Option<ClusterEntry>, Error> {
        loop {
            if self.left == Some(0) {
                return Ok(None);
            }
            if let Some(entry) = self.window.entries.pop_front() {
                self.left = self.left.map(|left| left - 1);
                self.resume = Some(entry.key.clone());
                return Ok(Some(entry));
            }
            if self.at_end {
                return Ok(None);
            }
            self.read_window()?;
        }
    }

    /// Returns the key behind which another range can continue this one: every key up to it was
    /// returned. `None` before the first key.
    pub fn resume_key(&self) -> Option<&[u8]> {
        self.resume.as_deref()
    }

    fn read_window(&mut self) -> Result<(), Error> {
        let mut trial = RetryLoop::begin(&self.links.options);
        let window = loop {
            match self.attempt() {
                Ok(window) => break window,
                Err(setback) => trial.after(setback)?,
            }
            // If the map cannot be read, the next attempt finds out whether the old one still
            // works.
            if let Err(Setback::Final(error)) = self.read_map() {
                return Err(error);
            }
        };
        match &window.end {
            Some(end) => self.request.resume_after(end.clone()),
            None => self.at_end = true,
        }
        self.window = window;
        if !self.at_end && self.left.is_none_or(|left| left > self.window.entries.len() as u64) {
            self.ahead = Some((Instant::now(), self.ask()));
        }
        Ok(())
    }

    /// Reads the map again. Returns whether it names other nodes than before.
    fn read_map(&mut self) -> Result<bool, Setback> {
        let nodes = self.links.map(&self.nodes | &self.seeds)?.addresses();
        let changed = nodes != self.nodes;
        if changed {
            self.nodes = nodes;
            self.recent = None;
        }
        Ok(changed)
    }

    fn ask(&mut self) -> RequestRound {
        let wanted = self.left.map(|left| left.saturating_sub(self.window.entries.len() as u64));
        let words = RangeRequest { limit: wanted, ..self.request.clone() }.words();
        self.links.ask(self.nodes.iter().cloned(), &words)
    }

    fn attempt(&mut self) -> Result<MergeWindow, Setback> {
        let (asked, round) = match self.ahead.take() {
            Some(ahead) => ahead,
            None => (Instant::now(), self.ask()),
        };
        let before = self.recent.take().filter(|(at, _)| asked.duration_since(*at) < RECENT);
        let firsts = self.pages(round)?;
        let mut moving = window::in_motion(&firsts);
        let before = before.as_ref().map(|(_, slots)| slots);
        let window = window::read(firsts, before, self.request.direction, |next| {
            if next == NextRequests::MapAndSecondPages && self.read_map()? {
                return Err(Setback::passing(
                    "the primaries of the cluster changed",
                    "wait for the end of the change",
                ));
            }
            let round = self.ask();
            let seconds = self.pages(round)?;
            moving = moving.union(&window::in_motion(&seconds));
            Ok(seconds)
        });
        self.recent = Some((asked, moving));
        window
    }

    /// Reads the pages of a round. Reads all replies even if one is an error, so the connections
    /// remain usable.
    fn pages(&mut self, round: RequestRound) -> Result<Vec<NodePage>, Setback> {
        let replies = self.links.replies(round);
        let mut pages = Vec::with_capacity(replies.len());
        let mut setback = None;
        for (node, reply) in replies {
            let page = reply.and_then(|reply| match reply {
                Reply::Error(text) => Err(answered(&node, &text)),
                reply => {
                    NodePage::parse(reply, &self.request).map_err(|what| Setback::malformed(&node, what))
                }
            });
            match page {
                Ok(page) => pages.push(page),
                Err(last @ Setback::Final(_)) => return Err(last),
                Err(passing) => setback = setback.or(Some(passing)),
            }
        }
        setback.map_or(Ok(pages), Err)
    }
}
