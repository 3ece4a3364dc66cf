//! The contents of an engine at one moment, read in every way that the contract offers.

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::{Bound, ControlFlow, Deref, RangeBounds};

use skein_data::{
    CollectionKind, ColumnsReader, EngineError, EngineKeys, EngineSnapshot, ListEnd, ListReader, RowView,
    ScanDirection, SetReader, StoredKeyspace,
};

use crate::stream_operations::{StreamContents, stream_contents};

/// Bytes that a failed assertion shows as text, shortened.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Text(pub Vec<u8>);

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (len, shown) = (self.0.len(), self.0.len().min(20));
        write!(f, "\"{}\"", self.0[..shown].escape_ascii())?;
        if len > shown { write!(f, "... of {len} bytes") } else { Ok(()) }
    }
}

impl Deref for Text {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl Borrow<[u8]> for Text {
    fn borrow(&self) -> &[u8] {
        &self.0
    }
}

impl From<&[u8]> for Text {
    fn from(bytes: &[u8]) -> Self {
        Self(bytes.to_vec())
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        text.as_bytes().into()
    }
}

pub type Columns = BTreeMap<Text, Text>;
/// The members of a sorted set, by name. Scores are whole numbers, so they can be compared.
pub type Scores = BTreeMap<Text, i32>;
/// The members of a set.
pub type Members = BTreeSet<Text>;
/// The elements of a list.
pub type Elements = Vec<Text>;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Contents {
    Value(Text),
    Columns(Columns),
    Scores(Scores),
    Members(Members),
    List(Elements),
    Stream(StreamContents),
}

/// The contents of a key, and the time at which it expires.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyContents {
    pub contents: Contents,
    pub expires: Option<u64>,
}

/// All keys that exist at one moment.
pub type State = BTreeMap<Text, KeyContents>;

type Everything<'b> = (Bound<&'b [u8]>, Bound<&'b [u8]>);
pub const EVERYTHING: Everything<'static> = (Bound::Unbounded, Bound::Unbounded);

const GO_ON: ControlFlow<()> = ControlFlow::Continue(());

/// Returns the contents of a row. Panics if two ways to read them disagree.
pub fn contents_of(row: RowView<'_>) -> Result<KeyContents, EngineError> {
    let expires = row.expires_at();
    if let Some(value) = row.value() {
        return Ok(KeyContents { contents: Contents::Value(value.into()), expires });
    }
    let contents = if let Some(columns) = row.columns(columns_of)? {
        Contents::Columns(columns)
    } else if let Some(elements) = row.list(elements_of)? {
        Contents::List(elements)
    } else if let Some(stream) = row.stream(stream_contents)? {
        Contents::Stream(stream)
    } else {
        let scores = row.any_set(scores_of)?.expect("a value, columns or a set");
        match row.collection_kind() {
            Some(CollectionKind::Set) => Contents::Members(scores.into_keys().collect()),
            _ => Contents::Scores(scores),
        }
    };
    Ok(KeyContents { contents, expires })
}

fn columns_of(reader: &ColumnsReader<'_>) -> Columns {
    let columns: Columns =
        reader.to_vec().iter().map(|(name, value)| (name[..].into(), value[..].into())).collect();
    // After an error of a page the reader shows nothing more; its lender returns the error.
    let (len, mut same) = (reader.len(), true);
    for (name, value) in &columns {
        same &= reader.get(name).as_deref() == Some(&value[..]);
    }
    assert!(same && len == columns.len() || reader.to_vec().is_empty(), "{len} columns, {columns:?}");
    columns
}

