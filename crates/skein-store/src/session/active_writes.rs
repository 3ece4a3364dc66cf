//! Which stores the calling thread is writing to: who waits there for an epoch to end would wait for itself.
//!
//! A writer is inside an epoch, which cannot close before the writer leaves. So within it nothing of the store may wait for durability, and
//! no second writer may enter: it may have to wait for room in a buffer, which is made by closing the epoch. That was only written down, and who
//! did it hung for ever; so each thread keeps a list, and the call is refused.

use std::cell::RefCell;

use crate::store::StoreCore;
use crate::{Error, Result};

thread_local! { static INSIDE: RefCell<Vec<ActiveStore>> = const { RefCell::new(Vec::new()) } }

/// A store that the thread writes to, by its address.
#[derive(Debug)]
struct ActiveStore {
    store: usize,
    /// It is one group: no snapshot is taken before its end.
    whole: bool,
}

fn address(inner: &StoreCore) -> usize {
    std::ptr::from_ref(inner).addr()
}

fn find<R>(inner: &StoreCore, look: impl FnOnce(Option<&mut ActiveStore>) -> R) -> R {
    INSIDE.with_borrow_mut(|places| look(places.iter_mut().find(|place| place.store == address(inner))))
}

/// That the calling thread writes to a store. Not `Send`, as a writer is not.
#[derive(Debug)]
pub(crate) struct ActiveWrite {
    store: usize,
    not_send: std::marker::PhantomData<*const ()>,
}

impl ActiveWrite {
    /// Notes that the calling thread begins to write.
    ///
    /// # Errors
    /// It is writing to this store already.
    pub(super) fn enter(inner: &StoreCore) -> Result<Self> {
        check(inner, "another write")?;
        let store = address(inner);
        INSIDE.with_borrow_mut(|places| places.push(ActiveStore { store, whole: false }));
        Ok(Self { store, not_send: std::marker::PhantomData })
    }

    /// Notes that its writes are one group.
    pub(super) fn is_whole(inner: &StoreCore) {
        find(inner, |place| place.into_iter().for_each(|place| place.whole = true));
    }
}

impl Drop for ActiveWrite {
    fn drop(&mut self) {
        // Not there any more while the thread ends.
        let _ = INSIDE.try_with(|places| places.borrow_mut().retain(|place| place.store != self.store));
    }
}

/// Refuses what would wait for the calling thread's own writes.
pub(crate) fn check(inner: &StoreCore, doing: &'static str) -> Result<()> {
    find(inner, |place| place.map_or(Ok(()), |_| Err(Error::InsideWrite { doing })))
}

/// Refuses what would wait for the calling thread's own group of writes.
pub(crate) fn check_group(inner: &StoreCore, doing: &'static str) -> Result<()> {
    find(inner, |place| {
        place.filter(|place| place.whole).map_or(Ok(()), |_| Err(Error::InsideWrite { doing }))
    })
}
