//! One Lua state with the sandbox, the scripts that it has compiled, and its libraries of
//! functions.

use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::panic::resume_unwind;
use std::rc::Rc;

use mlua::chunk::ChunkMode;
use mlua::{Function, HookTriggers, Lua, LuaOptions, StdLib, Table, Value, VmState};
use thiserror::Error;

use crate::compiled_scripts::CompiledScripts;
use crate::failure::{text_of, visible};
use crate::function_library::{LoadedLibrary, register_function};
use crate::host::{ReplySink, RespVersion, ScriptHost};
use crate::kept_values::{KeptSlot, KeptValues};
use crate::returned_values::ReplyEnd;
use crate::run_state::RunState;
use crate::stack::protected;
use crate::work_meter::{TICK_UNITS, share_state, stopped_error};
use crate::{ScriptDigest, compile, libraries, patterns, redis_library, returned_values};

/// Instructions between two calls of [`ScriptHost::tick`]: about a millisecond.
const TICK: u32 = 100_000;
/// The stack that a thread must have to run scripts, in bytes. Lua nests at most 200 calls of C
/// functions, and the tests run the deepest scripts on a quarter of this.
pub const STACK_SIZE: usize = 8 << 20;

/// How Lua says that its memory is used up.
pub(crate) const NO_MEMORY: &str = "not enough memory";
/// How the crate `mlua` says that Lua's stack cannot grow.
const NO_STACK: &str = "out of Lua stack";
/// The part of the memory limit, in eighths, that may stay in use between two runs. With more, the
/// next ones would find too little.
const LASTING_EIGHTHS: usize = 6;
/// The name of a script in messages, as in Redis.
const CHUNK: &[u8] = b"@user_script";

/// An engine cannot begin, or a script cannot be compiled.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ScriptError {
    /// The script is not Lua.
    #[error("Error compiling script (new function): {0}")]
    Compile(String),
    /// The engine has no such function. The caller did not load its library.
    #[error("Function not found")]
    NoFunction,
    /// The script is longer than the engine has memory for.
    #[error(
        "the script needs more memory than max-script-memory, {limit} bytes; raise it, or split the script"
    )]
    NoMemory {
        /// The limit.
        limit: usize,
    },
    /// The Lua state cannot be made, within this limit of memory in bytes.
    #[error("Lua cannot begin within max-script-memory, {limit} bytes: {why}; raise it")]
    Begin {
        /// The limit.
        limit: usize,
        /// The message of Lua.
        why: String,
    },
}

type SandboxParts = (Table, Table, Function, Function, Function, Function);

/// A Lua state that runs scripts and functions, one at a time, on one thread.
pub struct ScriptEngine {
    pub(crate) lua: Lua,
    pub(crate) sandbox: Sandbox,
    compiled: CompiledScripts,
    pub(crate) libraries: HashMap<u64, LoadedLibrary>,
    /// Dropped last: functions of Lua point to it (`command_calls`).
    pub(crate) state: Rc<RunState>,
}

/// The functions that `sandbox.lua` returns, besides the globals of scripts.
pub(crate) struct Sandbox {
    /// The globals of libraries.
    pub(crate) environment: Table,
    run: Function,
    pub(crate) load_library: Function,
    pub(crate) call_function: Function,
    empty_faces: Function,
}

impl fmt::Debug for ScriptEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptEngine")
            .field("compiled", &self.compiled.len())
            .field("libraries", &self.libraries.len())
            .field("memory", &self.memory())
            .finish_non_exhaustive()
    }
}