fn scores_of(set: &SetReader<'_>) -> Scores {
    let mut by_rank: Vec<(i32, Text)> = Vec::new();
    set.walk(0, ScanDirection::Forward, |score, member| {
        by_rank.push((whole(score), Text(member.to_vec())));
        GO_ON
    });
    let mut by_name = Scores::new();
    set.members_after(None, |member, score| {
        by_name.insert(member.into(), whole(score));
        GO_ON
    });
    let mut backward = Vec::new();
    if let Some(last) = set.len().checked_sub(1) {
        set.walk(last, ScanDirection::Backward, |score, member| {
            backward.push((whole(score), Text(member.to_vec())));
            GO_ON
        });
    }
    backward.reverse();
    let mut same = backward == by_rank && by_rank.len() as u64 == set.len();
    for (rank, (score, member)) in by_rank.iter().enumerate() {
        let found = (set.score(member), set.rank(f64::from(*score), member));
        same &= found == (Some(f64::from(*score)), rank as u64);
    }
    let mut sorted: Vec<_> = by_name.iter().map(|(name, score)| (*score, name.clone())).collect();
    sorted.sort();
    same &= sorted == by_rank;
    // As above, an error hides the rest.
    let failed = !set.is_empty() && by_rank.first().is_none_or(|first| set.score(&first.1).is_none());
    assert!(same || failed, "{by_rank:?} by rank, {backward:?} backward, {by_name:?} by name");
    by_name
}

fn elements_of(list: &ListReader<'_>) -> Elements {
    let mut forward = Elements::new();
    list.walk(ListEnd::Front, |element| {
        forward.push(element.into());
        GO_ON
    });
    let mut backward = Elements::new();
    list.walk(ListEnd::Back, |element| {
        backward.push(element.into());
        GO_ON
    });
    backward.reverse();
    let mut half = Elements::new();
    list.walk_from(list.len() / 2, |element| {
        half.push(element.into());
        GO_ON
    });
    let mut same = forward == backward && forward.len() as u64 == list.len();
    same &= forward.ends_with(&half) && half.len() as u64 == list.len().div_ceil(2);
    for (at, element) in forward.iter().enumerate() {
        same &= list.get(at as u64).as_deref() == Some(&element[..]);
    }
    same &= list.get(list.len()).is_none();
    // As above, an error hides the rest.
    let failed = !list.is_empty() && list.get(0).is_none();
    assert!(failed || list.check().is_ok(), "{:?}", list.check());
    assert!(same || failed, "{forward:?} forward, {backward:?} backward, {half:?} from the middle");
    forward
}

fn whole(score: f64) -> i32 {
    assert!(score.fract() == 0.0, "{score}");
    score as i32
}

/// Returns the contents within bounds, in the order in which the scan shows them.
fn scanned(
    keys: &mut EngineKeys<'_>,
    bounds: Everything<'_>,
    direction: ScanDirection,
) -> Result<Vec<(Text, KeyContents)>, EngineError> {
    collected(|each| keys.scan(StoredKeyspace::DEFAULT, bounds, direction, usize::MAX, each))
}

/// Returns all contents, read in the order of the keys, or without one.
pub fn state_of(keys: &mut EngineKeys<'_>) -> Result<State, EngineError> {
    let found =
        if keys.is_ordered() { scanned(keys, EVERYTHING, ScanDirection::Forward) } else { walked(keys) };
    Ok(found?.into_iter().collect())
}

/// Returns all contents in the engine's own order.
fn walked(keys: &mut EngineKeys<'_>) -> Result<Vec<(Text, KeyContents)>, EngineError> {
    collected(|each| keys.walk(StoredKeyspace::DEFAULT, EVERYTHING, usize::MAX, each))
}

type OneRow<'r> = dyn FnMut(&[u8], RowView<'_>) -> ControlFlow<()> + 'r;

