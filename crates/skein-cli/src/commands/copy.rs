//! `skein copy`: copies all keys of a server, Redis or SkeinDB, into a running SkeinDB server.
//!
//! ```text
//!   SCAN a page ─► TYPE, PEXPIRETIME of each key, in one pipeline
//!     string   GET                ─► SET key value [PXAT t]
//!     hash     HSCAN, in pieces   ─► DEL, HSET ..., PEXPIREAT
//!              HPEXPIRETIME of each piece: fields that expire are rejected
//!     zset     ZSCAN, in pieces   ─► DEL, ZADD ..., PEXPIREAT
//!     set      SSCAN, in pieces   ─► DEL, SADD ..., PEXPIREAT
//!     list     LRANGE, in pieces  ─► DEL, RPUSH ..., PEXPIREAT
//!     stream   XINFO, XPENDING    ─► RESTORE of groups
//!              XRANGE, in pieces  ─► XADD ..., XSETID, PEXPIREAT
//!     others   named and counted
//! ```
//!
//! All databases are copied, each into that of the same number, unless an address names one
//! (`plan`). Every SELECT of the target is tried before the first write. If all databases are
//! copied, the libraries of functions follow ([`functions`]). A copy onto itself would remove the
//! keys, so `same_server` detects it.
//!
//! The target may be a cluster. Then each write is sent to the primary of its key's slot, also
//! while slots migrate and primaries fail over. All writes of a copy but RPUSH may be repeated, so
//! the client sends a write again if its connection broke. [`ListAppend`] removes elements that a
//! repeated RPUSH appended twice.
//!
//! The source needs only commands that Redis has since version 2.8; for streams, 6.0, and 7.0 at
//! the target. A stream that a server rejects is named, and the copy continues. A source before
//! version 7 has no PEXPIRETIME, so the copy asks with PTTL and writes the remaining time with PX
//! and PEXPIRE: the key then expires later, by the time that the copy took between the two. The
//! source continues to serve clients. A key that changes meanwhile is copied as it was before or
//! after the change, or in pieces of both. If a client adds or removes elements at the head of a
//! long list meanwhile, the copy has some elements twice, or lacks some.

use std::collections::BTreeMap;

use skeindb::client::Reply;

use crate::console;
use crate::exit::{Exit, Failure};
use crate::interrupt::Interrupt;
use crate::progress::{self, KeyProgress, by_type};
use crate::remote::{
    ClusterTarget, CommandPeer, FIELDS_EXPIRE, FieldTimes, FromArgs, ListAppend, ListPiece, ListRead,
    ServerPeer, ServerTarget, StreamPiece, StreamRead, ToArgs, fields_of, is_changed, stops_all,
    write_stream_part,
};
use crate::target::DEFAULT_ADDRESS;

mod functions;
mod plan;
mod same_server;

use functions::CopiedFunctions;
use plan::{CopiedDatabase, CopyPlan};

/// Keys per page.
const PAGE: &[u8] = b"500";
/// Fields or members that are read and written at once.
const PIECE: &[u8] = b"1000";

const EXAMPLES: &str = "\
Examples:
  skein copy --from 127.0.0.1:6379
      everything in a Redis on this machine: all databases, and the functions
  skein copy --from redis://127.0.0.1:6379/3 --to redis://127.0.0.1:6380/0
      its database 3, into database 0
  skein copy --from redis:6379 --pattern 'session:*'
      some keys of another one
  skein copy --from rediss://redis:6379 --from-tls-ca ca.pem \\
      --from-password-file pw
      by TLS; every --from option also exists for --to
  skein copy --from 127.0.0.1:6379 --to-cluster 10.0.0.1:7000
      into a Redis cluster, each key to its node

