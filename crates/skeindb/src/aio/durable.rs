//! Waiting for the disk without a thread.
//!
//! A blocking thread runs writes within [`collect`]. There [`defer`] takes each ticket that the
//! write would wait for. Then a future [`wait`]s for the last of them. The engine reports each
//! durable epoch to one callback, which wakes all of those futures.

use std::cell::Cell;
use std::sync::OnceLock;

use skein_data::{Engine, Ticket};
use tokio::sync::watch;

use crate::db::DbShared;
use crate::{Error, Result};

thread_local! {
    /// The address of the database for which this thread collects tickets, and the last ticket.
    static COLLECTED: Cell<Option<(usize, Ticket)>> = const { Cell::new(None) };
}

fn address(shared: &DbShared) -> usize {
    std::ptr::from_ref(shared).addr()
}

/// Puts the outer collection back, also after a panic.
struct Collecting(Option<(usize, Ticket)>);

impl Drop for Collecting {
    fn drop(&mut self) {
        COLLECTED.set(self.0);
    }
}

/// Runs work without waiting until its writes are durable. Returns the ticket of the last write.
pub(super) fn collect<R>(shared: &DbShared, work: impl FnOnce() -> R) -> (R, Ticket) {
    let _outer = Collecting(COLLECTED.replace(Some((address(shared), Ticket::default()))));
    let answer = work();
    (answer, COLLECTED.get().map_or(Ticket::default(), |(_, ticket)| ticket))
}

/// Takes a ticket over if this thread collects those of the database. Otherwise the caller must
/// wait for it.
pub(crate) fn defer(shared: &DbShared, ticket: Ticket) -> bool {
    let Some((database, last)) = COLLECTED.get() else { return false };
    let takes = database == address(shared);
    if takes {
        COLLECTED.set(Some((database, last.max(ticket))));
    }
    takes
}

/// Wakes futures when an epoch has become durable, writes have stopped, or the database was closed.
#[derive(Debug, Default)]
pub(crate) struct DurableWatch(OnceLock<watch::Sender<u64>>);

/// The count of changes once the database is closed.
const CLOSED: u64 = u64::MAX;

impl DurableWatch {
    fn subscribe(&self, engine: &Engine) -> watch::Receiver<u64> {
        let sender = self.0.get_or_init(|| {
            let sender = watch::Sender::new(0_u64);
            let of_engine = sender.clone();
            engine.on_durable(move || of_engine.send_modify(|changes| *changes = changes.saturating_add(1)));
            sender
        });
        sender.subscribe()
    }

    /// Wakes all futures for the last time.
    pub(crate) fn close(&self) {
        if let Some(sender) = self.0.get() {
            sender.send_replace(CLOSED);
        }
    }
}

/// Waits until a ticket's writes are durable.
pub(super) async fn wait(shared: &DbShared, ticket: Ticket) -> Result<()> {
    if shared.engine.durable_epoch() >= ticket.epoch {
        return Ok(());
    }
    let mut changes = shared.durable_watch.subscribe(&shared.engine);
    shared.engine.request_durable(ticket);
    loop {
        // Before the look at the epoch, so that a later change ends the wait below.
        let is_closed = *changes.borrow_and_update() == CLOSED;
        if shared.engine.durable_epoch() >= ticket.epoch {
            return Ok(());
        }
        if let Some(error) = shared.engine.log_stopped() {
            return Err(error.into());
        }
        if is_closed || changes.changed().await.is_err() {
            return Err(Error::Closed);
        }
    }
}
