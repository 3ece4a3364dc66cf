//! The system's settings of transparent huge pages.

use std::fs::read_to_string;

use super::first_line;

/// The settings that decide whether memory gets the huge pages it asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HugePages {
    /// `always`, `madvise` (only on request, as SkeinDB does) or `never`; `None` if the kernel has
    /// no such setting.
    pub enabled: Option<String>,
    /// Whether the system compacts memory on request: `always`, `defer`, `defer+madvise`,
    /// `madvise`, `never`.
    pub defrag: Option<String>,
    /// Whether the parent of this process has switched huge pages off for it.
    pub denied: bool,
}

impl HugePages {
    /// Returns the settings of this machine and this process.
    pub fn of_this_machine() -> Self {
        let setting =
            |name: &str| chosen(&first_line(&format!("/sys/kernel/mm/transparent_hugepage/{name}"))?);
        let status = read_to_string("/proc/self/status").unwrap_or_default();
        Self { enabled: setting("enabled"), defrag: setting("defrag"), denied: denied(&status) }
    }
}

/// Returns the word in brackets: `always [madvise] never`.
fn chosen(line: &str) -> Option<String> {
    let (_, rest) = line.split_once('[')?;
    Some(rest.split_once(']')?.0.to_owned())
}

fn denied(status: &str) -> bool {
    status.lines().any(|line| line.strip_prefix("THP_enabled:").is_some_and(|value| value.trim() == "0"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_in_brackets_counts() {
        assert_eq!(chosen("always [madvise] never").as_deref(), Some("madvise"));
        assert_eq!(chosen("always defer [defer+madvise] madvise never").as_deref(), Some("defer+madvise"));
        assert_eq!(chosen("nothing"), None);
    }

    #[test]
    fn a_process_may_be_denied() {
        assert!(denied("Name:\tx\nTHP_enabled:\t0\n"));
        assert!(!denied("Name:\tx\nTHP_enabled:\t1\n"));
        assert!(!denied("Name:\tx\n"));
    }
}
