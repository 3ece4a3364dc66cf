//! Rooms: several threads work side by side, each in a room, or one of them works alone.
//!
//! ```text
//!   thread 0    door, room ├─ work ─┤      door, room ├─ work ─┤
//!   thread 1    door, room ├─ work ─┤ all doors and rooms ├─ alone ─┤
//! ```
//!
//! Each room has a door: two mutexes on a cache line that no other thread touches while all work
//! side by side. To enter, a thread locks the door, locks the room, unlocks the door, and keeps the
//! room. To work alone, a thread that holds no room locks `alone`, then the door and the room of
//! every open room in order, and keeps all of them. A room is open once a thread has entered it. So
//! threads that only ever work alone, as commits of transactions do, meet at one lock.
//!
//! # Invariants
//! 1. A thread that works holds an open room, or `alone` and all open rooms. A room is opened under
//!    `alone`. So while one is alone, no other works.
//! 2. Nobody asks for a room or for all rooms while it holds one. While a thread takes all rooms,
//!    it holds rooms in their order, as all others do. A thread that waits for a door holds
//!    nothing, or `alone` and the doors and rooms before it; no thread in a room asks for any of
//!    these. So there is no deadlock.
//! 3. A thread that asks to be alone waits for at most one piece of work in each room once it has
//!    that room's door, because the next piece needs the door. For the door itself it competes only
//!    for the time of one free lock. (With one mutex instead of two, a busy thread would retake it
//!    immediately and exclude others for long: such locks are not fair.)

use std::sync::{Mutex, MutexGuard};

use crate::atomic::{AtomicBool, Ordering};
use crate::locks::lock;

/// The two locks of one room, on their own cache lines.
#[derive(Debug)]
#[repr(align(128))]
struct Room<T> {
    door: Mutex<()>,
    contents: Mutex<T>,
}

impl<T> Room<T> {
    fn enter(&self) -> MutexGuard<'_, T> {
        let _door = lock(&self.door);
        lock(&self.contents)
    }
}

/// A number of rooms with contents of their own.
#[derive(Debug)]
pub struct Rooms<T> {
    all: Box<[Room<T>]>,
    /// Whether each room is open; not in the rooms, so that looking at all of them touches no line
    /// that a thread in a room writes.
    open: Box<[AtomicBool]>,
    /// Held by the thread that works alone, and while a room is opened.
    alone: Mutex<()>,
}

/// All rooms, held by one thread that works alone.
#[derive(Debug)]
pub struct AllRooms<'r, T> {
    all: &'r [Room<T>],
    held: Vec<HeldRoom<'r, T>>,
    /// `None` after `leave`.
    alone: Option<MutexGuard<'r, ()>>,
}

/// A room that the thread that works alone holds.
#[derive(Debug)]
struct HeldRoom<'r, T> {
    number: usize,
    contents: MutexGuard<'r, T>,
    #[expect(dead_code, reason = "kept for its drop")]
    door: Option<MutexGuard<'r, ()>>,
}

impl<T> Rooms<T> {
    /// Makes a room for each of these contents.
    pub fn new(contents: impl IntoIterator<Item = T>) -> Self {
        let room = |contents| Room { door: Mutex::default(), contents: Mutex::new(contents) };
        let all: Box<[_]> = contents.into_iter().map(room).collect();
        let open = all.iter().map(|_| AtomicBool::new(false)).collect();
        Self { all, open, alone: Mutex::default() }
    }

    /// Returns the number of rooms.
    pub fn count(&self) -> usize {
        self.all.len()
    }

