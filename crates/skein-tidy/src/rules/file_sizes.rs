//! A file that one must scroll is two files.

use crate::SourceTree;

/// The maximum number of lines in a file.
pub const LINES_MAX: usize = 500;

/// Returns the files with more than `LINES_MAX` lines.
pub fn long_files(tree: &SourceTree) -> Vec<String> {
    let long = tree.files().filter_map(|(path, text)| {
        let lines = text.lines().count();
        (lines > LINES_MAX).then(|| {
            format!(
                "{path} has {lines} lines, and the limit is {LINES_MAX}: split it by the tasks of its parts"
            )
        })
    });
    long.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_may_have_the_limit_and_no_line_more() {
        let (fits, long) = ("\n".repeat(LINES_MAX), "\n".repeat(LINES_MAX + 1));
        let found =
            long_files(&SourceTree::of(&[("crates/a/src/a.rs", &fits), ("crates/a/tests/b.rs", &long)]));
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("crates/a/tests/b.rs has 501 lines"), "{}", found[0]);
    }
}
