//! MIGRATE to targets that fail, hang or close.

use super::{FakeTarget, READING, migrate_to, request, start};
use crate::common::{show, wait_for};

#[test]
fn targets_that_fail_leave_the_keys_that_they_have_not_acknowledged() {
    let server = start();
    let mut client = server.connect();
    let free = FakeTarget::start().address;
    client.ask("MSET k v l w");
    assert_eq!(
        migrate_to(&mut client, free, "k 0 1000"),
        "-IOERR error or timeout writing to target instance|",
        "nobody listens"
    );
    let target = FakeTarget::start();
    // Silent from the start, after SELECT, and after the first key.
    assert_eq!(migrate_to(&mut client, target.address, "k 0 100"), READING);
    drop(target.listener.accept().expect("the first one"));
    client.send(&request(target.address, "k 0 100"));
    let kept_open = target.restore();
    assert_eq!(show(&client.reply()), READING);
    drop(kept_open);
    client.send(&request(target.address, "none 0 100 KEYS k l"));
    let mut kept_open = target.restore();
    kept_open.send(b"+OK\r\n");
    assert_eq!(show(&client.reply()), READING);
    assert_eq!(client.ask("MGET k l"), "*2|$-1|$1|w|", "what is acknowledged has moved");
    // Closed in the middle: before and after a reply.
    client.ask("SET k v");
    client.send(&request(target.address, "none 0 60000 KEYS k l"));
    drop(target.restore());
    assert_eq!(show(&client.reply()), READING);
    client.send(&request(target.address, "none 0 60000 KEYS k l"));
    let mut closing = target.restore();
    closing.send(b"-ERR no\r\n");
    drop(closing);
    assert_eq!(show(&client.reply()), "-ERR Target instance replied with error: ERR no|");
    assert_eq!(client.ask("MGET k l"), "*2|$1|v|$1|w|");
    // Something else than a Redis server.
    client.send(&request(target.address, "k 0 60000"));
    let (mut web, _) = target.listener.accept().expect("a connection");
    std::io::Write::write_all(&mut web, b"HTTP/1.1 400 Bad Request\r\n\r\n").expect("to send");
    assert_eq!(show(&client.reply()), "-ERR Target instance replied with error: HTTP/1.1 400 Bad Request|");
    client.send(&request(target.address, "k 0 60000"));
    let mut endless = target.select();
    endless.send(&vec![b'x'; 200_000]);
    assert_eq!(show(&client.reply()), READING);
    assert_eq!(client.ask("GET k"), "$1|v|");
}

/// A target that does not read: a request that cannot be sent is an error of the timeout.
#[test]
fn a_target_that_does_not_read_is_a_timeout() {
    let server = start();
    let mut client = server.connect();
    let long = vec![b'x'; 20 << 20];
    client.call(&[b"SET", b"k", &long]);
    let target = FakeTarget::start();
    client.send(&request(target.address, "k 0 200"));
    let kept_open = target.select();
    assert_eq!(show(&client.reply()), "-IOERR error or timeout writing to target instance|");
    assert_eq!(client.ask("STRLEN k"), format!(":{}|", long.len()));
    drop(kept_open);
}

#[test]
fn a_client_that_leaves_leaves_its_migration() {
    let server = start();
    let target = FakeTarget::start();
    let mut other = server.connect();
    other.ask("MSET k v l w");
    let mut client = server.connect();
    client.send(&request(target.address, "none 0 60000 KEYS k l"));
    let mut held_at_target = target.restore();
    drop(client);
    held_at_target.send(b"+OK\r\n");
    drop(held_at_target);
    wait_for(|| other.ask("MGET k l") == "*2|$-1|$1|w|");
    assert_eq!(other.ask("APPEND l x"), ":2|", "writes do not wait any more");
}
