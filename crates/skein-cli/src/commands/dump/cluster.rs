//! Dumps a cluster: reads the names by a range over all nodes, and the rows of a thousand names at
//! a time, each from the node that owns it.

use skeindb::ScanDirection;
use skeindb::cluster::{ClusterScan, Projection};

use super::{DumpOutput, rows, server};
use crate::bounds::OwnedBounds;
use crate::exit::Failure;
use crate::remote::{ClusterTarget, cluster_failure};

/// Writes the rows of a cluster within `range`.
pub fn dump(target: &ClusterTarget<'_>, range: &OwnedBounds, output: &mut DumpOutput) -> Result<(), Failure> {
    let failed = cluster_failure(target.access.prefix);
    let mut peer = target.connect()?;
    let bounds = (range.0.as_ref().map(Vec::as_slice), range.1.as_ref().map(Vec::as_slice));
    let mut scan = peer.cluster.range(bounds, ScanDirection::Forward, Projection::Names).map_err(&failed)?;
    loop {
        let keys = page(&mut scan, server::PAGE.min(output.left)).map_err(&failed)?;
        if keys.is_empty() || rows::write(&mut peer, &keys, output)?.is_break() {
            return Ok(());
        }
    }
}

/// Returns at most `most` further names.
fn page(scan: &mut ClusterScan, most: u64) -> Result<Vec<Vec<u8>>, skeindb::cluster::Error> {
    let mut keys = Vec::new();
    while (keys.len() as u64) < most {
        match scan.next()? {
            Some(entry) => keys.push(entry.key),
            None => break,
        }
    }
    Ok(keys)
}
