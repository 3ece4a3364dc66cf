//! Libraries of functions: the code runs once and registers functions, which FCALL runs by name.
//!
//! A library's code sees little more than `redis.register_function`, and no command. It cannot tell
//! one engine from another, so every engine that loads the same code has the same functions.

use std::collections::HashMap;
use std::fmt;

use mlua::{Function, Lua, MultiValue, Table, Value};
use thiserror::Error;

use crate::engine::{NO_MEMORY, ScriptEngine, ScriptError, is_memory_error};
use crate::failure::{fault, text_of};
use crate::host::{ReplySink, ScriptHost};
use crate::kept_values::{KeptSlot, KeptValues};
use crate::run_state::RunState;
use crate::{ScriptFlags, compile};

/// The name of a library in messages, as in Redis.
const CHUNK: &[u8] = b"@user_function";

/// The flags that a function declares.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct FunctionFlags(u8);

/// The names of the flags, in Redis's order.
const FLAGS: [&str; 5] = ["no-writes", "allow-oom", "allow-stale", "no-cluster", "allow-cross-slot-keys"];

impl FunctionFlags {
    /// Returns the names of the flags.
    pub fn names(self) -> impl ExactSizeIterator<Item = &'static str> {
        let names: Vec<_> = (0..FLAGS.len()).filter(|at| self.has(*at)).map(|at| FLAGS[at]).collect();
        names.into_iter()
    }

    fn has(self, at: usize) -> bool {
        self.0 >> at & 1 == 1
    }

    /// Adds the flag of this name, in any case. Returns `false` if there is no such flag.
    fn add(&mut self, name: &[u8]) -> bool {
        let at = FLAGS.iter().position(|flag| name.eq_ignore_ascii_case(flag.as_bytes()));
        self.0 |= at.map_or(0, |at| 1 << at);
        at.is_some()
    }
}

impl From<FunctionFlags> for ScriptFlags {
    fn from(flags: FunctionFlags) -> Self {
        // The first two of `FLAGS`.
        let (no_writes, allow_oom) = (flags.has(0), flags.has(1));
        Self { declared: true, no_writes, allow_oom }
    }
}

impl fmt::Debug for FunctionFlags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.names()).finish()
    }
}

/// A function of a library, as `redis.register_function` described it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisteredFunction {
    /// Letters, digits and underscores.
    pub name: String,
    /// Its description, for people.
    pub description: Option<Vec<u8>>,
    /// Its needs and promises.
    pub flags: FunctionFlags,
}

/// A library that cannot be loaded.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LibraryError {
    /// The code is not Lua.
    #[error("Error compiling function: {0}")]
    Compile(String),
    /// The code raised an error, or was stopped.
    #[error("Error registering functions: {0}")]
    Register(String),
}

/// A function with its code.
pub(crate) struct LoadedFunction {
    about: RegisteredFunction,
    callback: KeptSlot,
}

/// The functions of a library by their names.
pub(crate) struct LoadedLibrary(HashMap<String, KeptSlot>);

impl LoadedLibrary {
    fn forget(&self, kept: &KeptValues) {
        self.0.values().for_each(|slot| kept.forget(*slot));
    }
}

impl RegisteredFunction {
    /// Returns whether Redis accepts a name of a library or a function: letters, digits and
    /// underscores, at least one.
    pub fn is_name(name: &[u8]) -> bool {
        !name.is_empty() && name.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
    }
}

impl ScriptEngine {
    /// Runs the code of a library, which registers its functions. `id` names the library in later
    /// calls; a library with this number is replaced. The host's `tick` bounds the time.
    ///
    /// If there is not enough memory, the engine forgets the other libraries, and tries once more.
    ///
    /// # Errors
    /// If the code is not Lua, or raises an error.
    pub fn load_library(
        &mut self,
        id: u64,
        code: &[u8],
        host: &mut dyn ScriptHost,
    ) -> Result<Vec<RegisteredFunction>, LibraryError> {
        let mut registered = self.register(code, host);
        if matches!(registered, Err(LoadingFailure::NoMemory)) {
            self.retain_libraries(|_| false);
            self.collect_all();
            registered = self.register(code, host);
        }
        self.end_run();
        let registered = registered.map_err(|failure| self.library_error(failure))?;
        let slots = registered.iter().map(|function| (function.about.name.clone(), function.callback));
        if let Some(replaced) = self.libraries.insert(id, LoadedLibrary(slots.collect())) {
            replaced.forget(self.state.kept());
        }
        Ok(registered.into_iter().map(|function| function.about).collect())
    }

