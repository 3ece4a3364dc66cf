//! The conversation with the target: logs in, selects the database, and restores keys there.
//!
//! ```text
//!   ─► AUTH, SELECT   ◄─ +OK +OK    ─► RESTORE k ttl payload … (64 KiB at once)   ◄─ +OK or -error each
//! ```
//!
//! Unlike Redis, it sends no key before the target has selected the database: a RESTORE with
//! REPLACE must not reach another one. Payloads are made one after the other, so one of them and 64
//! KiB are in memory.

use std::io;

use crate::commands::dump::write_whole_payload;
use crate::commands::{CommandError, CommandResult};
use crate::resp::{Protocol, Reply};
use crate::shared::ServerShared;
use crate::shared::migrations::{MigrationTarget, Migrations, MovingKey};
use skein_data::{EngineKeys, name_within};

use super::target::TargetConnection;

const CONNECTING: CommandError = CommandError::text("IOERR error or timeout connecting to the client");
const WRITING: CommandError = CommandError::text("IOERR error or timeout writing to target instance");
const READING: CommandError = CommandError::text("IOERR error or timeout reading from target instance");

/// Requests are sent when they have this number of bytes.
const SENT_AT_ONCE: usize = 64 << 10;

/// Restores keys at the target. Returns the indexes of the keys that the target has acknowledged.
/// The result has the first error that the target has replied, or the reason why keys were not sent
/// or answered.
pub(super) fn transfer(
    shared: &ServerShared,
    keys: &mut EngineKeys,
    target: &MigrationTarget,
    moved: &[MovingKey],
) -> (Vec<usize>, CommandResult<()>) {
    let mut connection = match open(target, &shared.data.migrations) {
        Ok(connection) => connection,
        Err(fault) => return (Vec::new(), Err(fault)),
    };
    let payload_max = shared.settings.reply_bytes_max.get();
    let mut transfer = KeyTransfer {
        connection: &mut connection,
        now: shared.data.store.now(),
        payload_max,
        sent: Vec::new(),
    };
    let sent = transfer.send_all(keys, target, moved);
    let (acknowledged, answered) = transfer.read_replies(&sent);
    (acknowledged, answered.and(sent.map_err(|stop| stop.fault)))
}

/// Connects, logs in, and selects the database.
fn open<'m>(target: &MigrationTarget, migrations: &'m Migrations) -> CommandResult<TargetConnection<'m>> {
    let mut connection = TargetConnection::open(target, migrations).map_err(|error| {
        // As in Redis, a refused connection is found when the first request is sent.
        if error.kind() == io::ErrorKind::ConnectionRefused { WRITING } else { CONNECTING }
    })?;
    let mut requests = Vec::new();
    if !target.login.is_empty() {
        let login = target.login.iter().map(Vec::as_slice);
        write_request(&mut requests, &[&b"AUTH"[..]].into_iter().chain(login).collect::<Vec<_>>());
    }
    write_request(&mut requests, &[b"SELECT", target.database.to_string().as_bytes()]);
    connection.send(&requests).map_err(|_| WRITING)?;
    for _ in 0..=usize::from(!target.login.is_empty()) {
        check(&connection.reply().map_err(|_| READING)?)?;
    }
    Ok(connection)
}

/// Returns the error for a reply of the target that is not OK. If the reply is not an error either,
/// the target is not a Redis server, and the reply acknowledges nothing.
fn check(reply: &[u8]) -> CommandResult<()> {
    if reply == b"+OK" {
        return Ok(());
    }
    let text = reply.strip_prefix(b"-").unwrap_or(reply);
    Err(CommandError::owned([b"ERR Target instance replied with error: ", text].concat()))
}

fn write_request(requests: &mut Vec<u8>, args: &[&[u8]]) {
    let mut request = Reply::new(requests, Protocol::Resp2);
    request.array(args.len());
    for arg in args {
        request.bulk(arg);
    }
}

/// The reason why keys were not sent.
struct SendStop {
    fault: CommandError,
    /// Whether the target does not read, so that no further reply is worth a wait.
    timed_out: bool,
}

struct KeyTransfer<'t, 'm> {
    connection: &'t mut TargetConnection<'m>,
    now: u64,
    payload_max: usize,
    /// The indexes of the keys for which requests were made.
    sent: Vec<usize>,
}

impl KeyTransfer<'_, '_> {
    /// Sends the requests of all keys that are still present.
    fn send_all(
        &mut self,
        keys: &mut EngineKeys,
        target: &MigrationTarget,
        moved: &[MovingKey],
    ) -> Result<(), SendStop> {
        let mut requests = Vec::new();
        for (at, MovingKey { key, .. }) in moved.iter().enumerate() {
            match self.write_restore(keys, key, target.replace, &mut requests) {
                Ok(true) => self.sent.push(at),
                Ok(false) => {}
                Err(fault) => {
                    // The keys before this one are on their way.
                    self.send(&requests)?;
                    return Err(SendStop { fault, timed_out: false });
                }
            }
            if requests.len() >= SENT_AT_ONCE {
                self.send(&requests)?;
                requests.clear();
            }
        }
        self.send(&requests)
    }

    fn send(&mut self, requests: &[u8]) -> Result<(), SendStop> {
        self.connection
            .send(requests)
            .map_err(|error| SendStop { fault: WRITING, timed_out: error.kind() == io::ErrorKind::TimedOut })
    }

    /// Writes the request that restores a key. Returns `false` and writes nothing if the key is
    /// absent now.
    fn write_restore(
        &self,
        keys: &mut EngineKeys,
        key: &[u8],
        replace: bool,
        requests: &mut Vec<u8>,
    ) -> CommandResult<bool> {
        let start = requests.len();
        let mut request = Reply::new(requests, Protocol::Resp2);
        let head = |expires: Option<u64>, request: &mut Reply<'_>| {
            request.array(if replace { 5 } else { 4 });
            request.bulk(b"RESTORE");
            request.bulk(name_within(key));
            request.bulk_number(expires.map_or(0, |at| at.saturating_sub(self.now).max(1)));
        };
        let written = write_whole_payload(keys, key, self.payload_max, head, &mut request);
        match written {
            Ok(true) if replace => request.bulk(b"REPLACE"),
            Ok(true) => {}
            Ok(false) | Err(_) => requests.truncate(start),
        }
        written
    }

    /// Reads a reply for each key that was sent.
    fn read_replies(&mut self, sent: &Result<(), SendStop>) -> (Vec<usize>, CommandResult<()>) {
        let timed_out = matches!(sent, Err(SendStop { timed_out: true, .. }));
        let (mut acknowledged, mut result) = (Vec::new(), Ok(()));
        for &at in &self.sent {
            let line = if timed_out { self.connection.received_line() } else { self.connection.reply().ok() };
            let Some(line) = line else {
                // The reason why not all was sent says more.
                let silent = if sent.is_ok() { Err(READING) } else { Ok(()) };
                return (acknowledged, result.and(silent));
            };
            match check(&line) {
                Ok(()) => acknowledged.push(at),
                Err(fault) => result = result.and(Err(fault)),
            }
        }
        (acknowledged, result)
    }
}
