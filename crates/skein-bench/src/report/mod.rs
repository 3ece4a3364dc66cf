//! Reports: what people read of a results file.
//!
//! ```text
//!   lines ──► view     runs, their measures, the cells of each in the order of points and contenders
//!              │            footprint: whether what was measured lay in caches
//!              ├──► table     for the terminal
//!              ├──► html      one page: charts, the figures below each, who was measured and who was not
//!              └──► overview  a drawing for the README: ours beside Redis and LMDB
//!   lines, lines ──► compare  which cells moved beyond the noise
//! ```
//!
//! Nothing here measures, and nothing here fails: whatever a results file holds (no rounds, figures that are none, any text) is shown as
//! what it is.

mod compare;
mod figures;
mod footprint;
mod html;
mod overview;
mod probe;
mod table;
mod text;
mod view;

pub use compare::{Comparison, compare};
pub use html::html;
pub use overview::overview;
pub use table::table;
