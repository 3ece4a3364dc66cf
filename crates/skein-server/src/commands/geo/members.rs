//! GEODIST, GEOHASH and GEOPOS: positions of named members.

use super::units::{parse_unit, write_distance, write_position};
use crate::commands::command_error::SYNTAX;
use crate::commands::sorted_sets::with_set_of;
use crate::redis::geo::Position;
use crate::resp::{Args, Reply};
use skein_data::{CollectionKind, RowView, SetReader};

/// Returns the position of a member.
pub(super) fn position_of(set: Option<&SetReader>, member: &[u8]) -> Option<Position> {
    set?.score(member).map(Position::of_score)
}

pub(super) fn geo_dist(row: Option<RowView>, args: &Args, reply: &mut Reply) {
    let unit = match args.len() {
        4 => Ok(1.0),
        5 => parse_unit(args.get(4)),
        _ => Err(SYNTAX),
    };
    let unit = match unit {
        Ok(unit) => unit,
        Err(fault) => return fault.write(reply),
    };
    with_set_of(CollectionKind::SortedSet, row, reply, |set, reply| {
        match position_of(set, args.get(2)).zip(position_of(set, args.get(3))) {
            Some((from, to)) => write_distance(from.distance(to) / unit, reply),
            None => reply.null(),
        }
    });
}

/// Replies with an array. `write` writes one element of it for each named member.
fn write_each(
    row: Option<RowView>,
    args: &Args,
    reply: &mut Reply,
    write: impl Fn(Option<Position>, &mut Reply),
) {
    with_set_of(CollectionKind::SortedSet, row, reply, |set, reply| {
        reply.array_of(args.from(2), |reply, member| write(position_of(set, member), reply));
    });
}

pub(super) fn geo_hash(row: Option<RowView>, args: &Args, reply: &mut Reply) {
    write_each(row, args, reply, |position, reply| match position {
        Some(position) => reply.bulk(&position.geohash()),
        None => reply.null(),
    });
}

pub(super) fn geo_pos(row: Option<RowView>, args: &Args, reply: &mut Reply) {
    write_each(row, args, reply, |position, reply| match position {
        Some(position) => write_position(position, reply),
        None => reply.null_array(),
    });
}
