//! Evicts keys after `maxmemory` was lowered, a policy that evicts was chosen, or writes have
//! exceeded the limit. Each turn of a worker evicts some, until the rest fits. Otherwise only
//! writes evict.

use std::sync::atomic::Ordering;

use crate::shared::{EvictionAttempts, ServerShared};
use skein_data::{EngineSession, Eviction};

use super::write_allowance::admit;

/// The most bytes that one turn frees.
const STEP: usize = 256 << 10;
/// Evicts some keys if the limit was changed. If there are more, this worker continues in its next
/// turn. REQUIRES: the worker holds its pass.
#[inline]
pub(super) fn evict_some(session: &mut EngineSession, shared: &ServerShared, worker: usize) {
    if shared.data.eviction_attempts.0.load(Ordering::Relaxed) > 0 {
        evict(session, shared, worker);
    }
}

/// Evicts keys, from the next turn on, if writes have exceeded the limit. A script does not ask for
/// room before each write, and the result of some commands is longer than their arguments.
pub(super) fn evict_excess(session: &mut EngineSession, shared: &ServerShared, worker: usize) {
    if session.memory_limit().is_some() && session.exceeds_limit(shared.memory_outside_store()) {
        shared.data.eviction_attempts.begin();
        shared.workers.mailboxes[worker].wake();
    }
}

#[cold]
fn evict(session: &mut EngineSession, shared: &ServerShared, worker: usize) {
    // One worker evicts at a time: another worker meanwhile finds 0 here.
    let left = shared.data.eviction_attempts.0.swap(0, Ordering::Relaxed);
    let (excess, before) = excess(shared);
    if left == 0 || excess == 0 {
        return;
    }
    // An error says that there is not enough room yet.
    let _ = admit(session, shared, excess.min(STEP));
    let has_evicted = shared.data.store.stats().evicted > before;
    let left = if has_evicted { EvictionAttempts::VAIN_MAX } else { left - 1 };
    // A change of the limit meanwhile has begun anew.
    shared.data.eviction_attempts.0.fetch_max(left, Ordering::Relaxed);
    if left > 0 {
        shared.workers.mailboxes[worker].wake();
    }
}

/// Returns the bytes over a limit at which keys are evicted, and the number of keys that were evicted so
/// far.
fn excess(shared: &ServerShared) -> (usize, u64) {
    let stats = shared.data.store.stats();
    let (limit, policy) = shared.data.store.memory_limit();
    let limit = limit.filter(|_| policy != Eviction::None).unwrap_or(usize::MAX);
    let counted = shared.used_bytes(&stats) - stats.unreclaimed_bytes - stats.memory.buffers;
    (counted.saturating_sub(limit), stats.evicted)
}
