//! Maps with counters as values.

use skein_sync::reclaim::Guard;

use super::{MlpError, MlpKey, MlpMap};
use crate::index::ComputeAction;
use crate::slot::Inline;

macro_rules! increments {
    ($($t:ty),*) => {$(
        impl<K: MlpKey> MlpMap<K, Inline<$t>> {
            /// Adds `by` to the value of `key`, or to 0 if the key is absent. Returns the sum.
            /// Overflow wraps around, as in atomic integers.
            ///
            /// # Errors
            /// [`MlpError`]; then the map is unchanged.
            ///
            /// ```
            /// use skein_index::{Inline, MlpMap};
            #[doc = concat!("let counts = MlpMap::<u64, Inline<", stringify!($t), ">>::new();")]
            /// let guard = counts.collector().enter();
            /// assert_eq!(counts.increment(80, 1, &guard)?, 1);
            /// assert_eq!(counts.increment(80, 5, &guard)?, 6);
            /// # Ok::<(), skein_index::MlpError>(())
            /// ```
            #[inline]
            pub fn increment<G: Guard>(&self, key: K, by: $t, guard: &G) -> Result<$t, MlpError> {
                let sum = |value: Option<$t>| value.unwrap_or(0).wrapping_add(by);
                Ok(sum(self.compute(key, |value| ComputeAction::Put(Inline(sum(value))), guard)?.before))
            }
        }
    )*};
}
increments!(u64, i64);
