//! The probe's report as text: tables with bars, and the advice.

use std::fmt;

use super::array::PageKind;
use super::fit::{normalized, real};
use super::report::{PageKindReport, ProbeReport, ReadGroups};

/// The columns of the longest bar.
const BAR: usize = 40;
/// The groups that the chart shows.
const SHOWN: [usize; 16] = [1, 2, 3, 4, 6, 8, 10, 12, 16, 24, 32, 48, 64, 80, 96, 120];
/// The columns of a paragraph.
const WIDTH: usize = 100;

/// Formats a size that is a power of two or half-way to the next: `48 KiB`.
pub(crate) fn size(bytes: u64) -> String {
    let (shift, unit) = match bytes.checked_ilog2() {
        None | Some(..20) => (10, "KiB"),
        Some(20..30) => (20, "MiB"),
        Some(30..) => (30, "GiB"),
    };
    if (bytes >> (shift - 1)) % 2 == 1 && bytes >> shift < 10 {
        format!("{}.5 {unit}", bytes >> shift)
    } else {
        format!("{} {unit}", bytes >> shift)
    }
}

/// Draws a bar for two figures: solid up to the smaller one, light from there to the greater one.
fn bar(one: f64, other: f64, full: f64) -> String {
    #[expect(clippy::cast_sign_loss, reason = "clamped to 0 and more")]
    let columns = |part: f64| ((part / full).clamp(0.0, 1.0) * real(BAR)).round() as usize;
    let (solid, end) = (columns(one.min(other)), columns(one.max(other)));
    "█".repeat(solid) + &"░".repeat(end - solid)
}

impl fmt::Display for ProbeReport {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "{}", self.machine)?;
        if let (Some(huge), Some(small)) = (self.on(PageKind::Huge), self.on(PageKind::Small)) {
            latency(out, huge, small)?;
            lines(out, huge, small)?;
            if let (Some(huge), Some(small)) = (huge.greatest(), small.greatest()) {
                at_once(out, huge, small)?;
            }
        }
        self.neighbours(out)?;
        writeln!(out, "\nWhat follows")?;
        for advice in &self.advice {
            paragraph(out, &advice.about, &advice.text)?;
            if let Some(command) = &advice.command {
                writeln!(out, "      {command}")?;
            }
        }
        writeln!(
            out,
            "\nMeasured in {:.0} s on one core, in turns. A time is the least of its rounds; the \
             middle round was {:.0} % above.",
            self.took_s,
            100.0 * self.noise
        )
    }
}

fn latency(out: &mut fmt::Formatter<'_>, huge: &PageKindReport, small: &PageKindReport) -> fmt::Result {
    writeln!(out, "\nA dependent random read, by footprint")?;
    writeln!(
        out,
        "{:>10} {:>11} {:>12}   (bars: logarithm of the time; █ the quicker, ░ the slower)",
        "", "huge pages", "small pages"
    )?;
    // The bars start at half of the quickest read, so that the first cache has a bar too.
    let least =
        huge.read_ns.iter().chain(&small.read_ns).map(|(_, ns)| *ns).fold(f64::INFINITY, f64::min) / 2.0;
    let most = huge.read_ns.iter().chain(&small.read_ns).map(|(_, ns)| *ns).fold(0.0, f64::max);
    let log = |ns: f64| (ns / least).log2();
    for (&(bytes, huge_ns), &(_, small_ns)) in huge.read_ns.iter().zip(&small.read_ns) {
        if !bytes.is_power_of_two() && bytes < huge.bytes {
            continue;
        }
        let bar = bar(log(huge_ns), log(small_ns), log(most));
        writeln!(out, "{:>10} {huge_ns:>8.1} ns {small_ns:>9.1} ns   {bar}", size(bytes))?;
    }
    for (name, on) in [("huge", huge), ("small", small)] {
        writeln!(out, "  levels on {name} pages:")?;
        for level in &on.plateaus {
            let (from, to) = (size(level.from_bytes), size(level.to_bytes));
            writeln!(out, "    {:<8} {:>6.1} ns   {from} to {to}", level.name, level.ns)?;
        }
    }
    Ok(())
}

