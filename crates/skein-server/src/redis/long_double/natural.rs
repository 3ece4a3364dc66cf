//! Natural numbers of any size, with the operations that exact conversions between decimal and
//! binary need.

use std::cmp::Ordering;

/// The greatest power of ten that fits a word, and its exponent.
const TENS: u64 = 10_u64.pow(TENS_DIGITS as u32);
const TENS_DIGITS: usize = 19;

/// A natural number: its words, the least significant first, without zeros at the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Natural(Vec<u64>);

impl Natural {
    pub(super) fn new(word: u64) -> Self {
        let mut number = Self(Vec::new());
        number.push(word);
        number
    }

    /// Returns the number with these digits. Each must be less than `base`, which is at most 16.
    pub(super) fn from_digits(digits: &[u8], base: u64) -> Self {
        let mut number = Self(Vec::new());
        // This many digits fit a word, and so does the power of the base.
        for run in digits.chunks(15) {
            let value = run.iter().fold(0, |value, digit| value * base + u64::from(*digit));
            number.multiply_add(base.pow(run.len() as u32), value);
        }
        number
    }

    /// Multiplies the number by `by` and adds `plus`.
    fn multiply_add(&mut self, by: u64, plus: u64) {
        let mut carry = u128::from(plus);
        for word in &mut self.0 {
            let product = u128::from(*word) * u128::from(by) + carry;
            *word = product as u64;
            carry = product >> 64;
        }
        self.push(carry as u64);
    }

    fn push(&mut self, word: u64) {
        if word > 0 {
            self.0.push(word);
        }
    }

    /// Multiplies the number by ten to the power of `exponent`.
    pub(super) fn scale(&mut self, mut exponent: usize) {
        while exponent > 0 {
            let digits = exponent.min(TENS_DIGITS);
            self.multiply_add(10_u64.pow(digits as u32), 0);
            exponent -= digits;
        }
    }

    /// Returns the number of bits; 0 for the number 0.
    pub(super) fn bits(&self) -> usize {
        self.0.last().map_or(0, |last| self.0.len() * 64 - last.leading_zeros() as usize)
    }

    pub(super) fn shift_left(&mut self, by: usize) {
        if !by.is_multiple_of(64) {
            let mut carry = 0;
            for word in &mut self.0 {
                let low = *word << (by % 64) | carry;
                carry = *word >> (64 - by % 64);
                *word = low;
            }
            self.push(carry);
        }
        if by >= 64 && !self.0.is_empty() {
            self.0.splice(0..0, std::iter::repeat_n(0, by / 64));
        }
    }

    /// Returns the 128 highest bits, how far they were shifted down, and whether a lower bit is
    /// set.
    pub(super) fn top(&self) -> (u128, usize, bool) {
        let down = self.bits().saturating_sub(128);
        let word = |at: usize| u128::from(self.0.get(at).copied().unwrap_or(0));
        let (words, bits) = (down / 64, down % 64);
        let low = word(words) | word(words + 1) << 64;
        let high = word(words + 2);
        let top = if bits == 0 { low } else { low >> bits | high << (128 - bits) };
        let rest = self.0.iter().take(words).any(|word| *word > 0);
        (top, down, rest || word(words) & ((1 << bits) - 1) > 0)
    }

    /// Returns the first `bits` bits of `self` ÷ `by`, at most 128; the shift that scales them up;
    /// and whether there is a remainder. The first of the bits may be 0. REQUIRES: neither number
    /// is 0.
    pub(super) fn divide(mut self, mut by: Self, bits: usize) -> (u128, isize, bool) {
        let shift = self.bits().cast_signed() - by.bits().cast_signed();
        if shift >= 0 {
            by.shift_left(shift.unsigned_abs());
        } else {
            self.shift_left(shift.unsigned_abs());
        }
        let mut quotient = 0;
        for _ in 0..bits {
            quotient <<= 1;
            if self.compare(&by) != Ordering::Less {
                self.subtract(&by);
                quotient |= 1;
            }
            self.shift_left(1);
        }
        (quotient, shift - (bits.cast_signed() - 1), !self.0.is_empty())
    }

    fn compare(&self, other: &Self) -> Ordering {
        let by_length = self.0.len().cmp(&other.0.len());
        by_length.then_with(|| self.0.iter().rev().cmp(other.0.iter().rev()))
    }

    /// REQUIRES: `other` is not greater.
    fn subtract(&mut self, other: &Self) {
        let mut borrow = false;
        for (at, word) in self.0.iter_mut().enumerate() {
            let (less, first) = word.overflowing_sub(other.0.get(at).copied().unwrap_or(0));
            let (less, second) = less.overflowing_sub(borrow.into());
            (*word, borrow) = (less, first || second);
        }
        self.trim();
    }

    fn trim(&mut self) {
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
    }

    /// Returns the decimal digits.
    pub(super) fn into_decimal(mut self) -> String {
        let mut runs = Vec::new();
        while !self.0.is_empty() {
            let mut rest = 0;
            for word in self.0.iter_mut().rev() {
                let value = rest << 64 | u128::from(*word);
                *word = (value / u128::from(TENS)) as u64;
                rest = value % u128::from(TENS);
            }
            self.trim();
            runs.push(rest);
        }
        let first = runs.pop().unwrap_or(0).to_string();
        runs.into_iter().rev().fold(first, |text, run| text + &format!("{run:0TENS_DIGITS$}"))
    }
}
