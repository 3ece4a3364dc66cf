//! EVAL, EVALSHA, FCALL and their relatives, and SCRIPT. `functions` has FUNCTION.
//!
//! ```text
//!   EVAL source 1 key arg ─► ScriptCall: the script (cached by its digest), its keys and arguments
//!   FCALL name 1 key arg  ─► ScriptCall: the function of a library (`crate::scripting::functions`)
//!                              └─► worker::exclusive: alone, in one transaction ─► run
//!                                    └─► the thread's ScriptEngine ─► ScriptCommands (`host`)
//! ```
//!
//! A script or a function runs as EXEC does: no other worker runs a request meanwhile, and its
//! writes are one transaction. As in Redis, an error ends the script, and its earlier writes stay.
//!
//! Each worker's thread has its own Lua states (`engines`). `reply_sink` writes the returned value
//! of a script.

mod engines;
mod functions;
mod host;
mod reply_sink;
pub(crate) mod table;

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use skein_script::{ScriptDigest, ScriptFlags};
use skein_syntax::number::parse_i64;

use super::command_error::NOT_AN_INTEGER;
use super::subcommands::{help, subcommand};
use super::{AfterCommand, CommandContext, CommandError, CommandResult, OUT_OF_MEMORY, Replied, is};
use crate::resp::{Args, Reply};
use crate::scripting::ScriptSort;
use crate::scripting::functions::{LibraryFunction, ensure_loaded};
use crate::scripting::script_cache::Script;
use crate::shared::ServerShared;
use crate::shared::busy_script::NOT_BUSY;
use engines::{failed, with_function_engine, with_script_engine};
use host::ScriptCommands;
use reply_sink::ScriptReply;

pub(super) use functions::function;
use functions::function_stats;

const NO_SCRIPT: CommandError = CommandError::text("NOSCRIPT No matching script. Please use EVAL.");
const NO_FUNCTION: CommandError = CommandError::text("ERR Function not found");
const BAD_NUMBER: CommandError = CommandError::text("ERR Bad number of keys provided");
const NOT_READ_ONLY: CommandError =
    CommandError::text("ERR Can not execute a script with write flag using *_ro command.");

/// The arguments before the keys: the command, the script, the number of keys.
const FIRST_KEY: usize = 3;

/// How a command names its script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScriptSource {
    Text,
    Digest,
    /// The name of a function.
    Function,
}

/// The way a command names its script, and whether the script may write.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScriptKind {
    pub(crate) source: ScriptSource,
    pub(crate) read_only: bool,
}

/// The code that a command runs.
enum Callee {
    Script(Arc<Script>),
    Function(LibraryFunction),
}

impl Callee {
    /// Returns whether this is a script or a function, and its name.
    fn named(&self) -> (ScriptSort, &[u8]) {
        match self {
            Self::Script(script) => (ScriptSort::Script, script.digest.as_str().as_bytes()),
            Self::Function(function) => (ScriptSort::Function, function.about().name.as_bytes()),
        }
    }

    fn flags(&self) -> ScriptFlags {
        match self {
            Self::Script(script) => script.flags,
            Self::Function(function) => function.about().flags.into(),
        }
    }
}

/// A script or a function that is about to run.
pub(crate) struct ScriptCall {
    callee: Callee,
    keys: usize,
    read_only: bool,
    /// Whether memory was full at the start. Then the script may not begin to write with a command
    /// that needs more.
    memory_is_full: bool,
    /// The reason why the store accepts no writes, if it accepts none. Then the script may only
    /// read.
    writes_stopped: Option<CommandError>,
    /// See `ServerOptions::script_time_max`.
    time_max: Duration,
}

