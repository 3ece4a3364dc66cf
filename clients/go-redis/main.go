// A session of common calls through go-redis, against the server at HOST PORT.
//
// Each part of the session is a function in the table below. A third argument names parts to skip,
// separated by commas.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

var ctx = context.Background()

type client = *redis.Client

// try returns the value of a call that must not fail.
func try[T any](value T, err error) T {
	if err != nil {
		panic(fmt.Sprintf("%v", err))
	}
	return value
}

func equal[T any](got T, expected T) {
	if !reflect.DeepEqual(got, expected) {
		panic(fmt.Sprintf("got %#v, expected %#v", got, expected))
	}
}

func holds(what bool, why string) {
	if !what {
		panic(why)
	}
}

func fails(err error, text string) {
	if err == nil || !strings.Contains(err.Error(), text) {
		panic(fmt.Sprintf("error %v, expected %q in it", err, text))
	}
}

func sorted(words []string) []string {
	sort.Strings(words)
	return words
}

// until waits for a condition. The bound only makes a failing test end.
func until(done func() bool) {
	deadline := time.Now().Add(30 * time.Second)
	for !done() {
		holds(time.Now().Before(deadline), "it did not happen in 30 s")
		time.Sleep(10 * time.Millisecond)
	}
}

func server(r client) {
	equal(try(r.Ping(ctx).Result()), "PONG")
	equal(try(r.Echo(ctx, "hello").Result()), "hello")
	connection := r.Conn()
	defer connection.Close()
	holds(try(connection.ClientSetName(ctx, "session").Result()), "no name")
	equal(try(connection.ClientGetName(ctx).Result()), "session")
	id := try(connection.ClientID(ctx).Result())
	holds(strings.Contains(try(r.ClientList(ctx).Result()), fmt.Sprintf("id=%d ", id)), "the connection is not listed")
	holds(strings.Contains(try(r.Info(ctx, "server").Result()), "redis_version:7."), "another version")
	equal(try(r.Command(ctx).Result())["get"].Arity, 2)
	equal(try(r.CommandGetKeys(ctx, "mset", "a", "1", "b", "2").Result()), []string{"a", "b"})
	_, found := try(r.ConfigGet(ctx, "maxmemory-polic*").Result())["maxmemory-policy"]
	holds(found, "no maxmemory-policy")
	holds(try(r.Time(ctx).Result()).Year() > 2020, "no time")
	equal(try(r.DBSize(ctx).Result()), 0)
}

func values(r client) {
	equal(try(r.Set(ctx, "s", "v", 0).Result()), "OK")
	equal(try(r.Get(ctx, "s").Result()), "v")
	equal[error](r.Get(ctx, "none").Err(), redis.Nil)
	equal(try(r.SetNX(ctx, "s", "w", 0).Result()), false)
	equal(try(r.SetXX(ctx, "s", "w", 0).Result()), true)
	equal(try(r.GetSet(ctx, "s", "x").Result()), "w")
	equal(try(r.Append(ctx, "s", "yz").Result()), 3)
	equal(try(r.GetRange(ctx, "s", 1, -1).Result()), "yz")
	equal(try(r.SetRange(ctx, "s", 1, "__").Result()), 3)
	equal(try(r.StrLen(ctx, "s").Result()), 3)
	equal(try(r.GetDel(ctx, "s").Result()), "x__")
	equal(try(r.MSet(ctx, "a", 1, "b", 2).Result()), "OK")
	equal(try(r.MSetNX(ctx, "b", 1, "c", 2).Result()), false)
	equal(try(r.MGet(ctx, "a", "none").Result()), []any{"1", nil})
	equal(try(r.Incr(ctx, "a").Result()), 2)
	equal(try(r.DecrBy(ctx, "a", 10).Result()), -8)
	equal(try(r.IncrByFloat(ctx, "a", 0.5).Result()), -7.5)
}

func bits(r client) {
	equal(try(r.SetBit(ctx, "bits", 7, 1).Result()), 0)
	equal(try(r.GetBit(ctx, "bits", 7).Result()), 1)
	equal(try(r.SetBit(ctx, "bits", 100, 1).Result()), 0)
	equal(try(r.BitCount(ctx, "bits", nil).Result()), 2)
	equal(try(r.BitPos(ctx, "bits", 1, 1).Result()), 100)
}

