//! Random schedules of migrations between the pages of a range. Every key that is present all the
//! time must be returned exactly once, in order.
//!
//! Three slots move among three nodes. A fourth node owns the other slots. Between two pages, the
//! test runs steps that the contract allows:
//!
//! - import, migrate, move one key, own, learn the new owner;
//! - an owner fails over and forgets its migrations;
//! - a migration is aborted, and its keys are moved back.
//!
//! Within one window a slot changes its owner at most once, and its keys move in one direction. No
//! migration is aborted that began since the previous round.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::ValueTree;

use super::*;

const SLOTS: usize = 3;
const NODES: usize = 4;
/// The node that owns the slots that do not move.
const REST: usize = 3;
const KEYS: u8 = 40;
/// The most names that a page checks.
const PAGE: usize = 5;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MigrationCourse {
    Forth,
    Back,
}

/// A slot in motion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SlotMigration {
    to: usize,
    /// Keys are moved back; the owner does not call it a migration.
    aborted: bool,
}

#[derive(Debug, Default, Clone)]
struct ScheduleNode {
    keys: BTreeSet<u8>,
    owned: [bool; SLOTS],
    importing: [bool; SLOTS],
    migrating: [bool; SLOTS],
}

#[derive(Debug, Clone)]
struct ScheduleCluster {
    nodes: [ScheduleNode; NODES],
    owner: [usize; SLOTS],
    moves: [Option<SlotMigration>; SLOTS],
    /// The old owner, while it has not learned of the new one.
    unaware: [Option<usize>; SLOTS],
    /// The slots that do not move.
    rest: SlotSet,
    /// Windows since the last migration of a slot began.
    age: [u8; SLOTS],
    // State of the present window:
    changed_owner: [bool; SLOTS],
    course: [Option<MigrationCourse>; SLOTS],
}

fn slot_of(key: u8) -> usize {
    usize::from(key) % SLOTS
}

impl ScheduleCluster {
    fn new() -> Self {
        let mut nodes: [ScheduleNode; NODES] = Default::default();
        for (slot, node) in nodes.iter_mut().enumerate().take(SLOTS) {
            node.owned[slot] = true;
        }
        for key in 0..KEYS {
            nodes[slot_of(key)].keys.insert(key);
        }
        Self {
            nodes,
            owner: std::array::from_fn(|slot| slot),
            moves: [None; SLOTS],
            unaware: [None; SLOTS],
            rest: "3-16383".parse().expect("slots"),
            age: [0; SLOTS],
            changed_owner: [false; SLOTS],
            course: [None; SLOTS],
        }
    }

    fn begin_window(&mut self) {
        for age in &mut self.age {
            *age = age.saturating_add(1);
        }
        self.changed_owner = [false; SLOTS];
        self.course = [None; SLOTS];
    }

    /// Runs one step, if the contract allows it now. `choice` selects among several.
    fn step(&mut self, slot: usize, choice: u8) {
        let owner = self.owner[slot];
        let Some(moving) = self.moves[slot] else {
            let to = usize::from(choice) % REST;
            if let Some(old) = self.unaware[slot].take() {
                self.nodes[old].owned[slot] = false;
                self.nodes[old].migrating[slot] = false;
            } else if to != owner {
                self.nodes[to].importing[slot] = true;
                self.moves[slot] = Some(SlotMigration { to, aborted: false });
                self.age[slot] = 0;
            }
            return;
        };
        match choice {
            // A migration that began since the previous round must not be aborted.
            0..24 if self.age[slot] < 2 => {}
            // The owner fails over to a replica, which knows of no migration.
            0..16 => self.nodes[owner].migrating[slot] = false,
            16..24 => {
                self.nodes[owner].migrating[slot] = false;
                self.moves[slot] = Some(SlotMigration { aborted: true, ..moving });
            }
            _ if moving.aborted => self.go_back(slot, moving.to),
            _ if !self.nodes[owner].migrating[slot] => self.nodes[owner].migrating[slot] = true,
            _ => self.go_forth(slot, moving.to),
        }
    }

    fn go_forth(&mut self, slot: usize, to: usize) {
        let owner = self.owner[slot];
        if self.move_key(slot, owner, to, MigrationCourse::Forth) || self.changed_owner[slot] {
            return;
        }
        if self.nodes[owner].keys.iter().any(|key| slot_of(*key) == slot) {
            return;
        }
        self.nodes[to].importing[slot] = false;
        self.nodes[to].owned[slot] = true;
        self.owner[slot] = to;
        self.unaware[slot] = Some(owner);
        self.moves[slot] = None;
        self.changed_owner[slot] = true;
    }

    fn go_back(&mut self, slot: usize, to: usize) {
        if self.move_key(slot, to, self.owner[slot], MigrationCourse::Back) {
            return;
        }
        if !self.nodes[to].keys.iter().any(|key| slot_of(*key) == slot) {
            self.nodes[to].importing[slot] = false;
            self.moves[slot] = None;
        }
    }

