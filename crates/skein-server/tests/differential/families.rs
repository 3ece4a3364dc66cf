//! The families of commands that are compared by their sequences, as templates (see
//! `templates.rs`), one line each.
//!
//! The templates leave out intended differences (`docs/commands.md`): unknown cursors, `BYLEX` with
//! different scores, `CLIENT SETINFO`, `ZRANK` with `WITHSCORE`, numbers of
//! connections, versions and settings of the server.

pub const STRINGS: &str = "
    SET <key> <value> NX|XX? GET?
    SET <key> <value>
    SET <key> <integer>
    GET <key>
    GETSET <key> <value>
    GETDEL <key>
    SETNX <key> <value>
    MSET <key>_<value>+
    MSETNX <key>_<value>+
    MGET <key>+
    APPEND <key> <value>
    STRLEN <key>
    INCR <key>
    DECR <key>
    INCRBY <key> <integer>
    DECRBY <key> <integer>
    INCRBYFLOAT <key> <float>
    GETRANGE|SUBSTR <key> <index> <index>
    SETRANGE <key> <offset> <value>
    LCS <key> <key> LEN|IDX? MINMATCHLEN_<integer>? WITHMATCHLEN?
";

pub const BITS: &str = "
    SET <key> <value>
    GET <key>
    SETBIT <key> <bit> <01>
    GETBIT <key> <bit>
    BITCOUNT <key>
    BITCOUNT <key> <index> <index> BIT|BYTE?
    BITPOS <key> <01>
    BITPOS <key> <01> <index> <index>? BIT|BYTE?
    BITOP AND|OR|XOR <key> <key>+
    BITOP NOT <key> <key>
    <bitfield> <key> GET_<field>_<field-bit>+
    BITFIELD <key> SET_<field>_<field-bit>_<integer>|INCRBY_<field>_<field-bit>_<integer>|GET_<field>_<field-bit>+
    BITFIELD <key> OVERFLOW_WRAP|OVERFLOW_SAT|OVERFLOW_FAIL SET_<field>_<field-bit>_<integer>|INCRBY_<field>_<field-bit>_<integer>+
";

/// Without WATCH: on purpose, it sees when PFDEBUG changes the encoding. The golden files have it.
pub const HYPERLOGLOGS: &str = "
    PFADD <key> <member>+
    PFADD <key> <integer>+
    PFADD <key>
    PFCOUNT <key>+
    PFMERGE <key> <key>+
    PFDEBUG ENCODING|DECODE|GETREG|TODENSE|FOO <key>
    SET <key> <hyperloglog>
    SET <key> <value>
    GET|STRLEN|DEL|TYPE <key>
    EXPIRE <key> 1000
    COPY <key> <key> REPLACE?
    MULTI
    EXEC
    DISCARD
";

/// Fewer than seven members: Redis sorts more of them with equal distances in no defined order.
pub const POSITIONS: &str = "
    GEOADD <key> <longitude>_<latitude>_<member>+
    GEOADD <key> NX|XX? CH? <longitude>_<latitude>_<member>+
    GEOPOS|GEOHASH <key> <member>+
    GEODIST <key> <member> <member> <unit>?
    GEOSEARCH <key> FROMMEMBER_<member>|FROMLONLAT_<longitude>_<latitude> BYRADIUS_<radius>_<unit>|BYBOX_<radius>_<radius>_<unit> ASC|DESC? COUNT_<count>? ANY? WITHDIST|WITHHASH|WITHCOORD? WITHDIST|WITHHASH|WITHCOORD?
    GEOSEARCHSTORE <key> <key> FROMMEMBER_<member>|FROMLONLAT_<longitude>_<latitude> BYRADIUS_<radius>_<unit>|BYBOX_<radius>_<radius>_<unit> ASC|DESC? COUNT_<count>? STOREDIST?
    <georadius> <key> <longitude> <latitude> <radius> <unit> ASC|DESC? COUNT_<count>? ANY? WITHDIST|WITHHASH|WITHCOORD?
    <georadiusbymember> <key> <member> <radius> <unit> ASC|DESC? COUNT_<count>? WITHDIST|WITHHASH|WITHCOORD?
    GEORADIUS <key> <longitude> <latitude> <radius> <unit> STORE_<key>|STOREDIST_<key> COUNT_<count>?
    GEORADIUSBYMEMBER <key> <member> <radius> <unit> STORE_<key>|STOREDIST_<key> ASC|DESC?
    ZADD <key> <score>_<member>
    ZRANGE <key> 0 -1 WITHSCORES
    ZREM <key> <member>
    SET <key> <value>
    TYPE|DEL <key>
";