An existing key is replaced. Each database is copied into that of the same number. If the address of the source names one \
(redis://HOST:PORT/3), it is copied alone, into the one that the address of the target names, or else into the same. A cluster has \
database 0 alone; if the source has keys in others, the command says so and the exit code is 4. Values of Redis's modules and hashes whose fields expire are not copied, and streams not to a Redis before version 7: the first \
ones are named, all are counted by type, and exit code 4 says that there were some. A source that is the target under another name, or a node of it, is rejected. Ctrl-C ends the \
copy with a message about its progress; keys that were copied remain.";

/// Copy all keys of a Redis server into a running server, or into a cluster.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct CopyArgs {
    /// The server to read: HOST:PORT, redis://HOST:PORT, rediss://HOST:PORT for TLS, or unix:PATH.
    #[arg(long, value_name = "SERVER")]
    from: String,
    /// The server to write to, in the same forms.
    #[arg(long, value_name = "SERVER", default_value = DEFAULT_ADDRESS)]
    to: String,
    /// A node of the cluster to write to, instead of a server: each key is written to the node that
    /// owns its slot. May be given several times, or with commas.
    #[arg(long, value_name = "HOST:PORT", value_delimiter = ',', conflicts_with = "to")]
    to_cluster: Vec<String>,
    #[command(flatten)]
    from_access: FromArgs,
    #[command(flatten)]
    to_access: ToArgs,
    /// Only keys that match this pattern.
    #[arg(long, value_name = "PATTERN", default_value = "*")]
    pattern: String,
    /// The number of keys to name on standard error if they cannot be copied; the rest are only
    /// counted.
    #[arg(long, value_name = "N", default_value = "20")]
    show_refused: u64,
    /// No progress bar and no summary.
    #[arg(long, short)]
    quiet: bool,
}

/// Runs `skein copy`.
pub fn run(args: &CopyArgs) -> Result<Exit, Failure> {
    let source = ServerTarget { address: &args.from, access: args.from_access.access() };
    let has_pattern = args.pattern != "*";
    if !args.to_cluster.is_empty() {
        let mut from = source.connect()?;
        let to = ClusterTarget { nodes: &args.to_cluster, access: args.to_access.access() }.connect()?;
        same_server::refuse_member(&mut from, &to)?;
        let plan = CopyPlan::of_one(&mut from, 0, has_pattern)?;
        return copy_into(to, from, args, &plan);
    }
    let target = ServerTarget { address: &args.to, access: args.to_access.access() };
    let named = plan::named_databases(&source, &target)?;
    let (mut from, mut to) = (source.connect()?, target.connect()?);
    same_server::refuse(&mut from, &mut to)?;
    let plan = match named {
        Some(database) => CopyPlan::of_one(&mut from, database, has_pattern)?,
        None => CopyPlan::of_all(&mut from, has_pattern)?,
    };
    plan.databases.iter().try_for_each(|database| to.select(database.to))?;
    copy_into(to, from, args, &plan)
}

fn copy_into(
    to: impl CommandPeer,
    mut from: ServerPeer,
    args: &CopyArgs,
    plan: &CopyPlan,
) -> Result<Exit, Failure> {
    let mut copy = ServerCopy {
        progress: KeyProgress::start(plan.total, args.quiet),
        times: TimeCommands::of(&mut from)?,
        field_times: FieldTimes::new(),
        from,
        to,
        named_most: args.show_refused,
        copied: 0,
        refused: BTreeMap::new(),
        interrupt: Interrupt::noted()?,
    };
    let done = copy.run(plan, args.pattern.as_bytes());
    let ServerCopy { progress, copied, refused, .. } = copy;
    let how_far = progress.words();
    let took = progress.finish();
    let refusals = by_type(&refused);
    let functions = done.map_err(|mut failure| {
        failure.message =
            format!("{} after {how_far}; {copied} of them are copied, {refusals} refused", failure.message);
        failure
    })?;
    if !args.quiet {
        let (rate, took) = (progress::rate(copied, took), took.as_secs_f64());
        let of = match plan.databases.len() {
            1 => String::new(),
            many => format!(" of {many} databases"),
        };
        console::print(&format!("{copied} keys{of} copied, {refusals} refused, in {took:.1} s ({rate})\n"))?;
        if let CopiedFunctions::All(libraries @ 1..) = functions {
            console::print(&format!("{libraries} libraries of functions copied\n"))?;
        }
    }
    if let CopiedFunctions::Refused(why) = &functions {
        console::note(format_args!("skein: the functions are not copied: {why}"));
    }
    let is_whole = refused.is_empty() && !plan.leaves_out && matches!(functions, CopiedFunctions::All(_));
    Ok(if is_whole { Exit::Ok } else { Exit::Partial })
}

/// The properties of a key that are read before its value.
struct SourceKey {
    key: Vec<u8>,
    kind: String,
    /// The milliseconds of its expiry time, if it has one, as [`TimeCommands`] return them.
    expires: Option<i64>,
}

