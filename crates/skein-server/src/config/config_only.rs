//! Parameters of CONFIG that mean something here, and are no options of `skein serve`.

use super::parameter::{ConfigKind, Parameter, parameter};
use crate::commands::configuration::{kept, observing, output_limit, users};
use crate::config::settings::{LiveNumber, LiveSettings};
use crate::net::BACKLOG;
use crate::shared::ServerShared;

const fn fixed(name: &'static [&'static str], value: fn(&ServerShared) -> String) -> Parameter {
    parameter(name, ConfigKind::Fixed(value))
}

/// Returns the row of a size of an encoding that OBJECT ENCODING names, also under the name of
/// earlier Redis versions.
const fn encoding(names: &'static [&'static str], setting: fn(&LiveSettings) -> &LiveNumber) -> Parameter {
    parameter(names, ConfigKind::Number(setting)).between(0, i64::MAX as u64)
}

pub(super) const ROWS: &[Parameter] = &[
    parameter(
        &["appendfsync"],
        ConfigKind::Engine { value: kept::append_fsync, change: kept::change_append_fsync },
    ),
    parameter(
        &["appendonly"],
        ConfigKind::Engine { value: kept::append_only, change: kept::change_append_only },
    ),
    parameter(
        &["client-output-buffer-limit"],
        ConfigKind::Other { value: output_limit::value, change: output_limit::change },
    ),
    fixed(&["cluster-enabled"], |_| "no".to_owned()),
    fixed(&["daemonize"], |_| "no".to_owned()),
    encoding(&["hash-max-listpack-entries", "hash-max-ziplist-entries"], |all| &all.encodings.hash_entries),
    encoding(&["hash-max-listpack-value", "hash-max-ziplist-value"], |all| &all.encodings.hash_value),
    parameter(
        &["latency-tracking-info-percentiles"],
        ConfigKind::Other { value: observing::percentiles, change: observing::change_percentiles },
    ),
    // There are no replicas.
    fixed(&["replicaof"], |_| String::new()),
    parameter(&["requirepass"], ConfigKind::Other { value: users::password, change: users::change_password }),
    encoding(&["set-max-intset-entries"], |all| &all.encodings.set_integers),
    fixed(&["slaveof"], |_| String::new()),
    fixed(&["tcp-backlog"], |_| BACKLOG.to_string()),
    encoding(&["zset-max-listpack-entries", "zset-max-ziplist-entries"], |all| {
        &all.encodings.sorted_set_entries
    }),
    encoding(&["zset-max-listpack-value", "zset-max-ziplist-value"], |all| &all.encodings.sorted_set_value),
];
