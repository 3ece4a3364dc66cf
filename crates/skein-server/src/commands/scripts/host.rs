//! Runs the commands of a script.

use std::ops::ControlFlow;
use std::time::Instant;

use skein_script::{RespVersion, ScriptHost, ScriptLogLevel, Stop};

use super::ScriptCall;
use crate::command_table::subcommands::find as find_subcommand;
use crate::commands::access::denied::refuse_in_script;
use crate::commands::streams::check_in_script;
use crate::commands::{
    CommandContext, CommandError, CommandSpec, OUT_OF_MEMORY, PRIVATE_KEY_NAMED, ResolvedTag, alone, resolve,
};
use crate::functions::log_line;
use crate::resp::{ArgList, Protocol, ReplyWriter, RequestArgs};

const UNKNOWN: CommandError = CommandError::text("ERR Unknown Redis command called from script");
const WRONG_ARITY: CommandError =
    CommandError::text("ERR Wrong number of args calling Redis command from script");
const NOT_ALLOWED: CommandError = CommandError::text("ERR This Redis command is not allowed from script");
const READ_ONLY: CommandError =
    CommandError::text("ERR Write commands are not allowed from read-only scripts.");
const TOO_LONG: CommandError = CommandError::text(
    "ERR the arguments of the command are longer than 4 GiB; send them in several commands",
);
const ENDED: CommandError = CommandError::text("ERR the script has ended");

/// The commands of a running script.
pub(super) struct ScriptCommands<'c, 's> {
    call: &'s ScriptCall,
    /// Absent only while a command runs, since it passes through the command by value.
    context: Option<CommandContext<'c>>,
    args: ArgList,
    /// An argument did not fit.
    is_too_long: bool,
    /// The failure that has undone the script's writes, on disk. All later commands fail with it.
    broken: Option<CommandError>,
    began: Instant,
}

impl<'c, 's> ScriptCommands<'c, 's> {
    pub(super) fn new(context: CommandContext<'c>, call: &'s ScriptCall) -> Self {
        let (args, is_too_long) = (ArgList::default(), false);
        Self { call, context: Some(context), args, is_too_long, broken: None, began: Instant::now() }
    }

    /// Returns the context. Errors if a failure has undone the script's writes.
    pub(super) fn end(self) -> (CommandContext<'c>, Result<(), CommandError>) {
        let context = self.context.expect("a command returns the context");
        (context, self.broken.map_or(Ok(()), Err))
    }

    /// Returns the command of a request, if the script may run it.
    fn admitted(&self, args: &RequestArgs<'_>) -> Result<(&'static CommandSpec, u16), CommandError> {
        if let Some(broken) = &self.broken {
            return Err(broken.clone());
        }
        let tag = resolve(args);
        let command = match ResolvedTag::of(tag) {
            ResolvedTag::Command(command) => command,
            ResolvedTag::WrongArity(_) => return Err(WRONG_ARITY),
            ResolvedTag::PrivateKey(_) => return Err(PRIVATE_KEY_NAMED),
            ResolvedTag::Unknown => return Err(UNKNOWN),
        };
        if command.check_subcommand(args).is_err() {
            let is_known = find_subcommand(command.subcommands, args.get(1)).is_some();
            return Err(if is_known { WRONG_ARITY } else { UNKNOWN });
        }
        if !may_be_in_script(command) {
            return Err(NOT_ALLOWED);
        }
        if !self.call.may_write() && command.may_write() {
            return Err(READ_ONLY);
        }
        if self.call.memory_is_full && command.has_flag("denyoom") {
            return Err(OUT_OF_MEMORY);
        }
        check_in_script(command, args)?;
        Ok((command, tag))
    }

    fn try_call(&mut self, reply: &mut ReplyWriter<'_>) -> Result<(), CommandError> {
        if std::mem::take(&mut self.is_too_long) {
            return Err(TOO_LONG);
        }
        let args = self.args.args().ok_or(UNKNOWN)?;
        let (command, tag) = self.admitted(&args)?;
        let mut context = self.context.take().ok_or(ENDED)?;
        let ran = match context.client.check(tag, &args) {
            Ok(()) => {
                let ran;
                (context, ran) = alone::run(context, command, &args, reply);
                ran.map(drop)
            }
            Err(denied) => Err(refuse_in_script(context.shared, context.client, command, &denied)),
        };
        if let Err(fault) = &ran
            && context.session.is_broken()
        {
            self.broken = Some(fault.clone());
        }
        self.context = Some(context);
        ran
    }
}

/// Returns whether scripts may run a command. What has no place in MULTI has none in a script.
fn may_be_in_script(command: &CommandSpec) -> bool {
    // Redis flags their subcommands instead.
    const BY_SUBCOMMAND: [&str; 6] = ["acl", "client", "config", "function", "latency", "script"];
    !command.has_flag("noscript") && !command.has_flag("no_multi") && !BY_SUBCOMMAND.contains(&command.name)
}

impl ScriptHost for ScriptCommands<'_, '_> {
    fn argument(&mut self, bytes: &[u8]) {
        self.is_too_long |= !self.args.push(bytes);
    }

    fn call(&mut self, version: RespVersion, reply: &mut Vec<u8>) {
        let protocol = match version {
            RespVersion::Resp2 => Protocol::Resp2,
            RespVersion::Resp3 => Protocol::Resp3,
        };
        let mut writer = ReplyWriter::new(reply, protocol);
        if let Err(fault) = self.try_call(&mut writer) {
            writer.truncate(0);
            fault.write(&mut writer);
        }
        self.args.clear();
    }

    fn forget_arguments(&mut self) {
        self.args.clear();
    }

    fn may_call(&mut self) -> Option<bool> {
        let args = self.args.args()?;
        let tag = resolve(&args);
        let is_allowed = match ResolvedTag::of(tag) {
            ResolvedTag::Command(_) => {
                self.context.as_ref().map(|context| context.client.check(tag, &args).is_ok())
            }
            _ => None,
        };
        self.args.clear();
        is_allowed
    }

    fn log(&mut self, level: ScriptLogLevel, text: &[u8]) {
        log_line(level, text);
    }

    fn tick(&mut self) -> ControlFlow<Stop> {
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
