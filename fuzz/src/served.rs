//! A server with one worker and a manual clock, and its only client.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use skein_server::{Server, ServerOptions};
use skein_store::{Durability, ExpiryClock, Store, StoreOptions};

use crate::call::{FuzzDatabase, TRANSACTIONS};
use crate::model::{FuzzRequest, array};
use crate::{FuzzCommand, FuzzModel, FuzzStep};

/// A server that is checked against the model.
pub struct CheckedServer {
    client: TcpStream,
    clock: ExpiryClock,
    // It serves until the process ends.
    _server: Server,
}

impl CheckedServer {
    /// Starts a server.
    ///
    /// # Panics
    /// Panics if the server cannot start.
    pub fn start() -> Self {
        let clock = ExpiryClock::manual(1_700_000_000_000);
        // Nothing is logged, so the folder is unnecessary once the store is open.
        let folder = tempfile::tempdir().expect("a folder");
        let options = StoreOptions {
            durability: Durability::None,
            logs: 1,
            clock: clock.clone(),
            ..StoreOptions::default()
        };
        let store = Store::open(folder.path(), options).expect("a store");
        let options =
            ServerOptions { listen: ([127, 0, 0, 1], 0).into(), workers: 1, ..ServerOptions::default() };
        let server = Server::start(store, options).expect("a server");
        let client = TcpStream::connect(server.local_addr()).expect("a connection");
        client.set_read_timeout(Some(Duration::from_secs(10))).expect("a timeout");
        client.set_nodelay(true).expect("no delay");
        Self { client, clock, _server: server }
    }

    /// Runs the steps on an empty store.
    ///
    /// # Panics
    /// Panics if a reply differs from the model's.
    pub fn check(&mut self, steps: &[FuzzStep]) {
        let mut model = FuzzModel::new(self.clock.now());
        // The steps before may have used all databases. FLUSHALL would look at a thousand more.
        let words = |words: &str| words.split(' ').map(|word| word.as_bytes().to_vec()).collect();
        let select = |database| format!("SELECT {database}");
        let commands = (0..FuzzDatabase::COUNT).rev().flat_map(|at| [select(at), "FLUSHDB".to_owned()]);
        let mut pipeline: Vec<(FuzzRequest, _)> =
            commands.map(|command| (words(&command), b"+OK\r\n".to_vec())).collect();
        for step in steps {
            match step {
                FuzzStep::Call(call) if call.is_there() => pipeline.push(model.run(call)),
                FuzzStep::Run(run) => {
                    let calls = run.commands().into_iter().filter(FuzzCommand::is_there);
                    pipeline.extend(calls.map(|call| model.run(&call)));
                }
                FuzzStep::Atomic(calls) if TRANSACTIONS => {
                    let calls: Vec<_> =
                        calls.iter().filter(|call| call.is_there()).map(|call| model.run(call)).collect();
                    pipeline.push((vec![b"MULTI".to_vec()], b"+OK\r\n".to_vec()));
                    let replies: Vec<_> = calls.iter().map(|(_, reply)| reply.clone()).collect();
                    pipeline.extend(calls.into_iter().map(|(request, _)| (request, b"+QUEUED\r\n".to_vec())));
                    pipeline.push((vec![b"EXEC".to_vec()], array(&replies)));
                }
                FuzzStep::Script(calls) => {
                    let calls = calls.iter().filter(|call| call.is_there() && call.fits_a_script());
                    pipeline.push(model.run_script(calls));
                }
                FuzzStep::Advance(millis) => {
                    self.exchange(&std::mem::take(&mut pipeline));
                    self.clock.advance(Duration::from_millis(u64::from(*millis)));
                    model.advance_to(self.clock.now());
                }
                FuzzStep::Call(_) | FuzzStep::Atomic(_) => {}
            }
        }
        self.exchange(&pipeline);
    }

    /// Sends the requests at once, and compares the replies.
    fn exchange(&mut self, pipeline: &[(FuzzRequest, Vec<u8>)]) {
        let mut sent = Vec::new();
        for (request, _) in pipeline {
            let words: Vec<_> = request.iter().map(|word| crate::model::bulk(word)).collect();
            sent.extend(array(&words));
        }
        // Shows that there are no further replies.
        sent.extend(b"PING\r\n");
        self.client.write_all(&sent).expect("to send");
        for (request, expected) in pipeline {
            self.expect(request, expected);
        }
        self.expect(&vec![b"PING".to_vec()], b"+PONG\r\n");
    }

    fn expect(&mut self, request: &FuzzRequest, expected: &[u8]) {
        let mut got = Vec::new();
        while got.len() < expected.len() && expected.starts_with(&got) {
            let mut piece = vec![0; expected.len() - got.len()];
            match self.client.read(&mut piece) {
                Ok(count) if count > 0 => got.extend_from_slice(&piece[..count]),
                ended => panic!("{ended:?} after {} of {}", got.escape_ascii(), expected.escape_ascii()),
            }
        }
        let words: Vec<_> = request.iter().map(|word| word.escape_ascii().to_string()).collect();
        assert!(
            got == expected,
            "{words:?}\n  model:  {}\n  server: {}",
            expected.escape_ascii(),
            got.escape_ascii()
        );
    }
}
