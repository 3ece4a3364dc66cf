//! A cluster to work with: some of its nodes, and how to access them.

use std::sync::Arc;
use std::time::Duration;

use skeindb::client::{Client, Reply};
use skeindb::cluster::{Cluster, ClusterLogin, ClusterOptions, Error, ErrorKind};

use super::address::{ServerAddress, ServerEndpoint};
use super::args::AccessOptions;
use super::peer::{CommandPeer, way_out};
use super::{ServerTarget, tls};
use crate::exit::Failure;
use crate::interrupt::Interrupt;

/// Ends the message if no node can be reached.
const NODE_QUESTION: &str = "is a node of the cluster running there?";
/// The time limit of making a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// A cluster, as the command line names it.
pub struct ClusterTarget<'a> {
    /// Some of its nodes.
    pub nodes: &'a [String],
    /// How to access them.
    pub access: AccessOptions<'a>,
}

/// A cluster to which the client is logged in.
pub struct ClusterPeer {
    pub cluster: Cluster,
    address: String,
    prefix: &'static str,
}

impl ClusterTarget<'_> {
    /// Connects, logs in, and reads the slot map.
    pub fn connect(&self) -> Result<ClusterPeer, Failure> {
        self.probe()?;
        let prefix = self.access.prefix;
        let addresses =
            self.nodes.iter().map(|node| ServerAddress::parse(node)).collect::<Result<Vec<_>, _>>();
        let addresses = addresses.map_err(Failure::usage)?;
        let places: Vec<&str> = addresses.iter().filter_map(tcp).collect();
        let options = self.options(&addresses)?;
        let cluster = Cluster::connect(&places, options).map_err(|error| {
            let mut failure = cluster_failure(prefix)(error.clone());
            if error.kind() == ErrorKind::NoCluster {
                failure.message.push_str("; name a single server by --from or --to");
            }
            failure
        })?;
        Ok(ClusterPeer { cluster, address: format!("the cluster of {}", self.nodes.join(",")), prefix })
    }

    /// Connects to the first node that can be reached. A mistake in the options then has the same
    /// message as with a server.
    fn probe(&self) -> Result<(), Failure> {
        let mut failed = Failure::usage("name a node of the cluster: HOST:PORT");
        for node in self.nodes {
            if node.starts_with("unix:") {
                return Err(Failure::usage(
                    "a node of a cluster must be reached by TCP, not by a Unix socket; write HOST:PORT",
                ));
            }
            match (ServerTarget { address: node, access: self.access }.connect_or_ask(NODE_QUESTION)) {
                Ok(_) => return Ok(()),
                Err(failure) => failed = failure,
            }
        }
        Err(failed)
    }

    fn options(&self, addresses: &[ServerAddress<'_>]) -> Result<ClusterOptions, Failure> {
        let mut options = ClusterOptions::default();
        let user = addresses.iter().find_map(|address| address.user);
        options.login = self.access.login(user)?.map(|login| ClusterLogin {
            user: login.user.clone().unwrap_or_else(|| "default".to_owned()),
            password: login.password,
        });
        options.stop = Some(Interrupt::flag()?);
        options.tls = addresses.iter().any(|address| self.access.wants_tls(address));
        if !options.tls {
            return Ok(options);
        }
        let config = self.access.trusting()?;
        let name = self.access.server_name.map(str::to_owned);
        Ok(options.connector(move |node| {
            let name = tls::name_for(name.as_deref(), node)?;
            Client::connect_tls_within(node, name, Arc::clone(&config), CONNECT_TIMEOUT)
        }))
    }
}

fn tcp<'a>(address: &ServerAddress<'a>) -> Option<&'a str> {
    match address.place {
        ServerEndpoint::Tcp(place) => Some(place),
        ServerEndpoint::Unix(_) => None,
    }
}

/// Converts a cluster's error into a command's failure. `prefix` is that of the access options.
pub fn cluster_failure(prefix: &'static str) -> impl Fn(Error) -> Failure {
    move |error| {
        let text = error.to_string();
        let way_out = way_out(&text, prefix);
        Failure::new(text + &way_out)
    }
}

impl CommandPeer for ClusterPeer {
    fn address(&self) -> &str {
        &self.address
    }

    fn prefix(&self) -> &'static str {
        self.prefix
    }

    fn select(&mut self, database: u32) -> Result<(), Failure> {
        match database {
            0 => Ok(()),
            _ => Err(Failure::new(format!("{} has database 0 alone, not {database}", self.address))),
        }
    }

    /// The key is the command's second word.
    fn call(&mut self, command: &[&[u8]]) -> Result<Reply, Failure> {
        self.call_of_key(command.get(1).copied().unwrap_or_default(), command)
    }

    fn call_of_key(&mut self, key: &[u8], command: &[&[u8]]) -> Result<Reply, Failure> {
        self.cluster.call(key, command).map_err(cluster_failure(self.prefix))
    }

    fn pipeline<C: AsRef<[A]>, A: AsRef<[u8]>>(&mut self, commands: &[C]) -> Result<Vec<Reply>, Failure> {
        self.cluster.pipeline(commands).map_err(cluster_failure(self.prefix))
    }

    fn connection(&self) -> u64 {
        self.cluster.connection()
    }

    fn repeats(&self) -> bool {
        true
    }
}
