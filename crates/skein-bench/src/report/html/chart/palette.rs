//! The palette: every contender looks the same on every chart and on every page.
//!
//! A look is a hue, a dash and a mark, so that no two contenders differ by colour only. Known names
//! get theirs by their place in a family below, or by their place among our indexes. Other names
//! get one by a hash of the name, and take the next free look if another name of the same page has
//! it.
//!
//! The hues were searched for so that any two of the seven differ as much as possible, in the
//! colour space `OKLab`, for full colour vision and for the three kinds of colour blindness (red,
//! green, blue). The least distance is 0.12; a distance of 0.02 is just visible.

use std::collections::{BTreeSet, HashMap};

use crate::rival::index;

/// The number of hues.
pub(in crate::report::html) const HUES: usize = 7;
/// The hues on white.
pub(in crate::report::html) const LIGHT: [&str; HUES] =
    ["#0e69c3", "#dc4c03", "#005852", "#6f02d9", "#d0a60e", "#16abfd", "#828080"];
/// The hues on black.
pub(in crate::report::html) const DARK: [&str; HUES] =
    ["#378dff", "#ff9a1a", "#0c8a5a", "#e3adff", "#f6f03a", "#b2f4f0", "#949ca0"];

const DASHES: usize = 4;
/// The number of marks; coprime to the number of hues, so that two looks of one hue have different
/// marks.
pub(super) const MARKS: usize = 6;
const LOOKS: usize = HUES * DASHES;

/// Names that share charts, ours first. A name's position is its look.
const FAMILIES: [&[&str]; 6] = [
    &[
        "skein-masstree",
        "masstree-crate",
        "crossbeam-skiplist",
        "btreemap",
        "btreemap-rwlock",
        "hashbrown",
        "papaya",
        "skein-masstree, processes",
    ],
    &[
        "skein-masstree",
        "binary tree",
        "binary tree + huge pages",
        "binary tree + huge pages + integers",
        "masstree - prefetch - permutation",
        "masstree - permutation",
        "masstree - prefetch",
        "masstree - integers",
        "masstree - huge pages",
    ],
    &["skein", "rocksdb", "redb", "fjall", "lmdb"],
    &["skein", "redis", "memcached", "redis-hash", "no-op"],
    &["shared tree", "hard-partitioned"],
    &["skein-masstree", "skein-masstree, again"],
];

/// The look of our second index; the others follow. No family has these looks.
const OWN: usize = 9;

/// The appearance of a contender, by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SeriesLook(usize);

/// The looks of a page's contenders.
#[derive(Debug)]
pub(in crate::report::html) struct Palette {
    looks: HashMap<String, usize>,
}

impl SeriesLook {
    /// Returns the CSS classes of its colour and dash.
    pub fn classes(self) -> String {
        format!("h{} d{}", self.0 % HUES, self.0 / HUES)
    }

    /// Returns the number of its mark.
    pub fn mark(self) -> usize {
        self.0 % MARKS
    }

    /// Returns the look of data that is not a contender's.
    pub fn first() -> Self {
        Self(0)
    }
}

impl Palette {
    /// Assigns looks to these names.
    pub fn of<'a>(names: impl Iterator<Item = &'a str>) -> Self {
        let names: BTreeSet<&str> = names.collect();
        let mut looks: HashMap<String, usize> = HashMap::new();
        let mut taken = BTreeSet::new();
        for (name, look) in names.iter().filter_map(|name| Some((*name, known(name)?))) {
            looks.insert(name.to_owned(), look);
            taken.insert(look);
        }
        for name in names.iter().filter(|name| known(name).is_none()) {
            let wanted = hash(name);
            let free = (0..LOOKS).map(|step| (wanted + step) % LOOKS).find(|look| !taken.contains(look));
            let look = free.unwrap_or(wanted);
            looks.insert((*name).to_owned(), look);
            taken.insert(look);
        }
        Self { looks }
    }

    /// Returns the look of a contender.
    pub(super) fn look(&self, name: &str) -> SeriesLook {
        SeriesLook(self.looks.get(name).copied().unwrap_or_else(|| hash(name)))
    }
}

/// Returns the look of a name that has the same on every page.
fn known(name: &str) -> Option<usize> {
    FAMILIES.iter().find_map(|family| family.iter().position(|of| *of == name)).or_else(|| own(name))
}

/// Returns the look of one of our indexes, or of processes with one each: the same hue, another
/// dash.
fn own(name: &str) -> Option<usize> {
    let (index, apart) = name.strip_suffix(", processes").map_or((name, 0), |index| (index, HUES));
    let indexes = index::all().into_iter().filter(|entry| entry.role == index::IndexRole::Ours).skip(1);
    indexes.zip(OWN..).find_map(|(entry, look)| (entry.name == index).then_some(look + apart))
}

/// FNV-1a; its result is the same in every build, unlike the standard library's hash.
fn hash(name: &str) -> usize {
    let hash = name
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    (hash % LOOKS as u64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_names_look_the_same_on_any_page() {
        let alone = Palette::of(["btreemap"].into_iter());
        let crowd =
            Palette::of(["zzz", "btreemap", "skein-masstree", "another", "masstree-crate"].into_iter());
        assert_eq!(alone.look("btreemap"), crowd.look("btreemap"));
        assert_eq!(crowd.look("skein-masstree"), SeriesLook::first());
    }

    #[test]
    fn our_indexes_have_fixed_looks_that_no_rival_has() {
        let mut looks = BTreeSet::new();
        for entry in index::all().into_iter().filter(|entry| entry.role == index::IndexRole::Ours) {
            for name in [entry.name.to_owned(), format!("{}, processes", entry.name)] {
                let look = known(&name).expect("known");
                assert!(look < LOOKS && looks.insert(look), "{name} looks like another");
                let family = FAMILIES[0].iter().position(|of| *of == name);
                assert!(family.is_some() || FAMILIES.iter().all(|family| family.len() <= look), "{name}");
            }
        }
    }

    #[test]
    fn looks_of_one_page_differ_and_do_not_depend_on_the_order() {
        let names: Vec<String> = (0..20).map(|number| format!("contender {number}")).collect();
        let one = Palette::of(names.iter().map(String::as_str));
        let other = Palette::of(names.iter().rev().map(String::as_str));
        let looks: BTreeSet<usize> = names.iter().map(|name| one.look(name).0).collect();
        assert_eq!(looks.len(), names.len());
        assert!(names.iter().all(|name| one.look(name) == other.look(name)));
    }

    #[test]
    fn hashed_looks_are_the_same_in_every_build() {
        // The hash of the empty text is FNV's offset.
        assert_eq!(hash(""), (0xcbf2_9ce4_8422_2325_u64 % 28) as usize);
        assert_eq!(hash("a"), (0xaf63_dc4c_8601_ec8c_u64 % 28) as usize);
    }

    #[test]
    fn every_look_has_its_own_hue_and_mark() {
        let looks: BTreeSet<(usize, usize)> =
            (0..LOOKS).map(|look| (look % HUES, SeriesLook(look).mark())).collect();
        assert_eq!(looks.len(), LOOKS);
    }

    #[test]
    fn families_fit_and_hold_each_name_once() {
        for family in FAMILIES {
            let names: BTreeSet<&&str> = family.iter().collect();
            assert!(names.len() == family.len() && family.len() <= LOOKS);
        }
    }
}
