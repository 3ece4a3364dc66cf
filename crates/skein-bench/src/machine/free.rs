//! The memory that a run may take.

use std::fs::read_to_string;

use crate::{Error, Result};

/// Returns the bytes that programs can still allocate without swapping, within the process's
/// control group. File caches count as free, since the system can drop them.
///
/// # Errors
/// If the system does not report it.
pub fn free_memory() -> Result<u64> {
    let info = read_to_string("/proc/meminfo").unwrap_or_default();
    let available = field(&info, "MemAvailable:").ok_or_else(|| {
        Error::Failed(
            "cannot tell how much memory is free: /proc/meminfo has no line MemAvailable".to_owned(),
        )
    })?;
    let groups = read_to_string("/proc/self/cgroup").unwrap_or_default();
    let read = |path: &str| read_to_string(path).ok();
    Ok(group_folders(&groups)
        .iter()
        .filter_map(|folder| left_in_group(folder, read))
        .fold(available, u64::min))
}

/// Parses the figure of a line such as `MemTotal: 1024 kB`; returns bytes.
pub(super) fn field(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// Returns the folders that may hold memory limits, given `/proc/self/cgroup`: the folder of the
/// process's group and of all groups above it. In a container the path may be the host's while the
/// group's own files are at the top, so the top is included.
fn group_folders(groups: &str) -> Vec<String> {
    let mut folders = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let top = match controllers {
            "" => "/sys/fs/cgroup",
            list if list.split(',').any(|name| name == "memory") => "/sys/fs/cgroup/memory",
            _ => continue,
        };
        let mut path = path.trim_end_matches('/');
        loop {
            folders.push(format!("{top}{path}"));
            let Some((above, _)) = path.rsplit_once('/') else { break };
            path = above;
        }
    }
    folders
}

/// Returns the bytes left in a control group of version 2 or 1; `None` if it has no limit.
fn left_in_group(folder: &str, read: impl Fn(&str) -> Option<String>) -> Option<u64> {
    let number = |file: &str| read(&format!("{folder}/{file}"))?.trim().parse::<u64>().ok();
    let (limit, used) = number("memory.max")
        .zip(number("memory.current"))
        .or_else(|| number("memory.limit_in_bytes").zip(number("memory.usage_in_bytes")))?;
    let stat = read(&format!("{folder}/memory.stat")).unwrap_or_default();
    let of_files =
        stat.lines().find_map(|line| line.strip_prefix("inactive_file ")?.trim().parse::<u64>().ok());
    Some(limit.saturating_sub(used.saturating_sub(of_files.unwrap_or(0))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_in_kibibytes() {
        let info = "MemTotal:       24684084 kB\nMemAvailable:   1 kB\nOdd: 3\n";
        assert_eq!(field(info, "MemAvailable:"), Some(1024));
        assert_eq!(field(info, "Odd:"), None);
        assert_eq!(field(info, "None:"), None);
    }

    #[test]
    fn groups_of_both_versions_and_those_above_them() {
        assert_eq!(
            group_folders("4:cpu,memory:/a/b\n3:cpuset:/\n0::/\nnonsense\n"),
            [
                "/sys/fs/cgroup/memory/a/b",
                "/sys/fs/cgroup/memory/a",
                "/sys/fs/cgroup/memory",
                "/sys/fs/cgroup"
            ]
        );
    }

    #[test]
    fn a_group_has_its_limit_minus_its_usage_left() {
        let files = |pairs: &'static [(&str, &str)]| {
            move |path: &str| {
                pairs
                    .iter()
                    .find(|(name, _)| path == format!("/g/{name}"))
                    .map(|(_, text)| (*text).to_owned())
            }
        };
        let second = files(&[
            ("memory.max", "1000\n"),
            ("memory.current", "700\n"),
            ("memory.stat", "anon 5\ninactive_file 300\n"),
        ]);
        assert_eq!(left_in_group("/g", second), Some(600));
        let first = files(&[("memory.limit_in_bytes", "1000\n"), ("memory.usage_in_bytes", "1200\n")]);
        assert_eq!(left_in_group("/g", first), Some(0));
        let unlimited = files(&[("memory.max", "max\n"), ("memory.current", "700\n")]);
        assert_eq!(left_in_group("/g", unlimited), None);
    }

    #[test]
    fn this_machine_has_free_memory() {
        let free = free_memory().expect("a Linux of our century");
        assert!(free > 0 && free < 1 << 50, "{free}");
    }
}