fn lines(out: &mut fmt::Formatter<'_>, huge: &PageKindReport, small: &PageKindReport) -> fmt::Result {
    writeln!(out, "\nK independent random reads: T = 1 + c (K - 1), in times of one read")?;
    writeln!(
        out,
        "{:>10} {:<11} {:>9} {:>7} {:>13} {:>11}",
        "array", "pages", "one read", "c", "most at once", "off by"
    )?;
    for (name, on) in [("huge", huge), ("small", small)] {
        for groups in &on.groups {
            let (array, one, fit) = (size(groups.bytes), groups.one_ns(), groups.fit);
            writeln!(
                out,
                "{array:>10} {name:<11} {one:>6.1} ns {:>7.3} {:>13.1} {:>9.0} %",
                fit.c,
                fit.at_once,
                100.0 * fit.off
            )?;
        }
    }
    Ok(())
}

fn at_once(out: &mut fmt::Formatter<'_>, huge: &ReadGroups, small: &ReadGroups) -> fmt::Result {
    let (Some(huge_t), Some(small_t)) = (normalized(&huge.group_ns), normalized(&small.group_ns)) else {
        return Ok(());
    };
    let most = huge.fit.at_once.max(small.fit.at_once);
    writeln!(out, "\nReads at once, K / T, in {}", size(huge.bytes))?;
    writeln!(
        out,
        "{:>10} {:>11} {:>12}   (bars: █ the fewer, ░ the more)",
        "K", "huge pages", "small pages"
    )?;
    for (&(k, huge_t), &(_, small_t)) in huge_t.iter().zip(&small_t).filter(|((k, _), _)| SHOWN.contains(k)) {
        let (huge, small) = (real(k) / huge_t, real(k) / small_t);
        writeln!(out, "{k:>10} {huge:>11.1} {small:>12.1}   {}", bar(huge, small, most))?;
    }
    Ok(())
}

impl ProbeReport {
    fn neighbours(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = &self.neighbours;
        let array = size(all.bytes);
        writeln!(
            out,
            "\nOne more read after eight random ones in {array} of huge pages; their sum selects \
             one of the eight"
        )?;
        for (name, ns) in [
            ("the same line (first cache)", all.same_ns),
            ("the other line of its 128 bytes", all.neighbour_ns),
            ("the line on its other side", all.across_ns),
            ("any line", all.random_ns),
        ] {
            writeln!(out, "  {name:<34} {ns:>6.1} ns {:>7.2}", ns / all.random_ns)?;
        }
        Ok(())
    }
}

/// Writes a paragraph with a heading, broken into lines.
fn paragraph(out: &mut fmt::Formatter<'_>, heading: &str, text: &str) -> fmt::Result {
    write!(out, "  {heading}:")?;
    let mut column = heading.len() + 3;
    for word in text.split(' ') {
        if column + 1 + word.len() > WIDTH {
            write!(out, "\n   ")?;
            column = 3;
        }
        write!(out, " {word}")?;
        column += 1 + word.len();
    }
    writeln!(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_keep_their_half() {
        for (bytes, text) in [
            (16 << 10, "16 KiB"),
            (48 << 10, "48 KiB"),
            (1 << 20, "1 MiB"),
            (3 << 19, "1.5 MiB"),
            (1 << 30, "1 GiB"),
            (3 << 29, "1.5 GiB"),
            (12 << 30, "12 GiB"),
            (36_608 << 10, "35 MiB"),
        ] {
            assert_eq!(size(bytes), text);
        }
    }

    #[test]
    fn bars_show_both_figures() {
        assert_eq!(bar(10.0, 20.0, 40.0), "█".repeat(10) + &"░".repeat(10));
        assert_eq!(bar(20.0, 10.0, 40.0), bar(10.0, 20.0, 40.0));
        assert_eq!(bar(80.0, 80.0, 40.0), "█".repeat(BAR));
        assert_eq!(bar(f64::NAN, f64::NAN, 40.0), "");
    }
}
