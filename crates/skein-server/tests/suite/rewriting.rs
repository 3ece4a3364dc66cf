//! CONFIG REWRITE with an options file of the test.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use crate::common::{PATIENCE, options, start_with};
use skein_server::{OptionValue, OptionsFile, ServerOptions};
use skein_store::Durability;

/// A file on a slow disk: reports the options to write, and waits until it may continue.
#[derive(Debug)]
struct SlowOptionsFile {
    begun: Sender<Vec<(&'static str, OptionValue)>>,
    go_on: Mutex<Receiver<()>>,
}

impl OptionsFile for SlowOptionsFile {
    fn rewrite(&self, options: &[(&'static str, OptionValue)]) -> Result<(), String> {
        self.begun.send(options.to_vec()).expect("the test hears");
        let go_on = self.go_on.lock().expect("nobody panicked").recv_timeout(PATIENCE);
        go_on.map_err(|_| "CONFIG SET waited for the file".to_owned())
    }
}

/// Incident: CONFIG REWRITE held a lock that CONFIG SET needs while it waited for the disk.
/// Consequence: a worker, and all its clients, was blocked by a slow disk. Fix: the values are
/// copied first.
#[test]
fn config_set_does_not_wait_for_the_options_file() {
    let (begun, begins) = channel();
    let (go_on, goes_on) = channel();
    let file = SlowOptionsFile { begun, go_on: Mutex::new(goes_on) };
    let options_file: Option<Arc<dyn OptionsFile>> = Some(Arc::new(file));
    let running = start_with(ServerOptions { workers: 2, options_file, ..options() }, Durability::Buffered);
    let (mut one, mut other) = (running.connect(), running.connect());
    // Both connections are assigned, each to a worker of its own.
    assert_eq!(one.ask("PING"), "+PONG|");
    assert_eq!(other.ask("PING"), "+PONG|");
    assert_eq!(one.ask("CONFIG SET maxclients 60"), "+OK|");
    one.send(b"CONFIG REWRITE\r\n");
    let written = begins.recv_timeout(PATIENCE).expect("it is written");
    assert_eq!(written, [("max-clients", OptionValue::Number(60))]);
    assert_eq!(other.ask("CONFIG SET maxclients 70"), "+OK|");
    go_on.send(()).expect("it waits");
    assert_eq!(one.reply(), b"+OK\r\n");
    one.send(b"CONFIG REWRITE\r\n");
    let written = begins.recv_timeout(PATIENCE).expect("it is written");
    assert_eq!(written, [("max-clients", OptionValue::Number(70))]);
    go_on.send(()).expect("it waits");
    assert_eq!(one.reply(), b"+OK\r\n");
}

/// Incident: CONFIG SET of `busy-reply-threshold` and of its earlier name `lua-time-limit` made
/// CONFIG REWRITE write one option twice. Consequence: "duplicate key", and no value was written any
/// more until a restart. Fix: both names are one row, which is written once.
#[test]
fn an_option_with_two_names_is_written_once() {
    let (begun, begins) = channel();
    let (go_on, goes_on) = channel();
    let file = SlowOptionsFile { begun, go_on: Mutex::new(goes_on) };
    let options_file: Option<Arc<dyn OptionsFile>> = Some(Arc::new(file));
    let running = start_with(ServerOptions { options_file, ..options() }, Durability::Buffered);
    let mut client = running.connect();
    assert_eq!(client.ask("CONFIG SET lua-time-limit 40"), "+OK|");
    assert_eq!(client.ask("CONFIG SET busy-reply-threshold 50"), "+OK|");
    go_on.send(()).expect("it waits");
    assert_eq!(client.ask("CONFIG REWRITE"), "+OK|");
    let written = begins.recv_timeout(PATIENCE).expect("it is written");
    assert_eq!(written, [("busy-reply-threshold", OptionValue::Text("50ms".to_owned()))]);
}
