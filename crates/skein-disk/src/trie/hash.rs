//! The hash trie: a classical trie over hashes. Each value stores its key.
//!
//! ```text
//!   first key of a hash     path: the hash, 16 bytes    value: │ key length 4 │ key │ value │
//!   second key              path: the hash, 0000 0001   (the same; then 0000 0002, ...)
//! ```
//!
//! # Invariants
//! 1. Keys with the same hash form a chain. The first key's path is the hash; the paths of the
//!    others have a number behind the hash, without gaps. So a lookup follows the chain until it
//!    finds its key or the end.
//! 2. A key is found by its bytes. Equal hashes prove nothing.
//!
//! The hash is SipHash-1-3 with 128 bits and a secret of the trie, so nobody can choose keys with
//! equal hashes. Without an attacker such keys practically never exist, so it costs nothing that a
//! lookup starts at the root for each member of a chain.
//!
//! Source: section 3.3. The paper does not handle collisions.

use std::hash::Hasher;
use std::ops::Bound;

use siphasher::sip128::{Hasher128, SipHasher13};

use super::core::{TrieCore, damaged_record, read_value};
use super::walk::{ScanEntries, ScanRequest, TrieWalk, WalkDirection};
use crate::DiskError;
use crate::buffer::{PageWriter, WalkStop};
use crate::page::u32_at;
use crate::record::{PageReader, WalkResult};

/// Bytes of a hash.
pub(super) const HASH: usize = 16;
const LENGTH: usize = 4;
/// The most keys with the same hash. Real keys never have the same hash, but a damaged file may
/// have a key at the end of every path.
const CHAIN_MOST: u32 = 1 << 12;

/// The hash function of a trie.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyHashing {
    pub(super) key: [u8; 16],
    /// The bits of a hash that are used. Tests clear bits to force equal hashes.
    #[cfg(test)]
    pub(super) mask: u128,
}

/// The path of the n-th key of a chain.
struct ChainPath {
    bytes: [u8; HASH + 4],
    len: usize,
}

