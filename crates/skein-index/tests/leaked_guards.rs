//! Guards that safe code leaks, over an index: a value that was read under a guard stays valid,
//! whatever happens to other guards.
//!
//! Once, a thread leaked its guard and ended; an owned guard got its thread number and was dropped;
//! a third thread got the number and read freed memory. Consequence: use after free from safe code.
//! Fix: `skein_sync::reclaim` counts the guards of each thread, and a collector that has lost one
//! frees nothing any more. Design: `docs/design/seize-leaked-guard.md`.
//!
//! A value records its drop, so that the tests need no sanitizer: a value that was read under a
//! live guard must not have been dropped.

#![forbid(unsafe_code)]
#![cfg(not(skein_loom))]

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread;

use skein_index::{Boxed, LocalGuard, Masstree, OrderedIndex};

/// A value that records its drop in a shared flag.
struct DropFlag(Arc<AtomicBool>);

impl Drop for DropFlag {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

type DropFlagTree = Masstree<Boxed<DropFlag>>;

/// The number of guards and threads at once: more than the thread numbers that other tests may
/// return meanwhile.
const MANY: usize = 8;
/// More writes than a batch of retired values.
const WRITES: usize = if cfg!(miri) { 100 } else { 1_000 };

/// Lets one test run at a time, because the tests depend on which thread numbers are free.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn put(tree: &DropFlagTree) -> Arc<AtomicBool> {
    let dropped = Arc::new(AtomicBool::new(false));
    tree.insert(b"k", Boxed::new(DropFlag(dropped.clone())), &tree.collector().enter()).unwrap();
    dropped
}

/// Replaces the value under each free number so often that no retired value waits in a batch that
/// is not full. Threads of earlier tests may return numbers until they have ended, so the guards of
/// one thread may have had several.
fn fill_all_batches(tree: &DropFlagTree) {
    let guards: Vec<_> = (0..MANY).map(|_| tree.collector().enter_owned()).collect();
    for guard in &guards {
        for _ in 0..WRITES {
            let value = Boxed::new(DropFlag(Arc::new(AtomicBool::new(false))));
            tree.insert(b"k", value, guard).unwrap();
        }
    }
}

/// Replaces the value so often that batches of retired values are handed to the collector.
fn replace(tree: &DropFlagTree) {
    for _ in 0..WRITES {
        put(tree);
    }
}

/// Gives the numbers of ended threads to owned guards, and drops the guards.
fn take_free_numbers(tree: &DropFlagTree) {
    let guards: Vec<_> = (0..MANY).map(|_| tree.collector().enter_owned()).collect();
    drop(guards);
}

/// Lets a reader on its own thread read the value, replaces the value, and checks that it was not
/// dropped.
fn a_reader_keeps_its_value(tree: &DropFlagTree) {
    let dropped = put(tree);
    let (shown, replaced) = (Barrier::new(2), Barrier::new(2));
    thread::scope(|scope| {
        scope.spawn(|| {
            let guard = tree.collector().enter();
            assert!(tree.get(b"k", &guard).is_some());
            shown.wait();
            replaced.wait();
            drop(guard);
        });
        shown.wait();
        replace(tree);
        let dropped = dropped.load(Ordering::SeqCst);
        replaced.wait();
        assert!(!dropped, "dropped under a guard");
    });
}

