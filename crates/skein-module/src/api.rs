//! The server's functions that the module uses, with lifetimes and lengths.
//!
//! The crate `valkey-module` declares and loads these functions, and the module uses that crate
//! where it suffices. The crate's wrappers lack three things that this file adds:
//!
//! - names as bytes,
//! - keys that are opened without an update of their time of use,
//! - blocked clients that get their reply piece by piece.

use std::ffi::{CStr, CString, c_int, c_long, c_void};
use std::marker::PhantomData;
use std::ptr::null_mut;
use std::slice;

use valkey_module::raw;

/// Calls a function of the server. Panics if the server lacks the function; Redis has all of them
/// from 7.0 on.
macro_rules! server {
    ($name:ident($($argument:expr),* $(,)?)) => {
        (raw::$name.expect(concat!("a server with ", stringify!($name))))($($argument),*)
    };
}
pub(crate) use server;

/// A context of the server: of a client's request, a timer or a notification.
#[derive(Debug, Clone, Copy)]
pub struct Ctx<'c> {
    raw: *mut raw::RedisModuleCtx,
    lives: PhantomData<&'c ()>,
}

/// Properties of a context: bits of `RedisModule_GetContextFlags`.
pub const DENY_BLOCKING: c_int = 1 << 21;
pub const RESP3: c_int = 1 << 22;
pub const REPLICA: c_int = 1 << 3;
pub const CLUSTER: c_int = 1 << 5;
/// Abilities that the module declares: bits of `RedisModule_SetModuleOptions`. Without the first
/// bit, a replica ignores its option `repl-diskless-load swapdb`. Without the second bit, which
/// only Valkey knows, Valkey 9 rejects `CLUSTER MIGRATESLOTS`.
pub const LOADS_BESIDE: c_int = 1 << 2;
pub const ATOMIC_SLOT_MIGRATION: c_int = 1 << 5;
/// Kinds of access to a key: bits of `RedisModule_ACLCheckKeyPermissions`.
pub const TO_READ: c_int = 1 << 4;
pub const TO_DELETE: c_int = 1 << 7;

impl Ctx<'_> {
    /// # Safety
    /// The context must belong to the server, and must live as long as the returned value.
    pub unsafe fn new(raw: *mut raw::RedisModuleCtx) -> Self {
        Self { raw, lives: PhantomData }
    }

    pub fn raw(self) -> *mut raw::RedisModuleCtx {
        self.raw
    }

    pub fn has(self, flag: c_int) -> bool {
        // SAFETY: a live context.
        unsafe { server!(RedisModule_GetContextFlags(self.raw)) & flag != 0 }
    }

    /// Returns the number of the selected database.
    pub fn database(self) -> usize {
        // SAFETY: a live context.
        let number = unsafe { server!(RedisModule_GetSelectedDb(self.raw)) };
        usize::try_from(number).unwrap_or(0)
    }

    /// Selects another database. Returns whether a database of that number exists.
    pub fn select(self, database: usize) -> bool {
        let Ok(number) = c_int::try_from(database) else { return false };
        // SAFETY: a live context.
        unsafe { server!(RedisModule_SelectDb(self.raw, number)) == 0 }
    }

    /// Returns the name of the client's user, or `None` if no client made the request.
    pub fn user_name(self) -> Option<ServerString> {
        // SAFETY: a live context; the string is ours to free.
        let name = unsafe { server!(RedisModule_GetCurrentUserName(self.raw)) };
        (!name.is_null()).then_some(ServerString(name))
    }

    /// Opens a key for reading, without an update of its time of use. Returns `None` if the key
    /// does not exist.
    pub fn open(self, name: &ServerString) -> Option<OpenKey<'_>> {
        let mode = (raw::REDISMODULE_READ | raw::REDISMODULE_OPEN_KEY_NOTOUCH).cast_signed();
        // SAFETY: a live context and a live string.
        let key = unsafe { server!(RedisModule_OpenKey(self.raw, name.0, mode)) };
        (!key.is_null()).then_some(OpenKey { raw: key, lives: PhantomData })
    }

    /// Calls a write command with these arguments, and replicates it unchanged to replicas and the
    /// AOF. Returns the integer that the command replies, or `None` if it replies something else.
    pub fn write(self, command: &CStr, arguments: &[ServerString]) -> Option<i64> {
        let mut strings: Vec<_> = arguments.iter().map(|name| name.0).collect();
        // SAFETY: a live context, and an array of live strings with its length, as the format `v`
        // requires; the reply is freed once.
        unsafe {
            let call = raw::RedisModule_Call.expect("a server with RedisModule_Call");
            let reply = call(self.raw, command.as_ptr(), c"!v".as_ptr(), strings.as_mut_ptr(), strings.len());
            if reply.is_null() {
                return None;
            }
            let kind = server!(RedisModule_CallReplyType(reply));
            let answer = (kind == raw::REDISMODULE_REPLY_INTEGER as c_int)
                .then(|| server!(RedisModule_CallReplyInteger(reply)));
            server!(RedisModule_FreeCallReply(reply));
            answer
        }
    }

    /// Calls a command with one argument. Returns the text that it replies, or `None` if it replies
    /// something else.
    pub fn text(self, command: &CStr, argument: &CStr) -> Option<Vec<u8>> {
        // SAFETY: a live context, and a C string, as the format `c` requires; the reply is freed
        // once, after its text was copied.
        unsafe {
            let call = raw::RedisModule_Call.expect("a server with RedisModule_Call");
            let reply = call(self.raw, command.as_ptr(), c"c".as_ptr(), argument.as_ptr());
            if reply.is_null() {
                return None;
            }
            let is_text = server!(RedisModule_CallReplyType(reply)) == raw::REDISMODULE_REPLY_STRING as c_int;
            let text = is_text.then(|| {
                let mut len = 0;
                let first = server!(RedisModule_CallReplyStringPtr(reply, &raw mut len));
                slice::from_raw_parts(first.cast::<u8>(), len).to_vec()
            });
            server!(RedisModule_FreeCallReply(reply));
            text
        }
    }

    /// Declares the module's abilities to the server.
    pub fn declare(self, options: c_int) {
        // SAFETY: a live context while the module is loaded.
        unsafe { server!(RedisModule_SetModuleOptions(self.raw, options)) };
    }
}

