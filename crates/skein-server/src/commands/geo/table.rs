//! The commands on positions.

use super::query::AreaSyntax::{Coordinates, Member, Options};
use super::query::StoreSyntax::{Always, ByOption};
use super::search_commands::{answer, may_store, run};
use crate::command_table::request_keys::{radius_member_targets, radius_targets};
use crate::command_table::{Command, Group, command, family, range};
use crate::commands::Handler::{Exclusive, ExclusiveIf, Read, Write};
use crate::commands::task::read_or_slices;
use crate::notice::key_events::EventClass::SortedSet;
use crate::notice::key_events::EventRule::{Changed, Replaced};

#[rustfmt::skip]
pub(crate) const COMMANDS: &[Command] = &family(Group::Geo, [
    command("geoadd", -5, "write denyoom", Write(super::add::geo_add)).key(1, "RW update")
        .event(Changed(SortedSet, "zadd")).also("makes_waited_keys").docs("Sets the positions of members",
              "key@0 [condition(NX|XX)] [change'CH'] longitude_latitude_member(longitude:double \
               latitude:double member)..."),
    command("geodist", -4, "readonly", Read(super::members::geo_dist)).key(1, "RO access")
        .docs("Returns the distance between two members", "key@0 member1 member2 [unit(M|KM|FT|MI)]"),
    command("geohash", -2, "readonly", Read(super::members::geo_hash)).key(1, "RO access")
        .docs("Returns the geohashes of members", "key@0 member..."),
    command("geopos", -2, "readonly", Read(super::members::geo_pos)).key(1, "RO access")
        .docs("Returns the positions of members", "key@0 member..."),
    command("georadius", -6, "write denyoom",
            ExclusiveIf(may_store, |context, args, reply| run(context, args, reply, Coordinates, ByOption)))
        .key(1, "RO access").keys_after("STORE", 6, range(0, 1, 0), "OW update")
        .keys_after("STOREDIST", 6, range(0, 1, 0), "OW update").finds_keys(radius_targets)
        .event(Replaced(SortedSet, "georadiusstore")).also("makes_waited_keys")
        .docs("Returns or stores the members around a position",
              "key@0 longitude:double latitude:double radius:double unit(M|KM|FT|MI) [WITHCOORD] [WITHDIST] \
               [WITHHASH] [count(COUNT=count:int [ANY])] [order(ASC|DESC)] [STORE=key@1] [STOREDIST=key@2]"),
    command("georadius_ro", -6, "readonly",
            read_or_slices!(|row, args, reply, long| answer(row, args, reply, Coordinates, long)))
        .key(1, "RO access").docs("Returns the members around a position",
              "key@0 longitude:double latitude:double radius:double unit(M|KM|FT|MI) [WITHCOORD] [WITHDIST] \
               [WITHHASH] [count(COUNT=count:int [ANY])] [order(ASC|DESC)]"),
    command("georadiusbymember", -5, "write denyoom",
            ExclusiveIf(may_store, |context, args, reply| run(context, args, reply, Member, ByOption)))
        .key(1, "RO access").keys_after("STORE", 5, range(0, 1, 0), "OW update")
        .keys_after("STOREDIST", 5, range(0, 1, 0), "OW update").finds_keys(radius_member_targets)
        .event(Replaced(SortedSet, "georadiusstore")).also("makes_waited_keys")
        .docs("Returns or stores the members around a member",
              "key@0 member radius:double unit(M|KM|FT|MI) [WITHCOORD] [WITHDIST] [WITHHASH] \
               [count(COUNT=count:int [ANY])] [order(ASC|DESC)] [STORE=key@1] [STOREDIST=key@2]"),
    command("georadiusbymember_ro", -5, "readonly",
            read_or_slices!(|row, args, reply, long| answer(row, args, reply, Member, long)))
        .key(1, "RO access").docs("Returns the members around a member",
              "key@0 member radius:double unit(M|KM|FT|MI) [WITHCOORD] [WITHDIST] [WITHHASH] \
               [count(COUNT=count:int [ANY])] [order(ASC|DESC)]"),
    command("geosearch", -7, "readonly",
            read_or_slices!(|row, args, reply, long| answer(row, args, reply, Options, long)))
        .key(1, "RO access").docs("Returns the members in a circle or a box",
              "key@0 from(FROMMEMBER=member|FROMLONLAT=longitude_latitude(longitude:double latitude:double)) \
               by(circle(BYRADIUS=radius:double unit(M|KM|FT|MI))|box(BYBOX=width:double height:double \
               unit(M|KM|FT|MI))) [order(ASC|DESC)] [count(COUNT=count:int [ANY])] [WITHCOORD] [WITHDIST] \
               [WITHHASH]"),
    command("geosearchstore", -8, "write denyoom",
            Exclusive(|context, args, reply| run(context, args, reply, Options, Always)))
        .key(1, "OW update").key(2, "RO access")
        .event(Replaced(SortedSet, "geosearchstore")).also("makes_waited_keys")
        .docs("Stores the members in a circle or a box",
              "destination@0 source@1 from(FROMMEMBER=member|FROMLONLAT=longitude_latitude(longitude:double \
               latitude:double)) by(circle(BYRADIUS=radius:double unit(M|KM|FT|MI))|box(BYBOX=width:double \
               height:double unit(M|KM|FT|MI))) [order(ASC|DESC)] [count(COUNT=count:int [ANY])] [STOREDIST]"),
]);
