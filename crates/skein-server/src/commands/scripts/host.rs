//! Runs the commands of a script.

use std::cell::Cell;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use skein_script::{RespVersion, ScriptHost, ScriptLogLevel, Stop};

use super::{BusyServer, ScriptCall};
use crate::command_table::Flag;
use crate::commands::access::denied::refuse_in_script;
use crate::commands::monitor::feed;
use crate::commands::observed::remember_declared;
use crate::commands::streams::check_in_script;
use crate::commands::{
    Command, CommandContext, CommandError, CommandResult, OUT_OF_MEMORY, RESERVED_KEY_NAMED, Replied,
    ResolvedTag, alone, resolve,
};
use crate::notice::monitors::RequestSource;
use crate::observe::command_kinds::CommandKind;
use crate::observe::slowlog::ClippedRequest;
use crate::resp::{ArgList, Args, Protocol, Reply};
use crate::scripting::functions::log_line;
use crate::shared::busy_script::{RunningScript, ScriptVerdict};
use crate::shared::{STOPPING, ServerShared};

const UNKNOWN: CommandError = CommandError::text("ERR Unknown Redis command called from script");
const WRONG_ARITY: CommandError =
    CommandError::text("ERR Wrong number of args calling Redis command from script");
const NOT_ALLOWED: CommandError = CommandError::text("ERR This Redis command is not allowed from script");
const READ_ONLY: CommandError =
    CommandError::text("ERR Write commands are not allowed from read-only scripts.");
/// The script does not see it: the next tick ends it.
const STOPPED: CommandError = CommandError::text("ERR the script was stopped");

/// The commands of a running script.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact about the script, set once")]
pub(super) struct ScriptCommands<'c, 's> {
    call: &'s ScriptCall,
    /// The request that runs the script.
    request: &'s Args<'s>,
    server: &'s mut dyn BusyServer,
    context: &'s mut CommandContext<'c>,
    args: ArgList,
    arg_bytes: usize,
    /// The command that was called last, and whether it was done or refused.
    called: Option<(CommandKind, bool)>,
    /// The last error of a command, without the `-`.
    error: Vec<u8>,
    /// An argument did not fit.
    is_too_long: bool,
    /// The bytes of replies since the script has written.
    received: &'s Cell<usize>,
    /// The database that the client had selected. SELECT in a script changes it for the script
    /// alone.
    database: u32,
    /// The failure that has undone the script's writes, on disk. All later commands fail with it.
    broken: Option<CommandError>,
    began: Instant,
    /// Whether a command that reads was about to run.
    has_read: bool,
    /// Whether a command that writes was about to run.
    has_written: bool,
    /// Whether other clients receive BUSY.
    is_busy: bool,
    /// When the script first saw that the server stops.
    stop_seen: Option<Instant>,
}

impl<'c, 's> ScriptCommands<'c, 's> {
    pub(super) fn new(
        context: &'s mut CommandContext<'c>,
        call: &'s ScriptCall,
        request: &'s Args<'s>,
        server: &'s mut dyn BusyServer,
        received: &'s Cell<usize>,
    ) -> Self {
        Self {
            call,
            request,
            server,
            database: context.client.database(),
            context,
            args: ArgList::default(),
            arg_bytes: 0,
            called: None,
            error: Vec::new(),
            is_too_long: false,
            received,
            broken: None,
            began: Instant::now(),
            has_read: false,
            has_written: false,
            is_busy: false,
            stop_seen: None,
        }
    }

    /// Ends the script. Errors if a failure has undone its writes.
    ///
    /// `error` is the one that the script has returned, if it has, without the `-`.
    pub(super) fn end(self, error: Option<&[u8]>) -> CommandResult<()> {
        let context = self.context;
        context.client.error_is_counted =
            !self.error.is_empty() && error.is_some_and(|error| error.starts_with(&self.error));
        if context.client.database() != self.database {
            context.client.select(self.database);
        }
        if self.is_busy {
            self.server.end();
            context.shared.scripts.busy.end();
        }
        self.broken.map_or(Ok(()), Err)
    }

