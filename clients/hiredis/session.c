/* A session of common calls through hiredis, against the server at HOST PORT.
 *
 * Each part of the session is a function in the table at the end. A third argument names parts to
 * skip, separated by commas. It uses RESP2, because Debian's hiredis lacks RESP3. */

#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static redisContext *c;
static const char *host;
static int port;

static void fail(int line, const char *what, const char *got) {
    fprintf(stderr, "line %d: %s: got %s\n", line, what, got);
    exit(1);
}

/* Returns a reply in one line: text unchanged, (integer), nil, [elements], !error. */
static size_t show(const redisReply *r, char *out, size_t room) {
    size_t used = 0;
    switch (r->type) {
    case REDIS_REPLY_NIL: used = snprintf(out, room, "nil"); break;
    case REDIS_REPLY_INTEGER: used = snprintf(out, room, "(%lld)", r->integer); break;
    case REDIS_REPLY_ERROR: used = snprintf(out, room, "!%s", r->str); break;
    case REDIS_REPLY_ARRAY:
        used = snprintf(out, room, "[");
        for (size_t i = 0; i < r->elements && used + 2 < room; i++) {
            if (i > 0) out[used++] = ' ';
            used += show(r->element[i], out + used, room - used);
        }
        if (used + 1 < room) used += snprintf(out + used, room - used, "]");
        break;
    default: used = snprintf(out, room, "%s", r->str);
    }
    return used < room ? used : room - 1;
}

static redisReply *must(int line, void *reply) {
    if (reply == NULL) fail(line, "no reply", c->errstr);
    return reply;
}

static void expect_reply(int line, void *reply, const char *expected) {
    static char text[1 << 16];
    redisReply *r = must(line, reply);
    show(r, text, sizeof text);
    freeReplyObject(r);
    if (strcmp(text, expected) != 0) fail(line, expected, text);
}

#define CALL(...) must(__LINE__, redisCommand(c, __VA_ARGS__))
/* The expected reply, then the command. */
#define IS(expected, ...) expect_reply(__LINE__, redisCommand(c, __VA_ARGS__), expected)
#define HOLDS(what, got) ((what) ? (void)0 : fail(__LINE__, #what, got))

static void not_null(int line, const char *expected, const char *found) {
    if (found == NULL) fail(line, expected, "something else");
}

static long long integer(int line, void *reply) {
    redisReply *r = must(line, reply);
    if (r->type != REDIS_REPLY_INTEGER) fail(line, "an integer", r->str ? r->str : "none");
    long long value = r->integer;
    freeReplyObject(r);
    return value;
}
#define INTEGER(...) integer(__LINE__, redisCommand(c, __VA_ARGS__))

static void server(void) {
    IS("PONG", "PING");
    IS("hello", "ECHO %s", "hello");
    IS("OK", "CLIENT SETNAME session");
    IS("session", "CLIENT GETNAME");
    char id[40];
    snprintf(id, sizeof id, "id=%lld ", INTEGER("CLIENT ID"));
    redisReply *r = CALL("CLIENT LIST");
    not_null(__LINE__, id, strstr(r->str, id));
    freeReplyObject(r);
    r = CALL("INFO server");
    not_null(__LINE__, "redis_version:7.", strstr(r->str, "redis_version:7."));
    freeReplyObject(r);
    HOLDS(INTEGER("COMMAND COUNT") > 80, "fewer");
    IS("[a b]", "COMMAND GETKEYS MSET a 1 b 2");
    IS("(0)", "DBSIZE");
}

static void strings(void) {
    IS("OK", "SET s v");
    IS("v", "GET s");
    IS("nil", "GET none");
    IS("nil", "SET s w NX");
    IS("v", "SET s w XX GET");
    IS("w", "GETSET s x");
    IS("(3)", "APPEND s yz");
    IS("yz", "GETRANGE s 1 -1");
    IS("(3)", "SETRANGE s 1 __");
    IS("(3)", "STRLEN s");
    IS("x__", "GETDEL s");
    IS("OK", "MSET a 1 b 2");
    IS("(0)", "MSETNX b 1 c 2");
    IS("[1 nil 2]", "MGET a none b");
    IS("(42)", "INCRBY a 41");
    IS("(41)", "DECR a");
    IS("41.5", "INCRBYFLOAT a 0.5");
}

