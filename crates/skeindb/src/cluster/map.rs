//! The slot map: the primaries of a cluster and their slots, as one or several nodes see them.
//!
//! The client reads it with `CLUSTER SHARDS`, which also names primaries without slots. `CLUSTER
//! SLOTS` omits them, and such a primary may be importing its first slots.

use std::collections::BTreeSet;

use skein_syntax::slots::{SLOTS, SlotSet};

use crate::client::Reply;

/// A primary, as one node sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Primary {
    /// Host and port.
    pub address: String,
    pub slots: SlotSet,
    /// Whether all views say that it has failed.
    pub has_failed: bool,
}

/// The cluster, as one node or several nodes see it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct SlotMap {
    /// Primaries that have slots or are alive.
    pub primaries: Vec<Primary>,
    /// The ids of all nodes, replicas included.
    pub ids: BTreeSet<String>,
}

impl SlotMap {
    /// Parses the answer of `CLUSTER SHARDS`. `asked` is the address of the node that answered.
    /// `tls` selects the port.
    ///
    /// # Errors
    /// Errors if the answer has another form. The text completes the sentence "the node answered
    /// …".
    pub fn parse(reply: Reply, asked: &str, tls: bool) -> Result<Self, String> {
        let strange = || "a slot map of another form".to_owned();
        let mut map = Self::default();
        for shard in reply.into_array().ok_or_else(strange)? {
            let slots = field(&shard, "slots").and_then(slot_ranges).ok_or_else(strange)?;
            let Some(Reply::Array(nodes)) = field(&shard, "nodes") else { return Err(strange()) };
            let is_primary = |node: &&Reply| text(node, "role").is_some_and(|role| role == "master");
            let has_failed =
                |node: &Reply| text(node, "health").is_some_and(|health| health.starts_with("fail"));
            // If a failed primary lost its slots to a replica, nobody can read its keys. Redis 7.0
            // names it in a shard without slots, Valkey 8 beside the replica that took over.
            let is_replaced =
                slots.is_empty() || nodes.iter().filter(is_primary).any(|node| !has_failed(node));
            for node in nodes {
                map.ids.insert(text(node, "id").ok_or_else(strange)?);
                if is_primary(&node) && !(has_failed(node) && is_replaced) {
                    let address = address(node, asked, tls).ok_or_else(strange)?;
                    map.add(Primary { address, slots: slots.clone(), has_failed: has_failed(node) });
                }
            }
        }
        Ok(map)
    }

    /// Adds the nodes of another view, and the slots that it assigns to them.
    pub fn merge(&mut self, other: Self) {
        other.primaries.into_iter().for_each(|primary| self.add(primary));
        self.ids.extend(other.ids);
    }

    fn add(&mut self, primary: Primary) {
        match self.primaries.iter_mut().find(|known| known.address == primary.address) {
            Some(known) => {
                known.slots = known.slots.union(&primary.slots);
                known.has_failed &= primary.has_failed;
            }
            None => self.primaries.push(primary),
        }
    }

    /// Returns the addresses of the primaries, in order. Omits a failed primary if live primaries
    /// own all its slots: a node may keep an old claim of it, for example of a slot that it was
    /// importing.
    pub fn addresses(&self) -> BTreeSet<String> {
        let live = self.primaries.iter().filter(|primary| !primary.has_failed);
        let live = live.fold(SlotSet::EMPTY, |all, primary| all.union(&primary.slots));
        let is_replaced =
            |primary: &Primary| primary.has_failed && primary.slots.difference(&live).is_empty();
        let primaries = self.primaries.iter().filter(|primary| !is_replaced(primary));
        primaries.map(|primary| primary.address.clone()).collect()
    }
}

/// Returns the value of a map's field. RESP2 writes a map as an array.
fn field<'r>(map: &'r Reply, name: &str) -> Option<&'r Reply> {
    let is_name = |reply: &Reply| reply.bytes() == Some(name.as_bytes());
    match map {
        Reply::Map(pairs) => pairs.iter().find(|(key, _)| is_name(key)).map(|(_, value)| value),
        Reply::Array(items) => items.chunks_exact(2).find(|pair| is_name(&pair[0])).map(|pair| &pair[1]),
        _ => None,
    }
}