/// Returns whether the server must not send anything to its replicas now, because clients are
/// paused.
pub fn is_quiet() -> bool {
    // SAFETY: a plain call.
    unsafe { server!(RedisModule_AvoidReplicaTraffic()) != 0 }
}

/// Returns the microseconds of a monotonic clock.
pub fn now_usec() -> u64 {
    // SAFETY: a plain call.
    unsafe { server!(RedisModule_MonotonicMicroseconds()) }
}

/// A string of the server: the name of a key, a user or a command.
#[derive(Debug)]
pub struct ServerString(*mut raw::RedisModuleString);

impl ServerString {
    pub fn new(bytes: &[u8]) -> Self {
        // SAFETY: the slice has as many bytes as its length says; without a context the string is
        // ours to free.
        Self(unsafe { server!(RedisModule_CreateString(null_mut(), bytes.as_ptr().cast(), bytes.len())) })
    }
}

impl Drop for ServerString {
    fn drop(&mut self) {
        // SAFETY: ours, and freed once.
        unsafe { server!(RedisModule_FreeString(null_mut(), self.0)) };
    }
}

/// Returns the bytes of a string.
///
/// # Safety
/// The string must live, and must not change, as long as the bytes are used.
pub unsafe fn bytes_of<'s>(string: *const raw::RedisModuleString) -> &'s [u8] {
    let mut len = 0;
    // SAFETY: the caller guarantees a live string.
    unsafe {
        let first = server!(RedisModule_StringPtrLen(string, &raw mut len));
        slice::from_raw_parts(first.cast(), len)
    }
}

/// A user whose permissions can be checked.
#[derive(Debug)]
pub struct ServerUser(*mut raw::RedisModuleUser);

impl ServerUser {
    /// Returns the server's user of this name, or `None` if the user does not exist any more.
    pub fn of(name: &ServerString) -> Option<Self> {
        // SAFETY: a live string.
        let user = unsafe { server!(RedisModule_GetModuleUserFromUserName(name.0)) };
        (!user.is_null()).then_some(Self(user))
    }