impl ScriptCall {
    /// Reads a request and finds its script or function.
    pub(crate) fn parse(kind: ScriptKind, shared: &ServerShared, args: &Args) -> CommandResult<Self> {
        let (callee, keys) = match kind.source {
            ScriptSource::Text => {
                let keys = count_of_keys(args, NOT_AN_INTEGER)?;
                (Callee::Script(evaluated(shared, args.get(1))?), keys)
            }
            ScriptSource::Digest => {
                // As in Redis, the length of the digest counts before the number of keys.
                if args.get(1).len() != ScriptDigest::LEN {
                    return Err(NO_SCRIPT);
                }
                let keys = count_of_keys(args, NOT_AN_INTEGER)?;
                let digest = ScriptDigest::parse(args.get(1)).ok_or(NO_SCRIPT)?;
                (Callee::Script(shared.scripts.cache.use_script(digest).ok_or(NO_SCRIPT)?), keys)
            }
            ScriptSource::Function => {
                let libraries = shared.scripts.functions.libraries();
                let function = libraries.function(args.get(1)).cloned().ok_or(NO_FUNCTION)?;
                (Callee::Function(function), count_of_keys(args, BAD_NUMBER)?)
            }
        };
        let flags = callee.flags();
        if kind.read_only && flags.declared && !flags.no_writes {
            return Err(NOT_READ_ONLY);
        }
        let read_only = kind.read_only || flags.no_writes;
        let time_max = shared.options.script_time_max;
        Ok(Self { callee, keys, read_only, memory_is_full: false, writes_stopped: None, time_max })
    }

    /// Returns whether a request runs a script that may write. A script that is not found has an
    /// error as its reply.
    pub(crate) fn would_write(kind: ScriptKind, shared: &ServerShared, args: &Args) -> bool {
        Self::parse(kind, shared, args).is_ok_and(|call| call.may_write())
    }

    /// Returns whether the script may write.
    pub(crate) fn may_write(&self) -> bool {
        !self.read_only
    }

    /// Notes that memory is full.
    ///
    /// # Errors
    /// If the flags of the script do not allow that.
    pub(crate) fn memory_is_full(&mut self) -> CommandResult<()> {
        let flags = self.callee.flags();
        if flags.declared && !flags.allow_oom && !self.read_only {
            return Err(OUT_OF_MEMORY);
        }
        self.memory_is_full = !flags.allow_oom;
        Ok(())
    }

    /// Notes that the store accepts no writes.
    ///
    /// # Errors
    /// If the script declares that it writes.
    pub(crate) fn stop_writes(&mut self, why: CommandError) -> CommandResult<()> {
        if self.callee.flags().declared && !self.read_only {
            return Err(why);
        }
        self.writes_stopped = Some(why);
        Ok(())
    }
}

/// Returns the number of keys of a request, or the error `no_number` if the argument is not a
/// number.
fn count_of_keys(args: &Args, no_number: CommandError) -> CommandResult<usize> {
    let keys = parse_i64(args.get(2)).ok_or(no_number)?;
    let keys =
        usize::try_from(keys).map_err(|_| CommandError::text("ERR Number of keys can't be negative"))?;
    if keys > args.len() - FIRST_KEY {
        return Err(CommandError::text("ERR Number of keys can't be greater than number of args"));
    }
    Ok(keys)
}

/// Returns the script with this source, from the cache if it has it.
fn evaluated(shared: &ServerShared, source: &[u8]) -> CommandResult<Arc<Script>> {
    if let Some(script) = shared.scripts.cache.use_script(ScriptDigest::of(source)) {
        return Ok(script);
    }
    let script = compiled(shared, source)?;
    shared.scripts.cache.keep_evaluated(Arc::clone(&script));
    Ok(script)
}

/// Reads and compiles a script, to find its faults.
fn compiled(shared: &ServerShared, source: &[u8]) -> CommandResult<Arc<Script>> {
    let script = Script::parse(source).map_err(|fault| CommandError::owned(format!("ERR {fault}")))?;
    with_script_engine(shared, |engine| engine.compile(script.digest, &script.code).map_err(failed))?;
    Ok(Arc::new(script))
}

/// The worker, as a script that runs long needs it.
pub(crate) trait BusyServer {
    /// Lets the other workers answer their clients.
    fn begin(&mut self);
    /// Answers this worker's clients.
    fn turn(&mut self);
    /// Waits until no other worker answers any more. Does nothing without a `begin`.
    fn end(&mut self);
}

