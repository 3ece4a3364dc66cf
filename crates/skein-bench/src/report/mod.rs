//! Reports: text and charts for people, made from a results file.
//!
//! ```text
//!   lines ──► view     runs, their measures, the cells of each by point and contender
//!              │            footprint: whether the indexes fitted the caches
//!              │            aim_table: verdicts by aim and key set
//!              ├──► table     for the terminal
//!              ├──► html      one page: charts, the figures below each, the contenders
//!              └──► overview  a chart for the README: our rates beside Redis and LMDB
//!   lines, lines ──► compare  the cells that moved beyond the noise
//! ```
//!
//! `probe` puts the probe's figures into sentences.
//!
//! No code here measures, and no code here fails. A report shows any results file as it is, even
//! one without rounds, with figures that are not numbers, or with odd text. Read `view.rs` first.

mod aim_table;
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