func hashes(r client) {
	equal(try(r.HSet(ctx, "h", "a", 1, "b", 2).Result()), 2)
	equal(try(r.HGet(ctx, "h", "a").Result()), "1")
	equal[error](r.HGet(ctx, "h", "none").Err(), redis.Nil)
	equal(try(r.HGetAll(ctx, "h").Result()), map[string]string{"a": "1", "b": "2"})
	equal(try(r.HMGet(ctx, "h", "a", "none").Result()), []any{"1", nil})
	equal(try(r.HIncrBy(ctx, "h", "a", 4).Result()), 5)
	equal(try(r.HIncrByFloat(ctx, "h", "a", 0.25).Result()), 5.25)
	equal(try(r.HSetNX(ctx, "h", "a", 0).Result()), false)
	equal(sorted(try(r.HKeys(ctx, "h").Result())), []string{"a", "b"})
	equal(sorted(try(r.HVals(ctx, "h").Result())), []string{"2", "5.25"})
	equal(len(try(r.HRandFieldWithValues(ctx, "h", 5).Result())), 2)
	var scanned struct {
		A float64 `redis:"a"`
		B int     `redis:"b"`
	}
	equal(r.HGetAll(ctx, "h").Scan(&scanned), error(nil))
	equal(scanned.A, 5.25)
	equal(try(r.HDel(ctx, "h", "a", "none").Result()), 1)
	equal(try(r.HLen(ctx, "h").Result()), 1)
	large := map[string]string{}
	for i := range 1000 {
		large[fmt.Sprint("f", i)] = strconv.Itoa(i)
	}
	equal(try(r.HSet(ctx, "large", large).Result()), 1000)
	equal(try(r.HGetAll(ctx, "large").Result()), large)
	fields := 0
	for scan := r.HScan(ctx, "large", 0, "f9*", 50).Iterator(); scan.Next(ctx); fields++ {
	}
	equal(fields, 2*111)
}

func keys(r client) {
	try(r.MSet(ctx, "a", 1, "b", 2, "user:1", 3, "user:2", 4).Result())
	equal(try(r.Exists(ctx, "a", "a", "none").Result()), 2)
	equal(try(r.Type(ctx, "a").Result()), "string")
	equal(sorted(try(r.Keys(ctx, "user:*").Result())), []string{"user:1", "user:2"})
	equal(try(r.Rename(ctx, "a", "c").Result()), "OK")
	equal(try(r.RenameNX(ctx, "c", "b").Result()), false)
	fails(r.Rename(ctx, "none", "x").Err(), "ERR no such key")
	equal(try(r.Copy(ctx, "c", "d", 0, false).Result()), 1)
	equal(try(r.Touch(ctx, "c", "d", "none").Result()), 2)
	equal(try(r.ObjectEncoding(ctx, "c").Result()), "int")
	equal(try(r.Unlink(ctx, "c", "d").Result()), 2)
	holds(strings.HasPrefix(try(r.RandomKey(ctx).Result())+"user:", "user:") || try(r.Exists(ctx, "b").Result()) == 1, "no key")
	equal(try(r.Del(ctx, "b", "none").Result()), 1)
	equal(try(r.DBSize(ctx).Result()), 2)
}

func scans(r client) {
	for i := range 2000 {
		try(r.Set(ctx, fmt.Sprint("k:", i), i, 0).Result())
	}
	seen := map[string]bool{}
	for scan := r.Scan(ctx, 0, "k:*", 100).Iterator(); scan.Next(ctx); {
		seen[scan.Val()] = true
	}
	equal(len(seen), 2000)
	holds(!r.ScanType(ctx, 0, "", 5000, "hash").Iterator().Next(ctx), "a hash")
}

