//! The commands on sorted sets.

use super::algebra::SetOperation::{Difference, Intersection, Union};
use super::algebra::{answer as answer_algebra, store};
use super::bounds::RangeBy::{Lex, Rank, Score};
use super::members::rank;
use super::multi_set::pop_several;
use super::ranges::{answer, count};
use super::remove::{parse_end, pop_one_end, remove_named, remove_range};
use crate::command_table::{Command, Group, command, family};
use crate::commands::Handler::{Blocking, Exclusive, ExclusiveIf, General, Read, Write, WriteRun};
use crate::commands::multi_pop::{MultiPop, has_several_keys};
use crate::commands::task::read_or_slices;
use crate::notice::key_events::EventClass::SortedSet;
use crate::notice::key_events::EventRule::{ByRequest, Changed, Replaced};
use crate::notice::key_events::by_request::{added_to_sorted_set, popped_from_sorted_sets};
use skein_data::CollectionKind;
use skein_data::ScanDirection::{Backward, Forward};

#[rustfmt::skip]
pub(crate) const COMMANDS: &[Command] = &family(Group::SortedSet, [
    command("bzmpop", -5, "write blocking", Blocking(&super::BZMPOP)).counted_keys(2, "RW access delete")
        .event(ByRequest(popped_from_sorted_sets))
        .docs("Pops members of the first set that has any, or waits for some",
              "timeout:double numkeys:int key@0... where(MIN|MAX) [COUNT=count:int]"),
    command("bzpopmax", -3, "write noscript blocking fast", Blocking(&super::BZPOPMAX))
        .keys(1, -2, 1, "RW access delete").event(Changed(SortedSet, "zpopmax"))
        .docs("Pops the member with the greatest score, or waits for one", "key@0... timeout:double"),
    command("bzpopmin", -3, "write noscript blocking fast", Blocking(&super::BZPOPMIN))
        .keys(1, -2, 1, "RW access delete").event(Changed(SortedSet, "zpopmin"))
        .docs("Pops the member with the least score, or waits for one", "key@0... timeout:double"),
    command("zadd", -4, "write denyoom fast", WriteRun(super::add::zadd)).key(1, "RW update")
        .event(ByRequest(added_to_sorted_set)).also("makes_waited_keys").docs("Sets the scores of members",
              "key@0 [condition(NX|XX)] [comparison(GT|LT)] [change'CH'] [increment'INCR'] \
               score_member(score:double member)..."),
    command("zcard", 2, "readonly fast", Read(super::members::zcard)).key(1, "RO")
        .docs("Returns the number of members", "key@0"),
    command("zcount", 4, "readonly fast",
            Read(|row, args, reply| count(row, args, reply, Score))).key(1, "RO access")
        .docs("Counts the members between two scores", "key@0 min:double max:double"),
    command("zdiff", -3, "readonly",
            Exclusive(|context, args, reply| answer_algebra(context, args, reply, "zdiff", Difference)))
        .counted_keys(1, "RO access")
        .docs("Returns the members of the first set that are in no other",
              "numkeys:int key@0... [WITHSCORES]"),
    command("zdiffstore", -4, "write denyoom",
            Exclusive(|context, args, reply| store(context, args, reply, "zdiffstore", Difference)))
        .key(1, "OW update").counted_keys(2, "RO access")
        .event(Replaced(SortedSet, "zdiffstore")).also("makes_waited_keys")
        .docs("Stores the members of the first set that are in no other",
              "destination@0 numkeys:int key@1..."),
    command("zincrby", 4, "write denyoom fast", Write(super::add::zincr_by)).key(1, "RW access update")
        .event(Changed(SortedSet, "zincr")).also("makes_waited_keys")
        .docs("Adds to a member's score", "key@0 increment:int member"),
    command("zinter", -3, "readonly",
            Exclusive(|context, args, reply| answer_algebra(context, args, reply, "zinter", Intersection)))
        .counted_keys(1, "RO access").docs("Returns the members that are in all sets",
              "numkeys:int key@0... [WEIGHTS=weight:int...] [AGGREGATE=aggregate(SUM|MIN|MAX)] [WITHSCORES]"),
    command("zintercard", -3, "readonly", Exclusive(super::algebra::zinter_card)).counted_keys(1, "RO access")
        .docs("Counts the members that are in all sets", "numkeys:int key@0... [LIMIT=limit:int]"),
    command("zinterstore", -4, "write denyoom",
            Exclusive(|context, args, reply| store(context, args, reply, "zinterstore", Intersection)))
        .key(1, "OW update").counted_keys(2, "RO access")
        .event(Replaced(SortedSet, "zinterstore")).also("makes_waited_keys")
        .docs("Stores the members that are in all sets",
              "destination@0 numkeys:int key@1... [WEIGHTS=weight:int...] [AGGREGATE=aggregate(SUM|MIN|MAX)]"),
    command("zlexcount", 4, "readonly fast",
            Read(|row, args, reply| count(row, args, reply, Lex))).key(1, "RO access")
        .docs("Counts the members between two members", "key@0 min max"),
    command("zmpop", -4, "write", ExclusiveIf(has_several_keys, |context, args, reply| {
            MultiPop::run(context, args, reply, parse_end, pop_several)
        })).counted_keys(1, "RW access delete").event(ByRequest(popped_from_sorted_sets))
        .docs("Pops members from one end of the first set that has members",
              "numkeys:int key@0... where(MIN|MAX) [COUNT=count:int]"),
    command("zmscore", -3, "readonly fast", Read(super::members::zmscore)).key(1, "RO access")
        .docs("Returns the scores of members", "key@0 member..."),
    command("zpopmax", -2, "write fast",
            Write(|writer, args, reply| pop_one_end(writer, args, reply, Backward)))
        .key(1, "RW access delete").event(Changed(SortedSet, "zpopmax"))
        .docs("Pops the members with the greatest scores", "key@0 [count:int]"),
    command("zpopmin", -2, "write fast",
            Write(|writer, args, reply| pop_one_end(writer, args, reply, Forward)))
        .key(1, "RW access delete").event(Changed(SortedSet, "zpopmin"))
        .docs("Pops the members with the least scores", "key@0 [count:int]"),
    command("zrandmember", -2, "readonly", read_or_slices!(super::random::zrand_member)).key(1, "RO access")
        .tips("nondeterministic_output")
        .docs("Returns random members", "key@0 [options(count:int [WITHSCORES])]"),
    command("zrange", -4, "readonly",
            read_or_slices!(|row, args, reply, long| answer(row, args, reply, None, long)))
        .key(1, "RO access").docs("Returns a range of members, by rank, score or member",
              "key@0 start stop [sortby(BYSCORE|BYLEX)] [REV] [LIMIT=offset_count(offset:int count:int)] \
               [WITHSCORES]"),
    command("zrangebylex", -4, "readonly",
            read_or_slices!(|row, args, reply, long| answer(row, args, reply, Some((Lex, Forward)), long)))
        .key(1, "RO access").docs("Returns the members between two members",
              "key@0 min max [LIMIT=offset_count(offset:int count:int)]"),
    command("zrangebyscore", -4, "readonly",
            read_or_slices!(|row, args, reply, long| answer(row, args, reply, Some((Score, Forward)), long)))
        .key(1, "RO access").docs("Returns the members between two scores",
              "key@0 min:double max:double [WITHSCORES] [LIMIT=offset_count(offset:int count:int)]"),
    command("zrangestore", -5, "write denyoom", Exclusive(super::algebra::zrange_store)).key(1, "OW update")
        .key(2, "RO access").event(Replaced(SortedSet, "zrangestore")).also("makes_waited_keys")
        .docs("Stores a range of another set",
              "dst@0 src@1 min max [sortby(BYSCORE|BYLEX)] [REV] [LIMIT=offset_count(offset:int count:int)]"),
    command("zrank", -3, "readonly fast",
            Read(|row, args, reply| rank(row, args, reply, false))).key(1, "RO access")
        .docs("Returns the rank of a member, from the least score on", "key@0 member [WITHSCORE]"),
    command("zrem", -3, "write fast",
            WriteRun(|writer, run, reply| remove_named(writer, CollectionKind::SortedSet, run, reply)))
        .key(1, "RW delete").event(Changed(SortedSet, "zrem")).docs("Removes members", "key@0 member..."),
    command("zremrangebylex", 4, "write", Write(|writer, args, reply| remove_range(writer, args, reply, Lex)))
        .key(1, "RW delete").event(Changed(SortedSet, "zremrangebylex"))
        .docs("Removes the members between two members", "key@0 min max"),
    command("zremrangebyrank", 4, "write",
            Write(|writer, args, reply| remove_range(writer, args, reply, Rank)))
        .key(1, "RW delete").event(Changed(SortedSet, "zremrangebyrank"))
        .docs("Removes the members between two ranks", "key@0 start:int stop:int"),
    command("zremrangebyscore", 4, "write",
            Write(|writer, args, reply| remove_range(writer, args, reply, Score)))
        .key(1, "RW delete").event(Changed(SortedSet, "zremrangebyscore"))
        .docs("Removes the members between two scores", "key@0 min:double max:double"),
    command("zrevrange", -4, "readonly",
            read_or_slices!(|row, args, reply, long| answer(row, args, reply, Some((Rank, Backward)), long)))
        .key(1, "RO access").docs("Returns a range of members by rank, the greatest score first",
              "key@0 start:int stop:int [WITHSCORES]"),
    command("zrevrangebylex", -4, "readonly",
            read_or_slices!(|row, args, reply, long| answer(row, args, reply, Some((Lex, Backward)), long)))
        .key(1, "RO access").docs("Returns the members between two members, in reverse order",
              "key@0 max min [LIMIT=offset_count(offset:int count:int)]"),
    command("zrevrangebyscore", -4, "readonly",
            read_or_slices!(|row, args, reply, long| answer(row, args, reply, Some((Score, Backward)), long)))
        .key(1, "RO access").docs("Returns the members between two scores, in reverse order",
              "key@0 max:double min:double [WITHSCORES] [LIMIT=offset_count(offset:int count:int)]"),
    command("zrevrank", -3, "readonly fast",
            Read(|row, args, reply| rank(row, args, reply, true))).key(1, "RO access")
        .docs("Returns the rank of a member, from the greatest score on", "key@0 member [WITHSCORE]"),
    command("zscan", -3, "readonly",
            General(super::scan::zscan)).key(1, "RO access").tips("nondeterministic_output")
        .docs("Returns the members, one page at a time",
              "key@0 cursor:int [MATCH=pattern:pattern] [COUNT=count:int]"),
    command("zscore", 3, "readonly fast", Read(super::members::zscore)).key(1, "RO access")
        .docs("Returns the score of a member", "key@0 member"),
    command("zunion", -3, "readonly",
            Exclusive(|context, args, reply| answer_algebra(context, args, reply, "zunion", Union)))
        .counted_keys(1, "RO access").docs("Returns the members of all sets",
              "numkeys:int key@0... [WEIGHTS=weight:int...] [AGGREGATE=aggregate(SUM|MIN|MAX)] [WITHSCORES]"),
    command("zunionstore", -4, "write denyoom",
            Exclusive(|context, args, reply| store(context, args, reply, "zunionstore", Union)))
        .key(1, "OW update").counted_keys(2, "RO access").event(Replaced(SortedSet, "zunionstore"))
        .also("makes_waited_keys copies_sources").docs("Stores the members of all sets",
              "destination@0 numkeys:int key@1... [WEIGHTS=weight:int...] [AGGREGATE=aggregate(SUM|MIN|MAX)]"),
]);
