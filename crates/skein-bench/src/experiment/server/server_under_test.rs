//! A running server, with its client and the table of its expected values.

use std::sync::LazyLock;
use std::time::Instant;

use super::expected_table::{ExpectedTable, ValueShape};
use crate::experiment::findings::MeasureSpec;
use crate::experiment::scaling::cores;
use crate::experiment::scratch::Scratch;
use crate::experiment::setting::CONNECTIONS;
use crate::experiment::{Bench, BenchPlan};
use crate::keyset::PackedKeys;
use crate::result::AxisPoint;
use crate::rival::server::{
    self, BenchClient, BenchServerProcess, Dialect, NOOP, Noop, RESP_VALUES, RegisteredServer, RunningServer,
    ServerAbilities, ServerLaunch, ServerRole, free_address, version,
};
use crate::sys::pinned;
use crate::workload::requests::{RequestOp, ScriptRequest};
use crate::{Error, Result};

/// The number of connections, unless an experiment has its own.
pub const MANY_CONNECTIONS: usize = 50;

/// The core of the servers, and that of the client.
const SERVER_CORE: usize = 0;
pub const CLIENT_CORE: usize = 1;

/// The number of requests in a pipeline while loading.
pub const LOAD_PIPELINE: usize = 64;

/// Returns the bytes that a server is assumed to take for a row: its key and value, plus room for
/// an index entry, headers and a growing table. This is an estimate, not a measurement.
pub const fn row_bytes(key: u64, value: u64) -> u64 {
    key + value + 160
}

/// The servers that an experiment selects.
pub struct ServerSelection<'a> {
    /// Selects by abilities.
    pub takes: fn(ServerAbilities) -> bool,
    /// Whether ours takes part once for each index, instead of in its default configuration.
    pub each_index: bool,
    /// The name of the key set.
    pub keys: &'a str,
    /// The number of connections, unless the user sets it.
    pub connections: usize,
    /// Whether the no-op server takes part.
    pub noop: bool,
    /// Whether writes are logged.
    pub logs: bool,
    /// Further servers, which other experiments leave out.
    pub also: &'static [&'static str],
}

impl<'a> ServerSelection<'a> {
    /// Selects the servers with these abilities for a key set, without logs; ours only once.
    pub const fn new(takes: fn(ServerAbilities) -> bool, keys: &'a str) -> Self {
        let connections = MANY_CONNECTIONS;
        Self { takes, each_index: false, keys, connections, noop: false, logs: false, also: &[] }
    }

    /// Returns the number of connections.
    fn connections(&self, plan: &BenchPlan) -> usize {
        plan.setting(&CONNECTIONS, self.connections)
    }

    /// Returns whether a server takes part, provided that it is installed and accepts the keys.
    fn admits(&self, entry: &RegisteredServer, plan: &BenchPlan) -> bool {
        let named = plan.only.iter().any(|name| name == entry.name) || self.also.contains(&entry.name);
        let part = match entry.part {
            ServerRole::Always => true,
            ServerRole::OneOfOurs => !self.each_index,
            ServerRole::EachIndex => self.each_index,
            ServerRole::IfNamed => false,
        };
        plan.wants(entry.name) && (named || part) && (self.takes)(entry.can)
    }
}

/// A running server.
pub struct ServerUnderTest<'a> {
    /// Its name.
    pub name: &'static str,
    /// Its abilities.
    pub can: ServerAbilities,
    // Declared before the server, so that connections close first.
    client: BenchClient,
    server: Box<dyn RunningServer>,
    dialect: &'static dyn Dialect,
    table: ExpectedTable<'a>,
    /// Whether all requests of a loop must be alike.
    alike: bool,
    /// The memory that it has gained by loading.
    pub loaded_bytes: Option<u64>,
}

