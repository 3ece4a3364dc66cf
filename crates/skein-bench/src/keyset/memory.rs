//! Estimates the memory for making a key set, before it is made.

use super::family::SourceOrder;
use super::name::ParsedKeySet;
use super::seen_keys::SeenKeys;
use crate::{Error, Result, machine};

/// The number of keys drawn to estimate their length.
const SAMPLE: u64 = 1000;

/// Returns the bytes that [`make`](super::make) takes for `count` keys, absent ones included: the
/// keys, their ends, and the table that detects duplicates.
///
/// # Errors
/// If there is no such key set, or if its file cannot be read.
pub fn estimated_bytes(name: &str, count: usize) -> Result<u64> {
    estimate(&ParsedKeySet::parse(name, count as u64, 0)?, count)
}

/// Returns the greatest of some key sets' estimates; 0 if there is none.
///
/// # Errors
/// If one of them could not be estimated.
pub fn greatest(estimates: impl IntoIterator<Item = Result<u64>>) -> Result<u64> {
    estimates.into_iter().try_fold(0, |most, bytes| Ok(bytes?.max(most)))
}

fn estimate(named: &ParsedKeySet, count: usize) -> Result<u64> {
    let mean = sampled_mean(named)?;
    let source = named.open()?;
    let kept = mean + size_of::<usize>() as u64;
    let drawn = kept + if source.repeats() { SeenKeys::BYTES_PER_KEY } else { 0 };
    let count = count as u64;
    Ok(match (source.bytes(), named.family.order) {
        (Some(bytes), _) => {
            let all = bytes / (mean + 1);
            all * (drawn + size_of::<u32>() as u64) + all.min(count) * kept
        }
        (None, SourceOrder::Kept) => count.saturating_mul(drawn + kept),
        (None, _) => count.saturating_mul(drawn),
    })
}

/// Returns the mean length of a source's first keys, rounded up.
pub fn sampled_mean(named: &ParsedKeySet) -> Result<u64> {
    let mut source = named.open()?;
    let (mut key, mut keys, mut bytes) = (Vec::new(), 0, 0);
    while keys < SAMPLE && source.next(&mut key)? {
        keys += 1;
        bytes += key.len() as u64;
        key.clear();
    }
    Ok(bytes.div_ceil(keys.max(1)))
}

/// Returns an error if the set does not fit in the memory that is free now.
pub fn check(named: &ParsedKeySet, count: usize) -> Result<()> {
    let Ok(free) = machine::free_memory() else { return Ok(()) };
    refuse_beyond(free, estimate(named, count)?, named, count)
}

fn refuse_beyond(free: u64, needed: u64, named: &ParsedKeySet, count: usize) -> Result<()> {
    if needed <= free {
        return Ok(());
    }
    let mib = |bytes: u64| bytes >> 20;
    let way_out = if named.family.order == SourceOrder::Drawn {
        "take a shorter file: all of it is read before keys are chosen".to_owned()
    } else {
        let fits = u128::from(free) * count as u128 / u128::from(needed);
        format!("{fits} keys would fit, absent ones included")
    };
    Err(Error::Input(format!(
        "{count} keys of {} take about {} MiB, but {} MiB of memory are free; {way_out}",
        named.name(),
        mib(needed),
        mib(free)
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keyset::make;

    #[test]
    fn estimates_are_near_the_actual_size() {
        for name in ["rand-8", "K10", "az1", "url", "decimal", "Klong(100)"] {
            let set = make(name, 20_000, 0, 0).expect("a good name");
            let estimate = estimated_bytes(name, 20_000).expect("a good name");
            let held = (set.keys.byte_len() + 8 * set.keys.len()) as u64;
            assert!((held..2 * held).contains(&estimate), "{name}: {estimate} for {held}");
        }
    }

    #[test]
    fn a_set_too_large_is_rejected_with_the_size_that_fits() {
        let named = ParsedKeySet::parse("K10", 1, 1).expect("a good name");
        assert!(refuse_beyond(1000, 1000, &named, 10).is_ok());
        let error = refuse_beyond(1 << 30, 4 << 30, &named, 4_000_000).expect_err("too much").to_string();
        assert!(error.contains("4096 MiB") && error.contains("1000000 keys would fit"), "{error}");
        let error = make("Kshort(65535)", 4_000_000_000, 0, 1).expect_err("too much").to_string();
        assert!(error.contains("keys would fit"), "{error}");
    }
}
