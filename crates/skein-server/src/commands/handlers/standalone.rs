//! Commands about replicas, clusters and modules, one line each.

use super::super::Handler::General;
use super::super::{standalone, while_loading};
use super::{HandlerRow, row};

#[rustfmt::skip]
pub(super) const HANDLERS: &[HandlerRow] = &[
    row("asking", General(standalone::cluster)),
    row("cluster", General(standalone::cluster)),
    row("failover", General(standalone::failover)),
    row("module", General(standalone::module)),
    row("readonly", General(standalone::cluster)).early(while_loading::cluster),
    row("readwrite", General(standalone::cluster)).early(while_loading::cluster),
    row("replicaof", General(standalone::replica_of)),
    row("role", General(standalone::role)).early(while_loading::role),
    row("slaveof", General(standalone::replica_of)),
    row("waitaof", General(standalone::wait_aof)),
];
