//! Readings of sensors by time: the last one, the mean and the greatest of a period, and retention.
//!
//! ```text
//!   readings   sensor, time → value     those of a sensor are a range, in the order of time
//!   sensors    sensor       → seconds   how long its readings are kept
//! ```
//!
//! `cargo run -p skeindb --example time_series`

use std::ops::Range;

use skeindb::{Db, Result, TypedKeyspace};

pub(crate) fn main() -> Result<()> {
    let series = TimeSeries::new(&Db::in_memory()?)?;
    series.add_sensor(7, 600)?;
    series.add_sensor(8, 3600)?;
    // An hour before and after time 0, one reading a minute. Times may be negative.
    for minute in -60..60 {
        series.record(7, i64::from(minute) * 60, 20.0 + f64::from(minute) / 4.0)?;
        series.record(8, i64::from(minute) * 60, 5.0)?;
    }
    assert_eq!(series.last(7)?, Some((3540, 34.75)));
    assert_eq!(series.last_before(7, 0)?, Some((-60, 19.75)));
    assert_eq!(series.last(9)?, None);

    // 59 minutes on either side of time 0.
    let summary = series.summary(7, -3540..3541)?;
    assert_eq!((summary.count, summary.mean()), (119, Some(20.0)));
    assert_eq!(summary.greatest, Some((3540, 34.75)));
    assert_eq!(series.summary(9, -3600..3600)?.mean(), None);
    // Backward, the newest readings are first, and older ones are not read.
    assert_eq!(series.newest_above(7, 30.0, 3)?, [3540, 3480, 3420]);

    // Ten minutes of sensor 7 stay, and an hour of sensor 8.
    assert_eq!(series.remove_old(3600)?, 110 + 60);
    assert_eq!(series.summary(7, i64::MIN..i64::MAX)?.count, 10);
    assert_eq!(series.summary(8, i64::MIN..0)?.count, 0);
    assert_eq!(series.remove_old(3600)?, 0);
    println!("the last reading of sensor 7: {:?}", series.last(7)?);
    Ok(())
}

/// The readings, and how long they are kept.
struct TimeSeries {
    readings: TypedKeyspace<(u32, i64), f64>,
    sensors: TypedKeyspace<u32, i64>,
}

/// The readings of a sensor in a period.
#[derive(Default)]
struct Summary {
    count: u32,
    sum: f64,
    /// The newest reading with the greatest value: its time and value.
    greatest: Option<(i64, f64)>,
}

impl Summary {
    fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / f64::from(self.count))
    }
}

impl TimeSeries {
    fn new(db: &Db) -> Result<Self> {
        Ok(Self { readings: db.typed("readings")?, sensors: db.typed("sensors")? })
    }

    /// Adds a sensor, and keeps each of its readings for so many seconds.
    fn add_sensor(&self, sensor: u32, kept_seconds: i64) -> Result<()> {
        self.sensors.insert(&sensor, &kept_seconds)
    }

    fn record(&self, sensor: u32, time: i64, value: f64) -> Result<()> {
        self.readings.insert(&(sensor, time), &value)
    }

    /// Returns the newest reading of a sensor.
    fn last(&self, sensor: u32) -> Result<Option<(i64, f64)>> {
        let newest = self.readings.prefix(&(sensor,)).next_back().transpose()?;
        Ok(newest.map(|((_, time), value)| (time, value)))
    }

    /// Returns the newest reading of a sensor before a time.
    fn last_before(&self, sensor: u32, time: i64) -> Result<Option<(i64, f64)>> {
        let newest = self.readings.range((sensor, i64::MIN)..(sensor, time)).next_back().transpose()?;
        Ok(newest.map(|((_, time), value)| (time, value)))
    }

    /// Reads a period backward, from its newest reading.
    fn summary(&self, sensor: u32, period: Range<i64>) -> Result<Summary> {
        let mut summary = Summary::default();
        for reading in self.readings.range((sensor, period.start)..(sensor, period.end)).rev() {
            let ((_, time), value) = reading?;
            summary.count += 1;
            summary.sum += value;
            if summary.greatest.is_none_or(|(_, greatest)| value > greatest) {
                summary.greatest = Some((time, value));
            }
        }
        Ok(summary)
    }

    /// Returns the times of the newest readings above a value, at most `most` of them.
    fn newest_above(&self, sensor: u32, value: f64, most: usize) -> Result<Vec<i64>> {
        let newest = self.readings.prefix(&(sensor,)).rev();
        // Errors stay in, so that the caller sees them.
        let above = newest.filter(|reading| reading.as_ref().map_or(true, |(_, found)| *found > value));
        above.take(most).map(|reading| Ok(reading?.0.1)).collect()
    }

    /// Removes the readings that are too old at the time `now`, and returns their number.
    fn remove_old(&self, now: i64) -> Result<u64> {
        let mut removed = 0;
        for sensor in &self.sensors {
            let (sensor, kept_seconds) = sensor?;
            let oldest = now.saturating_sub(kept_seconds);
            removed += self.readings.remove_range((sensor, i64::MIN)..(sensor, oldest))?;
        }
        Ok(removed)
    }
}