func expiry(r client) {
	try(r.Set(ctx, "e", 1, 1000*time.Second).Result())
	holds(try(r.TTL(ctx, "e").Result()) > 990*time.Second, "no expiry")
	try(r.Set(ctx, "e", 2, redis.KeepTTL).Result())
	holds(try(r.PTTL(ctx, "e").Result()) > 990*time.Second, "the expiry went")
	equal(try(r.Persist(ctx, "e").Result()), true)
	equal(try(r.TTL(ctx, "e").Result()), -1)
	equal(try(r.ExpireXX(ctx, "e", time.Hour).Result()), false)
	equal(try(r.ExpireAt(ctx, "e", time.Unix(4_000_000_000, 0)).Result()), true)
	equal(try(r.ExpireTime(ctx, "e").Result()), 4_000_000_000*time.Second)
	equal(try(r.GetEx(ctx, "e", 0).Result()), "2")
	equal(try(r.TTL(ctx, "e").Result()), -1)
	equal(try(r.SetEx(ctx, "short", "v", time.Hour).Result()), "OK")
	equal(try(r.PExpire(ctx, "short", 20*time.Millisecond).Result()), true)
	until(func() bool { return r.Get(ctx, "short").Err() == redis.Nil })
	equal(try(r.TTL(ctx, "short").Result()), -2)
}

func zsets(r client) {
	member := func(score float64, name string) redis.Z { return redis.Z{Score: score, Member: name} }
	equal(try(r.ZAdd(ctx, "z", member(1, "a"), member(2, "b"), member(3.5, "c")).Result()), 3)
	equal(try(r.ZAddArgs(ctx, "z", redis.ZAddArgs{XX: true, Ch: true, Members: []redis.Z{member(1.5, "a")}}).Result()), 1)
	equal(try(r.ZIncrBy(ctx, "z", 0.25, "a").Result()), 1.75)
	equal(try(r.ZScore(ctx, "z", "c").Result()), 3.5)
	equal[error](r.ZScore(ctx, "z", "none").Err(), redis.Nil)
	equal(try(r.ZMScore(ctx, "z", "c", "none").Result()), []float64{3.5, 0})
	equal(try(r.ZRangeWithScores(ctx, "z", 0, 1).Result()), []redis.Z{member(1.75, "a"), member(2, "b")})
	equal(try(r.ZRangeArgs(ctx, redis.ZRangeArgs{Key: "z", Start: "(3.5", Stop: "-inf", ByScore: true, Rev: true, Count: 1}).Result()), []string{"b"})
	equal(try(r.ZRevRangeByScore(ctx, "z", &redis.ZRangeBy{Min: "2", Max: "+inf"}).Result()), []string{"c", "b"})
	equal(try(r.ZRank(ctx, "z", "c").Result()), 2)
	equal(try(r.ZRevRank(ctx, "z", "c").Result()), 0)
	equal(try(r.ZCount(ctx, "z", "2", "+inf").Result()), 2)
	equal(try(r.ZPopMin(ctx, "z").Result()), []redis.Z{member(1.75, "a")})
	name, popped, err := r.ZMPop(ctx, "max", 5, "none", "z").Result()
	equal(err, error(nil))
	equal(name, "z")
	equal(popped, []redis.Z{member(3.5, "c"), member(2, "b")})
	equal(try(r.Exists(ctx, "z").Result()), 0)
	try(r.ZAdd(ctx, "x", member(1, "a"), member(2, "b")).Result())
	try(r.ZAdd(ctx, "y", member(10, "b"), member(20, "c")).Result())
	equal(try(r.ZUnionWithScores(ctx, redis.ZStore{Keys: []string{"x", "y"}, Weights: []float64{2, 1}}).Result()),
		[]redis.Z{member(2, "a"), member(14, "b"), member(20, "c")})
	equal(try(r.ZInterStore(ctx, "both", &redis.ZStore{Keys: []string{"x", "y"}, Aggregate: "MAX"}).Result()), 1)
	equal(try(r.ZScore(ctx, "both", "b").Result()), 10)
	equal(try(r.ZDiff(ctx, "x", "y").Result()), []string{"a"})
	try(r.ZAdd(ctx, "lex", member(0, "a"), member(0, "b"), member(0, "c")).Result())
	equal(try(r.ZRangeByLex(ctx, "lex", &redis.ZRangeBy{Min: "(a", Max: "+"}).Result()), []string{"b", "c"})
	equal(try(r.ZRemRangeByLex(ctx, "lex", "-", "[b").Result()), 2)
	large := make([]redis.Z, 3000)
	for i := range large {
		large[i] = member(float64(i), fmt.Sprint("m", i))
	}
	equal(try(r.ZAdd(ctx, "large", large...).Result()), 3000)
	equal(try(r.ZRank(ctx, "large", "m1234").Result()), 1234)
	scanned := 0
	for scan := r.ZScan(ctx, "large", 0, "*", 100).Iterator(); scan.Next(ctx); scanned++ {
	}
	equal(scanned, 6000)
}

