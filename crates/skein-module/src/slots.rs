//! The cluster slots of this node, according to the node itself.
//!
//! The server does not notify modules when its slots change. So the module reads them from the
//! node's line of `CLUSTER NODES`, which takes some 15 microseconds. A page must read them in its
//! own slice, because its invariant requires that. Ranges of one node reuse slots that are at most
//! a millisecond old.

use std::sync::Arc;

use skein_syntax::slots::SlotSet;

use crate::api::{CLUSTER, Ctx, now_usec};
use crate::gil::Gil;

/// The age up to which ranges of one node reuse the slots.
const FRESH_USEC: u64 = 1_000;

/// The slots of the last read, with its time.
static LAST: Gil<Option<(u64, Arc<NodeSlots>)>> = Gil::new(None);

/// The slots of a node at one moment.
#[derive(Debug, PartialEq, Eq)]
pub struct NodeSlots {
    /// The slots that the node owns. For a replica, the slots that its primary owns.
    pub owned: SlotSet,
    /// The slots that are being imported: their keys arrive from another node.
    pub importing: SlotSet,
    /// The slots that are being migrated: their keys leave for another node.
    pub migrating: SlotSet,
    pub is_replica: bool,
}

/// Frees the memory.
pub fn end() {
    LAST.with(|last| *last = None);
}

impl NodeSlots {
    /// Returns the slots of this node at this moment, or `None` outside a cluster.
    pub fn now(ctx: Ctx<'_>) -> Option<Arc<Self>> {
        ctx.has(CLUSTER).then(|| {
            let nodes = ctx.text(c"CLUSTER", c"NODES").unwrap_or_default();
            let slots = Arc::new(Self::parse(&String::from_utf8_lossy(&nodes)));
            LAST.with(|last| *last = Some((now_usec(), slots.clone())));
            slots
        })
    }

    /// Returns slots of this node that are at most a millisecond old, or `None` outside a cluster.
    pub fn lately(ctx: Ctx<'_>) -> Option<Arc<Self>> {
        if !ctx.has(CLUSTER) {
            return None;
        }
        let oldest = now_usec().saturating_sub(FRESH_USEC);
        let fresh = LAST.with(|last| last.clone().filter(|(read, _)| *read >= oldest));
        fresh.map(|(_, slots)| slots).or_else(|| Self::now(ctx))
    }

    /// Parses the reply of `CLUSTER NODES`. Returns empty sets if the reply has no line of this
    /// node.
    ///
    /// ```text
    ///   id address flags primary ping pong epoch link slot...
    ///   07c3 127.0.0.1:7000@17000 myself,master - 0 0 1 connected 0-5460 [93-<-67ed] [77->-67ed]
    /// ```
    fn parse(nodes: &str) -> Self {
        let mut slots = Self {
            owned: SlotSet::EMPTY,
            importing: SlotSet::EMPTY,
            migrating: SlotSet::EMPTY,
            is_replica: false,
        };
        let lines: Vec<Vec<&str>> = nodes.lines().map(|line| line.split(' ').collect()).collect();
        let is_own =
            |line: &&Vec<&str>| line.len() >= LINK && line[FLAGS].split(',').any(|flag| flag == "myself");
        let Some(own) = lines.iter().find(is_own) else { return slots };
        own[LINK..].iter().for_each(|word| slots.add(word));
        if own[PRIMARY] != "-" {
            slots.is_replica = true;
            let primary = lines.iter().find(|line| line.len() >= LINK && line[ID] == own[PRIMARY]);
            primary.into_iter().flat_map(|line| &line[LINK..]).for_each(|word| slots.add(word));
        }
        slots
    }

    /// Adds the slots of one word that follows a node's fields. Ignores unknown words of later
    /// versions.
    fn add(&mut self, word: &str) {
        let moving = word.strip_prefix('[').and_then(|word| word.split_once('-'));
        let (into, text) = match moving {
            Some((slot, rest)) if rest.starts_with('<') => (&mut self.importing, slot),
            Some((slot, rest)) if rest.starts_with('>') => (&mut self.migrating, slot),
            _ => (&mut self.owned, word),
        };
        if let Ok(slots) = text.parse::<SlotSet>() {
            *into = into.union(&slots);
        }
    }
}

/// Positions of the fields in a line.
const ID: usize = 0;
const FLAGS: usize = 2;
const PRIMARY: usize = 3;
/// Number of fields before the slots.
const LINK: usize = 8;