    /// Returns the command of a request, if the script may run it.
    fn admitted(&mut self, args: &Args<'_>) -> CommandResult<(&'static Command, u16)> {
        if let Some(broken) = &self.broken {
            return Err(broken.clone());
        }
        let tag = resolve(args);
        self.called = CommandKind::of_tagged(tag, args).map(|kind| (kind, false));
        let command = match ResolvedTag::of(tag) {
            ResolvedTag::Command(command) => command,
            ResolvedTag::WrongArity(_) => return Err(WRONG_ARITY),
            ResolvedTag::ReservedKey(_) => return Err(RESERVED_KEY_NAMED),
            ResolvedTag::Unknown => return Err(UNKNOWN),
        };
        if command.check_subcommand(args).is_err() {
            let is_known = command.subcommand_of(args).is_some();
            return Err(if is_known { WRONG_ARITY } else { UNKNOWN });
        }
        if !may_be_in_script(command, args) && !self.may_debug(command) {
            return Err(NOT_ALLOWED);
        }
        if !self.call.may_write() && (command.may_write || command.has(Flag::OtherEffects)) {
            return Err(READ_ONLY);
        }
        if command.may_write
            && let Some(why) = &self.call.writes_stopped
        {
            return Err(why.clone());
        }
        // As in Redis, full memory does not stop a script that has written: it may hold the only
        // copy of the values that it has removed.
        if self.call.memory_is_full && !self.has_written && command.has(Flag::DenyOom) {
            return Err(OUT_OF_MEMORY);
        }
        check_in_script(command, args)?;
        Ok((command, tag))
    }

    fn try_call(&mut self, reply: &mut Reply) -> Replied {
        if self.is_too_long {
            let most = self.arg_bytes_max();
            return Err(CommandError::owned(format!(
                "ERR the arguments of the command are longer than the limit of {most} bytes; send them in several commands"
            )));
        }
        let list = std::mem::take(&mut self.args);
        let ran = list.args().ok_or(UNKNOWN).and_then(|args| self.run(&args, reply));
        self.args = list;
        ran
    }

    fn run(&mut self, args: &Args, reply: &mut Reply) -> Replied {
        let (command, tag) = self.admitted(args)?;
        let context = &mut *self.context;
        if command.may_write {
            self.has_written = true;
            if self.is_busy && !context.shared.scripts.busy.note_write() {
                return Err(STOPPED);
            }
        }
        let ran = match context.client.check(tag, args) {
            Ok(()) => {
                if command.has(Flag::ReadOnly) && !std::mem::replace(&mut self.has_read, true) {
                    remember_declared(context, self.request);
                }
                let ran = alone::run_named(context, command, args, reply);
                let database = context.client.database();
                feed(&context.shared.notices.monitors, command, RequestSource::Script(database), args);
                self.called = self.called.map(|(kind, _)| (kind, true));
                ran.map(drop)
            }
            Err(denied) => Err(refuse_in_script(context.shared, context.client, command, &denied)),
        };
        if let Err(fault) = &ran
            && context.session.is_broken()
        {
            self.broken = Some(fault.clone());
        }
        ran
    }
}

impl ScriptCommands<'_, '_> {
    /// Returns whether a command is DEBUG, and scripts may call it.
    fn may_debug(&self, command: &Command) -> bool {
        command.has(Flag::InScriptsBySetting) && self.context.shared.settings.debug_in_scripts.get()
    }

    /// Returns the most bytes of a command's arguments: as much as the script may take itself,
    /// since it may name one value many times. Once it has written, as much as a client may send.
    fn arg_bytes_max(&self) -> usize {
        let options = &self.context.shared.options;
        let most = options.request_bytes_max;
        if self.has_written { most } else { most.min(options.script_memory_max) }
    }

    /// Counts the command that was called, and its error.
    fn count(&mut self, took: Duration, reply: &[u8]) {
        let context = &*self.context;
        let observed = &context.shared.workers.mailboxes[context.client.record.place.worker].observed;
        let called = self.called.take();
        if let Some((kind, true)) = called {
            let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
            observed.done(kind, 1, nanos, context.shared.settings.latency_tracking.get());
        }
        if let Some(error) = reply.strip_prefix(b"-") {
            match called {
                Some((kind, true)) => observed.failed(kind, error),
                _ => observed.rejected(called.map(|(kind, _)| kind), error),
            }
            self.error = error.strip_suffix(b"\r\n").unwrap_or(error).to_vec();
        }
    }