func sets(r client) {
	equal(try(r.SAdd(ctx, "s", "a", "b", "c", "a").Result()), 3)
	equal(try(r.SCard(ctx, "s").Result()), 3)
	equal(try(r.SIsMember(ctx, "s", "a").Result()), true)
	equal(try(r.SMIsMember(ctx, "s", "a", "none").Result()), []bool{true, false})
	equal(sorted(try(r.SMembers(ctx, "s").Result())), []string{"a", "b", "c"})
	equal(len(try(r.SMembersMap(ctx, "none").Result())), 0)
	equal(try(r.SRem(ctx, "s", "a", "none").Result()), 1)
	equal(try(r.SMove(ctx, "s", "t", "b").Result()), true)
	equal(try(r.SMove(ctx, "s", "t", "b").Result()), false)
	equal(try(r.SRandMemberN(ctx, "s", -3).Result()), []string{"c", "c", "c"})
	equal(try(r.SPop(ctx, "s").Result()), "c")
	equal[error](r.SPop(ctx, "s").Err(), redis.Nil)
	equal(try(r.Exists(ctx, "s").Result()), 0)
	try(r.SAdd(ctx, "x", "a", "b", "c").Result())
	try(r.SAdd(ctx, "y", "b", "c", "d").Result())
	equal(sorted(try(r.SUnion(ctx, "x", "y").Result())), []string{"a", "b", "c", "d"})
	equal(sorted(try(r.SInter(ctx, "x", "y").Result())), []string{"b", "c"})
	equal(try(r.SDiff(ctx, "x", "y").Result()), []string{"a"})
	equal(try(r.SInterCard(ctx, 1, "x", "y").Result()), 1)
	equal(try(r.SUnionStore(ctx, "u", "x", "y").Result()), 4)
	equal(try(r.SInterStore(ctx, "u", "x", "y").Result()), 2)
	equal(try(r.SDiffStore(ctx, "u", "x", "y").Result()), 1)
	equal(sorted(try(r.SPopN(ctx, "x", 9).Result())), []string{"a", "b", "c"})
	large := make([]any, 3000)
	for i := range large {
		large[i] = fmt.Sprint("m", i)
	}
	equal(try(r.SAdd(ctx, "large", large...).Result()), 3000)
	scanned := map[string]bool{}
	for scan := r.SScan(ctx, "large", 0, "*", 100).Iterator(); scan.Next(ctx); {
		scanned[scan.Val()] = true
	}
	equal(len(scanned), 3000)
	equal(try(r.Type(ctx, "large").Result()), "set")
}

func transactions(r client) {
	got := try(r.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.Set(ctx, "a", 1, 0)
		p.Incr(ctx, "a")
		p.Get(ctx, "a")
		return nil
	}))
	equal(got[1].(*redis.IntCmd).Val(), 2)
	equal(got[2].(*redis.StringCmd).Val(), "2")
	add := func(meanwhile func()) error {
		return r.Watch(ctx, func(tx *redis.Tx) error {
			value := try(tx.Get(ctx, "a").Int())
			meanwhile()
			_, err := tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
				p.Set(ctx, "a", value+40, 0)
				return nil
			})
			return err
		}, "a")
	}
	equal(add(func() {}), error(nil))
	equal(try(r.Get(ctx, "a").Result()), "42")
	equal[error](add(func() { try(r.Set(ctx, "a", 7, 0).Result()) }), redis.TxFailedErr)
	equal(try(r.Get(ctx, "a").Result()), "7")
	_, err := r.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.Set(ctx, "b", 1, 0)
		p.HGet(ctx, "b", "f")
		p.Set(ctx, "c", 2, 0)
		return nil
	})
	fails(err, "WRONGTYPE")
	equal(try(r.MGet(ctx, "b", "c").Result()), []any{"1", "2"})
	_, err = r.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.Set(ctx, "b", "lost", 0)
		p.Do(ctx, "SET", "b")
		return nil
	})
	fails(err, "EXECABORT")
	equal(try(r.Get(ctx, "b").Result()), "1")
}

