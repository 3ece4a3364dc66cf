//! The families of key sets.
//!
//! A file here implements a [`KeySource`] and describes it by a [`KeyFamily`], which is listed in
//! [`ALL`].
//!
//! | family of | files |
//! | --- | --- |
//! | Masstree | `decimal`, `prefixed`, `ycsb` |
//! | Wormhole | `amazon` and `url` (models of its data), `random_bytes`, `long_prefix` |
//! | the Cuckoo Trie | `amazon`, `reddit` and `osm` (models of its data), `random_bytes` |
//! | `MlpIndex` | `mlp` |
//! | `BitBase` | `intkey`, `randstr`, `editstr` |
//! | the user | `file` |
//!
//! `numbered` (a bound's numbers in random order) and `words` (made-up names) are parts of several
//! families.
//!
//! A family declares its parameters there; `name.rs` checks them. `generate.rs` draws the keys,
//! drops duplicates and sets absent keys apart.

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

use super::random::{SeededRandom, mix};
use crate::Result;

/// A source of keys, one after the other. It stores no keys, so unused ones cost no memory.
pub trait KeySource {
    /// Writes the next key to `key`, which must be empty. Returns false at the end.
    ///
    /// # Errors
    /// If a file cannot be read. Generators have no errors.
    fn next(&mut self, key: &mut Vec<u8>) -> Result<bool>;

    /// Returns whether a key may repeat.
    fn repeats(&self) -> bool {
        true
    }

    /// Returns the number of different keys, if it is limited.
    fn space(&self) -> Option<u64> {
        None
    }

    /// Returns the bytes of all keys, if they already exist.
    fn bytes(&self) -> Option<u64> {
        None
    }
}

/// The parameters of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRequest {
    /// The numbers in the name, within the limits that the family declares.
    pub numbers: Vec<u64>,
    /// The path in the name.
    pub path: PathBuf,
    /// The number of keys that are going to be drawn. Models scale their items, users and towns
    /// with it.
    pub keys: u64,
    /// The seed, which decides every key.
    pub seed: u64,
}

impl KeyRequest {
    /// Returns the number of items of a model in which `keys` keys share an item: at least one.
    pub fn one_in(&self, keys: u64) -> u64 {
        (self.keys / keys).max(1)
    }

    /// Returns the seed for one of the source's random purposes.
    pub fn seed_of(&self, purpose: u64) -> u64 {
        mix(mix(self.seed ^ 0x6B65_7973).wrapping_add(purpose))
    }

    /// Returns the generator of the source's random numbers.
    pub fn random(&self) -> SeededRandom {
        SeededRandom::new(self.seed_of(0))
    }
}

/// The text that follows a family's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameSuffix {
    /// No text.
    Nothing,
    /// Numbers in brackets, as in `randstr(16,26)`.
    Numbers(&'static [FamilyParameter]),
    /// A path after a colon.
    Path,
}

/// A number in a key set's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FamilyParameter {
    /// Its name.
    pub name: &'static str,
    /// The least value allowed.
    pub least: u64,
    /// The greatest value allowed.
    pub most: u64,
}

/// How the present and the absent keys are chosen from a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceOrder {
    /// The source's order is random: the first keys are present, the next ones are absent.
    Random,
    /// Neighbouring keys resemble each other on purpose: the set keeps the source's order, and the
    /// absent keys are drawn from all of them.
    Kept,
    /// The source is finite and its order has no meaning: all keys are read, and the set is drawn
    /// from them at random.
    Drawn,
}

/// The figures that a paper gives of its own keys.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PaperFigures {
    /// The paper and the section.
    pub source: &'static str,
    /// The number of keys.
    pub keys: Option<u64>,
    /// The mean length.
    pub mean_bytes: Option<f64>,
    /// The mean unique prefix.
    pub unique_prefix_bits: Option<f64>,
}

impl PaperFigures {
    /// Returns the figures of a paper that gives only the number of its keys.
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
    /// The text that follows the name.
    pub takes: NameSuffix,
    /// A complete name, as an example.
    pub example: &'static str,
    /// The figures of papers for which it has the keys, or imitates them.
    pub papers: &'static [PaperFigures],
    /// How sets are chosen from it.
    pub order: SourceOrder,
    /// Opens its source. The request's parameters must be within their limits.
    pub open: fn(&KeyRequest) -> Result<Box<dyn KeySource>>,
}

/// The families, in the order of the papers.
pub static ALL: [&KeyFamily; 24] = [
    &random_bytes::RAND_8,
    &random_bytes::RAND_16,
    &random_bytes::K3,
    &random_bytes::K4,
    &random_bytes::K6,
    &random_bytes::K8,
    &random_bytes::K10,
    &random_bytes::K_SHORT,
    &long_prefix::K_LONG,
    &mlp::A,
    &mlp::B,
    &decimal::DECIMAL,
    &prefixed::PREFIXED,
    &ycsb::YCSB,
    &amazon::AZ1,
    &amazon::AZ2,
    &url::URL,
    &osm::OSM,
    &reddit::REDDIT,
    &intkey::INTKEY,
    &editstr::EDITSTR,
    &randstr::RANDSTR,
    &file::FILE,
    &file::HEX_FILE,
];

impl KeyFamily {
    /// Returns a family without parameters, with keys in random order.
    pub const fn new(
        name: &'static str,
        about: &'static str,
        open: fn(&KeyRequest) -> Result<Box<dyn KeySource>>,
    ) -> Self {
        Self {
            name,
            about,
            takes: NameSuffix::Nothing,
            example: name,
            papers: &[],
            order: SourceOrder::Random,
            open,
        }
    }

    /// Sets the text that follows the name, and an example.
    #[must_use]
    pub const fn taking(mut self, takes: NameSuffix, example: &'static str) -> Self {
        self.takes = takes;
        self.example = example;
        self
    }

    /// Sets the papers' figures.
    #[must_use]
    pub const fn papers(mut self, papers: &'static [PaperFigures]) -> Self {
        self.papers = papers;
        self
    }

    /// Sets another order.
    #[must_use]
    pub const fn order(mut self, order: SourceOrder) -> Self {
        self.order = order;
        self
    }

    /// Returns how its names are written: `osm`, `randstr(N,M)`, `file:PATH`.
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
