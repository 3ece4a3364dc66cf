//! `skein count`: counts the keys of a server or a cluster between two bounds.

use skeindb::ScanDirection;
use skeindb::client::{Reply, bound};

use super::range::BoundArgs;
use super::range::source::{RangeSource, SourceArgs};
use crate::bounds::OwnedBounds;
use crate::console;
use crate::exit::{Exit, Failure};
use crate::interrupt::Interrupt;
use crate::progress;
use crate::remote::{CommandPeer, ServerPeer};

const EXAMPLES: &str = "\
Examples:
  skein count --prefix goose:
      keys under a prefix
  skein count '[a' '(b'
      keys from a, included, to b, excluded
  skein count --cluster 10.0.0.1:7000
      keys of a Redis cluster that has the module skein

A single server counts its own keys. For a cluster, the command reads the names of all nodes, as `skein range` does: every key \
that is there all the time counts once, also while slots migrate and primaries fail over.";

/// Count the keys of a server or of a whole cluster.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct CountArgs {
    #[command(flatten)]
    bounds: BoundArgs,
    #[command(flatten)]
    source: SourceArgs,
    /// No progress bar.
    #[arg(long, short)]
    quiet: bool,
}

/// Runs `skein count`.
pub fn run(args: &CountArgs) -> Result<Exit, Failure> {
    let range = args.bounds.range()?;
    let keys = match args.source.connect()? {
        RangeSource::Server(peer) => count_at(peer, &range)?,
        cluster @ RangeSource::Cluster(_) => count_names(cluster, range, args.quiet)?,
    };
    console::print(&format!("{keys}\n"))?;
    Ok(Exit::Ok)
}

fn count_at(mut peer: ServerPeer, range: &OwnedBounds) -> Result<u64, Failure> {
    let (min, max) = (bound(&range.0, b"-"), bound(&range.1, b"+"));
    match peer.one(&[b"SK.COUNT", &min, &max])? {
        Reply::Integer(keys) => Ok(keys.unsigned_abs()),
        other => Err(peer.unexpected(&other)),
    }
}

fn count_names(source: RangeSource, range: OwnedBounds, quiet: bool) -> Result<u64, Failure> {
    let interrupt = Interrupt::noted()?;
    let mut names = source.range(range, ScanDirection::Forward, false, u64::MAX)?;
    let mut bar = progress::KeyProgress::start(None, quiet);
    let mut keys = 0;
    while names.next()?.is_some() {
        keys += 1;
        bar.advance(1);
        interrupt.check()?;
    }
    bar.finish();
    Ok(keys)
}
