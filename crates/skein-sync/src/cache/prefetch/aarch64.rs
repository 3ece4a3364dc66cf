//! The instruction `prfm pldl1keep`, in assembly because the intrinsic is not stable.

#[inline(always)]
pub(super) fn fetch(address: *const u8) {
    // SAFETY: a prefetch of any address is allowed; it changes no register, no flag and no memory.
    unsafe {
        std::arch::asm!(
            "prfm pldl1keep, [{address}]",
            address = in(reg) address,
            options(nostack, preserves_flags, readonly),
        );
    }
}
