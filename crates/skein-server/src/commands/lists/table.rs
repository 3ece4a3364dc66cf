//! The commands on lists.

use super::ends::{pop, push};
use super::moves::{MoveEnds, move_between};
use super::multi_pop::pop_several;
use super::parse_end;
use crate::command_table::{Command, Group, command, family};
use crate::commands::Handler::{Blocking, Exclusive, Read, Write, WriteRun};
use crate::commands::multi_pop::MultiPop;
use crate::commands::task::read_or_slices;
use crate::notice::key_events::EventClass::List;
use crate::notice::key_events::EventRule::{ByRequest, Changed, Touched};
use crate::notice::key_events::by_request::{moved_between_ends, moved_to_front, popped_from_lists};
use skein_data::ListEnd::{Back, Front};

#[rustfmt::skip]
pub(crate) const COMMANDS: &[Command] = &family(Group::List, [
    command("blmove", 6, "write denyoom noscript blocking",
            Blocking(&super::BLMOVE)).key(1, "RW access delete")
        .key(2, "RW insert").event(ByRequest(moved_between_ends)).also("makes_waited_keys")
        .docs("Moves an element to another list, or waits for one",
              "source@0 destination@1 wherefrom(LEFT|RIGHT) whereto(LEFT|RIGHT) timeout:double"),
    command("blmpop", -5, "write blocking", Blocking(&super::BLMPOP)).counted_keys(2, "RW access delete")
        .event(ByRequest(popped_from_lists))
        .docs("Removes and returns elements of the first list that has any, or waits for some",
              "timeout:double numkeys:int key@0... where(LEFT|RIGHT) [COUNT=count:int]"),
    command("blpop", -3, "write noscript blocking",
            Blocking(&super::BLPOP)).keys(1, -2, 1, "RW access delete")
        .event(Changed(List, "lpop"))
        .docs("Removes and returns the first element of a list, or waits for one", "key@0... timeout:double"),
    command("brpop", -3, "write noscript blocking",
            Blocking(&super::BRPOP)).keys(1, -2, 1, "RW access delete")
        .event(Changed(List, "rpop"))
        .docs("Removes and returns the last element of a list, or waits for one", "key@0... timeout:double"),
    command("brpoplpush", 4, "write denyoom noscript blocking", Blocking(&super::BRPOPLPUSH))
        .key(1, "RW access delete").key(2, "RW insert").event(ByRequest(moved_to_front))
        .also("makes_waited_keys")
        .docs("Moves the last element to the front of another list, or waits for one",
              "source@0 destination@1 timeout:double"),
    command("lindex", 3, "readonly", Read(super::elements::lindex)).key(1, "RO access")
        .docs("Returns the element at an index", "key@0 index:int"),
    command("linsert", 5, "write denyoom", Write(super::elements::linsert)).key(1, "RW insert")
        .event(Changed(List, "linsert"))
        .docs("Inserts an element before or after another one", "key@0 where(BEFORE|AFTER) pivot element"),
    command("llen", 2, "readonly fast", Read(super::ends::llen)).key(1, "RO")
        .docs("Returns the number of elements", "key@0"),
    command("lmove", 5, "write denyoom",
            Exclusive(|context, args, reply| move_between(context, args, reply, MoveEnds::parse(args)?)))
        .key(1, "RW access delete").key(2, "RW insert")
        .event(ByRequest(moved_between_ends)).also("makes_waited_keys")
        .docs("Moves an element to another list",
              "source@0 destination@1 wherefrom(LEFT|RIGHT) whereto(LEFT|RIGHT)"),
    command("lmpop", -4, "write",
            Exclusive(|context, args, reply| MultiPop::run(context, args, reply, parse_end, pop_several)))
        .counted_keys(1, "RW access delete").event(ByRequest(popped_from_lists))
        .docs("Removes and returns elements of the first list that has any",
              "numkeys:int key@0... where(LEFT|RIGHT) [COUNT=count:int]"),
    command("lpop", -2, "write fast", WriteRun(|writer, run, reply| pop(writer, run, reply, Front, "lpop")))
        .key(1, "RW access delete").event(Changed(List, "lpop"))
        .docs("Removes and returns the first elements", "key@0 [count:int]"),
    command("lpos", -3, "readonly", read_or_slices!(super::positions::lpos)).key(1, "RO access")
        .docs("Returns the indexes of equal elements",
              "key@0 element [RANK=rank:int] [COUNT=num-matches:int] [MAXLEN=len:int]"),
    command("lpush", -3, "write denyoom fast",
            WriteRun(|writer, run, reply| push(writer, run, reply, Front, true))).key(1, "RW insert")
        .event(Changed(List, "lpush")).also("makes_waited_keys")
        .docs("Adds elements at the front", "key@0 element..."),
    command("lpushx", -3, "write denyoom fast",
            WriteRun(|writer, run, reply| push(writer, run, reply, Front, false))).key(1, "RW insert")
        .event(Changed(List, "lpush"))
        .docs("Adds elements at the front of a list that exists", "key@0 element..."),
    command("lrange", 4, "readonly", read_or_slices!(super::ranges::lrange)).key(1, "RO access")
        .docs("Returns a range of elements", "key@0 start:int stop:int"),
    command("lrem", 4, "write", Write(super::elements::lrem)).key(1, "RW delete").event(Changed(List, "lrem"))
        .docs("Removes equal elements", "key@0 count:int element"),
    command("lset", 4, "write denyoom", Write(super::elements::lset)).key(1, "RW update")
        .event(Touched(List, "lset"))
        .docs("Replaces the element at an index", "key@0 index:int element"),
    command("ltrim", 4, "write", Write(super::ranges::ltrim)).key(1, "RW delete")
        .event(Touched(List, "ltrim"))
        .docs("Removes the elements outside of a range", "key@0 start:int stop:int"),
    command("rpop", -2, "write fast", WriteRun(|writer, run, reply| pop(writer, run, reply, Back, "rpop")))
        .key(1, "RW access delete").event(Changed(List, "rpop"))
        .docs("Removes and returns the last elements", "key@0 [count:int]"),
    command("rpoplpush", 3, "write denyoom",
            Exclusive(|context, args, reply| move_between(context, args, reply, MoveEnds::ROTATE)))
        .key(1, "RW access delete").key(2, "RW insert")
        .event(ByRequest(moved_to_front)).also("makes_waited_keys")
        .docs("Moves the last element to the front of another list", "source@0 destination@1"),
    command("rpush", -3, "write denyoom fast",
            WriteRun(|writer, run, reply| push(writer, run, reply, Back, true))).key(1, "RW insert")
        .event(Changed(List, "rpush")).also("makes_waited_keys")
        .docs("Adds elements at the back", "key@0 element..."),
    command("rpushx", -3, "write denyoom fast",
            WriteRun(|writer, run, reply| push(writer, run, reply, Back, false))).key(1, "RW insert")
        .event(Changed(List, "rpush"))
        .docs("Adds elements at the back of a list that exists", "key@0 element..."),
]);
