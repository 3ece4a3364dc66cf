//! Connections to the nodes of a cluster, one per node, and rounds of requests to many nodes.
//!
//! # Invariant
//! A connection stays open only while every request sent over it has received its reply, or waits
//! for it in a round in progress. The client closes any other connection, so a late reply is never
//! taken for the reply to another request.

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::error::{Error, ErrorKind, Setback};
use super::map::SlotMap;
use super::options::ClusterOptions;
use crate::client::{Client, Reply};

/// The shortest wait for a reply, however late it is.
const WAIT_MIN: Duration = Duration::from_millis(1);
/// How many times the client follows views to nodes that it has not asked yet.
const VIEW_STEPS: usize = 4;

#[derive(Debug)]
struct NodeConnection {
    client: Client,
    id: u64,
}

#[derive(Debug)]
pub(super) struct NodeConnections {
    pub options: Arc<ClusterOptions>,
    open: HashMap<String, NodeConnection>,
    /// The number of connections made so far.
    made: u64,
    /// Nodes whose last connection failed.
    failed: BTreeSet<String>,
}

/// Returns the setback of a node that could not be used.
fn unreachable(node: &str, error: &io::Error) -> Setback {
    if error.kind() == io::ErrorKind::PermissionDenied {
        return Setback::Final(Error::new(ErrorKind::Refused, error.to_string()));
    }
    let why = match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => "it is silent".to_owned(),
        _ => error.to_string(),
    };
    if why.contains("failed to lookup address") {
        return Setback::passing(
            format!("the name of node {node} does not resolve here ({why})"),
            "add it to the DNS or to /etc/hosts, or have the nodes announce addresses \
             (CONFIG SET cluster-preferred-endpoint-type ip)",
        );
    }
    Setback::passing(
        format!("node {node} did not answer ({why})"),
        "start it, or have a replica take its place (CLUSTER FAILOVER)",
    )
}

/// Interprets an error that a node answered to a command of the client itself.
pub(super) fn answered(node: &str, text: &str) -> Setback {
    let code = text.split(' ').next().unwrap_or_default();
    let refused = |kind, message| Setback::Final(Error::new(kind, message));
    match code {
        "NOAUTH" | "WRONGPASS" | "NOPERM" => {
            refused(ErrorKind::Refused, format!("node {node} answered: {text}"))
        }
        "LOADING" | "READONLY" | "CLUSTERDOWN" | "MASTERDOWN" | "TRYAGAIN" | "BUSY" | "MOVED" | "ASK" => {
            Setback::passing(format!("node {node} answered \"{text}\""), "look at CLUSTER INFO of this node")
        }
        _ if text.to_ascii_lowercase().contains("unknown command 'sk.page'") => refused(
            ErrorKind::NoModule,
            format!("node {node} has no command SK.PAGE: load the module libskein.so there (docs/module.md)"),
        ),
        _ => Setback::malformed(node, format_args!("\"{text}\"")),
    }
}

impl NodeConnections {
    pub fn new(options: Arc<ClusterOptions>) -> Self {
        Self { options, open: HashMap::new(), made: 0, failed: BTreeSet::new() }
    }

    /// Returns the connection to a node. Makes one if necessary.
    fn link(&mut self, node: &str) -> Result<&mut NodeConnection, Setback> {
        if !self.open.contains_key(node) {
            // Until the connection is made.
            self.failed.insert(node.to_owned());
            let client = self.connect(node)?;
            self.failed.remove(node);
            self.made += 1;
            self.open.insert(node.to_owned(), NodeConnection { client, id: self.made });
        }
        self.open.get_mut(node).ok_or_else(|| Setback::malformed(node, "nothing"))
    }

    fn connect(&self, node: &str) -> Result<Client, Setback> {
        let failed = |error| unreachable(node, &error);
        let mut client = self.options.connect(node).map_err(failed)?;
        client.set_timeout(Some(self.options.page_timeout)).map_err(failed)?;
        match client.call(&self.options.hello()).map_err(failed)? {
            Reply::Error(text) => Err(answered(node, &text)),
            _ => Ok(client),
        }
    }

    /// Returns the number of the connection to a node. A new connection to the same node has a new
    /// number.
    pub fn id(&self, node: &str) -> u64 {
        self.open.get(node).map_or(0, |link| link.id)
    }

    /// Closes all connections.
    pub fn close_all(&mut self) {
        self.open.clear();
    }