fn text(node: &Reply, name: &str) -> Option<String> {
    let bytes = field(node, name)?.bytes()?;
    Some(String::from_utf8_lossy(bytes).into_owned())
}

/// Parses the first and last slot of each range, in turn.
fn slot_ranges(reply: &Reply) -> Option<SlotSet> {
    let Reply::Array(bounds) = reply else { return None };
    let mut slots = SlotSet::EMPTY;
    for pair in bounds.chunks(2) {
        let [Reply::Integer(first), Reply::Integer(last)] = pair else { return None };
        let (first, last) = (u16::try_from(*first).ok()?, u16::try_from(*last).ok()?);
        if last >= SLOTS {
            return None;
        }
        (first..=last).for_each(|slot| slots.insert(slot));
    }
    Some(slots)
}

/// Returns host and port of a node. If the node names no endpoint, its host is the host that was
/// asked.
fn address(node: &Reply, asked: &str, tls: bool) -> Option<String> {
    let port = |name| match field(node, name) {
        Some(Reply::Integer(port)) => u16::try_from(*port).ok().filter(|port| *port > 0),
        _ => None,
    };
    let names = if tls { ["tls-port", "port"] } else { ["port", "tls-port"] };
    let port = names.into_iter().find_map(port)?;
    let known = |host: &String| !host.is_empty() && host != "?";
    let host = ["endpoint", "ip"].into_iter().find_map(|name| text(node, name).filter(known));
    // A null endpoint is deliberate, whatever the address is.
    let host = if field(node, "endpoint") == Some(&Reply::Null) { None } else { host };
    Some(join(host.as_deref().unwrap_or(host_of(asked)), port))
}

/// Returns the host of an address, without brackets.
fn host_of(address: &str) -> &str {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    host.trim_start_matches('[').trim_end_matches(']')
}

fn join(host: &str, port: u16) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

