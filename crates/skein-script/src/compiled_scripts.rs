//! The compiled scripts of an engine: a cache, since a script can be compiled again.
//!
//! Compiled scripts share the memory of the engine with the scripts that run. So they have a part
//! of it. When they exceed it, the older half is forgotten at once: one sort for many scripts.

use std::collections::HashMap;

use crate::ScriptDigest;
use crate::kept_values::{KeptSlot, KeptValues};

/// The part of the memory limit that compiled scripts may take.
const MEMORY_PART: usize = 4;
/// The bytes of compiled scripts without a memory limit.
const BYTES_MAX: usize = 64 << 20;

struct CompiledScript {
    slot: KeptSlot,
    bytes: usize,
    /// The use at which it was run last.
    used: u64,
}

/// The compiled scripts of an engine.
pub(crate) struct CompiledScripts {
    scripts: HashMap<ScriptDigest, CompiledScript>,
    bytes: usize,
    bytes_max: usize,
    uses: u64,
}

impl CompiledScripts {
    pub(crate) fn new(memory_limit: usize) -> Self {
        let bytes_max = if memory_limit == 0 { BYTES_MAX } else { memory_limit / MEMORY_PART };
        Self { scripts: HashMap::new(), bytes: 0, bytes_max, uses: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.scripts.len()
    }

    pub(crate) fn contains(&self, digest: ScriptDigest) -> bool {
        self.scripts.contains_key(&digest)
    }

    /// Returns a script, which is the one that was used last from now on.
    pub(crate) fn use_script(&mut self, digest: ScriptDigest) -> Option<KeptSlot> {
        let script = self.scripts.get_mut(&digest)?;
        self.uses += 1;
        script.used = self.uses;
        Some(script.slot)
    }

    /// Adds a script of so many bytes. Older ones may go.
    pub(crate) fn add(&mut self, digest: ScriptDigest, slot: KeptSlot, bytes: usize, kept: &KeptValues) {
        self.bytes += bytes;
        while self.bytes > self.bytes_max && !self.scripts.is_empty() {
            self.forget_older_half(kept);
        }
        self.uses += 1;
        self.scripts.insert(digest, CompiledScript { slot, bytes, used: self.uses });
    }

    fn forget_older_half(&mut self, kept: &KeptValues) {
        let mut uses: Vec<u64> = self.scripts.values().map(|script| script.used).collect();
        uses.sort_unstable();
        let newest = uses[(uses.len() - 1) / 2];
        let bytes = &mut self.bytes;
        self.scripts.retain(|_, script| {
            let stays = script.used > newest;
            if !stays {
                *bytes -= script.bytes;
                kept.forget(script.slot);
            }
            stays
        });
    }

    /// Forgets all scripts.
    pub(crate) fn clear(&mut self, kept: &KeptValues) {
        self.scripts.drain().for_each(|(_, script)| kept.forget(script.slot));
        self.bytes = 0;
    }
}
