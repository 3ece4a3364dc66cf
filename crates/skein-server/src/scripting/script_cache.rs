//! The scripts that the server has, by their digests.
//!
//! SCRIPT LOAD keeps a script until SCRIPT FLUSH. EVAL keeps it for EVALSHA, too, but clients that
//! put values into the text of their scripts would fill memory so. So of the scripts that only EVAL
//! has added, only those that ran last stay: up to 500, and 16 MiB.
//!
//! Each worker compiles a script when it runs it, and may forget it again (`skein_script`). A flush
//! changes the generation. When the workers see that, they forget all compiled scripts.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use skein_script::{ScriptDigest, ScriptFlags, ScriptHead, ScriptHeadError};
use skein_sync::locks::lock;

use crate::scripting::ScriptSort;

/// Scripts of EVAL that are kept for EVALSHA, as in Redis from 7.4 on.
const EVALUATED_MOST: usize = 500;
/// The most bytes of these scripts together. A longer script stays until the next script is kept.
const EVALUATED_BYTES_MAX: usize = 16 << 20;

/// A script.
#[derive(Debug)]
pub(crate) struct Script {
    pub(crate) digest: ScriptDigest,
    pub(crate) flags: ScriptFlags,
    /// Without the first line that has the flags.
    pub(crate) code: Box<[u8]>,
}

impl Script {
    /// Reads the flags of a script.
    pub(crate) fn parse(source: &[u8]) -> Result<Self, ScriptHeadError> {
        let head = ScriptHead::parse(source)?;
        Ok(Self { digest: ScriptDigest::of(source), flags: head.flags, code: head.code.into() })
    }

    fn bytes(&self) -> usize {
        size_of::<Self>() + self.code.len()
    }
}

#[derive(Debug)]
struct CachedScript {
    script: Arc<Script>,
    /// The last use of a script that only EVAL has added.
    evaluated: Option<u64>,
}

#[derive(Debug, Default)]
struct CachedScripts {
    by_digest: HashMap<ScriptDigest, CachedScript>,
    /// The scripts that only EVAL has added, by their last uses.
    evaluated: BTreeMap<u64, ScriptDigest>,
    evaluated_bytes: usize,
    uses: u64,
}

impl CachedScripts {
    /// Notes a use of a script that only EVAL has added.
    fn note_use(&mut self, digest: ScriptDigest, before: Option<u64>) -> u64 {
        if let Some(before) = before {
            self.evaluated.remove(&before);
        }
        self.uses += 1;
        self.evaluated.insert(self.uses, digest);
        self.uses
    }

    /// Removes the script of EVAL that was not used for longest. Returns its bytes.
    fn remove_oldest(&mut self) -> usize {
        let oldest = self.evaluated.pop_first().and_then(|(_, digest)| self.by_digest.remove(&digest));
        let bytes = oldest.map_or(0, |oldest| oldest.script.bytes());
        self.evaluated_bytes -= bytes;
        bytes
    }
}

/// The scripts of a server.
#[derive(Debug, Default)]
pub(crate) struct ScriptCache {
    scripts: Mutex<CachedScripts>,
    bytes: AtomicUsize,
    generation: AtomicU64,
}

impl ScriptCache {
    /// Returns a script.
    pub(crate) fn get(&self, digest: ScriptDigest) -> Option<Arc<Script>> {
        lock(&self.scripts).by_digest.get(&digest).map(|cached| Arc::clone(&cached.script))
    }

    /// Returns a script that is about to run.
    pub(crate) fn use_script(&self, digest: ScriptDigest) -> Option<Arc<Script>> {
        let mut scripts = lock(&self.scripts);
        let cached = scripts.by_digest.get(&digest)?;
        let (script, evaluated) = (Arc::clone(&cached.script), cached.evaluated);
        if evaluated.is_some_and(|last| last != scripts.uses) {
            let used = scripts.note_use(digest, evaluated);
            scripts
                .by_digest
                .insert(digest, CachedScript { script: Arc::clone(&script), evaluated: Some(used) });
        }
        Some(script)
    }

    /// Adds a script of SCRIPT LOAD. It stays until a flush.
    pub(crate) fn load(&self, script: Arc<Script>) {
        let mut scripts = lock(&self.scripts);
        let (digest, bytes) = (script.digest, script.bytes());
        match scripts.by_digest.insert(digest, CachedScript { script, evaluated: None }) {
            // Relaxed: a statistic. So it is below.
            None => _ = self.bytes.fetch_add(bytes, Ordering::Relaxed),
            Some(CachedScript { evaluated: Some(last), .. }) => {
                scripts.evaluated.remove(&last);
                scripts.evaluated_bytes -= bytes;
            }
            Some(_) => {}
        }
    }