/// Starts and loads the selected servers. Notes those that are not installed.
///
/// # Errors
/// If a server does not start, or if its reply to a load is wrong.
pub fn start<'a>(
    bench: &mut Bench,
    scratch: &Scratch,
    wanted: &ServerSelection<'_>,
    table: &ExpectedTable<'a>,
) -> Result<Vec<ServerUnderTest<'a>>> {
    let connections = wanted.connections(&bench.plan);
    bench.set("connections", connections);
    if cores() == 1 {
        bench.findings.note("there is one core, so client and servers share it".to_owned());
    }
    bench.step("starting and loading the servers");
    let mut targets = Vec::new();
    for entry in server::all() {
        if wanted.admits(entry, &bench.plan)
            && let Some(mut target) = start_one(bench, scratch, wanted, entry, table)?
        {
            let empty = target.resident_bytes()?;
            pinned(CLIENT_CORE, || target.load())??;
            target.loaded_bytes =
                target.resident_bytes()?.zip(empty).map(|(full, empty)| full.saturating_sub(empty));
            targets.push(target);
        }
    }
    if wanted.noop && bench.plan.wants(NOOP) {
        bench.findings.contender(NOOP, server::NOOP_ABOUT);
        let server: Box<dyn RunningServer> = Box::new(Noop::start(SERVER_CORE)?);
        let can = ServerAbilities { values: true, ping: true, many: true, ..ServerAbilities::NOTHING };
        targets.push(ServerUnderTest::new(NOOP, can, server, &RESP_VALUES, table, connections)?);
    }
    if targets.is_empty() {
        let names: Vec<_> = server::all().map(|entry| entry.name).chain([NOOP]).collect();
        return Err(Error::Input(format!("no server is left to measure; choose from: {}", names.join(", "))));
    }
    Ok(targets)
}

/// Starts the selected servers without any keys.
///
/// # Errors
/// If a server does not start.
pub fn start_empty(
    bench: &mut Bench,
    scratch: &Scratch,
    wanted: &ServerSelection<'_>,
) -> Result<Vec<ServerUnderTest<'static>>> {
    static NO_KEYS: LazyLock<PackedKeys> = LazyLock::new(PackedKeys::default);
    start(bench, scratch, wanted, &ExpectedTable::new(&NO_KEYS, ValueShape::Columns))
}

fn start_one<'a>(
    bench: &mut Bench,
    scratch: &Scratch,
    wanted: &ServerSelection<'_>,
    entry: &RegisteredServer,
    table: &ExpectedTable<'a>,
) -> Result<Option<ServerUnderTest<'a>>> {
    if let Some(which) = table.keys.iter().find_map(|key| (entry.takes_key)(key).err()) {
        bench.findings.note(format!("left out of {}: {} (it accepts {which})", wanted.keys, entry.name));
        return Ok(None);
    }
    let folder = scratch.fresh(entry.name)?;
    let start = ServerLaunch {
        address: free_address()?,
        folder: &folder,
        logs: wanted.logs,
        bytes: table.bytes(),
        keys: table.keys.len() as u64,
        index: entry.index,
    };
    let Some(process) = launch(bench, entry, &start)? else { return Ok(None) };
    let connections = wanted.connections(&bench.plan);
    ServerUnderTest::new(entry.name, entry.can, Box::new(process), entry.dialect, table, connections)
        .map(Some)
}

/// Starts a server on the servers' core, or on all cores if it has several workers. Records it as a
/// contender, or as not installed.
///
/// # Errors
/// If it does not start.
pub fn launch(
    bench: &mut Bench,
    entry: &RegisteredServer,
    start: &ServerLaunch<'_>,
) -> Result<Option<BenchServerProcess>> {
    let Some(program) = (entry.program)() else {
        bench.findings.absent(entry.name, entry.missing.to_owned());
        return Ok(None);
    };
    let begin = || BenchServerProcess::start(entry, &program, start);
    let process = if entry.workers > 1 { begin()? } else { pinned(SERVER_CORE, begin)?? };
    bench.findings.contender(entry.name, &about(entry, &program, start));
    Ok(Some(process))
}

/// Returns a server's version and arguments.
fn about(entry: &RegisteredServer, program: &std::path::Path, start: &ServerLaunch<'_>) -> String {
    let shown = |option: String| if option.is_empty() { "''".to_owned() } else { option };
    let options: Vec<_> = (entry.options)(start).into_iter().map(shown).collect();
    let version = version(program).unwrap_or_else(|| entry.name.to_owned());
    format!("{version}: {}; {}", options.join(" "), entry.rows)
}

impl<'a> ServerUnderTest<'a> {
    fn new(
        name: &'static str,
        can: ServerAbilities,
        server: Box<dyn RunningServer>,
        dialect: &'static dyn Dialect,
        table: &ExpectedTable<'a>,
        connections: usize,
    ) -> Result<Self> {
        let client = BenchClient::connect(name, dialect, server.address(), connections)?;
        let (table, alike) = (table.clone(), name == NOOP);
        Ok(Self { name, can, client, server, dialect, table, alike, loaded_bytes: None })
    }

