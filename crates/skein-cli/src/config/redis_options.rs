//! Options of Redis that newcomers try, and what SkeinDB has instead.

/// Names of options of Redis, without dashes in front, and where to look instead.
const INSTEAD: &[(&str, &str)] = &[
    ("aclfile", "use --acl-file FILE"),
    ("appendfsync", "use --durability: sync is `always`, buffered is `everysec`"),
    ("appendonly", "use --durability: every level but none logs each write"),
    ("bind", "use --listen HOST:PORT"),
    ("cluster-enabled", "a cluster is one of Valkey or Redis with the module skein; see docs/module.md"),
    ("daemonize", "run `skein serve` under a service manager; see docs/operations.md"),
    ("dbfilename", "use --data FOLDER: all files are in one folder"),
    ("dir", "use --data FOLDER"),
    ("io-threads", "use --workers N"),
    ("logfile", "messages go to standard error; let the service manager keep them"),
    ("loglevel", "use --log-level"),
    ("maxclients", "use --max-clients N"),
    ("maxmemory", "use --max-memory SIZE"),
    ("maxmemory-policy", "use --max-memory-policy POLICY"),
    ("port", "use --port N or --listen HOST:PORT"),
    ("protected-mode", "a server that listens to other machines needs a password: --password-file FILE"),
    ("replicaof", REPLICAS),
    ("requirepass", "use --password-file FILE"),
    ("save", "use --checkpoint-interval TIME, and --durability for each write"),
    ("slaveof", REPLICAS),
    ("tls-cert-file", "use --tls-cert FILE"),
    ("tls-key-file", "use --tls-key FILE"),
    ("tls-port", "use --tls-listen HOST:PORT"),
    ("unixsocket", "use --unix-socket PATH"),
    ("unixsocketperm", "use --unix-socket-mode MODE"),
];

const REPLICAS: &str = "a server has no replicas; `skein copy --from HOST:PORT` copies all keys of another one, and \
                        replication is that of Valkey or Redis with the module skein (docs/module.md)";

/// Returns what to use instead of an option of Redis, which may have dashes in front.
pub fn hint(name: &str) -> Option<&'static str> {
    let name = name.trim_start_matches('-').split('=').next().unwrap_or_default();
    INSTEAD.iter().find(|(redis, _)| redis.eq_ignore_ascii_case(name)).map(|(_, hint)| *hint)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    /// Each option that a hint names exists.
    #[test]
    fn hints_name_options_of_the_server() {
        let mut skein = crate::Cli::command();
        skein.build();
        let serve = skein.find_subcommand("serve").expect("the command");
        let options: Vec<&str> = serve.get_arguments().filter_map(clap::Arg::get_long).collect();
        for (name, hint) in INSTEAD {
            let words = hint.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
            for option in words.filter_map(|word| word.strip_prefix("--")) {
                assert!(options.contains(&option) || option == "from", "{name}: there is no --{option}");
            }
        }
        assert!(INSTEAD.is_sorted());
        assert_eq!(hint("--replicaof"), Some(REPLICAS));
        assert_eq!(hint("--maxmemory=1g"), Some("use --max-memory SIZE"));
        assert_eq!(hint("maxgeese"), None);
    }
}
