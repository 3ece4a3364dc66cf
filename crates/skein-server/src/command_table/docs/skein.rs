//! The arguments of commands of SkeinDB, in the notation of `notation`.

use super::SyntaxRow;

#[rustfmt::skip]
pub(super) const SYNTAX: &[SyntaxRow] = &[
    ("sk.cas", "key@0 version:int value"),
    ("sk.count", "min max"),
    ("sk.delrange", "min max"),
    ("sk.getv", "key@0"),
    ("sk.next", "key@0"),
    ("sk.prefix",
     "prefix [REV] [LIMIT=count:int] [contents(NOVALUES|DETAILS|COLUMNS=columns(count:int \
      name...))] [moment(SNAPSHOT|HELD)]"),
    ("sk.prev", "key@0"),
    ("sk.range",
     "min max [REV] [LIMIT=count:int] [contents(NOVALUES|DETAILS|COLUMNS=columns(count:int \
      name...))] [moment(SNAPSHOT|HELD)]"),
    ("sk.snapshot", "action(BEGIN|END)"),
];
