//! Pages: 4 KiB each, with a head that names the page and shows whether it is intact.
//!
//! ```text
//!   0          4          8      9       12         16
//!   │ checksum │ page id  │ kind │ zeros │ place    │ body, 4,080 bytes                       │
//! ```
//!
//! The checksum is the CRC-32C of all bytes after it. Other pages refer to this page by its page
//! id. Its position in the file is another number, its place (`page_file/`). The file may still
//! have older versions of a page at other places, with the same id. So both numbers are in the
//! head, and a page that is read from a place where it was not written is noticed.
//!
//! Source: section 2.1 (pages of 4,096 bytes). Checksums are ours.

/// Bytes of a page.
pub const PAGE: usize = 4096;
/// Bytes of a page's head.
pub(crate) const HEAD: usize = 16;

const ID: usize = 4;
const KIND: usize = 8;
const PLACE: usize = 12;

/// The number by which other pages refer to a page. It stays the same when the page moves in the
/// file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct PageId(pub(crate) u32);

/// The position of a page in the file, in pages from the file's start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct PagePlace(pub(crate) u32);

/// The kind of a page's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum DiskPageKind {
    /// Records: nodes of tries.
    Records = 1,
    /// A piece of a long value.
    Overflow = 2,
    /// Places of pages.
    Map = 3,
    /// Places of maps.
    Directory = 4,
    /// Nodes of one length: the paper's layout.
    Nodes = 5,
    /// Keys in order: a page of a counted set.
    Keys = 6,
    /// Numbers of keys, at a checkpoint.
    Counts = 7,
}

impl DiskPageKind {
    #[inline]
    fn of(byte: u8) -> Option<Self> {
        match byte {
            1 => Some(Self::Records),
            2 => Some(Self::Overflow),
            3 => Some(Self::Map),
            4 => Some(Self::Directory),
            5 => Some(Self::Nodes),
            6 => Some(Self::Keys),
            7 => Some(Self::Counts),
            _ => None,
        }
    }
}

/// The bytes of a page, aligned for devices.
#[repr(C, align(4096))]
#[derive(Clone)]
pub(crate) struct PageBytes(pub(crate) [u8; PAGE]);

impl PageBytes {
    /// Turns it into an empty page.
    pub(crate) fn reset(&mut self, id: PageId, kind: DiskPageKind) {
        self.0.fill(0);
        self.0[ID..ID + 4].copy_from_slice(&id.0.to_le_bytes());
        self.0[KIND] = kind as u8;
    }

    /// Returns the id in the page's head.
    pub(crate) fn id(&self) -> PageId {
        PageId(u32_at(&self.0, ID))
    }

    /// Returns the kind in the page's head, or `None` if the kind is unknown.
    #[inline]
    pub(crate) fn kind(&self) -> Option<DiskPageKind> {
        DiskPageKind::of(self.0[KIND])
    }

    pub(crate) fn body(&self) -> &[u8] {
        &self.0[HEAD..]
    }

    pub(crate) fn body_mut(&mut self) -> &mut [u8] {
        &mut self.0[HEAD..]
    }

    fn checksum(&self) -> u32 {
        crc32c::crc32c(&self.0[ID..])
    }

    /// Notes the place, and writes the checksum. Must be called before the page is written to that
    /// place of the file.
    pub(crate) fn seal(&mut self, place: PagePlace) {
        self.0[PLACE..PLACE + 4].copy_from_slice(&place.0.to_le_bytes());
        let checksum = self.checksum();
        self.0[..ID].copy_from_slice(&checksum.to_le_bytes());
    }

    /// Returns the checksum in the page's head.
    pub(crate) fn sealed_checksum(&self) -> u32 {
        u32_at(&self.0, 0)
    }

    /// Checks that the page is intact, has this id, and was written to this place. Returns a
    /// description of the damage otherwise.
    pub(crate) fn verify(&self, id: PageId, place: PagePlace) -> Result<(), String> {
        let (says, is) = (self.sealed_checksum(), self.checksum());
        if says != is {
            return Err(format!("its checksum is {says:#010x}, but its bytes give {is:#010x}"));
        }
        if self.id() != id {
            return Err(format!("it claims to be page {}, but should be page {}", self.id().0, id.0));
        }
        let written = u32_at(&self.0, PLACE);
        if written != place.0 {
            let at = u64::from(written) * PAGE as u64;
            return Err(format!("it is a version of page {} that was written at byte {at}", id.0));
        }
        self.kind().map(|_| ()).ok_or_else(|| format!("its kind {} is unknown", self.0[KIND]))
    }
}

impl std::fmt::Debug for PageBytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bytes").field("id", &self.id()).field("kind", &self.kind()).finish_non_exhaustive()
    }
}

/// Reads four bytes as a little-endian number.
#[inline]
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut number = [0; 4];
    number.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(number)
}

/// Reads eight bytes as a little-endian number.
#[inline]
pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut number = [0; 8];
    number.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page_buf::PageBuf;

    #[test]
    fn changes_after_sealing_are_noticed() {
        let (id, place) = (PageId(7), PagePlace(9));
        let mut page = PageBuf::new(id, DiskPageKind::Records);
        page.body_mut()[5] = 1;
        page.seal(place);
        assert_eq!(page.verify(id, place), Ok(()));
        assert_eq!((page.id(), page.kind()), (id, Some(DiskPageKind::Records)));
        assert!(page.verify(PageId(8), place).unwrap_err().contains("page 7, but should be page 8"));
        for byte in 0..PAGE {
            page.0[byte] ^= 0x10;
            assert!(page.verify(id, place).unwrap_err().contains("checksum"), "byte {byte}");
            page.0[byte] ^= 0x10;
        }
        let elsewhere = page.verify(id, PagePlace(10)).unwrap_err();
        assert!(elsewhere.contains("written at byte 36864"), "{elsewhere}");
        page.0[KIND] = 99;
        page.seal(place);
        assert!(page.verify(id, place).unwrap_err().contains("kind 99"));
    }
}
