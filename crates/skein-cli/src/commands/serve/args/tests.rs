//! Every option must reach its field. (That each limit takes effect at its value is tested in the
//! libraries and in `tests/e2e/options.rs`.)

use std::sync::Arc;
use std::time::Duration;

use clap::Parser;
use skein_disk::{ReadMode, ReplacementPolicy, SNAPSHOTS_MOST, TrieShape, Values};
use skein_server::{ClientMemoryLimit, DefaultChannels, OutputLimit, TlsClients, UnixSocket};
use skein_store::{Durability, IndexKind};

use super::*;

#[derive(Parser)]
struct ServeLine {
    #[command(flatten)]
    args: ServeArgs,
}

fn parse(line: &str) -> Result<ServeArgs, clap::Error> {
    let words = ["serve"].into_iter().chain(line.split_whitespace());
    ServeLine::try_parse_from(words).map(|line| line.args)
}

fn options(line: &str) -> (EngineOptions, ServerOptions) {
    let args = parse(line).unwrap_or_else(|error| panic!("{error}"));
    args.options().unwrap_or_else(|failure| panic!("{failure:?}"))
}

fn memory(line: &str) -> StoreOptions {
    match options(line).0 {
        EngineOptions::Memory(options) => *options,
        other @ EngineOptions::Disk(..) => panic!("{other:?}"),
    }
}

fn disk(line: &str) -> (DiskOptions, StoreLimits) {
    match options(&format!("--engine disk {line}")).0 {
        EngineOptions::Disk(options, limits) => (options, limits),
        other @ EngineOptions::Memory(_) => panic!("{other:?}"),
    }
}

fn refusal(line: &str) -> String {
    let args = parse(line).unwrap_or_else(|error| panic!("{error}"));
    let failure = args.options().expect_err("a refusal");
    assert_eq!(failure.exit as i32, 2);
    failure.message
}

#[test]
fn every_option_of_the_disk_engine_reaches_its_field() {
    let (options, limits) = disk(
        "--trie hash --trie-size 64 --cache-pages 100 --reading mmap --policy lru --durability sync \
         --checkpoint-log-size 3m --log-segment-size 2m --lock-wait 7s --max-key 50 --max-value 60 \
         --max-snapshots 70",
    );
    let expected = DiskOptions {
        shape: TrieShape::Hash { n: 64 },
        values: Values::Rows,
        cache_pages: 100,
        policy: ReplacementPolicy::Lru,
        // SAFETY: nothing is opened.
        reading: unsafe { ReadMode::mapping() },
        durability: Durability::Sync,
        checkpoint_bytes: 3 << 20,
        segment_bytes: 2 << 20,
        lock_wait: Duration::from_secs(7),
        snapshots: SNAPSHOTS_MOST,
        give_up_log: false,
        progress: Arc::default(),
    };
    assert_eq!(format!("{options:?}"), format!("{expected:?}"));
    assert_eq!((limits.key_bytes, limits.value_bytes, limits.snapshots), (50, 60, 70));
    let (options, _) = disk("");
    let expected = DiskOptions { values: Values::Rows, snapshots: SNAPSHOTS_MOST, ..DiskOptions::default() };
    assert_eq!(format!("{options:?}"), format!("{expected:?}"));
    let (options, _) = disk("--trie classical --cache 1m");
    assert_eq!((options.shape, options.cache_pages), (TrieShape::Classical { n: 16 }, 256));
    let (options, _) = disk("--max-memory 2m --max-memory-policy noeviction");
    assert_eq!(options.cache_pages, 512);
    let (options, _) = disk("--max-memory 0");
    assert_eq!(options.cache_pages, DiskOptions::default().cache_pages);
    let (options, _) = disk("--data d --give-up-log-dir d/log");
    assert!(options.give_up_log);
}

#[test]
fn options_that_make_no_sense_together_are_refused() {
    for (line, about) in [
        ("--trie linked", "--trie is of --engine disk"),
        ("--policy lru", "--policy is of --engine disk"),
        ("--engine disk --index masstree", "--index is of --engine memory"),
        (
            "--engine disk --max-memory 65535",
            "--max-memory 65535: over the disk engine it is the size of the cache, 65536",
        ),
        (
            "--engine disk --cache 65535",
            "--cache 65535: over the disk engine it is the size of the cache, 65536",
        ),
        ("--engine disk --max-memory-policy allkeys-lru", "--max-memory-policy allkeys-lru: the disk engine"),
        ("--engine disk --log-dir a", "--log-dir is of --engine memory"),
        ("--engine disk --data d --give-up-log-dir other", "the log of the disk engine is in d/log"),
        ("--engine disk --checkpoint-interval 1h", "--checkpoint-interval is of --engine memory"),
        ("--engine disk --trie-size 16", "--trie-size is of --trie classical and --trie hash"),
        ("--engine disk --trie hash --trie-size 17", "--trie-size 17: a node has 4, 8"),
        // They were checked only for the memory engine.
        ("--engine disk --max-key 0", "--max-key: 0; it can be 1 to 65535"),
        ("--engine disk --max-value 1g", "--max-value: 1073741824; it can be up to 536870911"),
        ("--engine disk --cache-pages 3", "--cache-pages 3: a cache has 16 pages at least"),
        ("--engine disk --log-segment-size 1", "--log-segment-size"),
    ] {
        let message = refusal(line);
        assert!(message.contains(about), "{line}: {message}");
    }
}

