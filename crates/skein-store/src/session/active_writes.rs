//! The stores to which the calling thread is writing. A thread that waits for an epoch while it
//! writes would wait for itself.
//!
//! A writer is inside an epoch, and the epoch cannot close before the writer leaves. So within a
//! write the thread must not wait for durability of the store. It must not enter a second writer
//! either: that writer may have to wait for space in a log buffer, and only the end of an epoch
//! makes space.
//!
//! Once, this rule was only documented, and a caller that broke it hung for ever. Now each thread
//! keeps a list of its writes, and such a call returns an error.

use std::cell::RefCell;

use crate::store::StoreCore;
use crate::{Error, Result};

thread_local! { static INSIDE: RefCell<Vec<ActiveStore>> = const { RefCell::new(Vec::new()) } }

/// A store to which the thread writes, by its address.
#[derive(Debug)]
struct ActiveStore {
    store: usize,
    /// The writes are one group: no snapshot can be taken before its end.
    is_group: bool,
}

fn address(core: &StoreCore) -> usize {
    std::ptr::from_ref(core).addr()
}

fn find<R>(core: &StoreCore, look: impl FnOnce(Option<&mut ActiveStore>) -> R) -> R {
    INSIDE.with_borrow_mut(|places| look(places.iter_mut().find(|place| place.store == address(core))))
}

/// Marks that the calling thread writes to a store, until dropped. Not `Send`, like a writer.
#[derive(Debug)]
pub(crate) struct ActiveWrite {
    store: usize,
    not_send: std::marker::PhantomData<*const ()>,
}

impl ActiveWrite {
    /// Marks that the calling thread begins to write.
    ///
    /// # Errors
    /// The thread is already writing to this store.
    pub(super) fn enter(core: &StoreCore) -> Result<Self> {
        check(core, "another write")?;
        let store = address(core);
        INSIDE.with_borrow_mut(|places| places.push(ActiveStore { store, is_group: false }));
        Ok(Self { store, not_send: std::marker::PhantomData })
    }

    /// Marks that the writes of the thread are one group.
    pub(super) fn mark_group(core: &StoreCore) {
        find(core, |place| place.into_iter().for_each(|place| place.is_group = true));
    }
}

impl Drop for ActiveWrite {
    fn drop(&mut self) {
        // The list may be gone while the thread ends.
        let _ = INSIDE.try_with(|places| places.borrow_mut().retain(|place| place.store != self.store));
    }
}

/// Errors if the calling thread is writing to this store, so that `doing` would wait for itself.
pub(crate) fn check(core: &StoreCore, doing: &'static str) -> Result<()> {
    find(core, |place| place.map_or(Ok(()), |_| Err(Error::InsideWrite { doing })))
}

/// Errors if the calling thread has an open group in this store, so that `doing` would wait for
/// itself.
pub(crate) fn check_group(core: &StoreCore, doing: &'static str) -> Result<()> {
    find(core, |place| {
        place.filter(|place| place.is_group).map_or(Ok(()), |_| Err(Error::InsideWrite { doing }))
    })
}