    /// Moves a key of the slot. Returns whether there was a key that could be moved.
    fn move_key(&mut self, slot: usize, from: usize, to: usize, course: MigrationCourse) -> bool {
        if self.course[slot].is_some_and(|other| other != course) {
            return false;
        }
        let Some(key) = self.nodes[from].keys.iter().copied().find(|key| slot_of(*key) == slot) else {
            return false;
        };
        self.course[slot] = Some(course);
        self.nodes[from].keys.remove(&key);
        self.nodes[to].keys.insert(key);
        true
    }

    fn page(&self, node: usize, after: Option<u8>) -> NodePage {
        let of = |flags: &[bool; SLOTS]| {
            let mut slots = SlotSet::EMPTY;
            (0..SLOTS).filter(|slot| flags[*slot]).for_each(|slot| slots.insert(slot as u16));
            slots
        };
        let at = &self.nodes[node];
        let (mut owned, importing, migrating) = (of(&at.owned), of(&at.importing), of(&at.migrating));
        let shown = owned.union(&importing);
        if node == REST {
            owned = self.rest.clone();
        }
        let left: Vec<u8> =
            at.keys.iter().copied().filter(|key| after.is_none_or(|after| *key > after)).collect();
        let looked = &left[..left.len().min(PAGE)];
        NodePage {
            owned,
            importing,
            migrating,
            last: if left.len() > PAGE { looked.last().map(|key| vec![*key]) } else { None },
            entries: (looked.iter().filter(|key| shown.contains(slot_of(**key) as u16)))
                .map(|key| ClusterEntry { key: vec![*key], held: None })
                .collect(),
        }
    }
}

/// The steps, and how many of them run before each page.
struct MigrationSchedule {
    world: ScheduleCluster,
    steps: std::vec::IntoIter<(u8, u8)>,
    pace: std::iter::Cycle<std::vec::IntoIter<u8>>,
}

impl MigrationSchedule {
    fn run(&mut self) {
        for _ in 0..self.pace.next().unwrap_or(1) {
            if let Some((slot, choice)) = self.steps.next() {
                self.world.step(usize::from(slot) % SLOTS, choice);
            }
        }
        if self.steps.len() == 0 {
            // Finish the migration of every slot.
            (0..SLOTS).for_each(|slot| self.world.step(slot, u8::MAX));
        }
    }

    fn pages(&mut self, after: Option<u8>, turned: bool) -> Vec<NodePage> {
        let mut pages: Vec<Option<NodePage>> = vec![None; NODES];
        let mut order: Vec<usize> = (0..NODES).collect();
        if turned {
            order.reverse();
        }
        for node in order {
            self.run();
            pages[node] = Some(self.world.page(node, after));
        }
        pages.into_iter().flatten().collect()
    }
}

/// Returns the keys of a range that makes its windows by `rules`.
fn range(
    steps: Vec<(u8, u8)>,
    pace: Vec<u8>,
    rules: impl Fn(
        Vec<NodePage>,
        Option<&SlotSet>,
        &mut dyn FnMut() -> Vec<NodePage>,
    ) -> Result<MergeWindow, Setback>,
) -> Vec<u8> {
    let mut schedule = MigrationSchedule {
        world: ScheduleCluster::new(),
        steps: steps.into_iter(),
        pace: pace.into_iter().cycle(),
    };
    let (mut found, mut after, mut before) = (Vec::new(), None, None);
    for turn in 0..100_000 {
        schedule.world.begin_window();
        let firsts = schedule.pages(after, turn % 2 == 1);
        let mut moving = in_motion(&firsts);
        let window = rules(firsts, before.as_ref(), &mut || {
            let seconds = schedule.pages(after, turn % 3 == 1);
            moving = moving.union(&in_motion(&seconds));
            seconds
        });
        before = Some(moving);
        let Ok(window) = window else { continue };
        found.extend(window.entries.iter().map(|entry| entry.key[0]));
        match window.end {
            Some(end) => after = Some(end[0]),
            None => return found,
        }
    }
    panic!("the range does not end");
}

fn steps() -> impl Strategy<Value = Vec<(u8, u8)>> {
    vec((0..SLOTS as u8, any::<u8>()), 0..300)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn no_schedule_hides_or_repeats_a_key(steps in steps(), pace in vec(0..6u8, 1..12)) {
        let found = range(steps, pace, |firsts, before, again| {
            read(firsts, before, ScanDirection::Forward, |_| Ok(again()))
        });
        prop_assert_eq!(found, (0..KEYS).collect::<Vec<_>>());
    }
}

/// Checks that the schedules are hard enough: without the second pages they hide keys.
#[test]
fn a_plain_merge_hides_keys() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let strategy = (steps(), vec(0..6u8, 1..12));
    let found = (0..2000).any(|_| {
        let (steps, pace) = strategy.new_tree(&mut runner).expect("a schedule").current();
        let found = range(steps, pace, |firsts, _, _| {
            check_ownership(&firsts)?;
            Ok(merge(firsts, ScanDirection::Forward))
        });
        found != (0..KEYS).collect::<Vec<_>>()
    });
    assert!(found, "no schedule hides a key");
}
