//! The catalog: the tries and counted sets of the file, with their parameters and roots.
//!
//! ```text
//!   header ─► page, slot 0: next page 4 ─► page, slot 0 ─► none
//!              other slots: a trie each    │ kind 1 │ n 2 │ values 1 │ secret 16 │ root 8 │ name │
//! ```
//!
//! The entry of a counted set has a kind of its own; its other parameters are 0.
//!
//! The paper names a catalog manager but does not describe its content (section 2).

use std::collections::BTreeSet;

use crate::buffer::{PageWriter, WalkStop};
use crate::counted::CountedSet;
use crate::page::{DiskPageKind, PageId};
use crate::record::{POINTER, PageReader, RecordId, WalkResult, change, records};
use crate::trie::{DiskTrie, TrieShape};
use crate::{DiskError, Result, TrieKind, Values};

/// The longest name of a trie, in bytes.
pub(crate) const NAME_MOST: usize = 255;

/// The kind of a counted set. Those of tries are in `trie/shape.rs`.
const COUNTED_SET: u8 = 7;
/// How errors name a counted set.
const COUNTED_SET_NAME: &str = "a counted set of keys";

const NO_PAGE: PageId = PageId(u32::MAX);
const VALUES: usize = 3;
const SECRET: usize = 4;
const ROOT: usize = SECRET + 16;
const NAME: usize = ROOT + POINTER;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Catalog {
    first: PageId,
}

/// A trie with its name.
#[derive(Clone, Debug)]
pub(crate) struct NamedTrie {
    pub(crate) name: String,
    pub(crate) trie: DiskTrie,
    pub(crate) values: Values,
}

/// An entry of the catalog: a trie or a counted set, with its name.
#[derive(Clone, Debug)]
pub(crate) enum CatalogEntry {
    Trie(NamedTrie),
    Set(String, CountedSet),
}

impl NamedTrie {
    pub(crate) fn kind(&self) -> TrieKind {
        TrieKind { shape: self.trie.shape(), values: self.values }
    }
}

impl Catalog {
    /// Returns the catalog that begins at this page.
    pub(crate) fn at(first: PageId) -> Self {
        Self { first }
    }

    /// Creates a catalog without tries.
    pub(crate) fn create(writer: &mut PageWriter<'_>) -> Result<Self> {
        Ok(Self { first: new_page(writer)? })
    }

    pub(crate) fn first(self) -> PageId {
        self.first
    }

    /// Returns all entries, page by page.
    ///
    /// # Errors
    /// A page is missing or damaged.
    pub(crate) fn list(self, pages: &mut impl PageReader) -> WalkResult<Vec<CatalogEntry>> {
        let mut entries = Vec::new();
        for page in self.pages(pages)? {
            for record in records(pages, page)?.iter() {
                let wrong = |what| WalkStop::Damaged(page, what);
                let (slot, record) = record.map_err(wrong)?;
                if slot > 0 {
                    entries.push(parse(record).map_err(|what| wrong(format!("slot {slot}: {what}")))?);
                }
            }
        }
        Ok(entries)
    }

    /// Returns the catalog's pages in their order.
    ///
    /// # Errors
    /// A page is missing or damaged.
    pub(crate) fn pages(self, pages: &mut impl PageReader) -> WalkResult<Vec<PageId>> {
        let (mut all, mut seen, mut next) = (Vec::new(), BTreeSet::new(), self.first);
        while next != NO_PAGE {
            if !seen.insert(next) {
                return Err(WalkStop::Damaged(next, "the pages of the catalog form a ring at it".to_owned()));
            }
            all.push(next);
            let link = records(pages, next)?.get(0).map_err(|what| WalkStop::Damaged(next, what))?;
            let link = link
                .first_chunk()
                .ok_or_else(|| WalkStop::Damaged(next, "its link is too short".to_owned()))?;
            next = PageId(u32::from_le_bytes(*link));
        }
        Ok(all)
    }

    /// Opens the trie with this name, or creates it if there is none. `secret` is the key of a new
    /// hash trie.
    ///
    /// # Errors
    /// The trie is of another kind, the parameters do not fit, or the name is empty or too long.
    pub(crate) fn open(
        self,
        writer: &mut PageWriter<'_>,
        name: &str,
        kind: TrieKind,
        secret: [u8; 16],
    ) -> Result<DiskTrie> {
        let found = match self.find(writer, name)? {
            None => {
                check_name(name)?;
                let trie = DiskTrie::create(writer, kind.shape, secret)?;
                self.add(writer, &encode(kind.shape.numbers(), kind.values, secret, trie.root(), name))?;
                return Ok(trie);
            }
            Some(CatalogEntry::Set(name, _)) => {
                let (has, asked) = (COUNTED_SET_NAME.to_owned(), kind.shape.to_string());
                return Err(DiskError::TrieDiffers { name, has, asked });
            }
            Some(CatalogEntry::Trie(found)) => found,
        };
        let (has, name) = (found.kind(), found.name);
        if has.shape != kind.shape {
            let (has, asked) = (has.shape.to_string(), kind.shape.to_string());
            return Err(DiskError::TrieDiffers { name, has, asked });
        }
        if has.values != kind.values {
            return Err(DiskError::ValuesDiffer { name, has: has.values, asked: kind.values });
        }
        Ok(found.trie)
    }

