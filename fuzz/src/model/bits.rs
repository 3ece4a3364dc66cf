//! Bits of values, by arithmetic that is wide enough for each field.

use super::{FuzzModel, FuzzRequest, ModelAnswer, NIL, array, count, integer, names, words};
use crate::call::{FuzzBitCommand, FuzzBitOperation, FuzzField, FuzzFieldWrite, FuzzName, FuzzOverflow};

impl FuzzModel {
    pub(super) fn answer_bits(&mut self, call: &FuzzBitCommand) -> (FuzzRequest, ModelAnswer) {
        match call {
            FuzzBitCommand::Combine(operation, to, first, rest) => {
                let (name, combine): (_, fn(u8, u8) -> u8) = match operation {
                    FuzzBitOperation::And => ("BITOP AND", |one, other| one & other),
                    FuzzBitOperation::Or => ("BITOP OR", |one, other| one | other),
                    FuzzBitOperation::Xor => ("BITOP XOR", |one, other| one ^ other),
                };
                let keys = names(*first, rest);
                let request = words(name, &[vec![to.bytes()], keys.clone()].concat());
                let values: Result<Vec<_>, _> = keys.iter().map(|key| self.bits_of(key)).collect();
                let answer = values.map(|values| {
                    let len = values.iter().map(Vec::len).max().unwrap_or(0);
                    let byte = |at| {
                        let bytes = values.iter().map(|value| value.get(at).copied().unwrap_or(0));
                        bytes.reduce(combine).unwrap_or(0)
                    };
                    self.replace(*to, (0..len).map(byte).collect())
                });
                (request, answer)
            }
            FuzzBitCommand::Not(to, from) => {
                let value = self.bits_of(&from.bytes());
                let answer = value.map(|value| self.replace(*to, value.iter().map(|byte| !byte).collect()));
                (words("BITOP NOT", &[to.bytes(), from.bytes()]), answer)
            }
            FuzzBitCommand::Fields(key, fields) => {
                let mut request = words("BITFIELD", &[key.bytes()]);
                request.extend(fields.iter().flat_map(|field| field_words(*field)));
                (request, self.change_fields(*key, fields))
            }
        }
    }

    fn bits_of(&self, key: &[u8]) -> Result<Vec<u8>, &'static [u8]> {
        self.value(key).map(|value| value.cloned().unwrap_or_default())
    }

    /// Replaces a key of any type. An empty value removes it.
    fn replace(&mut self, key: FuzzName, value: Vec<u8>) -> Vec<u8> {
        self.rows.remove(&key.bytes());
        if value.is_empty() { count(0) } else { count(self.put(key.bytes(), value)) }
    }

    /// Writes extend the value first, even if they fail afterwards.
    fn change_fields(&mut self, key: FuzzName, fields: &[FuzzField]) -> ModelAnswer {
        let mut value = self.bits_of(&key.bytes())?;
        let written = fields.iter().filter(|field| field.write.is_some());
        let ends = written.map(|field| usize::from(field.offset) + field.bits() as usize);
        if let Some(end) = ends.max() {
            value.resize(value.len().max(end.div_ceil(8)), 0);
        }
        let replies: Vec<_> = fields.iter().map(|field| change_field(&mut value, *field)).collect();
        if fields.iter().any(|field| field.write.is_some()) {
            self.put(key.bytes(), value);
        }
        Ok(array(&replies))
    }
}

fn field_words(field: FuzzField) -> Vec<Vec<u8>> {
    let sign = if field.signed { 'i' } else { 'u' };
    let place = format!("{sign}{} {}", field.bits(), field.offset);
    let text = match field.write {
        None => format!("GET {place}"),
        Some((overflow, write)) => {
            let rule = match overflow {
                FuzzOverflow::Wrap => "WRAP",
                FuzzOverflow::Sat => "SAT",
                FuzzOverflow::Fail => "FAIL",
            };
            let write = match write {
                FuzzFieldWrite::Set(number) => format!("SET {place} {number}"),
                FuzzFieldWrite::IncrBy(by) => format!("INCRBY {place} {by}"),
            };
            format!("OVERFLOW {rule} {write}")
        }
    };
    text.split(' ').map(|word| word.as_bytes().to_vec()).collect()
}

/// Reads or writes a field. Returns the reply.
fn change_field(value: &mut [u8], field: FuzzField) -> Vec<u8> {
    let old = read_field(value, field);
    let Some((overflow, write)) = field.write else { return integer(old) };
    let wanted = match write {
        // A negative number for an unsigned field counts as a very large one.
        FuzzFieldWrite::Set(number) if !field.signed => i128::from(number.cast_unsigned()),
        FuzzFieldWrite::Set(number) => i128::from(number),
        FuzzFieldWrite::IncrBy(by) => old + i128::from(by),
    };
    let (least, most) = if field.signed {
        (-(1 << (field.bits() - 1)), (1 << (field.bits() - 1)) - 1)
    } else {
        (0, (1_i128 << field.bits()) - 1)
    };
    // In Redis, the distance from a set number to the limit wraps.
    let wraps = matches!(write, FuzzFieldWrite::Set(_)) && most - wanted > i128::from(i64::MAX);
    let new = match overflow {
        _ if (least..=most).contains(&wanted) => wanted,
        FuzzOverflow::Wrap => wanted,
        FuzzOverflow::Sat if wraps => most,
        FuzzOverflow::Sat => wanted.clamp(least, most),
        FuzzOverflow::Fail => return NIL.to_vec(),
    };
    for bit in 0..field.bits() as usize {
        let at = usize::from(field.offset) + bit;
        let mask = 0x80 >> (at % 8);
        let is_set = new >> (field.bits() as usize - 1 - bit) & 1 == 1;
        value[at / 8] = if is_set { value[at / 8] | mask } else { value[at / 8] & !mask };
    }
    match write {
        FuzzFieldWrite::Set(_) => integer(old),
        FuzzFieldWrite::IncrBy(_) => integer(read_field(value, field)),
    }
}

/// Returns the number in a field. Bits behind the value are zeros.
fn read_field(value: &[u8], field: FuzzField) -> i128 {
    let bits = (0..field.bits() as usize).map(|bit| usize::from(field.offset) + bit);
    let bit = |at: usize| i128::from(value.get(at / 8).copied().unwrap_or(0) >> (7 - at % 8) & 1);
    let number = bits.fold(0, |number, at| number << 1 | bit(at));
    let is_negative = field.signed && number >> (field.bits() - 1) & 1 == 1;
    if is_negative { number - (1 << field.bits()) } else { number }
}
