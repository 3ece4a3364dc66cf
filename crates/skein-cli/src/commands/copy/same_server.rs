//! Detects that two addresses are the same server. A copy onto itself would remove the keys that it
//! is about to read.
//!
//! ```text
//!   1. compare `run_id` of INFO, which is random for each start of a server
//!   2. if one server has no `run_id`: give the connection to the target a random name,
//!      and search for it in the source's list of clients
//! ```
//!
//! A node of a cluster has an id, which the nodes of the target know. If the user lacks the right
//! to ask, the check finds nothing, and the copy begins.

use skein_log::random_id;
use skeindb::client::Reply;

use crate::exit::Failure;
use crate::remote::{ClusterPeer, CommandPeer, ServerPeer};

/// Refuses to copy from a server to itself.
pub fn refuse(from: &mut ServerPeer, to: &mut ServerPeer) -> Result<(), Failure> {
    let same = match (run_id(from)?, run_id(to)?) {
        (Some(from), Some(to)) => from == to,
        _ => knows(from, to)?,
    };
    if !same {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "{} and {} are the same server; name another one by --to",
        from.address, to.address
    )))
}

/// Refuses to copy from a node of a cluster into the cluster.
pub fn refuse_member(from: &mut ServerPeer, to: &ClusterPeer) -> Result<(), Failure> {
    // A server that is not a node, or a user without the right to ask, gets an error.
    let Reply::Bulk(id) = from.call(&[b"CLUSTER", b"MYID"])? else { return Ok(()) };
    if !to.cluster.node_ids().any(|known| known.as_bytes() == id) {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "{} is a node of {}; name another target by --to-cluster",
        from.address,
        to.address()
    )))
}

fn run_id(peer: &mut ServerPeer) -> Result<Option<Vec<u8>>, Failure> {
    let Reply::Bulk(info) = peer.call(&[b"INFO", b"server"])? else { return Ok(None) };
    let mut lines = info.split(|byte| matches!(byte, b'\r' | b'\n'));
    let id = lines.find_map(|line| line.strip_prefix(b"run_id:"));
    Ok(id.filter(|id| !id.is_empty()).map(<[u8]>::to_vec))
}

/// Returns whether the connection to the target is one of the source's clients.
fn knows(from: &mut ServerPeer, to: &mut ServerPeer) -> Result<bool, Failure> {
    let mut name = String::from("skein-copy-");
    name.extend(random_id().iter().map(|byte| format!("{byte:02x}")));
    if let Reply::Error(_) = to.call(&[b"CLIENT", b"SETNAME", name.as_bytes()])? {
        return Ok(false);
    }
    let Reply::Bulk(clients) = from.call(&[b"CLIENT", b"LIST"])? else { return Ok(false) };
    Ok(clients.windows(name.len()).any(|found| found == name.as_bytes()))
}