impl ScriptEngine {
    /// Makes an engine that limits the memory of all its scripts together, in bytes; 0 means no
    /// limit. Lua's collector frees the values of an ended script later.
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
        let state = Rc::new(RunState::default());
        state.memory.begin(&lua, memory_limit)?;
        state.units_left.set(TICK_UNITS);
        share_state(&lua, &state);
        let kept = KeptValues::new(&lua)?;
        // It is empty: this is a new state.
        let _ = state.kept.set(kept);
        let (globals, environment, run, load_library, call_function, empty_faces): SandboxParts = lua
            .load(include_str!("sandbox.lua"))
            .set_name("=sandbox")
            .set_mode(ChunkMode::Text)
            .call((native(&lua, &state)?, libraries_of(&lua, &state)?))?;
        lua.set_globals(globals)?;
        let watched = Rc::clone(&state);
        let triggers = HookTriggers::new().every_nth_instruction(TICK);
        lua.set_global_hook(triggers, move |_, _| {
            if watched.goes_on() { Ok(VmState::Continue) } else { Err(stopped_error(Some(&watched))) }
        })?;
        let sandbox = Sandbox { environment, run, load_library, call_function, empty_faces };
        let compiled = CompiledScripts::new(memory_limit);
        Ok(Self { lua, sandbox, compiled, libraries: HashMap::new(), state })
    }

    /// Compiles a script, unless it is compiled already. The work has a bound. `code` is that of
    /// its [`ScriptHead`](crate::ScriptHead), `digest` that of the whole source. If compiled
    /// scripts take too much memory, the engine forgets those that were not used for longest.
    ///
    /// # Errors
    /// If the code is not Lua, or the memory limit is too low for it.
    pub fn compile(&mut self, digest: ScriptDigest, code: &[u8]) -> Result<(), ScriptError> {
        if self.compiled.contains(digest) {
            return Ok(());
        }
        let (function, bytes) = match self.compile_code(code) {
            Err(error) if is_memory_error(&error) => {
                // Earlier scripts may have left more than Lua has collected.
                self.forget_all();
                self.collect_all();
                self.compile_code(code)
            }
            compiled => compiled,
        }
        .map_err(|error| self.compile_error(&error))?;
        let kept = self.state.kept();
        let slot = kept.keep(&function).map_err(|error| self.compile_error(&error))?;
        self.compiled.add(digest, slot, bytes, kept);
        self.collect();
        Ok(())
    }

    /// Compiles code. Returns how many bytes it has taken, too.
    fn compile_code(&self, code: &[u8]) -> mlua::Result<(Function, usize)> {
        let before = self.memory();
        // The collector would free other things meanwhile.
        self.lua.gc_stop();
        let compiled = compile::text(&self.lua, code, CHUNK, None);
        let bytes = self.memory().saturating_sub(before);
        self.lua.gc_restart();
        Ok((compiled?, bytes))
    }

    fn compile_error(&self, error: &mlua::Error) -> ScriptError {
        if is_memory_error(error) {
            return ScriptError::NoMemory { limit: self.state.memory.limit() };
        }
        ScriptError::Compile(text_of(error))
    }

    /// Returns whether a script is compiled.
    pub fn has_compiled(&self, digest: ScriptDigest) -> bool {
        self.compiled.contains(digest)
    }

    /// Returns the number of compiled scripts that the engine has.
    pub fn compiled(&self) -> usize {
        self.compiled.len()
    }

    /// Forgets all compiled scripts.
    pub fn forget_all(&mut self) {
        self.compiled.clear(self.state.kept());
    }

    /// Returns whether values that outlive a run take so much memory that little is left for
    /// others. Libraries can keep such values; a new engine starts without them.
    pub fn is_exhausted(&self) -> bool {
        let limit = self.state.memory.limit();
        limit > 0 && self.memory() > limit / 8 * LASTING_EIGHTHS
    }

    /// Returns the bytes of memory that Lua holds.
    pub fn memory(&self) -> usize {
        self.lua.used_memory()
    }

    /// Runs a script, and writes its value or its error to `reply`.
    ///
    /// # Errors
    /// If the script is not compiled yet and its code is not Lua. Nothing ran then. An error that
    /// the script raises is a reply.
    pub fn run<'a>(
        &mut self,
        (digest, code): (ScriptDigest, &[u8]),
        keys: impl Iterator<Item = &'a [u8]>,
        arguments: impl Iterator<Item = &'a [u8]>,
        host: &mut dyn ScriptHost,
        reply: &mut dyn ReplySink,
    ) -> Result<(), ScriptError> {
        let state = Rc::clone(&self.state);
        state.host.lend(host, || self.compile(digest, code))?;
        let Some(script) = self.compiled.use_script(digest) else {
            return Err(ScriptError::NoMemory { limit: self.state.memory.limit() });
        };
        self.begin_run();
        let ran = self.call(&self.sandbox.run, script, keys, arguments, host);
        self.reply_with(ran, digest.as_str(), host, reply);
        Ok(())
    }

    /// Resets the state of the last run.
    pub(crate) fn begin_run(&self) {
        self.state.version.set(RespVersion::Resp2);
        self.state.stopped.set(false);
        self.state.memory.restore();
        libraries::json::reset(&self.lua);
    }

    /// Calls a script or a function by a function of the sandbox. Returns whether it ended well,
    /// with the value that it returned or raised.
    pub(crate) fn call<'a>(
        &self,
        by: &Function,
        called: KeptSlot,
        keys: impl Iterator<Item = &'a [u8]>,
        arguments: impl Iterator<Item = &'a [u8]>,
        host: &mut dyn ScriptHost,
    ) -> mlua::Result<(bool, Value)> {
        let (mut keys, mut arguments) = (keys, arguments);
        self.state.host.lend(host, || {
            // SAFETY: the work owns nothing. The iterators are this function's.
            let done = unsafe {
                protected(&self.lua, (by, &self.state.kept().table), |stack| {
                    // The function takes the place of the table.
                    stack.element(called.0);
                    stack.insert(2);
                    stack.pop(1);
                    stack.push_texts(&mut keys);
                    stack.push_texts(&mut arguments);
                    stack.call(3, 2);
                })
            };
            if let Some(panic) = self.state.panic.take() {
                resume_unwind(panic);
            }
            done.map(|((), results)| results)
        })
    }

    /// Writes the result of a run to the reply. `name` is that of the script in errors.
    pub(crate) fn reply_with(
        &self,
        ran: mlua::Result<(bool, Value)>,
        name: &str,
        host: &mut dyn ScriptHost,
        reply: &mut dyn ReplySink,
    ) {
        self.clean_up(&ran);
        match ran {
            Ok((true, value)) => self.reply_value(&value, host, reply),
            Ok((false, raised)) => {
                let (mut text, place) = self.raised_text(&raised);
                if let Some(place) = place {
                    text.extend_from_slice(format!(" script: {name}, on ").as_bytes());
                    text.extend_from_slice(&place);
                }
                reply.error(&text);
            }
            Err(error) => reply.error(&self.failed_text(&text_of(&error))),
        }
        self.end_run();
    }

    /// Writes a returned value.
    fn reply_value(&self, value: &Value, host: &mut dyn ScriptHost, reply: &mut dyn ReplySink) {
        let state = &*self.state;
        let written = state.host.lend(host, || returned_values::write(&self.lua, value, state, reply));
        if let Some(panic) = state.panic.take() {
            resume_unwind(panic);
        }
        if let Err(end) = written {
            reply.clear();
            match end {
                ReplyEnd::TooLong => reply.too_long(),
                ReplyEnd::Stopped => state.with_stop_reason(|why| reply.error(&self.failed_text(why))),
            }
        }
    }

    /// Returns the budget of the run.
    pub(crate) fn end_run(&self) {
        // SAFETY: no command runs, so nothing refers to its reply.
        unsafe { self.state.empty_reply() };
        // The conversion of the reply may have been stopped.
        self.state.stopped.set(false);
        self.state.memory.restore();
        self.collect();
    }

    /// Frees the values of ended scripts, if they are many. Lua 5.1 does not do so when memory
    /// runs out.
    fn collect(&self) {
        let limit = self.state.memory.limit();
        if limit > 0 && self.memory() > limit / 2 {
            self.collect_all();
        }
    }

    pub(crate) fn collect_all(&self) {
        // The collector itself needs some memory. Only a finalizer could raise an error, and no
        // script can make one.
        self.state.memory.without(|| _ = self.lua.gc_collect());
    }

    /// Cleans up behind a script that was stopped or has failed outside of its own code: the
    /// sandbox itself may have been stopped, too.
    pub(crate) fn clean_up(&self, ran: &mlua::Result<(bool, Value)>) {
        if self.state.stopped.replace(false) || ran.is_err() {
            // Without a host nothing stops it. It needs no memory.
            let _ = self.sandbox.empty_faces.call::<()>(());
        }
    }

    /// Returns the text of a raised value, and the place in the script that raised it: `located` of
    /// the sandbox has noted both, unless memory was full.
    pub(crate) fn raised_text(&self, raised: &Value) -> (Vec<u8>, Option<Vec<u8>>) {
        let Ok(Value::Table(noted)) = visible(&self.lua, raised.clone()) else {
            return (self.failed_text(&raised.to_string().unwrap_or_default()), None);
        };
        let text: Option<mlua::LuaString> = noted.raw_get("err").ok();
        let text = text.map_or_else(|| b"ERR unknown error".to_vec(), |text| text.as_bytes().to_vec());
        if text.ends_with(NO_MEMORY.as_bytes()) {
            return (self.failed_text(NO_MEMORY), None);
        }
        let source: Option<mlua::LuaString> = noted.raw_get("source").unwrap_or_default();
        let line: Option<i64> = noted.raw_get("line").unwrap_or_default();
        let place = source.zip(line);
        (text, place.map(|(source, line)| [&source.as_bytes(), format!(":{line}.").as_bytes()].concat()))
    }

    /// Returns the error reply for a failure without a place.
    pub(crate) fn failed_text(&self, text: &str) -> Vec<u8> {
        let limit = self.state.memory.now();
        // Without memory Lua's stack does not grow, either.
        let is_full = limit > 0 && self.memory() > limit / 2;
        if text.contains(NO_MEMORY) || is_full && text.contains(NO_STACK) {
            return format!(
                "ERR the script takes more memory than max-script-memory, {limit} bytes; raise it, or keep less in the script"
            )
            .into_bytes();
        }
        format!("ERR {text}").into_bytes()
    }
}

