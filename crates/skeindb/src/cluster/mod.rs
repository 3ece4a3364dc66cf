//! A client for a whole Redis or Valkey cluster with SkeinDB's module: ranges of keys in order,
//! across all nodes, and commands that the client routes to the right node.
//!
//! ```no_run
//! use std::ops::Bound;
//!
//! use skeindb::ScanDirection;
//! use skeindb::cluster::{Cluster, ClusterOptions, Projection};
//!
//! let cluster = Cluster::connect(&["127.0.0.1:7000"], ClusterOptions::default())?;
//! let from = (Bound::Included(&b"goose:"[..]), Bound::Unbounded);
//! let mut geese = cluster.range(from, ScanDirection::Forward, Projection::Names)?;
//! while let Some(goose) = geese.next()? {
//!     println!("{}", goose.key.escape_ascii());
//! }
//! # Ok::<(), skeindb::cluster::Error>(())
//! ```
//!
//! # Consistency
//!
//! A range returns every key that is present during the whole range exactly once, in order. It is
//! not a snapshot: a key that is inserted or removed meanwhile may or may not be returned. The
//! promise also holds while slots migrate and while primaries fail over, on two conditions:
//!
//! - All nodes know each other before slots migrate. While one window is read, which takes
//!   milliseconds, a slot changes its primary at most once and no key is moved back and forth. No
//!   migration is aborted within a second of its start.
//! - Replication is asynchronous: a failover may lose the last writes. A lost key was not present
//!   all the time.
//!
//! If the nodes cannot prove that a window has every key, the client repeats the window, up to the
//! patience of the [`ClusterOptions`]. After that it returns an error, and never a range with a
//! gap.
//!
//! # Bounds
//!
//! The client asks all primaries at once, and they work in parallel. It requests the next window
//! before it returns the entries of the present one. A page has at most 1,000 names or about 256
//! KiB, plus one entry if that is longer. At most two pages of each node are in memory. A page that
//! was requested ahead waits in the buffers of its connection. While slots migrate, and in the
//! first window of a range, the client asks every node twice.
//!
//! # Parts
//!
//! ```text
//!   mod     Cluster ─┬─ scan    rounds of pages ─ page · page_request · window (the rules; no I/O)
//!                    └─ route   commands by slot ─ MOVED, ASK
//!              both: connections (rounds) · map (CLUSTER SHARDS) · error (patience)
//!                    options (users, TLS, times)
//! ```
//!
//! Read `window` first, then `page`, `scan` and `route`. Design: `docs/design/cluster-ranges.md`.

use std::collections::BTreeSet;
use std::ops::Bound;
use std::sync::Arc;

use crate::ScanDirection;
use crate::client::Reply;

mod connections;
mod error;
mod map;
mod options;
mod page;
mod page_request;
mod route;
mod scan;
mod window;

pub use error::{Error, ErrorKind};
pub use options::{ClusterLogin, ClusterOptions};
pub use page::ClusterEntry;
pub use page_request::Projection;
pub use scan::ClusterScan;

use connections::NodeConnections;
use error::{RetryLoop, Setback};
use page_request::RangeRequest;
use route::RoutingTable;

/// The bounds of a range of keys.
pub type RangeBounds<'k> = (Bound<&'k [u8]>, Bound<&'k [u8]>);

/// A client for a cluster.
#[derive(Debug)]
pub struct Cluster {
    links: NodeConnections,
    /// Nodes that know the slot map: those that the caller named, and the primaries of the first
    /// map.
    seeds: BTreeSet<String>,
    /// The ids of all nodes.
    ids: BTreeSet<String>,
    table: RoutingTable,
    /// The connection that answered the last call.
    connection: u64,
}

impl Cluster {
    /// Connects to a cluster through some known nodes, given by host and port, and reads its slot
    /// map.
    ///
    /// # Errors
    /// Errors if none of `seeds` answers, one of them is not a node of a cluster, or a node rejects
    /// the user.
    pub fn connect<S: AsRef<str>>(seeds: &[S], options: ClusterOptions) -> Result<Self, Error> {
        let mut links = NodeConnections::new(Arc::new(options));
        let mut seeds: BTreeSet<String> = seeds.iter().map(|seed| seed.as_ref().to_owned()).collect();
        let map = links.map(seeds.clone()).map_err(at_once)?;
        seeds.extend(map.addresses());
        Ok(Self { table: RoutingTable::from(&map), ids: map.ids, connection: 0, links, seeds })
    }