pub const HASHES: &str = "
    HSET|HMSET <key> <field>_<value>+
    HSET <key> <field> <integer>
    HSETNX <key> <field> <value>
    HGET|HEXISTS|HSTRLEN <key> <field>
    HGETALL|HLEN|HKEYS|HVALS <key>
    HMGET|HDEL <key> <field>+
    HINCRBY <key> <field> <integer>
    HINCRBYFLOAT <key> <field> <float>
    HRANDFIELD <key> <count>? WITHVALUES?
    HSCAN <key> 0 MATCH_<pattern>? COUNT_1000
    HSCAN <key> <odd>
";

pub const KEYS: &str = "
    SET <key> <value>
    HSET <key> <field> <value>
    DEL|UNLINK|EXISTS|TOUCH <key>+
    TYPE <key>
    RENAME|RENAMENX <key> <key>
    COPY <key> <key> REPLACE? DB_<database>? REPLACE?
    MOVE <key> <database>
    SELECT <database>
    SWAPDB <database> <database>
    KEYS <pattern>
    SCAN 0 MATCH_<pattern>? COUNT_1000 TYPE_string|TYPE_hash|TYPE_zset|TYPE_set|TYPE_list?
    RANDOMKEY
    DBSIZE
    FLUSHDB|FLUSHALL SYNC|ASYNC?
";

pub const EXPIRY: &str = "
    SET <key> <value> NX|XX? GET? EX_<seconds>|PX_<millis>|EXAT_<unix>|PXAT_<unix-millis>|KEEPTTL?
    SET <key> <integer> EXAT_<unix>
    SETEX <key> <seconds> <value>
    PSETEX <key> <millis> <value>
    GETEX <key> EX_<seconds>|PX_<millis>|EXAT_<unix>|PXAT_<unix-millis>|PERSIST?
    EXPIRE <key> <seconds> NX|XX?
    PEXPIRE <key> <millis> NX|XX?
    EXPIREAT <key> <unix> NX|XX|GT|LT?
    PEXPIREAT <key> <unix-millis> NX|XX|GT|LT? GT|XX?
    TTL|PTTL|EXPIRETIME|PEXPIRETIME|PERSIST <key>
    GET|STRLEN|HGETALL|TYPE <key>
    INCR <key>
    APPEND <key> <value>
    HSET <key> <field> <value>
    DEL <key>
    RENAME <key> <key>
    COPY <key> <key> REPLACE?
    DBSIZE
";

pub const SORTED_SETS: &str = "
    ZADD <key> <score>_<member>+
    ZADD <key> NX|XX? GT|LT? CH? INCR? <score>_<member>+
    ZADD <even-key> 1_<member>+
    SET|ZREM <even-key> <member>
    ZINCRBY <key> <score> <member>
    ZSCORE|ZRANK|ZREVRANK <key> <member>
    ZMSCORE|ZREM <key> <member>+
    ZCARD <key>
    ZRANGE|ZREVRANGE <key> <index> <index> WITHSCORES?
    ZRANGE <key> <score-bound> <score-bound> BYSCORE REV? LIMIT_<index>_<index>? WITHSCORES?
    ZRANGE <even-key> <lex-bound> <lex-bound> BYLEX REV? LIMIT_<index>_<index>?
    ZRANGEBYSCORE|ZREVRANGEBYSCORE <key> <score-bound> <score-bound> WITHSCORES? LIMIT_<index>_<index>?
    ZRANGEBYLEX|ZREVRANGEBYLEX <even-key> <lex-bound> <lex-bound> LIMIT_<index>_<index>?
    ZRANGESTORE <key> <key> <index> <index> REV?
    ZRANGESTORE <key> <key> <score-bound> <score-bound> BYSCORE LIMIT_<index>_<index>?
    ZCOUNT <key> <score-bound> <score-bound>
    ZLEXCOUNT <even-key> <lex-bound> <lex-bound>
    ZPOPMIN|ZPOPMAX <key> <count>?
    ZMPOP 1_<key>|2_<key>_<key>|0_<key> MIN|MAX COUNT_<count>?
    ZREMRANGEBYSCORE <key> <score-bound> <score-bound>
    ZREMRANGEBYLEX <even-key> <lex-bound> <lex-bound>
    ZREMRANGEBYRANK <key> <index> <index>
    ZRANDMEMBER <key> <count>? WITHSCORES?
    ZSCAN <key> 0 MATCH_<pattern>? COUNT_1000
    ZUNION|ZINTER 1_<key>|2_<key>_<key>|3_<key>_<key>_<key> WEIGHTS_<float>_<float>? AGGREGATE_SUM|AGGREGATE_MIN|AGGREGATE_MAX? WITHSCORES?
    ZDIFF 1_<key>|2_<key>_<key>|3_<key>_<key>_<key> WITHSCORES?
    ZUNIONSTORE|ZINTERSTORE <key> 1_<key>|2_<key>_<key> WEIGHTS_<float>_<float>? AGGREGATE_SUM|AGGREGATE_MAX?
    ZDIFFSTORE <key> 1_<key>|2_<key>_<key>
    ZINTERCARD 1_<key>|2_<key>_<key> LIMIT_<count>?
    SET <key> <value>
    TYPE|DEL|EXISTS <key>
    RENAME <key> <key>
    COPY <key> <key> REPLACE?
