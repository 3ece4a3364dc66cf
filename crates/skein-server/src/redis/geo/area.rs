//! The searched area: a circle or a box around a center.

use std::ops::Range;

use super::cell::{FINEST, GeoCell, LatitudeRange};
use super::position::{Angle as _, EARTH_RADIUS, Position};

/// Half the circumference of the earth on the map of web services, in meters, as Redis has it.
const MAP_MAX: f64 = 20_037_726.37;

/// The order in which the cell of the center and its neighbours are searched: north, south, east,
/// west, then the corners. Each is how many cells it is further east and north.
const SEARCHED: [(i32, i32); 9] =
    [(0, 0), (0, 1), (0, -1), (1, 0), (-1, 0), (1, 1), (-1, 1), (1, -1), (-1, -1)];

/// The shape of an area, with lengths in the unit of the request.
#[derive(Debug, Clone, Copy)]
pub(crate) enum AreaShape {
    Circle { radius: f64 },
    Box { width: f64, height: f64 },
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct SearchArea {
    pub center: Position,
    pub shape: AreaShape,
    /// Meters in the unit of the request.
    pub unit: f64,
}

impl SearchArea {
    /// Returns the distance between a position and the center, or `None` if the position is outside
    /// of the area.
    pub(crate) fn distance(&self, position: Position) -> Option<f64> {
        match self.shape {
            AreaShape::Circle { radius } => {
                let distance = self.center.distance(position);
                (distance <= radius * self.unit).then_some(distance)
            }
            AreaShape::Box { width, height } => {
                if self.center.latitude_distance(position) > height * self.unit / 2.0 {
                    return None;
                }
                let beside = Position { longitude: self.center.longitude, ..position };
                let is_inside = position.distance(beside) <= width * self.unit / 2.0;
                is_inside.then(|| self.center.distance(position))
            }
        }
    }

    /// Returns the cells that cover the area, in the order of the search. Each is in it once.
    pub(crate) fn cells(&self) -> Vec<GeoCell> {
        let bounds = self.bounds();
        let center = |step| GeoCell::of(self.center, step, LatitudeRange::Scores);
        let mut step = self.step();
        if step > 1 && !is_covered(center(step), &bounds) {
            step -= 1;
        }
        let center = center(step);
        let needed = needed_sides(center, step, &bounds);
        let searched = SEARCHED.iter().filter(|(east, north)| needed(*east, *north));
        let mut cells: Vec<GeoCell> = searched.map(|(east, north)| center.neighbour(*east, *north)).collect();
        // With two cells around the earth, the neighbours on both sides are the same.
        cells.dedup();
        cells
    }

    /// Returns the least and the greatest longitude and latitude of the area, about. They may be
    /// beyond the limits, infinite or NaN.
    fn bounds(&self) -> [Range<f64>; 2] {
        let Position { longitude, latitude } = self.center;
        let (width, height) = match self.shape {
            AreaShape::Circle { radius } => (self.unit * radius, self.unit * radius),
            AreaShape::Box { width, height } => (self.unit * (width / 2.0), self.unit * (height / 2.0)),
        };
        let up = (height / EARTH_RADIUS).to_degrees_of_redis();
        // The area is widest at its side that is nearer to a pole.
        let widest = if latitude < 0.0 { latitude - up } else { latitude + up };
        let aside = (width / EARTH_RADIUS / widest.to_radians_of_redis().cos()).to_degrees_of_redis();
        [longitude - aside..longitude + aside, latitude - up..latitude + up]
    }

