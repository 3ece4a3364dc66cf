//! Functions of Lua that outlive a run: compiled scripts and the functions of libraries.
//!
//! A value of mlua is a slot of a stack that has room for 8,000. Thousands of scripts would fill
//! it, and then nothing runs any more. So these functions are elements of one table.

use std::cell::{Cell, RefCell};

use mlua::{Function, Lua, Table};

/// The place of a kept function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KeptSlot(pub(crate) i32);

/// A table of functions.
#[derive(Debug)]
pub(crate) struct KeptValues {
    pub(crate) table: Table,
    free: RefCell<Vec<i32>>,
    /// The elements of the table, free ones included.
    len: Cell<i32>,
}

impl KeptValues {
    pub(crate) fn new(lua: &Lua) -> mlua::Result<Self> {
        Ok(Self { table: lua.create_table()?, free: RefCell::default(), len: Cell::new(0) })
    }

    /// Keeps a function.
    pub(crate) fn keep(&self, function: &Function) -> mlua::Result<KeptSlot> {
        let reused = self.free.borrow().last().copied();
        let slot = reused.unwrap_or(self.len.get() + 1);
        self.table.raw_set(slot, function)?;
        match reused {
            Some(_) => _ = self.free.borrow_mut().pop(),
            None => self.len.set(slot),
        }
        Ok(KeptSlot(slot))
    }

    /// Forgets a function. Lua's collector frees it.
    pub(crate) fn forget(&self, KeptSlot(slot): KeptSlot) {
        // The element exists, so this needs no memory. If it failed, the slot would stay in use.
        if self.table.raw_set(slot, false).is_ok() {
            self.free.borrow_mut().push(slot);
        }
    }
}
