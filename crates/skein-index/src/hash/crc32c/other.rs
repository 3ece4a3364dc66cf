//! No such instruction, or no assembly (Miri): the portable twin serves.

pub(in crate::hash) fn has_it() -> bool {
    false
}

#[inline(always)]
pub(in crate::hash) fn by_8(_register: u64, _bytes: u64) -> u64 {
    unreachable!("callers ask `has_it`")
}