    /// Returns its client.
    pub fn client(&mut self) -> &mut BenchClient {
        &mut self.client
    }

    /// Returns its address.
    pub fn address(&self) -> std::net::SocketAddr {
        self.server.address()
    }

    /// Returns its resident bytes; `None` if it is a thread of the bench.
    pub fn resident_bytes(&self) -> Result<Option<u64>> {
        self.server.resident_bytes()
    }

    /// Adds all keys.
    fn load(&mut self) -> Result<()> {
        self.client.begin("load", LOAD_PIPELINE);
        let connections = self.client.connections();
        let mut load = || {
            for number in 0..self.table.loaded() {
                let mut done = Ok(());
                self.table.add(number, |request| done = self.client.ask(number % connections, request));
                done?;
            }
            self.client.finish()
        };
        let loaded = load();
        loaded.map_err(|error| self.server.explain(error))
    }

    /// Sends all requests. Each key is used on one connection only, so the expected replies are
    /// certain. Ranges of keys would see keys that other connections add, so a loop with such
    /// ranges uses one connection.
    fn ask(&mut self, asked: &[ScriptRequest]) -> Result<()> {
        let ranges = asked.iter().any(|asking| asking.ask == RequestOp::Keys);
        let connections = if ranges { 1 } else { self.client.connections() };
        for (position, &asking) in asked.iter().enumerate() {
            let by_key = !self.alike && asking.ask != RequestOp::Ping;
            let connection =
                if by_key { asking.number as usize % connections } else { position % connections };
            self.table.request(asking, |request| self.client.ask(connection, request))?;
        }
        self.client.finish()
    }

    /// For the no-op server: returns the same request repeatedly, and announces it with its reply.
    fn alike(&mut self, asked: &[ScriptRequest]) -> Vec<ScriptRequest> {
        let Some(first) = asked.first() else { return Vec::new() };
        let ask = if first.ask == RequestOp::Put { RequestOp::PutAgain } else { first.ask };
        let one = ScriptRequest { ask, number: 0, ..*first };
        let (mut request, mut reply) = (Vec::new(), Vec::new());
        self.table.request(one, |asked| self.dialect.ask(asked, &mut request, &mut reply));
        self.server.expect(&request, &reply);
        vec![one; asked.len()]
    }
}

/// Runs one loop of one server and records requests per second and the server's CPU time per
/// request. Returns the microseconds within which 99 of 100 pipelines were answered.
///
/// # Errors
/// If the server fails or answers wrongly.
pub fn measure(
    bench: &mut Bench,
    target: &mut ServerUnderTest<'_>,
    name: &str,
    asked: &[ScriptRequest],
    pipeline: usize,
    places: (MeasureSpec<'_>, MeasureSpec<'_>),
    at: &AxisPoint,
) -> Result<f64> {
    let made = target.alike.then(|| target.alike(asked));
    let asked = made.as_deref().unwrap_or(asked);
    target.client.begin(name, pipeline);
    measure_loop(bench, target, asked.len(), places, at, |target| target.ask(asked))?;
    Ok(target.client.p99_us())
}

/// Runs `ask`, which sends this many requests and reads their replies. Records requests per second
/// and the server's CPU time per request.
///
/// # Errors
/// If the server fails or answers wrongly.
pub fn measure_loop<'a>(
    bench: &mut Bench,
    target: &mut ServerUnderTest<'a>,
    requests: usize,
    (rate, cpu): (MeasureSpec<'_>, MeasureSpec<'_>),
    at: &AxisPoint,
    ask: impl FnOnce(&mut ServerUnderTest<'a>) -> Result<()>,
) -> Result<()> {
    let before = target.server.cpu_seconds()?;
    let start = Instant::now();
    let done = pinned(CLIENT_CORE, || ask(target))?;
    let took = start.elapsed().as_secs_f64();
    done.map_err(|error| target.server.explain(error))?;
    let cpu_seconds = target.server.cpu_seconds()? - before;
    let requests = requests as f64;
    bench.add(rate, target.name, Some(at), requests / took / 1e3)?;
    bench.add(cpu, target.name, Some(at), cpu_seconds / requests * 1e6)
}
