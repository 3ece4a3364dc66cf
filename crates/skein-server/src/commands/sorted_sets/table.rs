//! The commands on sorted sets.

use crate::command_table::{Command, Group, command, family};
use crate::commands::Handler::{Blocking, Exclusive, ExclusiveIf, General, Read, Write, WriteRun};
use crate::commands::multi_pop::has_several_keys;
use crate::commands::task::read_or_slices;
use crate::notice::key_events::EventClass::SortedSet;
use crate::notice::key_events::EventRule::{ByRequest, Changed, Replaced};
use crate::notice::key_events::by_request::{added_to_sorted_set, popped_from_sorted_sets};

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
    command("zadd", -4, "write denyoom fast", WriteRun(super::zadd)).key(1, "RW update")
        .event(ByRequest(added_to_sorted_set)).also("makes_waited_keys").docs("Sets the scores of members",
              "key@0 [condition(NX|XX)] [comparison(GT|LT)] [change'CH'] [increment'INCR'] \
               score_member(score:double member)..."),
    command("zcard", 2, "readonly fast", Read(super::zcard)).key(1, "RO")
        .docs("Returns the number of members", "key@0"),
    command("zcount", 4, "readonly fast", Read(super::zcount)).key(1, "RO access")
        .docs("Counts the members between two scores", "key@0 min:double max:double"),
    command("zdiff", -3, "readonly", Exclusive(super::zdiff)).counted_keys(1, "RO access")
        .docs("Returns the members of the first set that are in no other", "numkeys:int key@0... [WITHSCORES]"),
    command("zdiffstore", -4, "write denyoom", Exclusive(super::zdiff_store)).key(1, "OW update")
        .counted_keys(2, "RO access").event(Replaced(SortedSet, "zdiffstore")).also("makes_waited_keys")
        .docs("Stores the members of the first set that are in no other", "destination@0 numkeys:int key@1..."),
    command("zincrby", 4, "write denyoom fast", Write(super::zincr_by)).key(1, "RW access update")
        .event(Changed(SortedSet, "zincr")).also("makes_waited_keys")
        .docs("Adds to a member's score", "key@0 increment:int member"),
    command("zinter", -3, "readonly", Exclusive(super::zinter)).counted_keys(1, "RO access")
        .docs("Returns the members that are in all sets",
              "numkeys:int key@0... [WEIGHTS=weight:int...] [AGGREGATE=aggregate(SUM|MIN|MAX)] [WITHSCORES]"),
    command("zintercard", -3, "readonly", Exclusive(super::zinter_card)).counted_keys(1, "RO access")
        .docs("Counts the members that are in all sets", "numkeys:int key@0... [LIMIT=limit:int]"),
    command("zinterstore", -4, "write denyoom", Exclusive(super::zinter_store)).key(1, "OW update")
        .counted_keys(2, "RO access").event(Replaced(SortedSet, "zinterstore")).also("makes_waited_keys")
        .docs("Stores the members that are in all sets",
              "destination@0 numkeys:int key@1... [WEIGHTS=weight:int...] [AGGREGATE=aggregate(SUM|MIN|MAX)]"),
    command("zlexcount", 4, "readonly fast", Read(super::zlex_count)).key(1, "RO access")
        .docs("Counts the members between two members", "key@0 min max"),
    command("zmpop", -4, "write", ExclusiveIf(has_several_keys, super::zmpop)).counted_keys(1, "RW access delete")
        .event(ByRequest(popped_from_sorted_sets))
        .docs("Pops members from one end of the first set that has members",
              "numkeys:int key@0... where(MIN|MAX) [COUNT=count:int]"),
    command("zmscore", -3, "readonly fast", Read(super::zmscore)).key(1, "RO access")
        .docs("Returns the scores of members", "key@0 member..."),
    command("zpopmax", -2, "write fast", Write(super::zpop_max)).key(1, "RW access delete")
        .event(Changed(SortedSet, "zpopmax"))
        .docs("Pops the members with the greatest scores", "key@0 [count:int]"),
    command("zpopmin", -2, "write fast", Write(super::zpop_min)).key(1, "RW access delete")
        .event(Changed(SortedSet, "zpopmin"))
        .docs("Pops the members with the least scores", "key@0 [count:int]"),
    command("zrandmember", -2, "readonly", read_or_slices::<super::ZRandMember>()).key(1, "RO access")
        .tips("nondeterministic_output")
        .docs("Returns random members", "key@0 [options(count:int [WITHSCORES])]"),
    command("zrange", -4, "readonly", read_or_slices::<super::ZRange>()).key(1, "RO access")
        .docs("Returns a range of members, by rank, score or member",
              "key@0 start stop [sortby(BYSCORE|BYLEX)] [REV] [LIMIT=offset_count(offset:int count:int)] \
               [WITHSCORES]"),
    command("zrangebylex", -4, "readonly", read_or_slices::<super::ZRangeByLex>()).key(1, "RO access")
        .docs("Returns the members between two members",
              "key@0 min max [LIMIT=offset_count(offset:int count:int)]"),
    command("zrangebyscore", -4, "readonly", read_or_slices::<super::ZRangeByScore>()).key(1, "RO access")
        .docs("Returns the members between two scores",
              "key@0 min:double max:double [WITHSCORES] [LIMIT=offset_count(offset:int count:int)]"),
    command("zrangestore", -5, "write denyoom", Exclusive(super::zrange_store)).key(1, "OW update")
        .key(2, "RO access").event(Replaced(SortedSet, "zrangestore")).also("makes_waited_keys")
        .docs("Stores a range of another set",
              "dst@0 src@1 min max [sortby(BYSCORE|BYLEX)] [REV] [LIMIT=offset_count(offset:int count:int)]"),
    command("zrank", -3, "readonly fast", Read(super::zrank)).key(1, "RO access")
        .docs("Returns the rank of a member, from the least score on", "key@0 member [WITHSCORE]"),
    command("zrem", -3, "write fast", WriteRun(super::zrem)).key(1, "RW delete")
        .event(Changed(SortedSet, "zrem")).docs("Removes members", "key@0 member..."),
    command("zremrangebylex", 4, "write", Write(super::zrem_range_by_lex)).key(1, "RW delete")
        .event(Changed(SortedSet, "zremrangebylex"))
        .docs("Removes the members between two members", "key@0 min max"),
    command("zremrangebyrank", 4, "write", Write(super::zrem_range_by_rank)).key(1, "RW delete")
        .event(Changed(SortedSet, "zremrangebyrank"))
        .docs("Removes the members between two ranks", "key@0 start:int stop:int"),
    command("zremrangebyscore", 4, "write", Write(super::zrem_range_by_score)).key(1, "RW delete")
        .event(Changed(SortedSet, "zremrangebyscore"))
        .docs("Removes the members between two scores", "key@0 min:double max:double"),
    command("zrevrange", -4, "readonly", read_or_slices::<super::ZRevRange>()).key(1, "RO access")
        .docs("Returns a range of members by rank, the greatest score first",
              "key@0 start:int stop:int [WITHSCORES]"),
    command("zrevrangebylex", -4, "readonly", read_or_slices::<super::ZRevRangeByLex>()).key(1, "RO access")
        .docs("Returns the members between two members, in reverse order",
              "key@0 max min [LIMIT=offset_count(offset:int count:int)]"),
    command("zrevrangebyscore", -4, "readonly", read_or_slices::<super::ZRevRangeByScore>()).key(1, "RO access")
        .docs("Returns the members between two scores, in reverse order",
              "key@0 max:double min:double [WITHSCORES] [LIMIT=offset_count(offset:int count:int)]"),
    command("zrevrank", -3, "readonly fast", Read(super::zrevrank)).key(1, "RO access")
        .docs("Returns the rank of a member, from the greatest score on", "key@0 member [WITHSCORE]"),
    command("zscan", -3, "readonly", General(super::zscan)).key(1, "RO access").tips("nondeterministic_output")
        .docs("Returns the members, one page at a time",
              "key@0 cursor:int [MATCH=pattern:pattern] [COUNT=count:int]"),
    command("zscore", 3, "readonly fast", Read(super::zscore)).key(1, "RO access")
        .docs("Returns the score of a member", "key@0 member"),
    command("zunion", -3, "readonly", Exclusive(super::zunion)).counted_keys(1, "RO access")
        .docs("Returns the members of all sets",
              "numkeys:int key@0... [WEIGHTS=weight:int...] [AGGREGATE=aggregate(SUM|MIN|MAX)] [WITHSCORES]"),
    command("zunionstore", -4, "write denyoom", Exclusive(super::zunion_store)).key(1, "OW update")
        .counted_keys(2, "RO access").event(Replaced(SortedSet, "zunionstore"))
        .also("makes_waited_keys copies_sources").docs("Stores the members of all sets",
              "destination@0 numkeys:int key@1... [WEIGHTS=weight:int...] [AGGREGATE=aggregate(SUM|MIN|MAX)]"),
]);
