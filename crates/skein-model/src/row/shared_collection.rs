//! Collections in memory: the rows of a key own references to one, and only the engine that made it
//! knows its type.
//!
//! ```text
//!   row: code of the kind │ pointer ──► operations │ the engine's collection
//!                                           │
//!                                           └─► type, contents, share, release: one table a type
//! ```
//!
//! The pointer is thin, so a row with a collection has 8 bytes of body. The address of the table
//! lies beside the counts of the `Arc`, which a new row and a dropped one change anyway.
//!
//! # Invariants
//! 1. A [`CollectionPointer`] is an `Arc<SharedCollection<C>>` as a raw pointer. It is valid as long
//!    as the row that has it, which owns one reference.
//! 2. A `SharedCollection` begins with its operations, whatever its type, because it is `repr(C)`.
//! 3. The operations of a `SharedCollection<C>` are those of `C`: only [`SharedCollection::new`]
//!    sets them.

use std::any::TypeId;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::Arc;

use crate::CollectionKind;

/// A collection whose members an engine keeps in memory.
pub trait ResidentCollection: Send + Sync + 'static {
    /// Returns the kind of the collection, which never changes.
    fn kind(&self) -> CollectionKind;

    /// Returns about how many bytes the collection uses, including its members.
    fn memory(&self) -> usize;

    /// Returns how many commands have changed the collection since it was loaded into memory.
    fn changes(&self) -> u64;
}

/// A collection in memory, as rows share it.
#[derive(Debug)]
#[repr(C)]
pub struct SharedCollection<C> {
    operations: &'static CollectionOperations,
    collection: C,
}

impl<C: ResidentCollection> SharedCollection<C> {
    const OPERATIONS: &'static CollectionOperations = &CollectionOperations {
        type_of: TypeId::of::<C>,
        contents: contents::<C>,
        share: share::<C>,
        release: release::<C>,
    };

    /// Makes a collection that rows can share.
    pub fn new(collection: C) -> Arc<Self> {
        Arc::new(Self { operations: Self::OPERATIONS, collection })
    }
}

impl<C> Deref for SharedCollection<C> {
    type Target = C;

    #[inline]
    fn deref(&self) -> &C {
        &self.collection
    }
}

/// The operations on a pointer to a collection of one type.
#[derive(Debug)]
struct CollectionOperations {
    type_of: fn() -> TypeId,
    contents: unsafe fn(CollectionPointer) -> *const dyn ResidentCollection,
    share: unsafe fn(CollectionPointer),
    release: unsafe fn(CollectionPointer),
}

/// # Safety
/// The pointer is valid, and its collection is a `C`.
unsafe fn contents<C: ResidentCollection>(pointer: CollectionPointer) -> *const dyn ResidentCollection {
    // SAFETY: guaranteed by the caller (invariants 1 and 2).
    unsafe { &raw const (*pointer.of_type::<C>()).collection }
}

/// # Safety
/// As for [`contents`].
unsafe fn share<C>(pointer: CollectionPointer) {
    // SAFETY: guaranteed by the caller (invariants 1 and 2). The row has a reference, so the count
    // is not 0.
    unsafe { Arc::increment_strong_count(pointer.of_type::<C>()) };
}

/// # Safety
/// As for [`contents`]. The caller gives up one reference.
unsafe fn release<C>(pointer: CollectionPointer) {
    // SAFETY: guaranteed by the caller (invariants 1 and 2).
    unsafe { Arc::decrement_strong_count(pointer.of_type::<C>()) };
}

/// A collection of any type. See invariant 1.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct CollectionPointer(NonNull<&'static CollectionOperations>);

impl CollectionPointer {
    /// Returns a pointer that owns a reference, for [`release`](Self::release).
    pub(super) fn new<C>(collection: Arc<SharedCollection<C>>) -> Self {
        let first = Arc::into_raw(collection).cast::<&'static CollectionOperations>();
        // SAFETY: the pointer of an `Arc` is not null.
        Self(unsafe { NonNull::new_unchecked(first.cast_mut()) })
    }

    fn of_type<C>(self) -> *const SharedCollection<C> {
        self.0.as_ptr().cast_const().cast()
    }

