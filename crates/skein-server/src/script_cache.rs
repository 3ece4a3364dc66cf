//! The scripts that the server has, by their digests.
//!
//! SCRIPT LOAD keeps a script until SCRIPT FLUSH. EVAL keeps it for EVALSHA, too, but clients that
//! put values into the text of their scripts would fill memory so. So of the scripts that only EVAL
//! has brought, the last 500 stay.
//!
//! Each worker compiles a script when it first runs it. A flush changes the generation, at which the
//! workers forget what they have compiled.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use skein_script::{ScriptDigest, ScriptFlags, ScriptHead, ScriptHeadError};
use skein_sync::locks::lock;

use crate::busy_script::ScriptSort;

/// Scripts of EVAL that are kept for EVALSHA, as in Redis from 7.4 on.
const EVALUATED_MOST: usize = 500;

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

#[derive(Debug, Default)]
struct CachedScripts {
    by_digest: HashMap<ScriptDigest, Arc<Script>>,
    /// The scripts that only EVAL brought, the oldest first.
    evaluated: VecDeque<ScriptDigest>,
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
        lock(&self.scripts).by_digest.get(&digest).cloned()
    }

    /// Adds a script of SCRIPT LOAD. It stays until a flush.
    pub(crate) fn load(&self, script: Arc<Script>) {
        let mut scripts = lock(&self.scripts);
        scripts.evaluated.retain(|digest| *digest != script.digest);
        self.insert(&mut scripts, script);
    }

    /// Adds a script of EVAL. The oldest such script may go.
    pub(crate) fn keep_evaluated(&self, script: Arc<Script>) {
        let mut scripts = lock(&self.scripts);
        if scripts.by_digest.contains_key(&script.digest) {
            return;
        }
        scripts.evaluated.push_back(script.digest);
        self.insert(&mut scripts, script);
        if scripts.evaluated.len() > EVALUATED_MOST
            && let Some(oldest) = scripts.evaluated.pop_front()
            && let Some(removed) = scripts.by_digest.remove(&oldest)
        {
            self.bytes.fetch_sub(removed.bytes(), Ordering::Relaxed);
        }
    }

    fn insert(&self, scripts: &mut CachedScripts, script: Arc<Script>) {
        let bytes = script.bytes();
        if scripts.by_digest.insert(script.digest, script).is_none() {
            // Relaxed: a statistic.
            self.bytes.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    /// SCRIPT FLUSH
    pub(crate) fn flush(&self) {
        let mut scripts = lock(&self.scripts);
        *scripts = CachedScripts::default();
        self.bytes.store(0, Ordering::Relaxed);
        // Relaxed: a worker that sees it late keeps a compiled script that nobody names.
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
        assert_eq!(cache.len(), EVALUATED_MOST + 2);
        assert!(cache.get(loaded.digest).is_some() && cache.get(both.digest).is_some());
        assert!(cache.get(script("return 9").digest).is_none());
        assert!(cache.get(script("return 10").digest).is_some());
        let bytes = lock(&cache.scripts).by_digest.values().map(|script| script.bytes()).sum::<usize>();
        assert_eq!(cache.bytes(), bytes);
        cache.flush();
        assert_eq!((cache.len(), cache.bytes(), cache.generation()), (0, 0, 1));
    }
}
