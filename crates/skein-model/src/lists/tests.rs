//! Lists beside a vector. The members lie in a map, and after each change all invariants are
//! checked.

use std::collections::BTreeMap;
use std::ops::{ControlFlow, Range};

use proptest::prelude::*;

use super::{ListEnd, ListLayout, ListWriter};
use crate::{EachNamed, EachRanked, FoundMember, Member, MemberWrites, Members, Result, ScanDirection};

/// Members in a map. A list uses no scores.
#[derive(Default)]
struct MapMembers {
    members: BTreeMap<Vec<u8>, Vec<u8>>,
    cleared: bool,
    /// The bytes that were written.
    written: usize,
    elements: Option<u64>,
    changes: u32,
}

impl Members for MapMembers {
    fn len(&self) -> u64 {
        self.members.len() as u64
    }

    fn with_value(&self, name: &[u8], look: &mut dyn FnMut(&[u8])) -> Result<bool> {
        let value = self.members.get(name);
        value.inspect(|value| look(value));
        Ok(value.is_some())
    }

    fn walk_names(&self, after: Option<&[u8]>, each: EachNamed<'_>) -> Result<()> {
        let rest = self.members.iter().filter(|(name, _)| after.is_none_or(|after| &name[..] > after));
        let _ = rest.into_iter().try_for_each(|(name, value)| each(name, value));
        Ok(())
    }

    fn rank_by(&self, before: &dyn Fn(f64, Member<'_>) -> bool) -> Result<u64> {
        Ok(self.members.keys().take_while(|name| before(1.0, Member::of(name))).count() as u64)
    }

    fn walk_ranks(&self, rank: u64, direction: ScanDirection, each: EachRanked<'_>) -> Result<()> {
        assert!(rank < self.len(), "rank {rank} of {}", self.len());
        let rank = rank as usize;
        let mut show = |name: &Vec<u8>| each(1.0, Member::of(name));
        let _ = match direction {
            ScanDirection::Forward => self.members.keys().skip(rank).try_for_each(&mut show),
            ScanDirection::Backward => self.members.keys().take(rank + 1).rev().try_for_each(&mut show),
        };
        Ok(())
    }
}

impl MemberWrites for MapMembers {
    fn find<'m>(&mut self, _: &'m [u8]) -> Result<FoundMember<'m>> {
        unreachable!("a list has no scores")
    }

    fn put_score(&mut self, _: FoundMember<'_>, _: f64) -> Result<()> {
        unreachable!("a list has no scores")
    }

    fn remove_score(&mut self, _: FoundMember<'_>) -> Result<()> {
        unreachable!("a list has no scores")
    }

    fn put_value(&mut self, name: &[u8], value: &[u8]) -> Result<bool> {
        self.written += name.len() + value.len();
        self.elements = None;
        Ok(self.members.insert(name.to_vec(), value.to_vec()).is_none())
    }

    fn remove_value(&mut self, name: &[u8]) -> Result<bool> {
        self.written += name.len();
        self.elements = None;
        Ok(self.members.remove(name).is_some())
    }

    fn set_cleared(&mut self, cleared: bool) -> bool {
        std::mem::replace(&mut self.cleared, cleared)
    }

    fn elements(&self) -> Option<u64> {
        self.elements
    }

    fn note_elements(&mut self, elements: u64) {
        self.elements = Some(elements);
    }

    fn check_sizes(&self, _: &[u8], _: usize) -> Result<()> {
        Ok(())
    }

    fn admit_growth(&self) -> Result<()> {
        Ok(())
    }
}