    /// Runs the code of a library. Keeps none of its functions if it fails.
    fn register(
        &self,
        code: &[u8],
        host: &mut dyn ScriptHost,
    ) -> Result<Vec<LoadedFunction>, LoadingFailure> {
        self.begin_run();
        let environment = Some(self.sandbox.environment.clone());
        let compiled = self.state.host.lend(host, || compile::text(&self.lua, code, CHUNK, environment));
        let chunk = compiled.map_err(|error| {
            if is_memory_error(&error) {
                LoadingFailure::NoMemory
            } else {
                LoadingFailure::Compile(text_of(&error))
            }
        })?;
        self.state.registered.replace(Some(Vec::new()));
        let ran = self.state.host.lend(host, || self.sandbox.load_library.call((chunk,)));
        self.clean_up(&ran);
        let registered = self.state.registered.take().unwrap_or_default();
        let text = match ran {
            Ok((true, _)) => return Ok(registered),
            Ok((false, raised)) => self.raised_text(&raised).0,
            Err(error) => self.failed_text(&text_of(&error)),
        };
        for function in &registered {
            self.state.kept().forget(function.callback);
        }
        // `failed_text` has written this if memory was used up.
        if text == self.failed_text(NO_MEMORY) {
            return Err(LoadingFailure::NoMemory);
        }
        Err(LoadingFailure::Register(text))
    }

    fn library_error(&self, failure: LoadingFailure) -> LibraryError {
        let text = match failure {
            LoadingFailure::Compile(text) => return LibraryError::Compile(text),
            LoadingFailure::Register(text) => text,
            LoadingFailure::NoMemory => self.failed_text(NO_MEMORY),
        };
        LibraryError::Register(String::from_utf8_lossy(&text).into_owned())
    }

    /// Returns whether a library is loaded.
    pub fn has_library(&self, id: u64) -> bool {
        self.libraries.contains_key(&id)
    }

    /// Returns the number of loaded libraries.
    pub fn loaded_libraries(&self) -> usize {
        self.libraries.len()
    }

    /// Forgets the libraries that `keep` does not want.
    pub fn retain_libraries(&mut self, mut keep: impl FnMut(u64) -> bool) {
        let kept = self.state.kept();
        self.libraries.retain(|id, library| {
            let stays = keep(*id);
            if !stays {
                library.forget(kept);
            }
            stays
        });
    }

    /// Calls a function of a loaded library, and writes its value or its error to `reply`.
    ///
    /// # Errors
    /// If there is no such function. An error that the function raises is a reply.
    pub fn call_function<'a>(
        &self,
        (library, name): (u64, &str),
        keys: impl Iterator<Item = &'a [u8]>,
        arguments: impl Iterator<Item = &'a [u8]>,
        host: &mut dyn ScriptHost,
        reply: &mut dyn ReplySink,
    ) -> Result<(), ScriptError> {
        let function = self.libraries.get(&library).and_then(|library| library.0.get(name));
        let function = *function.ok_or(ScriptError::NoFunction)?;
        self.begin_run();
        let ran = self.call(&self.sandbox.call_function, function, keys, arguments, host);
        self.reply_with(ran, name, host, reply);
        Ok(())
    }
}

/// Why a library cannot be loaded.
enum LoadingFailure {
    Compile(String),
    Register(Vec<u8>),
    NoMemory,
}

/// A function as the arguments of `redis.register_function` describe it.
struct DescribedFunction {
    about: RegisteredFunction,
    callback: Function,
}

/// `redis.register_function`
pub(crate) fn register_function(lua: &Lua, state: &RunState, arguments: MultiValue) -> mlua::Result<()> {
    if state.registered.borrow().is_none() {
        return Err(fault("redis.register_function can only be called on FUNCTION LOAD command"));
    }
    let mut arguments = arguments.into_iter();
    let function = match (arguments.next(), arguments.next(), arguments.next()) {
        (Some(named), None, _) => by_named_arguments(lua, &named)?,
        (Some(name), Some(callback), None) => by_positions(lua, &name, callback)?,
        _ => return Err(fault("wrong number of arguments to redis.register_function")),
    };
    let mut registered = state.registered.borrow_mut();
    let Some(functions) = registered.as_mut() else { return Ok(()) };
    if functions.iter().any(|known| known.about.name == function.about.name) {
        return Err(fault("Function already exists in the library"));
    }
    let DescribedFunction { about, callback } = function;
    functions.push(LoadedFunction { about, callback: state.kept().keep(&callback)? });
    Ok(())
}

