//! The sizes up to which Redis keeps a collection in a compact form. They decide what OBJECT ENCODING
//! answers and in which order ZSCAN replies; SkeinDB stores every collection in the same way, and
//! DUMP chooses by the defaults.

use super::LiveSetting;

/// The sizes that can change while the server runs, as CONFIG SET names them.
#[derive(Debug)]
pub(crate) struct EncodingSettings {
    pub hash_entries: LiveSetting,
    pub hash_value: LiveSetting,
    pub set_integers: LiveSetting,
    pub sorted_set_entries: LiveSetting,
    pub sorted_set_value: LiveSetting,
}

impl EncodingSettings {
    pub(super) fn new() -> Self {
        let default = EncodingLimits::DEFAULT;
        Self {
            hash_entries: LiveSetting::new(default.hash_entries),
            hash_value: LiveSetting::new(default.hash_value),
            set_integers: LiveSetting::new(default.set_integers),
            sorted_set_entries: LiveSetting::new(default.sorted_set_entries),
            sorted_set_value: LiveSetting::new(default.sorted_set_value),
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