/// The commands that read and write expiry times.
struct TimeCommands {
    read: &'static [u8],
    /// The word of SET.
    word: &'static [u8],
    expire: &'static [u8],
}

impl TimeCommands {
    /// Milliseconds since 1970.
    const ABSOLUTE: Self = Self { read: b"PEXPIRETIME", word: b"PXAT", expire: b"PEXPIREAT" };
    /// Remaining milliseconds, for a source that has or permits no PEXPIRETIME.
    const REMAINING: Self = Self { read: b"PTTL", word: b"PX", expire: b"PEXPIRE" };

    /// Returns the best commands that the source has.
    fn of(from: &mut ServerPeer) -> Result<Self, Failure> {
        let told = from.call(&[Self::ABSOLUTE.read, b""])?;
        Ok(if let Reply::Integer(_) = told { Self::ABSOLUTE } else { Self::REMAINING })
    }
}

struct ServerCopy<T> {
    from: ServerPeer,
    to: T,
    times: TimeCommands,
    field_times: FieldTimes,
    progress: KeyProgress,
    named_most: u64,
    copied: u64,
    /// By type.
    refused: BTreeMap<String, u64>,
    interrupt: Interrupt,
}

impl<T: CommandPeer> ServerCopy<T> {
    fn run(&mut self, plan: &CopyPlan, pattern: &[u8]) -> Result<CopiedFunctions, Failure> {
        plan.databases.iter().try_for_each(|database| self.database(database, pattern))?;
        if plan.has_functions {
            functions::copy(&mut self.from, &mut self.to)
        } else {
            Ok(CopiedFunctions::All(0))
        }
    }

    /// Copies the keys of a database that match a pattern.
    fn database(&mut self, database: &CopiedDatabase, pattern: &[u8]) -> Result<(), Failure> {
        self.from.select(database.from)?;
        self.to.select(database.to)?;
        let mut cursor = b"0".to_vec();
        loop {
            let (next, keys) = self.from.scan(&[b"SCAN", &cursor, b"MATCH", pattern, b"COUNT", PAGE])?;
            self.page(keys)?;
            self.interrupt.check()?;
            if next == b"0" {
                return Ok(());
            }
            cursor = next;
        }
    }

    fn page(&mut self, keys: Vec<Vec<u8>>) -> Result<(), Failure> {
        let asked: Vec<[&[u8]; 2]> =
            keys.iter().flat_map(|key| [[b"TYPE".as_slice(), key], [self.times.read, key]]).collect();
        let mut replies = self.from.ask(&asked)?.into_iter();
        let mut strings = Vec::new();
        for key in keys {
            let (Some(Reply::Simple(kind)), Some(Reply::Integer(time))) = (replies.next(), replies.next())
            else {
                let (address, read) = (&self.from.address, self.times.read.escape_ascii());
                return Err(Failure::new(format!("{address} answered TYPE or {read} strangely")));
            };
            // The last millisecond is 0 for PTTL.
            let found = SourceKey { key, kind, expires: (time >= 0).then_some(time.max(1)) };
            self.interrupt.check()?;
            match &*found.kind {
                "string" => strings.push(found),
                "hash" => self.pieces(&found, b"HSCAN", b"HSET", false)?,
                "zset" => self.pieces(&found, b"ZSCAN", b"ZADD", true)?,
                "set" => self.pieces(&found, b"SSCAN", b"SADD", false)?,
                "list" => self.list(&found)?,
                "stream" => self.stream(&found)?,
                // It was removed after the page was read.
                "none" => self.progress.advance(1),
                _ => self.refuse(&found, None),
            }
        }
        self.strings(&strings)
    }

    fn strings(&mut self, strings: &[SourceKey]) -> Result<(), Failure> {
        let asked: Vec<[&[u8]; 2]> = strings.iter().map(|found| [b"GET".as_slice(), &found.key]).collect();
        let values = self.from.ask(&asked)?;
        let mut sets: Vec<Vec<Vec<u8>>> = Vec::new();
        for (found, value) in strings.iter().zip(values) {
            // Otherwise it was removed, now or earlier.
            let Reply::Bulk(value) = value else { continue };
            let mut set = vec![b"SET".to_vec(), found.key.clone(), value];
            if let Some(expires) = found.expires {
                set.extend([self.times.word.to_vec(), expires.to_string().into_bytes()]);
            }
            sets.push(set);
        }
        self.to.ask(&sets)?;
        self.copied += sets.len() as u64;
        self.progress.advance(strings.len() as u64);
        Ok(())
    }

