//! `skein-bench server`: one worker of ours beside one `redis-server`, on the same core.
//!
//! Both servers run pinned to core 0 and the client to core 1. They take turns, so that one is idle while the
//! other is measured. Beside requests per second stands the CPU time that all threads of the server's process
//! took per request: on two cores the client is often the limit.

mod client;
mod process;

use std::path::PathBuf;

use crate::keyset::Random;
use crate::report::Report;
use crate::sys::pinned;
use client::{Client, Request};
use process::Server;

/// Options of `skein-bench server`.
#[derive(clap::Args)]
pub struct Args {
    /// Our server's binary.
    #[arg(long, default_value = "target/release/skein")]
    skein: PathBuf,
    /// Redis's binary.
    #[arg(long, default_value = "redis-server")]
    redis: PathBuf,
    /// How many keys.
    #[arg(long, default_value_t = 1_000_000)]
    count: usize,
    /// Bytes in a value.
    #[arg(long, default_value_t = 64)]
    value_bytes: usize,
    /// Connections of the client.
    #[arg(long, default_value_t = 50)]
    connections: usize,
    /// Pipeline depths.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 16])]
    pipelines: Vec<usize>,
    /// Requests per loop and pipeline depth 1; deeper pipelines get four times as many.
    #[arg(long, default_value_t = 200_000)]
    requests: usize,
    /// How often the servers take turns.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Durability of our server: none, buffered or sync.
    #[arg(long, default_value = "buffered")]
    durability: String,
    /// Append results to this file, as JSON lines.
    #[arg(long)]
    json: Option<PathBuf>,
}

/// Runs the experiment and prints its report.
pub fn run(args: &Args) -> Result<(), String> {
    let setting = format!(
        "{} keys, values of {} bytes, {} connections, ours at {}, {} rounds",
        args.count, args.value_bytes, args.connections, args.durability, args.rounds
    );
    let mut report = Report::new("server", setting);
    let folder = std::env::temp_dir().join(format!("skein-bench-{}", std::process::id()));
    let made = measure(args, &folder, &mut report);
    let removed = std::fs::remove_dir_all(&folder);
    made?;
    removed.map_err(|error| format!("cannot remove {}: {error}", folder.display()))?;
    println!("{}", report.table());
    match &args.json {
        Some(path) => report.append_json(path),
        None => Ok(()),
    }
}

fn measure(args: &Args, folder: &std::path::Path, report: &mut Report) -> Result<(), String> {
    std::fs::create_dir_all(folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    let mut servers = pinned(0, || -> Result<_, String> {
        Ok([Server::skein(&args.skein, folder, &args.durability)?, Server::redis(&args.redis, folder)?])
    })
    .map_err(|error| format!("cannot pin the servers: {error}"))??;
    pinned(1, || drive(args, &mut servers, report))
        .map_err(|error| format!("cannot pin the client: {error}"))?
}

/// What the client does: loads both, then asks them in turn.
fn drive(args: &Args, servers: &mut [Server; 2], report: &mut Report) -> Result<(), String> {
    let mut clients = Vec::new();
    for server in &mut *servers {
        let mut client = Client::connect(server.address, args.connections, args.count, args.value_bytes)?;
        eprintln!("loading {}", server.name);
        client.load().map_err(|error| server.explain(error))?;
        clients.push(client);
    }
    let mut random = Random::new(11);
    for round in 1..=args.rounds {
        for &pipeline in &args.pipelines {
            let requests = if pipeline == 1 { args.requests } else { 4 * args.requests };
            for request in [Request::Get, Request::Set, Request::Ping] {
                let seed = random.next();
                for (server, client) in servers.iter_mut().zip(&mut clients) {
                    eprintln!("round {round}: {} {} at pipeline {pipeline}", server.name, request.name());
                    let before = server.cpu_seconds()?;
                    let seconds = client
                        .run(request, pipeline, requests, seed)
                        .map_err(|error| server.explain(error))?;
                    let cpu = server.cpu_seconds()? - before;
                    add(report, server.name, request, pipeline, requests, (seconds, cpu));
                }
            }
        }
    }
    Ok(())
}

#[allow(clippy::cast_precision_loss)] // Far below 2^52.
fn add(
    report: &mut Report,
    server: &'static str,
    request: Request,
    pipeline: usize,
    requests: usize,
    (seconds, cpu): (f64, f64),
) {
    let measure = format!("{}, pipeline {pipeline}", request.name());
    report.add(server, &measure, "kreq/s", requests as f64 / seconds / 1e3);
    report.add(server, &format!("{measure}, CPU"), "us/req", cpu / requests as f64 * 1e6);
}
