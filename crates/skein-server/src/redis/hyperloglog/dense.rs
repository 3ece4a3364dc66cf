//! The dense encoding: 6 bits for each register, the lowest bits of a byte first.
//!
//! ```text
//!   byte 0     byte 1     byte 2
//!   11000000   22221111   33333322   each digit is a bit of that register
//! ```

use super::REGISTERS;

/// Bits of a register.
const WIDTH: usize = 6;
/// The greatest value of a register.
pub(super) const VALUE_MAX: u8 = (1 << WIDTH) - 1;
/// The length of all registers.
pub(super) const LEN: usize = REGISTERS * WIDTH / 8;

/// Returns the first byte of a register, and the position of its lowest bit there.
fn place(register: usize) -> (usize, usize) {
    (register * WIDTH / 8, register * WIDTH % 8)
}

/// Returns the byte and the next one, which the last register does not need.
fn pair(registers: &[u8], byte: usize) -> u16 {
    u16::from_le_bytes([registers[byte], registers.get(byte + 1).copied().unwrap_or(0)])
}

/// Returns the value of a register.
pub(super) fn get(registers: &[u8], register: usize) -> u8 {
    let (byte, shift) = place(register);
    (pair(registers, byte) >> shift) as u8 & VALUE_MAX
}

/// Sets a register. REQUIRES: the value has 6 bits.
pub(super) fn set(registers: &mut [u8], register: usize, value: u8) {
    let (byte, shift) = place(register);
    let others = pair(registers, byte) & !(u16::from(VALUE_MAX) << shift);
    let [low, high] = (others | u16::from(value) << shift).to_le_bytes();
    registers[byte] = low;
    if let Some(next) = registers.get_mut(byte + 1) {
        *next = high;
    }
}

/// Raises a register to a value. Returns whether it was lower.
pub(super) fn raise(registers: &mut [u8], register: usize, value: u8) -> bool {
    let lower = get(registers, register) < value;
    if lower {
        set(registers, register, value);
    }
    lower
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_do_not_touch_each_other() {
        let mut registers = vec![0; LEN];
        let value = |at: usize| (at * 7 % 64) as u8;
        (0..REGISTERS).for_each(|at| set(&mut registers, at, value(at)));
        assert!((0..REGISTERS).all(|at| get(&registers, at) == value(at)));
        (0..REGISTERS).rev().for_each(|at| set(&mut registers, at, 63 - value(at)));
        assert!((0..REGISTERS).all(|at| get(&registers, at) == 63 - value(at)));
    }

    #[test]
    fn the_lowest_bits_come_first() {
        let mut registers = vec![0; LEN];
        set(&mut registers, 0, 0b11_1111);
        set(&mut registers, 2, 0b10_0001);
        assert_eq!(registers[..3], [0b0011_1111, 0b0001_0000, 0b0000_0010]);
        assert!(raise(&mut registers, 2, 0b10_0010) && !raise(&mut registers, 2, 1));
        set(&mut registers, REGISTERS - 1, 63);
        assert_eq!(registers[LEN - 1], 0b1111_1100);
    }
}