/// Returns whether an error says that Lua's memory is used up.
pub(crate) fn is_memory_error(error: &mlua::Error) -> bool {
    text_of(error).contains(NO_MEMORY)
}

/// Returns the functions that the sandbox takes from the engine.
fn native(lua: &Lua, state: &Rc<RunState>) -> mlua::Result<Table> {
    let native = lua.create_table()?;
    native.raw_set("visible", lua.create_function(|lua, raised: Value| visible(lua, raised))?)?;
    let watched = Rc::clone(state);
    native.raw_set("stopped", lua.create_function(move |_, ()| Ok(watched.stopped.get()))?)?;
    let watched = Rc::clone(state);
    let compile = move |lua: &Lua, arguments| compile_text(lua, &watched, arguments);
    native.raw_set("compile", lua.create_function(compile)?)?;
    let registering = Rc::clone(state);
    let register = move |lua: &Lua, arguments| register_function(lua, &registering, arguments);
    native.raw_set("register_function", lua.create_function(register)?)?;
    let strings = lua.create_table()?;
    patterns::add_to(lua, &strings, state)?;
    native.raw_set("strings", strings)?;
    // Every state has random numbers of its own.
    let seed = RandomState::new().build_hasher().finish() as i32;
    native.raw_set("random", libraries::random::table(lua, seed)?)?;
    Ok(native)
}

/// `loadstring`: only texts, because compiled code can break Lua itself.
fn compile_text(
    lua: &Lua,
    state: &RunState,
    (code, name, environment): (mlua::LuaString, mlua::LuaString, Option<Table>),
) -> mlua::Result<(Option<Function>, Option<mlua::LuaString>)> {
    match compile::text(lua, &code.as_bytes(), &name.as_bytes(), environment) {
        Ok(function) => Ok((Some(function), None)),
        Err(error) if state.stopped.get() => Err(error),
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
