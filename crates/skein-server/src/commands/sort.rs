//! `SORT` and `SORT_RO`: the elements of a list, a set or a sorted set in another order, with
//! values of other keys.
//!
//! ```text
//!   elements ─► BY: the value of another key for each ─► compared as numbers or as texts
//!            ─► LIMIT ─► GET: values of other keys for each ─► reply, or STORE: a list
//! ```
//!
//! As in Redis, all is done at once. Texts are compared byte by byte.

use std::cmp::Ordering;
use std::ops::{ControlFlow, Range};

use super::command_error::{NOT_AN_INTEGER, SYNTAX};
use super::{AfterCommand, CommandContext, CommandError, CommandResult, is};
use crate::clients::client::ClientState;
use crate::command_table::{COMMANDS, find};
use crate::request::moved_keys::in_other_keyspace;
use crate::resp::double::parse_weight;
use crate::resp::{Args, Reply};
use skein_data::{
    CollectionKind, EngineKeys, ListEnd, RowView, RowWriter as _, ScanDirection, StoredKeyspace, is_reserved,
};
use skein_syntax::number::parse_i64;

const NOT_NUMBERS: CommandError = CommandError::text("ERR One or more scores can't be converted into double");

/// The options of a request.
struct SortQuery<'a> {
    /// The keyspace of the keys that patterns name.
    keyspace: StoredKeyspace,
    /// The pattern of BY. Without a `*` in it, the elements keep their order.
    by: Option<&'a [u8]>,
    /// The patterns of GET.
    gets: Vec<&'a [u8]>,
    first: i64,
    /// Negative for all.
    most: i64,
    descending: bool,
    as_texts: bool,
    store: Option<&'a [u8]>,
}

impl<'a> SortQuery<'a> {
    fn parse(
        args: &Args<'a>,
        keyspace: StoredKeyspace,
        may_store: bool,
        reads_all: impl Fn() -> bool,
    ) -> CommandResult<Self> {
        let mut query = Self {
            keyspace,
            by: None,
            gets: Vec::new(),
            first: 0,
            most: -1,
            descending: false,
            as_texts: false,
            store: None,
        };
        let denied = |option: &str| {
            CommandError::owned(format!(
                "ERR {option} option of SORT denied due to insufficient ACL permissions."
            ))
        };
        let mut rest = args.from(2);
        while let Some(word) = rest.next() {
            if is(word, "ASC") {
                query.descending = false;
            } else if is(word, "DESC") {
                query.descending = true;
            } else if is(word, "ALPHA") {
                query.as_texts = true;
            } else if is(word, "LIMIT") {
                let (Some(first), Some(most)) = (rest.next(), rest.next()) else { return Err(SYNTAX) };
                query.first = parse_i64(first).ok_or(NOT_AN_INTEGER)?;
                query.most = parse_i64(most).ok_or(NOT_AN_INTEGER)?;
            } else if is(word, "STORE") && may_store {
                query.store = Some(rest.next().ok_or(SYNTAX)?);
            } else if is(word, "BY") {
                let pattern = rest.next().ok_or(SYNTAX)?;
                if pattern.contains(&b'*') && !reads_all() {
                    return Err(denied("BY"));
                }
                query.by = Some(pattern);
            } else if is(word, "GET") {
                let pattern = rest.next().ok_or(SYNTAX)?;
                if !reads_all() {
                    return Err(denied("GET"));
                }
                query.gets.push(pattern);
            } else {
                return Err(SYNTAX);
            }
        }
        Ok(query)
    }

    /// Returns whether the elements keep their order.
    fn keeps_order(&self) -> bool {
        self.by.is_some_and(|pattern| !pattern.contains(&b'*'))
    }

    /// Returns the places of the reply among so many elements.
    fn places(&self, len: usize) -> Range<usize> {
        let first = usize::try_from(self.first).unwrap_or(0).min(len);
        let most = usize::try_from(self.most).unwrap_or(len);
        first..first.saturating_add(most).min(len)
    }
}

/// The elements of a key, in its order.
#[derive(Default)]
struct SortedKey {
    elements: Vec<Vec<u8>>,
    /// Whether the key has an order.
    is_ordered: bool,
}

/// Returns the elements of a key. `None` if it holds something else.
fn elements_of(row: RowView) -> CommandResult<Option<SortedKey>> {
    let mut elements = Vec::new();
    let of_list = row.list(|list| {
        list.walk(ListEnd::Front, |element| {
            elements.push(element.to_vec());
            ControlFlow::Continue(())
        });
    })?;
    if of_list.is_some() {
        return Ok(Some(SortedKey { elements, is_ordered: true }));
    }
    let of_set = row.any_set(|set| {
        set.walk(0, ScanDirection::Forward, |_, member| {
            elements.push(member.to_vec());
            ControlFlow::Continue(())
        });
    })?;
    let is_ordered = row.collection_kind() == Some(CollectionKind::SortedSet);
    Ok(of_set.map(|()| SortedKey { elements, is_ordered }))
}

