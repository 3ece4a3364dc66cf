//! `skein bench keysets`: shows the key sets that can be measured.

use skein_bench::keyset;

use skein_terminal::exit::{Exit, Failure};

/// Show the key sets; with a name, show the properties of its keys.
#[derive(clap::Args)]
pub struct BenchKeySetsArgs {
    /// A key set to describe, for instance `az1`, `intkey(1000)` or `file:keys.txt`.
    name: Option<String>,
    /// The number of keys to examine.
    #[arg(long, default_value_t = 1_000_000)]
    count: usize,
    /// The seed of the keys.
    #[arg(long, default_value_t = super::run::SEED)]
    seed: u64,
}

/// Runs `skein bench keysets`.
pub fn run(args: &BenchKeySetsArgs) -> Result<Exit, Failure> {
    let text = match &args.name {
        Some(name) => keyset::describe(name, args.count, args.seed).map_err(crate::failure)?,
        None => keyset::list(),
    };
    super::show(&text)
}