#[test]
fn every_server_option_reaches_its_field() {
    let (_, server) = options(
        "--listen [::1]:77 --workers 3 --max-clients 10 --databases 11 --max-client-memory 7% --max-request 1m --max-argument 100k --max-arguments 20 \
         --max-pipeline 30 --max-output 2k --max-reply 3k --max-scan-cursors 40 --enable-debug-command --acl-file users.acl --acl-pubsub-default allchannels --max-acl-log 5 --max-script-memory 2m --max-script-time 3s --busy-reply-threshold 4s --stop-timeout 50ms \
         --idle-timeout 6s --unix-socket a --unix-socket-mode 770 --tcp-keepalive 7m --tls-handshake-timeout 14s --output-hard-limit 8k --output-soft-limit 9k --output-soft-time 11s --subscriber-hard-limit 5k --subscriber-soft-limit 6k --subscriber-soft-time 12s \
         --metrics [::1]:78 --slowlog-slower-than 5ms --slowlog-max-len 12 --latency-threshold 13ms --no-latency-tracking --notify-keyspace-events KEx --tracking-table-max-keys 15",
    );
    let expected = ServerOptions {
        listen: "[::1]:77".parse().expect("an address"),
        unix_socket: Some(UnixSocket { path: "a".into(), mode: 0o770 }),
        tls: None,
        password: None,
        acl_file: Some("users.acl".into()),
        default_channels: DefaultChannels::All,
        acl_log_max: 5,
        workers: 3,
        clients_max: 10,
        databases: 11,
        request_bytes_max: 1 << 20,
        arg_bytes_max: 100 << 10,
        args_max: 20,
        pipeline_max: 30,
        output_bytes_max: 2 << 10,
        reply_bytes_max: 3 << 10,
        scan_cursors_max: 40,
        script_memory_max: 2 << 20,
        script_time_max: Duration::from_secs(3),
        busy_reply_threshold: Duration::from_secs(4),
        client_memory_max: ClientMemoryLimit::Percent(7),
        debug_command: true,
        stop_timeout: Duration::from_millis(50),
        idle_timeout: Duration::from_secs(6),
        tls_handshake_timeout: Duration::from_secs(14),
        keepalive: Duration::from_secs(420),
        output_limit: OutputLimit {
            hard_bytes: 8 << 10,
            soft_bytes: 9 << 10,
            soft_time: Duration::from_secs(11),
        },
        subscriber_limit: OutputLimit {
            hard_bytes: 5 << 10,
            soft_bytes: 6 << 10,
            soft_time: Duration::from_secs(12),
        },
        metrics: Some("[::1]:78".parse().expect("an address")),
        slowlog_slower_than: Duration::from_millis(5),
        slowlog_len: 12,
        latency_threshold: Duration::from_millis(13),
        latency_tracking: false,
        keyspace_events: "KEx".to_owned(),
        tracking_keys_max: 15,
        log: None,
        data_folder: None,
        options_file: None,
    };
    assert_eq!(format!("{server:?}"), format!("{expected:?}"));
}

#[test]
fn a_request_can_be_never_slow() {
    assert_eq!(options("--slowlog-slower-than never").1.slowlog_slower_than, Duration::MAX);
    let why = parse("--slowlog-slower-than ever").expect_err("no time").to_string();
    assert!(why.contains("as in 10m, or never"), "{why}");
}