    /// Adds a script of EVAL. Older ones may be removed.
    pub(crate) fn keep_evaluated(&self, script: Arc<Script>) {
        let mut scripts = lock(&self.scripts);
        let (digest, bytes) = (script.digest, script.bytes());
        if scripts.by_digest.contains_key(&digest) {
            return;
        }
        let is_full = |scripts: &CachedScripts| {
            scripts.evaluated.len() >= EVALUATED_MOST || scripts.evaluated_bytes + bytes > EVALUATED_BYTES_MAX
        };
        let mut removed = 0;
        while !scripts.evaluated.is_empty() && is_full(&scripts) {
            removed += scripts.remove_oldest();
        }
        let evaluated = Some(scripts.note_use(digest, None));
        scripts.by_digest.insert(digest, CachedScript { script, evaluated });
        scripts.evaluated_bytes += bytes;
        self.bytes.fetch_add(bytes.wrapping_sub(removed), Ordering::Relaxed);
    }

    /// Removes all scripts, for SCRIPT FLUSH.
    pub(crate) fn flush(&self) {
        let mut scripts = lock(&self.scripts);
        *scripts = CachedScripts::default();
        self.bytes.store(0, Ordering::Relaxed);
        // Relaxed: a worker that sees it late keeps a compiled script that no request names.
        self.generation.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the number of flushes so far.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Relaxed)
    }

    /// Returns the number of scripts.
    pub(crate) fn len(&self) -> usize {
        lock(&self.scripts).by_digest.len()
    }

    /// Returns the bytes of all scripts.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }
}

/// The bytes of the workers' Lua states, those for scripts and those for functions.
#[derive(Debug, Default)]
pub(crate) struct LuaMemory {
    scripts: AtomicUsize,
    functions: AtomicUsize,
}

impl LuaMemory {
    pub(crate) fn scripts(&self) -> usize {
        self.scripts.load(Ordering::Relaxed)
    }

    pub(crate) fn functions(&self) -> usize {
        self.functions.load(Ordering::Relaxed)
    }

    /// Changes the bytes of a state from `counted` to `bytes`.
    pub(crate) fn note(&self, sort: ScriptSort, counted: &mut usize, bytes: usize) {
        let sum = if sort == ScriptSort::Script { &self.scripts } else { &self.functions };
        // Relaxed: a statistic.
        sum.fetch_add(bytes.wrapping_sub(*counted), Ordering::Relaxed);
        *counted = bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(source: &str) -> Arc<Script> {
        Arc::new(Script::parse(source.as_bytes()).unwrap())
    }

    #[test]
    fn loaded_scripts_stay_and_evaluated_ones_are_limited() {
        let cache = ScriptCache::default();
        let (loaded, both) = (script("return 'loaded'"), script("return 'both'"));
        cache.load(Arc::clone(&loaded));
        cache.keep_evaluated(Arc::clone(&both));
        cache.load(Arc::clone(&both));
        for number in 0..EVALUATED_MOST + 10 {
            cache.keep_evaluated(script(&format!("return {number}")));
        }
        let counted = |cache: &ScriptCache| {
            let scripts = lock(&cache.scripts);
            scripts.by_digest.values().map(|cached| cached.script.bytes()).sum::<usize>()
        };
        assert_eq!(cache.len(), EVALUATED_MOST + 2);
        assert!(cache.get(loaded.digest).is_some() && cache.get(both.digest).is_some());
        assert!(cache.get(script("return 9").digest).is_none());
        assert!(cache.get(script("return 10").digest).is_some());
        assert_eq!(cache.bytes(), counted(&cache));
        // A script that is run again is the newest one.
        assert!(cache.use_script(script("return 10").digest).is_some());
        cache.keep_evaluated(script("return 'new'"));
        assert!(cache.get(script("return 10").digest).is_some());
        assert!(cache.get(script("return 11").digest).is_none());
        for number in 0..40 {
            let long = script(&format!("return '{number}{}'", "x".repeat(1 << 20)));
            cache.keep_evaluated(Arc::clone(&long));
            assert!(cache.get(long.digest).is_some());
            assert!(cache.bytes() < EVALUATED_BYTES_MAX + (1 << 20));
        }
        let longest = script(&format!("return '{}'", "x".repeat(EVALUATED_BYTES_MAX)));
        cache.keep_evaluated(Arc::clone(&longest));
        assert_eq!((cache.len(), cache.bytes()), (3, counted(&cache)));
        assert!(cache.get(longest.digest).is_some() && cache.get(loaded.digest).is_some());
        cache.flush();
        assert_eq!((cache.len(), cache.bytes(), cache.generation()), (0, 0, 1));
    }
}
