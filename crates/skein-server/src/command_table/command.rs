//! The row of a command.
//!
//! ```text
//!   command("lpush", -3, "write denyoom fast", WriteRun(super::lpush))   name, arity, flags, plan
//!       .key(1, "RW insert")                                             keys, and their use
//!       .event(Changed(List, "lpush"))                                   keyspace notification
//!       .also("makes_waited_keys")                                       properties of this server
//!       .docs("Adds elements at the front", "key@0 element...")          summary, arguments
//! ```
//!
//! A row is a constant. The methods that begin with `const` fill it in; [`Command::finished`]
//! derives the rest once, at compile time.

use std::fmt;

use super::flags::{CommandFlags, Flag};
use super::group::Group;
use super::key_specs::{KeyBegin, KeyFind, KeyLookup, KeyReach, KeySpec, KeySpecs};
use super::request_keys::KeyFinder;
use super::subcommands::Subcommand;
use crate::clients::waiting_clients::WaitingClients;
use crate::commands::while_busy::BusyHandler;
use crate::commands::while_loading::LoadingHandler;
use crate::commands::{Handler, Plan};
use crate::notice::key_events::{EventRule, StreamPart};
use crate::observe::slowlog::SecretArgs;
use crate::resp::Args;

/// The arguments that are channels, which need a right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChannelArgs {
    None,
    /// The first one.
    One,
    All,
    /// All are patterns of channels.
    Patterns,
}

/// Returns the argument of a request that names another database.
pub(crate) type DatabaseFinder = for<'a> fn(&Args<'a>) -> Option<&'a [u8]>;

/// All facts about a command.
#[derive(Clone, Copy)]
pub(crate) struct Command {
    /// In lower case.
    pub name: &'static str,
    /// Number of arguments, including the name. If negative, the minimum.
    pub arity: i32,
    pub flags: CommandFlags,
    pub plan: Plan,
    pub group: Group,
    /// Whether the row names its group. Otherwise [`family`](super::family) sets it.
    pub(super) has_own_group: bool,
    pub summary: &'static str,
    /// The arguments, in the notation of `notation`.
    pub syntax: &'static str,
    /// Redis's tips for clients and proxies: words.
    pub tips: &'static str,
    /// The categories of access control beside those of the flags, if they are not its group's.
    pub categories: Option<&'static str>,
    /// Empty for most commands.
    pub subcommands: &'static [Subcommand],
    pub key_specs: KeySpecs,
    /// Finds the keys that no specification finds.
    pub key_finder: Option<KeyFinder>,
    /// Returns the flags of the keys if they depend on the request: the first specification has
    /// `variable_flags` then.
    pub key_flags: Option<fn(&Args<'_>) -> &'static str>,
    pub lookup: KeyLookup,
    pub reach: KeyReach,
    pub channels: ChannelArgs,
    /// Returns the argument that names another database, to which it writes.
    pub other_database: Option<DatabaseFinder>,
    pub event: EventRule,
    /// Returns the part of a stream that it may change besides the state of its key.
    pub stream_part: Option<for<'a> fn(&Args<'a>) -> Option<StreamPart<'a>>>,
    /// Returns the arguments that no log and no monitor shows.
    pub secrets: Option<fn(&Args) -> SecretArgs>,
    /// Replies while the data is still loading. With `None` the command replies LOADING then.
    pub while_loading: Option<LoadingHandler>,
    /// Replies while a script keeps the server busy. With `None` the command replies BUSY then.
    pub while_busy: Option<BusyHandler>,

    // Derived by `finished`.
    /// First key, last key (negative: counted from the end), step; all 0 if there are no such keys.
    pub keys: (i32, i32, i32),
    /// Index of the argument that holds a number of keys; 0 if there is no such argument. Those
    /// keys follow it, and stand after the keys of `keys`.
    pub key_count: usize,
    /// Whether the command itself may write. PFCOUNT may, although it has the flag of reads: it
    /// keeps the count in the value.
    pub may_write: bool,
    /// Its index in [`COMMANDS`](super::COMMANDS).
    pub number: u16,
}

