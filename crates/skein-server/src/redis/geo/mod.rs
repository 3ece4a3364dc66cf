//! Positions on the earth as scores of a sorted set, with Redis's bits and digits.
//!
//! ```text
//!   longitude ─► 26 bits ┐
//!   latitude  ─► 26 bits ┴─► one bit of each in turn ─► 52 bits, the score (`cell`)
//!
//!   a cell is a prefix of these bits: a rectangle, and a range of scores
//!
//!   search:  ┌───┬───┬───┐
//!            │NW │ N │NE │   the cell of the center and its eight neighbours, so large that they
//!            ├───┼─●─┼───┤   cover the searched area (`area`); then the distance of each
//!            │ W │   │ E │   member in them (`position`)
//!            ├───┼───┼───┤
//!            │SW │ S │SE │
//!            └───┴───┴───┘
//! ```
//!
//! Every operation on floats is one of Redis in the same order, so scores and distances have the
//! same bits. This module does not depend on the server.
//!
//! Read in this order: `position`, `cell`, `area`.
//!
//! Sources: G. Niemeyer's geohash (2008); the haversine formula, R. W. Sinnott, "Virtues of the
//! haversine", Sky and Telescope 68, 1984.

mod area;
mod cell;
mod position;

pub(crate) use area::{AreaShape, SearchArea};
pub(crate) use position::{Position, score_as_integer};
