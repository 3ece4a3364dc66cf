//! A cluster of servers with the module.

use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use skein_syntax::slots::SlotSet;

use crate::free_port::free_port;
use crate::servers::{ModuleServer, PATIENCE, RespConnection, library};

/// The primaries of a cluster, followed by the same number of replicas for each, or zero.
pub struct ModuleCluster {
    pub servers: Vec<ModuleServer>,
    /// The nodes' identifiers in the cluster.
    pub ids: Vec<String>,
    pub primaries: usize,
}

/// The time after which the other nodes consider a silent node dead. No test waits for it: on a
/// busy machine, nodes are silent for seconds.
const NODE_TIMEOUT: Duration = Duration::from_secs(60);

/// The same, where a node dies.
const SHORT_NODE_TIMEOUT: Duration = Duration::from_secs(2);

impl ModuleCluster {
    /// Starts a cluster with so many primaries, and so many replicas for each. Waits until all
    /// nodes agree.
    pub fn start(program: &Path, primaries: usize, replicas: usize) -> Self {
        Self::start_with(program, primaries, replicas, NODE_TIMEOUT)
    }

    /// The same. A replica soon takes over from a primary that dies.
    pub fn start_mortal(program: &Path, primaries: usize, replicas: usize) -> Self {
        Self::start_with(program, primaries, replicas, SHORT_NODE_TIMEOUT)
    }

    fn start_with(program: &Path, primaries: usize, replicas: usize, timeout: Duration) -> Self {
        let buses: Vec<_> = (0..primaries * (1 + replicas)).map(|_| free_port()).collect();
        let servers: Vec<_> = buses.iter().map(|bus| node(program, *bus, timeout)).collect();
        let ids: Vec<_> = servers.iter().map(id).collect();
        let nodes = Self { servers, ids, primaries };
        let slots = 16_384 / primaries;
        for place in 0..primaries {
            let last = if place + 1 == primaries { 16_383 } else { (place + 1) * slots - 1 };
            let range = format!("CLUSTER ADDSLOTSRANGE {} {last}", place * slots);
            assert_eq!(nodes.client(place).line(&range), "+OK|");
            assert_eq!(nodes.client(place).line(&format!("CLUSTER SET-CONFIG-EPOCH {}", place + 1)), "+OK|");
        }
        let (first, bus) = (nodes.servers[0].port, buses[0]);
        for place in 1..nodes.servers.len() {
            let meet = format!("CLUSTER MEET 127.0.0.1 {first} {bus}");
            assert_eq!(nodes.client(place).line(&meet), "+OK|");
        }
        nodes.wait_until("all nodes know each other", |nodes| {
            let all = nodes.servers.len();
            (0..all).all(|place| nodes.info(place, "cluster_known_nodes") == all.to_string())
        });
        for place in primaries..nodes.servers.len() {
            let replicate = format!("CLUSTER REPLICATE {}", nodes.ids[place % primaries]);
            nodes.client(place).wait_for(&replicate.split(' ').collect::<Vec<_>>(), |reply| reply == "+OK|");
        }
        nodes.wait_until("the cluster works", Self::works);
        nodes
    }

    /// Returns whether all nodes consider the cluster healthy, and all replicas have caught up.
    pub fn works(&self) -> bool {
        (0..self.servers.len()).all(|place| {
            let mut client = self.client(place);
            let caught_up =
                |info: String| info.contains("role:master") || info.contains("master_link_status:up");
            self.info(place, "cluster_state") == "ok" && caught_up(client.line("INFO replication"))
        })
    }

    pub fn client(&self, place: usize) -> RespConnection {
        self.servers[place].connect()
    }

    /// Returns a field of `CLUSTER INFO`.
    pub fn info(&self, place: usize, field: &str) -> String {
        let info = self.client(place).line("CLUSTER INFO");
        let value = info.split('|').find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
        value.unwrap_or_default().to_owned()
    }

    pub fn wait_until(&self, what: &str, mut holds: impl FnMut(&Self) -> bool) {
        let begin = Instant::now();
        while !holds(self) {
            assert!(begin.elapsed() < PATIENCE, "{what}: not so after {PATIENCE:?}");
            sleep(Duration::from_millis(20));
        }
    }

    /// Returns the addresses of all nodes.
    pub fn addresses(&self) -> Vec<String> {
        self.servers.iter().map(|server| format!("127.0.0.1:{}", server.port)).collect()
    }

    /// Returns whether the node reports itself as a primary.
    pub fn is_primary(&self, place: usize) -> bool {
        self.client(place).line("ROLE").contains("|master|")
    }

    /// Returns the nodes that report themselves as primaries now. All nodes must be up.
    pub fn primaries(&self) -> Vec<usize> {
        (0..self.servers.len()).filter(|place| self.is_primary(*place)).collect()
    }

