//! The protocols of the buffer manager under `loom`: room and resizes, publications beside walks
//! and loads, and moments. Whole writes and reads run, over a simulated file.
//!
//! `RUSTFLAGS="--cfg skein_loom" cargo test -p skein-disk --lib --profile models models`

use loom::thread::{self, JoinHandle};

use super::tests::{checkpoint, make, number_in, open, read, set};
use super::*;
use crate::test_fixtures::new_file;

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

/// The stacks of a model's threads, in words. That of `loom` is too small for a file operation.
const STACK: usize = 1 << 15;

/// A file with two pages of number 1. Only the second page is in memory.
struct ModelFile {
    buffer: BufferManager,
    pages: [PageId; 2],
}

impl ModelFile {
    fn new() -> Arc<Self> {
        let (storage, buffer) = new_file(CACHE_LEAST);
        let pages = [1, 1].map(|to| make(&buffer, to));
        checkpoint(&buffer, 1).unwrap();
        drop(buffer);
        let buffer = open(&storage, CACHE_LEAST).unwrap();
        assert_eq!(read(&buffer, pages[1]).unwrap(), 1);
        Arc::new(Self { buffer, pages })
    }

    /// Gives both pages number 2, in one write that spills the first page, in another thread.
    fn publish(self: &Arc<Self>) -> JoinHandle<()> {
        let file = self.clone();
        spawn(move || {
            let mut writer = file.buffer.write();
            file.pages.iter().for_each(|id| set(writer.page_mut(*id).unwrap(), 2));
            writer.copies.make_room(&file.buffer, 2).unwrap();
            assert!(writer.copies.is_spilled(file.pages[0]));
            writer.publish().unwrap();
        })
    }

    /// Returns the numbers of both pages.
    fn numbers(&self, mut number: impl FnMut(PageId) -> WalkResult<u64>) -> WalkResult<[u64; 2]> {
        Ok([number(self.pages[0])?, number(self.pages[1])?])
    }
}

fn spawn(run: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
    thread::Builder::new().stack_size(STACK).spawn(run).unwrap()
}

/// Runs a model with a file and a publication. It begins with some hundred steps that open the
/// file.
fn model(run: impl Fn(&ModelFile, JoinHandle<()>) + Copy + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    (builder.preemption_bound, builder.max_branches) = (Some(2), 100_000);
    let run = move || {
        let file = ModelFile::new();
        run(&file, file.publish());
    };
    builder.check(move || spawn(run).join().unwrap());
}

#[test]
fn a_walk_sees_all_of_a_publication_with_a_spilled_page() {
    let overlapping = |file: &ModelFile| {
        file.buffer.read_with(|view| file.numbers(|id| number_in(id, view.page(id)))).unwrap()
    };
    let one_page_at_a_time = |file: &ModelFile| {
        file.buffer.read_pages(|walk| file.numbers(|id| number_in(id, walk.page(id)))).unwrap()
    };
    for read in [overlapping as fn(&ModelFile) -> _, one_page_at_a_time] {
        model(move |file, publishing| {
            let seen = read(file);
            assert!(seen == [1; 2] || seen == [2; 2], "{seen:?}");
            publishing.join().unwrap();
            assert_eq!(read(file), [2; 2]);
        });
    }
}

#[test]
fn a_moment_has_all_of_a_publication_or_nothing() {
    model(|file, publishing| {
        let (moment, published) = file.buffer.take_moment(1, || file.buffer.publications()).unwrap();
        let expected = [published + 1; 2];
        let seen =
            || file.buffer.read_at(moment, |pages| file.numbers(|id| number_in(id, pages.page(id)))).unwrap();
        assert_eq!([seen(), seen()], [expected; 2]);
        publishing.join().unwrap();
        assert_eq!(seen(), expected);
    });
}
