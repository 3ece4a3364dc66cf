//! The parts of encodings that log records, rows of checkpoints, rows of the disk engine and the
//! identity file share.

/// A bit of the kind: 8 bytes after the key hold the time of expiry. Used in log records, and in
/// the rows of checkpoints and of the disk engine.
pub const EXPIRES: u8 = 0x80;

/// Returns the byte of a kind, with or without [`EXPIRES`].
pub fn flagged(kind: u8, expires: Option<u64>) -> u8 {
    if expires.is_some() { kind | EXPIRES } else { kind }
}

/// Appends a kind, and the time of expiry if there is one.
pub fn put_kind(out: &mut Vec<u8>, kind: u8, expires: Option<u64>) {
    out.push(flagged(kind, expires));
    put_expiry(out, expires);
}

/// Appends the time of expiry, if there is one.
pub fn put_expiry(out: &mut Vec<u8>, expires: Option<u64>) {
    if let Some(expires) = expires {
        out.extend_from_slice(&expires.to_le_bytes());
    }
}

/// Reads values from the front of a slice.
pub struct ByteReader<'a>(
    /// The bytes that are left.
    pub &'a [u8],
);

impl<'a> ByteReader<'a> {
    /// Takes this number of bytes; `None` if there are fewer.
    pub fn bytes(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    /// Takes a byte.
    pub fn u8(&mut self) -> Option<u8> {
        self.bytes(1).map(|bytes| bytes[0])
    }

    /// Takes a number of 2 bytes, little-endian.
    pub fn u16(&mut self) -> Option<u16> {
        Some(u16::from_le_bytes(self.bytes(2)?.try_into().ok()?))
    }

    /// Takes a number of 4 bytes, little-endian.
    pub fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.bytes(4)?.try_into().ok()?))
    }

    /// Takes a number of 8 bytes, little-endian.
    pub fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.bytes(8)?.try_into().ok()?))
    }

    /// Reads the time of expiry that follows this kind. Returns `None` if it is cut short.
    pub fn expiry(&mut self, kind: u8) -> Option<Option<u64>> {
        if kind & EXPIRES == 0 { Some(None) } else { self.u64().map(Some) }
    }
}
