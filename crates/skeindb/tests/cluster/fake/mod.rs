//! A cluster of threads: each node listens on its own port, and all share one world.

use std::collections::BTreeMap;
use std::io::{BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use skein_syntax::slots::{SLOTS, SlotSet, slot_of_key};

mod keyed;
mod resp;

use resp::{bulk, error, read_command};

use crate::fake::NodeFault::{Closes, Fails, NoModule, Silent};

/// The value of a key.
#[derive(Debug, Clone, PartialEq)]
pub enum FakeValue {
    Text(Vec<u8>),
    Hash(BTreeMap<Vec<u8>, Vec<u8>>),
    Stream,
}

/// A fault that replaces a node's normal behaviour.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum NodeFault {
    #[default]
    Well,
    /// The node answers nothing.
    Silent,
    /// The node closes the connection in the middle of a reply.
    Closes,
    /// The node answers this error to all commands but HELLO and CLUSTER.
    Fails(String),
    /// The node has no command SK.PAGE.
    NoModule,
}

#[derive(Debug, Default)]
pub struct FakeNode {
    pub address: String,
    pub keys: BTreeMap<Vec<u8>, FakeValue>,
    pub owned: FakeSlots,
    pub importing: FakeSlots,
    /// Slots that migrate away, and their targets.
    pub migrating: BTreeMap<u16, usize>,
    pub fault: NodeFault,
    pub is_replica: bool,
    /// Primaries and their slots, if the node's view differs from the truth.
    pub view: Option<Vec<(usize, SlotSet)>>,
}

/// A set of slots that is empty by default.
#[derive(Debug, Clone)]
pub struct FakeSlots(pub SlotSet);

impl Default for FakeSlots {
    fn default() -> Self {
        Self(SlotSet::EMPTY)
    }
}

impl FakeSlots {
    pub fn remove(&mut self, slot: u16) {
        let mut one = SlotSet::EMPTY;
        one.insert(slot);
        self.0 = self.0.difference(&one);
    }
}

/// Called before each page, with the index of the node.
pub type PageHook = Box<dyn FnMut(&mut FakeWorld, usize) + Send>;

#[derive(Default)]
pub struct FakeWorld {
    pub nodes: Vec<FakeNode>,
    pub hook: Option<PageHook>,
    /// The most names that a page checks.
    pub page_names: usize,
    pub password: Option<String>,
    /// The number of answered pages.
    pub pages: usize,
    /// The number of answered commands, by name.
    pub calls: BTreeMap<String, usize>,
}

#[derive(Clone)]
pub struct FakeCluster(Arc<Mutex<FakeWorld>>);

impl FakeCluster {
    /// Starts a cluster and divides its slots among `owners` nodes. `others` have no slots.
    pub fn start(owners: usize, others: usize) -> Self {
        let fake = Self(Arc::new(Mutex::new(FakeWorld { page_names: 7, ..FakeWorld::default() })));
        let listeners: Vec<TcpListener> =
            (0..owners + others).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        for listener in &listeners {
            let address = listener.local_addr().unwrap().to_string();
            fake.world().nodes.push(FakeNode { address, ..FakeNode::default() });
        }
        for slot in 0..SLOTS {
            let owner = usize::from(slot) * owners / usize::from(SLOTS);
            fake.world().nodes[owner].owned.0.insert(slot);
        }
        for (at, listener) in listeners.into_iter().enumerate() {
            let fake = fake.clone();
            thread::spawn(move || {
                for stream in listener.incoming().flatten() {
                    let fake = fake.clone();
                    thread::spawn(move || fake.serve(at, stream));
                }
            });
        }
        fake
    }

