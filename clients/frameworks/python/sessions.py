"""One session for each Python framework: its documented first example, and a small load.

    python sessions.py HOST:PORT

Prints one line for each framework, and exits with 1 if one failed. Removes all keys of the server.
"""

import subprocess
import sys
import threading
import time
import traceback

import redis

host, port = sys.argv[1].rsplit(":", 1)
url = f"redis://{host}:{port}/0"


def equal(got, expected):
    assert got == expected, f"{got!r}, not {expected!r}"


def django_redis():
    """The counter that other caches lose: 1,200 increments by 8 threads."""
    import django
    from django.conf import settings

    settings.configure(CACHES={"default": {"BACKEND": "django_redis.cache.RedisCache", "LOCATION": url}})
    django.setup()
    from django.core.cache import cache

    cache.set("greeting", "hello", timeout=60)
    equal(cache.get("greeting"), "hello")
    cache.set("count", 0)
    run_threads(8, lambda: [cache.incr("count") for _ in range(150)])
    equal(cache.get("count"), 1200)
    with cache.lock("a lock"):
        equal(cache.delete_pattern("*greet*"), 1)


def redis_lock():
    client = redis.Redis.from_url(url)
    client.set("count", 0)

    def add():
        for _ in range(50):
            with client.lock("lock", timeout=20):
                client.set("count", int(client.get("count")) + 1)

    run_threads(4, add)
    equal(int(client.get("count")), 200)


def celery():
    """A worker in a process of its own; results, groups, chords, a countdown."""
    from celery import chord, group

    import celery_tasks

    worker = subprocess.Popen(
        [sys.executable, "-m", "celery", "-A", "celery_tasks", "worker", "-c", "2", "--loglevel=error"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        add, total = celery_tasks.app.tasks["add"], celery_tasks.app.tasks["total"]
        equal(add.delay(4, 4).get(timeout=60), 8)
        equal(sum(group(add.s(n, n) for n in range(100))().get(timeout=60)), 9900)
        equal(chord((add.s(n, 1) for n in range(20)), total.s())().get(timeout=60), 210)
        equal(add.apply_async((1, 2), countdown=1).get(timeout=60), 3)
    finally:
        worker.terminate()
        worker.wait()


def huey():
    from huey import RedisHuey

    tasks = RedisHuey("tasks", host=host, port=int(port))

    @tasks.task()
    def add(a, b):
        return a + b

    consumer = tasks.create_consumer(workers=3)
    consumer.start()
    try:
        results = [add(n, n) for n in range(100)]
        equal(sum(result.get(blocking=True, timeout=60) for result in results), 9900)
        equal(add.schedule((1, 2), delay=1).get(blocking=True, timeout=60), 3)
    finally:
        consumer.stop()


def dramatiq():
    import dramatiq
    from dramatiq.brokers.redis import RedisBroker
    from dramatiq.results import Results
    from dramatiq.results.backends import RedisBackend

    broker = RedisBroker(url=url)
    broker.add_middleware(Results(backend=RedisBackend(url=url)))
    dramatiq.set_broker(broker)

    @dramatiq.actor(store_results=True)
    def add(a, b):
        return a + b

    worker = dramatiq.Worker(broker, worker_threads=3)
    worker.start()
    try:
        messages = [add.send(n, n) for n in range(100)]
        equal(sum(message.get_result(block=True, timeout=60_000) for message in messages), 9900)
    finally:
        worker.stop()


def rq():
    """A worker in a process of its own; results (in streams), a failure, a job that depends."""
    import rq
    import rq_tasks

    client = redis.Redis.from_url(url)
    queue = rq.Queue(connection=client)
    worker = subprocess.Popen(
        [sys.executable, "-m", "rq.cli", "worker", "--url", url, "--quiet", "--with-scheduler"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        jobs = [queue.enqueue(rq_tasks.add, n, n) for n in range(10)]
        last = queue.enqueue(rq_tasks.add, 1, 2, depends_on=jobs)
        equal(wait_for(last.latest_result).return_value, 3)
        equal(sum(job.latest_result().return_value for job in jobs), 90)
        failed = queue.enqueue(rq_tasks.fail)
        assert "ValueError" in wait_for(failed.latest_result).exc_string
        equal(rq.registry.FailedJobRegistry(queue=queue).count, 1)
    finally:
        worker.terminate()
        worker.wait()


def streams():
    """redis-py's streams: a group of three consumers, and one that takes over."""
    client = redis.Redis.from_url(url, decode_responses=True)
    client.xgroup_create("jobs", "workers", id="0", mkstream=True)
    done = []

    def consume(name):
        while True:
            read = client.xreadgroup("workers", name, {"jobs": ">"}, count=5, block=1000)
            if not read:
                return
            for entry, fields in read[0][1]:
                if int(fields["n"]) % 10:
                    done.append(int(fields["n"]))
                    client.xack("jobs", "workers", entry)

    names = iter(["a", "b", "c"])
    adding = threading.Thread(target=lambda: [client.xadd("jobs", {"n": n}, maxlen=1000) for n in range(300)])
    adding.start()
    run_threads(3, lambda: consume(next(names)))
    adding.join()
    equal(client.xpending("jobs", "workers")["pending"], 30)
    taken = client.xautoclaim("jobs", "workers", "d", min_idle_time=0, count=100)[1]
    done += [int(fields["n"]) for _, fields in taken]
    equal(sorted(done), list(range(300)))
    equal(client.xinfo_groups("jobs")[0]["lag"], 0)


def limits():
    """The limits of Flask-Limiter: ten hits of thirty are allowed."""
    from limits import parse, storage, strategies

    store = storage.storage_from_string(url)
    for strategy in ["FixedWindowRateLimiter", "MovingWindowRateLimiter", "SlidingWindowCounterRateLimiter"]:
        limiter = getattr(strategies, strategy)(store)
        equal(sum(limiter.hit(parse("10/minute"), strategy) for _ in range(30)), 10)


def pubsub():
    client = redis.Redis.from_url(url, decode_responses=True)
    with client.pubsub(ignore_subscribe_messages=True) as subscriber:
        subscriber.subscribe("news")
        subscriber.psubscribe("n*")
        while client.pubsub_numpat() == 0:
            pass
        equal(client.publish("news", "hello"), 2)
        messages = []
        while len(messages) < 2:
            message = subscriber.get_message(timeout=5)
            if message:
                messages.append((message["type"], message["data"]))
        equal(sorted(messages), [("message", "hello"), ("pmessage", "hello")])


def wait_for(what):
    """Asks until there is an answer."""
    for _ in range(600):
        answer = what()
        if answer is not None:
            return answer
        time.sleep(0.1)
    raise TimeoutError("no answer after a minute")


def run_threads(count, work):
    threads = [threading.Thread(target=work) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


failed = False
for session in [django_redis, redis_lock, celery, huey, dramatiq, rq, streams, limits, pubsub]:
    redis.Redis.from_url(url).flushall()
    try:
        session()
        print(f"{session.__name__}: works")
    except Exception:
        failed = True
        traceback.print_exc()
        print(f"{session.__name__}: FAILED")
sys.exit(failed)
