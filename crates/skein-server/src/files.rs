//! Room for open files: every connection is one.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files that a process has open besides its connections: logs, checkpoints, event queues, what its host opened.
const OTHERS: usize = 256;

/// Raises this process's soft limit on open files, as far as its hard limit allows, to what `clients` connections need. Says
/// so in the log if that is not enough: then clients beyond it wait unaccepted.
pub(crate) fn make_room(clients: usize) {
    let wanted = (clients + OTHERS) as u64;
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current.is_none_or(|current| current >= wanted) {
        return;
    }
    let raised = maximum.map_or(wanted, |maximum| maximum.min(wanted));
    let failed = setrlimit(Resource::Nofile, Rlimit { current: Some(raised), maximum }).is_err();
    let limit = if failed { current } else { Some(raised) };
    if limit.is_some_and(|limit| limit < wanted) {
        tracing::warn!(
            limit,
            wanted,
            "the limit on open files is too low for clients_max; raise it (ulimit -n)"
        );
    }
}
