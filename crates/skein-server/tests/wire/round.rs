//! A round: empties the databases, lets clients work side by side, and explains their history.

use std::sync::Barrier;
use std::sync::atomic::AtomicU32;
use std::time::Instant;

use crate::client::WireClient;
use crate::command::DATABASES;
use crate::common::TestServer;
use crate::history::WireHistory;
use crate::random::TestRandom;
use crate::search::{WireVerdict, describe, explain};
use crate::workload::{WireTheme, WorkloadGenerator, inventory};

/// The clients of a round, at most. They are spread over all workers.
const CLIENTS_MAX: usize = 5;
const CLIENTS_MIN: usize = 3;

/// The pipelines that each client of a round sends, at most.
const PIPELINES_MAX: usize = 6;
const PIPELINES_MIN: usize = 2;

/// The counts of a test's work.
#[derive(Debug, Default, Clone, Copy)]
pub struct WireTally {
    pub rounds: u64,
    pub calls: usize,
    pub undecided: u64,
}

/// The clients of a server.
pub struct WireRounds {
    clients: Vec<WireClient>,
    /// Empties the databases, and lists them in the end.
    keeper: WireClient,
    pub tally: WireTally,
}

impl WireRounds {
    pub fn new(server: &TestServer) -> Self {
        let epoch = Instant::now();
        let clients = (0..CLIENTS_MAX).map(|_| WireClient::new(server, epoch)).collect();
        Self { clients, keeper: WireClient::new(server, epoch), tally: WireTally::default() }
    }

    /// Runs a round. Errors with a description if no order explains it.
    pub fn run(&mut self, random: &mut TestRandom) -> Result<(), String> {
        let history = self.record(random);
        self.tally.rounds += 1;
        self.tally.calls += history.len();
        match explain(&history).0 {
            WireVerdict::Explained => Ok(()),
            WireVerdict::Undecided => {
                self.tally.undecided += 1;
                Ok(())
            }
            WireVerdict::Impossible => {
                let short = history.shorten(|history| explain(history).0 == WireVerdict::Impossible);
                Err(describe(&short))
            }
        }
    }

    fn record(&mut self, random: &mut TestRandom) -> WireHistory {
        for database in 0..DATABASES {
            self.keeper.begin(database);
            self.keeper.ask("FLUSHDB");
        }
        let theme = WireTheme::ALL[random.below(WireTheme::ALL.len())];
        let count = CLIENTS_MIN + random.below(CLIENTS_MAX - CLIENTS_MIN + 1);
        let pipelines = PIPELINES_MIN + random.below(PIPELINES_MAX - PIPELINES_MIN + 1);
        let (elements, start) = (AtomicU32::new(0), Barrier::new(count));
        // Others each time, so that each pair of workers meets.
        random.shuffle(&mut self.clients);
        let clients = &mut self.clients[..count];
        std::thread::scope(|scope| {
            for client in clients {
                client.begin(random.below(2));
                let mut generator = WorkloadGenerator::new(random.next(), theme, &elements);
                let start = &start;
                scope.spawn(move || {
                    start.wait();
                    for _ in 0..pipelines {
                        client.run(generator.pipeline());
                    }
                });
            }
        });
        self.keeper.begin(0);
        for request in inventory() {
            self.keeper.run(vec![request]);
        }
        let working = self.clients[..count].iter().chain([&self.keeper]);
        WireHistory { calls: working.map(|client| client.calls.clone()).collect() }
    }
}
