//! The sizes up to which Redis keeps a collection in a compact form. They decide the answer of
//! OBJECT ENCODING and the order of ZSCAN's replies. SkeinDB stores every collection in the same
//! way, and DUMP chooses by the defaults.

use super::{Live as _, LiveNumber};

/// The sizes that can change while the server runs, as CONFIG SET names them.
#[derive(Debug)]
pub(crate) struct EncodingSettings {
    pub hash_entries: LiveNumber,
    pub hash_value: LiveNumber,
    pub set_integers: LiveNumber,
    pub sorted_set_entries: LiveNumber,
    pub sorted_set_value: LiveNumber,
}

impl EncodingSettings {
    pub(super) fn new() -> Self {
        let default = EncodingLimits::DEFAULT;
        Self {
            hash_entries: default.hash_entries.cell(),
            hash_value: default.hash_value.cell(),
            set_integers: default.set_integers.cell(),
            sorted_set_entries: default.sorted_set_entries.cell(),
            sorted_set_value: default.sorted_set_value.cell(),
        }
    }

    /// Returns the present sizes.
    pub(crate) fn limits(&self) -> EncodingLimits {
        EncodingLimits {
            hash_entries: self.hash_entries.get(),
            hash_value: self.hash_value.get(),
            set_integers: self.set_integers.get(),
            sorted_set_entries: self.sorted_set_entries.get(),
            sorted_set_value: self.sorted_set_value.get(),
        }
    }
}

/// The sizes as of one moment: numbers of elements, and bytes of the longest element.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EncodingLimits {
    pub hash_entries: usize,
    pub hash_value: usize,
    pub set_integers: usize,
    pub sorted_set_entries: usize,
    pub sorted_set_value: usize,
}

impl EncodingLimits {
    /// The defaults of Redis 7.0.
    pub(crate) const DEFAULT: Self = Self {
        hash_entries: 512,
        hash_value: 64,
        set_integers: 512,
        sorted_set_entries: 128,
        sorted_set_value: 64,
    };
}
