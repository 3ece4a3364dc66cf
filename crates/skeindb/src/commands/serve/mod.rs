//! `skein serve`: a data folder for Redis clients.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::Path;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use skein_server::{Server, StartError};
use skein_store::{RecoveryReport, Store};

use crate::exit::{Exit, Failure};
use crate::target;

mod args;

pub use args::Args;

/// Runs `skein serve`.
pub fn run(args: &Args) -> Result<Exit, Failure> {
    let options = args.server_options()?;
    // From here on a signal stops the server, also one that comes while the store is still being opened.
    let signals =
        Signals::new([SIGTERM, SIGINT]).map_err(|error| Failure::during("cannot listen for signals", &error))?;
    let store = target::open(&args.data, args.store_options())?;
    let server = Server::start(store.clone(), options).map_err(|error| start_failure(&error))?;
    greet(args, &store, server.address());
    Ok(Exit::Ok)
}

/// Says where it listens, where the data lies, and how to connect.
fn greet(args: &Args, store: &Store, address: SocketAddr) {
    let data = std::path::absolute(&args.data).unwrap_or_else(|_| args.data.clone());
    say(&format!(
        "SkeinDB {}: {}, {} workers, durability {}\n\
         data in {}: {}\n\
         listening on {address}\n\
         connect with: redis-cli{}{}\n",
        env!("CARGO_PKG_VERSION"),
        args.index,
        store.options().logs,
        args.durability,
        data.display(),
        describe(store.recovery()),
        connect_options(address),
        if args.password_file.is_some() { " --askpass" } else { "" },
    ));
}
