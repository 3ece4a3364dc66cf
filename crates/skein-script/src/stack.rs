//! The Lua stack, for code that walks or builds many values.
//!
//! mlua's own values are references in a table of 8,000 slots, and each access to a table is a
//! protected call that leaves garbage. That is too slow for every element of a document or a reply,
//! and too few for deep ones. So encoders, decoders and the engine work on the stack, inside one
//! protected call.
//!
//! ```text
//!  protected(lua, arguments, work)
//!      │ pushes the arguments
//!      ▼
//!  work(&mut Stack)      next, element: push the values of a table
//!      │                 push_…, set:   build tables
//!      ▼
//!  the values left on the stack are the results
//! ```
//!
//! Invariants:
//!
//! 1. Lua may leave `work` with `longjmp` when it runs out of memory. So `work` owns nothing that
//!    must be dropped: its buffers belong to the caller, and its errors are `Copy`.
//! 2. A C function has 20 slots. Work that needs more reserves them with [`Stack::reserve`].

use std::ffi::{c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use mlua::{FromLuaMulti, IntoLuaMulti, Lua, Result, ffi};

/// The type of a value, and the value if it needs no memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    Nil,
    Boolean(bool),
    Number(f64),
    String,
    Table,
    /// A light user data of zero: `cjson.null`.
    Null,
    /// Any other type, by its name.
    Other(&'static str),
}

impl Kind {
    /// Returns the name of the type in Lua.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Nil => "nil",
            Kind::Boolean(_) => "boolean",
            Kind::Number(_) => "number",
            Kind::String => "string",
            Kind::Table => "table",
            Kind::Null => "userdata",
            Kind::Other(name) => name,
        }
    }
}

/// Runs `work` with `arguments` on the stack. Returns its result, and the values that it leaves on
/// the stack.
///
/// # Errors
///
/// If Lua runs out of memory.
///
/// # Safety
///
/// No function that `work` calls, nor `work` itself, may own a value that must be dropped.
pub(crate) unsafe fn protected<T: Copy, R: FromLuaMulti>(
    lua: &Lua,
    arguments: impl IntoLuaMulti,
    work: impl FnOnce(&mut Stack) -> T,
) -> Result<(T, R)> {
    let mut outcome = None;
    // A panic must not unwind through the frames of Lua.
    let guarded = |state| outcome = Some(catch_unwind(AssertUnwindSafe(|| work(&mut Stack { state }))));
    // SAFETY: the state is that of `lua` during the call, and the caller promises that a `longjmp`
    // skips no destructor. `guarded` owns only references.
    let values = unsafe { lua.exec_raw(arguments, guarded)? };
    match outcome {
        Some(Ok(outcome)) => Ok((outcome, values)),
        Some(Err(panic)) => resume_unwind(panic),
        None => unreachable!("a protected call that succeeds has run its function"),
    }
}

/// The stack of the running protected call. Slots are counted from 1; negative ones from the top.
pub(crate) struct Stack {
    state: *mut ffi::lua_State,
}

impl Stack {
    /// Returns the stack of a function that Lua calls.
    ///
    /// # Safety
    /// The state is the one that Lua has given to the function, and the stack is not used after its
    /// end.
    pub(crate) unsafe fn of(state: *mut ffi::lua_State) -> Self {
        Self { state }
    }

    /// Returns the first upvalue of the running function, if it is a light user data; otherwise
    /// zero.
    pub(crate) fn upvalue(&self) -> *mut c_void {
        // SAFETY: the function accepts any slot, and returns zero for other values.
        unsafe { ffi::lua_touserdata(self.state, ffi::lua_upvalueindex(1)) }
    }

    /// Pushes a function of Lua with this pointer as its upvalue.
    pub(crate) fn push_function(&mut self, function: ffi::lua_CFunction, upvalue: *const c_void) {
        // SAFETY: the slots are reserved, see invariant 2. Running out of memory leaves the call.
        unsafe {
            ffi::lua_pushlightuserdata(self.state, upvalue.cast_mut());
            ffi::lua_pushcclosure(self.state, function, 1);
        }
    }