/// Returns the value that a pattern names for an element: `weight_*` a key, `object_*->field` a
/// column, `#` the element itself.
fn value_at(
    session: &mut EngineKeys,
    keyspace: StoredKeyspace,
    pattern: &[u8],
    element: &[u8],
) -> Result<Option<Vec<u8>>, CommandError> {
    if pattern == b"#" {
        return Ok(Some(element.to_vec()));
    }
    let Some(star) = pattern.iter().position(|byte| *byte == b'*') else { return Ok(None) };
    let (before, after) = (&pattern[..star], &pattern[star + 1..]);
    let arrow = after.windows(2).position(|pair| pair == b"->").filter(|at| at + 2 < after.len());
    let (after, field) = match arrow {
        Some(at) => (&after[..at], Some(&after[at + 2..])),
        None => (after, None),
    };
    let name = [before, element, after].concat();
    if is_reserved(&name) {
        return Ok(None);
    }
    session.get_with(&keyspace.stored(&name), |row| {
        let Some(row) = row? else { return Ok(None) };
        match field {
            None => Ok(row.value().map(<[u8]>::to_vec)),
            Some(field) => {
                let found = row.columns(|columns| columns.get(field).map(std::borrow::Cow::into_owned))?;
                Ok(found.flatten())
            }
        }
    })
}

/// The sort key of an element.
enum SortWeight {
    Number(f64),
    /// `None` sorts before all texts.
    Text(Option<Vec<u8>>),
}

impl SortWeight {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Number(a), Self::Number(b)) => a.partial_cmp(b).unwrap_or(Ordering::Equal),
            (Self::Text(a), Self::Text(b)) => a.cmp(b),
            _ => Ordering::Equal,
        }
    }
}

/// Returns the weight of an element.
fn weight_of(session: &mut EngineKeys, query: &SortQuery<'_>, element: &[u8]) -> CommandResult<SortWeight> {
    let value = match query.by {
        Some(pattern) => value_at(session, query.keyspace, pattern, element)?,
        None => Some(element.to_vec()),
    };
    if query.as_texts {
        return Ok(SortWeight::Text(value));
    }
    let Some(value) = value else { return Ok(SortWeight::Number(0.0)) };
    Ok(SortWeight::Number(parse_weight(&value).ok_or(NOT_NUMBERS)?))
}

/// Returns the elements in the order of their weights. With equal numbers, elements are compared.
fn sorted(
    session: &mut EngineKeys,
    query: &SortQuery<'_>,
    elements: Vec<Vec<u8>>,
) -> Result<Vec<Vec<u8>>, CommandError> {
    let mut weighed = Vec::with_capacity(elements.len());
    for element in elements {
        weighed.push((weight_of(session, query, &element)?, element));
    }
    weighed.sort_by(|(a, one), (b, other)| {
        let by_element = if query.as_texts { Ordering::Equal } else { one.cmp(other) };
        let order = a.cmp(b).then(by_element);
        if query.descending { order.reverse() } else { order }
    });
    Ok(weighed.into_iter().map(|(_, element)| element).collect())
}

/// Returns the values of the reply; `None` for an absent one.
fn result_of(
    context: &mut CommandContext,
    query: &SortQuery<'_>,
    key: &[u8],
) -> Result<Vec<Option<Vec<u8>>>, CommandError> {
    let found = context.look_up(key, |row| match row? {
        None => Ok(Some(SortedKey::default())),
        Some(row) => elements_of(row),
    })?;
    let session = &mut context.session;
    let SortedKey { mut elements, is_ordered } = found.ok_or_else(CommandError::wrong_type)?;
    if !query.keeps_order() {
        elements = sorted(session, query, elements)?;
    } else if is_ordered && query.descending {
        elements.reverse();
    } else if !is_ordered && query.store.is_some() {
        elements.sort();
    }
    let places = query.places(elements.len());
    let mut values = Vec::new();
    for element in &elements[places] {
        if query.gets.is_empty() {
            values.push(Some(element.clone()));
        }
        for pattern in &query.gets {
            values.push(value_at(session, query.keyspace, pattern, element)?);
        }
    }
    Ok(values)
}

/// Replaces the contents of a key by a list of the values; an absent value is an empty one.
fn store(context: &mut CommandContext, key: &[u8], values: &[Option<Vec<u8>>]) -> CommandResult<()> {
    let elements = || values.iter().map(|value| value.as_deref().unwrap_or_default());
    context.write(|writer| {
        writer.replace_list::<_, CommandError>(key, None, |list| Ok(list.push(ListEnd::Back, elements())?))
    })
}

/// Returns whether the rights that allow this request, in its stored form, allow to read every key:
/// BY and GET read keys that the request does not name.
fn may_read_all_keys(client: &ClientState, args: &Args) -> bool {
    let Some(command) = find(args.get(0)) else { return false };
    let named = in_other_keyspace(&COMMANDS[command], args, StoredKeyspace::DEFAULT);
    named.args().is_some_and(|named| client.may_read_all_keys_in(command, &named))
}

pub(super) fn run(
    context: &mut CommandContext,
    args: &Args,
    reply: &mut Reply,
    may_store: bool,
) -> CommandResult {
    let reads_all = || may_read_all_keys(context.client, args);
    let query = SortQuery::parse(args, context.client.keyspace(), may_store, reads_all)?;
    let values = result_of(context, &query, args.get(1))?;
    if let Some(key) = query.store {
        store(context, key, &values)?;
        reply.count(values.len());
    } else {
        reply.array_of(&values, |reply, value| reply.bulk_or_null(value.as_deref()));
    }
    Ok(AfterCommand::Done)
}
