//! The flags of commands and subcommands: those of Redis, and properties that only this server has.
//!
//! A row names them in a text, which the compiler parses: an unknown name does not compile.

use super::words::{count_words, has_word};

/// Defines the flags with their names.
macro_rules! flags {
    ($($(#[$doc:meta])* $flag:ident $name:literal,)*) => {
        /// A flag of a command.
        #[expect(dead_code, reason = "some flags are only in texts: nothing asks for them")]
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Flag {
            $($(#[$doc])* $flag,)*
        }

        /// The names, by the number of the flag.
        const NAMES: &[&str] = &[$($name),*];
    };
}

flags! {
    // Redis's flags, in the order of its replies.
    Write "write",
    ReadOnly "readonly",
    DenyOom "denyoom",
    Admin "admin",
    PubSub "pubsub",
    NoScript "noscript",
    Blocking "blocking",
    Loading "loading",
    Stale "stale",
    SkipMonitor "skip_monitor",
    SkipSlowlog "skip_slowlog",
    Asking "asking",
    Fast "fast",
    NoAuth "no_auth",
    NoMandatoryKeys "no_mandatory_keys",
    NoAsyncLoading "no_async_loading",
    NoMulti "no_multi",
    /// Follows from the key specifications; no row names it.
    MovableKeys "movablekeys",
    AllowBusy "allow_busy",

    // This server's properties, which no reply shows.
    /// Consecutive requests of this command may be timed as one. Such a request takes so little
    /// time that reading the clock would cost more. (Reads and writes of single keys run in
    /// batches, which are timed as a whole, and need no mark.)
    TimedTogether "timed_together",
    /// It has effects beside those on keys, or Redis lets it write. A pause of writes holds it
    /// back, and scripts that only read may not call it.
    OtherEffects "other_effects",
    /// It may add far more memory than the bytes of its arguments. The worker looks at the memory
    /// limit after it.
    OutgrowsArguments "outgrows_arguments",
    /// It copies the values of keys that it reads, so their bytes count before it runs.
    CopiesSources "copies_sources",
    /// It may make a list, a sorted set or an entry of a stream, for which clients may wait.
    MakesWaitedKeys "makes_waited_keys",
    /// It may remove or replace any key, also one that a client of XREADGROUP needs.
    RemovesWaitedKeys "removes_waited_keys",
    /// Its client waits only if the request asks for it. A script may not ask.
    WaitsIfAsked "waits_if_asked",
    /// Between MULTI and EXEC it runs at once instead of being queued.
    AtOnceInMulti "at_once_in_multi",
    /// A client with subscriptions may send it in RESP2. There, replies and messages look the same.
    WhileSubscribed "while_subscribed",
    /// It shows the sizes of its own connection, and does not use up CLIENT CACHING.
    AboutConnection "about_connection",
    /// Scripts may call it if a setting allows it, although it is flagged `noscript`.
    InScriptsBySetting "in_scripts_by_setting",
    /// It ends a pause, so no pause holds it back.
    EndsPause "ends_pause",
}

/// The number of flags that replies show.
const SHOWN: usize = Flag::AllowBusy as usize + 1;

const _: () = assert!(NAMES.len() <= u64::BITS as usize);

/// A set of flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CommandFlags(u64);

impl CommandFlags {
    pub(crate) const NONE: Self = Self(0);

    /// Returns the flags of these names, which single spaces separate.
    ///
    /// # Panics
    /// If there is no flag of a name: a row with such a text does not compile.
    pub(super) const fn named(names: &str) -> Self {
        let (mut flags, mut at, mut known) = (0, 0, 0);
        while at < NAMES.len() {
            if has_word(names, NAMES[at]) {
                flags |= 1 << at;
                known += 1;
            }
            at += 1;
        }
        assert!(known == count_words(names), "a command has an unknown flag, or one twice");
        Self(flags)
    }

    #[inline]
    pub(crate) const fn has(self, flag: Flag) -> bool {
        self.0 >> flag as u32 & 1 == 1
    }

    pub(super) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the flags with this one, if `is_set`.
    pub(super) const fn with(self, flag: Flag, is_set: bool) -> Self {
        Self(self.0 | (is_set as u64) << flag as u32)
    }

    /// Returns the names that replies show, in Redis's order.
    pub(crate) fn shown(self) -> impl Iterator<Item = &'static str> {
        (0..SHOWN).filter(move |at| self.0 >> at & 1 == 1).map(|at| NAMES[at])
    }
}