    /// Creates a user that only the module knows, with these rules. Returns `None` if the server
    /// rejects a rule.
    pub fn with_rules<'r>(rules: impl IntoIterator<Item = &'r [u8]>) -> Option<Self> {
        // SAFETY: a C string; the user is ours to free.
        let user = Self(unsafe { server!(RedisModule_CreateModuleUser(c"skein".as_ptr())) });
        for rule in rules {
            let rule = CString::new(rule).ok()?;
            // SAFETY: a live user and a C string.
            if unsafe { server!(RedisModule_SetModuleUserACL(user.0, rule.as_ptr())) } != 0 {
                return None;
            }
        }
        Some(user)
    }

    /// Returns the user's rules as text, as `ACL LIST` shows them. Returns `None` if the server has
    /// no function for this: Redis has one from 7.0.6 on.
    pub fn rules(&self) -> Option<Vec<u8>> {
        // SAFETY: reads a pointer to a function that the server may lack.
        let describe = unsafe { raw::RedisModule_GetModuleUserACLString }?;
        // SAFETY: a live user; the string is ours to free.
        let rules = unsafe { describe(self.0) };
        if rules.is_null() {
            return None;
        }
        let rules = ServerString(rules);
        // SAFETY: the string lives, and no code changes it meanwhile.
        Some(unsafe { bytes_of(rules.0) }.to_vec())
    }

    /// Returns whether any of the user's sets of rules allows this access to a key, no matter which
    /// commands that set allows.
    pub fn may(&self, what: c_int, name: &ServerString) -> bool {
        // SAFETY: a live user and a live string.
        unsafe { server!(RedisModule_ACLCheckKeyPermissions(self.0, name.0, what)) == 0 }
    }

    /// Returns whether the user may call a command that has no keys.
    pub fn may_call(&self, command: &ServerString) -> bool {
        let mut words = [command.0];
        // SAFETY: a live user, and one live string.
        unsafe { server!(RedisModule_ACLCheckCommandPermissions(self.0, words.as_mut_ptr(), 1)) == 0 }
    }
}

impl Drop for ServerUser {
    fn drop(&mut self) {
        // SAFETY: ours, and freed once. (For a user of the server this frees the handle, not the
        // user.)
        unsafe { server!(RedisModule_FreeModuleUser(self.0)) };
    }
}

/// An open key.
#[derive(Debug)]
pub struct OpenKey<'c> {
    raw: *mut raw::RedisModuleKey,
    lives: PhantomData<&'c ()>,
}

/// The type of a key's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueType {
    String,
    List,
    Hash,
    Set,
    SortedSet,
    Stream,
    /// A type that a module defines.
    Other,
}