func pipelines(r client) {
	got := try(r.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i := range 1000 {
			p.Set(ctx, fmt.Sprint("p:", i), i, 0)
			p.Get(ctx, fmt.Sprint("p:", i))
		}
		return nil
	}))
	for i := range 1000 {
		equal(got[2*i+1].(*redis.StringCmd).Val(), strconv.Itoa(i))
	}
	p := r.Pipeline()
	p.Set(ctx, "a", "x", 0)
	wrong, right := p.Incr(ctx, "a"), p.Get(ctx, "a")
	_, err := p.Exec(ctx)
	fails(err, "not an integer")
	fails(wrong.Err(), "not an integer")
	equal(right.Val(), "x")
}

func mistakes(r client) {
	try(r.Set(ctx, "a", "text", 0).Result())
	fails(r.HGet(ctx, "a", "f").Err(), "WRONGTYPE Operation against a key holding the wrong kind of value")
	fails(r.Incr(ctx, "a").Err(), "ERR value is not an integer or out of range")
	fails(r.Do(ctx, "GET").Err(), "ERR wrong number of arguments for 'get' command")
	fails(r.Do(ctx, "NOSUCH", "a").Err(), "ERR unknown command 'NOSUCH'")
	fails(r.Do(ctx, "SET", "a", "b", "NX", "XX").Err(), "ERR syntax error")
	equal(try(r.Get(ctx, "a").Result()), "text")
}

func binary(r client) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	value := strings.Repeat(string(all), 4096)
	try(r.Set(ctx, string(all), value, 0).Result())
	holds(try(r.Get(ctx, string(all)).Result()) == value, "another value")
	try(r.Set(ctx, "", "", 0).Result())
	equal(try(r.Get(ctx, "").Result()), "")
	try(r.HSet(ctx, "h\r\n", string(all), "\r\n$5\r\n").Result())
	equal(try(r.HGetAll(ctx, "h\r\n").Result()), map[string]string{string(all): "\r\n$5\r\n"})
}

var parts = []struct {
	name string
	run  func(client)
}{
	{"server", server}, {"strings", values}, {"bits", bits}, {"hashes", hashes}, {"keys", keys}, {"scans", scans},
	{"expiry", expiry}, {"zsets", zsets}, {"sets", sets}, {"transactions", transactions},
	{"pipelines", pipelines}, {"errors", mistakes}, {"binary", binary},
}

// attempt turns a failed assertion into an error.
func attempt(run func(client), r client) (err error) {
	defer func() {
		if failure := recover(); failure != nil {
			err = errors.New(fmt.Sprint(failure))
		}
	}()
	run(r)
	return nil
}

func main() {
	leftOut := ""
	if len(os.Args) > 3 {
		leftOut = "," + os.Args[3] + ","
	}
	ran := 0
	for _, protocol := range []int{2, 3} {
		r := redis.NewClient(&redis.Options{Addr: os.Args[1] + ":" + os.Args[2], Protocol: protocol, MaxRetries: -1})
		for _, part := range parts {
			if strings.Contains(leftOut, ","+part.name+",") {
				continue
			}
			try(r.FlushAll(ctx).Result())
			if err := attempt(part.run, r); err != nil {
				fmt.Fprintf(os.Stderr, "%s, RESP%d: %v\n", part.name, protocol, err)
				os.Exit(1)
			}
			ran++
		}
		r.Close()
	}
	fmt.Printf("go-redis %s: %d parts in RESP2 and RESP3\n", redis.Version(), ran/2)
}
