//! Every option reaches the field that it is for. (That each limit bites at its value is for the tests of the libraries and
//! for `tests/e2e/options.rs`.)

use clap::Parser;

use super::*;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    args: Args,
}

fn options(line: &str) -> (StoreOptions, ServerOptions) {
    let line = Line::try_parse_from(["serve"].into_iter().chain(line.split_whitespace()));
    line.unwrap_or_else(|error| panic!("{error}"))
        .args
        .options()
        .unwrap_or_else(|failure| panic!("{failure:?}"))
}

#[test]
fn every_server_option_reaches_its_field() {
    let (_, server) = options(
        "--listen [::1]:77 --workers 3 --max-clients 10 --max-request 1m --max-argument 100k --max-arguments 20 \
         --max-pipeline 30 --max-output 2k --max-reply 3k --max-scan-cursors 40 --stop-timeout 50ms",
    );
    let expected = ServerOptions {
        listen: "[::1]:77".parse().expect("an address"),
        password: None,
        workers: 3,
        clients_max: 10,
        request_bytes_max: 1 << 20,
        arg_bytes_max: 100 << 10,
        args_max: 20,
        pipeline_max: 30,
        output_bytes_max: 2 << 10,
        reply_bytes_max: 3 << 10,
        scan_cursors_max: 40,
        stop_timeout: Duration::from_millis(50),
    };
    assert_eq!(format!("{server:?}"), format!("{expected:?}"));
}

#[test]
fn every_store_option_reaches_its_field() {
    let (store, _) = options(
        "--workers 3 --durability sync --index masstree --log-dir a --log-dir b --give-up-log-dir c \
         --log-segment-size 1m \
         --checkpoint-log-size 2m --checkpoint-interval 3s --checkpoint-threads 4 --max-key 50 --max-value 60 \
         --max-memory 70m --max-snapshots 80",
    );
    let defaults = StoreOptions::default();
    let expected = StoreOptions {
        durability: skein_store::Durability::Sync,
        index: IndexKind::Masstree,
        logs: 3,
        log_folders: vec!["a".into(), "b".into()],
        give_up_log_folders: vec!["c".into()],
        segment_bytes: 1 << 20,
        checkpoint_log_bytes: Some(2 << 20),
        checkpoint_interval: Some(Duration::from_secs(3)),
        checkpoint_threads: 4,
        recovery_threads: defaults.recovery_threads,
        storage: store.storage.clone(),
        limits: Limits { key_bytes: 50, value_bytes: 60, memory_bytes: Some(70 << 20), snapshots: 80 },
    };
    assert_eq!(format!("{store:?}"), format!("{expected:?}"));
}

/// What `--help` calls the default is the libraries' default.
#[test]
fn defaults_are_those_of_the_libraries() {
    let (store, server) = options("");
    assert_eq!(format!("{server:?}"), format!("{:?}", ServerOptions::default()));
    let expected = StoreOptions { storage: store.storage.clone(), ..StoreOptions::default() };
    assert_eq!(format!("{store:?}"), format!("{expected:?}"));
}

#[test]
fn never_and_limits_that_hang_together() {
    let (store, server) = options("--checkpoint-log-size 0 --checkpoint-interval 0 --max-request 1m");
    assert_eq!((store.checkpoint_log_bytes, store.checkpoint_interval), (None, None));
    assert_eq!(server.arg_bytes_max, 1 << 20, "no argument is longer than its request");
}