/// Returns the row of a command with these flags, without keys and events.
pub(crate) const fn command(name: &'static str, arity: i32, flags: &str, handler: Handler) -> Command {
    Command {
        name,
        arity,
        flags: CommandFlags::named(flags),
        plan: Plan::of(handler),
        group: Group::Generic,
        has_own_group: false,
        summary: "",
        syntax: "",
        tips: "",
        categories: None,
        subcommands: &[],
        key_specs: KeySpecs::NONE,
        key_finder: None,
        key_flags: None,
        lookup: KeyLookup::ByAccess,
        reach: KeyReach::Named,
        channels: ChannelArgs::None,
        other_database: None,
        event: EventRule::Reads,
        stream_part: None,
        secrets: None,
        while_loading: None,
        while_busy: None,
        keys: (0, 0, 0),
        key_count: 0,
        may_write: false,
        number: 0,
    }
}

/// Facts of a row.
impl Command {
    /// Sets the summary, and the arguments in the notation of `notation`.
    pub(crate) const fn docs(self, summary: &'static str, syntax: &'static str) -> Self {
        Self { summary, syntax, ..self }
    }

    /// Sets the group, in a family of another group.
    pub(crate) const fn group(self, group: Group) -> Self {
        Self { group, has_own_group: true, ..self }
    }

    /// Adds properties that only this server has: see [`Flag`].
    pub(crate) const fn also(self, flags: &str) -> Self {
        Self { flags: self.flags.and(CommandFlags::named(flags)), ..self }
    }

    pub(crate) const fn tips(self, tips: &'static str) -> Self {
        Self { tips, ..self }
    }

    /// Sets the categories of access control beside those of the flags, instead of the group's.
    pub(crate) const fn categories(self, categories: &'static str) -> Self {
        Self { categories: Some(categories), ..self }
    }

    pub(crate) const fn subcommands(self, subcommands: &'static [Subcommand]) -> Self {
        Self { subcommands, ..self }
    }

    /// Says that this argument is a key.
    pub(crate) const fn key(self, at: i32, flags: &'static str) -> Self {
        self.keys(at, at, 1, flags)
    }

    /// Says that each `step`th argument from `first` to `last` is a key. If `last` is negative, it
    /// counts from the end.
    pub(crate) const fn keys(self, first: i32, last: i32, step: i32, flags: &'static str) -> Self {
        let last = if last < 0 { last } else { last - first };
        self.spec(flags, KeyBegin::Index(first), KeyFind::Range { last, step, limit: 0 })
    }

    /// Says that this argument is a number of keys, which follow it.
    pub(crate) const fn counted_keys(self, at: i32, flags: &'static str) -> Self {
        self.spec(flags, KeyBegin::Index(at), KeyFind::Counted { number: 0, first: 1, step: 1 })
    }

    /// Says that keys are behind a word, which is searched from this argument on; from the end if
    /// it is negative.
    pub(crate) const fn keys_after(
        self,
        word: &'static str,
        from: i32,
        find: KeyFind,
        flags: &'static str,
    ) -> Self {
        self.spec(flags, KeyBegin::Keyword(word, from), find)
    }

    /// Says that there are keys that no specification can find.
    pub(crate) const fn unknown_keys(self, flags: &'static str) -> Self {
        self.spec(flags, KeyBegin::Unknown, KeyFind::Unknown)
    }

    const fn spec(self, flags: &'static str, begin: KeyBegin, find: KeyFind) -> Self {
        Self { key_specs: self.key_specs.with(KeySpec { flags, begin, find }), ..self }
    }

    pub(crate) const fn finds_keys(self, finder: KeyFinder) -> Self {
        Self { key_finder: Some(finder), ..self }
    }

    pub(crate) const fn key_flags_by(self, flags: fn(&Args) -> &'static str) -> Self {
        Self { key_flags: Some(flags), ..self }
    }

    pub(crate) const fn lookup(self, lookup: KeyLookup) -> Self {
        Self { lookup, ..self }
    }

    pub(crate) const fn reaches(self, reach: KeyReach) -> Self {
        Self { reach, ..self }
    }

    pub(crate) const fn channels(self, channels: ChannelArgs) -> Self {
        Self { channels, ..self }
    }

