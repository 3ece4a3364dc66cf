//! The families of key sets.
//!
//! A file here makes a [`Source`] and registers it:
//!
//! ```ignore
//! #[distributed_slice(FAMILIES)]
//! static DECIMAL: Family = Family::new(20, "decimal", "decimal numbers below 2^31", open);
//! ```
//!
//! What a family of parameters takes is declared there and checked in `name.rs`; drawing, duplicates and absent keys are
//! `make.rs`'s.

mod amazon;
mod decimal;
mod editstr;
mod file;
mod intkey;
mod long_prefix;
mod mlp;
mod numbered;
mod osm;
mod prefixed;
mod random_bytes;
mod randstr;
mod reddit;
mod url;
mod words;
mod ycsb;

use std::path::PathBuf;

use linkme::distributed_slice;

use super::random::{SeededRandom, mix};
use crate::Result;

/// Keys, one after the other. Holds no keys: what is not used costs no memory.
pub trait KeySource {
    /// Writes the next key to `key`, which comes empty; returns false if there is none.
    ///
    /// # Errors
    /// Generators have none; files do.
    fn next(&mut self, key: &mut Vec<u8>) -> Result<bool>;

    /// Whether a key may come again.
    fn repeats(&self) -> bool {
        true
    }

    /// How many different keys there are, where that is a limit.
    fn space(&self) -> Option<u64> {
        None
    }

    /// The bytes of all keys, where they are there already.
    fn bytes(&self) -> Option<u64> {
        None
    }
}

/// What a source is opened for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRequest {
    /// The numbers in the name, within the limits that the family declares.
    pub numbers: Vec<u64>,
    /// The path in the name.
    pub path: PathBuf,
    /// How many keys are going to be drawn: models scale their items, users and towns with it.
    pub keys: u64,
    /// What decides every key.
    pub seed: u64,
}

impl KeyRequest {
    /// A part of the keys to be drawn, at least one: how many items a model has that are shared by so many keys each.
    pub fn one_in(&self, keys: u64) -> u64 {
        (self.keys / keys).max(1)
    }

    /// The seed of one of the source's several random things.
    pub fn seed_of(&self, purpose: u64) -> u64 {
        mix(mix(self.seed ^ 0x6B65_7973).wrapping_add(purpose))
    }

    /// The generator of the source's random numbers.
    pub fn random(&self) -> SeededRandom {
        SeededRandom::new(self.seed_of(0))
    }
}

/// What stands behind a family's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameSuffix {
    /// Nothing.
    Nothing,
    /// Numbers in brackets, as in `randstr(16,26)`.
    Numbers(&'static [FamilyParameter]),
    /// A path after a colon.
    Path,
}

/// A number that is part of a key set's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FamilyParameter {
    /// Its name.
    pub name: &'static str,
    /// The least that it may be.
    pub least: u64,
    /// The most.
    pub most: u64,
}

/// How a key set is taken from its source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceOrder {
    /// The source's order is random: the first keys are the set, the next ones are absent.
    Random,
    /// Neighbours resemble each other, and that is the point: the set keeps the source's order, absent keys are drawn from
    /// among all.
    Kept,
    /// The source ends, and its order means nothing: all is read, and the set is drawn from it at random.
    Drawn,
}

/// What a paper says about its own keys.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PaperFigures {
    /// The paper and the place in it.
    pub source: &'static str,
    /// How many keys.
    pub keys: Option<u64>,
    /// The mean length.
    pub mean_bytes: Option<f64>,
    /// The mean unique prefix.
    pub unique_prefix_bits: Option<f64>,
}

impl PaperFigures {
    /// Of a paper that gives the number of its keys alone.
    pub const fn count(source: &'static str, keys: u64) -> Self {
        Self { source, keys: Some(keys), mean_bytes: None, unique_prefix_bits: None }
    }
}

/// A family of key sets.
#[derive(Debug, Clone, Copy)]
pub struct KeyFamily {
    /// Its name, without parameters.
    pub name: &'static str,
    /// An exact description.
    pub about: &'static str,
    /// Where it stands in lists.
    pub rank: u32,
    /// What stands behind the name.
    pub takes: NameSuffix,
    /// A complete name.
    pub example: &'static str,
    /// What papers say about the keys that it is or imitates.
    pub papers: &'static [PaperFigures],
    /// How sets are taken from it.
    pub order: SourceOrder,
    /// Opens its source. The request's parameters are within their limits.
    pub open: fn(&KeyRequest) -> Result<Box<dyn KeySource>>,
}

/// What registers here; use [`all`], which sorts.
#[distributed_slice]
pub static FAMILIES: [KeyFamily];

/// The families, in the order of the papers.
pub fn all() -> Vec<&'static KeyFamily> {
    let mut all: Vec<_> = FAMILIES.iter().collect();
    all.sort_by_key(|family| (family.rank, family.name));
    all
}

impl KeyFamily {
    /// A family without parameters, whose keys come in random order.
    pub const fn new(
        rank: u32,
        name: &'static str,
        about: &'static str,
        open: fn(&KeyRequest) -> Result<Box<dyn KeySource>>,
    ) -> Self {
        Self {
            name,
            about,
            rank,
            takes: NameSuffix::Nothing,
            example: name,
            papers: &[],
            order: SourceOrder::Random,
            open,
        }
    }

    /// With what stands behind the name, and an example.
    #[must_use]
    pub const fn taking(mut self, takes: NameSuffix, example: &'static str) -> Self {
        self.takes = takes;
        self.example = example;
        self
    }

    /// With what papers say.
    #[must_use]
    pub const fn papers(mut self, papers: &'static [PaperFigures]) -> Self {
        self.papers = papers;
        self
    }

    /// With another order.
    #[must_use]
    pub const fn order(mut self, order: SourceOrder) -> Self {
        self.order = order;
        self
    }

    /// How its names are written: `osm`, `randstr(N,M)`, `file:PATH`.
    pub fn usage(&self) -> String {
        match self.takes {
            NameSuffix::Nothing => self.name.to_owned(),
            NameSuffix::Numbers(parameters) => {
                let names: Vec<_> = parameters.iter().map(|parameter| parameter.name).collect();
                format!("{}({})", self.name, names.join(","))
            }
            NameSuffix::Path => format!("{}:PATH", self.name),
        }
    }
}
