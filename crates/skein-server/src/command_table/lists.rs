//! Commands on lists, one line each.

use super::{
    BLOCKS, BLOCKS_MOVABLE, BUT_LAST, CommandSpec, NONE, ONE, READ, READ_FAST, TWO, WRITE, WRITE_FAST,
    WRITE_GROWS, WRITE_GROWS_FAST, row,
};

const GROUP: &str = "list";

const BLOCKS_GROWS: &[&str] = &["write", "denyoom", "noscript", "blocking"];
const WRITE_MOVABLE: &[&str] = &["write", "movablekeys"];

#[rustfmt::skip]
pub(super) const COMMANDS: &[CommandSpec] = &[
    row("blmove", 6, BLOCKS_GROWS, TWO, GROUP, "Moves an element to another list, or waits for one").making_waited_keys(),
    row("blmpop", -5, BLOCKS_MOVABLE, NONE, GROUP, "Removes and returns elements of the first list that has any, or waits for some").counting_keys_at(2),
    row("blpop", -3, BLOCKS, BUT_LAST, GROUP, "Removes and returns the first element of a list, or waits for one"),
    row("brpop", -3, BLOCKS, BUT_LAST, GROUP, "Removes and returns the last element of a list, or waits for one"),
    row("brpoplpush", 4, BLOCKS_GROWS, TWO, GROUP, "Moves the last element to the front of another list, or waits for one").making_waited_keys(),
    row("lindex", 3, READ, ONE, GROUP, "Returns the element at an index"),
    row("linsert", 5, WRITE_GROWS, ONE, GROUP, "Inserts an element before or after another one"),
    row("llen", 2, READ_FAST, ONE, GROUP, "Returns the number of elements"),
    row("lmove", 5, WRITE_GROWS, TWO, GROUP, "Moves an element to another list").making_waited_keys(),
    row("lmpop", -4, WRITE_MOVABLE, NONE, GROUP, "Removes and returns elements of the first list that has any").counting_keys_at(1),
    row("lpop", -2, WRITE_FAST, ONE, GROUP, "Removes and returns the first elements"),
    row("lpos", -3, READ, ONE, GROUP, "Returns the indexes of equal elements"),
    row("lpush", -3, WRITE_GROWS_FAST, ONE, GROUP, "Adds elements at the front").making_waited_keys(),
    row("lpushx", -3, WRITE_GROWS_FAST, ONE, GROUP, "Adds elements at the front of a list that exists"),
    row("lrange", 4, READ, ONE, GROUP, "Returns a range of elements"),
    row("lrem", 4, WRITE, ONE, GROUP, "Removes equal elements"),
    row("lset", 4, WRITE_GROWS, ONE, GROUP, "Replaces the element at an index"),
    row("ltrim", 4, WRITE, ONE, GROUP, "Removes the elements outside of a range"),
    row("rpop", -2, WRITE_FAST, ONE, GROUP, "Removes and returns the last elements"),
    row("rpoplpush", 3, WRITE_GROWS, TWO, GROUP, "Moves the last element to the front of another list").making_waited_keys(),
    row("rpush", -3, WRITE_GROWS_FAST, ONE, GROUP, "Adds elements at the back").making_waited_keys(),
    row("rpushx", -3, WRITE_GROWS_FAST, ONE, GROUP, "Adds elements at the back of a list that exists"),
];
