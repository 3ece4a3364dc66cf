//! Runs the code of libraries, which registers their functions.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use skein_script::{LibraryError, RespVersion, ScriptEngine, ScriptHost, ScriptLogLevel, Stop};

use super::{FunctionLibraries, FunctionLibrary, FunctionRegistry, LibraryHead, payload};
use crate::request::command_error::CommandError;

/// The time that the code of a library may take, as in Redis.
const TIME_MAX: Duration = Duration::from_millis(500);

/// How long the code of a library may take.
enum LoadingTime<'h> {
    /// FUNCTION LOAD and FUNCTION RESTORE.
    Limited(Instant),
    /// The library was accepted before. Its code ends, and a busy machine may make that take
    /// longer.
    Any,
    /// The same, as a part of this call, which may be stopped.
    OfCall(&'h mut dyn ScriptHost),
}

/// The server behind a library that is loading. It runs no command.
struct LoadingHost<'h>(LoadingTime<'h>);

impl LoadingHost<'_> {
    fn limited() -> Self {
        Self(LoadingTime::Limited(Instant::now()))
    }
}

impl ScriptHost for LoadingHost<'_> {
    fn argument(&mut self, _: &[u8]) {}

    fn call(&mut self, _: RespVersion, reply: &mut Vec<u8>) -> Duration {
        reply.extend_from_slice(b"-ERR a library cannot run commands while it loads\r\n");
        Duration::ZERO
    }

    fn forget_arguments(&mut self) {}

    fn may_call(&mut self) -> Option<bool> {
        Some(false)
    }

    fn log(&mut self, level: ScriptLogLevel, text: &[u8]) {
        log_line(level, text);
    }

    fn has_written(&self) -> bool {
        false
    }

    fn tick(&mut self) -> ControlFlow<Stop> {
        match &mut self.0 {
            LoadingTime::Limited(began) if began.elapsed() >= TIME_MAX => {
                ControlFlow::Break(Stop("FUNCTION LOAD timeout".into()))
            }
            LoadingTime::Limited(_) | LoadingTime::Any => ControlFlow::Continue(()),
            LoadingTime::OfCall(host) => host.tick(),
        }
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

/// Runs the code of a library after its head was read, and returns the library.
///
/// # Errors
/// If the code fails, or registers no function.
pub(crate) fn load_library(
    head: LibraryHead,
    source: &[u8],
    registry: &FunctionRegistry,
    lua: &mut ScriptEngine,
) -> Result<FunctionLibrary, CommandError> {
    run_code(head, source, registry, lua, &mut LoadingHost::limited())
}

fn run_code(
    head: LibraryHead,
    source: &[u8],
    registry: &FunctionRegistry,
    lua: &mut ScriptEngine,
    host: &mut LoadingHost<'_>,
) -> Result<FunctionLibrary, CommandError> {
    let LibraryHead { name, code_at } = head;
    let id = registry.next_id();
    let functions = lua.load_library(id, &source[code_at..], host).map_err(|error| failed(&error))?;
    if functions.is_empty() {
        return Err(CommandError::text("ERR No functions registered"));
    }
    Ok(FunctionLibrary { id, name, source: source.into(), code_at, functions, fault: None })
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

/// Loads the libraries of the row. They were accepted before, so the time of their code has no
/// limit, and one that fails is kept without its functions.
///
/// # Errors
/// If the row is damaged.
pub(crate) fn load_row(
    bytes: &[u8],
    registry: &FunctionRegistry,
    lua: &mut ScriptEngine,
) -> Result<FunctionLibraries, CommandError> {
    let mut libraries = FunctionLibraries::default();
    for source in payload::read(bytes)? {
        let head = LibraryHead::parse(&source)?;
        let (name, code_at) = (head.name.clone(), head.code_at);
        let loaded = run_code(head, &source, registry, lua, &mut LoadingHost(LoadingTime::Any));
        let mut joined = libraries.clone();
        match loaded.and_then(|library| joined.insert(library, false)) {
            Ok(()) => libraries = joined,
            Err(why) => {
                let fault = String::from_utf8_lossy(why.bytes()).into_owned();
                tracing::error!(
                    library = name,
                    %fault,
                    "cannot load a library of functions; it is kept, and its functions are missing until FUNCTION LOAD REPLACE"
                );
                let (id, functions) = (registry.next_id(), Vec::new());
                let source = source.into();
                libraries.insert(
                    FunctionLibrary { id, name, source, code_at, functions, fault: Some(fault) },
                    false,
                )?;
            }
        }
    }
    Ok(libraries)
}

/// Runs the code of a library if this engine has not run it yet.
///
/// # Errors
/// If the code fails. It did not fail when the library was loaded. So either memory is short, or
/// the call that `host` belongs to was stopped.
pub(crate) fn ensure_loaded(
    lua: &mut ScriptEngine,
    library: &FunctionLibrary,
    host: &mut dyn ScriptHost,
) -> Result<(), CommandError> {
    if lua.has_library(library.id) {
        return Ok(());
    }
    let mut host = LoadingHost(LoadingTime::OfCall(host));
    lua.load_library(library.id, library.code(), &mut host).map(drop).map_err(|error| failed(&error))
}