";

/// Without SPOP: each server would remove another member, also after a SPOP of all members that
/// loses its count. The golden files have it.
pub const SETS: &str = "
    SADD <key> <member>+
    SADD <key> <integer>+
    SREM <key> <member>+
    SISMEMBER <key> <member>
    SMISMEMBER <key> <member>+
    SCARD|SMEMBERS <key>
    SMOVE <key> <key> <member>
    SRANDMEMBER <key>
    SRANDMEMBER <key> <count>
    SUNION|SINTER|SDIFF <key>+
    SUNIONSTORE|SINTERSTORE|SDIFFSTORE <key> <key>+
    SINTERCARD 1_<key>|2_<key>_<key>|0_<key> LIMIT_<count>?
    SSCAN <key> 0 MATCH_<pattern>? COUNT_1000
    ZADD <key> <score>_<member>+
    ZUNION|ZINTER 2_<key>_<key>|3_<key>_<key>_<key> WEIGHTS_<float>_<float>? AGGREGATE_SUM|AGGREGATE_MIN|AGGREGATE_MAX? WITHSCORES?
    ZDIFF 2_<key>_<key> WITHSCORES?
    ZUNIONSTORE|ZINTERSTORE <key> 2_<key>_<key>
    ZINTERCARD 2_<key>_<key>
    SCAN 0 COUNT_1000 TYPE_set
    SET <key> <value>
    TYPE|DEL|EXISTS <key>
    EXPIRE <key> 1000
    RENAME <key> <key>
    COPY <key> <key> REPLACE?
";

/// Blocking commands wait for a moment at most, and only where no other connection could serve
/// them.
pub const LISTS: &str = "
    LPUSH|RPUSH <key> <value>+
    LPUSH|RPUSH <key> <member>+
    LPUSHX|RPUSHX <key> <member>+
    LPOP|RPOP <key>
    LPOP|RPOP <key> <count>
    LLEN <key>
    LINDEX <key> <index>
    LSET <key> <index> <member>
    LRANGE <key> <index> <index>
    LRANGE <key> 0 -1
    LTRIM <key> <index> <index>
    LINSERT <key> BEFORE|AFTER <member> <member>
    LREM <key> <index> <member>
    LPOS <key> <member> RANK_<match>? COUNT_<count>? MAXLEN_<count>?
    LMOVE <key> <key> LEFT|RIGHT LEFT|RIGHT
    RPOPLPUSH <key> <key>
    LMPOP 1_<key>|2_<key>_<key>|0_<key> LEFT|RIGHT COUNT_<count>?
    BLPOP|BRPOP <key>+ 0.001
    BLMOVE <key> <key> LEFT|RIGHT LEFT|RIGHT 0.001
    BRPOPLPUSH <key> <key> 0.001
    BLMPOP 0.001 1_<key>|2_<key>_<key>|0_<key> LEFT|RIGHT COUNT_<count>?
    BZPOPMIN|BZPOPMAX <key>+ 0.001
    BZMPOP 0.001 1_<key>|2_<key>_<key> MIN|MAX COUNT_<count>?
    ZADD <key> <score>_<member>+
    SCAN 0 COUNT_1000 TYPE_list
    SET <key> <value>
    TYPE|DEL|EXISTS <key>
    EXPIRE <key> 1000
    RENAME <key> <key>
    COPY <key> <key> REPLACE?
    SORT <key> LIMIT_<index>_<index>? DESC?
    SORT <key> BY_<key>*? GET_#? GET_<key>*? STORE_<key>?
    MULTI
    EXEC
    DISCARD
";

/// Every sequence uses two connections, so the other connection changes watched keys too.
pub const TRANSACTIONS: &str = "
    MULTI
    EXEC
    MULTI
    EXEC
    DISCARD
    WATCH <key>+
    UNWATCH
    SELECT <database>
    MOVE <key> <database>
    SET <key> <value>
    GET|INCR|DEL|TYPE <key>
    HSET <key> <field> <integer>
    HINCRBY <key> <field> <integer>
    HGETALL <key>
    MSET <key>_<value>+
    RENAME <key> <key>
    NOSUCHCOMMAND <key>
";

