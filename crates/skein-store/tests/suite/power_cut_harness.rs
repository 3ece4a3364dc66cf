//! A workload with the power cut at every operation of its storage, one after the other: what is found afterwards is a state that was, and none
//! before the last that was acknowledged; and it goes on from there.

use std::fmt::Debug;

use skein_log::storage::Storage;
use skein_log::storage::sim::SimStorage;
use skein_store::{Durability, Error, Store, StoreOptions, Ticket};

use crate::common::options;

/// What a store went through; `S` is all that it held at one moment.
#[derive(Default)]
pub struct CutHistory<S> {
    pub states: Vec<S>,
    /// So many of the states were acknowledged.
    acknowledged: usize,
}

impl<S> CutHistory<S> {
    /// Notes what a write has made, and that it is durable once it is.
    pub fn note(&mut self, store: &Store, state: S, written: Result<Ticket, Error>) -> Result<(), Error> {
        self.states.push(state);
        store.wait_durable(written?)?;
        self.acknowledged = self.states.len();
        Ok(())
    }
}

/// Cuts the power at each operation of `workload`, which notes what it does and stops at the first error; `goes_on` uses what was found.
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