    /// Checks that an entry with this name exists.
    ///
    /// # Errors
    /// It does not, or a page is missing or damaged.
    pub(crate) fn check_has(self, writer: &mut PageWriter<'_>, name: &str) -> Result<()> {
        match self.find(writer, name)? {
            Some(_) => Ok(()),
            None => Err(writer.fault(WalkStop::Damaged(self.first, format!("the catalog has no `{name}`")))),
        }
    }

    fn find(self, writer: &mut PageWriter<'_>, name: &str) -> Result<Option<CatalogEntry>> {
        let entries = self.list(writer).map_err(|stop| writer.fault(stop))?;
        Ok(entries.into_iter().find(|entry| entry.name() == name))
    }

    /// Adds an entry to the first page with room.
    fn add(self, writer: &mut PageWriter<'_>, record: &[u8]) -> Result<()> {
        let pages = self.pages(writer).map_err(|stop| writer.fault(stop))?;
        for page in &pages {
            if change(writer, *page, |records| records.insert(record))?.is_some() {
                return Ok(());
            }
        }
        let page = new_page(writer)?;
        change(writer, page, |records| records.insert(record))?;
        let last = pages.last().copied().unwrap_or(self.first);
        change(writer, last, |records| records.replace(0, &page.0.to_le_bytes()))?;
        Ok(())
    }

    /// Opens the counted set with this name, or creates it if there is none.
    ///
    /// # Errors
    /// A trie has this name, or the name is empty or too long.
    pub(crate) fn open_set(self, writer: &mut PageWriter<'_>, name: &str) -> Result<CountedSet> {
        match self.find(writer, name)? {
            None => {
                check_name(name)?;
                let set = CountedSet::create(writer)?;
                let root = RecordId { page: set.root(), slot: 0 };
                self.add(writer, &encode((COUNTED_SET, 0), Values::Bytes, [0; 16], root, name))?;
                Ok(set)
            }
            Some(CatalogEntry::Set(_, set)) => Ok(set),
            Some(CatalogEntry::Trie(found)) => {
                let (has, asked) = (found.trie.shape().to_string(), COUNTED_SET_NAME.to_owned());
                Err(DiskError::TrieDiffers { name: found.name, has, asked })
            }
        }
    }
}

impl CatalogEntry {
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Trie(trie) => &trie.name,
            Self::Set(name, _) => name,
        }
    }
}

fn check_name(name: &str) -> Result<()> {
    if name.is_empty() || name.len() > NAME_MOST {
        let why = format!("a name of a trie has 1 to {NAME_MOST} bytes");
        return Err(DiskError::BadOption { name: "trie", value: name.to_owned(), why });
    }
    Ok(())
}

/// Makes a page of the catalog without tries and without a next page.
fn new_page(writer: &mut PageWriter<'_>) -> Result<PageId> {
    let page = writer.make(DiskPageKind::Records)?;
    change(writer, page, |records| records.insert(&NO_PAGE.0.to_le_bytes()))?;
    Ok(page)
}

fn encode((kind, n): (u8, u16), values: Values, secret: [u8; 16], root: RecordId, name: &str) -> Vec<u8> {
    let mut record = vec![kind];
    record.extend(n.to_le_bytes());
    record.push(values.number());
    record.extend(secret);
    record.extend(root.bytes());
    record.extend(name.as_bytes());
    record
}

fn parse(record: &[u8]) -> std::result::Result<CatalogEntry, String> {
    let (head, name) = record.split_at_checked(NAME).ok_or("an entry of the catalog is too short")?;
    let name = str::from_utf8(name).map_err(|_| "the name of a trie is not UTF-8")?.to_owned();
    let (kind, n) = (head[0], u16::from_le_bytes([head[1], head[2]]));
    let root = RecordId::of(&head[ROOT..]);
    if kind == COUNTED_SET {
        return Ok(CatalogEntry::Set(name, CountedSet::at(root.page)));
    }
    let shape = TrieShape::of_numbers(kind, n)?;
    let values = head[VALUES];
    let values =
        Values::of_number(values).ok_or_else(|| format!("the kind of values {values} is unknown"))?;
    let mut secret = [0; 16];
    secret.copy_from_slice(&head[SECRET..ROOT]);
    let trie = DiskTrie::open(shape, root, secret).map_err(|error| error.to_string())?;
    Ok(CatalogEntry::Trie(NamedTrie { name, trie, values }))
}
