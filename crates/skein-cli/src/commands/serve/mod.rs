//! `skein serve`: serves a data folder to Redis clients.
//!
//! The start in order: check the folder's permissions, bind the port and answer `LOADING`, open the
//! data, serve. `args` has the options, `folder_permissions` the check, `open_progress` reports the
//! opening, `stop_target` and `service_manager` the stop. While the server runs, `hangup` ignores
//! SIGHUP and `log_level` changes the log.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use skein_data::{DiskEngine, Engine};
use skein_disk::{DiskError, DiskOptions, DiskStore};
use skein_log::LogError;
use skein_server::{BoundServer, LogControl, Server, ServerOptions, StopReport};
use skein_store::{Error as StoreError, OpenProgress, RecoveryReport, StoreOptions};
use skein_terminal::log::LogLevelHandle;

use crate::console;
use crate::exit::{Exit, Failure};
use crate::foreign_folder::refuse_foreign;
use crate::progress::{counted, grouped};
use crate::{disk, target, threads};

mod args;
mod folder_permissions;
mod hangup;
mod log_level;
mod open_progress;
mod service_manager;
mod stop_target;

use args::EngineOptions;
pub use args::ServeArgs;
use log_level::ServedLogLevel;
use service_manager::ServiceManager;
use stop_target::StopTarget;

/// Runs `skein serve`.
pub fn run(args: &ServeArgs, log: LogLevelHandle) -> Result<Exit, Failure> {
    hangup::ignore()?;
    let (engine_options, options) = args.options()?;
    let log: Arc<dyn LogControl> = Arc::new(ServedLogLevel(log));
    let options = ServerOptions {
        log: Some(log),
        options_file: args.origins.options_file(),
        data_folder: std::path::absolute(&args.options.data).ok(),
        ..options
    };
    let (workers, stop_timeout) = (options.workers, options.stop_timeout);
    for folder in [&args.options.data].into_iter().chain(&args.options.log_dir) {
        folder_permissions::check(folder)?;
    }
    refuse_foreign(&args.options.data)?;
    let signals = Signals::new([SIGTERM, SIGINT]);
    let signals = signals.map_err(|error| Failure::during("cannot listen for signals", &error))?;
    let progress = open_progress::progress(args.options.hold_loading.clone());
    // Before the folder is opened, so that a port in use leaves nothing behind.
    let bound = Server::bind(options, progress.clone()).and_then(BoundServer::answer_loading);
    let bound = bound.map_err(|error| args::start_failure(&error))?;
    let supervisor = ServiceManager::of_this_process();
    let stoppable = StopTarget::loading(progress.clone());
    stop_on_signals(signals, stoppable.clone(), supervisor.clone())?;
    let watch = open_progress::OpenWatch {
        progress: &progress,
        address: bound.local_addr(),
        supervisor: &supervisor,
    };
    let Some(engine) = watch.during(|| open(args, engine_options, &progress))? else {
        let percent = progress.seen().percent();
        say(&format!("stopped while the data was being read back ({percent}% done); nothing is lost\n"));
        return Ok(Exit::Ok);
    };
    let server = bound.serve(engine.clone()).map_err(|error| args::start_failure(&error))?;
    greet(args, &engine, workers, &server);
    supervisor.ready(server.local_addr());
    stoppable.serving(server.handle());
    let report = server.wait();
    // A command may have stopped the server, and the last checkpoint is still to be written.
    supervisor.stopping();
    let closed = close(&engine, stop_timeout.saturating_sub(report.took));
    farewell(&report, closed.as_deref().ok());
    closed?;
    match report.failed_threads.first() {
        None => Ok(Exit::Ok),
        Some(thread) => {
            Err(Failure::new(format!("a thread of the server failed: {thread}; please report this")))
        }
    }
}

/// Opens the engine. Returns `None` if a stop was requested meanwhile.
fn open(
    args: &ServeArgs,
    options: EngineOptions,
    progress: &Arc<OpenProgress>,
) -> Result<Option<Engine>, Failure> {
    let progress = progress.clone();
    let engine = match options {
        EngineOptions::Memory(options) => {
            match target::open_store(&args.options.data, StoreOptions { progress, ..*options }) {
                Err(StoreError::Cancelled) => return Ok(None),
                opened => opened.map_err(|error| target::store_failure(&error))?.into(),
            }
        }
        EngineOptions::Disk(options, limits) => {
            let options = DiskOptions { progress, ..options };
            let opened = match DiskStore::open(&args.options.data, options.clone()) {
                Err(DiskError::TrieDiffers { .. }) if !args.names_trie() => {
                    disk::open_with_own_trie(&args.options.data, options)
                }
                opened => opened,
            };
            match opened {
                Err(DiskError::Log(LogError::Cancelled)) => return Ok(None),
                opened => {
                    let store = opened.map_err(|error| disk::failure(&error))?;
                    DiskEngine::new(store, limits).map_err(|error| target::engine_failure(&error))?.into()
                }
            }
        }
    };
    Ok(Some(engine))
}

/// Makes everything durable, with an optional checkpoint that ends after `time`. Returns a
/// description of the result.
fn close(engine: &Engine, time: Duration) -> Result<String, Failure> {
    match engine {
        Engine::Memory(store) => {
            let closed = store.close_within(time).map_err(|error| target::store_failure(&error))?;
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

/// A signal this soon after the first one belongs to it: some senders signal a process and its
/// group.
const SAME_SIGNAL: Duration = Duration::from_millis(500);

/// Starts the thread that handles signals. The first signal stops the opening or the server. A
/// later one ends the process immediately.
fn stop_on_signals(
    mut signals: Signals,
    stoppable: StopTarget,
    supervisor: ServiceManager,
) -> Result<(), Failure> {
    threads::start("skein-signals", move || {
        let mut first = None;
        for signal in signals.forever() {
            match first {
                None => {
                    first = Some(Instant::now());
                    let name = if signal == SIGINT { "SIGINT" } else { "SIGTERM" };
                    say(&format!("{name}: stopping; a second signal ends it immediately\n"));
                    supervisor.stopping();
                    stoppable.stop();
                }
                Some(first) if first.elapsed() < SAME_SIGNAL => {}
                Some(_) => std::process::exit(Exit::Failed as i32),
            }
        }
    })
    .map(drop)
}

/// Prints the address, the folder, and how to connect.
fn greet(args: &ServeArgs, engine: &Engine, workers: usize, server: &Server) {
    let address = server.local_addr();
    let tls = server.tls_addr().map(|address| format!(", and on {address} for TLS"));
    let metrics = server.metrics_addr().map(|address| format!("metrics at http://{address}/metrics\n"));
    let data = std::path::absolute(&args.options.data).unwrap_or_else(|_| args.options.data.clone());
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
        args.options.durability,
        data.display(),
        args.options
            .unix_socket
            .as_ref()
            .map(|path| format!(" and on {}", path.display()))
            .unwrap_or_default(),
        tls.unwrap_or_default(),
        metrics.unwrap_or_default(),
        connect_options(address),
        if args.options.password_file.is_some() { " --askpass" } else { "" },
    ));
}

/// Describes the recovery of the disk engine.
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

/// Returns the options for `redis-cli`.
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

/// Prints the result of the stop.
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

/// Prints to standard output. If that fails, the server continues.
fn say(text: &str) {
    if let Err(failure) = console::print(text) {
        tracing::warn!("{}", failure.message);
    }
}
