//! Commands on single keys. Each is sent to the primary of its key's slot.
//!
//! `MOVED` changes the slot map and repeats the command. `ASK` repeats it once, after `ASKING`, at
//! the node that imports the slot. If a primary is missing or not ready, the client waits for it
//! while the patience lasts.

use std::collections::BTreeMap;

use skein_syntax::slots::{SLOTS, slot_of_key};

use super::connections::NodeConnections;
use super::error::{Error, RetryLoop, Setback};
use super::map::{SlotMap, redirected};
use crate::client::Reply;

/// Redirections that the client follows without a pause.
const HOPS: usize = 8;

/// The primary of each slot, as far as the client knows.
#[derive(Debug, Clone)]
pub(super) struct RoutingTable {
    nodes: Vec<String>,
    /// The position of each slot's primary in `nodes`.
    of_slot: Vec<Option<usize>>,
}

impl From<&SlotMap> for RoutingTable {
    fn from(map: &SlotMap) -> Self {
        let mut table = Self { nodes: Vec::new(), of_slot: vec![None; usize::from(SLOTS)] };
        for primary in &map.primaries {
            let place = table.place(&primary.address);
            for (first, last) in primary.slots.ranges() {
                table.of_slot[usize::from(first)..=usize::from(last)].fill(Some(place));
            }
        }
        table
    }
}

impl RoutingTable {
    fn node(&self, slot: u16) -> Option<&str> {
        self.of_slot[usize::from(slot)].map(|place| self.nodes[place].as_str())
    }

    /// Sets the primary of a slot. Ignores a slot that no cluster has.
    fn set(&mut self, slot: u16, node: &str) {
        let place = self.place(node);
        if let Some(known) = self.of_slot.get_mut(usize::from(slot)) {
            *known = Some(place);
        }
    }

    fn place(&mut self, node: &str) -> usize {
        self.nodes.iter().position(|known| known == node).unwrap_or_else(|| {
            self.nodes.push(node.to_owned());
            self.nodes.len() - 1
        })
    }
}

/// A reply, and the number of the connection that received it.
#[derive(Debug)]
pub(super) struct RoutedReply {
    pub reply: Reply,
    pub connection: u64,
}

/// A command that still waits for its reply.
#[derive(Debug)]
struct PendingCommand {
    /// The command's position in the pipeline.
    place: usize,
    slot: u16,
    /// The node that `ASK` named.
    ask: Option<String>,
}

/// The meaning of a node's answer for the client.
#[derive(Debug, PartialEq)]
enum RoutedAnswer {
    /// A reply for the caller.
    Done(Reply),
    /// The slot is at this node.
    Moved(u16, String),
    /// The key may be at this node.
    Ask(String),
    /// The command did not run, but may run later.
    Later(String),
}

impl RoutedAnswer {
    fn of(reply: Reply, node: &str) -> Self {
        let Reply::Error(text) = &reply else { return Self::Done(reply) };
        let mut words = text.split(' ');
        match words.next().unwrap_or_default() {
            code @ ("MOVED" | "ASK") => {
                let slot = words.next().and_then(|slot| slot.parse().ok());
                let to = words.next().and_then(|address| redirected(address, node));
                match (slot, to) {
                    (Some(slot), Some(to)) if code == "MOVED" => Self::Moved(slot, to),
                    (Some(_), Some(to)) => Self::Ask(to),
                    _ => Self::Done(reply),
                }
            }
            "TRYAGAIN" | "CLUSTERDOWN" | "LOADING" | "MASTERDOWN" | "READONLY" | "BUSY" => {
                Self::Later(format!("node {node} answered \"{text}\""))
            }
            _ => Self::Done(reply),
        }
    }
}

/// Runs commands, each at the primary of its key. `key_of` returns the key of a command.
pub(super) fn run<C: AsRef<[A]>, A: AsRef<[u8]>>(
    links: &mut NodeConnections,
    table: &mut RoutingTable,
    commands: &[C],
    key_of: impl Fn(&C) -> Vec<u8>,
) -> Result<Vec<RoutedReply>, Error> {
    let mut replies: Vec<Option<RoutedReply>> = commands.iter().map(|_| None).collect();
    let mut pending: Vec<PendingCommand> = (commands.iter().enumerate())
        .map(|(place, command)| PendingCommand { place, slot: slot_of_key(&key_of(command)), ask: None })
        .collect();
    let mut trial = RetryLoop::begin(&links.options);
    let mut hops = 0;
    while !pending.is_empty() {
        let (count, mut setback) = (pending.len(), None);
        pending = pass(links, table, commands, pending, &mut replies, &mut setback)?;
        if pending.len() < count {
            trial = RetryLoop::begin(&links.options);
        }
        hops = if setback.is_none() { hops + 1 } else { 0 };
        if setback.is_none() && hops > HOPS {
            setback =
                Some(Setback::passing("the nodes redirect in a circle", "compare CLUSTER NODES of each"));
        }
        if let Some(setback) = setback {
            trial.after(setback)?;
            let nodes = table.nodes.iter().cloned().collect();
            match links.map(nodes) {
                Ok(map) => *table = RoutingTable::from(&map),
                Err(Setback::Final(error)) => return Err(error),
                // The next pass finds out whether the old map still works.
                Err(Setback::Passing(..)) => {}
            }
        }
    }
    // Each command that is not pending has a reply.
    Ok(replies.into_iter().flatten().collect())
}

