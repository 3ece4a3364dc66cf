//! Tells if the right check caught a planted bug.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs a check that a planted bug makes fail sometimes. Returns true if it failed with one of
/// `messages`.
///
/// # Panics
/// Panics if the check failed in another way, which would otherwise count as having caught the bug.
pub fn caught(messages: &[&str], check: impl FnOnce()) -> bool {
    let Err(panic) = catch_unwind(AssertUnwindSafe(check)) else { return false };
    let said = message(&*panic);
    assert!(messages.iter().any(|message| said.contains(message)), "not the planted bug's failure: {said}");
    true
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let owned = panic.downcast_ref::<String>().map(String::as_str);
    owned.or_else(|| panic.downcast_ref().copied()).unwrap_or("a panic without a text")
}
