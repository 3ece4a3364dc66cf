//! Runs the code of libraries, which registers their functions.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use skein_script::{LibraryError, RespVersion, ScriptEngine, ScriptHost, ScriptLogLevel, Stop};

use super::{FunctionLibraries, FunctionLibrary, FunctionRegistry, LibraryHead, payload};
use crate::command_error::CommandError;

/// The time that the code of a library may take, as in Redis.
const TIME_MAX: Duration = Duration::from_millis(500);

/// The server behind a library that is loading. It runs no command.
struct LoadingHost {
    began: Instant,
}

impl ScriptHost for LoadingHost {
    fn argument(&mut self, _: &[u8]) {}

    fn call(&mut self, _: RespVersion, reply: &mut Vec<u8>) {
        reply.extend_from_slice(b"-ERR a library cannot run commands while it loads\r\n");
    }

    fn forget_arguments(&mut self) {}

    fn may_call(&mut self) -> Option<bool> {
        Some(false)
    }

    fn log(&mut self, level: ScriptLogLevel, text: &[u8]) {
        log_line(level, text);
    }

    fn tick(&mut self) -> ControlFlow<Stop> {
        if self.began.elapsed() < TIME_MAX {
            return ControlFlow::Continue(());
        }
        ControlFlow::Break(Stop("FUNCTION LOAD timeout".into()))
    }
}

/// Writes a line of a script to the server's log.
pub(crate) fn log_line(level: ScriptLogLevel, text: &[u8]) {
    let text = text.escape_ascii();
    match level {
        ScriptLogLevel::Debug => tracing::trace!("a script: {text}"),
        ScriptLogLevel::Verbose => tracing::debug!("a script: {text}"),
        ScriptLogLevel::Notice => tracing::info!("a script: {text}"),
        ScriptLogLevel::Warning => tracing::warn!("a script: {text}"),
    }
}

fn failed(error: &LibraryError) -> CommandError {
    CommandError::owned(format!("ERR {error}"))
}

/// Runs the code of a library whose head was read, and returns the library.
///
/// # Errors
/// If the code fails, or registers no function.
pub(crate) fn load_library(
    head: LibraryHead,
    source: &[u8],
    registry: &FunctionRegistry,
    lua: &mut ScriptEngine,
) -> Result<FunctionLibrary, CommandError> {
    let LibraryHead { name, code_at } = head;
    let id = registry.next_id();
    let mut host = LoadingHost { began: Instant::now() };
    let functions = lua.load_library(id, &source[code_at..], &mut host).map_err(|error| failed(&error))?;
    if functions.is_empty() {
        return Err(CommandError::text("ERR No functions registered"));
    }
    Ok(FunctionLibrary { id, name, source: source.into(), code_at, functions })
}

/// Loads all libraries of a payload.
///
/// # Errors
/// If the payload is damaged, a library fails, or two have the same name or a function of the same
/// name.
pub(crate) fn load_payload(
    bytes: &[u8],
    registry: &FunctionRegistry,
    lua: &mut ScriptEngine,
) -> Result<FunctionLibraries, CommandError> {
    let mut libraries = FunctionLibraries::default();
    for source in payload::read(bytes)? {
        let head = LibraryHead::parse(&source)?;
        libraries.check_absent(&head.name)?;
        libraries.insert(load_library(head, &source, registry, lua)?, false)?;
    }
    Ok(libraries)
}

/// Runs the code of a library if this engine has not run it yet.
///
/// # Errors
/// If the code fails. It did not when the library was loaded, so memory is short, or the processor
/// is very busy.
pub(crate) fn ensure_loaded(lua: &mut ScriptEngine, library: &FunctionLibrary) -> Result<(), CommandError> {
    if lua.has_library(library.id) {
        return Ok(());
    }
    let mut host = LoadingHost { began: Instant::now() };
    lua.load_library(library.id, library.code(), &mut host).map(drop).map_err(|error| failed(&error))
}
