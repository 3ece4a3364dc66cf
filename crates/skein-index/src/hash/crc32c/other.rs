//! Processors without the instruction, and Miri, which runs no assembly: the software version is
//! used instead.

pub(in crate::hash) fn is_available() -> bool {
    false
}

#[inline(always)]
pub(in crate::hash) fn by_8(_register: u64, _bytes: u64) -> u64 {
    unreachable!("callers check `is_available`")
}