static void bits(void) {
    IS("(0)", "SETBIT bits 7 1");
    IS("(1)", "GETBIT bits 7");
    IS("(0)", "SETBIT bits 100 1");
    IS("(2)", "BITCOUNT bits");
    IS("(100)", "BITPOS bits 1 1");
}

/* Runs a SCAN-like command to its end, `prefix CURSOR suffix`. Returns the number of elements. */
static size_t scan(const char *prefix, const char *suffix) {
    char cursor[32] = "0", words[256];
    size_t found = 0;
    do {
        snprintf(words, sizeof words, "%s %s %s", prefix, cursor, suffix);
        redisReply *r = CALL(words);
        HOLDS(r->type == REDIS_REPLY_ARRAY && r->elements == 2, r->str);
        found += r->element[1]->elements;
        snprintf(cursor, sizeof cursor, "%s", r->element[0]->str);
        freeReplyObject(r);
    } while (strcmp(cursor, "0") != 0);
    return found;
}

static void hashes(void) {
    IS("(1)", "HSET h a 1");
    IS("(1)", "HSET h a 2 b 3");
    IS("2", "HGET h a");
    IS("[2 nil]", "HMGET h a none");
    IS("[a 2 b 3]", "HGETALL h");
    IS("(7)", "HINCRBY h a 5");
    IS("7.5", "HINCRBYFLOAT h a 0.5");
    IS("(0)", "HSETNX h a 1");
    IS("(3)", "HSTRLEN h a");
    IS("[a b]", "HKEYS h");
    IS("[7.5 3]", "HVALS h");
    IS("(2)", "HDEL h a b none");
    IS("(0)", "EXISTS h");
    for (int i = 0; i < 1000; i++) IS("(1)", "HSET large f%d %d", i, i);
    IS("(1000)", "HLEN large");
    IS("777", "HGET large f777");
    HOLDS(scan("HSCAN large", "COUNT 50") == 2000, "another count");
}

static void keys(void) {
    IS("OK", "MSET a 1 b 2 user:1 3");
    IS("(2)", "EXISTS a a none");
    IS("string", "TYPE a");
    IS("[user:1]", "KEYS user:*");
    IS("OK", "RENAME a c");
    IS("(0)", "RENAMENX c b");
    IS("!ERR no such key", "RENAME none x");
    IS("(1)", "COPY c d");
    IS("(2)", "TOUCH c d none");
    IS("int", "OBJECT ENCODING c");
    IS("(2)", "UNLINK c d");
    IS("(1)", "DEL b none");
    IS("user:1", "RANDOMKEY");
}

static void scans(void) {
    for (int i = 0; i < 500; i++) IS("OK", "SET k:%d %d", i, i);
    HOLDS(scan("SCAN", "MATCH k:* COUNT 70") == 500, "another count");
    HOLDS(scan("SCAN", "MATCH k:1? COUNT 1000") == 10, "another count");
    HOLDS(scan("SCAN", "TYPE hash") == 0, "a hash");
}

