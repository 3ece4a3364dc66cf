//! The arguments of commands on positions and HyperLogLogs, in the notation of `notation`.

use super::SyntaxRow;

#[rustfmt::skip]
pub(super) const SYNTAX: &[SyntaxRow] = &[
    ("geoadd",
     "key@0 [condition(NX|XX)] [change'CH'] longitude_latitude_member(longitude:double \
      latitude:double member)..."),
    ("geodist", "key@0 member1 member2 [unit(M|KM|FT|MI)]"),
    ("geohash", "key@0 member..."),
    ("geopos", "key@0 member..."),
    ("georadius",
     "key@0 longitude:double latitude:double radius:double unit(M|KM|FT|MI) [WITHCOORD] [WITHDIST] \
      [WITHHASH] [count(COUNT=count:int [ANY])] [order(ASC|DESC)] [STORE=key@1] [STOREDIST=key@2]"),
    ("georadius_ro",
     "key@0 longitude:double latitude:double radius:double unit(M|KM|FT|MI) [WITHCOORD] [WITHDIST] \
      [WITHHASH] [count(COUNT=count:int [ANY])] [order(ASC|DESC)]"),
    ("georadiusbymember",
     "key@0 member radius:double unit(M|KM|FT|MI) [WITHCOORD] [WITHDIST] [WITHHASH] \
      [count(COUNT=count:int [ANY])] [order(ASC|DESC)] [STORE=key@1] [STOREDIST=key@2]"),
    ("georadiusbymember_ro",
     "key@0 member radius:double unit(M|KM|FT|MI) [WITHCOORD] [WITHDIST] [WITHHASH] \
      [count(COUNT=count:int [ANY])] [order(ASC|DESC)]"),
    ("geosearch",
     "key@0 from(FROMMEMBER=member|FROMLONLAT=longitude_latitude(longitude:double \
      latitude:double)) by(circle(BYRADIUS=radius:double unit(M|KM|FT|MI))|box(BYBOX=width:double \
      height:double unit(M|KM|FT|MI))) [order(ASC|DESC)] [count(COUNT=count:int [ANY])] \
      [WITHCOORD] [WITHDIST] [WITHHASH]"),
    ("geosearchstore",
     "destination@0 source@1 from(FROMMEMBER=member|FROMLONLAT=longitude_latitude(longitude:double \
      latitude:double)) by(circle(BYRADIUS=radius:double unit(M|KM|FT|MI))|box(BYBOX=width:double \
      height:double unit(M|KM|FT|MI))) [order(ASC|DESC)] [count(COUNT=count:int [ANY])] \
      [STOREDIST]"),
    ("pfadd", "key@0 [element...]"),
    ("pfcount", "key@0..."),
    ("pfdebug", "subcommand key@0"),
    ("pfmerge", "destkey@0 sourcekey@1..."),
];
