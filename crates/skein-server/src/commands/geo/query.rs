//! The arguments of a search, in the form of each command.
//!
//! ```text
//!   GEORADIUS            key │ longitude latitude radius unit │ options
//!   GEORADIUSBYMEMBER    key │ member radius unit             │ options
//!   GEOSEARCH            key │                                │ options, which name the area too
//!   GEOSEARCHSTORE   to, key │                                │ the same
//! ```
//!
//! The center may be the position of a member. So the set is read while the arguments are parsed,
//! and as in Redis an absent member is an error where its name stands. Without a set, the areas of
//! GEORADIUSBYMEMBER are not parsed.

use std::num::NonZeroU64;

use super::members::position_of;
use super::units::{parse_position, parse_unit};
use crate::commands::command_error::{NOT_AN_INTEGER, SYNTAX};
use crate::commands::{CommandError, CommandResult, QUOTED_BYTES_MAX, is, quoted};
use crate::redis::geo::{AreaShape, Position, SearchArea};
use crate::resp::Args;
use crate::resp::double::parse_double;
use skein_data::SetReader;
use skein_syntax::number::parse_i64;

const NO_MEMBER: CommandError = CommandError::text("ERR could not decode requested zset member");

/// How a command names its area.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum AreaSyntax {
    /// Arguments from 2 on: longitude, latitude, radius, unit.
    Coordinates,
    /// Arguments from 2 on: a member, radius, unit.
    Member,
    /// Options.
    Options,
}

/// Whether a command stores the found members.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum StoreSyntax {
    Never,
    /// With the options STORE and STOREDIST, which name the key.
    ByOption,
    /// In the key of argument 1; STOREDIST is an option without an argument.
    Always,
}

/// The properties of a search that the name of the command determines.
#[derive(Clone, Copy)]
pub(super) struct SearchSyntax {
    pub area: AreaSyntax,
    pub store: StoreSyntax,
}

impl SearchSyntax {
    /// Returns the index of the searched key.
    pub(super) fn source(self) -> usize {
        if self.store == StoreSyntax::Always { 2 } else { 1 }
    }
}

/// The order of the found members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FoundOrder {
    /// That of the search.
    Any,
    Nearest,
    Farthest,
}

/// The parts of the reply besides the members.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct FoundFormat {
    pub distance: bool,
    pub hash: bool,
    pub position: bool,
}

impl FoundFormat {
    /// Returns the number of additional elements.
    pub(super) fn len(self) -> usize {
        usize::from(self.distance) + usize::from(self.hash) + usize::from(self.position)
    }
}

/// The key to store in, and the score of the members there.
#[derive(Debug, Clone, Copy)]
pub(super) struct StoredIn<'a> {
    pub key: &'a [u8],
    pub distances: bool,
}

/// The parsed arguments of a search.
pub(super) struct GeoQuery<'a> {
    /// `None` if the area depends on a member of a set that is absent.
    pub area: Option<SearchArea>,
    pub format: FoundFormat,
    pub order: FoundOrder,
    /// The most members to return.
    pub count: Option<NonZeroU64>,
    /// Whether any members will do.
    pub any: bool,
    pub store: Option<StoredIn<'a>>,
}

/// The arguments that are parsed so far.
struct QueryParser<'q, 'a> {
    query: GeoQuery<'a>,
    syntax: SearchSyntax,
    set: Option<&'q SetReader<'q>>,
    center: Center,
    shape: Option<(AreaShape, f64)>,
}

/// How the center was named.
#[derive(Clone, Copy)]
enum Center {
    None,
    Coordinates(Position),
    /// `None` if the set is absent.
    Member(Option<Position>),
}

impl<'a> GeoQuery<'a> {
    pub(super) fn parse(
        args: &Args<'a>,
        syntax: SearchSyntax,
        set: Option<&SetReader>,
    ) -> CommandResult<Self> {
        let stored_in = (syntax.store == StoreSyntax::Always).then(|| args.get(1));
        let query = Self {
            area: None,
            format: FoundFormat::default(),
            order: FoundOrder::Any,
            count: None,
            any: false,
            store: stored_in.map(|key| StoredIn { key, distances: false }),
        };
        let mut parser = QueryParser { query, syntax, set, center: Center::None, shape: None };
        let mut rest = args.from(syntax.source() + 1);
        parser.fixed(&mut rest)?;
        while let Some(word) = rest.next() {
            parser.option(word, &mut rest)?;
        }
        parser.finish(args)
    }
}

