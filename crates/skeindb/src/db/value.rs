//! Values as reads return them.

use std::ops::Deref;

use skein_data::FoundValue;

/// A value, which derefs to its bytes.
///
/// In memory the bytes are read in place, without a copy. While such a value lives, the engine
/// frees no memory of rows that are removed, so drop it soon or call [`into_vec`](Self::into_vec).
/// Later writes do not change it. It stays on its thread.
///
/// ```
/// # let db = skeindb::Db::in_memory()?;
/// let geese = db.keyspace("geese")?;
/// geese.insert("grey", "Anser anser")?;
/// let value = geese.get("grey")?.expect("it was inserted");
/// assert_eq!(value.len(), 11);
/// assert_eq!(value, b"Anser anser");
/// let owned: Vec<u8> = value.into();
/// # Ok::<(), skeindb::Error>(())
/// ```
pub struct Value<'a>(pub(super) FoundValue<'a>);

impl Value<'_> {
    /// Returns the bytes as a vector of its own.
    pub fn into_vec(self) -> Vec<u8> {
        self.0.into_vec()
    }
}

impl Deref for Value<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl AsRef<[u8]> for Value<'_> {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl From<Value<'_>> for Vec<u8> {
    fn from(value: Value<'_>) -> Self {
        value.into_vec()
    }
}

impl std::fmt::Debug for Value<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "\"{}\"", self.escape_ascii())
    }
}

impl<B: AsRef<[u8]> + ?Sized> PartialEq<B> for Value<'_> {
    fn eq(&self, other: &B) -> bool {
        **self == *other.as_ref()
    }
}
