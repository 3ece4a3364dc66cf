//! LATENCY DOCTOR: describes the samples in words, with advice.

use std::fmt::Write;

use crate::observe::latency_events::{LatencyEvent, LatencyHistory};

/// Returns the report. `millis` is the threshold; 0 means that monitoring is off.
pub(super) fn report(millis: u64, events: &[(LatencyEvent, LatencyHistory)]) -> String {
    if events.is_empty() {
        return if millis == 0 {
            "Monitoring is off. CONFIG SET latency-monitor-threshold <milliseconds> records everything that takes longer; \
             LATENCY HISTOGRAM and INFO latencystats work without it.\n"
                .to_owned()
        } else {
            format!("Nothing took {millis} ms or longer since the last reset.\n")
        };
    }
    let mut text = String::new();
    for (event, history) in events {
        describe(&mut text, *event, history);
    }
    text
}

fn describe(text: &mut String, event: LatencyEvent, history: &LatencyHistory) {
    let count = history.samples.len() as u64;
    let sum: u64 = history.samples.iter().map(|sample| sample.millis).sum();
    let span = match (history.samples.front(), history.samples.back()) {
        (Some(first), Some(last)) => last.unix_s - first.unix_s + 1,
        _ => 0,
    };
    let advice = match event {
        LatencyEvent::Batch => {
            "Reads and writes of single keys run in batches. Long batches have values of many megabytes, a busy or \
             swapping machine, or, with the disk engine, pages that must be read: enlarge its cache."
        }
        LatencyEvent::Command => {
            "SLOWLOG GET names the commands. Ask for less at a time (LIMIT, COUNT), or use separate connections for long \
             commands; long transactions block every worker."
        }
        LatencyEvent::FastCommand => {
            "These commands do little work, so they waited: for a transaction of another client, values of many \
             megabytes, or a busy or swapping machine."
        }
    };
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "{}: in {count} of the last {span} seconds; the worst sample of a second was {} ms on average, {} ms at most. {advice}",
        event.name(),
        sum / count.max(1),
        history.worst,
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::latency_events::LatencySample;

    #[test]
    fn reports() {
        assert!(report(0, &[]).contains("latency-monitor-threshold"));
        assert!(report(5, &[]).contains("5 ms"));
        let samples = [(100, 10), (109, 30)].map(|(unix_s, millis)| LatencySample { unix_s, millis }).into();
        let text = report(5, &[(LatencyEvent::Command, LatencyHistory { samples, worst: 40 })]);
        assert!(text.starts_with("command: in 2 of the last 10 seconds; the worst sample of a second was 20 ms on average, 40 ms at most."), "{text}");
    }
}
