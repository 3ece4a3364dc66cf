//! The commands of the workload, and the requests that they are sent in.

use std::fmt::{self, Display, Formatter};

/// The names of the keys. Most commands on a key fit its kind: its first letter.
pub const KEYS: [&str; 10] = ["t0", "t1", "l0", "l1", "l2", "s0", "s1", "z0", "z1", "x0"];

/// The number of databases.
pub const DATABASES: usize = 3;

/// A key: its position in [`KEYS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WireKey(pub u8);

impl Display for WireKey {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        out.write_str(KEYS[usize::from(self.0)])
    }
}

/// An end of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListEnd {
    Left,
    Right,
}

impl ListEnd {
    fn letter(self) -> char {
        if self == Self::Left { 'L' } else { 'R' }
    }

    fn word(self) -> &'static str {
        if self == Self::Left { "LEFT" } else { "RIGHT" }
    }
}

/// A command. Elements and values are numbers, and each is written only once. The score of a member
/// is the member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WireCommand {
    Get(WireKey),
    Set(WireKey, u32),
    /// With a time to live in milliseconds.
    SetFor(WireKey, u32, u64),
    GetDel(WireKey),
    SetAll(Vec<(WireKey, u32)>),
    GetAll(Vec<WireKey>),
    Exists(Vec<WireKey>),
    Push(ListEnd, WireKey, Vec<u32>),
    Pop(ListEnd, WireKey),
    MoveElement {
        from: WireKey,
        to: WireKey,
        take: ListEnd,
        put: ListEnd,
    },
    List(WireKey),
    SortInto {
        from: WireKey,
        to: WireKey,
    },
    SetAdd(WireKey, u32),
    SetRemove(WireKey, u32),
    SetMove {
        from: WireKey,
        to: WireKey,
        member: u32,
    },
    SetPop(WireKey),
    SetMembers(WireKey),
    SetUnionInto {
        to: WireKey,
        from: [WireKey; 2],
    },
    ScoreAdd(WireKey, u32),
    ScorePop(WireKey),
    Scores(WireKey),
    StreamAdd(WireKey, u32),
    StreamLen(WireKey),
    /// Makes the group, and the stream if it is absent.
    GroupCreate(WireKey),
    GroupRead(WireKey),
    Delete(WireKey),
    Rename {
        from: WireKey,
        to: WireKey,
    },
    Copy {
        from: WireKey,
        to: WireKey,
        database: Option<usize>,
        replace: bool,
    },
    MoveKey(WireKey, usize),
    ExpireIn(WireKey, u64),
    Persist(WireKey),
    Select(usize),
    SwapDatabases(usize, usize),
    FlushDatabase,
    /// The commands that wait, with their longest wait in milliseconds.
    WaitPop {
        end: ListEnd,
        keys: Vec<WireKey>,
        millis: u64,
    },
    WaitMove {
        from: WireKey,
        to: WireKey,
        take: ListEnd,
        put: ListEnd,
        millis: u64,
    },
    WaitScorePop {
        keys: Vec<WireKey>,
        millis: u64,
    },
    WaitGroupRead {
        key: WireKey,
        millis: u64,
    },
}

fn seconds(millis: u64) -> String {
    format!("{}.{:03}", millis / 1000, millis % 1000)
}

