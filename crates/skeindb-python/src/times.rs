//! Times and durations as arguments.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::failure::{Failure, Result};

/// Returns the seconds of a number, or of an object that has them by `method`.
fn seconds(time: &Bound<'_, PyAny>, method: &str, expected: &str) -> Result<f64> {
    if let Ok(seconds) = time.extract::<f64>() {
        return Ok(seconds);
    }
    if time.hasattr(method)? {
        return Ok(time.call_method0(method)?.extract()?);
    }
    let name = time.get_type().name()?;
    Err(PyTypeError::new_err(format!("expected {expected}, not {name}")).into())
}

/// Returns the time of a `datetime`, or of seconds since 1970.
pub(crate) fn moment(time: &Bound<'_, PyAny>) -> Result<SystemTime> {
    let seconds = seconds(time, "timestamp", "a datetime, or seconds since 1970")?;
    let since = Duration::try_from_secs_f64(seconds).ok();
    since.and_then(|since| UNIX_EPOCH.checked_add(since)).ok_or_else(|| {
        Failure::Invalid(format!("the time {seconds} is out of range; use seconds since 1970 from 0 on"))
    })
}

/// Returns the time at which a row expires that lives for a `timedelta`, or for seconds.
pub(crate) fn after(ttl: &Bound<'_, PyAny>) -> Result<SystemTime> {
    let seconds = seconds(ttl, "total_seconds", "a timedelta, or seconds")?;
    let lives = Duration::try_from_secs_f64(seconds).ok().filter(|lives| !lives.is_zero());
    lives.and_then(|lives| SystemTime::now().checked_add(lives)).ok_or_else(|| {
        Failure::Invalid(format!("a ttl of {seconds} seconds is out of range; it must be greater than 0"))
    })
}