    /// Enters a room, and keeps it until the returned guard is dropped. Waits while another thread
    /// is in this room or works alone. Returns `None` if there is no such room. REQUIRES: the
    /// thread holds no room.
    #[inline]
    pub fn enter(&self, number: usize) -> Option<MutexGuard<'_, T>> {
        let room = self.all.get(number)?;
        // Acquire: pairs with the Release in `open`, so the thread sees the changes that were made
        // alone before.
        if !self.open[number].load(Ordering::Acquire) {
            self.open(number);
        }
        Some(room.enter())
    }

    #[cold]
    fn open(&self, number: usize) {
        let _alone = lock(&self.alone);
        self.open[number].store(true, Ordering::Release);
    }

    /// Waits until no other thread is in a room, and keeps all rooms until the returned value is
    /// dropped. REQUIRES: the thread holds no room.
    pub fn enter_all(&self) -> AllRooms<'_, T> {
        let alone = lock(&self.alone);
        let mut held = Vec::new();
        for (number, room) in self.all.iter().enumerate() {
            // Relaxed: the lock of `alone` orders it.
            if self.open[number].load(Ordering::Relaxed) {
                let door = Some(lock(&room.door));
                held.push(HeldRoom { number, contents: lock(&room.contents), door });
            }
        }
        AllRooms { all: &self.all, held, alone: Some(alone) }
    }
}

impl<T> AllRooms<'_, T> {
    /// Returns the contents of a room, or `None` if there is no such room.
    pub fn room(&mut self, number: usize) -> Option<&mut T> {
        self.alone.as_ref()?;
        let known = self.held.iter().position(|held| held.number == number);
        let at = if let Some(at) = known {
            at
        } else {
            // A room that is not open has no thread that could hold it or wait at its door.
            let contents = lock(&self.all.get(number)?.contents);
            self.held.push(HeldRoom { number, contents, door: None });
            self.held.len() - 1
        };
        Some(&mut *self.held[at].contents)
    }

    /// Gives all rooms back.
    pub fn leave(&mut self) {
        self.held.clear();
        self.alone = None;
    }
}

#[cfg(all(test, not(skein_loom)))]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    /// Additions of each thread in its own room, and how many times each is alone.
    const ADDED: u64 = 20_000;
    const ALONE: u64 = 50;

    /// A thread that is alone may read the contents of all rooms, and sees whole pieces of work.
    #[test]
    fn one_who_is_alone_sees_only_finished_work() {
        let rooms = Rooms::new([(0, 0), (0, 0), (0, 0)]);
        std::thread::scope(|scope| {
            for number in 0..rooms.count() {
                let rooms = &rooms;
                scope.spawn(move || {
                    for turn in 0..ADDED {
                        let mut pair = rooms.enter(number).expect("its room");
                        pair.0 += 1;
                        pair.1 += 1;
                        drop(pair);
                        if turn % (ADDED / ALONE) == 0 {
                            let mut all = rooms.enter_all();
                            for room in 0..3 {
                                let (first, second) = *all.room(room).expect("a room");
                                assert_eq!(first, second);
                            }
                        }
                    }
                });
            }
        });
        let mut all = rooms.enter_all();
        assert!((0..3).all(|room| all.room(room) == Some(&mut (ADDED, ADDED))) && all.room(3).is_none());
    }

    /// A room that is opened while a thread works alone waits for it.
    #[test]
    fn a_room_opens_after_the_thread_that_is_alone() {
        for _ in 0..200 {
            let rooms = Rooms::new([0, 0]);
            let mut all = rooms.enter_all();
            *all.room(1).expect("a room") = 1;
            std::thread::scope(|scope| {
                let entered = scope.spawn(|| *rooms.enter(1).expect("a room"));
                *all.room(1).expect("a room") = 2;
                all.leave();
                assert!(all.room(1).is_none());
                assert_eq!(entered.join().expect("it enters"), 2);
            });
        }
    }

    /// A thread that never rests does not prevent others from being alone.
    #[test]
    fn a_busy_thread_does_not_starve_one_that_asks_to_be_alone() {
        let (rooms, done) = (Rooms::new([(), ()]), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    let _room = rooms.enter(0);
                }
            });
            for _ in 0..1000 {
                drop(rooms.enter_all());
            }
            done.store(true, Ordering::Relaxed);
        });
    }
}
