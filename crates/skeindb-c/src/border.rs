//! The border to C: catches panics, and keeps the text of each thread's last error.

use std::any::Any;
use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use skeindb::Error;

use crate::status::Status;

thread_local! {
    static LAST_ERROR: RefCell<CString> = RefCell::default();
}

/// Why a function did not do its work.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) status: Status,
    /// `None` to leave the text of an earlier failure on this thread.
    text: Option<String>,
}

pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

impl Failure {
    pub(crate) fn new(status: Status, text: impl Into<String>) -> Self {
        Self { status, text: Some(text.into()) }
    }

    pub(crate) fn misuse(text: impl Into<String>) -> Self {
        Self::new(Status::SKEIN_MISUSE, text)
    }

    /// A parameter that must not be NULL is NULL.
    pub(crate) fn null(parameter: &str) -> Self {
        Self::misuse(format!("the parameter `{parameter}` is NULL"))
    }

    /// A failure; this thread has stored its text before.
    pub(crate) fn reported(status: Status) -> Self {
        Self { status, text: None }
    }

    fn report(self) -> Status {
        if let Some(mut text) = self.text {
            text.retain(|c| c != '\0');
            let text = CString::new(text).unwrap_or_default();
            // A thread that ends has no place for it any more.
            let _ = LAST_ERROR.try_with(|last| last.replace(text));
        }
        self.status
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::new(Status::of(&error), error.to_string())
    }
}

fn of_panic(panic: &(dyn Any + Send)) -> Failure {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
    Failure::new(
        Status::SKEIN_INTERNAL,
        format!("a bug of SkeinDB: {text}; close the database and report it"),
    )
}

/// Runs the body of a function (invariant 7).
pub(crate) fn answer(body: impl FnOnce() -> Result<Status>) -> Status {
    // The handles' locks ignore poisoning: between two of their statements that can panic, their
    // data are consistent.
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(answer) => answer.unwrap_or_else(Failure::report),
        Err(panic) => of_panic(&*panic).report(),
    }
}

/// As [`answer`], for functions that are done or have failed.
pub(crate) fn call(body: impl FnOnce() -> Result<()>) -> Status {
    answer(|| body().map(done))
}

/// Returns [`Status::SKEIN_OK`], for work that returns nothing.
pub(crate) fn done((): ()) -> Status {
    Status::SKEIN_OK
}

/// Returns [`Status::SKEIN_OK`] if something was found.
pub(crate) fn found(found: bool) -> Status {
    if found { Status::SKEIN_OK } else { Status::SKEIN_NOT_FOUND }
}

/// Returns the text of the last error on this thread: of its last call that returned a negative
/// status. Never NULL; empty if there was none. It is valid until the next call on this thread
/// that returns a negative status, and at most until the thread ends. Other threads do not change
/// it.
#[unsafe(no_mangle)]
pub extern "C" fn skein_error_message() -> *const c_char {
    LAST_ERROR.try_with(|last| last.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;

    use super::*;

    fn message() -> String {
        // SAFETY: the text is valid until this thread's next error.
        unsafe { CStr::from_ptr(skein_error_message()) }.to_string_lossy().into_owned()
    }

    #[test]
    fn panics_stop_at_the_border() {
        let failed = |status: i32, why: &'static str| {
            assert_eq!(
                call(|| if status == 1 { panic!("{why} of {status}") } else { panic!("{}", why) }),
                Status::SKEIN_INTERNAL
            );
            assert!(message().starts_with("a bug of SkeinDB: "), "{}", message());
            assert!(message().contains(why), "{}", message());
        };
        failed(1, "a text that was put together");
        failed(2, "a text");
        assert_eq!(call(|| std::panic::panic_any(7)), Status::SKEIN_INTERNAL);
        assert!(message().contains("no message"), "{}", message());
    }

    #[test]
    fn each_thread_has_its_last_error() {
        assert_eq!(call(|| Err(Failure::null("key\0"))), Status::SKEIN_MISUSE);
        let expected = "the parameter `key` is NULL";
        assert_eq!(message(), expected);
        assert_eq!(std::thread::spawn(message).join().expect("no panic"), "");
        assert_eq!(call(|| Ok(())), Status::SKEIN_OK);
        assert_eq!(answer(|| Err(Failure::reported(Status::SKEIN_IO))), Status::SKEIN_IO);
        assert_eq!(message(), expected, "neither success nor a reported failure changes it");
    }
}
