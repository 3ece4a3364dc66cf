//! Random requests. A round has a theme: in one of all commands, two on the same key are rare.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::command::{DATABASES, GroupKind, ListEnd, WireCommand, WireKey, WireRequest};
use crate::random::TestRandom;

/// The subject of most commands of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WireTheme {
    Texts,
    Lists,
    /// Many clients that wait for one list.
    Queues,
    Sets,
    Scores,
    Streams,
    /// Keys of all kinds, and their moves between databases.
    Keys,
    /// Keys that expire.
    Expiry,
}

impl WireTheme {
    pub const ALL: [Self; 8] = [
        Self::Lists,
        Self::Queues,
        Self::Texts,
        Self::Keys,
        Self::Sets,
        Self::Scores,
        Self::Streams,
        Self::Expiry,
    ];
}

const TEXTS: [WireKey; 2] = [WireKey(0), WireKey(1)];
const LISTS: [WireKey; 3] = [WireKey(2), WireKey(3), WireKey(4)];
const SETS: [WireKey; 2] = [WireKey(5), WireKey(6)];
const SCORES: [WireKey; 2] = [WireKey(7), WireKey(8)];
const STREAM: WireKey = WireKey(9);

/// The longest wait of a client, in milliseconds.
const WAIT_MAX: usize = 30;

/// The source of a client's requests.
pub struct WorkloadGenerator<'r> {
    pub random: TestRandom,
    pub theme: WireTheme,
    /// The last element that any client of the round has written.
    pub elements: &'r AtomicU32,
    /// Whether the client has begun to watch keys.
    watches: bool,
    swaps: bool,
}

impl<'r> WorkloadGenerator<'r> {
    pub fn new(seed: u64, theme: WireTheme, elements: &'r AtomicU32) -> Self {
        Self { random: TestRandom::new(seed), theme, elements, watches: false, swaps: true }
    }

    /// Leaves SWAPDB out.
    pub fn without_swaps(self) -> Self {
        Self { swaps: false, ..self }
    }

    /// Returns the next requests, which are sent as one pipeline.
    pub fn pipeline(&mut self) -> Vec<WireRequest> {
        // Its ranges follow when it has begun.
        if self.shows_snapshots() && self.one_in(12) {
            return vec![WireRequest::Snapshot];
        }
        let len = if self.one_in(3) { 2 + self.random.below(2) } else { 1 };
        (0..len).map(|_| self.request()).collect()
    }

    /// The model has neither the ids of streams nor the moments of a snapshot's ranges, at which
    /// keys may have expired.
    fn shows_snapshots(&self) -> bool {
        !matches!(self.theme, WireTheme::Streams | WireTheme::Expiry)
    }

    fn request(&mut self) -> WireRequest {
        if self.theme == WireTheme::Texts && !self.one_in(3) {
            let (one, other) = (self.fresh(), self.fresh());
            return WireRequest::One(match self.random.below(2) {
                0 => WireCommand::SetAll(vec![(TEXTS[0], one), (TEXTS[1], other)]),
                _ => WireCommand::GetAll(TEXTS.to_vec()),
            });
        }
        if self.theme == WireTheme::Queues && !self.one_in(4) {
            let (key, millis) = (LISTS[0], self.millis());
            return WireRequest::One(if self.one_in(3) {
                let count = 1 + self.random.below(3);
                WireCommand::Push(ListEnd::Right, key, (0..count).map(|_| self.fresh()).collect())
            } else {
                WireCommand::WaitPop { end: ListEnd::Left, keys: vec![key], millis }
            });
        }
        if self.watches && !self.one_in(3) {
            self.watches = false;
            return WireRequest::Group(GroupKind::Multi, self.group());
        }
        match self.random.below(24) {
            0 => WireRequest::Spin(10_000 * (1 + self.random.below(10)) as u32),
            1 | 2 => WireRequest::Group(GroupKind::Multi, self.group()),
            3 | 4 => WireRequest::Group(GroupKind::Script, self.group()),
            5 => {
                self.watches = true;
                let key = self.key();
                WireRequest::Watch(vec![key])
            }
            6 => WireRequest::One(WireCommand::Select(self.database())),
            7 | 8 => WireRequest::One(self.swap()),
            9 => WireRequest::One(self.reach_across()),
            10..=12 => WireRequest::One(self.waiting()),
            _ => WireRequest::One(self.command()),
        }
    }

