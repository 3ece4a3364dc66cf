//! The output of a command, and its exit code. The tests of `skein-bench` use this file, too.

use std::process::Output;

/// Returns the standard output of a command that must succeed.
pub fn stdout_of(output: Output) -> Vec<u8> {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {errors}", output.status);
    output.stdout
}

/// Asserts that a command failed with `code` and one clear line that contains all of `words`.
pub fn assert_refused(output: &Output, code: i32, words: &[&str]) {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "it says: {errors}");
    assert!(!errors.contains("panicked"), "it panicked: {errors}");
    let last = errors.lines().last().unwrap_or_default();
    if code != 2 {
        assert!(last.starts_with("skein: "), "the last line is not the reason: {errors}");
    }
    for word in words {
        assert!(errors.contains(word), "{word:?} is not in: {errors}");
    }
}
