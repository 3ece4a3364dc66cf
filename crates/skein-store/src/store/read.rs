//! The simple methods that read. They return owned answers and work from any thread.

use std::ops::{Bound, ControlFlow};
use std::time::Duration;

use skein_model::RowRef;

use super::Store;
use crate::collection::CollectionReads as _;
use crate::expiry::OperationTime;
use crate::index::KeyBounds;
use crate::{Error, Result, ScanDirection};

/// A key with its contents, owned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyEntry {
    /// The key.
    pub key: Vec<u8>,
    /// The version of the row.
    pub version: u64,
    /// The time at which the key expires, in milliseconds since 1970, if it does.
    pub expires_at: Option<u64>,
    /// The value, if the row has a value and no columns.
    pub value: Option<Vec<u8>>,
    /// The columns by name, including those stored as entries of their own. Empty if the row has a
    /// value or is a sorted set. An entry does not show the members of a sorted set; see
    /// [`RowRef::sorted_set`].
    pub columns: Vec<(Vec<u8>, Vec<u8>)>,
}

/// The name of a column, and its value if it is present.
pub type ColumnFound = (Vec<u8>, Option<Vec<u8>>);

impl KeyEntry {
    pub(crate) fn new(key: &[u8], row: RowRef<'_>) -> Self {
        Self {
            key: key.to_vec(),
            version: row.version(),
            expires_at: row.expires_at(),
            value: row.value().map(<[u8]>::to_vec),
            columns: row.read_columns().map(|columns| columns.to_vec()).unwrap_or_default(),
        }
    }
}

