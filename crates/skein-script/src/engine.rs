//! One Lua state with the sandbox, and the scripts that it has compiled.

use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::rc::Rc;

use mlua::chunk::ChunkMode;
use mlua::{Function, HookTriggers, Lua, LuaOptions, StdLib, Table, Value, VmState};
use thiserror::Error;

use crate::failure::{fault, text_of, visible};
use crate::host::{ReplySink, RespVersion, RunState, ScriptHost, Stop};
use crate::{ScriptDigest, libraries, redis_library, returned_values};

/// Instructions between two calls of [`ScriptHost::tick`]: about a millisecond.
const TICK: u32 = 100_000;
/// How Lua says that its memory is used up.
const NO_MEMORY: &str = "not enough memory";
/// The name of a script in messages, as in Redis.
const CHUNK: &str = "@user_script";

/// An engine cannot begin, or a script cannot be compiled.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ScriptError {
    /// The script is not Lua.
    #[error("Error compiling script (new function): {0}")]
    Compile(String),
    /// The Lua state cannot be made, within this limit of memory in bytes.
    #[error("Lua cannot begin within max-script-memory, {limit} bytes: {why}; raise it")]
    Begin {
        /// The limit.
        limit: usize,
        /// What Lua says.
        why: String,
    },
}

/// A Lua state that runs scripts, one at a time, on one thread.
pub struct ScriptEngine {
    lua: Lua,
    state: Rc<RunState>,
    /// `run` of the sandbox.
    run: Function,
    compiled: HashMap<ScriptDigest, Function>,
    memory_limit: usize,
}

impl fmt::Debug for ScriptEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptEngine")
            .field("compiled", &self.compiled.len())
            .field("memory", &self.memory())
            .finish_non_exhaustive()
    }
}

impl ScriptEngine {
    /// Makes an engine whose scripts may take this much memory in all, in bytes; 0 for no limit.
    /// What a script leaves is freed later, by Lua's collector.
    ///
    /// ```
    /// # use skein_script::ScriptEngine;
    /// let engine = ScriptEngine::new(64 << 20)?;
    /// assert!(engine.memory() > 0);
    /// # Ok::<(), skein_script::ScriptError>(())
    /// ```
    ///
    /// # Errors
    /// If the limit is too low for Lua itself.
    pub fn new(memory_limit: usize) -> Result<Self, ScriptError> {
        Self::begin(memory_limit)
            .map_err(|error| ScriptError::Begin { limit: memory_limit, why: text_of(&error) })
    }

    fn begin(memory_limit: usize) -> mlua::Result<Self> {
        let libraries = StdLib::STRING | StdLib::MATH | StdLib::TABLE | StdLib::DEBUG;
        // SAFETY: of these libraries only `debug` could break Rust's rules. The sandbox takes one
        // function of it, `getinfo`, and no script reaches the table: `set_globals` below replaces
        // the globals, and the sandbox's faces lead to no function that returns the old ones.
        let lua = unsafe { Lua::unsafe_new_with(libraries, LuaOptions::default()) };
        lua.set_memory_limit(memory_limit)?;
        let state = Rc::new(RunState::default());
        let (globals, run): (Table, Function) = lua
            .load(include_str!("sandbox.lua"))
            .set_name("=sandbox")
            .set_mode(ChunkMode::Text)
            .call((native(&lua, &state)?, libraries_of(&lua, &state)?))?;
        lua.set_globals(globals)?;
        let watched = Rc::clone(&state);
        let triggers = HookTriggers::new().every_nth_instruction(TICK);
        lua.set_global_hook(triggers, move |_, _| match watched.host.with(|host| host.tick()) {
            Some(std::ops::ControlFlow::Break(Stop(why))) => {
                watched.stopped.set(true);
                Err(fault(&why))
            }
            _ => Ok(VmState::Continue),
        })?;
        Ok(Self { lua, state, run, compiled: HashMap::new(), memory_limit })
    }

    /// Compiles a script, unless it is compiled already. `code` is that of its
    /// [`ScriptHead`](crate::ScriptHead), `digest` that of the whole source.
    ///
    /// # Errors
    /// If the code is not Lua.
    pub fn compile(&mut self, digest: ScriptDigest, code: &[u8]) -> Result<(), ScriptError> {
        if self.compiled.contains_key(&digest) {
            return Ok(());
        }
        let chunk = self.lua.load(code).set_name(CHUNK).set_mode(ChunkMode::Text);
        let function = chunk.into_function().map_err(|error| ScriptError::Compile(text_of(&error)))?;
        self.compiled.insert(digest, function);
        Ok(())
    }

    /// Returns the number of compiled scripts.
    pub fn compiled(&self) -> usize {
        self.compiled.len()
    }

    /// Forgets all compiled scripts.
    pub fn forget_all(&mut self) {
        self.compiled.clear();
    }

    /// Returns the bytes of memory that Lua holds.
    pub fn memory(&self) -> usize {
        self.lua.used_memory()
    }