/// Runs a script or a function. `REQUIRES:` no other worker runs a request.
pub(crate) fn run(
    context: &mut CommandContext,
    call: &ScriptCall,
    args: &Args,
    busy: &mut dyn BusyServer,
    reply: &mut Reply,
) -> Replied {
    let shared = Arc::clone(context.shared);
    let received = Cell::new(0);
    let mut commands = ScriptCommands::new(context, call, args, busy, &received);
    let (keys, rest) = (args.from(FIRST_KEY).take(call.keys), args.from(FIRST_KEY + call.keys));
    let start = reply.position();
    let mut returned = ScriptReply::new(reply, shared.settings.reply_bytes_max.get(), &received);
    let ran = match &call.callee {
        Callee::Script(script) => with_script_engine(&shared, |engine| {
            engine
                .run((script.digest, &script.code), keys, rest, &mut commands, &mut returned)
                .map_err(failed)
        }),
        Callee::Function(function) => with_function_engine(&shared, |engine| {
            let library = &function.library;
            ensure_loaded(engine, library, &mut commands)?;
            let called = (library.id, &*function.about().name);
            engine.call_function(called, keys, rest, &mut commands, &mut returned).map_err(failed)
        }),
    };
    let returned = match &ran {
        Ok(()) => reply.written(start).strip_prefix(b"-"),
        Err(fault) => Some(fault.bytes()),
    };
    let broken = commands.end(returned);
    ran.and(broken)
}

/// Reads the functions again, after a transaction that changed them was undone.
pub(crate) fn reload_functions(shared: &ServerShared) {
    let reloaded =
        with_function_engine(shared, |engine| shared.scripts.functions.reload(&shared.data.store, engine));
    if let Err(error) = reloaded {
        let error = error.bytes().escape_ascii();
        tracing::error!("cannot read the functions again, so they differ from those on disk: {error}");
    }
}

/// Runs SCRIPT KILL and FUNCTION KILL while code runs.
pub(super) fn kill(shared: &ServerShared, sort: ScriptSort, reply: &mut Reply) -> CommandResult {
    shared.scripts.busy.kill(sort)?;
    reply.ok();
    Ok(AfterCommand::Done)
}

/// Runs SCRIPT.
pub(super) fn script(context: &mut CommandContext, args: &Args, reply: &mut Reply) -> CommandResult {
    match subcommand(args)? {
        "load" => load(context, args.get(2), reply)?,
        "exists" => {
            reply.array(args.len() - 2);
            for digest in args.from(2) {
                let script =
                    ScriptDigest::parse(digest).and_then(|digest| context.shared.scripts.cache.get(digest));
                reply.int(i64::from(script.is_some()));
            }
        }
        "flush" => flush(context, args, reply)?,
        // This request runs, so no script does: see `while_busy`.
        "kill" => return Err(NOT_BUSY),
        "debug" => return Err(CommandError::text("ERR SkeinDB has no debugger of scripts")),
        _ => help(HELP, reply),
    }
    Ok(AfterCommand::Done)
}

fn load(context: &CommandContext, source: &[u8], reply: &mut Reply) -> Replied {
    let script = match context.shared.scripts.cache.get(ScriptDigest::of(source)) {
        Some(script) => script,
        None => compiled(context.shared, source)?,
    };
    reply.bulk(script.digest.as_str().as_bytes());
    context.shared.scripts.cache.load(script);
    Ok(())
}

fn flush(context: &CommandContext, args: &Args, reply: &mut Reply) -> Replied {
    let is_known = match args.len() {
        2 => true,
        3 => is(args.get(2), "ASYNC") || is(args.get(2), "SYNC"),
        _ => false,
    };
    if !is_known {
        return Err(CommandError::text("ERR SCRIPT FLUSH only support SYNC|ASYNC option"));
    }
    context.shared.scripts.cache.flush();
    reply.ok();
    Ok(())
}

const HELP: &[&str] = &[
    "SCRIPT <subcommand> [<arg> [value] [opt] ...]. Subcommands are:",
    "EXISTS <sha1> [<sha1> ...]",
    "    Returns for each digest whether the server has its script.",
    "FLUSH [ASYNC|SYNC]",
    "    Forgets all scripts.",
    "KILL",
    "    Stops the script that runs, unless it has written.",
    "LOAD <script>",
    "    Keeps a script for EVALSHA and returns its digest.",
    "HELP",
    "    Prints this help.",
];
