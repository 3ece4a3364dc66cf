//! A power cut at every operation of the disk leaves an earlier state, not older than the last
//! acknowledged one, and groups are whole (contract 1, 3 and 5).

use skein_data::{CollectionKind, Engine, EngineError, EngineWriter, ListEnd, RowWriter, Ticket};
use skein_log::storage::sim::SimStorage;
use skein_store::ExpiryClock;

use crate::contents::{Contents, State, Text, state_of};
use crate::engines::{EngineKind, over_each, wait_durable};
use crate::operations::{KeyWrite, apply, write_in};
use crate::stream_operations::StreamWrite;

/// The states of an engine, one after the other.
#[derive(Default)]
pub struct StateHistory {
    pub states: Vec<State>,
    /// The states within groups, which an engine that undoes nothing may show after an error.
    within: Vec<State>,
    /// The number of acknowledged states.
    acknowledged: usize,
}

impl StateHistory {
    /// Adds the state after some writes, which are about to be done.
    fn add(&mut self, writes: &[KeyWrite], now: u64) {
        let mut state = self.states.last().cloned().unwrap_or_default();
        for write in writes {
            let _ = apply(&mut state, write, now);
            self.within.push(state.clone());
        }
        self.states.push(state);
    }

    /// Returns whether an engine with these contents has lost nothing and made nothing up.
    pub fn allows(&self, found: &State) -> bool {
        let last = self.states.iter().rposition(|state| state == found);
        last.is_some_and(|last| last + 1 >= self.acknowledged)
    }

    /// Returns whether an engine may show these contents after an error of the disk.
    pub fn allows_after_error(&self, kind: EngineKind, found: &State) -> bool {
        self.allows(found) || matches!(kind, EngineKind::Memory(_)) && self.within.contains(found)
    }
}

/// Returns groups of writes: every kind of contents, made, changed, moved and removed.
fn groups() -> Vec<Vec<KeyWrite>> {
    use {KeyWrite as W, StreamWrite as S};
    let scores = |n: i32| (0..n).map(|at| (Text(format!("m{at}").into_bytes()), at % 3)).collect();
    let put = |key: &str, len| W::Put(Text::from(key), Text(vec![b'v'; len]));
    vec![
        vec![put("a", 10)],
        vec![put("b", 2000), put("c", 3), W::Remove(Text::from("a"))],
        vec![W::PutScores(Text::from("set"), scores(5)), W::Increment(Text::from("n"), 7)],
        vec![W::AddMembers(Text::from("plain"), [Text::from("x"), Text::from("y")].into())],
        vec![W::PutManyColumns(Text::from("hash"), 70)],
        vec![W::InsertElements(Text::from("list"), 0, 40)],
        vec![
            W::MoveElement(Text::from("list"), ListEnd::Back, Text::from("queue"), ListEnd::Front),
            W::Trim(Text::from("list"), 1, 30),
        ],
        vec![
            W::Stream(Text::from("stream"), S::Add(3, Text::from("entry"))),
            W::Stream(Text::from("stream"), S::CreateGroup(b'g')),
        ],
        vec![W::Stream(Text::from("stream"), S::Deliver(b'g', b'a', 2, true))],
        vec![W::Stream(Text::from("stream"), S::Claim(b'g', b'b', 1, false))],
        vec![W::RemoveScores(Text::from("set"), vec![Text::from("m1")]), put("a", 2900)],
        vec![
            W::Rename(Text::from("set"), Text::from("moved"), true),
            W::Copy(Text::from("hash"), Text::from("twin"), true),
        ],
        vec![
            W::ReplaceScores(Text::from("hash"), scores(2), Some(1_000_000)),
            W::Expire(Text::from("c"), Some(1_000_000)),
        ],
        vec![
            W::MoveMember(Text::from("plain"), Text::from("other"), Text::from("x")),
            W::Remove(Text::from("twin")),
            W::RemoveScores(Text::from("moved"), vec![Text::from("m0")]),
            put("set", 1),
        ],
    ]
}

/// Does all groups, and notes the states. Stops at the first error.
pub fn work(engine: &Engine, history: &mut StateHistory) -> Result<(), EngineError> {
    let mut session = engine.session();
    for (at, group) in groups().iter().enumerate() {
        history.add(group, engine.now());
        let mut keys = match group.len() {
            1 => session.keys(),
            _ => session.begin()?,
        };
        let mut last = Ticket::default();
        for write in group {
            last = write_in(&mut keys, write)?.1;
        }
        let committed = keys.commit()?;
        wait_durable(engine, if group.len() == 1 { last } else { committed })?;
        history.acknowledged = history.states.len();
        if at % 3 == 2 {
            engine.checkpoint()?;
        }
    }
    engine.close()
}

/// Opens the engine on the disk, does the work, and notes its states.
pub fn run(kind: EngineKind, disk: &SimStorage, history: &mut StateHistory) -> Result<(), EngineError> {
    let engine = kind.open(disk, &ExpiryClock::manual(1_000_000))?;
    history.states.push(State::new());
    let done = work(&engine, history);
    // After a failed operation, the end may fail only with an error.
    engine.close().and(done)
}