impl MapMembers {
    /// Runs a change as an engine does, and checks the list, if it is short or at its turn.
    fn change<R>(&mut self, change: impl FnOnce(&mut ListWriter<'_>) -> Result<R>) -> R {
        let answer = change(&mut ListWriter::new(b"list", self)).unwrap();
        if std::mem::take(&mut self.cleared) {
            self.members.clear();
            self.elements = None;
        }
        self.changes += 1;
        // Checks of long lists take the most time.
        if self.members.len() > 20 && !self.changes.is_multiple_of(8) {
            return answer;
        }
        let noted = self.elements;
        assert_eq!(ListLayout::check(self).unwrap(), Ok(()));
        let len = ListLayout::read(self).unwrap().map_or(0, |layout| layout.len());
        assert_eq!(noted.unwrap_or(len), len, "the noted length");
        answer
    }

    fn all(&mut self) -> Vec<Vec<u8>> {
        self.change(|list| {
            (0..list.len()?).map(|index| Ok(list.get(index)?.expect("it is there").to_vec())).collect()
        })
    }
}

#[derive(Clone, Debug)]
enum Change {
    Push(ListEnd, Vec<Vec<u8>>),
    /// Pushes of one element each.
    PushEach(ListEnd, u64),
    Pop(ListEnd, u64),
    /// Pops of one element each.
    PopEach(ListEnd, u64),
    Set(usize, Vec<u8>),
    /// At so many thousandths of the list: insertions at one place, each before or behind the last one.
    Insert(usize, Vec<u8>, u64, bool),
    RemoveEqual(Vec<u8>, ListEnd, u64),
    Trim(usize, usize),
}

/// Elements, many of them equal, and some long.
fn element() -> impl Strategy<Value = Vec<u8>> {
    let len = prop_oneof![12 => 0..4usize, 3 => 10..40usize, 1 => 300..2500usize];
    (len, b'a'..b'e').prop_map(|(len, letter)| vec![letter; len])
}

fn change() -> impl Strategy<Value = Change> {
    let end = || prop::sample::select(vec![ListEnd::Front, ListEnd::Back]);
    let some = || prop_oneof![3 => 1..40u64, 1 => 100..400u64];
    prop_oneof![
        3 => (end(), prop::collection::vec(element(), 1..200)).prop_map(|(end, all)| Change::Push(end, all)),
        3 => (end(), some()).prop_map(|(end, count)| Change::PushEach(end, count)),
        2 => (end(), some()).prop_map(|(end, count)| Change::Pop(end, count)),
        2 => (end(), some()).prop_map(|(end, count)| Change::PopEach(end, count)),
        2 => (0..1100usize, element()).prop_map(|(at, element)| Change::Set(at, element)),
        4 => (0..1100usize, element(), some(), any::<bool>())
            .prop_map(|(at, element, count, behind)| Change::Insert(at, element, count, behind)),
        3 => (element(), end(), prop_oneof![some(), Just(u64::MAX)])
            .prop_map(|(element, end, count)| Change::RemoveEqual(element, end, count)),
        1 => (0..500usize, 500..1100usize).prop_map(|(start, end)| Change::Trim(start, end)),
    ]
}

/// Returns the index at so many thousandths of a list.
fn index_at(at: usize, len: usize) -> u64 {
    (at * len / 1000) as u64
}

fn number(number: u64) -> Vec<u8> {
    format!("element {number}").into_bytes()
}

fn push_to(model: &mut Vec<Vec<u8>>, end: ListEnd, element: &[u8]) {
    let at = if end == ListEnd::Front { 0 } else { model.len() };
    model.insert(at, element.to_vec());
}

fn pop_from(model: &mut Vec<Vec<u8>>, end: ListEnd) -> Option<Vec<u8>> {
    if end == ListEnd::Back { model.pop() } else { (!model.is_empty()).then(|| model.remove(0)) }
}

fn apply(list: &mut MapMembers, model: &mut Vec<Vec<u8>>, change: &Change) {
    match change {
        Change::Push(end, elements) => {
            list.change(|list| list.push(*end, elements.iter().map(Vec::as_slice)));
            for element in elements {
                push_to(model, *end, element);
            }
        }
        Change::PushEach(end, count) => {
            for element in (0..*count).map(number) {
                list.change(|list| list.push(*end, std::iter::once(&element[..])));
                push_to(model, *end, &element);
            }
        }
        Change::Pop(end, count) => pop(list, model, *end, *count),
        Change::PopEach(end, count) => (0..*count).for_each(|_| pop(list, model, *end, 1)),
        Change::Set(at, element) => {
            let index = index_at(*at, model.len());
            let set = list.change(|list| list.set(index, element));
            assert_eq!(set, index < model.len() as u64);
            if set {
                model[index as usize].clone_from(element);
            }
        }
        Change::Insert(at, element, count, behind) => {
            let mut index = index_at(*at, model.len());
            for _ in 0..*count {
                list.change(|list| list.insert(index, element));
                model.insert((index as usize).min(model.len()), element.clone());
                index += u64::from(*behind);
            }
        }
        Change::RemoveEqual(element, end, count) => {
            let mut equal: Vec<usize> = (0..model.len()).filter(|at| model[*at] == *element).collect();
            assert_eq!(list.change(|list| list.find(element)), equal.first().map(|at| *at as u64));
            if *end == ListEnd::Back {
                equal.reverse();
            }
            equal.truncate(usize::try_from(*count).unwrap_or(usize::MAX));
            let removed = list.change(|list| list.remove_equal(element, *end, *count));
            assert_eq!(removed, equal.len() as u64);
            equal.sort_unstable();
            equal.iter().rev().for_each(|at| _ = model.remove(*at));
        }
        Change::Trim(start, end) => {
            let Range { start, end } = index_at(*start, model.len())..index_at(*end, model.len());
            list.change(|list| list.trim(start..end));
            model.truncate(end as usize);
            model.drain(..(start as usize).min(model.len()));
        }
    }
}

fn pop(list: &mut MapMembers, model: &mut Vec<Vec<u8>>, end: ListEnd, count: u64) {
    let (mut popped, until) = (Vec::new(), count > 0 && model.len().is_multiple_of(2));
    list.change(|list| {
        assert_eq!(list.peek(end)?.is_some(), list.len()? > 0);
        if !until {
            return list.pop(end, count, |element| popped.push(element.to_vec()));
        }
        list.pop_until(end, u64::MAX, |element| {
            popped.push(element.to_vec());
            if (popped.len() as u64) < count { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })
    });
    let expected: Vec<Vec<u8>> = (0..count).map_while(|_| pop_from(model, end)).collect();
    assert_eq!(popped, expected);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_list_is_a_vector(changes in prop::collection::vec(change(), 1..30)) {
        let (mut list, mut model) = (MapMembers::default(), Vec::new());
        for change in &changes {
            apply(&mut list, &mut model, change);
            prop_assert_eq!(list.all(), model.clone());
        }
    }
}

/// Incident: positions between two chunks halve with each chunk that is put at one place, so some
/// hundred insertions at one place use them up. Then the whole list was written anew. Now only the
/// chunks around get new positions.
#[test]
fn insertions_at_one_place_never_end_and_write_little() {
    for (at, behind) in [(0, true), (500, false), (500, true), (1000, false)] {
        let (mut list, mut model) = (MapMembers::default(), Vec::new());
        let long = vec![b'x'; 900];
        apply(&mut list, &mut model, &Change::Push(ListEnd::Back, vec![long.clone(); 2000]));
        let (mut index, mut most) = (index_at(at, model.len()).max(1), 0);
        for round in 0..400 {
            list.written = 0;
            list.change(|list| {
                if round % 7 == 3 { list.set(index, &long).map(drop) } else { list.insert(index, &long) }
            });
            most = most.max(list.written);
            if round % 7 != 3 {
                model.insert(index as usize, long.clone());
                index += u64::from(behind);
            }
        }
        assert_eq!(list.all(), model);
        assert!(most < 100_000, "a change of {} bytes wrote {most}", long.len());
    }
}

/// A queue, a stack at each end, and rotation write some ten times the bytes that they hold, and
/// occupy little more than those bytes.
#[test]
fn pushes_and_pops_write_little() {
    const ELEMENTS: u64 = 5_000;
    let bytes: usize = (0..ELEMENTS).map(|at| number(at).len() + 1).sum();
    for (to, from) in [(ListEnd::Back, ListEnd::Front), (ListEnd::Front, ListEnd::Front)] {
        let (mut list, mut model) = (MapMembers::default(), Vec::new());
        let push = |list: &mut MapMembers, model: &mut Vec<Vec<u8>>, at| {
            let element = number(at);
            ListWriter::new(b"list", list).push(to, std::iter::once(&element[..])).unwrap();
            push_to(model, to, &element);
        };
        (0..ELEMENTS).for_each(|at| push(&mut list, &mut model, at));
        assert_eq!(list.all(), model);
        assert!(list.written < 20 * bytes, "{} bytes written for {bytes}", list.written);
        let held: usize = list.members.iter().map(|(name, value)| name.len() + value.len()).sum();
        assert!(held < bytes + bytes / 40, "{held} bytes for {bytes}");
        assert!(list.members.len() < 60, "{} chunks", list.members.len());
        list.written = 0;
        for _ in 0..ELEMENTS {
            ListWriter::new(b"list", &mut list).pop(from, 1, |_| {}).unwrap();
        }
        assert!(list.members.is_empty());
        assert!(list.written < 20 * bytes, "{} bytes written for {bytes}", list.written);
    }
}