fn joined<T: Display>(items: &[T]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

impl Display for WireCommand {
    /// Writes the words of the request, which contain no spaces.
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Get(key) => write!(out, "GET {key}"),
            Self::Set(key, value) => write!(out, "SET {key} {value}"),
            Self::SetFor(key, value, millis) => write!(out, "SET {key} {value} PX {millis}"),
            Self::GetDel(key) => write!(out, "GETDEL {key}"),
            Self::SetAll(pairs) => {
                out.write_str("MSET")?;
                pairs.iter().try_for_each(|(key, value)| write!(out, " {key} {value}"))
            }
            Self::GetAll(keys) => write!(out, "MGET {}", joined(keys)),
            Self::Exists(keys) => write!(out, "EXISTS {}", joined(keys)),
            Self::Push(end, key, elements) => write!(out, "{}PUSH {key} {}", end.letter(), joined(elements)),
            Self::Pop(end, key) => write!(out, "{}POP {key}", end.letter()),
            Self::MoveElement { from, to, take, put } => {
                write!(out, "LMOVE {from} {to} {} {}", take.word(), put.word())
            }
            Self::List(key) => write!(out, "LRANGE {key} 0 -1"),
            Self::SortInto { from, to } => write!(out, "SORT {from} STORE {to}"),
            Self::SetAdd(key, member) => write!(out, "SADD {key} {member}"),
            Self::SetRemove(key, member) => write!(out, "SREM {key} {member}"),
            Self::SetMove { from, to, member } => write!(out, "SMOVE {from} {to} {member}"),
            Self::SetPop(key) => write!(out, "SPOP {key}"),
            Self::SetMembers(key) => write!(out, "SMEMBERS {key}"),
            Self::SetUnionInto { to, from } => write!(out, "SUNIONSTORE {to} {}", joined(from)),
            Self::ScoreAdd(key, member) => write!(out, "ZADD {key} {member} {member}"),
            Self::ScorePop(key) => write!(out, "ZPOPMIN {key}"),
            Self::Scores(key) => write!(out, "ZRANGE {key} 0 -1"),
            Self::StreamAdd(key, value) => write!(out, "XADD {key} * f {value}"),
            Self::StreamLen(key) => write!(out, "XLEN {key}"),
            Self::GroupCreate(key) => write!(out, "XGROUP CREATE {key} g 0 MKSTREAM"),
            Self::GroupRead(key) => write!(out, "XREADGROUP GROUP g c COUNT 1 STREAMS {key} >"),
            Self::Delete(key) => write!(out, "DEL {key}"),
            Self::Rename { from, to } => write!(out, "RENAME {from} {to}"),
            Self::Copy { from, to, database, replace } => {
                write!(out, "COPY {from} {to}")?;
                database.iter().try_for_each(|database| write!(out, " DB {database}"))?;
                if *replace { out.write_str(" REPLACE") } else { Ok(()) }
            }
            Self::MoveKey(key, database) => write!(out, "MOVE {key} {database}"),
            Self::ExpireIn(key, millis) => write!(out, "PEXPIRE {key} {millis}"),
            Self::Persist(key) => write!(out, "PERSIST {key}"),
            Self::Select(database) => write!(out, "SELECT {database}"),
            Self::SwapDatabases(first, second) => write!(out, "SWAPDB {first} {second}"),
            Self::FlushDatabase => out.write_str("FLUSHDB"),
            Self::WaitPop { end, keys, millis } => {
                write!(out, "B{}POP {} {}", end.letter(), joined(keys), seconds(*millis))
            }
            Self::WaitMove { from, to, take, put, millis } => {
                write!(out, "BLMOVE {from} {to} {} {} {}", take.word(), put.word(), seconds(*millis))
            }
            Self::WaitScorePop { keys, millis } => {
                write!(out, "BZPOPMIN {} {}", joined(keys), seconds(*millis))
            }
            Self::WaitGroupRead { key, millis } => {
                write!(out, "XREADGROUP GROUP g c COUNT 1 BLOCK {millis} STREAMS {key} >")
            }
        }
    }
}

impl WireCommand {
    /// Returns the keys that the command waits for, and its longest wait in milliseconds.
    pub fn wait(&self) -> Option<(&[WireKey], u64)> {
        match self {
            Self::WaitPop { keys, millis, .. } | Self::WaitScorePop { keys, millis } => Some((keys, *millis)),
            Self::WaitMove { from: key, millis, .. } | Self::WaitGroupRead { key, millis } => {
                Some((std::slice::from_ref(key), *millis))
            }
            _ => None,
        }
    }