/// Asserts that the engine opens with a state of the history, and that it accepts writes.
pub fn assert_recovers(kind: EngineKind, disk: &SimStorage, history: &StateHistory, about: &str) {
    let engine = kind.open(disk, &ExpiryClock::manual(1_000_000));
    let engine = engine.unwrap_or_else(|error| panic!("{kind}, {about}: {error}"));
    let mut session = engine.session();
    let mut keys = session.keys();
    let found = state_of(&mut keys).unwrap_or_else(|error| panic!("{kind}, {about}: {error}"));
    let untouched = history.states.is_empty() && found.is_empty();
    assert!(untouched || history.allows(&found), "{kind}, {about}: a state that never was: {found:?}");
    assert_eq!(engine.len(), found.len(), "{kind}, {about}");
    let (done, ticket) =
        write_in(&mut keys, &KeyWrite::Put(Text::from("after"), Text::from("x"))).expect("a write");
    assert!(done.is_ok());
    wait_durable(&engine, ticket).unwrap_or_else(|error| panic!("{kind}, {about}: {error}"));
    let after = state_of(&mut keys).expect("the state");
    assert_eq!(after.len(), found.len() + 1, "{kind}, {about}");
    assert_eq!(after[&b"after"[..]].contents, Contents::Value(Text::from("x")));
    engine.close().unwrap_or_else(|error| panic!("{kind}, {about}: {error}"));
}

#[test]
fn no_power_cut_loses_an_acknowledged_write() {
    over_each(|kind| {
        let disk = SimStorage::new();
        run(kind, &disk, &mut StateHistory::default()).expect("work without a fault");
        let operations = disk.operations();
        assert!(operations > 100, "{operations} operations");
        for at in 1..=operations {
            let (disk, mut history) = (SimStorage::new(), StateHistory::default());
            disk.cut_power_at(at);
            let _ = run(kind, &disk, &mut history);
            disk.reboot(at * 31);
            assert_recovers(kind, &disk, &history, &format!("cut at {at} of {operations}"));
        }
    });
}

/// A move between two keys that holds the only entry of a collection.
#[derive(Clone, Copy, Debug)]
enum OneMove {
    Member,
    Element,
}

impl OneMove {
    fn begin(self, writer: &mut EngineWriter<'_, '_>, key: &[u8]) -> Result<(), EngineError> {
        match self {
            Self::Member => writer.change_set_of::<_, EngineError>(CollectionKind::Set, key, true, |set| {
                Ok(set.add(b"member").map(drop)?)
            }),
            Self::Element => writer.change_list::<_, EngineError>(key, true, |list| {
                Ok(list.push(ListEnd::Back, std::iter::once(&b"element"[..]))?)
            }),
        }
        .map(drop)
    }

    fn run(self, writer: &mut EngineWriter<'_, '_>, from: &[u8], to: &[u8]) -> Result<bool, EngineError> {
        match self {
            Self::Member => writer.move_member(CollectionKind::Set, from, to, b"member"),
            Self::Element => {
                let moved = writer.move_element((from, ListEnd::Front), (to, ListEnd::Back))?;
                Ok(moved.is_some())
            }
        }
    }
}

/// Moves an entry to and fro, as fast as possible, while the log makes the moves durable.
fn move_to_and_fro(engine: &Engine, one: OneMove) -> Result<(), EngineError> {
    const KEYS: [&[u8]; 2] = [b"one", b"two"];
    let mut session = engine.session();
    let (added, _) = session.keys().write(|writer| one.begin(writer, KEYS[0]));
    added??;
    for _ in 0..30 {
        // So many that most epochs end during one of them.
        let (done, ticket) = session.keys().write(|writer| {
            (0..20).try_for_each(|round| {
                let (from, to) = (KEYS[round % 2], KEYS[(round + 1) % 2]);
                one.run(writer, from, to).map(|moved| assert!(moved))
            })
        });
        done??;
        engine.request_durable(ticket);
    }
    engine.close()
}

/// Incident: a move wrote to its two sets one after the other. Consequence: after a power cut in
/// between, the member was in both sets. Fix: a move is one group.
#[test]
fn what_is_moved_is_in_one_place_after_a_power_cut() {
    over_each(|kind| {
        for one in [OneMove::Member, OneMove::Element] {
            let mut seen = 0;
            for at in 1..=100 {
                let (disk, clock) = (SimStorage::new(), ExpiryClock::manual(1_000_000));
                let engine = kind.open(&disk, &clock).expect("an engine");
                disk.cut_power_at(disk.operations() + at);
                let _ = move_to_and_fro(&engine, one);
                drop(engine);
                disk.reboot(at * 31);
                let engine = kind.open(&disk, &clock).expect("an engine");
                let mut session = engine.session();
                let found = state_of(&mut session.keys()).expect("the state");
                assert!(found.len() < 2, "{kind}, {one:?}, cut at {at}: {found:?}");
                seen += found.len();
            }
            assert!(seen > 30, "{kind}, {one:?}: {seen} of the cuts left a move");
        }
    });
}