    pub fn world(&self) -> MutexGuard<'_, FakeWorld> {
        self.0.lock().unwrap()
    }

    pub fn address(&self, node: usize) -> String {
        self.world().nodes[node].address.clone()
    }

    /// Writes `keys` strings, `key:000` and so on, each at its node. Returns their names, in order.
    pub fn fill(&self, keys: usize) -> Vec<Vec<u8>> {
        let names: Vec<Vec<u8>> = (0..keys).map(|key| format!("key:{key:03}").into_bytes()).collect();
        for name in &names {
            self.put(name, FakeValue::Text(name.clone()));
        }
        names
    }

    pub fn put(&self, key: &[u8], value: FakeValue) {
        let mut world = self.world();
        let owner = world.owner(slot_of_key(key)).expect("the slot has an owner");
        world.nodes[owner].keys.insert(key.to_vec(), value);
    }

    pub fn hook(&self, hook: impl FnMut(&mut FakeWorld, usize) + Send + 'static) {
        self.world().hook = Some(Box::new(hook));
    }

    fn serve(&self, at: usize, stream: TcpStream) {
        let mut input = BufReader::new(stream.try_clone().unwrap());
        let mut output = stream;
        let (mut asking, mut logged_in) = (false, self.world().password.is_none());
        while let Some(command) = read_command(&mut input) {
            while self.world().nodes[at].fault == Silent {
                thread::sleep(Duration::from_millis(2));
            }
            let name = command[0].to_ascii_uppercase();
            let reply = if logged_in || name == b"HELLO" {
                self.answer(at, &name, &command, asking, &mut logged_in)
            } else {
                error("NOAUTH Authentication required.")
            };
            asking = name == b"ASKING";
            if self.world().nodes[at].fault == Closes {
                let _ = output.write_all(&reply[..reply.len() / 2]);
                return;
            }
            if output.write_all(&reply).is_err() {
                return;
            }
        }
    }

    fn answer(
        &self,
        at: usize,
        name: &[u8],
        command: &[Vec<u8>],
        asking: bool,
        logged_in: &mut bool,
    ) -> Vec<u8> {
        let mut world = self.world();
        *world.calls.entry(String::from_utf8_lossy(name).into_owned()).or_default() += 1;
        let fault = world.nodes[at].fault.clone();
        match (name, fault) {
            (b"HELLO", _) => {
                let given = command.last().map(|word| String::from_utf8_lossy(word).into_owned());
                *logged_in |= world.password.is_none() || world.password == given;
                if *logged_in { b"%0\r\n".to_vec() } else { error("WRONGPASS invalid password") }
            }
            (b"PING", _) => b"+PONG\r\n".to_vec(),
            (b"CLUSTER", _) if command[1] == b"MYID" => bulk(id_of(&world, at).as_bytes()),
            (b"CLUSTER", _) => world.shards(at),
            (_, Fails(text)) => error(&text),
            (b"SK.PAGE", NoModule) => error("ERR unknown command 'SK.PAGE', with args beginning with: '-' "),
            (b"SK.PAGE", _) => {
                if let Some(mut hook) = world.hook.take() {
                    hook(&mut world, at);
                    world.hook = world.hook.take().or(Some(hook));
                }
                world.page(at, command)
            }
            (b"INFO" | b"DBSIZE", _) => error("NOPERM this user has no permissions to run the command"),
            (b"SCAN", _) => world.scan(at),
            (b"ASKING", _) => b"+OK\r\n".to_vec(),
            _ => match world.redirection(at, keyed::key_of(name, command), asking) {
                Some(text) => error(&text),
                None => world.keyed(at, name, command),
            },
        }
    }
}

impl FakeWorld {
    pub fn owner(&self, slot: u16) -> Option<usize> {
        self.nodes.iter().position(|node| !node.is_replica && node.owned.0.contains(slot))
    }

    /// Moves all keys of a slot.
    pub fn move_keys(&mut self, slot: u16, from: usize, to: usize) {
        let keys: Vec<Vec<u8>> =
            self.nodes[from].keys.keys().filter(|key| slot_of_key(key) == slot).cloned().collect();
        for key in keys {
            let value = self.nodes[from].keys.remove(&key).expect("it is there");
            self.nodes[to].keys.insert(key, value);
        }
    }

    /// Opens a slot: `to` imports it and `from` migrates it.
    pub fn open_slot(&mut self, slot: u16, from: usize, to: usize) {
        self.nodes[to].importing.0.insert(slot);
        self.nodes[from].migrating.insert(slot, to);
    }

    /// Ends a migration.
    pub fn close_slot(&mut self, slot: u16, from: usize, to: usize) {
        self.nodes[to].importing.remove(slot);
        self.nodes[to].owned.0.insert(slot);
        self.nodes[from].migrating.remove(&slot);
        self.nodes[from].owned.remove(slot);
    }