/// Parses the address of a redirection (`MOVED`, `ASK`) that `asked` answered. If it has no host,
/// the host is the one that was asked.
pub(super) fn redirected(address: &str, asked: &str) -> Option<String> {
    let (host, port) = address.rsplit_once(':')?;
    let host = if matches!(host, "" | "?") { host_of(asked) } else { host };
    Some(join(host.trim_start_matches('[').trim_end_matches(']'), port.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bulk(text: &str) -> Reply {
        Reply::Bulk(text.as_bytes().to_vec())
    }

    fn map(fields: &[(&str, Reply)]) -> Reply {
        Reply::Map(fields.iter().map(|(name, value)| (bulk(name), value.clone())).collect())
    }

    fn node(id: &str, endpoint: Reply, role: &str, health: &str) -> Reply {
        map(&[
            ("id", bulk(id)),
            ("port", Reply::Integer(7000)),
            ("tls-port", Reply::Integer(7100)),
            ("ip", bulk("10.0.0.9")),
            ("endpoint", endpoint),
            ("role", bulk(role)),
            ("health", bulk(health)),
        ])
    }

    fn shard(slots: &[i64], nodes: Vec<Reply>) -> Reply {
        let slots = slots.iter().copied().map(Reply::Integer).collect();
        map(&[("slots", Reply::Array(slots)), ("nodes", Reply::Array(nodes))])
    }

    #[test]
    fn primaries_without_slots_are_named_unless_they_failed() {
        let reply = Reply::Array(vec![
            shard(
                &[0, 99, 200, 200],
                vec![
                    node("a", bulk("10.0.0.1"), "master", "online"),
                    node("r", bulk("10.0.0.2"), "replica", "online"),
                ],
            ),
            shard(&[], vec![node("b", bulk("10.0.0.3"), "master", "online")]),
            shard(&[], vec![node("c", bulk("10.0.0.4"), "master", "fail")]),
            shard(&[300, 301], vec![node("d", bulk("10.0.0.5"), "master", "failed")]),
        ]);
        let view = SlotMap::parse(reply, "seed:6379", false).unwrap();
        let seen: Vec<String> =
            view.primaries.iter().map(|node| format!("{} {}", node.address, node.slots)).collect();
        assert_eq!(seen, ["10.0.0.1:7000 0-99 200", "10.0.0.3:7000 ", "10.0.0.5:7000 300-301"]);
        assert_eq!(view.ids.len(), 5);
    }

    /// Valkey 8 keeps a failed primary in the shard of the replica that took over.
    #[test]
    fn a_primary_that_was_replaced_is_not_asked() {
        let nodes = |health| {
            let failed = node("a", bulk("10.0.0.1"), "master", "fail");
            vec![failed, node("b", bulk("10.0.0.2"), "master", health)]
        };
        let primaries = |health| {
            let reply = Reply::Array(vec![shard(&[0, 99], nodes(health))]);
            SlotMap::parse(reply, "seed:6379", false).unwrap().addresses().len()
        };
        assert_eq!((primaries("online"), primaries("loading"), primaries("fail")), (1, 1, 2));
    }

    /// Incident: a primary died while another one was importing a slot from it. The importing node
    /// kept the claim of the dead one after a replica took over. Consequence: every range waited
    /// for the dead node and failed. Fix: a failed primary is asked only for slots that no live
    /// primary owns.
    #[test]
    fn a_failed_primary_with_an_old_claim_is_not_asked() {
        let view = |claims: &[i64]| {
            let reply = Reply::Array(vec![
                shard(&[0, 300], vec![node("b", bulk("10.0.0.2"), "master", "online")]),
                shard(claims, vec![node("a", bulk("10.0.0.1"), "master", "fail")]),
            ]);
            SlotMap::parse(reply, "seed:6379", false).unwrap()
        };
        assert_eq!(view(&[200, 200]).addresses().len(), 1);
        assert_eq!(view(&[300, 301]).addresses().len(), 2, "nobody else has slot 301");
        let mut merged = view(&[]);
        merged.merge(view(&[200, 200]));
        assert_eq!(merged.addresses().len(), 1);
    }

    #[test]
    fn endpoints_are_those_that_the_cluster_prefers() {
        let first = |endpoint, tls| {
            let reply = Reply::Array(vec![shard(&[0, 1], vec![node("a", endpoint, "master", "online")])]);
            SlotMap::parse(reply, "[::1]:6379", tls).unwrap().primaries.remove(0).address
        };
        assert_eq!(first(bulk("geese.example"), false), "geese.example:7000");
        assert_eq!(first(bulk("fe80::7"), true), "[fe80::7]:7100");
        assert_eq!(first(Reply::Null, false), "[::1]:7000");
        assert_eq!(first(bulk("?"), false), "10.0.0.9:7000");
    }

    #[test]
    fn views_are_merged() {
        let primary = |address: &str, slots: &str| Primary {
            address: address.to_owned(),
            slots: slots.parse().unwrap(),
            has_failed: false,
        };
        let mut map = SlotMap { primaries: vec![primary("a:1", "0-9")], ids: BTreeSet::new() };
        let other =
            SlotMap { primaries: vec![primary("b:1", "0-9"), primary("a:1", "11")], ids: BTreeSet::new() };
        map.merge(other);
        assert_eq!(map.primaries, [primary("a:1", "0-9 11"), primary("b:1", "0-9")]);
    }

    #[test]
    fn other_forms_are_refused() {
        for reply in [
            Reply::Null,
            Reply::Array(vec![Reply::Null]),
            Reply::Array(vec![shard(&[0], vec![])]),
            Reply::Array(vec![shard(&[0, 16384], vec![])]),
            Reply::Array(vec![shard(&[-1, 5], vec![])]),
            Reply::Array(vec![shard(&[0, 5], vec![Reply::Null])]),
        ] {
            assert!(SlotMap::parse(reply.clone(), "a:1", false).is_err(), "{reply}");
        }
    }

    #[test]
    fn redirections_name_a_host_or_mean_the_same() {
        assert_eq!(redirected("10.0.0.1:7000", "a:1").as_deref(), Some("10.0.0.1:7000"));
        assert_eq!(redirected(":7000", "a:1").as_deref(), Some("a:7000"));
        assert_eq!(redirected("fe80::7:7000", "a:1").as_deref(), Some("[fe80::7]:7000"));
        assert_eq!(redirected("7000", "a:1"), None);
        assert_eq!(redirected("a:x", "a:1"), None);
    }
}
