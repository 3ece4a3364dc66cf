//! Counts the work of functions in Rust, so that the host may stop a script in the middle of them.
//!
//! Lua counts its own instructions. A function that encodes a table, or converts a reply, is one
//! instruction, however long it takes. All functions of an engine share one count, so a loop of
//! short calls reaches a tick, too.

use std::rc::Rc;

use mlua::Lua;

use crate::failure::fault;
use crate::run_state::RunState;

/// Units of work between two ticks: elements of tables, or runs of bytes.
pub(crate) const TICK_UNITS: usize = 1 << 14;
/// The bytes of a text that are one unit.
const UNIT_BYTES: usize = 256;

/// The script was stopped; see [`RunState::with_stop_reason`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stopped;

/// Counts units of work.
#[derive(Clone, Copy)]
pub(crate) struct WorkMeter<'s> {
    /// Absent in tests of libraries, which have no engine.
    state: Option<&'s RunState>,
}

impl<'s> WorkMeter<'s> {
    pub(crate) fn new(state: Option<&'s RunState>) -> Self {
        Self { state }
    }

    /// Counts an element with a text of so many bytes.
    #[inline]
    pub(crate) fn spend(self, bytes: usize) -> Result<(), Stopped> {
        let Some(state) = self.state else { return Ok(()) };
        match state.units_left.get().checked_sub(1 + bytes / UNIT_BYTES) {
            Some(left) => {
                state.units_left.set(left);
                Ok(())
            }
            None => Self::tick(state),
        }
    }

    #[cold]
    fn tick(state: &RunState) -> Result<(), Stopped> {
        state.units_left.set(TICK_UNITS);
        if state.goes_on() { Ok(()) } else { Err(Stopped) }
    }
}

/// Lets the libraries of a Lua state find the state of its runs.
pub(crate) fn share_state(lua: &Lua, state: &Rc<RunState>) {
    lua.set_app_data(Rc::clone(state));
}

/// Returns the state of the runs of a Lua state; `None` without an engine.
pub(crate) fn shared_state(lua: &Lua) -> Option<Rc<RunState>> {
    lua.app_data_ref::<Rc<RunState>>().map(|state| Rc::clone(&state))
}

/// Returns the error that ends a stopped script.
pub(crate) fn stopped_error(state: Option<&RunState>) -> mlua::Error {
    state.map_or_else(|| fault("stopped"), |state| state.with_stop_reason(fault))
}
