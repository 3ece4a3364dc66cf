//! EVAL, EVALSHA and their relatives, and SCRIPT.
//!
//! ```text
//!   EVAL source 1 key arg ─► ScriptCall: the script (cached by its digest), its keys and arguments
//!                              └─► worker::exclusive: alone, in one transaction ─► run
//!                                    └─► the thread's ScriptEngine ─► ScriptCommands (`host`)
//! ```
//!
//! A script runs as EXEC does: no other worker runs a request meanwhile, and its writes are one
//! transaction. As in Redis, an error ends the script, and what it has written before stays.
//!
//! Each worker's thread has its own Lua state, which is made when the worker first runs a script.

mod host;
mod reply_sink;

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use skein_script::{ScriptDigest, ScriptEngine, ScriptError};
use skein_syntax::number::parse_i64;

use super::command_error::NOT_AN_INTEGER;
use super::subcommands::{help, subcommand};
use super::{AfterCommand, CommandContext, CommandError, CommandResult, OUT_OF_MEMORY, is};
use crate::command_table::subcommands;
use crate::resp::{ReplyWriter, RequestArgs};
use crate::script_cache::Script;
use crate::shared::ServerShared;
use host::ScriptCommands;

const NO_SCRIPT: CommandError = CommandError::text("NOSCRIPT No matching script. Please use EVAL.");
const WITHIN_SCRIPT: CommandError = CommandError::text("ERR a script cannot run scripts");
const NOT_BUSY: CommandError = CommandError::text("NOTBUSY No scripts in execution right now.");

/// The arguments before the keys: the command, the script, the number of keys.
const FIRST_KEY: usize = 3;

/// Compiled scripts of a worker that the cache may have lost already, at most.
const COMPILED_SPARE: usize = 1000;

/// How a command names its script, and what the script may do.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScriptKind {
    pub(crate) by_digest: bool,
    pub(crate) read_only: bool,
}

/// A script that is about to run.
pub(crate) struct ScriptCall {
    script: Arc<Script>,
    keys: usize,
    read_only: bool,
    /// Whether memory is full. Then the script may not run commands that need more.
    memory_is_full: bool,
    /// See `ServerOptions::script_time_max`.
    time_max: Duration,
}

impl ScriptCall {
    /// Reads a request and finds its script.
    pub(crate) fn parse(
        kind: ScriptKind,
        shared: &ServerShared,
        args: &RequestArgs<'_>,
    ) -> Result<Self, CommandError> {
        let keys = parse_i64(args.get(2)).ok_or(NOT_AN_INTEGER)?;
        let keys =
            usize::try_from(keys).map_err(|_| CommandError::text("ERR Number of keys can't be negative"))?;
        if keys > args.len() - FIRST_KEY {
            return Err(CommandError::text("ERR Number of keys can't be greater than number of args"));
        }
        let script = if kind.by_digest {
            let digest = ScriptDigest::parse(args.get(1)).ok_or(NO_SCRIPT)?;
            shared.scripts.get(digest).ok_or(NO_SCRIPT)?
        } else {
            evaluated(shared, args.get(1))?
        };
        let read_only = kind.read_only || script.flags.no_writes;
        let time_max = shared.options.script_time_max;
        Ok(Self { script, keys, read_only, memory_is_full: false, time_max })
    }

    /// Returns whether the script may write.
    pub(crate) fn may_write(&self) -> bool {
        !self.read_only
    }

    /// Notes that memory is full.
    ///
    /// # Errors
    /// If the flags of the script do not allow that.
    pub(crate) fn memory_is_full(&mut self) -> Result<(), CommandError> {
        let flags = self.script.flags;
        if flags.declared && !flags.allow_oom && !self.read_only {
            return Err(OUT_OF_MEMORY);
        }
        self.memory_is_full = !flags.allow_oom;
        Ok(())
    }
}

/// Returns the script with this source, from the cache if it has it.
fn evaluated(shared: &ServerShared, source: &[u8]) -> Result<Arc<Script>, CommandError> {
    if let Some(script) = shared.scripts.get(ScriptDigest::of(source)) {
        return Ok(script);
    }
    let script = compiled(shared, source)?;
    shared.scripts.keep_evaluated(Arc::clone(&script));
    Ok(script)
}

