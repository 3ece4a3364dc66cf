//! The hash trie: a classical trie of hashes, whose leaves have the keys.
//!
//! ```text
//!   key ─► hash, 16 bytes = path          value of the path   │ length of the key 4 │ key │ value of the key │
//!   another key of that hash              path 0000 0001      the same; then path 0000 0002, ...
//! ```
//!
//! # Invariants
//! 1. Keys of one hash form a chain: the first has the hash as its path, and the others have a number after it, without gaps. So a lookup goes along the chain
//!    until it finds its key or nothing.
//! 2. A key is found by its bytes; that hashes are equal says nothing.
//!
//! The hash is SipHash-1-3 with 128 bits and a key of the trie's own, so that nobody can choose keys whose hashes are equal. Such keys are as good as never there
//! otherwise; that a chain is looked up from the root for each member costs nothing then.
//!
//! Source: section 3.3. The paper leaves collisions out.

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
/// Keys of one hash at most. Nobody has ever found two; but forged pages may have a key at the end of every path.
const CHAIN_MOST: u32 = 1 << 12;

/// How keys are hashed.
#[derive(Clone, Copy, Debug)]
pub(super) struct KeyHashing {
    pub(super) key: [u8; 16],
    /// Bits of a hash that count: tests force equal hashes.
    #[cfg(test)]
    pub(super) mask: u128,
}

/// The path of a key that has so many before it in its chain.
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

    /// Where in its chain a key is, and its version, with its value appended; where it would be, if it is not there.
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

    /// Removes a key; the last one of its chain takes its place (invariant 1).
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

    /// The keys of a portion in the order of their hashes, with what they have.
    pub(super) fn collect(
        &self,
        core: &TrieCore,
        pages: &mut impl PageReader,
        portion: &ScanRequest<'_>,
    ) -> WalkResult<ScanEntries> {
        let after = after(portion)?.map(|key| self.place(core, pages, key)).transpose()?;
        let lower = after.as_ref().map_or(Bound::Unbounded, |path| Bound::Excluded(path.bytes()));
        let mut found = core.collect(pages, &ScanRequest { lower, values: true, ..*portion })?;
        for entry in &mut found.entries {
            let key = key_of(&entry.value)
                .ok_or_else(|| damaged_record(core.root, "a value below it has no key"))?;
            entry.key = key.to_vec();
            let end = if portion.values { LENGTH + key.len() } else { entry.value.len() };
            entry.value.drain(..end);
        }
        Ok(found)
    }

    /// The path of a key, behind which a walk that had it last goes on. Of a key that is no more, and others have its hash, the end of their chain.
    fn place(&self, core: &TrieCore, pages: &mut impl PageReader, key: &[u8]) -> WalkResult<ChainPath> {
        if core.version(pages, self.path(key, 1).bytes())?.is_none() {
            return Ok(self.path(key, 0));
        }
        let (nth, found) = self.find(core, pages, key, &mut Vec::new())?;
        Ok(self.path(key, found.map_or(u32::MAX, |_| nth)))
    }

    /// The way along the path of a key that has no other before it in its chain.
    #[cfg(test)]
    pub(super) fn way_to(
        &self,
        core: &TrieCore,
        pages: &mut impl PageReader,
        key: &[u8],
    ) -> WalkResult<super::core::DescentPath> {
        core.find(pages, self.path(key, 0).bytes())
    }

    /// Whether each key is where its hash says.
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
    damaged_record(core.root, format!("more than {CHAIN_MOST} keys have one hash"))
}

/// The key after whose place a walk over a hash trie goes on; none if it begins.
///
/// # Errors
/// A portion with other bounds, which takes an order of keys.
pub(super) fn after<'p>(portion: &ScanRequest<'p>) -> crate::Result<Option<&'p [u8]>> {
    match (portion.lower, portion.upper, portion.direction) {
        (Bound::Unbounded, Bound::Unbounded, WalkDirection::Forward) => Ok(None),
        (Bound::Excluded(key), Bound::Unbounded, WalkDirection::Forward) => Ok(Some(key)),
        _ => Err(DiskError::NoOrder),
    }
}

/// The value that a node's bytes are, or, of a hash trie, those after the key if it is this one.
pub(super) fn value_of<'e>(is_hashed: bool, bytes: &'e [u8], key: &[u8]) -> Option<&'e [u8]> {
    if is_hashed { (key_of(bytes) == Some(key)).then(|| &bytes[LENGTH + key.len()..]) } else { Some(bytes) }
}

/// The key of an entry; none if it is no entry.
fn key_of(entry: &[u8]) -> Option<&[u8]> {
    let (length, rest) = entry.split_at_checked(LENGTH)?;
    rest.get(..u32_at(length, 0) as usize)
}
