//! The estimate of a count from the values of all registers.
//!
//! The formula is that of Ertl's paper, section 4, algorithm 6 ("improved raw estimation"), with
//! its functions σ for registers that are 0 and τ for those that are full. The operations are
//! those of Redis in the same order, so the last bit is the same too.

use super::{REGISTER_BITS, REGISTERS, dense};

/// The greatest value that an element can give a register.
const VALUE_MAX: usize = 64 - REGISTER_BITS as usize + 1;

/// 1 / (2 ln 2), as Redis writes it.
const ALPHA: f64 = 0.721_347_520_444_481_7;

/// How many registers have each value. Only a corrupt one has a greater value than 51.
#[derive(Debug)]
pub(super) struct Histogram([u32; dense::VALUE_MAX as usize + 1]);

impl Default for Histogram {
    fn default() -> Self {
        Self([0; dense::VALUE_MAX as usize + 1])
    }
}

impl Histogram {
    /// Adds registers of a value. REQUIRES: the value has 6 bits.
    pub(super) fn add(&mut self, value: u8, registers: usize) {
        self.0[usize::from(value)] += registers as u32;
    }

    fn of(&self, value: usize) -> f64 {
        self.0[value].into()
    }
}

/// Returns the estimated number of distinct elements.
pub(super) fn estimate(histogram: &Histogram) -> u64 {
    let registers = REGISTERS as u32;
    let all = f64::from(registers);
    let mut sum = all * tau((all - histogram.of(VALUE_MAX)) / all);
    for value in (1..VALUE_MAX).rev() {
        sum += histogram.of(value);
        sum *= 0.5;
    }
    sum += all * sigma(histogram.of(0) / all);
    rounded(ALPHA * all * all / sum).cast_unsigned()
}

/// Rounds to an integer as C's `llround` does on x86: a number that does not fit, which only
/// corrupt registers give, becomes the least integer.
fn rounded(number: f64) -> i64 {
    let rounded = number.round();
    if rounded.abs() < 9_223_372_036_854_775_808.0 { rounded as i64 } else { i64::MIN }
}

fn sigma(mut part: f64) -> f64 {
    if part >= 1.0 {
        return f64::INFINITY;
    }
    let (mut factor, mut sum) = (1.0, part);
    loop {
        part *= part;
        let before = sum;
        sum += part * factor;
        factor += factor;
        if before.to_bits() == sum.to_bits() {
            return sum;
        }
    }
}

fn tau(mut part: f64) -> f64 {
    if part <= 0.0 || part >= 1.0 {
        return 0.0;
    }
    let (mut factor, mut sum) = (1.0, 1.0 - part);
    loop {
        part = part.sqrt();
        let before = sum;
        factor *= 0.5;
        let rest = 1.0 - part;
        sum -= rest * rest * factor;
        if before.to_bits() == sum.to_bits() {
            return sum / 3.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(counts: &[(u8, usize)]) -> u64 {
        let mut histogram = Histogram::default();
        for (value, registers) in counts {
            histogram.add(*value, *registers);
        }
        estimate(&histogram)
    }

    #[test]
    fn estimates() {
        assert_eq!(of(&[(0, REGISTERS)]), 0);
        assert_eq!(of(&[(0, REGISTERS - 1), (1, 1)]), 1);
        assert_eq!(of(&[(0, REGISTERS - 100), (2, 100)]), 100);
    }

    #[test]
    fn corrupt_registers_have_an_estimate_too() {
        assert_eq!(of(&[(63, REGISTERS)]), 1 << 63);
        assert_eq!(of(&[(51, REGISTERS)]), 1 << 63);
        assert!(of(&[(50, REGISTERS)]) > 1 << 62);
    }
}