    /// Returns whether the command never changes anything.
    pub fn only_reads(&self) -> bool {
        matches!(
            self,
            Self::Get(_)
                | Self::GetAll(_)
                | Self::Exists(_)
                | Self::List(_)
                | Self::SetMembers(_)
                | Self::Scores(_)
                | Self::StreamLen(_)
                | Self::Select(_)
        )
    }

    /// Returns the keys that the command names.
    pub fn keys(&self) -> Vec<WireKey> {
        match self {
            Self::GetAll(keys)
            | Self::Exists(keys)
            | Self::WaitPop { keys, .. }
            | Self::WaitScorePop { keys, .. } => keys.clone(),
            Self::SetAll(pairs) => pairs.iter().map(|(key, _)| *key).collect(),
            Self::SetUnionInto { to, from } => vec![*to, from[0], from[1]],
            Self::MoveElement { from, to, .. }
            | Self::WaitMove { from, to, .. }
            | Self::SortInto { from, to }
            | Self::SetMove { from, to, .. }
            | Self::Rename { from, to }
            | Self::Copy { from, to, .. } => vec![*from, *to],
            Self::Select(_) | Self::SwapDatabases(..) | Self::FlushDatabase => Vec::new(),
            Self::Get(key)
            | Self::Set(key, _)
            | Self::SetFor(key, ..)
            | Self::GetDel(key)
            | Self::Push(_, key, _)
            | Self::Pop(_, key)
            | Self::List(key)
            | Self::SetAdd(key, _)
            | Self::SetRemove(key, _)
            | Self::SetPop(key)
            | Self::SetMembers(key)
            | Self::ScoreAdd(key, _)
            | Self::ScorePop(key)
            | Self::Scores(key)
            | Self::StreamAdd(key, _)
            | Self::StreamLen(key)
            | Self::GroupCreate(key)
            | Self::GroupRead(key)
            | Self::Delete(key)
            | Self::MoveKey(key, _)
            | Self::ExpireIn(key, _)
            | Self::Persist(key)
            | Self::WaitGroupRead { key, .. } => vec![*key],
        }
    }
}

/// The kind of a group of commands that runs as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupKind {
    Multi,
    Script,
}

/// The commands that a client sends at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WireRequest {
    One(WireCommand),
    Group(GroupKind, Vec<WireCommand>),
    Watch(Vec<WireKey>),
    /// All keys of all databases, by a snapshot that is held for several ranges.
    Snapshot,
    /// A script that keeps the other workers waiting: steps of an empty loop.
    Spin(u32),
}

impl Display for WireRequest {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let group = |commands: &[WireCommand]| {
            commands.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
        };
        match self {
            Self::One(command) => command.fmt(out),
            Self::Group(GroupKind::Multi, commands) => write!(out, "MULTI; {}; EXEC", group(commands)),
            Self::Group(GroupKind::Script, commands) => write!(out, "EVAL {{ {} }}", group(commands)),
            Self::Watch(keys) => write!(out, "WATCH {}", joined(keys)),
            Self::Snapshot => out.write_str("SK.SNAPSHOT BEGIN; SK.RANGE - + HELD of each database; END"),
            Self::Spin(steps) => write!(out, "EVAL {{ for i=1,{steps} do end }}"),
        }
    }
}

impl WireRequest {
    pub fn commands(&self) -> &[WireCommand] {
        match self {
            Self::One(command) => std::slice::from_ref(command),
            Self::Group(_, commands) => commands,
            Self::Watch(_) | Self::Snapshot | Self::Spin(_) => &[],
        }
    }

    /// Returns the keys that the request names.
    pub fn keys(&self) -> Vec<WireKey> {
        match self {
            Self::Watch(keys) => keys.clone(),
            _ => self.commands().iter().flat_map(WireCommand::keys).collect(),
        }
    }

    /// Returns whether the request never changes anything, so that a history without it must be
    /// explained, too, if the history with it can be.
    pub fn only_reads(&self) -> bool {
        match self {
            // An EXEC ends the watch of its client.
            Self::Group(GroupKind::Multi, _) | Self::Watch(_) => false,
            _ => self.commands().iter().all(WireCommand::only_reads),
        }
    }
}
