//! Reads keys in order from a server or a cluster.

use std::collections::VecDeque;
use std::ops::Bound;

use skeindb::ScanDirection;
use skeindb::client::{Reply, bound};
use skeindb::cluster::{ClusterEntry, ClusterScan, Projection};

use crate::bounds::OwnedBounds;
use crate::exit::Failure;
use crate::remote::{
    ClusterPeer, ClusterTarget, CommandPeer, ServerArgs, ServerPeer, ServerTarget, cluster_failure,
};
use crate::target::DEFAULT_ADDRESS;

/// Keys per request to a server.
const PAGE: u64 = 1000;

/// The source to read: a server, unless a cluster is named.
#[derive(clap::Args)]
pub struct SourceArgs {
    /// The server: HOST:PORT, redis://HOST:PORT, rediss://HOST:PORT for TLS, or unix:PATH.
    #[arg(long, value_name = "SERVER", default_value = DEFAULT_ADDRESS, conflicts_with = "cluster")]
    from: String,
    /// A node of a cluster, instead of a server: all nodes are read. May be given several times, or
    /// with commas.
    #[arg(long, value_name = "HOST:PORT", value_delimiter = ',')]
    cluster: Vec<String>,
    #[command(flatten)]
    access: ServerArgs,
}

/// A server or a cluster to which the client is logged in.
pub enum RangeSource {
    Server(ServerPeer),
    Cluster(ClusterPeer),
}

/// A range in progress.
pub enum RangeKeys {
    Server(Box<ServerKeys>),
    Cluster(Box<ClusterScan>, &'static str),
}

/// The rest of a server's range.
pub struct ServerKeys {
    peer: ServerPeer,
    range: OwnedBounds,
    direction: ScanDirection,
    values: bool,
    found: VecDeque<ClusterEntry>,
    left: u64,
    at_end: bool,
}

impl SourceArgs {
    pub fn connect(&self) -> Result<RangeSource, Failure> {
        let access = self.access.access();
        if !self.cluster.is_empty() {
            return ClusterTarget { nodes: &self.cluster, access }.connect().map(RangeSource::Cluster);
        }
        ServerTarget { address: &self.from, access }.connect().map(RangeSource::Server)
    }
}

impl RangeSource {
    /// Starts a range of at most `left` keys. It uses RESP3, which distinguishes types.
    pub fn range(
        self,
        range: OwnedBounds,
        direction: ScanDirection,
        values: bool,
        left: u64,
    ) -> Result<RangeKeys, Failure> {
        match self {
            Self::Server(mut peer) => {
                peer.one(&[b"HELLO", b"3"])?;
                let found = VecDeque::new();
                let at_end = left == 0;
                let keys = ServerKeys { peer, range, direction, values, found, left, at_end };
                Ok(RangeKeys::Server(Box::new(keys)))
            }
            Self::Cluster(peer) => {
                let bounds = (range.0.as_ref().map(Vec::as_slice), range.1.as_ref().map(Vec::as_slice));
                let shown = if values { Projection::Whole } else { Projection::Names };
                let scan = peer.cluster.range(bounds, direction, shown);
                let scan = scan.map_err(cluster_failure(peer.prefix()))?.limit(left);
                Ok(RangeKeys::Cluster(Box::new(scan), peer.prefix()))
            }
        }
    }
}

impl RangeKeys {
    /// Returns the next key, with its value if that was requested.
    pub fn next(&mut self) -> Result<Option<ClusterEntry>, Failure> {
        match self {
            Self::Server(keys) => keys.next(),
            Self::Cluster(scan, prefix) => scan.next().map_err(cluster_failure(prefix)),
        }
    }
}

impl ServerKeys {
    fn next(&mut self) -> Result<Option<ClusterEntry>, Failure> {
        if self.found.is_empty() && !self.at_end {
            self.read()?;
        }
        Ok(self.found.pop_front())
    }

    fn read(&mut self) -> Result<(), Failure> {
        let wanted = PAGE.min(self.left);
        let limit = wanted.to_string();
        let (min, max) = (bound(&self.range.0, b"-"), bound(&self.range.1, b"+"));
        let mut words: Vec<&[u8]> = vec![b"SK.RANGE", &min, &max, b"LIMIT", limit.as_bytes()];
        if self.direction == ScanDirection::Backward {
            words.push(b"REV");
        }
        if !self.values {
            words.push(b"NOVALUES");
        }
        let page = self.peer.one(&words)?;
        let Reply::Array(items) = page else { return Err(self.peer.unexpected(&page)) };
        self.found = items.into_iter().map(|item| self.entry(item)).collect::<Result<_, _>>()?;
        let found = self.found.len() as u64;
        self.left = self.left.saturating_sub(found);
        self.at_end = found < wanted || self.left == 0;
        if let Some(last) = self.found.back() {
            let last = Bound::Excluded(last.key.clone());
            match self.direction {
                ScanDirection::Forward => self.range.0 = last,
                ScanDirection::Backward => self.range.1 = last,
            }
        }
        Ok(())
    }

    fn entry(&self, item: Reply) -> Result<ClusterEntry, Failure> {
        match item {
            Reply::Bulk(key) if !self.values => Ok(ClusterEntry { key, held: None }),
            Reply::Array(pair) if self.values => match <[Reply; 2]>::try_from(pair) {
                Ok([Reply::Bulk(key), held]) => Ok(ClusterEntry { key, held: Some(held) }),
                Ok(pair) => Err(self.peer.unexpected(&Reply::Array(pair.into()))),
                Err(pair) => Err(self.peer.unexpected(&Reply::Array(pair))),
            },
            other => Err(self.peer.unexpected(&other)),
        }
    }
}