/// Sends each command once. Returns the commands that must be sent again.
fn pass<C: AsRef<[A]>, A: AsRef<[u8]>>(
    links: &mut NodeConnections,
    table: &mut RoutingTable,
    commands: &[C],
    pending: Vec<PendingCommand>,
    replies: &mut [Option<RoutedReply>],
    setback: &mut Option<Setback>,
) -> Result<Vec<PendingCommand>, Error> {
    let (mut by_node, mut again): (BTreeMap<String, Vec<PendingCommand>>, Vec<PendingCommand>) =
        Default::default();
    for one in pending {
        if let Some(node) = one.ask.as_deref().or_else(|| table.node(one.slot)) {
            by_node.entry(node.to_owned()).or_default().push(one);
        } else {
            *setback = Some(no_primary(one.slot));
            again.push(one);
        }
    }
    let mut sent = Vec::new();
    for (node, batch) in by_node {
        let outcome = send(links, &node, commands, &batch);
        sent.push((node, batch, outcome));
    }
    for (node, batch, mut outcome) in sent {
        for mut one in batch {
            let reply = outcome.and_then(|()| receive(links, &node, &one));
            one.ask = None;
            outcome = match reply.map(|reply| RoutedAnswer::of(reply, &node)) {
                Ok(RoutedAnswer::Done(reply)) => {
                    replies[one.place] = Some(RoutedReply { reply, connection: links.id(&node) });
                    Ok(())
                }
                Ok(answer) => {
                    follow(answer, &mut one, table, setback);
                    again.push(one);
                    Ok(())
                }
                Err(Setback::Final(error)) => {
                    // Other nodes may still send replies of this pass.
                    links.close_all();
                    return Err(error);
                }
                Err(passing) => {
                    *setback = Some(passing.clone());
                    again.push(one);
                    Err(passing)
                }
            };
        }
    }
    // In the order of the caller.
    again.sort_by_key(|one| one.place);
    Ok(again)
}

fn no_primary(slot: u16) -> Setback {
    Setback::passing(
        format!("slot {slot} has no primary"),
        "give it one (redis-cli --cluster fix), or start its node",
    )
}

fn follow(
    answer: RoutedAnswer,
    one: &mut PendingCommand,
    table: &mut RoutingTable,
    setback: &mut Option<Setback>,
) {
    match answer {
        RoutedAnswer::Moved(slot, to) => table.set(slot, &to),
        RoutedAnswer::Ask(to) => one.ask = Some(to),
        RoutedAnswer::Later(what) => {
            *setback = Some(Setback::passing(what, "look at CLUSTER INFO of this node"));
        }
        RoutedAnswer::Done(_) => {}
    }
}

fn send<C: AsRef<[A]>, A: AsRef<[u8]>>(
    links: &mut NodeConnections,
    node: &str,
    commands: &[C],
    batch: &[PendingCommand],
) -> Result<(), Setback> {
    let asking: &[&[u8]] = &[b"ASKING"];
    let mut words: Vec<Vec<&[u8]>> = Vec::new();
    for one in batch {
        if one.ask.is_some() {
            words.push(asking.to_vec());
        }
        words.push(commands[one.place].as_ref().iter().map(AsRef::as_ref).collect());
    }
    links.send(node, &words)
}

fn receive(links: &mut NodeConnections, node: &str, one: &PendingCommand) -> Result<Reply, Setback> {
    if one.ask.is_some() {
        // The reply to ASKING.
        links.receive(node, links.deadline())?;
    }
    links.receive(node, links.deadline())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_told_apart() {
        let answer = |text: &str| RoutedAnswer::of(Reply::Error(text.to_owned()), "a:1");
        assert_eq!(answer("MOVED 12182 b:2"), RoutedAnswer::Moved(12182, "b:2".to_owned()));
        assert_eq!(answer("MOVED 1 :2"), RoutedAnswer::Moved(1, "a:2".to_owned()));
        assert_eq!(answer("ASK 1 b:2"), RoutedAnswer::Ask("b:2".to_owned()));
        assert!(matches!(answer("CLUSTERDOWN The cluster is down"), RoutedAnswer::Later(_)));
        for text in ["MOVED", "MOVED x b:2", "ASK 1", "WRONGTYPE no", ""] {
            assert_eq!(answer(text), RoutedAnswer::Done(Reply::Error(text.to_owned())));
        }
        assert_eq!(RoutedAnswer::of(Reply::ok(), "a:1"), RoutedAnswer::Done(Reply::ok()));
    }

    #[test]
    fn slots_lead_to_nodes() {
        let mut table = RoutingTable::from(&SlotMap::default());
        table.set(u16::MAX, "c:1");
        table.set(5, "a:1");
        table.set(6, "b:1");
        table.set(5, "b:1");
        assert_eq!((table.node(5), table.node(6), table.node(7)), (Some("b:1"), Some("b:1"), None));
    }
}