    fn one_in(&mut self, count: usize) -> bool {
        self.random.below(count) == 0
    }

    /// Databases 0 and 1 are frequent.
    fn database(&mut self) -> usize {
        [0, 0, 1, 1, DATABASES - 1][self.random.below(5)]
    }

    fn swap(&mut self) -> WireCommand {
        match self.random.below(4) {
            _ if !self.swaps => self.command(),
            0 => WireCommand::SwapDatabases(1, 2),
            _ => WireCommand::SwapDatabases(0, 1),
        }
    }

    fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.random.below(items.len())]
    }

    /// Returns two different keys of some.
    fn pair(&mut self, keys: &[WireKey]) -> [WireKey; 2] {
        let first = self.random.below(keys.len());
        let second = (first + 1 + self.random.below(keys.len() - 1)) % keys.len();
        [keys[first], keys[second]]
    }

    fn end(&mut self) -> ListEnd {
        self.pick(&[ListEnd::Left, ListEnd::Right])
    }

    fn fresh(&mut self) -> u32 {
        self.elements.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Returns an element that was written a short while ago.
    fn recent(&mut self) -> u32 {
        let back = self.random.below(6) as u32;
        self.elements.load(Ordering::Relaxed).saturating_sub(back)
    }

    fn millis(&mut self) -> u64 {
        1 + self.random.below(WAIT_MAX) as u64
    }

    /// Returns the keys of a theme of one kind of keys.
    pub fn keys_of(theme: WireTheme) -> &'static [WireKey] {
        match theme {
            WireTheme::Texts | WireTheme::Expiry | WireTheme::Keys => &TEXTS,
            WireTheme::Lists | WireTheme::Queues => &LISTS[..2],
            WireTheme::Sets => &SETS,
            WireTheme::Scores => &SCORES,
            WireTheme::Streams => &[STREAM],
        }
    }

    /// Returns the keys of the theme, of one kind.
    fn keys(&mut self) -> &'static [WireKey] {
        let themes = [WireTheme::Texts, WireTheme::Lists, WireTheme::Sets, WireTheme::Scores];
        let theme = if self.theme == WireTheme::Keys { self.pick(&themes) } else { self.theme };
        Self::keys_of(theme)
    }

    fn key(&mut self) -> WireKey {
        let keys = self.keys();
        self.pick(keys)
    }

    fn group(&mut self) -> Vec<WireCommand> {
        let len = 2 + self.random.below(3);
        (0..len)
            .map(|_| match self.random.below(12) {
                0 => WireCommand::Select(self.database()),
                1 => self.swap(),
                2 => self.reach_across(),
                3 if self.one_in(3) => WireCommand::FlushDatabase,
                _ => self.command(),
            })
            .collect()
    }

    /// Returns a command on a whole key, in one database or two.
    fn reach_across(&mut self) -> WireCommand {
        let keys = self.keys();
        let key = self.pick(keys);
        let database = self.database();
        let [from, to] = if keys.len() > 1 { self.pair(keys) } else { [key, TEXTS[0]] };
        match self.random.below(6) {
            0 | 1 => WireCommand::Rename { from, to },
            // COPY would double the elements.
            2 => WireCommand::Copy { from, to, database: None, replace: self.one_in(2) },
            3 => WireCommand::Delete(key),
            _ => WireCommand::MoveKey(key, database),
        }
    }

    /// Returns a command that may wait, or another one if the theme has no such command.
    fn waiting(&mut self) -> WireCommand {
        let millis = self.millis();
        match self.theme {
            WireTheme::Lists | WireTheme::Queues | WireTheme::Keys => {
                let [from, to] = self.pair(&LISTS[..2]);
                let end = self.end();
                match self.random.below(4) {
                    0 => WireCommand::WaitMove { from, to, take: end, put: self.end(), millis },
                    1 => WireCommand::WaitPop { end, keys: vec![from, to], millis },
                    _ => WireCommand::WaitPop { end, keys: vec![from], millis },
                }
            }
            WireTheme::Scores => {
                let [first, second] = self.pair(&SCORES);
                let keys = if self.one_in(2) { vec![first, second] } else { vec![first] };
                WireCommand::WaitScorePop { keys, millis }
            }
            WireTheme::Streams => WireCommand::WaitGroupRead { key: STREAM, millis },
            WireTheme::Texts | WireTheme::Sets | WireTheme::Expiry => self.command(),
        }
    }

    fn command(&mut self) -> WireCommand {
        match self.theme {
            WireTheme::Texts => self.text_command(),
            WireTheme::Expiry => self.expiry_command(),
            WireTheme::Lists | WireTheme::Queues => self.list_command(),
            WireTheme::Sets => self.set_command(),
            WireTheme::Scores => self.score_command(),
            WireTheme::Streams => self.stream_command(),
            WireTheme::Keys => match self.random.below(5) {
                0 => self.text_command(),
                1 | 2 => self.list_command(),
                3 => self.set_command(),
                _ => self.score_command(),
            },
        }
    }

    fn text_command(&mut self) -> WireCommand {
        let [key, other] = self.pair(&TEXTS);
        let value = self.fresh();
        match self.random.below(10) {
            0..=2 => WireCommand::Set(key, value),
            3 | 4 => WireCommand::Get(key),
            5 => WireCommand::GetDel(key),
            6 => WireCommand::SetAll(vec![(key, value), (other, self.fresh())]),
            7 | 8 => WireCommand::GetAll(vec![key, other]),
            _ => WireCommand::Exists(vec![key, other]),
        }
    }

    fn expiry_command(&mut self) -> WireCommand {
        let key = self.pick(&TEXTS);
        let millis = 1 + self.random.below(4) as u64;
        match self.random.below(8) {
            0..=2 => WireCommand::SetFor(key, self.fresh(), millis),
            3 => WireCommand::ExpireIn(key, millis),
            4 => WireCommand::Persist(key),
            _ => self.text_command(),
        }
    }

    fn list_command(&mut self) -> WireCommand {
        let [key, other] = self.pair(&LISTS[..2]);
        let (end, put) = (self.end(), self.end());
        match self.random.below(12) {
            0..=3 => {
                let count = 1 + self.random.below(2);
                WireCommand::Push(end, key, (0..count).map(|_| self.fresh()).collect())
            }
            4..=6 => WireCommand::Pop(end, key),
            7 | 8 => WireCommand::MoveElement { from: key, to: other, take: end, put },
            9 => WireCommand::SortInto { from: key, to: other },
            _ => WireCommand::List(key),
        }
    }

    fn set_command(&mut self) -> WireCommand {
        let [key, other] = self.pair(&SETS);
        match self.random.below(10) {
            0..=3 => WireCommand::SetAdd(key, self.fresh()),
            4 | 5 => WireCommand::SetMove { from: key, to: other, member: self.recent() },
            6 => WireCommand::SetPop(key),
            7 => WireCommand::SetRemove(key, self.recent()),
            8 => WireCommand::SetUnionInto { to: key, from: SETS },
            _ => WireCommand::SetMembers(key),
        }
    }

    fn score_command(&mut self) -> WireCommand {
        let key = self.pick(&SCORES);
        match self.random.below(6) {
            0..=2 => WireCommand::ScoreAdd(key, self.fresh()),
            3 | 4 => WireCommand::ScorePop(key),
            _ => WireCommand::Scores(key),
        }
    }

    fn stream_command(&mut self) -> WireCommand {
        match self.random.below(8) {
            0 | 1 => WireCommand::GroupCreate(STREAM),
            2..=4 => WireCommand::StreamAdd(STREAM, self.fresh()),
            5 | 6 => WireCommand::GroupRead(STREAM),
            _ => WireCommand::StreamLen(STREAM),
        }
    }
}

/// Returns the requests that show all contents at the end of a round, for each database.
pub fn inventory() -> Vec<WireRequest> {
    let keys = |keys: &[WireKey], command: fn(WireKey) -> WireCommand| {
        keys.iter().copied().map(command).collect::<Vec<_>>()
    };
    let all = [
        vec![WireCommand::GetAll(TEXTS.to_vec())],
        keys(&LISTS, WireCommand::List),
        keys(&SETS, WireCommand::SetMembers),
        keys(&SCORES, WireCommand::Scores),
        vec![WireCommand::StreamLen(STREAM)],
    ]
    .concat();
    (0..DATABASES)
        .flat_map(|database| {
            let select = WireRequest::One(WireCommand::Select(database));
            [select, WireRequest::Group(GroupKind::Multi, all.clone())]
        })
        .collect()
}
