//! The version word's model, explored by `loom`:
//!
//! ```sh
//! RUSTFLAGS="--cfg skein_loom" cargo test -p skein-sync --test loom_version --release
//! ```
#![cfg(all(skein_loom, not(feature = "shuttle")))]

use std::sync::Arc;

use skein_sync::atomic::{AtomicU64, Ordering};
use skein_sync::version::{Version, VersionWord};

/// A node of two words that a writer changes together.
struct TwoWordNode {
    version: VersionWord,
    words: [AtomicU64; 2],
}

impl TwoWordNode {
    fn shared() -> Arc<Self> {
        let words = [AtomicU64::new(0), AtomicU64::new(0)];
        Arc::new(Self { version: VersionWord::new(Version::BORDER), words })
    }

    fn read(&self) -> [u64; 2] {
        [self.words[0].load(Ordering::Relaxed), self.words[1].load(Ordering::Relaxed)]
    }

    fn bump(&self, mark: impl Fn(&VersionWord)) {
        self.version.lock();
        mark(&self.version);
        let [first, second] = self.read();
        self.words[0].store(first + 1, Ordering::Relaxed);
        self.words[1].store(second + 1, Ordering::Relaxed);
        self.version.unlock();
    }
}

/// If the version of a reader did not change, it has not seen a mixture of two states.
#[test]
fn a_validated_read_is_whole() {
    loom::model(|| {
        let node = TwoWordNode::shared();
        let shared = Arc::clone(&node);
        let writer = loom::thread::spawn(move || shared.bump(VersionWord::mark_inserting));
        let seen = node.version.stable();
        let [first, second] = node.read();
        if !node.version.changed(seen) {
            assert_eq!(first, second);
        }
        writer.join().unwrap();
    });
}

/// Two writers exclude each other, and both are counted.
#[test]
fn the_lock_excludes() {
    loom::model(|| {
        let node = TwoWordNode::shared();
        let start = node.version.stable();
        let shared = Arc::clone(&node);
        let writer = loom::thread::spawn(move || shared.bump(VersionWord::mark_inserting));
        node.bump(VersionWord::mark_splitting);
        writer.join().unwrap();
        assert_eq!(node.read(), [2, 2]);
        assert!(start.split_until(node.version.stable()));
    });
}

/// A thread that sees the deleted flag sees all earlier writes of the deleting thread.
#[test]
fn a_deleted_node_shows_its_last_state() {
    loom::model(|| {
        let node = TwoWordNode::shared();
        let shared = Arc::clone(&node);
        let writer = loom::thread::spawn(move || shared.bump(VersionWord::mark_deleted));
        if node.version.stable().is_deleted() {
            assert_eq!(node.read(), [1, 1]);
        }
        writer.join().unwrap();
    });
}