impl OpenKey<'_> {
    pub fn kind(&self) -> ValueType {
        // SAFETY: an open key.
        match unsafe { server!(RedisModule_KeyType(self.raw)) } as isize {
            raw::REDISMODULE_KEYTYPE_STRING => ValueType::String,
            raw::REDISMODULE_KEYTYPE_LIST => ValueType::List,
            raw::REDISMODULE_KEYTYPE_HASH => ValueType::Hash,
            raw::REDISMODULE_KEYTYPE_SET => ValueType::Set,
            raw::REDISMODULE_KEYTYPE_ZSET => ValueType::SortedSet,
            raw::REDISMODULE_KEYTYPE_STREAM => ValueType::Stream,
            _ => ValueType::Other,
        }
    }

    /// Returns the number of the key's database.
    pub fn database(&self) -> usize {
        // SAFETY: an open key.
        let number = unsafe { server!(RedisModule_GetDbIdFromModuleKey(self.raw)) };
        usize::try_from(number).unwrap_or(0)
    }

    /// Returns whether the key has an expiry time.
    pub fn expires(&self) -> bool {
        // SAFETY: an open key.
        unsafe { server!(RedisModule_GetExpire(self.raw)) != i64::from(raw::REDISMODULE_NO_EXPIRE) }
    }

    /// Returns the bytes of a string.
    pub fn string(&self) -> &[u8] {
        let mut len = 0;
        // SAFETY: an open key; the bytes stay until the key is written, and no code writes it while
        // it is borrowed.
        unsafe {
            let first =
                server!(RedisModule_StringDMA(self.raw, &raw mut len, raw::REDISMODULE_READ.cast_signed()));
            if first.is_null() { &[] } else { slice::from_raw_parts(first.cast(), len) }
        }
    }

    /// Returns the number of elements of a list, set, sorted set or hash.
    pub fn len(&self) -> usize {
        // SAFETY: an open key.
        unsafe { server!(RedisModule_ValueLength(self.raw)) }
    }

    /// Returns the fields of a hash with their values, sorted by field. Of a set, returns the
    /// sorted members with empty values.
    pub fn fields(&self) -> Vec<(Vec<u8>, Vec<u8>)> {
        unsafe extern "C" fn note(
            _: *mut raw::RedisModuleKey,
            field: *mut raw::RedisModuleString,
            value: *mut raw::RedisModuleString,
            found: *mut c_void,
        ) {
            // SAFETY: the pointer is that of the vector below; the strings live for the duration of
            // this call.
            unsafe {
                let found = &mut *found.cast::<Vec<(Vec<u8>, Vec<u8>)>>();
                let value = if value.is_null() { Vec::new() } else { bytes_of(value).to_vec() };
                found.push((bytes_of(field).to_vec(), value));
            }
        }
        let mut found = Vec::<(Vec<u8>, Vec<u8>)>::with_capacity(self.len());
        // SAFETY: an open key, a cursor that is created and destroyed here, and the vector that
        // `note` expects.
        unsafe {
            let cursor = server!(RedisModule_ScanCursorCreate());
            let into = (&raw mut found).cast();
            while server!(RedisModule_ScanKey(self.raw, cursor, Some(note), into)) != 0 {}
            server!(RedisModule_ScanCursorDestroy(cursor));
        }
        found.sort_unstable();
        // A scan may return an element twice.
        found.dedup_by(|later, first| later.0 == first.0);
        found
    }

    /// Returns the value of a field of a hash, or `None` if the hash lacks the field.
    pub fn field(&self, field: &ServerString) -> Option<Vec<u8>> {
        let mut value: *mut raw::RedisModuleString = null_mut();
        // SAFETY: an open key and a live string; a null ends the list of fields; the value is ours
        // to free.
        unsafe {
            let get = raw::RedisModule_HashGet.expect("a server with RedisModule_HashGet");
            get(
                self.raw,
                raw::REDISMODULE_HASH_NONE.cast_signed(),
                field.0,
                &raw mut value,
                null_mut::<c_void>(),
            );
            if value.is_null() {
                return None;
            }
            let value = ServerString(value);
            Some(bytes_of(value.0).to_vec())
        }
    }

    /// Returns the members of a sorted set with their scores, sorted by score.
    pub fn members(&self) -> Vec<(Vec<u8>, f64)> {
        let mut found = Vec::with_capacity(self.len());
        // SAFETY: an open key, iterated from one end to the other; every member is ours to free.
        unsafe {
            let (low, high) = (f64::NEG_INFINITY, f64::INFINITY);
            server!(RedisModule_ZsetFirstInScoreRange(self.raw, low, high, 0, 0));
            while server!(RedisModule_ZsetRangeEndReached(self.raw)) == 0 {
                let mut score = 0.0;
                let member = server!(RedisModule_ZsetRangeCurrentElement(self.raw, &raw mut score));
                if member.is_null() {
                    break;
                }
                let member = ServerString(member);
                found.push((bytes_of(member.0).to_vec(), score));
                server!(RedisModule_ZsetRangeNext(self.raw));
            }
            server!(RedisModule_ZsetRangeStop(self.raw));
        }
        found
    }

    /// Returns the elements of a list, in their order.
    pub fn elements(&self) -> Vec<Vec<u8>> {
        let get = |index: c_long| {
            // SAFETY: an open key; the element is ours to free.
            unsafe {
                let element = server!(RedisModule_ListGet(self.raw, index));
                (!element.is_null()).then(|| bytes_of(ServerString(element).0).to_vec())
            }
        };
        (0..).map_while(get).collect()
    }
}

impl Drop for OpenKey<'_> {
    fn drop(&mut self) {
        // SAFETY: open, and closed once.
        unsafe { server!(RedisModule_CloseKey(self.raw)) };
    }
}
