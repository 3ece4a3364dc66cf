//! The protocols of the buffer manager under `loom`: room and resizes, publications beside loads,
//! and moments. A frame is the number of its version, and a place is that number, too.
//!
//! `RUSTFLAGS="--cfg skein_loom" cargo test -p skein-disk --lib --profile models models`

use loom::sync::{Arc, Mutex, MutexGuard};
use loom::thread;

use super::cache_room::CacheRoom;
use super::publication_count::PublicationCount;
use super::*;
use skein_sync::atomic::{AtomicBool, AtomicU32};

/// Room of two pages; one of them is in memory. A load takes room while a resize removes one.
#[test]
fn a_resize_leaves_no_load_over_the_capacity() {
    loom::model(|| {
        let shared = Arc::new((CacheRoom::new(2), AtomicUsize::new(1)));
        assert!(shared.0.try_take());
        let loading = shared.clone();
        let loading = thread::spawn(move || {
            let (room, resident) = &*loading;
            if room.try_take() {
                resident.fetch_add(1, Ordering::AcqRel);
            }
        });
        let (room, resident) = &*shared;
        room.set_capacity(1);
        while room.is_over() {
            // An eviction. A page that has its room but is not in memory yet is in use.
            let less = |count: usize| count.checked_sub(1);
            match resident.fetch_update(Ordering::AcqRel, Ordering::Acquire, less) {
                Ok(_) => room.give_back(),
                Err(_) => thread::yield_now(),
            }
        }
        loading.join().unwrap();
        assert!(room.taken() <= 1 && room.taken() == resident.load(Ordering::Acquire));
    });
}

/// A page: its frame, its place in the file, and its kept versions.
struct ModelPage {
    /// The version in memory; 0 for none.
    frame: AtomicU32,
    place: AtomicU32,
    stripe: Mutex<()>,
    has_kept: AtomicBool,
    /// The kept version, and the publication that replaced it.
    kept: Mutex<Option<(u32, u64)>>,
}

/// Two pages, which a publication changes together.
struct ModelBuffer {
    pages: [ModelPage; 2],
    published: PublicationCount,
    publishing: Mutex<()>,
    live: AtomicBool,
}

impl ModelPage {
    fn new(frame: u32, place: u32) -> Self {
        Self {
            frame: AtomicU32::new(frame),
            place: AtomicU32::new(place),
            stripe: Mutex::new(()),
            has_kept: AtomicBool::new(false),
            kept: Mutex::new(None),
        }
    }

    /// As `BufferManager::fetch`.
    fn load(&self) {
        let _stripe = self.stripe.lock().unwrap();
        if self.frame.load(Ordering::Acquire) == 0 {
            let read = self.place.load(Ordering::Acquire);
            // Fails if a publication has stored a newer frame.
            let _ = self.frame.compare_exchange(0, read, Ordering::SeqCst, Ordering::SeqCst);
        }
    }

    /// As `BufferManager::keep_replaced`.
    fn keep(&self, until: u64) {
        let _stripe = self.stripe.lock().unwrap();
        let mut kept = self.kept.lock().unwrap();
        if kept.is_none() {
            let frame = self.frame.load(Ordering::Acquire);
            let version = if frame == 0 { self.place.load(Ordering::Acquire) } else { frame };
            *kept = Some((version, until));
            self.has_kept.store(true, Ordering::Relaxed);
        }
    }

    /// As `BufferManager::find_at`. Loads the page if it is not in memory.
    fn at(&self, moment: u64) -> u32 {
        loop {
            let frame = self.frame.load(Ordering::Acquire);
            if self.has_kept.load(Ordering::Relaxed)
                && let Some((version, until)) = *self.kept.lock().unwrap()
                && until > moment
            {
                return version;
            }
            if frame != 0 {
                return frame;
            }
            self.load();
        }
    }
}

impl ModelBuffer {
    /// Page 0 is in memory. Page 1 is only in the file, and its new version is spilled.
    fn new() -> Arc<Self> {
        Arc::new(Self {
            pages: [ModelPage::new(1, 1), ModelPage::new(0, 1)],
            published: PublicationCount::new(),
            publishing: Mutex::new(()),
            live: AtomicBool::new(false),
        })
    }

    /// As `BufferManager::lock_to_publish`, for one snapshot at most.
    fn lock_to_publish(&self) -> MutexGuard<'_, ()> {
        let mut has_kept = false;
        loop {
            let publishing = self.publishing.lock().unwrap();
            if has_kept || !self.live.load(Ordering::Relaxed) {
                return publishing;
            }
            drop(publishing);
            has_kept = true;
            self.pages.iter().for_each(|page| page.keep(1));
        }
    }

    /// As `BufferManager::replace_pages`: one frame, and one place of a spilled page.
    fn publish(&self) {
        let _publishing = self.lock_to_publish();
        let _stripe = self.pages[1].stripe.lock().unwrap();
        self.published.publish(|| {
            self.pages[1].place.swap(2, Ordering::AcqRel);
            self.pages[0].frame.swap(2, Ordering::SeqCst);
            self.pages[1].frame.swap(0, Ordering::SeqCst);
        });
    }

    /// As `BufferManager::walk_once`. Returns the versions if the walk is valid and complete.
    fn walk(&self) -> Option<[u32; 2]> {
        let before = self.published.begin_walk();
        let seen = [&self.pages[0], &self.pages[1]].map(|page| page.frame.load(Ordering::Acquire));
        let is_valid = self.published.is_valid_walk(before);
        for (page, _) in self.pages.iter().zip(seen).filter(|(_, frame)| *frame == 0) {
            page.load();
        }
        (is_valid && !seen.contains(&0)).then_some(seen)
    }

    /// As `BufferManager::take_moment`.
    fn take(&self) -> u64 {
        let _publishing = self.publishing.lock().unwrap();
        self.live.store(true, Ordering::Relaxed);
        self.published.now() / 2
    }
}

#[test]
fn a_walk_sees_all_of_a_publication_with_a_spilled_page() {
    loom::model(|| {
        let buffer = ModelBuffer::new();
        let publishing = buffer.clone();
        let publishing = thread::spawn(move || publishing.publish());
        for _ in 0..2 {
            if let Some([first, second]) = buffer.walk() {
                assert_eq!(first, second);
            }
        }
        publishing.join().unwrap();
        while buffer.walk().is_none() {}
        assert_eq!(buffer.walk(), Some([2, 2]));
    });
}

#[test]
fn a_moment_has_all_of_a_publication_or_nothing() {
    loom::model(|| {
        let buffer = ModelBuffer::new();
        let publishing = buffer.clone();
        let publishing = thread::spawn(move || publishing.publish());
        let moment = buffer.take();
        let expected = [moment as u32 + 1; 2];
        for _ in 0..2 {
            assert_eq!([buffer.pages[0].at(moment), buffer.pages[1].at(moment)], expected);
        }
        publishing.join().unwrap();
        assert_eq!([buffer.pages[0].at(moment), buffer.pages[1].at(moment)], expected);
    });
}