/// Runs `leak` on many threads, which all have their numbers by then, and waits until they have
/// returned the numbers.
fn leak_on_threads(leak: impl Fn() + Sync) {
    let all = Barrier::new(MANY);
    thread::scope(|scope| {
        let leak = || {
            leak();
            all.wait();
        };
        let threads: Vec<_> = (0..MANY).map(|_| scope.spawn(leak)).collect();
        // The end of the scope would not wait for destructors of thread-local values.
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

#[test]
fn a_leaked_guard_takes_no_protection_from_later_threads() {
    let _alone = alone();
    let tree = DropFlagTree::new();
    drop(tree.collector().enter());
    leak_on_threads(|| mem::forget(tree.collector().enter()));
    take_free_numbers(&tree);
    a_reader_keeps_its_value(&tree);
}

#[test]
fn a_value_under_a_leaked_guard_outlives_its_thread() {
    let _alone = alone();
    let tree = DropFlagTree::new();
    drop(tree.collector().enter());
    let dropped = put(&tree);
    let read = || {
        let guard: &LocalGuard<'_> = Box::leak(Box::new(tree.collector().enter()));
        tree.get(b"k", guard).unwrap()
    };
    let seen = thread::scope(|scope| scope.spawn(read).join().unwrap());
    take_free_numbers(&tree);
    replace(&tree);
    assert!(!dropped.load(Ordering::SeqCst));
    assert!(!seen.0.load(Ordering::SeqCst));
}

#[test]
fn a_leaked_nested_guard_takes_no_protection_either() {
    let _alone = alone();
    let tree = DropFlagTree::new();
    leak_on_threads(|| {
        let outer = tree.collector().enter();
        mem::forget(tree.collector().enter());
        drop(outer);
    });
    take_free_numbers(&tree);
    a_reader_keeps_its_value(&tree);
}

#[test]
fn a_leaked_owned_guard_takes_no_protection_either() {
    let _alone = alone();
    let tree = DropFlagTree::new();
    leak_on_threads(|| mem::forget(tree.collector().enter_owned()));
    take_free_numbers(&tree);
    a_reader_keeps_its_value(&tree);
}

/// Runs `action` on a thread that has returned its number: in the destructor of a thread-local
/// value that is older than the first guard.
fn after_the_last_guard<T: 'static>(first: impl FnOnce() -> T + Send, action: fn(T)) {
    struct LateTouch<T>(RefCell<Option<T>>, Cell<Option<fn(T)>>);
    impl<T> Drop for LateTouch<T> {
        fn drop(&mut self) {
            if let (Some(value), Some(action)) = (self.0.take(), self.1.take()) {
                action(value);
            }
        }
    }
    thread_local! {
        static LATE: RefCell<Vec<Box<dyn Any>>> = const { RefCell::new(Vec::new()) };
    }
    thread::scope(|scope| {
        let thread = scope.spawn(|| {
            LATE.with_borrow_mut(Vec::clear);
            let late = LateTouch(RefCell::new(Some(first())), Cell::new(Some(action)));
            LATE.with_borrow_mut(|values| values.push(Box::new(late)));
        });
        thread.join().unwrap();
    });
}

/// Returns an index that lives for ever, as guards in thread-local values need it.
static ETERNAL: LazyLock<DropFlagTree> = LazyLock::new(DropFlagTree::new);

#[test]
fn a_guard_outlives_the_number_of_its_thread() {
    static DROPPED_TOO_SOON: Mutex<Option<bool>> = Mutex::new(None);
    let _alone = alone();
    let dropped = put(&ETERNAL);
    after_the_last_guard(
        || (ETERNAL.collector().enter(), dropped),
        |(guard, dropped)| {
            // Other threads take the number that this thread has returned, and change the count of
            // its guards.
            thread::spawn(|| {
                take_free_numbers(&ETERNAL);
                replace(&ETERNAL);
            })
            .join()
            .unwrap();
            *DROPPED_TOO_SOON.lock().unwrap() = Some(dropped.load(Ordering::SeqCst));
            drop(guard);
        },
    );
    assert_eq!(*DROPPED_TOO_SOON.lock().unwrap(), Some(false));
    a_reader_keeps_its_value(&ETERNAL);
}

#[test]
fn a_thread_that_ends_may_still_take_a_guard() {
    static FOUND: AtomicBool = AtomicBool::new(false);
    static TREE: LazyLock<DropFlagTree> = LazyLock::new(DropFlagTree::new);
    let _alone = alone();
    let first = put(&TREE);
    after_the_last_guard(
        || drop(TREE.collector().enter()),
        |()| {
            let guard = TREE.collector().enter();
            FOUND.store(TREE.get(b"k", &guard).is_some(), Ordering::SeqCst);
            replace(&TREE);
        },
    );
    assert!(FOUND.load(Ordering::SeqCst));
    fill_all_batches(&TREE);
    assert!(first.load(Ordering::SeqCst), "the value was not freed");
}

#[test]
fn without_a_leak_values_are_dropped_while_the_index_lives() {
    let _alone = alone();
    let tree = DropFlagTree::new();
    let first = put(&tree);
    thread::scope(|scope| {
        for _ in 0..MANY {
            scope.spawn(|| {
                drop(tree.collector().enter());
                take_free_numbers(&tree);
            });
        }
    });
    replace(&tree);
    assert!(first.load(Ordering::SeqCst), "the value was not freed");
}