impl<'a> QueryParser<'_, 'a> {
    /// Parses the arguments before the options.
    fn fixed(&mut self, rest: &mut impl ExactSizeIterator<Item = &'a [u8]>) -> CommandResult<()> {
        match self.syntax.area {
            AreaSyntax::Options => return Ok(()),
            AreaSyntax::Coordinates => self.center = Center::Coordinates(parse_position(rest)?),
            AreaSyntax::Member => {
                self.member(rest.next().ok_or(SYNTAX)?)?;
                if self.set.is_none() {
                    let _ = (rest.next(), rest.next());
                    return Ok(());
                }
            }
        }
        self.shape = Some(parse_circle(rest)?);
        Ok(())
    }

    /// Takes the position of a member as the center.
    fn member(&mut self, member: &[u8]) -> CommandResult<()> {
        let position = match self.set {
            None => None,
            Some(_) => Some(position_of(self.set, member).ok_or(NO_MEMBER)?),
        };
        self.center = Center::Member(position);
        Ok(())
    }

    /// Parses an option and its arguments.
    fn option(
        &mut self,
        word: &[u8],
        rest: &mut (impl ExactSizeIterator<Item = &'a [u8]> + Clone),
    ) -> CommandResult<()> {
        let query = &mut self.query;
        if is(word, "WITHDIST") {
            query.format.distance = true;
        } else if is(word, "WITHHASH") {
            query.format.hash = true;
        } else if is(word, "WITHCOORD") {
            query.format.position = true;
        } else if is(word, "ANY") {
            query.any = true;
        } else if is(word, "ASC") {
            query.order = FoundOrder::Nearest;
        } else if is(word, "DESC") {
            query.order = FoundOrder::Farthest;
        } else if is(word, "COUNT") {
            query.count = Some(parse_count(rest.next().ok_or(SYNTAX)?)?);
        } else if self.syntax.area == AreaSyntax::Options {
            self.area_option(word, rest)?;
        } else {
            let distances = is(word, "STOREDIST");
            if self.syntax.store == StoreSyntax::Never || !(distances || is(word, "STORE")) {
                return Err(SYNTAX);
            }
            self.query.store = Some(StoredIn { key: rest.next().ok_or(SYNTAX)?, distances });
        }
        Ok(())
    }

    /// Parses an option of GEOSEARCH or GEOSEARCHSTORE.
    fn area_option(
        &mut self,
        word: &[u8],
        rest: &mut impl ExactSizeIterator<Item = &'a [u8]>,
    ) -> CommandResult<()> {
        let by_member = matches!(self.center, Center::Member(_));
        let by_coordinates = matches!(self.center, Center::Coordinates(_));
        let is_circle = matches!(self.shape, Some((AreaShape::Circle { .. }, _)));
        let is_box = matches!(self.shape, Some((AreaShape::Box { .. }, _)));
        if is(word, "STOREDIST")
            && let Some(store) = &mut self.query.store
        {
            store.distances = true;
        } else if is(word, "FROMMEMBER") && rest.len() >= 1 && !by_coordinates {
            self.member(rest.next().ok_or(SYNTAX)?)?;
        } else if is(word, "FROMLONLAT") && rest.len() >= 2 && !by_member {
            self.center = Center::Coordinates(parse_position(rest)?);
        } else if is(word, "BYRADIUS") && rest.len() >= 2 && !is_box {
            self.shape = Some(parse_circle(rest)?);
        } else if is(word, "BYBOX") && rest.len() >= 3 && !is_circle {
            self.shape = Some(parse_box(rest)?);
        } else {
            return Err(SYNTAX);
        }
        Ok(())
    }

    /// Checks the options together.
    fn finish(mut self, args: &Args) -> CommandResult<GeoQuery<'a>> {
        let by_options = self.syntax.area == AreaSyntax::Options;
        if self.query.store.is_some() && self.query.format.len() > 0 {
            let what = if by_options { "GEOSEARCHSTORE" } else { "STORE option in GEORADIUS" };
            return Err(CommandError::owned(format!(
                "ERR {what} is not compatible with WITHDIST, WITHHASH and WITHCOORD options"
            )));
        }
        let missing = |which: &str| {
            let which = format!("ERR exactly one of {which} can be specified for ").into_bytes();
            CommandError::owned([&which, quoted(args.get(0), QUOTED_BYTES_MAX)].concat())
        };
        if by_options && matches!(self.center, Center::None) {
            return Err(missing("FROMMEMBER or FROMLONLAT"));
        }
        if by_options && self.shape.is_none() {
            return Err(missing("BYRADIUS and BYBOX"));
        }
        if self.query.any && self.query.count.is_none() {
            return Err(CommandError::text("ERR the ANY argument requires COUNT argument"));
        }
        // The first members are the nearest ones, unless any will do.
        if self.query.count.is_some() && self.query.order == FoundOrder::Any && !self.query.any {
            self.query.order = FoundOrder::Nearest;
        }
        let center = match self.center {
            Center::None => None,
            Center::Coordinates(position) => Some(position),
            Center::Member(position) => position,
        };
        self.query.area =
            center.zip(self.shape).map(|(center, (shape, unit))| SearchArea { center, shape, unit });
        Ok(self.query)
    }
}

fn parse_count(text: &[u8]) -> CommandResult<NonZeroU64> {
    let count = parse_i64(text).ok_or(NOT_AN_INTEGER)?;
    let count = u64::try_from(count).ok().and_then(NonZeroU64::new);
    count.ok_or(CommandError::text("ERR COUNT must be > 0"))
}

/// Parses a radius and its unit.
fn parse_circle<'a>(rest: &mut impl Iterator<Item = &'a [u8]>) -> CommandResult<(AreaShape, f64)> {
    let radius = parse_double(rest.next().ok_or(SYNTAX)?);
    let radius = radius.ok_or(CommandError::text("ERR need numeric radius"))?;
    if radius < 0.0 {
        return Err(CommandError::text("ERR radius cannot be negative"));
    }
    Ok((AreaShape::Circle { radius }, parse_unit(rest.next().ok_or(SYNTAX)?)?))
}

/// Parses a width, a height and their unit.
fn parse_box<'a>(rest: &mut impl Iterator<Item = &'a [u8]>) -> CommandResult<(AreaShape, f64)> {
    let mut side = |fault| parse_double(rest.next().ok_or(SYNTAX)?).ok_or(CommandError::text(fault));
    let (width, height) = (side("ERR need numeric width")?, side("ERR need numeric height")?);
    if width < 0.0 || height < 0.0 {
        return Err(CommandError::text("ERR height or width cannot be negative"));
    }
    Ok((AreaShape::Box { width, height }, parse_unit(rest.next().ok_or(SYNTAX)?)?))
}
