//! MONITOR: the clients that watch all requests, and the lines that they receive.
//!
//! ```text
//!   worker 0, after GET k ─► feed ─► 1700000000.123456 [0 10.0.0.7:5123] "GET" "k"
//!                                      └─► mail to each worker with a monitor ─► its output
//! ```
//!
//! # Invariants
//! 1. A line is mailed to all workers under the lock, so all monitors see lines in one order.
//! 2. A worker feeds a request before it sends the reply. So a request that a client sends after
//!    the reply to another one, on any connection, has the later line.
//!
//! Source: Redis's `MONITOR`. Design: `docs/design/server.md`.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::UNIX_EPOCH;

use skein_sync::locks::lock;

use crate::clients::client_registry::{ClientLocation, ClientRecord};
use crate::net::transport::ConnectionAddress;
use crate::observe::slowlog::{REDACTED, SecretArgs};
use crate::resp::Args;
use crate::shared::mailbox::Mailbox;

/// The sender of a request.
#[derive(Debug, Clone, Copy)]
pub(crate) enum RequestSource<'a> {
    Client(&'a ClientRecord),
    /// A running script, with its database.
    Script(u32),
}

/// A line for the monitors of one worker.
#[derive(Debug)]
pub(crate) struct MonitorDelivery {
    pub line: Arc<[u8]>,
    pub clients: Vec<ClientLocation>,
}

/// All monitors of a server.
#[derive(Debug)]
pub(crate) struct Monitors {
    count: AtomicUsize,
    /// By the number of their worker.
    by_worker: Mutex<BTreeMap<usize, Vec<ClientLocation>>>,
    mailboxes: Arc<[Mailbox]>,
}

impl Monitors {
    pub(crate) fn new(mailboxes: Arc<[Mailbox]>) -> Self {
        Self { count: AtomicUsize::new(0), by_worker: Mutex::default(), mailboxes }
    }

    /// Returns whether there are any monitors.
    #[inline]
    pub(crate) fn any(&self) -> bool {
        // Relaxed: MONITOR is answered after all workers have passed the exclusion gate, so they
        // see its addition.
        self.count.load(Ordering::Relaxed) > 0
    }

    pub(crate) fn add(&self, who: ClientLocation) {
        let mut by_worker = lock(&self.by_worker);
        by_worker.entry(who.worker).or_default().push(who);
        self.count(&by_worker);
    }

    pub(crate) fn remove(&self, who: ClientLocation) {
        let mut by_worker = lock(&self.by_worker);
        if let Some(clients) = by_worker.get_mut(&who.worker) {
            clients.retain(|other| *other != who);
        }
        by_worker.retain(|_, clients| !clients.is_empty());
        self.count(&by_worker);
    }

    fn count(&self, by_worker: &BTreeMap<usize, Vec<ClientLocation>>) {
        self.count.store(by_worker.values().map(Vec::len).sum(), Ordering::Relaxed);
    }

    /// Sends the line of a request to all monitors.
    #[cold]
    pub(crate) fn feed(&self, source: RequestSource<'_>, args: &Args) {
        let line: Arc<[u8]> = line(source, args).into();
        for (worker, clients) in &*lock(&self.by_worker) {
            let delivery = MonitorDelivery { line: Arc::clone(&line), clients: clients.clone() };
            self.mailboxes[*worker].send(|mail| mail.monitored.push(delivery));
        }
    }
}

/// Returns the line of a request, with its time and without its secrets.
fn line(source: RequestSource<'_>, args: &Args) -> Vec<u8> {
    let now = UNIX_EPOCH.elapsed().unwrap_or_default();
    let (database, source) = match source {
        RequestSource::Script(database) => (database, "lua".to_owned()),
        RequestSource::Client(record) => {
            let address = match &record.address {
                Some(ConnectionAddress::Unix(path)) => format!("unix:{}", path.display()),
                Some(address) => address.to_string(),
                None => "?:0".to_owned(),
            };
            (record.database(), address)
        }
    };
    let mut line =
        format!("+{}.{:06} [{database} {source}]", now.as_secs(), now.subsec_micros()).into_bytes();
    let secrets = SecretArgs::of(args);
    for (at, arg) in args.from(0).enumerate() {
        line.push(b' ');
        quote(if secrets.hides(at, args) { REDACTED } else { arg }, &mut line);
    }
    line.extend_from_slice(b"\r\n");
    line
}

/// Writes an argument in quotes, with Redis's escapes.
fn quote(arg: &[u8], line: &mut Vec<u8>) {
    line.push(b'"');
    for &byte in arg {
        match byte {
            b'\\' | b'"' => line.extend_from_slice(&[b'\\', byte]),
            b'\n' => line.extend_from_slice(b"\\n"),
            b'\r' => line.extend_from_slice(b"\\r"),
            b'\t' => line.extend_from_slice(b"\\t"),
            0x07 => line.extend_from_slice(b"\\a"),
            0x08 => line.extend_from_slice(b"\\b"),
            b' '..=b'~' => line.push(byte),
            _ => line.extend_from_slice(format!("\\x{byte:02x}").as_bytes()),
        }
    }
    line.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resp::RequestQueue;

    fn shown(request: &[&[u8]]) -> String {
        let queue = RequestQueue::of(&[request]);
        let (_, args) = queue.iter().next().expect("a request");
        let line = String::from_utf8(line(RequestSource::Script(0), &args)).expect("ASCII");
        line.split_once(" [0 lua] ").expect("the source").1.trim_end().to_owned()
    }

    #[test]
    fn arguments_are_quoted_and_secrets_hidden() {
        assert_eq!(shown(&[b"SET", b"a\"\\b", b"\x00\x07\x08\r\n\t \xff~"]), {
            r#""SET" "a\"\\b" "\x00\a\b\r\n\t \xff~""#
        });
        assert_eq!(shown(&[b"auth", b"user", b"pw"]), r#""auth" "(redacted)" "(redacted)""#);
        assert_eq!(shown(&[b"HELLO", b"3", b"AUTH", b"u", b"pw"]), {
            r#""HELLO" "3" "AUTH" "(redacted)" "(redacted)""#
        });
    }
}
