//! Runs a workload with a power cut at every operation of its storage, one after the other. The
//! recovered contents must be an earlier state of the store, not older than the last acknowledged
//! one, and the store must accept writes.

use std::fmt::Debug;

use skein_log::storage::Storage;
use skein_log::storage::sim::SimStorage;
use skein_store::{Durability, Error, Store, StoreOptions, Ticket};

use crate::common::options;

/// The history of a store; `S` is its contents at one moment.
#[derive(Default)]
pub struct CutHistory<S> {
    pub states: Vec<S>,
    /// The number of acknowledged states.
    acknowledged: usize,
}

impl<S> CutHistory<S> {
    /// Notes the state after a write, and acknowledges it once the write is durable.
    pub fn note(&mut self, store: &Store, state: S, written: Result<Ticket, Error>) -> Result<(), Error> {
        self.states.push(state);
        store.wait_durable(written?)?;
        self.acknowledged = self.states.len();
        Ok(())
    }
}

/// Cuts the power at each operation of `workload`, which notes its states and stops at the first
/// error. Then `goes_on` uses the recovered store.
pub fn cut_everywhere<S: PartialEq + Debug + Default>(
    workload: fn(&Store, &mut CutHistory<S>) -> Result<(), Error>,
    state_of: fn(&Store) -> S,
    goes_on: fn(&Store),
) {
    let open = |disk: &SimStorage| {
        let storage = disk.share();
        Store::open("/data", StoreOptions { storage, ..options(Durability::Sync) })
    };
    let run = |disk: &SimStorage, history: &mut CutHistory<S>| {
        let store = open(disk)?;
        history.states.push(state_of(&store));
        let ran = workload(&store, history);
        store.close()?;
        ran
    };
    let disk = SimStorage::new();
    run(&disk, &mut CutHistory::default()).unwrap();
    for at in 1..=disk.operations() {
        let disk = SimStorage::new();
        disk.cut_power_at(at);
        let mut history = CutHistory::default();
        let _ = run(&disk, &mut history);
        disk.reboot(at * 31);
        let store = open(&disk).unwrap_or_else(|error| panic!("cut at {at}: {error}"));
        let found = state_of(&store);
        let place = history.states.iter().rposition(|state| *state == found);
        let nothing = found == S::default() && history.acknowledged <= 1;
        assert!(place.is_some() || nothing, "cut at {at}: a state that never was: {found:?}");
        assert!(nothing || place.is_some_and(|place| place + 1 >= history.acknowledged), "cut at {at}");
        goes_on(&store);
    }
}