    /// Starts a range: the keys within `bounds`, from the smallest or from the greatest. `shown`
    /// selects the parts of each key that are returned.
    ///
    /// The range reads the slot map again and has its own connections, so several ranges may be
    /// read at once.
    ///
    /// ```no_run
    /// # use skeindb::cluster::{Cluster, ClusterOptions, Projection};
    /// use std::ops::Bound;
    ///
    /// use skeindb::ScanDirection;
    ///
    /// let cluster = Cluster::connect(&["127.0.0.1:7000"], ClusterOptions::default())?;
    /// let all = (Bound::Unbounded, Bound::Unbounded);
    /// let mut first = cluster.range(all, ScanDirection::Forward, Projection::Whole)?.limit(100);
    /// while let Some(entry) = first.next()? {
    ///     println!("{} = {:?}", entry.key.escape_ascii(), entry.held);
    /// }
    /// // The next hundred, perhaps in another process.
    /// let after = first.resume_key().map_or(Bound::Unbounded, Bound::Excluded);
    /// let rest = cluster.range((after, Bound::Unbounded), ScanDirection::Forward, Projection::Names)?.limit(100);
    /// # Ok::<(), skeindb::cluster::Error>(())
    /// ```
    ///
    /// # Errors
    /// Errors if no node answers a slot map for the whole patience.
    pub fn range(
        &self,
        bounds: RangeBounds<'_>,
        direction: ScanDirection,
        shown: Projection,
    ) -> Result<ClusterScan, Error> {
        let mut links = NodeConnections::new(self.links.options.clone());
        let mut trial = RetryLoop::begin(&self.links.options);
        let nodes = loop {
            match links.map(self.seeds.clone()) {
                Ok(map) => break map.addresses(),
                Err(setback) => trial.after(setback)?,
            }
        };
        let (min, max) = (bounds.0.map(<[u8]>::to_vec), bounds.1.map(<[u8]>::to_vec));
        Ok(ClusterScan::new(
            links,
            self.seeds.clone(),
            nodes,
            RangeRequest { min, max, direction, shown, limit: None },
        ))
    }

    /// Counts the keys within `bounds`. It reads all names as a range does. So the count has the
    /// promise of a range, and the same cost: all names are sent.
    ///
    /// ```no_run
    /// # use skeindb::cluster::{Cluster, ClusterOptions};
    /// use std::ops::Bound;
    ///
    /// let cluster = Cluster::connect(&["127.0.0.1:7000"], ClusterOptions::default())?;
    /// println!("{} keys", cluster.count((Bound::Unbounded, Bound::Unbounded))?);
    /// # Ok::<(), skeindb::cluster::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`range`](Self::range) and [`ClusterScan::next`].
    pub fn count(&self, bounds: RangeBounds<'_>) -> Result<u64, Error> {
        let mut scan = self.range(bounds, ScanDirection::Forward, Projection::Names)?;
        let mut keys = 0;
        while scan.next()?.is_some() {
            keys += 1;
        }
        Ok(keys)
    }

    /// Runs a command at the primary of `key`'s slot, and returns its reply in RESP3.
    ///
    /// The client follows redirections and failovers. If a connection breaks before the reply, it
    /// sends the command again, so the command may run twice. Call only commands for which that is
    /// harmless, such as `SET`, `HSET` and `DEL`.
    ///
    /// ```no_run
    /// # use skeindb::client::Reply;
    /// # use skeindb::cluster::{Cluster, ClusterOptions};
    /// let mut cluster = Cluster::connect(&["127.0.0.1:7000"], ClusterOptions::default())?;
    /// assert_eq!(cluster.call(b"goose", &[b"SET", b"goose", b"grey"])?, Reply::ok());
    /// # Ok::<(), skeindb::cluster::Error>(())
    /// ```
    ///
    /// # Errors
    /// Errors if the slot has no primary that answers for the whole patience, or if a node rejects
    /// the user. Any other error that a node answers is a [`Reply::Error`].
    pub fn call(&mut self, key: &[u8], command: &[&[u8]]) -> Result<Reply, Error> {
        let replies = route::run(&mut self.links, &mut self.table, &[command], |_| key.to_vec())?;
        let routed = replies.into_iter().next();
        self.connection = routed.as_ref().map_or(0, |routed| routed.connection);
        Ok(routed.map_or(Reply::Null, |routed| routed.reply))
    }

    /// Returns the number of the connection that answered the last [`call`](Self::call). It changes
    /// when the key's slot moves, and when a connection is made again. A cursor (`HSCAN`) is valid
    /// for one connection: another process stores fields in another order.
    pub fn connection(&self) -> u64 {
        self.connection
    }

    /// Runs commands that have their key as the second word, such as `SET`, `GET`, `HSET` and
    /// `DEL`, each at its primary. The nodes work in parallel. Returns the replies in the order of
    /// the commands.
    ///
    /// Commands on different keys run in any order, and so do commands on one key while its slot
    /// moves. A command may run twice, as with [`call`](Self::call).
    ///
    /// # Errors
    /// Those of [`call`](Self::call). Some of the commands may have run by then.
    pub fn pipeline<C: AsRef<[A]>, A: AsRef<[u8]>>(&mut self, commands: &[C]) -> Result<Vec<Reply>, Error> {
        let key_of =
            |command: &C| command.as_ref().get(1).map(|key| key.as_ref().to_vec()).unwrap_or_default();
        let replies = route::run(&mut self.links, &mut self.table, commands, key_of)?;
        Ok(replies.into_iter().map(|routed| routed.reply).collect())
    }

    /// Returns the ids of the cluster's nodes, replicas included, as known to the nodes that were
    /// asked while connecting.
    pub fn node_ids(&self) -> impl Iterator<Item = &str> {
        self.ids.iter().map(String::as_str)
    }
}

/// Converts the setback of an attempt that is not repeated.
fn at_once(setback: Setback) -> Error {
    match setback {
        Setback::Passing(what, way_out) => Error::new(ErrorKind::Unavailable, format!("{what}; {way_out}")),
        Setback::Final(error) => error,
    }
}