    /// Lets other clients receive BUSY from now on.
    fn begin_busy(&mut self, shared: &ServerShared) {
        let (sort, name) = self.call.callee.named();
        let (name, request) = (name.to_vec(), ClippedRequest::of(self.request));
        tracing::warn!(
            name = %name.escape_ascii(),
            millis = self.began.elapsed().as_millis(),
            "a script runs for long; others receive BUSY until it ends or is stopped"
        );
        shared.scripts.busy.begin(RunningScript::new(sort, name, request, self.began, self.has_written));
        self.is_busy = true;
        self.server.begin();
    }

    /// Serves other clients if the script runs for long. Returns the reason to stop, if there is
    /// one.
    fn attend(&mut self) -> Option<Stop> {
        let shared = Arc::clone(self.context.shared);
        let threshold = shared.settings.busy_reply_threshold.millis();
        if !self.is_busy && threshold > 0 && self.began.elapsed().as_millis() >= u128::from(threshold) {
            self.begin_busy(&shared);
        }
        if self.is_busy {
            self.server.turn();
        }
        match shared.scripts.busy.verdict() {
            ScriptVerdict::Killed => {
                // As in Redis, the text is the same for a function.
                return Some(Stop("Script killed by user with SCRIPT KILL...".into()));
            }
            // On disk, this also undoes the writes of the script.
            ScriptVerdict::Abandoned => self.broken = Some(STOPPING),
            ScriptVerdict::GoOn => {}
        }
        let most = shared.options.stop_timeout;
        let is_late =
            shared.workers.stopping() && self.stop_seen.get_or_insert_with(Instant::now).elapsed() >= most;
        (is_late || self.broken.is_some()).then(|| Stop("the server is stopping".into()))
    }
}

/// Returns whether scripts may run a request. Commands that MULTI rejects are rejected in a script,
/// too. Like Redis, asks the flags of the subcommand if there is one.
fn may_be_in_script(command: &Command, args: &Args) -> bool {
    !command.has(Flag::NoScript) && !command.has(Flag::NoMulti) && !command.flags_of(args).has(Flag::NoScript)
}

impl ScriptHost for ScriptCommands<'_, '_> {
    fn argument(&mut self, bytes: &[u8]) {
        self.arg_bytes = self.arg_bytes.saturating_add(bytes.len());
        self.is_too_long |= self.arg_bytes > self.arg_bytes_max() || !self.args.push(bytes);
    }

    fn call(&mut self, version: RespVersion, reply: &mut Vec<u8>) -> Duration {
        let protocol = match version {
            RespVersion::Resp2 => Protocol::Resp2,
            RespVersion::Resp3 => Protocol::Resp3,
        };
        let began = Instant::now();
        let mut writer = Reply::new(reply, protocol);
        if let Err(fault) = self.try_call(&mut writer) {
            writer.truncate(0);
            fault.write(&mut writer);
        }
        self.forget_arguments();
        let took = began.elapsed();
        self.count(took, reply);
        if self.has_written {
            self.received.set(self.received.get().saturating_add(reply.len()));
        }
        took
    }

    fn forget_arguments(&mut self) {
        self.args.clear();
        self.arg_bytes = 0;
        self.is_too_long = false;
    }

    fn may_call(&mut self) -> Option<bool> {
        let args = self.args.args()?;
        let tag = resolve(&args);
        let command = ResolvedTag::of(tag).command();
        let is_allowed = command.map(|_| self.context.client.check(tag, &args).is_ok());
        self.forget_arguments();
        is_allowed
    }

    fn log(&mut self, level: ScriptLogLevel, text: &[u8]) {
        log_line(level, text);
    }

    fn has_written(&self) -> bool {
        self.has_written
    }

    fn tick(&mut self) -> ControlFlow<Stop> {
        if let Some(stop) = self.attend() {
            return ControlFlow::Break(stop);
        }
        let most = self.call.time_max;
        if most.is_zero() || self.began.elapsed() < most {
            return ControlFlow::Continue(());
        }
        ControlFlow::Break(Stop(format!(
            "the script takes longer than max-script-time, {} s; raise it, or do less in one script",
            most.as_secs_f64()
        )))
    }
}
