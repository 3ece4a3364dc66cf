//! The numbers of a server for others: `figures` has a row for each number that INFO (`info`) or
//! Prometheus (`metrics`) tells.

pub(crate) mod figures;
pub(crate) mod info;
pub(crate) mod metrics;
