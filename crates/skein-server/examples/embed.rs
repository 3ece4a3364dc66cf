//! Runs a server inside another program, until a client sends SHUTDOWN:
//! `cargo run --release -p skein-server --example embed -- DIR [ADDRESS [WORKERS]]`.
//! (The `skein` command does this with all options.)

use skein_server::{Server, ServerOptions};
use skein_store::{Store, StoreOptions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let folder = args.next().ok_or("name a folder for the data")?;
    let mut options = ServerOptions::default();
    if let Some(address) = args.next() {
        options.listen = address.parse()?;
    }
    if let Some(workers) = args.next() {
        options.workers = workers.parse()?;
    }
    let store = Store::open(folder, StoreOptions { logs: options.workers, ..StoreOptions::default() })?;
    let server = Server::start(store.clone(), options)?;
    println!("serving on {}", server.local_addr());
    let report = server.wait();
    println!("answered {} requests of {} connections", report.requests, report.connections);
    report.flushed?;
    store.close()?;
    Ok(())
}