    /// Raises the topmost value, and leaves the function with `longjmp`.
    pub(crate) fn raise(&mut self) -> ! {
        // SAFETY: a value is topmost. The callers own nothing (invariant 1).
        unsafe { ffi::lua_error(self.state) }
    }

    /// Pushes a string of several parts.
    pub(crate) fn push_joined(&mut self, parts: &[&[u8]]) {
        for part in parts {
            self.push_bytes(part);
        }
        let count = c_int::try_from(parts.len()).unwrap_or(c_int::MAX);
        // SAFETY: as many strings are topmost.
        unsafe { ffi::lua_concat(self.state, count) };
    }

    /// Returns whether `slots` more values fit, and reserves the space for them.
    pub(crate) fn reserve(&mut self, slots: c_int) -> bool {
        // SAFETY: `state` is the state of the protected call, which raises errors safely.
        unsafe { ffi::lua_checkstack(self.state, slots) != 0 }
    }

    /// Returns the type of the value in a slot.
    pub(crate) fn kind(&self, slot: c_int) -> Kind {
        // SAFETY: these functions accept any slot, and convert only values of the type checked.
        unsafe {
            match ffi::lua_type(self.state, slot) {
                ffi::LUA_TBOOLEAN => Kind::Boolean(ffi::lua_toboolean(self.state, slot) != 0),
                ffi::LUA_TNUMBER => Kind::Number(ffi::lua_tonumber(self.state, slot)),
                ffi::LUA_TSTRING => Kind::String,
                ffi::LUA_TTABLE => Kind::Table,
                ffi::LUA_TLIGHTUSERDATA if ffi::lua_touserdata(self.state, slot).is_null() => Kind::Null,
                ffi::LUA_TLIGHTUSERDATA | ffi::LUA_TUSERDATA => Kind::Other("userdata"),
                ffi::LUA_TFUNCTION => Kind::Other("function"),
                ffi::LUA_TTHREAD => Kind::Other("thread"),
                _ => Kind::Nil,
            }
        }
    }

    /// Returns the bytes of the string in a slot, or nothing if the value is not a string.
    pub(crate) fn bytes(&self, slot: c_int) -> &[u8] {
        // SAFETY: the value is a string, so `lua_tolstring` does not convert it. The bytes live as
        // long as the string is on the stack, and every function that removes it borrows `self`
        // mutably.
        unsafe {
            if ffi::lua_type(self.state, slot) != ffi::LUA_TSTRING {
                return &[];
            }
            let mut length = 0;
            let bytes = ffi::lua_tolstring(self.state, slot, &raw mut length);
            std::slice::from_raw_parts(bytes.cast(), length)
        }
    }

    /// Replaces the key on top by the next key of the table below it, and pushes the value. At the
    /// end of the table it removes the key and returns false. The first key follows nil.
    pub(crate) fn next(&mut self) -> bool {
        debug_assert_eq!(self.kind(-2), Kind::Table);
        // SAFETY: a table is below the key, and the key is nil or the last call returned it. The
        // slots are reserved, see invariant 2.
        unsafe { ffi::lua_next(self.state, -2) != 0 }
    }

    /// Pushes element `index` of the table on top.
    pub(crate) fn element(&mut self, index: i32) {
        debug_assert_eq!(self.kind(-1), Kind::Table);
        // SAFETY: a table is on top, and the slot is reserved, see invariant 2.
        unsafe { ffi::lua_rawgeti_(self.state, -1, index) };
    }

    /// Pushes the field of this name of the table on top.
    pub(crate) fn field(&mut self, name: &[u8]) {
        debug_assert_eq!(self.kind(-1), Kind::Table);
        self.push_bytes(name);
        // SAFETY: a table is below the key, which the value replaces.
        unsafe { ffi::lua_rawget(self.state, -2) };
    }