    /// Copies a collection piece by piece. A scan of a sorted set returns a member before its
    /// score, and ZADD expects the score first: `swapped`. A hash with expiring fields is rejected.
    fn pieces(&mut self, found: &SourceKey, scan: &[u8], put: &[u8], swapped: bool) -> Result<(), Failure> {
        self.to.one(&[b"DEL", &found.key])?;
        let mut cursor = b"0".to_vec();
        loop {
            let (next, mut items) = self.from.scan(&[scan, &found.key, &cursor, b"COUNT", PIECE])?;
            if scan == b"HSCAN" && self.field_times.among(&mut self.from, &found.key, &fields_of(&items))? {
                self.to.one(&[b"DEL", &found.key])?;
                self.refuse(found, Some(FIELDS_EXPIRE));
                return Ok(());
            }
            if swapped {
                items.chunks_exact_mut(2).for_each(|pair| pair.swap(0, 1));
            }
            if !items.is_empty() {
                let words: Vec<&[u8]> =
                    [put, &found.key].into_iter().chain(items.iter().map(Vec::as_slice)).collect();
                self.to.one(&words)?;
            }
            if next == b"0" {
                break;
            }
            cursor = next;
        }
        self.end(found)
    }

    /// Copies a list piece by piece.
    fn list(&mut self, found: &SourceKey) -> Result<(), Failure> {
        self.to.one(&[b"DEL", &found.key])?;
        let mut append = ListAppend::to_removed(&self.to);
        let mut list = ListRead::new(&found.key);
        loop {
            let elements = match list.next(&mut self.from)? {
                ListPiece::Elements(elements) => elements,
                ListPiece::End => break,
                ListPiece::OtherKind(text) => return Err(self.from.refused(&text)),
            };
            let words: Vec<&[u8]> = [b"RPUSH".as_slice(), &found.key]
                .into_iter()
                .chain(elements.iter().map(Vec::as_slice))
                .collect();
            let reply = append.push(&mut self.to, &words)?;
            self.to.checked(reply)?;
        }
        self.end(found)
    }

    /// Copies a stream part by part.
    fn stream(&mut self, found: &SourceKey) -> Result<(), Failure> {
        let mut stream = StreamRead::new(&found.key);
        let mut has_begun = false;
        let why = loop {
            self.interrupt.check()?;
            let part = match stream.next(&mut self.from)? {
                StreamPiece::Part(part) => part,
                StreamPiece::End => return self.end(found),
                StreamPiece::Refused(text) if is_changed(&text) && has_begun => return self.end(found),
                // It was removed after the page was read.
                StreamPiece::Refused(text) if is_changed(&text) => {
                    self.progress.advance(1);
                    return Ok(());
                }
                StreamPiece::Refused(text) => break self.from.refused(&text).message,
            };
            match write_stream_part(&mut self.to, &found.key, &part)? {
                None => has_begun = true,
                Some(text) if stops_all(&text) => return Err(self.to.refused(&text)),
                Some(text) => break self.to.refused(&text).message,
            }
        };
        if has_begun {
            self.to.one(&[b"DEL", &found.key])?;
        }
        self.refuse(found, Some(&why));
        Ok(())
    }

    /// Gives a copied collection its expiry time, and counts it.
    fn end(&mut self, found: &SourceKey) -> Result<(), Failure> {
        if let Some(expires) = found.expires {
            self.to.one(&[self.times.expire, &found.key, expires.to_string().as_bytes()])?;
        }
        self.copied += 1;
        self.progress.advance(1);
        Ok(())
    }

    fn refuse(&mut self, found: &SourceKey, why: Option<&str>) {
        *self.refused.entry(found.kind.clone()).or_default() += 1;
        self.progress.advance(1);
        if self.refused.values().sum::<u64>() <= self.named_most {
            let (kind, key) = (&found.kind, found.key.escape_ascii());
            let why = why.map(|why| format!(": {why}")).unwrap_or_default();
            let of = match self.from.database {
                0 => String::new(),
                database => format!(" of database {database}"),
            };
            self.progress.printer().line(format_args!("skein: not copied: \"{key}\", a {kind}{of}{why}"));
        }
    }
}