    /// Makes `to` the primary of all slots of `from`.
    pub fn fail_over(&mut self, from: usize, to: usize) {
        self.nodes[to].keys = self.nodes[from].keys.clone();
        self.nodes[to].owned = std::mem::take(&mut self.nodes[from].owned);
        self.nodes[to].is_replica = false;
    }

    fn shards(&self, at: usize) -> Vec<u8> {
        let seen = self.nodes[at].view.clone().unwrap_or_else(|| {
            let primaries = (0..self.nodes.len()).filter(|node| !self.nodes[*node].is_replica);
            primaries.map(|node| (node, self.nodes[node].owned.0.clone())).collect()
        });
        let mut out = format!("*{}\r\n", seen.len()).into_bytes();
        for (node, slots) in seen {
            let ranges: Vec<(u16, u16)> = slots.ranges().collect();
            out.extend(format!("%2\r\n$5\r\nslots\r\n*{}\r\n", ranges.len() * 2).bytes());
            for (first, last) in ranges {
                out.extend(format!(":{first}\r\n:{last}\r\n").bytes());
            }
            let (host, port) = self.nodes[node].address.rsplit_once(':').expect("an address");
            let id = id_of(self, node);
            out.extend(format!("$5\r\nnodes\r\n*1\r\n%6\r\n+id\r\n+{id}\r\n+port\r\n:{port}\r\n").bytes());
            out.extend(format!("+ip\r\n+{host}\r\n+endpoint\r\n+{host}\r\n+role\r\n+master\r\n").bytes());
            out.extend(b"+health\r\n+online\r\n");
        }
        out
    }

    fn page(&mut self, at: usize, command: &[Vec<u8>]) -> Vec<u8> {
        self.pages += 1;
        let node = &self.nodes[at];
        if node.is_replica {
            return error("READONLY this node is a replica; ask its primary for the page");
        }
        let has = |word: &[u8]| command[3..].iter().any(|other| other == word);
        let within = |key: &[u8]| {
            let (min, max) = (&command[1], &command[2]);
            (match min[0] {
                b'(' => key > &min[1..],
                b'[' => key >= &min[1..],
                _ => true,
            }) && match max[0] {
                b'(' => key < &max[1..],
                b'[' => key <= &max[1..],
                _ => true,
            }
        };
        let mut names: Vec<&Vec<u8>> = node.keys.keys().filter(|key| within(key)).collect();
        if has(b"REV") {
            names.reverse();
        }
        let looked = &names[..names.len().min(self.page_names)];
        let shown = node.owned.0.union(&node.importing.0);
        let mut migrating = SlotSet::EMPTY;
        node.migrating.keys().for_each(|slot| migrating.insert(*slot));
        let mut out = b"*5\r\n".to_vec();
        for slots in [&node.owned.0, &node.importing.0, &migrating] {
            out.extend(bulk(slots.to_string().as_bytes()));
        }
        match looked.last().filter(|_| names.len() > looked.len()) {
            Some(last) => out.extend(bulk(last)),
            None => out.extend(b"_\r\n"),
        }
        let entries: Vec<&&Vec<u8>> = looked.iter().filter(|key| shown.contains(slot_of_key(key))).collect();
        out.extend(format!("*{}\r\n", entries.len()).bytes());
        for key in entries {
            if has(b"NOVALUES") {
                out.extend(bulk(key));
            } else {
                out.extend(b"*2\r\n");
                out.extend(bulk(key));
                out.extend(held(&node.keys[*key]));
            }
        }
        out
    }

    /// Returns all keys at once.
    fn scan(&self, at: usize) -> Vec<u8> {
        let keys = &self.nodes[at].keys;
        let names: Vec<Vec<u8>> = keys.keys().map(|key| bulk(key)).collect();
        [format!("*2\r\n$1\r\n0\r\n*{}\r\n", keys.len()).as_bytes(), &names.concat()].concat()
    }
}

fn id_of(world: &FakeWorld, node: usize) -> String {
    format!("id-{}", world.nodes[node].address)
}

fn held(value: &FakeValue) -> Vec<u8> {
    match value {
        FakeValue::Text(text) => bulk(text),
        FakeValue::Hash(hash) => {
            let mut out = format!("%{}\r\n", hash.len()).into_bytes();
            for (field, value) in hash {
                out.extend([bulk(field), bulk(value)].concat());
            }
            out
        }
        FakeValue::Stream => keyed::ENTRIES.to_vec(),
    }
}
