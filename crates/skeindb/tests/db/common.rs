//! Databases over every engine and index.

use std::path::Path;

use skein_disk::{DiskOptions, DiskStore, TrieShape, Values};
use skeindb::{Db, DbBuilder, Durability, Engine, IndexKind};

/// An engine with its index or trie.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    Memory(IndexKind),
    Linked,
    Classical,
}

/// The kinds that have named keyspaces.
pub const KINDS: [Kind; 7] = [
    Kind::Memory(IndexKind::Masstree),
    Kind::Memory(IndexKind::Wormhole),
    Kind::Memory(IndexKind::CuckooTrie),
    Kind::Memory(IndexKind::SkipList),
    Kind::Memory(IndexKind::PageTree),
    Kind::Linked,
    Kind::Classical,
];

/// The cache of the disk engine: small, so that pages are evicted.
const CACHE: usize = 256 << 10;

impl Kind {
    pub fn builder(self, path: &Path) -> DbBuilder {
        let builder = Db::builder(path).durability(Durability::None);
        match self {
            Self::Memory(index) => builder.engine(Engine::Memory).index(index),
            Self::Linked => builder.engine(Engine::Disk).cache_bytes(CACHE),
            Self::Classical => {
                let (shape, values) = (TrieShape::Classical { n: 16 }, Values::Rows);
                let options = DiskOptions { shape, values, ..DiskOptions::default() };
                DiskStore::open(path, options).expect("a folder").close().expect("it closes");
                builder.engine(Engine::Disk).cache_bytes(CACHE)
            }
        }
    }
}

/// Runs a test on a new database of every kind.
pub fn on_every_kind(test: impl Fn(&Db) -> skeindb::Result<()>) {
    for kind in KINDS {
        let folder = tempfile::tempdir().expect("a folder");
        let db = kind.builder(&folder.path().join("db")).open().expect("it opens");
        test(&db).unwrap_or_else(|error| panic!("{kind:?}: {error}"));
        db.close().expect("it closes");
    }
}

/// Returns the keys of rows.
pub fn keys(rows: impl Iterator<Item = skeindb::Result<(Vec<u8>, Vec<u8>)>>) -> skeindb::Result<Vec<String>> {
    rows.map(|row| Ok(String::from_utf8_lossy(&row?.0).into_owned())).collect()
}