/// Returns a string or a number as a text.
fn text(lua: &Lua, value: &Value) -> Option<Vec<u8>> {
    match value {
        Value::String(_) | Value::Integer(_) | Value::Number(_) => {
            let text = lua.coerce_string(value.clone()).ok().flatten()?;
            Some(text.as_bytes().to_vec())
        }
        _ => None,
    }
}

fn checked(
    name: Vec<u8>,
    callback: Function,
    description: Option<Vec<u8>>,
    flags: FunctionFlags,
) -> mlua::Result<DescribedFunction> {
    // As in Redis, the message speaks of libraries.
    let valid = |name: &String| RegisteredFunction::is_name(name.as_bytes());
    let name = String::from_utf8(name).ok().filter(valid).ok_or_else(|| {
        fault("Library names can only contain letters, numbers, or underscores(_) and must be at least one character long")
    })?;
    Ok(DescribedFunction { about: RegisteredFunction { name, description, flags }, callback })
}

fn by_positions(lua: &Lua, name: &Value, callback: Value) -> mlua::Result<DescribedFunction> {
    let name =
        text(lua, name).ok_or_else(|| fault("first argument to redis.register_function must be a string"))?;
    let Value::Function(callback) = callback else {
        return Err(fault("second argument to redis.register_function must be a function"));
    };
    checked(name, callback, None, FunctionFlags::default())
}

/// The arguments of a table, as far as they are read.
#[derive(Default)]
struct NamedArguments {
    name: Option<Vec<u8>>,
    description: Option<Vec<u8>>,
    callback: Option<Function>,
    flags: FunctionFlags,
}

fn by_named_arguments(lua: &Lua, named: &Value) -> mlua::Result<DescribedFunction> {
    let Value::Table(named) = named else {
        return Err(fault(
            "calling redis.register_function with a single argument is only applicable to Lua table (representing named arguments).",
        ));
    };
    let mut read = NamedArguments::default();
    for pair in named.pairs::<Value, Value>() {
        let (key, value) = pair?;
        let key = text(lua, &key)
            .ok_or_else(|| fault("named argument key given to redis.register_function is not a string"))?;
        read.take(lua, &key.to_ascii_lowercase(), value)?;
    }
    let name = read.name.ok_or_else(|| fault("redis.register_function must get a function name argument"))?;
    let callback =
        read.callback.ok_or_else(|| fault("redis.register_function must get a callback argument"))?;
    checked(name, callback, read.description, read.flags)
}

impl NamedArguments {
    fn take(&mut self, lua: &Lua, key: &[u8], value: Value) -> mlua::Result<()> {
        match key {
            b"function_name" => self.name = Some(text_of_argument(lua, "function_name", &value)?),
            b"description" => self.description = Some(text_of_argument(lua, "description", &value)?),
            b"callback" => match value {
                Value::Function(callback) => self.callback = Some(callback),
                _ => {
                    return Err(fault(
                        "callback argument given to redis.register_function must be a function",
                    ));
                }
            },
            b"flags" => match value {
                Value::Table(flags) => self.flags = flags_of(lua, &flags)?,
                _ => {
                    return Err(fault(
                        "flags argument to redis.register_function must be a table representing function flags",
                    ));
                }
            },
            _ => return Err(fault("unknown argument given to redis.register_function")),
        }
        Ok(())
    }
}

fn text_of_argument(lua: &Lua, name: &str, value: &Value) -> mlua::Result<Vec<u8>> {
    text(lua, value)
        .ok_or_else(|| fault(&format!("{name} argument given to redis.register_function must be a string")))
}

fn flags_of(lua: &Lua, names: &Table) -> mlua::Result<FunctionFlags> {
    let mut flags = FunctionFlags::default();
    for at in 1_usize.. {
        let name: Value = names.raw_get(at)?;
        if name.is_nil() {
            break;
        }
        if !text(lua, &name).is_some_and(|name| flags.add(&name)) {
            return Err(fault("unknown flag given"));
        }
    }
    Ok(flags)
}