/// Returns the contents of the rows that a read shows, in its order.
fn collected(
    read: impl FnOnce(&mut OneRow<'_>) -> Result<(), EngineError>,
) -> Result<Vec<(Text, KeyContents)>, EngineError> {
    let (mut found, mut failed) = (Vec::new(), None);
    read(&mut |key, row| match contents_of(row) {
        Ok(contents) => {
            found.push((key.into(), contents));
            GO_ON
        }
        Err(error) => {
            failed = Some(error);
            ControlFlow::Break(())
        }
    })?;
    failed.map_or(Ok(found), Err)
}

/// Returns all contents as a snapshot shows them.
pub fn state_in(snapshot: &EngineSnapshot) -> Result<State, EngineError> {
    let mut state = State::new();
    snapshot.walk(EVERYTHING, usize::MAX, |key, row| {
        state.insert(key.into(), contents_of(row).expect("contents"));
        GO_ON
    })?;
    Ok(state)
}

/// Reads everything in every way, and compares it with `expected`.
pub fn assert_contents(keys: &mut EngineKeys<'_>, expected: &State, bounds: Everything<'_>) {
    assert_lookups(keys, expected);
    let all = walked(keys).expect("a walk");
    assert_eq!(all.len(), expected.len(), "a key is shown once");
    assert_eq!(all.into_iter().collect::<State>(), *expected);
    if keys.is_ordered() {
        assert_ranges(keys, expected, bounds);
    } else {
        scanned(keys, EVERYTHING, ScanDirection::Backward).expect_err("there is no order");
    }
}

/// Reads ranges in both directions. Bounds in the wrong order are an empty range.
fn assert_ranges(keys: &mut EngineKeys<'_>, expected: &State, bounds: Everything<'_>) {
    let forward: Vec<_> = expected.iter().map(|(key, contents)| (key.clone(), contents.clone())).collect();
    assert_eq!(scanned(keys, EVERYTHING, ScanDirection::Forward).expect("a scan"), forward);
    let mut part = forward;
    part.retain(|(key, _)| RangeBounds::<[u8]>::contains(&bounds, &key[..]));
    assert_eq!(scanned(keys, bounds, ScanDirection::Forward).expect("a scan"), part, "{bounds:?}");
    assert_counts(keys, bounds, part.len());
    part.reverse();
    assert_eq!(scanned(keys, bounds, ScanDirection::Backward).expect("a scan"), part, "{bounds:?}");
}

/// Counts the keys of a range in pages of three.
fn assert_counts(keys: &mut EngineKeys<'_>, bounds: Everything<'_>, expected: usize) {
    let (mut count, mut lower) = (0, bounds.0.map(<[u8]>::to_vec));
    loop {
        let from = lower.as_ref().map(Vec::as_slice);
        let (some, last) = keys.count_first(StoredKeyspace::DEFAULT, (from, bounds.1), 3).expect("a count");
        count += some;
        let Some(last) = last else { break };
        lower = Bound::Excluded(last);
    }
    assert_eq!(count, expected, "{bounds:?}");
}

/// Looks up each key, and one that is absent, alone and together.
fn assert_lookups(keys: &mut EngineKeys<'_>, expected: &State) {
    let names: Vec<&[u8]> = expected.keys().map(|key| &key[..]).chain([&b"absent"[..]]).collect();
    let wanted: Vec<Option<KeyContents>> = names.iter().map(|key| expected.get(*key).cloned()).collect();
    let alone: Vec<_> = names.iter().map(|key| keys.get_with(key, look)).collect();
    assert_eq!(alone, wanted);
    let mut many = vec![None; names.len()];
    keys.get_many(&names, |_| false, |at, row| many[at] = look(row));
    assert_eq!(many, wanted);
    let mut together = Vec::new();
    keys.get_many_atomic(&names, usize::MAX, |_, row| together.push(look(Ok(row)))).expect("rows");
    assert_eq!(together, wanted);
    assert_eq!(keys.count_present(&names, true).expect("a count"), expected.len());
}

fn look(row: Result<Option<RowView<'_>>, EngineError>) -> Option<KeyContents> {
    row.expect("a row").map(|row| {
        row.stream(|stream| {
            stream.check();
        })
        .expect("a stream whose invariants hold");
        contents_of(row).expect("contents")
    })
}
