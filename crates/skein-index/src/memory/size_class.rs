//! Size classes: the object sizes that spans can have.
//!
//! ```text
//!   8, 16, ... 128      steps of 8     small keys, suffixes, inline rows
//!   144, 160, ... 256   steps of 16
//!   320, 384, ... 1024  steps of 64    tree nodes
//!   1280, ... 8192      four per power of two
//! ```
//!
//! Every multiple of 64 up to 1024 is a class, and every class above 256 is a multiple of 64. So an
//! object whose size is a multiple of 64 always occupies whole cache lines.

/// The largest object that a span can hold. The global allocator serves larger ones. Under `loom`
/// it serves all, because a model explores the protocol above the allocator, never the allocator.
pub(super) const MAX_SMALL: usize = if cfg!(skein_loom) { 0 } else { 8192 };

/// The number of classes.
pub(super) const CLASSES: usize = 16 + 8 + 12 + 12;

/// The size of each class in bytes, ascending.
const SIZES: [u16; CLASSES] = sizes();

/// The class of each size up to 1024, by the size in 8-byte words, rounded up.
const BY_WORDS: [u8; 129] = by_words();

const fn sizes() -> [u16; CLASSES] {
    let mut sizes = [0; CLASSES];
    let mut class = 0;
    let mut size: u16 = 0;
    while class < CLASSES {
        size += if size < 128 {
            8
        } else if size < 256 {
            16
        } else if size < 1024 {
            64
        } else {
            (1 << size.ilog2()) / 4
        };
        sizes[class] = size;
        class += 1;
    }
    sizes
}

const fn by_words() -> [u8; 129] {
    let mut table = [0; 129];
    let mut words = 1;
    let mut class = 0;
    while words <= 128 {
        if words * 8 > SIZES[class] as usize {
            class += 1;
        }
        table[words] = class as u8;
        words += 1;
    }
    table
}

/// Returns the smallest class that holds objects of `size` bytes. REQUIRES: `size <= MAX_SMALL`.
#[inline(always)]
pub(super) fn class_of(size: usize) -> usize {
    if size <= 1024 {
        BY_WORDS[size.div_ceil(8)] as usize
    } else {
        // Above 1024, four classes share a power of two: its exponent and the two bits below it
        // select the class.
        let last = size - 1;
        let exponent = last.ilog2() as usize;
        36 + (exponent - 10) * 4 + ((last >> (exponent - 2)) & 3)
    }
}

/// Returns the object size of a class in bytes.
#[inline(always)]
pub(super) fn size_of_class(class: usize) -> usize {
    SIZES[class] as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_gets_the_smallest_class_that_holds_it() {
        assert_eq!(SIZES[CLASSES - 1], 8192);
        for size in 0..=8192 {
            let class = class_of(size);
            assert!(size_of_class(class) >= size, "{size} in {class}");
            assert!(class == 0 || size_of_class(class - 1) < size, "{size} fits a smaller one than {class}");
        }
    }

    #[test]
    fn whole_lines_stay_whole_lines() {
        for size in (64..=8192).step_by(64) {
            assert_eq!(size_of_class(class_of(size)) % 64, 0, "{size}");
        }
    }
}