    /// # Safety
    /// The pointer is valid.
    #[inline]
    unsafe fn operations(self) -> &'static CollectionOperations {
        // SAFETY: guaranteed by the caller (invariant 2).
        unsafe { self.0.read() }
    }

    /// Returns the collection, if it is a `C`.
    ///
    /// # Safety
    /// The pointer is valid for `'g`.
    #[inline]
    pub(super) unsafe fn get<'g, C: ResidentCollection>(self) -> Option<&'g SharedCollection<C>> {
        // SAFETY: guaranteed by the caller; the type is `C` if its operations say so (invariant 3).
        unsafe { ((self.operations().type_of)() == TypeId::of::<C>()).then(|| &*self.of_type::<C>()) }
    }

    /// Returns a new reference to the collection, if it is a `C`.
    ///
    /// # Safety
    /// The pointer is valid.
    pub(super) unsafe fn to_arc<C: ResidentCollection>(self) -> Option<Arc<SharedCollection<C>>> {
        // SAFETY: guaranteed by the caller. The added reference belongs to the new owner.
        unsafe {
            self.get::<C>()?;
            Some(Arc::from_raw(self.share().of_type()))
        }
    }

    /// Returns what is known of a collection of any type.
    ///
    /// # Safety
    /// The pointer is valid for `'g`.
    pub(super) unsafe fn contents<'g>(self) -> &'g dyn ResidentCollection {
        // SAFETY: guaranteed by the caller (invariants 1 and 3).
        unsafe { &*(self.operations().contents)(self) }
    }

    /// Returns a pointer with a reference of its own.
    ///
    /// # Safety
    /// The pointer is valid.
    pub(super) unsafe fn share(self) -> Self {
        // SAFETY: guaranteed by the caller (invariant 3).
        unsafe { (self.operations().share)(self) };
        self
    }

    /// Gives up the reference that the pointer owns.
    ///
    /// # Safety
    /// The pointer is valid, owns a reference, and is not used again.
    pub(super) unsafe fn release(self) {
        // SAFETY: guaranteed by the caller (invariant 3).
        unsafe { (self.operations().release)(self) };
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::row::RowAllocator;

    /// A collection that counts how many of its kind are alive.
    struct Flock {
        kind: CollectionKind,
        geese: usize,
        alive: Arc<AtomicUsize>,
    }

    impl Flock {
        fn shared(kind: CollectionKind, alive: &Arc<AtomicUsize>) -> Arc<SharedCollection<Self>> {
            alive.fetch_add(1, Ordering::Relaxed);
            SharedCollection::new(Self { kind, geese: 7, alive: alive.clone() })
        }
    }

    impl Drop for Flock {
        fn drop(&mut self) {
            self.alive.fetch_sub(1, Ordering::Relaxed);
        }
    }

    impl ResidentCollection for Flock {
        fn kind(&self) -> CollectionKind {
            self.kind
        }

        fn memory(&self) -> usize {
            self.geese
        }

        fn changes(&self) -> u64 {
            3
        }
    }

    /// The collection of another engine.
    struct OtherEngines;

    impl ResidentCollection for OtherEngines {
        fn kind(&self) -> CollectionKind {
            CollectionKind::Set
        }

        fn memory(&self) -> usize {
            0
        }

        fn changes(&self) -> u64 {
            0
        }
    }

    #[test]
    fn a_collection_lives_as_long_as_its_last_row_or_reference() {
        let (rows, alive) = (RowAllocator::new(), Arc::new(AtomicUsize::new(0)));
        let count = || alive.load(Ordering::Relaxed);
        for kind in CollectionKind::ALL {
            for expires in [None, Some(9)] {
                let row = rows.collection(Flock::shared(kind, &alive), expires);
                let later = rows.until(row.as_ref(), Some(11));
                assert_eq!((count(), later.as_ref().expires_at()), (1, Some(11)));
                drop(row);
                assert_eq!(count(), 1, "another row has it");
                let held = later.as_ref().shared_collection::<Flock>().expect("it is a flock");
                assert!(std::ptr::eq(
                    &raw const **held,
                    later.as_ref().collection::<Flock>().expect("it is")
                ));
                drop(later);
                assert_eq!((count(), held.geese), (1, 7), "this test has it");
                drop(held);
                assert_eq!(count(), 0);
            }
        }
    }

    #[test]
    fn a_row_tells_of_its_collection_without_its_type() {
        let (rows, alive) = (RowAllocator::new(), Arc::new(AtomicUsize::new(0)));
        for kind in CollectionKind::ALL {
            let row = rows.collection(Flock::shared(kind, &alive), Some(9));
            let row = row.as_ref();
            assert_eq!(
                (row.collection_kind(), row.changes(), row.expires_at()),
                (Some(kind), Some(3), Some(9))
            );
            assert_eq!(
                row.usage(b"pond"),
                rows.value_until(&[&[0; 8]], Some(9)).unwrap().as_ref().usage(b"pond") + 7
            );
            assert!(row.value().is_none() && row.packed().is_none() && row.stored_collection().is_none());
        }
        assert_eq!(alive.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn a_collection_of_another_type_is_not_found() {
        let rows = RowAllocator::new();
        let row = rows.collection(SharedCollection::new(OtherEngines), None);
        let row = row.as_ref();
        assert!(row.collection::<Flock>().is_none() && row.shared_collection::<Flock>().is_none());
        assert!(row.collection::<OtherEngines>().is_some());
        assert_eq!(row.collection_kind(), Some(CollectionKind::Set));
    }
}
