//! The clients that learn of the acts of others: subscribers, monitors, and clients that track keys or
//! wait for them.

use std::sync::Arc;

use crate::clients::client_registry::ClientRegistry;
use crate::clients::waiting_clients::WaitingClients;
use crate::command_table::Command;
use crate::command_table::request_keys::keys_of;
use crate::notice::channels::Channels;
use crate::notice::key_events::{EventClasses, KeyObserver, TrackingTable};
use crate::notice::monitors::Monitors;
use crate::request::databases::Databases;
use crate::resp::Args;
use crate::shared::mailbox::Mailbox;
use skein_data::EngineKeys;

/// The clients that learn of the acts of others.
#[derive(Debug)]
pub(crate) struct Notices {
    /// The channels of publish and subscribe.
    pub channels: Arc<Channels>,
    /// Tells clients which keys change.
    pub key_observer: Arc<KeyObserver>,
    /// The clients of MONITOR.
    pub monitors: Monitors,
    /// The clients that wait for keys.
    pub waiting: Arc<WaitingClients>,
}

impl Notices {
    pub(crate) fn new(
        clients: &Arc<ClientRegistry>,
        mailboxes: &Arc<[Mailbox]>,
        databases: &Arc<Databases>,
        classes: EventClasses,
    ) -> Self {
        let (channels, waiting): (Arc<Channels>, Arc<WaitingClients>) = Default::default();
        let tracking = TrackingTable::new(Arc::clone(clients), Arc::clone(mailboxes));
        let key_observer =
            KeyObserver::new(tracking, channels.clone(), waiting.clone(), databases.clone(), classes);
        let monitors = Monitors::new(Arc::clone(mailboxes));
        Self { channels, key_observer: Arc::new(key_observer), monitors, waiting }
    }

    /// Returns whether any client may receive messages that it does not ask for one by one.
    pub(crate) fn sends_unasked(&self) -> bool {
        self.channels.any() || self.monitors.any() || self.key_observer.level().tracks()
    }

    /// Notes the keys that a request may have made and that clients wait for, after the request. A key
    /// that it has not made must not be noted: the next request may make another one first. REQUIRES:
    /// no other worker runs requests.
    pub(crate) fn note_made_keys(&self, engine_keys: &mut EngineKeys, command: &Command, args: &Args) {
        if !command.may_wake(&self.waiting) {
            return;
        }
        if command.removes_all_keys() {
            self.waiting.note_all();
        } else if let Some(keys) = keys_of(command, args) {
            let mut is_there = |key: &[u8]| {
                let mut found = false;
                // A key that cannot be read is tried, and its clients wait on.
                engine_keys.get_many(&[key], |_| false, |_, row| found = !matches!(row, Ok(None)));
                found
            };
            let counts_removals = self.waiting.count_needing_keys() > 0;
            let made = |key: &&&[u8]| self.waiting.waits_for(key) && (counts_removals || is_there(key));
            keys.all().iter().filter(made).for_each(|key| self.waiting.note(key));
        }
    }
}
