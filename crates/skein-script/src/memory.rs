//! The memory limit of an engine.
//!
//! ```text
//!   limit ──── the script writes ────► limit + WRITTEN_RESERVE ──── its end ────► limit
//! ```
//!
//! A script that has popped a value holds the only copy. If its next allocation failed, the value
//! would be lost. So the limit stops scripts before their first write; afterwards they have a
//! reserve, which stops a script that allocates without end.

use std::cell::{Cell, OnceCell};

use mlua::{Lua, WeakLua};

/// The bytes that a script may take beyond the limit once it has written: four times the longest
/// value, for the value, two texts that the script makes of it, and the buffer of one of them.
pub const WRITTEN_RESERVE: usize = 2 << 30;

/// The memory limit of an engine, which its first write raises.
#[derive(Default)]
pub(crate) struct MemoryLimit {
    lua: OnceCell<WeakLua>,
    /// The limit of a script that has not written; 0 for none.
    limit: Cell<usize>,
    /// [`WRITTEN_RESERVE`], except in tests.
    reserve: Cell<usize>,
    is_raised: Cell<bool>,
}

impl MemoryLimit {
    /// Limits the memory of a Lua state. Called once.
    pub(crate) fn begin(&self, lua: &Lua, limit: usize) -> mlua::Result<()> {
        lua.set_memory_limit(limit)?;
        self.limit.set(limit);
        self.reserve.set(WRITTEN_RESERVE);
        // It is empty: this is the first call.
        let _ = self.lua.set(lua.weak());
        Ok(())
    }

    /// Returns the limit of the running script; 0 for none.
    pub(crate) fn now(&self) -> usize {
        match self.limit.get() {
            0 => 0,
            limit if self.is_raised.get() => limit.saturating_add(self.reserve.get()),
            limit => limit,
        }
    }

    /// Returns the limit of scripts that have not written; 0 for none.
    pub(crate) fn limit(&self) -> usize {
        self.limit.get()
    }

    /// Raises the limit until the end of the run: the script writes.
    pub(crate) fn raise(&self) {
        if !self.is_raised.replace(true) {
            self.apply(self.now());
        }
    }

    /// Restores the limit at the end of a run.
    pub(crate) fn restore(&self) {
        if self.is_raised.replace(false) {
            self.apply(self.now());
        }
    }

    /// Calls `act` without a limit.
    pub(crate) fn without<R>(&self, act: impl FnOnce() -> R) -> R {
        self.apply(0);
        let done = act();
        self.apply(self.now());
        done
    }

    /// Returns how many bytes a buffer beside Lua may have, if a string of Lua is made of it.
    pub(crate) fn left_for_buffer(&self) -> usize {
        match (self.now(), self.lua.get().and_then(WeakLua::try_upgrade)) {
            (0, _) | (_, None) => usize::MAX,
            (now, Some(lua)) => now.saturating_sub(lua.used_memory()) / 2,
        }
    }

    fn apply(&self, limit: usize) {
        if let Some(lua) = self.lua.get().and_then(WeakLua::try_upgrade) {
            // The limit was set before, so it can be set.
            let _ = lua.set_memory_limit(limit);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_that_has_written_has_the_reserve_and_no_more() {
        const MIB: usize = 1 << 20;
        let (lua, memory) = (Lua::new(), MemoryLimit::default());
        memory.begin(&lua, MIB).expect("a limit");
        assert_eq!((memory.now(), memory.reserve.get()), (MIB, WRITTEN_RESERVE));
        memory.reserve.set(2 * MIB);
        let takes = |bytes: usize| {
            let taken = lua.load(format!("return #string.rep('x', {bytes})")).eval::<usize>().is_ok();
            memory.without(|| lua.gc_collect()).expect("a collection");
            taken
        };
        assert!(takes(MIB / 4) && !takes(MIB));
        memory.raise();
        assert_eq!(memory.now(), 3 * MIB);
        assert!(takes(MIB) && !takes(3 * MIB));
        assert!(memory.left_for_buffer() > MIB && memory.left_for_buffer() <= 3 * MIB / 2);
        memory.restore();
        assert!(takes(MIB / 4) && !takes(MIB));
    }
}