/// Collects the first `limit` rows of `scan`.
pub(super) fn gather(
    limit: usize,
    scan: impl FnOnce(&mut dyn FnMut(&[u8], RowRef<'_>) -> ControlFlow<()>),
) -> Vec<KeyEntry> {
    let mut entries = Vec::new();
    if limit > 0 {
        scan(&mut |key, row| {
            entries.push(KeyEntry::new(key, row));
            if entries.len() < limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
    }
    entries
}

impl Store {
    /// Returns the time of the simple methods: the present.
    fn time(&self) -> OperationTime<'_> {
        self.core().time(None)
    }

    /// Returns the time at which `key` expires, in milliseconds since 1970, or `None` if it is
    /// absent or does not expire.
    ///
    /// ```
    /// # use skein_store::*;
    /// # let folder = tempfile::tempdir()?;
    /// # let store = Store::open(folder.path(), StoreOptions::default())?;
    /// let tomorrow = store.options().clock.now() + 86_400_000;
    /// store.put_until(b"goose", b"grey", tomorrow)?;
    /// assert_eq!(store.expires_at(b"goose"), Some(tomorrow));
    /// store.put(b"goose", b"bean")?;
    /// assert_eq!(store.expires_at(b"goose"), None, "a put starts anew");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn expires_at(&self, key: &[u8]) -> Option<u64> {
        let index = &self.core().keys.index;
        let guard = index.collector().enter();
        self.time().live(index.get(key, &guard)).and_then(RowRef::expires_at)
    }

    /// Returns for how long `key` was not used, without counting as a use. It is too short by up to
    /// a quarter of an hour, and far too short for a key that was not used for 42 days. While keys
    /// are evicted by last use, the second bound is the time in which 64 times the memory limit is
    /// written, if that is shorter.
    ///
    /// Returns `None` if there is no such key, or keys are evicted by frequency
    /// ([`Eviction::Lfu`](crate::Eviction::Lfu)). A store without
    /// [`expiry_interval`](crate::StoreOptions::expiry_interval) answers with 0 for all keys used
    /// since it was opened.
    ///
    /// ```
    /// # use skein_store::*;
    /// # use std::time::Duration;
    /// # let folder = tempfile::tempdir()?;
    /// # let store = Store::open(folder.path(), StoreOptions::default())?;
    /// store.put(b"goose", b"grey")?;
    /// assert_eq!(store.idle_time(b"goose"), Some(Duration::ZERO));
    /// store.set_idle_time(b"goose", Duration::from_secs(86_400));
    /// assert!(store.idle_time(b"goose") > Some(Duration::from_secs(85_000)));
    /// store.session().get_with(b"goose", |_| ());
    /// assert_eq!(store.idle_time(b"goose"), Some(Duration::ZERO));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn idle_time(&self, key: &[u8]) -> Option<Duration> {
        let core = self.core();
        let guard = core.keys.index.collector().enter();
        let row = self.time().live(core.keys.index.get(key, &guard))?;
        let idle = core.keys.rows.ages().idle_s(row.stamp(), core.options.clock.now_s())?;
        Some(Duration::from_secs(idle.into()))
    }

    /// Sets for how long `key` was not used: 21 days at most. Has no effect while keys are evicted
    /// by frequency, or if there is no such key. See [`idle_time`](Self::idle_time).
    pub fn set_idle_time(&self, key: &[u8], idle: Duration) {
        let (ages, now_s) = (self.core().keys.rows.ages(), self.core().options.clock.now_s());
        let idle_s = u32::try_from(idle.as_secs()).unwrap_or(u32::MAX);
        self.restamp(key, ages.stamp_of_idle(idle_s, now_s));
    }

    /// Sets how often `key` is used. Has no effect unless keys are evicted by frequency, or if
    /// there is no such key.
    ///
    /// ```
    /// # use skein_store::*;
    /// # let folder = tempfile::tempdir()?;
    /// # let store = Store::open(folder.path(), StoreOptions::default())?;
    /// store.set_memory_limit(Some(1 << 30), Eviction::Lfu);
    /// store.put(b"goose", b"grey")?;
    /// store.set_frequency(b"goose", 100);
    /// assert_eq!(store.frequency(b"goose"), Some(100));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn set_frequency(&self, key: &[u8], count: u8) {
        self.restamp(key, self.core().keys.rows.ages().stamp_of_frequency(count));
    }

    fn restamp(&self, key: &[u8], stamp: Option<u64>) {
        let index = &self.core().keys.index;
        let guard = index.collector().enter();
        if let (Some(stamp), Some(row)) = (stamp, index.get(key, &guard)) {
            row.restamp(stamp);
        }
    }

    /// Returns how often `key` is used, on a logarithmic scale up to 255, without counting as a
    /// use. Returns `None` if there is no such key, or keys are not evicted by frequency
    /// ([`Eviction::Lfu`](crate::Eviction::Lfu)).
    pub fn frequency(&self, key: &[u8]) -> Option<u8> {
        let keys = &self.core().keys;
        let guard = keys.index.collector().enter();
        let row = self.time().live(keys.index.get(key, &guard))?;
        keys.rows.ages().frequency(row.stamp())
    }

    /// Returns the value of `key`.
    ///
    /// ```
    /// # use skein_store::*;
    /// # let folder = tempfile::tempdir()?;
    /// # let store = Store::open(folder.path(), StoreOptions::default())?;
    /// store.put(b"goose", b"grey")?;
    /// assert_eq!(store.get(b"goose")?, Some(b"grey".to_vec()));
    /// assert_eq!(store.get(b"swan")?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// `WrongKind` if the key holds columns.
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let index = &self.core().keys.index;
        let guard = index.collector().enter();
        let Some(row) = self.time().live(index.get(key, &guard)) else { return Ok(None) };
        Ok(Some(row.needed_value()?.to_vec()))
    }

    /// Returns the contents of `key` and its version.
    ///
    /// ```
    /// # use skein_store::*;
    /// # let folder = tempfile::tempdir()?;
    /// # let store = Store::open(folder.path(), StoreOptions::default())?;
    /// store.put(b"goose", b"bean")?;
    /// store.put(b"goose", b"grey")?;
    /// let entry = store.get_entry(b"goose").expect("it was put");
    /// assert_eq!((entry.version, entry.value.as_deref()), (2, Some(&b"grey"[..])));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn get_entry(&self, key: &[u8]) -> Option<KeyEntry> {
        let index = &self.core().keys.index;
        let guard = index.collector().enter();
        self.time().live(index.get(key, &guard)).map(|row| KeyEntry::new(key, row))
    }

    /// Returns columns of `key` with their names. With `names`, returns these columns in this
    /// order, and `None` for an absent one. Without `names`, returns all columns in the order of
    /// their names.
    ///
    /// ```
    /// # use skein_store::*;
    /// # let folder = tempfile::tempdir()?;
    /// # let store = Store::open(folder.path(), StoreOptions::default())?;
    /// store.put_columns(b"flock", &[(b"size", b"40"), (b"leader", b"goose")])?;
    /// let text = |bytes: &[u8]| bytes.to_vec();
    /// assert_eq!(
    ///     store.get_columns(b"flock", Some(&[b"size", b"place"]))?,
    ///     [(text(b"size"), Some(text(b"40"))), (text(b"place"), None)]
    /// );
    /// // All of them, in the order of their names.
    /// assert_eq!(store.get_columns(b"flock", None)?[0], (text(b"leader"), Some(text(b"goose"))));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// `WrongKind` if the key holds a value.
    pub fn get_columns(&self, key: &[u8], names: Option<&[&[u8]]>) -> Result<Vec<ColumnFound>> {
        let index = &self.core().keys.index;
        let guard = index.collector().enter();
        let row = self.time().live(index.get(key, &guard));
        let columns = row.map(|row| {
            row.read_columns().ok_or_else(|| Error::WrongKind { found: row.holds(), needed: "columns" })
        });
        let columns = columns.transpose()?;
        Ok(match (names, columns) {
            (None, None) => Vec::new(),
            (None, Some(columns)) => {
                columns.to_vec().into_iter().map(|(name, value)| (name, Some(value))).collect()
            }
            (Some(names), columns) => {
                let value = |name| Some(columns.as_ref()?.get(name)?.to_vec());
                names.iter().map(|name| (name.to_vec(), value(name))).collect()
            }
        })
    }

    /// Returns the rows within `bounds`, at most `limit`, in order. This is not a snapshot; see
    /// [`Session::scan`](crate::Session::scan) and [`snapshot`](Self::snapshot).
    ///
    /// ```
    /// # use skein_store::*;
    /// # let folder = tempfile::tempdir()?;
    /// # let store = Store::open(folder.path(), StoreOptions::default())?;
    /// use std::ops::Bound::{Excluded, Unbounded};
    ///
    /// for key in ["bean goose", "grey goose", "swan"] {
    ///     store.put(key.as_bytes(), b"")?;
    /// }
    /// let bounds = (Excluded(&b"bean goose"[..]), Unbounded);
    /// let after = store.range(bounds, ScanDirection::Forward, 10);
    /// let keys: Vec<&[u8]> = after.iter().map(|entry| &entry.key[..]).collect();
    /// assert_eq!(keys, [&b"grey goose"[..], b"swan"]);
    /// let last = store.range((Unbounded, Unbounded), ScanDirection::Backward, 1);
    /// assert_eq!(last[0].key, b"swan");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn range(&self, bounds: KeyBounds<'_>, direction: ScanDirection, limit: usize) -> Vec<KeyEntry> {
        gather(limit, |each| self.core().keys.scan(self.time(), bounds, direction, each))
    }

    /// Returns the rows whose keys start with `prefix`, at most `limit`, in order.
    ///
    /// ```
    /// # use skein_store::*;
    /// # let folder = tempfile::tempdir()?;
    /// # let store = Store::open(folder.path(), StoreOptions::default())?;
    /// for key in ["goose:bean", "goose:grey", "swan:mute"] {
    ///     store.put(key.as_bytes(), b"")?;
    /// }
    /// let geese = store.prefix(b"goose:", ScanDirection::Backward, 10);
    /// let keys: Vec<&[u8]> = geese.iter().map(|entry| &entry.key[..]).collect();
    /// assert_eq!(keys, [&b"goose:grey"[..], b"goose:bean"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn prefix(&self, prefix: &[u8], direction: ScanDirection, limit: usize) -> Vec<KeyEntry> {
        let end = skein_index::successor(prefix);
        let end = end.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
        self.range((Bound::Included(prefix), end), direction, limit)
    }
}
