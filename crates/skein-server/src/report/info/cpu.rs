//! INFO cpu: the processor time of this process, if the system reports it.

use super::InfoLines;
use super::InfoNumbers;
use crate::shared::ServerShared;

/// Seconds in the system and in user code.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct CpuSeconds {
    pub system: f64,
    pub user: f64,
    /// The same of the processes that it has started and that have ended.
    pub children_system: f64,
    pub children_user: f64,
}

/// Returns the processor time of this process, to 10 ms.
pub(crate) fn used() -> Option<CpuSeconds> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let ticks = rustix::param::clock_ticks_per_second();
    of_stat(&stat, ticks)
}

/// Parses the system's line. The 14th to 17th words are ticks. The second word is the program's
/// name in parentheses, which may contain anything.
fn of_stat(stat: &str, ticks_per_second: u64) -> Option<CpuSeconds> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut words = after_name.split_whitespace().skip(11);
    let mut seconds = || {
        let ticks: u32 = words.next()?.parse().ok()?;
        #[expect(clippy::cast_precision_loss, reason = "there are a few hundred ticks a second")]
        Some(f64::from(ticks) / ticks_per_second as f64)
    };
    let (user, system) = (seconds()?, seconds()?);
    let (children_user, children_system) = (seconds()?, seconds()?);
    Some(CpuSeconds { system, user, children_system, children_user })
}

pub(super) fn cpu(_: &ServerShared, _: &InfoNumbers, lines: &mut InfoLines) {
    if let Some(used) = used() {
        lines.add("used_cpu_sys", format_args!("{:.6}", used.system));
        lines.add("used_cpu_user", format_args!("{:.6}", used.user));
        lines.add("used_cpu_sys_children", format_args!("{:.6}", used.children_system));
        lines.add("used_cpu_user_children", format_args!("{:.6}", used.children_user));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_the_line_of_the_system() {
        let stat = "42 (a (strange) name) S 1 42 42 0 -1 4194560 100 0 1 0 250 75 20 10 20 0 9 0";
        let expected = CpuSeconds { system: 0.75, user: 2.5, children_system: 0.1, children_user: 0.2 };
        assert_eq!(of_stat(stat, 100), Some(expected));
        assert_eq!(of_stat("", 100), None);
        assert_eq!(of_stat("42 (name) S 1", 100), None);
    }
}