#[test]
fn tls_needs_a_certificate_and_a_key() {
    let tls =
        |line: &str| parse(line).map(|args| super::tls::port(&args.options).ok().flatten().expect("a port"));
    let given = "--tls-listen [::1]:78 --tls-cert c --tls-key k";
    let expected = skein_server::Tls {
        listen: "[::1]:78".parse().expect("an address"),
        cert: "c".into(),
        key: "k".into(),
        ca: None,
        clients: TlsClients::No,
    };
    assert_eq!(tls(given).expect("all that is needed"), expected);
    for (more, clients) in [
        ("--tls-ca a", TlsClients::Required),
        ("--tls-ca a --tls-auth-clients optional", TlsClients::Optional),
        ("--tls-ca a --tls-auth-clients no", TlsClients::No),
    ] {
        let expected = skein_server::Tls { ca: Some("a".into()), clients, ..expected.clone() };
        assert_eq!(tls(&format!("{given} {more}")).expect("all that is needed"), expected, "{more}");
    }
    for (more, clients) in [
        ("--tls-ca=", TlsClients::No),
        ("--tls-ca= --tls-auth-clients no", TlsClients::No),
        // Rejected later, when the files are read.
        ("--tls-ca= --tls-auth-clients yes", TlsClients::Required),
    ] {
        let expected = skein_server::Tls { clients, ..expected.clone() };
        assert_eq!(tls(&format!("{given} {more}")).expect("all that is needed"), expected, "{more}");
    }
    for line in ["--tls-listen [::1]:78 --tls-cert c", "--tls-cert c --tls-key k", "--tls-ca a"] {
        assert!(tls(line).is_err(), "{line}");
    }
}

#[test]
fn every_store_option_reaches_its_field() {
    let store = memory(
        "--workers 3 --durability sync --index masstree --log-dir a --log-dir b --give-up-log-dir c \
         --log-segment-size 1m \
         --checkpoint-log-size 2m --checkpoint-interval 3s --checkpoint-threads 4 --checkpoint-on-stop 5m --stop-timeout 6s --lock-wait 7s --max-key 50 --max-value 60 \
         --max-memory 70m --max-memory-policy allkeys-lru --max-snapshots 80 --max-snapshot-memory 90m",
    );
    let defaults = StoreOptions::default();
    let expected = StoreOptions {
        durability: Durability::Sync,
        index: IndexKind::Masstree,
        logs: 3,
        log_folders: vec!["a".into(), "b".into()],
        give_up_log_folders: vec!["c".into()],
        segment_bytes: 1 << 20,
        checkpoint_log_bytes: Some(2 << 20),
        checkpoint_interval: Some(Duration::from_secs(3)),
        close_checkpoint: Some(CloseCheckpoint { log_bytes: 5 << 20, within: Duration::from_secs(6) }),
        lock_wait: Duration::from_secs(7),
        checkpoint_threads: 4,
        recovery_threads: defaults.recovery_threads,
        storage: store.storage.clone(),
        limits: StoreLimits {
            key_bytes: 50,
            value_bytes: 60,
            memory_bytes: Some(70 << 20),
            eviction: skein_store::Eviction::Lru,
            never_evicted: Some(skeindb::KEYSPACE_CATALOG.to_vec()),
            snapshots: 80,
            snapshot_bytes: Some(90 << 20),
            row_members: defaults.limits.row_members,
        },
        clock: store.clock.clone(),
        expiry_interval: defaults.expiry_interval,
        pack_interval: defaults.pack_interval,
        progress: Arc::default(),
    };
    assert_eq!(format!("{store:?}"), format!("{expected:?}"));
}

/// The defaults in `--help` must be the libraries' defaults.
#[test]
fn defaults_are_those_of_the_libraries() {
    let (store, (_, server)) = (memory(""), options(""));
    assert_eq!(format!("{server:?}"), format!("{:?}", ServerOptions::default()));
    // Every clock counts from its own moment.
    let expected = StoreOptions {
        storage: store.storage.clone(),
        clock: store.clock.clone(),
        // What a server adds: the folder may be one of the library.
        limits: StoreLimits {
            never_evicted: Some(skeindb::KEYSPACE_CATALOG.to_vec()),
            ..StoreLimits::default()
        },
        ..StoreOptions::default()
    };
    assert_eq!(format!("{store:?}"), format!("{expected:?}"));
}

#[test]
fn never_and_limits_that_hang_together() {
    let line = "--checkpoint-log-size 0 --checkpoint-interval 0 --checkpoint-on-stop 0 --max-request 1m";
    let (store, (_, server)) = (memory(line), options(line));
    assert_eq!((store.checkpoint_log_bytes, store.checkpoint_interval), (None, None));
    assert_eq!(store.close_checkpoint, None);
    assert_eq!(server.arg_bytes_max, 1 << 20, "no argument is longer than its request");
}

/// Incident: a damaged page with the table of databases ended the start with exit code 1.
/// Consequence: a service manager restarted the server for ever. Fix: it is damage.
#[test]
fn an_unreadable_table_of_databases_is_damage() {
    let failure = start_failure(&StartError::Databases { why: "a page is damaged".to_owned() });
    assert!(failure.exit == Exit::Damage && failure.message.contains("a page is damaged"));
}