/// Reads and compiles a script, to find its faults.
fn compiled(shared: &ServerShared, source: &[u8]) -> Result<Arc<Script>, CommandError> {
    let script = Script::parse(source).map_err(|fault| CommandError::owned(format!("ERR {fault}")))?;
    with_engine(shared, |engine| engine.compile(script.digest, &script.code))?;
    Ok(Arc::new(script))
}

/// The Lua state of a worker.
struct WorkerEngine {
    engine: ScriptEngine,
    /// That of the cache when the engine was last used.
    generation: u64,
}

thread_local! {
    static ENGINE: RefCell<Option<WorkerEngine>> = const { RefCell::new(None) };
}

/// Calls `act` with the Lua state of this thread.
fn with_engine<R>(
    shared: &ServerShared,
    act: impl FnOnce(&mut ScriptEngine) -> Result<R, ScriptError>,
) -> Result<R, CommandError> {
    let fault = |error: ScriptError| CommandError::owned(format!("ERR {error}"));
    ENGINE.with(|engine| {
        // No command that a script may run uses the state.
        let mut slot = engine.try_borrow_mut().map_err(|_| WITHIN_SCRIPT)?;
        let generation = shared.scripts.generation();
        let worker = match &mut *slot {
            Some(worker) => worker,
            empty => {
                let engine = ScriptEngine::new(shared.options.script_memory_max).map_err(fault)?;
                empty.insert(WorkerEngine { engine, generation })
            }
        };
        let compiled = worker.engine.compiled();
        // The first half spares most scripts the lock of the cache.
        let is_crowded = compiled > COMPILED_SPARE && compiled > shared.scripts.len() + COMPILED_SPARE;
        if worker.generation != generation || is_crowded {
            worker.generation = generation;
            worker.engine.forget_all();
        }
        act(&mut worker.engine).map_err(fault)
    })
}

/// Runs a script. `REQUIRES:` no other worker runs a request.
pub(crate) fn run<'c>(
    context: CommandContext<'c>,
    call: &ScriptCall,
    args: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> (CommandContext<'c>, Result<(), CommandError>) {
    let shared = Arc::clone(context.shared);
    let mut commands = ScriptCommands::new(context, call);
    let script = &*call.script;
    let (keys, rest) = (args.from(FIRST_KEY).take(call.keys), args.from(FIRST_KEY + call.keys));
    let ran = with_engine(&shared, |engine| {
        engine.run((script.digest, &script.code), keys, rest, &mut commands, reply)
    });
    let (context, broken) = commands.end();
    (context, ran.and(broken))
}

/// SCRIPT
pub(super) fn script(
    context: &mut CommandContext<'_>,
    args: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> CommandResult {
    match subcommand("script", subcommands::SCRIPT, args)? {
        "load" => load(context, args.get(2), reply)?,
        "exists" => {
            reply.array(args.len() - 2);
            for digest in args.from(2) {
                let script =
                    ScriptDigest::parse(digest).and_then(|digest| context.shared.scripts.get(digest));
                reply.int(i64::from(script.is_some()));
            }
        }
        "flush" => flush(context, args, reply)?,
        // A script runs alone, so nobody who is answered here can stop one.
        "kill" => return Err(NOT_BUSY),
        "debug" => return Err(CommandError::text("ERR SkeinDB has no debugger of scripts")),
        _ => help(HELP, reply),
    }
    Ok(AfterCommand::Done)
}

fn load(
    context: &CommandContext<'_>,
    source: &[u8],
    reply: &mut ReplyWriter<'_>,
) -> Result<(), CommandError> {
    let script = match context.shared.scripts.get(ScriptDigest::of(source)) {
        Some(script) => script,
        None => compiled(context.shared, source)?,
    };
    reply.bulk(script.digest.as_str().as_bytes());
    context.shared.scripts.load(script);
    Ok(())
}

fn flush(
    context: &CommandContext<'_>,
    args: &RequestArgs<'_>,
    reply: &mut ReplyWriter<'_>,
) -> Result<(), CommandError> {
    let is_known = match args.len() {
        2 => true,
        3 => is(args.get(2), "ASYNC") || is(args.get(2), "SYNC"),
        _ => false,
    };
    if !is_known {
        return Err(CommandError::text("ERR SCRIPT FLUSH only support SYNC|ASYNC option"));
    }
    context.shared.scripts.flush();
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