    /// Removes the topmost values.
    pub(crate) fn pop(&mut self, count: c_int) {
        debug_assert!(self.top() >= count);
        // SAFETY: there are as many values.
        unsafe { ffi::lua_settop(self.state, -count - 1) };
    }

    /// Removes all values.
    pub(crate) fn clear(&mut self) {
        // SAFETY: an empty stack is always possible.
        unsafe { ffi::lua_settop(self.state, 0) };
    }

    /// Returns the number of values.
    pub(crate) fn top(&self) -> c_int {
        // SAFETY: reads a field of the state.
        unsafe { ffi::lua_gettop(self.state) }
    }

    /// Moves the topmost value to a slot, and the values from there on up.
    pub(crate) fn insert(&mut self, slot: c_int) {
        debug_assert!((1..=self.top()).contains(&slot));
        // SAFETY: the slot has a value.
        unsafe { ffi::lua_insert(self.state, slot) };
    }

    /// Pushes a copy of the value in a slot.
    pub(crate) fn push_copy(&mut self, slot: c_int) {
        // SAFETY: as in `push_nil`.
        unsafe { ffi::lua_pushvalue(self.state, slot) };
    }

    pub(crate) fn push_nil(&mut self) {
        // SAFETY: the slot is reserved, see invariant 2. So it is in the functions that follow.
        unsafe { ffi::lua_pushnil(self.state) };
    }

    pub(crate) fn push_null(&mut self) {
        // SAFETY: as in `push_nil`.
        unsafe { ffi::lua_pushlightuserdata(self.state, std::ptr::null_mut()) };
    }

    pub(crate) fn push_boolean(&mut self, value: bool) {
        // SAFETY: as in `push_nil`.
        unsafe { ffi::lua_pushboolean(self.state, c_int::from(value)) };
    }

    pub(crate) fn push_number(&mut self, value: f64) {
        // SAFETY: as in `push_nil`.
        unsafe { ffi::lua_pushnumber(self.state, value) };
    }

    pub(crate) fn push_bytes(&mut self, bytes: &[u8]) {
        // SAFETY: as in `push_nil`. Lua copies the bytes; running out of memory leaves the call.
        unsafe { ffi::lua_pushlstring_(self.state, bytes.as_ptr().cast(), bytes.len()) };
    }

    pub(crate) fn push_table(&mut self) {
        self.push_table_for(0);
    }

    /// Pushes a table with room for so many elements.
    pub(crate) fn push_table_for(&mut self, elements: usize) {
        let elements = c_int::try_from(elements).unwrap_or(0);
        // SAFETY: as in `push_bytes`.
        unsafe { ffi::lua_createtable(self.state, elements, 0) };
    }

    /// Pushes an array of strings.
    pub(crate) fn push_texts<'t>(&mut self, texts: &mut impl Iterator<Item = &'t [u8]>) {
        self.push_table_for(texts.size_hint().0);
        for (index, text) in (1..).zip(texts) {
            self.push_bytes(text);
            self.set_element(index);
        }
    }

    /// Calls the function below so many arguments, which are topmost, and replaces all of them by
    /// so many results. Its error leaves the protected call.
    pub(crate) fn call(&mut self, arguments: c_int, results: c_int) {
        debug_assert!(self.top() > arguments);
        // SAFETY: a function and its arguments are topmost, and their slots hold the results.
        unsafe { ffi::lua_call(self.state, arguments, results) };
    }

    /// Sets a field of a table. The table, the key and the value are topmost; key and value are
    /// removed. The key is neither nil nor NaN.
    pub(crate) fn set(&mut self) {
        debug_assert_eq!(self.kind(-3), Kind::Table);
        // SAFETY: a table is below key and value. A bad key raises an error in the protected call.
        unsafe { ffi::lua_rawset(self.state, -3) };
    }

    /// Sets element `index` of the table below the topmost value, and removes the value.
    pub(crate) fn set_element(&mut self, index: i32) {
        debug_assert_eq!(self.kind(-2), Kind::Table);
        // SAFETY: a table is below the value.
        unsafe { ffi::lua_rawseti_(self.state, -2, index) };
    }
}