    /// Runs a script, and writes what it returns, or its error, to `reply`.
    ///
    /// # Errors
    /// If the script is not compiled yet and its code is not Lua. Nothing ran then. An error that the
    /// script raises is a reply.
    pub fn run<'a>(
        &mut self,
        (digest, code): (ScriptDigest, &[u8]),
        keys: impl Iterator<Item = &'a [u8]>,
        arguments: impl Iterator<Item = &'a [u8]>,
        host: &mut dyn ScriptHost,
        reply: &mut dyn ReplySink,
    ) -> Result<(), ScriptError> {
        self.compile(digest, code)?;
        self.state.version.set(RespVersion::Resp2);
        self.state.stopped.set(false);
        libraries::json::reset(&self.lua);
        let ran = self.call(digest, keys, arguments, host);
        match ran {
            Ok((true, value)) => returned_values::write(&value, self.state.version.get(), reply),
            Ok((false, raised)) => reply.error(&self.raised_text(&raised, digest)),
            Err(error) => reply.error(&self.failed_text(&text_of(&error))),
        }
        self.collect();
        Ok(())
    }

    fn call<'a>(
        &self,
        digest: ScriptDigest,
        keys: impl Iterator<Item = &'a [u8]>,
        arguments: impl Iterator<Item = &'a [u8]>,
        host: &mut dyn ScriptHost,
    ) -> mlua::Result<(bool, Value)> {
        let Some(script) = self.compiled.get(&digest) else {
            return Err(fault("the script is not compiled"));
        };
        let keys = self.strings(keys)?;
        let arguments = self.strings(arguments)?;
        self.state.host.lend(host, || self.run.call((script, keys, arguments)))
    }

    /// Frees what scripts left, if that is much. Lua 5.1 does not do so when memory runs out.
    fn collect(&self) {
        if self.memory_limit > 0 && self.memory() > self.memory_limit / 2 {
            // An error comes from a finalizer, and no script can make one.
            let _ = self.lua.gc_collect();
        }
    }

    fn strings<'a>(&self, texts: impl Iterator<Item = &'a [u8]>) -> mlua::Result<Table> {
        let table = self.lua.create_table_with_capacity(texts.size_hint().0, 0)?;
        for text in texts {
            table.raw_push(self.lua.create_string(text)?)?;
        }
        Ok(table)
    }

    /// Returns the error reply for a raised value: `located` of the sandbox made it, unless memory
    /// was full.
    fn raised_text(&self, raised: &Value, digest: ScriptDigest) -> Vec<u8> {
        let Ok(Value::Table(place)) = visible(&self.lua, raised.clone()) else {
            return self.failed_text(&raised.to_string().unwrap_or_default());
        };
        let text: Option<mlua::LuaString> = place.raw_get("err").ok();
        let mut text = text.map_or_else(|| b"ERR unknown error".to_vec(), |text| text.as_bytes().to_vec());
        if text.ends_with(NO_MEMORY.as_bytes()) {
            return self.failed_text(NO_MEMORY);
        }
        let source: Option<mlua::LuaString> = place.raw_get("source").unwrap_or_default();
        let line: Option<i64> = place.raw_get("line").unwrap_or_default();
        if let (Some(source), Some(line)) = (source, line) {
            text.extend_from_slice(format!(" script: {digest}, on ").as_bytes());
            text.extend_from_slice(&source.as_bytes());
            text.extend_from_slice(format!(":{line}.").as_bytes());
        }
        text
    }

    /// Returns the error reply for a failure without a place.
    fn failed_text(&self, text: &str) -> Vec<u8> {
        if text.contains(NO_MEMORY) {
            let limit = self.memory_limit;
            return format!(
                "ERR the script takes more memory than max-script-memory, {limit} bytes; raise it, or keep less in the script"
            )
            .into_bytes();
        }
        format!("ERR {text}").into_bytes()
    }
}

/// Returns the functions that the sandbox takes from the engine.
fn native(lua: &Lua, state: &Rc<RunState>) -> mlua::Result<Table> {
    let native = lua.create_table()?;
    native.raw_set("visible", lua.create_function(|lua, raised: Value| visible(lua, raised))?)?;
    let watched = Rc::clone(state);
    native.raw_set("stopped", lua.create_function(move |_, ()| Ok(watched.stopped.get()))?)?;
    native.raw_set("compile", lua.create_function(compile_text)?)?;
    // Every state has random numbers of its own.
    native.raw_set("seed", RandomState::new().build_hasher().finish() >> 33)?;
    Ok(native)
}

/// `loadstring`: only texts, because compiled code can break Lua itself.
fn compile_text(
    lua: &Lua,
    (code, name): (mlua::LuaString, mlua::LuaString),
) -> mlua::Result<(Option<Function>, Option<mlua::LuaString>)> {
    let code = code.as_bytes();
    let chunk = lua.load(&*code).set_name(name.to_string_lossy()).set_mode(ChunkMode::Text);
    match chunk.into_function() {
        Ok(function) => Ok((Some(function), None)),
        Err(error) => Ok((None, Some(lua.create_string(text_of(&error))?))),
    }
}

/// Returns the libraries that Lua itself does not have.
fn libraries_of(lua: &Lua, state: &Rc<RunState>) -> mlua::Result<Table> {
    let all = lua.create_table()?;
    all.raw_set("redis", redis_library::table(lua, state)?)?;
    all.raw_set("bit", libraries::bit::table(lua)?)?;
    all.raw_set("struct", libraries::struct_format::table(lua)?)?;
    all.raw_set("cjson", libraries::json::table(lua)?)?;
    all.raw_set("cmsgpack", libraries::msgpack::table(lua)?)?;
    Ok(all)
}