    pub(crate) const fn names_database(self, database: DatabaseFinder) -> Self {
        Self { other_database: Some(database), ..self }
    }

    pub(crate) const fn event(self, event: EventRule) -> Self {
        Self { event, ..self }
    }

    pub(crate) const fn changes_stream(self, part: for<'a> fn(&Args<'a>) -> Option<StreamPart<'a>>) -> Self {
        Self { stream_part: Some(part), ..self }
    }

    pub(crate) const fn hides(self, secrets: fn(&Args) -> SecretArgs) -> Self {
        Self { secrets: Some(secrets), ..self }
    }

    pub(crate) const fn while_loading(self, handler: LoadingHandler) -> Self {
        Self { while_loading: Some(handler), ..self }
    }

    pub(crate) const fn while_busy(self, handler: BusyHandler) -> Self {
        Self { while_busy: Some(handler), ..self }
    }

    /// Derives the rest of the row.
    pub(super) const fn finished(mut self, number: u16) -> Self {
        // A command with subcommands has the keys of those that have any. They are the same for
        // all.
        let mut at = 0;
        while at < self.subcommands.len() {
            let specs = self.subcommands[at].key_specs;
            if !specs.as_slice().is_empty() {
                self.key_specs = specs;
            }
            at += 1;
        }
        self.keys = self.key_specs.positions();
        self.key_count = self.key_specs.count_at();
        self.flags = self.flags.with(Flag::MovableKeys, self.key_specs.are_movable());
        self.may_write =
            self.flags.has(Flag::Write) || (self.flags.has(Flag::ReadOnly) && self.key_specs.write());
        self.number = number;
        self
    }
}

impl Command {
    #[inline]
    pub(crate) const fn has(&self, flag: Flag) -> bool {
        self.flags.has(flag)
    }

    /// Returns whether its requests name keys.
    pub(crate) fn names_keys(&self) -> bool {
        self.keys.0 != 0 || self.has(Flag::MovableKeys)
    }

    /// Returns whether its keys are searched behind a word. The name of a group may look like that
    /// word, and hide the keys behind it.
    pub(crate) fn searches_keys(&self) -> bool {
        self.key_finder.is_none() && self.key_specs.as_slice().iter().any(KeySpec::is_searched)
    }

    /// Returns whether it removes keys without naming them.
    pub(crate) fn removes_all_keys(&self) -> bool {
        self.has(Flag::RemovesWaitedKeys) && self.keys.0 == 0
    }

    /// Returns whether the command may wake one of these clients.
    #[inline]
    pub(crate) fn may_wake(&self, waiting: &WaitingClients) -> bool {
        if self.has(Flag::MakesWaitedKeys) {
            waiting.count() > 0
        } else {
            self.has(Flag::RemovesWaitedKeys) && waiting.count_needing_keys() > 0
        }
    }

    /// Returns the subcommand of a request, if the command has subcommands and it names one.
    pub(crate) fn subcommand_of(&self, args: &Args<'_>) -> Option<&'static Subcommand> {
        if self.subcommands.is_empty() || args.len() < 2 {
            return None;
        }
        super::subcommands::find(self.subcommands, args.get(1))
    }

    /// Returns the flags of a request: those of its subcommand, if it names one.
    pub(crate) fn flags_of(&self, args: &Args) -> CommandFlags {
        self.subcommand_of(args).map_or(self.flags, |subcommand| subcommand.flags)
    }

    /// Returns whether a request may write a key, or change the functions, which belong to no key.
    pub(crate) fn may_write_by(&self, args: &Args) -> bool {
        self.may_write || self.flags_of(args).has(Flag::Write)
    }

    /// Returns the uses of the first key of a request and of its other keys, as the flags of key
    /// specifications; `None` if the command has no keys.
    pub(crate) fn key_uses(&self, args: &Args<'_>) -> Option<[&'static str; 2]> {
        let specs = self.key_specs.as_slice();
        let first = self.key_flags.map(|flags| flags(args));
        Some([first.unwrap_or(specs.first()?.flags), first.unwrap_or(specs.last()?.flags)])
    }
}

impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Command").field(&self.name).finish()
    }
}
