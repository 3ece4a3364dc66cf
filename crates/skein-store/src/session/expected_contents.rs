//! The contents that the keys of a group will have, computed before its first write, so that a
//! group is rejected as a whole.

use std::collections::HashMap;

use skein_model::RowRef;
use skein_model::column_table::Column;

use super::Writer;
use super::group::GroupOp;
use crate::{Error, Result};

/// The contents of a key after some writes of a group.
#[derive(Default)]
struct ExpectedContents<'a> {
    /// The row before the group, while some of its columns remain. Spread columns count as new,
    /// because they are not part of a row's length.
    stored: Option<RowRef<'a>>,
    /// Columns that the group has put: name, and bytes of the value.
    put: HashMap<&'a [u8], usize>,
    /// Bytes of the contents; `None` if the key is absent.
    len: Option<usize>,
    is_value: bool,
}

impl<'a> ExpectedContents<'a> {
    fn of(stored: Option<RowRef<'a>>) -> Self {
        let is_value = stored.is_some_and(|row| !row.has_columns() && !row.is_hash());
        Self { stored, put: HashMap::new(), len: stored.map(RowRef::content_len), is_value }
    }

    fn put(&mut self, value: &[u8]) {
        *self = Self { len: Some(value.len()), is_value: true, ..Self::default() };
    }

    fn put_columns(&mut self, columns: &[Column<'a>]) -> Result<()> {
        if self.is_value {
            return Err(Error::WrongKind { found: "a value", needed: "columns" });
        }
        for (name, value) in columns {
            if self.stored.is_some_and(RowRef::is_hash) {
                Error::check_column_name(name)?;
            }
            let stored = || Some(self.stored?.column(name)?.len());
            let old = self.put.get(name).copied().or_else(stored).map_or(0, |len| name.len() + len);
            let len = self.len.unwrap_or(0);
            self.len = Some(len - old + name.len() + value.len());
            self.put.insert(name, value.len());
        }
        Ok(())
    }
}

impl Writer<'_> {
    /// Rejects a whole group: over a size limit, over the memory limit, or columns for a key that
    /// will hold a value.
    pub(super) fn check_group_limits(&self, writes: &[(&[u8], GroupOp<'_>)]) -> Result<()> {
        // Within the memory limit, a group of plain puts does not depend on the present rows.
        let plain =
            self.over_budget.is_none() && !writes.iter().any(|(_, op)| matches!(op, GroupOp::PutColumns(_)));
        if plain {
            return writes.iter().try_for_each(|(key, op)| match op {
                GroupOp::Put(value, _) => self.admit(key, None, value.len()),
                GroupOp::PutColumns(_) | GroupOp::Remove => Ok(()),
            });
        }
        let mut expected: HashMap<&[u8], ExpectedContents<'_>> = HashMap::new();
        for (key, op) in writes {
            let stored =
                || ExpectedContents::of(self.time().live(self.core.keys.index.get(key, &self.guard)));
            let held = expected.entry(key).or_insert_with(stored);
            let before = held.len;
            match op {
                GroupOp::Put(value, _) => held.put(value),
                GroupOp::PutColumns(columns) => held.put_columns(columns)?,
                GroupOp::Remove => {
                    *held = ExpectedContents::default();
                    continue;
                }
            }
            self.admit(key, before, held.len.unwrap_or(0))?;
        }
        Ok(())
    }
}
