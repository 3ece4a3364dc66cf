//! Indexes in C++, behind a table of C functions. `cpp/index.hh` builds the table from a class.
//!
//! # Invariants
//! 1. `map` was made by `create` of the same table, and is destroyed once, when the contender is
//!    dropped.
//! 2. A function of the table reads the key within its length, keeps no pointer to it, and does not
//!    throw.
//! 3. Several threads call the functions that change the map at once only if [`ConcurrentCppClass`]
//!    allows it.

use std::ffi::c_void;
use std::marker::PhantomData;
use std::ptr::NonNull;

use super::key_repr::KeyRepr;
use super::{IndexAbilities, IndexContender};

/// The functions of a C++ class. The layout mirrors `Functions` in `index.hh`.
#[repr(C)]
pub struct CppFunctions {
    create: unsafe extern "C" fn() -> *mut c_void,
    destroy: unsafe extern "C" fn(*mut c_void),
    put: unsafe extern "C" fn(*mut c_void, *const u8, usize, u64),
    get: unsafe extern "C" fn(*const c_void, *const u8, usize, *mut u64) -> bool,
    remove: unsafe extern "C" fn(*mut c_void, *const u8, usize) -> bool,
    scan: Option<CppScanFn>,
    scan_back: Option<CppScanFn>,
}

type CppScanFn = unsafe extern "C" fn(*const c_void, *const u8, usize, usize, CppVisitFn, *mut c_void);

type CppVisitFn = unsafe extern "C" fn(*mut c_void, *const u8, usize, u64);

/// A C++ class as a contender.
pub trait CppClass: 'static {
    /// As in [`IndexContender`].
    const NAME: &'static str;
    /// As in [`IndexContender`].
    const ABOUT: &'static str;
    /// As in [`IndexContender`].
    const CAN: IndexAbilities;

    /// Returns its functions for keys of 8 bytes each, if `words`, or for all other keys.
    fn functions(words: bool) -> &'static CppFunctions;
}

/// A class that several threads may call at once.
///
/// # Safety
/// All functions of its tables except `destroy` must be safe to call concurrently.
pub unsafe trait ConcurrentCppClass: CppClass {}

/// An index of a C++ class, with keys held as `K`.
pub struct CppIndex<C: CppClass, K: KeyRepr> {
    map: NonNull<c_void>,
    class: PhantomData<fn() -> (C, K)>,
}

// SAFETY: the implementer of `ConcurrentCppClass` guarantees it (invariant 3).
unsafe impl<C: ConcurrentCppClass, K: KeyRepr> Sync for CppIndex<C, K> {}

impl<C: CppClass, K: KeyRepr> CppIndex<C, K> {
    #[inline(always)]
    fn functions() -> &'static CppFunctions {
        C::functions(K::WORDS)
    }

    fn scan_by<F: FnMut(&[u8], u64)>(&self, scan: Option<CppScanFn>, from: &[u8], count: usize, mut each: F) {
        let scan = scan.expect("the bench never calls scans that CAN rules out");
        let each: *mut F = &raw mut each;
        // SAFETY: invariants 1 and 2; `visit` is instantiated for the type of `each`, which lives
        // through the call.
        unsafe { scan(self.map.as_ptr(), from.as_ptr(), from.len(), count, visit::<F>, each.cast()) };
    }
}

/// Passes a key to the closure that `each` points to.
unsafe extern "C" fn visit<F: FnMut(&[u8], u64)>(each: *mut c_void, key: *const u8, len: usize, value: u64) {
    // SAFETY: the context is the pointer that `scan_by` passed, and no other code uses it during
    // the call; the key is readable during the call.
    unsafe { (*each.cast::<F>())(std::slice::from_raw_parts(key, len), value) };
}

impl<C: CppClass, K: KeyRepr> IndexContender for CppIndex<C, K> {
    const NAME: &'static str = C::NAME;
    const ABOUT: &'static str = C::ABOUT;
    const CAN: IndexAbilities = C::CAN;
    const KEY_BYTES: (usize, usize) = K::KEY_BYTES;
    type Pin<'a> = ();

    fn new(_expected: usize) -> Self {
        // SAFETY: the function creates an empty map and has no argument.
        let map = unsafe { (Self::functions().create)() };
        Self { map: NonNull::new(map).expect("C++'s new gives no null"), class: PhantomData }
    }

    fn pin(&self) {}

    #[inline(always)]
    fn insert(&self, _pin: &(), key: &[u8], value: u64) {
        // SAFETY: invariants 1 to 3; the same below.
        unsafe { (Self::functions().put)(self.map.as_ptr(), key.as_ptr(), key.len(), value) };
    }

    #[inline(always)]
    fn get(&self, _pin: &(), key: &[u8]) -> Option<u64> {
        let mut value = 0;
        // SAFETY: as in `insert`; `value` is a local variable.
        unsafe { (Self::functions().get)(self.map.as_ptr(), key.as_ptr(), key.len(), &raw mut value) }
            .then_some(value)
    }

    fn remove(&self, _pin: &(), key: &[u8]) -> bool {
        // SAFETY: as in `insert`.
        unsafe { (Self::functions().remove)(self.map.as_ptr(), key.as_ptr(), key.len()) }
    }

    fn scan(&self, _pin: &(), from: &[u8], count: usize, each: impl FnMut(&[u8], u64)) {
        self.scan_by(Self::functions().scan, from, count, each);
    }

    fn scan_back(&self, _pin: &(), from: &[u8], count: usize, each: impl FnMut(&[u8], u64)) {
        self.scan_by(Self::functions().scan_back, from, count, each);
    }
}

impl<C: CppClass, K: KeyRepr> Drop for CppIndex<C, K> {
    fn drop(&mut self) {
        // SAFETY: invariant 1.
        unsafe { (Self::functions().destroy)(self.map.as_ptr()) };
    }
}