pub const DUMP: &str = "
    RESTORE <key> 0 <payload>
    RESTORE <key> <millis> <payload> REPLACE? IDLETIME_<integer>|FREQ_<integer>?
    RESTORE <key> <unix-millis> <payload> ABSTTL REPLACE
    RESTORE-ASKING <key> <millis> <payload> <odd>? REPLACE?
    RESTORE <key> <integer> <value> REPLACE?
    SET <key> <value>
    DEL <key>
    PEXPIRETIME|PTTL <key>
    LRANGE <key> 0 -1
    SMEMBERS <key>
    ZRANGE <key> 0 -1 WITHSCORES
    MULTI
    EXEC
";

/// A few commands of every family, which are mixed into the sequences of each family.
pub const MIXED: &str = "
    SET <key> <value>
    SET <key> <integer>
    HSET <key> <field> <value>
    GET|HGETALL|TYPE|DEL|EXISTS <key>
    PING <value>?
    ECHO <value>
    SELECT <database>
    NOSUCHCOMMAND <value>+
";

/// A script that runs the command of its arguments.
pub const SCRIPTS: &str = "
    <eval> <script> 0 GET|INCR|DEL|TYPE|STRLEN|HGETALL|HVALS <key>
    <eval> <script> 0 SET <key> <value>
    <eval> <script> 0 INCRBYFLOAT <key> <float>
    <eval> <script> 0 MGET|DEL|EXISTS <key>+
    <eval> <script> 0 MSET|HSET <key> <value>+
    <eval> <script> 0 HSET <key> <field>_<value>+
    <eval> <script> 0 ZADD <key> <score>_<member>+
    <eval> <script> 0 ZSCORE <key> <member>
    <eval> <script> 0 ZRANGE <key> <index> <index> WITHSCORES?
    <eval> <script> 0 RENAME|COPY <key> <key>
    <eval> <script> 0 SELECT <database>
    <eval> <script> 0 MOVE <key> <database>
    <eval> <script> 0 <odd>+
    <eval> <script> <count> <key> <value>
    GET <key>
    HGETALL <key>
    MULTI
    EXEC
    DISCARD
";

/// All families above except `MIXED`.
pub const ALL: [&str; 14] = [
    STRINGS,
    BITS,
    HYPERLOGLOGS,
    POSITIONS,
    HASHES,
    KEYS,
    EXPIRY,
    SORTED_SETS,
    SETS,
    LISTS,
    STREAMS,
    DUMP,
    TRANSACTIONS,
    SCRIPTS,
];

pub const STREAMS: &str = "
    XADD <key> NOMKSTREAM? MAXLEN_=_<count>|MINID_<stream-id>|MAXLEN_<count>_LIMIT_5? <new-id> <field>_<value>+
    XADD <key> <new-id> <field> <value>
    XADD <key> <new-id> <field>_<value>+
    XLEN|TYPE|XINFO_GROUPS <key>
    XRANGE|XREVRANGE <key> <stream-bound> <stream-bound> COUNT_<count>?
    XDEL <key> <stream-id>+
    XTRIM <key> MAXLEN|MINID <stream-id>
    XTRIM <key> MAXLEN_=|MAXLEN <count> LIMIT_<count>?
    XSETID <key> <stream-id> ENTRIESADDED_<count>? MAXDELETEDID_<stream-id>?
    XREAD COUNT_<count>? STREAMS_<key>_<stream-id>|STREAMS_<key>_<key>_<stream-id>_<stream-id>|STREAMS_<key>_$
    XGROUP CREATE <key> <group> <stream-id>|$ MKSTREAM? ENTRIESREAD_<count>?
    XGROUP CREATE <key> <group> 0
    XGROUP SETID <key> <group> <stream-id>|$ ENTRIESREAD_<count>?
    XGROUP DESTROY <key> <group>
    XGROUP CREATECONSUMER|DELCONSUMER <key> <group> <consumer>
    XREADGROUP GROUP <group> <consumer> COUNT_<count>? NOACK? STREAMS_<key>_>|STREAMS_<key>_<stream-id>|STREAMS_<key>_<key>_>_>
    XREADGROUP GROUP <group> <consumer> COUNT_1? STREAMS_<key>_>
    XACK <key> <group> <stream-id>+
    XPENDING <key> <group>
    XCLAIM <key> <group> <consumer> 0|100000 <stream-id>+ FORCE? JUSTID? RETRYCOUNT_<count>? LASTID_<stream-id>?
    XAUTOCLAIM <key> <group> <consumer> 0|100000 <stream-bound> COUNT_<count>? JUSTID?
    DEL|EXISTS <key>
    COPY|RENAME <key> <key>
    SET <key> <value>
    GET|LLEN <key>
";