static void expiry(void) {
    IS("OK", "SET e 1 EX 1000");
    HOLDS(INTEGER("TTL e") > 990, "less");
    IS("OK", "SET e 2 KEEPTTL");
    HOLDS(INTEGER("PTTL e") > 990000, "less");
    IS("(1)", "PERSIST e");
    IS("(-1)", "TTL e");
    IS("(0)", "EXPIRE e 100 XX");
    IS("(1)", "EXPIREAT e 4000000000");
    IS("(4000000000000)", "PEXPIRETIME e");
    IS("2", "GETEX e PERSIST");
    IS("(1)", "EXPIRE e -1");
    IS("(-2)", "TTL e");
    IS("OK", "SET short v PX 20");
    time_t deadline = time(NULL) + 30;
    while (INTEGER("EXISTS short") == 1) {
        HOLDS(time(NULL) < deadline, "it did not go in 30 s");
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    IS("nil", "GET short");
}

static void zsets(void) {
    IS("(3)", "ZADD z 1 a 2 b 3.5 c");
    IS("(1)", "ZADD z XX CH 1.5 a 9 none");
    IS("1.75", "ZINCRBY z 0.25 a");
    IS("3.5", "ZSCORE z c");
    IS("nil", "ZSCORE z none");
    IS("[3.5 nil]", "ZMSCORE z c none");
    IS("[a 1.75 b 2]", "ZRANGE z 0 1 WITHSCORES");
    IS("[b]", "ZRANGE z +inf (1.75 BYSCORE REV LIMIT 1 5");
    IS("(2)", "ZRANK z c");
    IS("(0)", "ZREVRANK z c");
    IS("(1)", "ZCOUNT z -inf (2");
    IS("[a 1.75]", "ZPOPMIN z");
    IS("[z [[c 3.5] [b 2]]]", "ZMPOP 2 none z MAX COUNT 5");
    IS("(0)", "EXISTS z");
    IS("(2)", "ZADD x 1 a 2 b");
    IS("(2)", "ZADD y 10 b 20 c");
    IS("[a 2 b 14 c 20]", "ZUNION 2 x y WEIGHTS 2 1 WITHSCORES");
    IS("(1)", "ZINTERSTORE both 2 x y AGGREGATE MAX");
    IS("10", "ZSCORE both b");
    IS("[a]", "ZDIFF 2 x y");
    IS("(3)", "ZADD lex 0 a 0 b 0 c");
    IS("[b c]", "ZRANGEBYLEX lex (a +");
    IS("(2)", "ZREMRANGEBYLEX lex - [b");
    for (int i = 0; i < 1000; i++) IS("(1)", "ZADD large %d m%d", i, i);
    IS("(777)", "ZRANK large m777");
    HOLDS(scan("ZSCAN large", "COUNT 50") == 2000, "another count");
}

/* Members are numbers of one digit, which Redis returns in order, as our server does. */
static void sets(void) {
    IS("(3)", "SADD s 3 1 2 1");
    IS("(3)", "SCARD s");
    IS("(1)", "SISMEMBER s 1");
    IS("[(1) (0)]", "SMISMEMBER s 1 9");
    IS("[1 2 3]", "SMEMBERS s");
    IS("[]", "SMEMBERS none");
    IS("(1)", "SREM s 1 9");
    IS("(1)", "SMOVE s t 2");
    IS("(0)", "SMOVE s t 2");
    IS("[2]", "SMEMBERS t");
    IS("[3 3]", "SRANDMEMBER s -2");
    IS("3", "SPOP s");
    IS("nil", "SPOP s");
    IS("(0)", "EXISTS s");
    IS("(3)", "SADD x 1 2 3");
    IS("(3)", "SADD y 2 3 4");
    IS("[1 2 3 4]", "SUNION x y");
    IS("[2 3]", "SINTER x y");
    IS("[1]", "SDIFF x y");
    IS("(1)", "SINTERCARD 2 x y LIMIT 1");
    IS("(4)", "SUNIONSTORE u x y");
    IS("(2)", "SINTERSTORE u x y");
    IS("(1)", "SDIFFSTORE u x y");
    IS("[1]", "SPOP u 9");
    for (int i = 0; i < 1000; i++) IS("(1)", "SADD large m%d", i);
    HOLDS(scan("SSCAN large", "COUNT 50") == 1000, "another count");
    IS("set", "TYPE large");
}

static void transactions(void) {
    IS("OK", "MULTI");
    IS("QUEUED", "SET a 1");
    IS("QUEUED", "INCR a");
    IS("QUEUED", "HGET a f");
    IS("[OK (2) !WRONGTYPE Operation against a key holding the wrong kind of value]", "EXEC");
    IS("OK", "WATCH a");
    redisContext *first = c;
    c = redisConnect(host, port);
    IS("OK", "SET a meanwhile");
    redisFree(c);
    c = first;
    IS("OK", "MULTI");
    IS("QUEUED", "SET a lost");
    IS("nil", "EXEC");
    IS("meanwhile", "GET a");
    IS("OK", "MULTI");
    IS("!ERR wrong number of arguments for 'set' command", "SET a");
    IS("!EXECABORT Transaction discarded because of previous errors.", "EXEC");
    IS("OK", "MULTI");
    IS("OK", "DISCARD");
    IS("!ERR EXEC without MULTI", "EXEC");
}

static void *next_reply(void) {
    void *reply = NULL;
    return redisGetReply(c, &reply) == REDIS_OK ? reply : NULL;
}

static void pipelines(void) {
    for (int i = 0; i < 1000; i++) {
        redisAppendCommand(c, "SET p:%d %d", i, i);
        redisAppendCommand(c, "GET p:%d", i);
        if (i % 100 == 0) redisAppendCommand(c, "HGET p:%d f", i);
    }
    for (int i = 0; i < 1000; i++) {
        char expected[20];
        snprintf(expected, sizeof expected, "%d", i);
        expect_reply(__LINE__, next_reply(), "OK");
        expect_reply(__LINE__, next_reply(), expected);
        if (i % 100 == 0)
            expect_reply(__LINE__, next_reply(), "!WRONGTYPE Operation against a key holding the wrong kind of value");
    }
}

static void errors(void) {
    IS("OK", "SET a text");
    IS("!WRONGTYPE Operation against a key holding the wrong kind of value", "HGET a f");
    IS("!ERR value is not an integer or out of range", "INCR a");
    IS("!ERR wrong number of arguments for 'get' command", "GET");
    IS("!ERR unknown command 'NOSUCH', with args beginning with: 'a' ", "NOSUCH a");
    IS("!ERR syntax error", "SET a b NX XX");
    IS("text", "GET a");
}

static void binary(void) {
    static char all[256], value[256 * 4096];
    for (int i = 0; i < 256; i++) all[i] = (char)i;
    for (int i = 0; i < 4096; i++) memcpy(value + i * 256, all, 256);
    IS("OK", "SET %b %b", all, sizeof all, value, sizeof value);
    redisReply *r = CALL("GET %b", all, sizeof all);
    HOLDS(r->len == sizeof value && memcmp(r->str, value, sizeof value) == 0, "another value");
    freeReplyObject(r);
    IS("OK", "SET %b %b", "", (size_t)0, "", (size_t)0);
    IS("", "GET %b", "", (size_t)0);
    IS("(1)", "HSET %b %b %b", "h\r\n", (size_t)3, all, sizeof all, "\r\n$5", (size_t)4);
    IS("\r\n$5", "HGET %b %b", "h\r\n", (size_t)3, all, sizeof all);
}

static const struct {
    const char *name;
    void (*run)(void);
} parts[] = {
    {"server", server}, {"strings", strings}, {"bits", bits}, {"hashes", hashes}, {"keys", keys}, {"scans", scans},
    {"expiry", expiry}, {"zsets", zsets}, {"sets", sets}, {"transactions", transactions},
    {"pipelines", pipelines}, {"errors", errors}, {"binary", binary},
};

/* Returns whether `list`, which is separated by commas, names a part. */
static int named(const char *name, const char *list) {
    size_t len = strlen(name);
    for (const char *at = list; at != NULL; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strncmp(at, name, len) == 0 && (at[len] == ',' || at[len] == 0)) return 1;
    return 0;
}

int main(int argc, char **argv) {
    if (argc < 3) fail(__LINE__, "usage: session HOST PORT [LEFT-OUT]", "less");
    host = argv[1];
    port = atoi(argv[2]);
    int ran = 0;
    c = redisConnect(host, port);
    if (c == NULL || c->err) fail(__LINE__, "a connection", c ? c->errstr : "no memory");
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (named(parts[i].name, argc > 3 ? argv[3] : "")) continue;
        IS("OK", "FLUSHALL");
        parts[i].run();
        ran++;
    }
    redisFree(c);
    printf("hiredis %d.%d.%d: %d parts in RESP2\n", HIREDIS_MAJOR, HIREDIS_MINOR, HIREDIS_PATCH, ran);
    return 0;
}