    /// Sends commands to a node.
    pub fn send<C: AsRef<[A]>, A: AsRef<[u8]>>(&mut self, node: &str, commands: &[C]) -> Result<(), Setback> {
        let timeout = Some(self.options.page_timeout);
        let client = &mut self.link(node)?.client;
        let sent = client.set_timeout(timeout).and_then(|()| client.send(commands));
        self.checked(node, sent)
    }

    /// Reads the next reply of a node, until `deadline`.
    pub fn receive(&mut self, node: &str, deadline: Instant) -> Result<Reply, Setback> {
        let Some(link) = self.open.get_mut(node) else {
            return Err(unreachable(node, &io::ErrorKind::NotConnected.into()));
        };
        let left = deadline.saturating_duration_since(Instant::now()).max(WAIT_MIN);
        let reply = link.client.set_timeout(Some(left)).and_then(|()| link.client.receive());
        self.checked(node, reply)
    }

    /// Closes a connection that failed.
    fn checked<T>(&mut self, node: &str, result: io::Result<T>) -> Result<T, Setback> {
        result.map_err(|error| {
            self.open.remove(node);
            self.failed.insert(node.to_owned());
            if error.kind() == io::ErrorKind::InvalidData {
                Setback::malformed(node, format_args!("something that is not RESP: {error}"))
            } else {
                unreachable(node, &error)
            }
        })
    }

    /// Returns the deadline of a reply.
    pub fn deadline(&self) -> Instant {
        Instant::now() + self.options.page_timeout
    }

    /// Sends a command to many nodes. The nodes work on it in parallel.
    pub fn ask(&mut self, nodes: impl IntoIterator<Item = String>, command: &[Vec<u8>]) -> RequestRound {
        let sent = |node: String| {
            let sent = self.send(&node, &[command]);
            (node, sent)
        };
        RequestRound { asked: nodes.into_iter().map(sent).collect() }
    }

    /// Reads the replies of a round, each until the page timeout from now.
    pub fn replies(&mut self, round: RequestRound) -> Vec<(String, Result<Reply, Setback>)> {
        let deadline = self.deadline();
        let reply = |(node, sent): (String, Result<(), Setback>)| {
            let reply = sent.and_then(|()| self.receive(&node, deadline));
            (node, reply)
        };
        round.asked.into_iter().map(reply).collect()
    }

    /// Reads the map from `nodes`, and from all primaries that their views name. If the last
    /// connection to a node failed, skips the node unless no other is left: a silent node would
    /// take a page timeout each time.
    ///
    /// # Errors
    /// If no node answered a map, returns the first error that does not pass, or else the first
    /// error.
    pub fn map(&mut self, nodes: BTreeSet<String>) -> Result<SlotMap, Setback> {
        let command = [b"CLUSTER".to_vec(), b"SHARDS".to_vec()];
        let usable: BTreeSet<String> = nodes.difference(&self.failed).cloned().collect();
        let nodes = if usable.is_empty() { nodes } else { usable };
        let (mut map, mut asked, mut next) = (SlotMap::default(), BTreeSet::new(), nodes);
        let (mut answers, mut setback) = (0, None);
        for _ in 0..VIEW_STEPS {
            asked.extend(next.iter().cloned());
            let round = self.ask(next, &command);
            for (node, reply) in self.replies(round) {
                match reply.and_then(|reply| self.view(&node, reply)) {
                    Ok(view) => {
                        answers += 1;
                        map.merge(view);
                    }
                    Err(Setback::Final(error)) => return Err(Setback::Final(error)),
                    Err(passing) => setback = setback.or(Some(passing)),
                }
            }
            next = &(&map.addresses() - &asked) - &self.failed;
            if next.is_empty() {
                break;
            }
        }
        match setback {
            Some(setback) if answers == 0 => Err(setback),
            _ => Ok(map),
        }
    }

    fn view(&self, node: &str, reply: Reply) -> Result<SlotMap, Setback> {
        match reply {
            Reply::Error(text) if is_no_cluster(&text) => Err(Setback::Final(Error::new(
                ErrorKind::NoCluster,
                format!("{node} is not a node of a cluster: it answered \"{text}\""),
            ))),
            Reply::Error(text) => Err(answered(node, &text)),
            reply => {
                SlotMap::parse(reply, node, self.options.tls).map_err(|what| Setback::malformed(node, what))
            }
        }
    }
}

fn is_no_cluster(text: &str) -> bool {
    text.contains("cluster support disabled") || text.to_ascii_lowercase().contains("unknown command")
}

/// Requests that were sent to many nodes, or could not be sent.
#[derive(Debug)]
pub(super) struct RequestRound {
    asked: Vec<(String, Result<(), Setback>)>,
}
