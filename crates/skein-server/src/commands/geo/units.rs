//! Numbers in requests and replies: positions, lengths, units.

use crate::commands::command_error::{NOT_A_FLOAT, SYNTAX};
use crate::commands::{CommandError, CommandResult, is};
use crate::redis::geo::Position;
use crate::resp::Reply;
use crate::resp::double::parse_double;

/// Parses a longitude and a latitude.
pub(super) fn parse_position<'a>(rest: &mut impl Iterator<Item = &'a [u8]>) -> CommandResult<Position> {
    let mut degrees = || parse_double(rest.next().ok_or(SYNTAX)?).ok_or(NOT_A_FLOAT);
    let position = Position { longitude: degrees()?, latitude: degrees()? };
    if position.is_valid() {
        return Ok(position);
    }
    let Position { longitude, latitude } = position;
    Err(CommandError::owned(format!("ERR invalid longitude,latitude pair {longitude:.6},{latitude:.6}")))
}

/// Parses a unit. Returns its meters.
pub(super) fn parse_unit(text: &[u8]) -> CommandResult<f64> {
    let known = [("M", 1.0), ("KM", 1_000.0), ("FT", 0.3048), ("MI", 1_609.34)];
    let found = known.into_iter().find(|(name, _)| is(text, name));
    found
        .map(|(_, meters)| meters)
        .ok_or(CommandError::text("ERR unsupported unit provided. please use M, KM, FT, MI"))
}

/// Writes a distance with four digits after the point, rounded half to even.
pub(super) fn write_distance(distance: f64, reply: &mut Reply) {
    let digits = (distance * 10_000.0).round_ties_even() as i64;
    reply.bulk(format!("{}.{:04}", digits / 10_000, digits % 10_000).as_bytes());
}

/// Writes a position: an array of longitude and latitude.
pub(super) fn write_position(position: Position, reply: &mut Reply) {
    reply.array(2);
    reply.decimal(position.longitude);
    reply.decimal(position.latitude);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resp::Protocol;

    #[test]
    fn distances_have_four_digits() {
        for (distance, text) in [
            (0.0, "0.0000"),
            (1e-9, "0.0000"),
            (0.031_25, "0.0312"),
            (0.093_75, "0.0938"),
            (166_274.151_56, "166274.1516"),
            (1e14, "100000000000000.0000"),
        ] {
            let mut out = Vec::new();
            write_distance(distance, &mut Reply::new(&mut out, Protocol::Resp2));
            assert_eq!(out, format!("${}\r\n{text}\r\n", text.len()).as_bytes(), "{distance}");
        }
    }
}