    /// Returns the step at which cells are about as large as the area.
    fn step(&self) -> u32 {
        let meters = self.unit
            * match self.shape {
                AreaShape::Circle { radius } => radius,
                AreaShape::Box { width, height } => {
                    ((width / 2.0) * (width / 2.0) + (height / 2.0) * (height / 2.0)).sqrt()
                }
            };
        if meters == 0.0 {
            return FINEST;
        }
        let (mut meters, mut step) = (meters, 1_u32);
        while meters < MAP_MAX {
            meters *= 2.0;
            step += 1;
        }
        // Near the poles, cells are narrower than on the map.
        let narrower = match self.center.latitude.abs() {
            latitude if latitude > 80.0 => 2,
            latitude if latitude > 66.0 => 1,
            _ => 0,
        };
        step.saturating_sub(2 + narrower).clamp(1, FINEST)
    }
}

/// Returns whether the neighbours of a cell reach beyond the bounds on each side.
fn is_covered(center: GeoCell, [longitudes, latitudes]: &[Range<f64>; 2]) -> bool {
    let side = |east, north| center.neighbour(east, north).sides();
    let ([_, north], [_, south]) = (side(0, 1), side(0, -1));
    let ([east, _], [west, _]) = (side(1, 0), side(-1, 0));
    let is_short = north.end < latitudes.end
        || south.start > latitudes.start
        || east.end < longitudes.end
        || west.start > longitudes.start;
    !is_short
}

/// Returns whether a neighbour is needed: those on a side where the center's cell reaches beyond
/// the bounds are not.
fn needed_sides(center: GeoCell, step: u32, bounds: &[Range<f64>; 2]) -> impl Fn(i32, i32) -> bool {
    let [longitudes, latitudes] = bounds;
    let [across, along] = center.sides();
    // Of four cells around the earth, none is left out.
    let may_skip = step >= 2;
    let south = !(may_skip && along.start < latitudes.start);
    let north = !(may_skip && along.end > latitudes.end);
    let west = !(may_skip && across.start < longitudes.start);
    let east = !(may_skip && across.end > longitudes.end);
    move |x, y| (x <= 0 || east) && (x >= 0 || west) && (y <= 0 || north) && (y >= 0 || south)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circle(longitude: f64, latitude: f64, radius: f64) -> SearchArea {
        SearchArea {
            center: Position { longitude, latitude },
            shape: AreaShape::Circle { radius },
            unit: 1.0,
        }
    }

    #[test]
    fn a_point_is_searched_in_the_finest_cells() {
        assert_eq!(circle(10.0, 10.0, 0.0).step(), 26);
        assert_eq!(circle(10.0, 10.0, 1e-300).step(), 26);
        assert_eq!(circle(10.0, 10.0, f64::INFINITY).step(), 1);
        assert!(!circle(10.0, 10.0, f64::INFINITY).cells().is_empty());
    }

    #[test]
    fn a_cell_is_searched_once() {
        for (longitude, latitude, radius) in
            [(0.0, 0.0, 2e7), (180.0, 85.0, 5e6), (-180.0, -85.0, 1e6), (13.0, 38.0, 2e5), (1.0, 1.0, 1.0)]
        {
            let cells = circle(longitude, latitude, radius).cells();
            for (i, cell) in cells.iter().enumerate() {
                assert!(!cells[..i].contains(cell), "{longitude} {latitude} {radius}: {cells:?}");
            }
        }
    }

    #[test]
    fn a_box_is_measured_from_its_center() {
        let area = SearchArea {
            center: Position { longitude: 0.0, latitude: 0.0 },
            shape: AreaShape::Box { width: 400.0, height: 200.0 },
            unit: 1_000.0,
        };
        let is_in = |longitude, latitude| area.distance(Position { longitude, latitude }).is_some();
        assert!(is_in(1.7, 0.8) && !is_in(1.9, 0.8) && !is_in(1.7, 1.0));
    }

    proptest::proptest! {
        /// Redis leaves out positions beyond the poles or the date line, so these areas are small.
        #[test]
        fn the_cells_cover_the_area(
            longitude in -170.0..170.0,
            latitude in -70.0..70.0,
            radius in 1.0..100_000.0,
            east in -1.0..1.0,
            north in -1.0..1.0,
        ) {
            let area = circle(longitude, latitude, radius);
            let degrees = radius / 111_000.0;
            let position = Position { longitude: longitude + east * degrees, latitude: latitude + north * degrees };
            let near = Position::of_score(position.score());
            if area.distance(near).is_some() {
                let covered = area.cells().iter().any(|cell| cell.scores().contains(&position.score()));
                proptest::prop_assert!(covered, "{:?}", near);
            }
        }
    }
}
