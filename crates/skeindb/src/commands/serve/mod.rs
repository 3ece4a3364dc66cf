//! `skein serve`: a data folder for Redis clients.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use skein_server::{DiskEngine, Engine, LogControl, Server, ServerHandle, ServerOptions, StopReport};
use skein_store::RecoveryReport;

use crate::console;
use crate::exit::{Exit, Failure};
use crate::progress::{counted, grouped};
use crate::{disk, target, threads};

mod args;
mod folder;
mod hangup;
mod notify;

pub use args::Args;
use args::EngineOptions;
use notify::Supervisor;

/// Runs `skein serve`.
pub fn run(args: &Args, log: Arc<dyn LogControl>) -> Result<Exit, Failure> {
    hangup::ignore()?;
    let (engine_options, options) = args.options()?;
    let options = ServerOptions { log: Some(log), options_file: args.origins.options_file(), ..options };
    let workers = options.workers;
    for folder in [&args.data].into_iter().chain(&args.log_dir) {
        folder::check(folder)?;
    }
    let is_new = !args.data.exists();
    // A signal that comes while the store is being opened ends the process; from then on it stops the server.
    let engine = open(args, engine_options)?;
    if is_new {
        folder::close_to_others(&args.data)?;
    }
    let signals = Signals::new([SIGTERM, SIGINT]);
    let signals = signals.map_err(|error| Failure::during("cannot listen for signals", &error))?;
    let server = Server::start(engine.clone(), options).map_err(|error| args::start_failure(&error))?;
    let supervisor = Supervisor::of_this_process();
    let watched = stop_on_signals(signals, server.handle(), supervisor.clone());
    match &watched {
        Ok(()) => {
            greet(args, &engine, workers, &server);
            supervisor.ready(server.local_addr());
        }
        // A server that no signal stops properly is not to begin.
        Err(_) => server.handle().shutdown(),
    }
    let report = server.wait();
    // It may have been a command that stopped it, and the last checkpoint is still to come.
    supervisor.stopping();
    let closed = close(&engine);
    farewell(&report, closed.as_deref().ok());
    watched?;
    closed?;
    match report.failed_threads.first() {
        None => Ok(Exit::Ok),
        Some(thread) => {
            Err(Failure::new(format!("a thread of the server failed: {thread}; please report this")))
        }
    }
}

/// Opens what is to be served.
fn open(args: &Args, options: EngineOptions) -> Result<Engine, Failure> {
    Ok(match options {
        EngineOptions::Memory(options) => target::open(&args.data, *options)?.into(),
        EngineOptions::Disk(options, limits) => {
            let store = disk::open(&args.data, options)?;
            DiskEngine::new(store, limits).map_err(|error| target::engine_failure(&error))?.into()
        }
    })
}

/// Makes everything durable; says what that was.
fn close(engine: &Engine) -> Result<String, Failure> {
    match engine {
        Engine::Memory(store) => {
            let closed = store.close().map_err(|error| target::store_failure(&error))?;
            Ok(match &closed.checkpoint {
                Some(checkpoint) => format!("checkpoint of {} rows written", grouped(checkpoint.rows)),
                None => "everything is on disk".to_owned(),
            })
        }
        Engine::Disk(disk) => {
            disk.store().close().map_err(|error| disk::failure(&error))?;
            Ok("everything is on disk".to_owned())
        }
    }
}

/// Signals that come so soon after the first one belong to it: some senders signal a process and its group.
const SAME_SIGNAL: Duration = Duration::from_millis(500);

/// The first signal stops the server, and a later one ends the process as it is.
fn stop_on_signals(
    mut signals: Signals,
    server: ServerHandle,
    supervisor: Supervisor,
) -> Result<(), Failure> {
    threads::start("skein-signals", move || {
        let mut first = None;
        for signal in signals.forever() {
            match first {
                None => {
                    first = Some(Instant::now());
                    let name = if signal == SIGINT { "SIGINT" } else { "SIGTERM" };
                    say(&format!("{name}: stopping; once more ends it at once\n"));
                    supervisor.stopping();
                    server.shutdown();
                }
                Some(first) if first.elapsed() < SAME_SIGNAL => {}
                Some(_) => std::process::exit(Exit::Failed as i32),
            }
        }
    })
    .map(drop)
}

/// Says where it listens, where the data lies, and how to connect.
fn greet(args: &Args, engine: &Engine, workers: usize, server: &Server) {
    let address = server.local_addr();
    let tls = server.tls_addr().map(|address| format!(", and on {address} for TLS"));
    let metrics = server.metrics_addr().map(|address| format!("metrics at http://{address}/metrics\n"));
    let data = std::path::absolute(&args.data).unwrap_or_else(|_| args.data.clone());
    let (what, found) = match engine {
        Engine::Memory(store) => (format!("index {}", store.options().index), recovered(store.recovery())),
        Engine::Disk(disk) => (format!("disk engine, {}", disk.store().shape()), replayed(disk)),
    };
    say(&format!(
        "SkeinDB {}: {what}, {}, durability {}\n\
         data in {}: {found}\n\
         listening on {address}{}{}\n\
         {}connect with: redis-cli{}{}\n",
        env!("CARGO_PKG_VERSION"),
        counted(workers as u64, "worker"),
        args.durability,
        data.display(),
        args.unix_socket.as_ref().map(|path| format!(" and on {}", path.display())).unwrap_or_default(),
        tls.unwrap_or_default(),
        metrics.unwrap_or_default(),
        connect_options(address),
        if args.password_file.is_some() { " --askpass" } else { "" },
    ));
}

/// What opening the disk engine found.
fn replayed(disk: &DiskEngine) -> String {
    let stats = disk.store().stats();
    format!("{} ({} from the log)", counted(stats.keys, "key"), counted(stats.replayed, "write"))
}

fn recovered(report: &RecoveryReport) -> String {
    format!(
        "{} ({} from the checkpoint, {} from logs, {:.1} s)",
        counted(report.keys as u64, "key"),
        counted(report.checkpoint_rows, "row"),
        counted(report.log_records, "record"),
        report.took.as_secs_f64()
    )
}

/// What `redis-cli` has to be told.
fn connect_options(address: SocketAddr) -> String {
    let port = address.port();
    if address.ip().is_loopback() && address.is_ipv4() {
        format!(" -p {port}")
    } else if address.ip().is_unspecified() {
        format!(" -h <this machine> -p {port}")
    } else {
        format!(" -h {} -p {port}", address.ip())
    }
}

/// Says what stopping did.
fn farewell(report: &StopReport, closed: Option<&str>) {
    let mut parts =
        vec![format!("stopped after {} in {}", counted(report.requests, "request"), time(report.ran))];
    if report.closed > 0 {
        parts.push(format!("open until then: {}", counted(report.closed as u64, "connection")));
    }
    if report.cut_short > 0 {
        parts.push(format!("{} of them did not take all replies", grouped(report.cut_short as u64)));
    }
    parts.extend(closed.map(str::to_owned));
    say(&(parts.join("; ") + "\n"));
}

fn time(time: Duration) -> String {
    match time.as_secs() {
        0..600 => format!("{:.1} s", time.as_secs_f64()),
        seconds if seconds < 7200 => format!("{} minutes", seconds / 60),
        seconds => format!("{} hours", seconds / 3600),
    }
}

/// Prints to standard output; a failure to do so is no reason to stop serving.
fn say(text: &str) {
    if let Err(failure) = console::print(text) {
        tracing::warn!("{}", failure.message);
    }
}