impl ChainPath {
    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl KeyHashing {
    pub(super) fn new(key: [u8; 16]) -> Self {
        Self {
            key,
            #[cfg(test)]
            mask: u128::MAX,
        }
    }

    pub(super) fn hash(&self, key: &[u8]) -> [u8; HASH] {
        let mut hasher = SipHasher13::new_with_key(&self.key);
        hasher.write(key);
        let hash = hasher.finish128().as_u128();
        #[cfg(test)]
        let hash = hash & self.mask;
        hash.to_be_bytes()
    }

    fn path(&self, key: &[u8], nth: u32) -> ChainPath {
        let mut bytes = [0; HASH + 4];
        bytes[..HASH].copy_from_slice(&self.hash(key));
        bytes[HASH..].copy_from_slice(&nth.to_be_bytes());
        ChainPath { bytes, len: if nth == 0 { HASH } else { HASH + 4 } }
    }

    /// Finds a key in its chain. Returns its position and its version, and appends its value to
    /// `out`. If the key is not there, returns the position behind the chain.
    fn find(
        &self,
        core: &TrieCore,
        pages: &mut impl PageReader,
        key: &[u8],
        out: &mut Vec<u8>,
    ) -> WalkResult<(u32, Option<u64>)> {
        let start = out.len();
        for nth in 0..CHAIN_MOST {
            let Some(version) = core.get(pages, self.path(key, nth).bytes(), out)? else {
                return Ok((nth, None));
            };
            if key_of(&out[start..]) == Some(key) {
                out.drain(start..start + LENGTH + key.len());
                return Ok((nth, Some(version)));
            }
            out.truncate(start);
        }
        Err(too_many(core))
    }

    pub(super) fn get(
        &self,
        core: &TrieCore,
        pages: &mut impl PageReader,
        key: &[u8],
        out: &mut Vec<u8>,
    ) -> WalkResult<Option<u64>> {
        Ok(self.find(core, pages, key, out)?.1)
    }

    pub(super) fn set(
        &self,
        core: &TrieCore,
        writer: &mut PageWriter<'_>,
        key: &[u8],
        version: u64,
        value: &[u8],
    ) -> WalkResult<bool> {
        let (nth, _) = self.find(core, writer, key, &mut Vec::new())?;
        let mut entry = Vec::with_capacity(LENGTH + key.len() + value.len());
        entry.extend((key.len() as u32).to_le_bytes());
        entry.extend(key);
        entry.extend(value);
        core.set(writer, self.path(key, nth).bytes(), version, &entry)
    }

    /// Removes a key. The last key of its chain takes its position (invariant 1).
    pub(super) fn remove(
        &self,
        core: &TrieCore,
        writer: &mut PageWriter<'_>,
        key: &[u8],
    ) -> WalkResult<bool> {
        let (nth, Some(_)) = self.find(core, writer, key, &mut Vec::new())? else { return Ok(false) };
        let (mut last, mut version, mut entry) = (nth, None, Vec::new());
        loop {
            let mut next = Vec::new();
            let Some(found) = core.get(writer, self.path(key, last + 1).bytes(), &mut next)? else { break };
            (last, version, entry) = (last + 1, Some(found), next);
            if last >= CHAIN_MOST {
                return Err(too_many(core));
            }
        }
        if let Some(version) = version {
            core.set(writer, self.path(key, nth).bytes(), version, &entry)?;
        }
        core.remove(writer, self.path(key, last).bytes())
    }

    /// Returns the keys of a range in the order of their hashes, with their values and versions.
    pub(super) fn collect(
        &self,
        core: &TrieCore,
        pages: &mut impl PageReader,
        request: &ScanRequest<'_>,
    ) -> WalkResult<ScanEntries> {
        let after = after(request)?.map(|key| self.place(core, pages, key)).transpose()?;
        let lower = after.as_ref().map_or(Bound::Unbounded, |path| Bound::Excluded(path.bytes()));
        let mut found = core.collect(pages, &ScanRequest { lower, values: true, ..*request })?;
        for entry in &mut found.entries {
            let key = key_of(&entry.value)
                .ok_or_else(|| damaged_record(core.root, "a value below it has no key"))?;
            entry.key = key.to_vec();
            let end = if request.values { LENGTH + key.len() } else { entry.value.len() };
            entry.value.drain(..end);
        }
        Ok(found)
    }

    /// Returns the path behind which a walk continues after this key. If the key was removed but
    /// other keys have its hash, this is the end of their chain.
    fn place(&self, core: &TrieCore, pages: &mut impl PageReader, key: &[u8]) -> WalkResult<ChainPath> {
        if core.version(pages, self.path(key, 1).bytes())?.is_none() {
            return Ok(self.path(key, 0));
        }
        let (nth, found) = self.find(core, pages, key, &mut Vec::new())?;
        Ok(self.path(key, found.map_or(u32::MAX, |_| nth)))
    }

    /// Returns the descent along the path of the first key of a chain.
    #[cfg(test)]
    pub(super) fn descent_to(
        &self,
        core: &TrieCore,
        pages: &mut impl PageReader,
        key: &[u8],
    ) -> WalkResult<super::core::DescentPath> {
        core.find(pages, self.path(key, 0).bytes())
    }

    /// Checks that each key is at the path of its hash.
    pub(super) fn check(&self, core: &TrieCore, pages: &mut impl PageReader) -> WalkResult<()> {
        let mut walk = TrieWalk::begin(core, pages, Bound::Unbounded, WalkDirection::Forward)?;
        let (mut before, mut entry) = (0, Vec::new());
        while let Some(id) = walk.next(pages)? {
            entry.clear();
            read_value(pages, id, &mut entry)?;
            let Some(key) = key_of(&entry) else {
                return Err(damaged_record(id.record, "its value has no key"));
            };
            let path = walk.path().key();
            let nth = if path.is_some_and(|path| path.len() == HASH) { 0 } else { before + 1 };
            if path != Some(self.path(key, nth).bytes()) {
                return Err(damaged_record(id.record, "its key has another hash, or its chain has a gap"));
            }
            before = nth;
        }
        Ok(())
    }
}

fn too_many(core: &TrieCore) -> WalkStop {
    damaged_record(core.root, format!("more than {CHAIN_MOST} keys have the same hash"))
}

/// Returns the key after which a walk over a hash trie continues, or `None` if it starts.
///
/// # Errors
/// [`DiskError::NoOrder`] for other bounds: they need an order of keys.
pub(super) fn after<'p>(request: &ScanRequest<'p>) -> crate::Result<Option<&'p [u8]>> {
    match (request.lower, request.upper, request.direction) {
        (Bound::Unbounded, Bound::Unbounded, WalkDirection::Forward) => Ok(None),
        (Bound::Excluded(key), Bound::Unbounded, WalkDirection::Forward) => Ok(Some(key)),
        _ => Err(DiskError::NoOrder),
    }
}

/// Returns the value in the bytes of a node, which contain the key. Returns `None` if it is another
/// key.
pub(super) fn value_of<'e>(bytes: &'e [u8], key: &[u8]) -> Option<&'e [u8]> {
    (key_of(bytes) == Some(key)).then(|| &bytes[LENGTH + key.len()..])
}

/// Returns the key in a hash trie's value, or `None` if the bytes are too short.
fn key_of(entry: &[u8]) -> Option<&[u8]> {
    let (length, rest) = entry.split_at_checked(LENGTH)?;
    rest.get(..u32_at(length, 0) as usize)
}