    /// Returns the slots that a primary reports as its own.
    pub fn owned(&self, place: usize) -> SlotSet {
        let page = self.client(place).line("SK.PAGE - - LIMIT 1");
        page.split('|').nth(2).expect("a text of slots").parse().expect("slots")
    }

    /// Waits until the replicas have all previous writes.
    pub fn replicated(&self) {
        let replicas = self.servers.len() / self.primaries - 1;
        for place in self.primaries() {
            let reply = self.client(place).line(&format!("WAIT {replicas} 60000"));
            assert_eq!(reply, format!(":{replicas}|"), "node {place}");
        }
    }

    /// Waits until as many of the other nodes are primaries as there were primaries before.
    pub fn wait_for_takeover(&self, dead: usize) {
        self.wait_until("a replica takes over", |nodes| {
            let others = || (0..nodes.servers.len()).filter(|place| *place != dead);
            others().filter(|place| nodes.is_primary(*place)).count() == nodes.primaries
                && others().all(|place| nodes.info(place, "cluster_state") == "ok")
        });
    }

    /// Moves a slot as operators do: import, migrate, some keys at a time, and the owner notified
    /// last.
    pub fn migrate(&self, slot: u16, from: usize, to: usize) {
        self.begin_migration(slot, from, to);
        self.move_keys(slot, from, to);
        self.end_migration(slot, to);
    }

    /// Moves a slot in one step, as Valkey 9 can. Returns whether the server supports this.
    pub fn migrate_at_once(&self, slot: u16, from: usize, to: usize) -> bool {
        let order = format!("CLUSTER MIGRATESLOTS SLOTSRANGE {slot} {slot} NODE {}", self.ids[to]);
        let reply = self.client(from).line(&order);
        if reply.contains("nknown subcommand") {
            return false;
        }
        assert_eq!(reply, "+OK|");
        self.wait_until("the slot has its new owner everywhere", |nodes| {
            nodes.owned(to).contains(slot) && !nodes.owned(from).contains(slot)
        });
        true
    }

    pub fn begin_migration(&self, slot: u16, from: usize, to: usize) {
        let (source, target) = (&self.ids[from], &self.ids[to]);
        let importing = format!("CLUSTER SETSLOT {slot} IMPORTING {source}");
        assert_eq!(self.client(to).line(&importing), "+OK|");
        let migrating = format!("CLUSTER SETSLOT {slot} MIGRATING {target}");
        assert_eq!(self.client(from).line(&migrating), "+OK|");
    }

    pub fn move_keys(&self, slot: u16, from: usize, to: usize) {
        let (mut source, port) = (self.client(from), self.servers[to].port.to_string());
        loop {
            let keys = source.bulks(&["CLUSTER", "GETKEYSINSLOT", &slot.to_string(), "10"]);
            if keys.is_empty() {
                return;
            }
            for key in keys {
                let move_one: [&[u8]; 6] = [b"MIGRATE", b"127.0.0.1", port.as_bytes(), &key, b"0", b"5000"];
                // On a busy machine, nodes may briefly consider other nodes down.
                let reply = source.wait_out(&move_one, "CLUSTERDOWN");
                assert!(reply == "+OK|" || reply == "+NOKEY|", "MIGRATE answers {reply}");
            }
        }
    }

    pub fn end_migration(&self, slot: u16, to: usize) {
        let owner = format!("CLUSTER SETSLOT {slot} NODE {}", self.ids[to]);
        // The target is notified first: the slot must not be without an owner.
        let others = self.primaries().into_iter().filter(|place| *place != to);
        for place in std::iter::once(to).chain(others) {
            assert_eq!(self.client(place).line(&owner), "+OK|");
        }
    }

    /// Returns the names of all keys by `SCAN`, in order.
    pub fn scanned(&self) -> Vec<Vec<u8>> {
        let mut names: Vec<_> = (0..self.primaries).flat_map(|place| self.client(place).scanned()).collect();
        names.sort_unstable();
        names
    }
}

fn node(program: &Path, bus: u16, timeout: Duration) -> ModuleServer {
    let library = library().to_str().expect("a path in UTF-8");
    let (bus, timeout) = (bus.to_string(), timeout.as_millis().to_string());
    let options = ["--loadmodule", library, "--cluster-enabled", "yes", "--cluster-port", &bus];
    let more = ["--cluster-node-timeout", &timeout, "--cluster-replica-validity-factor", "0"];
    ModuleServer::start_bare(program, &[&options[..], &more].concat())
}

fn id(server: &ModuleServer) -> String {
    server.connect().line("CLUSTER MYID").split('|').nth(1).expect("a name").to_owned()
}
