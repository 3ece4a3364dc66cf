// One session for each Go framework: its documented first example, and a small load.
//
//	go run . HOST:PORT
//
// Prints one line for each framework, and exits with 1 if one failed.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
)

func equal[T comparable](got, expected T) error {
	if got != expected {
		return fmt.Errorf("%v, not %v", got, expected)
	}
	return nil
}

// Tasks at once, after a delay, one that is tried again, and a unique one.
func asynqSession(address string) error {
	option := asynq.RedisClientOpt{Addr: address}
	var sum, tries atomic.Int64
	var done sync.WaitGroup
	mux := asynq.NewServeMux()
	mux.HandleFunc("add", func(_ context.Context, task *asynq.Task) error {
		var n int64
		if err := json.Unmarshal(task.Payload(), &n); err != nil {
			return err
		}
		sum.Add(n)
		done.Done()
		return nil
	})
	mux.HandleFunc("again", func(context.Context, *asynq.Task) error {
		if tries.Add(1) < 2 {
			return fmt.Errorf("not yet")
		}
		done.Done()
		return nil
	})
	config := asynq.Config{
		Concurrency:              4,
		LogLevel:                 asynq.FatalLevel,
		DelayedTaskCheckInterval: 100 * time.Millisecond,
		RetryDelayFunc:           func(int, error, *asynq.Task) time.Duration { return 100 * time.Millisecond },
	}
	server := asynq.NewServer(option, config)
	if err := server.Start(mux); err != nil {
		return err
	}
	defer server.Shutdown()
	client := asynq.NewClient(option)
	defer client.Close()
	enqueue := func(kind string, n int64, options ...asynq.Option) error {
		payload, _ := json.Marshal(n)
		done.Add(1)
		_, err := client.Enqueue(asynq.NewTask(kind, payload), options...)
		return err
	}
	for n := int64(0); n < 100; n++ {
		if err := enqueue("add", n); err != nil {
			return err
		}
	}
	if err := enqueue("add", 50, asynq.ProcessIn(300*time.Millisecond), asynq.Unique(time.Minute)); err != nil {
		return err
	}
	payload, _ := json.Marshal(int64(50))
	if _, err := client.Enqueue(asynq.NewTask("add", payload), asynq.Unique(time.Minute)); err == nil {
		return fmt.Errorf("a unique task was enqueued twice")
	}
	if err := enqueue("again", 0); err != nil {
		return err
	}
	done.Wait()
	return equal(sum.Load(), 5000)
}

// A lock that eight goroutines take in turn, and one that expires.
func redsyncSession(address string) error {
	client := redis.NewClient(&redis.Options{Addr: address})
	defer client.Close()
	locks := redsync.New(goredis.NewPool(client))
	var count int
	var done sync.WaitGroup
	var failed atomic.Value
	for range 8 {
		done.Add(1)
		go func() {
			defer done.Done()
			for range 20 {
				lock := locks.NewMutex("lock", redsync.WithTries(1000), redsync.WithRetryDelay(time.Millisecond))
				if err := lock.Lock(); err != nil {
					failed.Store(err)
					return
				}
				count++
				if ok, err := lock.Unlock(); !ok || err != nil {
					failed.Store(fmt.Errorf("unlock: %v %v", ok, err))
					return
				}
			}
		}()
	}
	done.Wait()
	if err := failed.Load(); err != nil {
		return err.(error)
	}
	return equal(count, 160)
}

// A client with a cache of its own, which the server keeps true.
func rueidisSession(address string) error {
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{address}, ForceSingleClient: true})
	if err != nil {
		return err
	}
	defer client.Close()
	ctx := context.Background()
	writer := redis.NewClient(&redis.Options{Addr: address})
	defer writer.Close()
	for round := range 50 {
		value := fmt.Sprint(round)
		if err := writer.Set(ctx, "key", value, 0).Err(); err != nil {
			return err
		}
		deadline := time.Now().Add(5 * time.Second)
		for {
			got, err := client.DoCache(ctx, client.B().Get().Key("key").Cache(), time.Minute).ToString()
			if err != nil {
				return err
			}
			if got == value {
				break
			}
			if time.Now().After(deadline) {
				return fmt.Errorf("the cache still has %s, not %s", got, value)
			}
		}
		again := client.DoCache(ctx, client.B().Get().Key("key").Cache(), time.Minute)
		if err := equal(again.IsCacheHit(), true); err != nil {
			return err
		}
	}
	var replies []rueidis.Completed
	for n := range 1000 {
		replies = append(replies, client.B().Set().Key(fmt.Sprint("n", n)).Value(fmt.Sprint(n)).Build())
	}
	for _, reply := range client.DoMulti(ctx, replies...) {
		if err := reply.Error(); err != nil {
			return err
		}
	}
	return nil
}

func main() {
	address := os.Args[1]
	client := redis.NewClient(&redis.Options{Addr: address})
	failed := false
	for _, session := range []struct {
		name string
		run  func(string) error
	}{{"asynq", asynqSession}, {"redsync", redsyncSession}, {"rueidis", rueidisSession}} {
		client.FlushAll(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- session.run(address) }()
		select {
		case err := <-ended:
			if err == nil {
				fmt.Printf("%s: works\n", session.name)
				continue
			}
			fmt.Printf("%s: FAILED: %v\n", session.name, err)
		case <-time.After(time.Minute):
			fmt.Printf("%s: FAILED: no end after a minute\n", session.name)
		}
		failed = true
	}
	if failed {
		os.Exit(1)
	}
}
