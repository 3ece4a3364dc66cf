//! A client of a round: sends requests, and notes the replies and their times.

use std::time::Instant;

use crate::command::{DATABASES, GroupKind, WireCommand, WireRequest};
use crate::common::{TestClient, TestServer, encode, encode_words};
use crate::history::WireCall;
use crate::reply::WireReply;

/// Runs commands that follow one another in its arguments, each after the number of its words.
const SCRIPT: &str = "local at, replies = 1, {} \
    while ARGV[at] do \
        local words, last = {}, at + tonumber(ARGV[at]) \
        for word = at + 1, last do words[#words + 1] = ARGV[word] end \
        replies[#replies + 1] = redis.pcall(unpack(words)) \
        at = last + 1 \
    end \
    return replies";

pub struct WireClient {
    connection: TestClient,
    database: usize,
    /// The start of the test.
    epoch: Instant,
    pub calls: Vec<WireCall>,
}

fn encode_request(request: &WireRequest) -> Vec<u8> {
    match request {
        WireRequest::One(command) => encode_words(&command.to_string()),
        WireRequest::Group(GroupKind::Multi, commands) => {
            let queued = commands.iter().flat_map(|command| encode_words(&command.to_string()));
            encode_words("MULTI").into_iter().chain(queued).chain(encode_words("EXEC")).collect()
        }
        WireRequest::Group(GroupKind::Script, commands) => {
            let mut words = vec!["EVAL".to_owned(), SCRIPT.to_owned(), "0".to_owned()];
            for command in commands {
                let command = command.to_string();
                words.push(command.split(' ').count().to_string());
                words.extend(command.split(' ').map(str::to_owned));
            }
            encode(&words.iter().map(String::as_bytes).collect::<Vec<_>>())
        }
        WireRequest::Watch(_) => encode_words(&request.to_string()),
        WireRequest::Snapshot => encode_words("SK.SNAPSHOT BEGIN"),
        WireRequest::Spin(steps) => encode(&[b"EVAL", format!("for i=1,{steps} do end").as_bytes(), b"0"]),
    }
}

impl WireClient {
    pub fn new(server: &TestServer, epoch: Instant) -> Self {
        Self { connection: server.connect(), database: 0, epoch, calls: Vec::new() }
    }

    /// Begins a new history, in a database.
    pub fn begin(&mut self, database: usize) {
        self.calls.clear();
        self.ask("UNWATCH");
        self.ask(&format!("SELECT {database}"));
        self.database = database;
    }

    /// Sends a request that is no part of the history. Panics if the reply is not `OK`.
    pub fn ask(&mut self, words: &str) {
        self.connection.send(&encode_words(words));
        assert_eq!(self.reply(), WireReply::ok(), "the reply to {words}");
    }

    /// Returns the reply to a command that is no part of the history.
    pub fn answer(&mut self, command: &WireCommand) -> WireReply {
        self.connection.send(&encode_words(&command.to_string()));
        self.reply().of(command)
    }

    fn now(&self) -> u64 {
        u64::try_from(self.epoch.elapsed().as_nanos()).expect("a short test")
    }

    fn reply(&mut self) -> WireReply {
        WireReply::parse(&self.connection.reply())
    }

    /// Sends requests as one pipeline, and notes the replies.
    pub fn run(&mut self, requests: Vec<WireRequest>) {
        let bytes: Vec<u8> = requests.iter().flat_map(encode_request).collect();
        let began = self.now();
        self.connection.send(&bytes);
        for request in requests {
            let database = self.database;
            if let WireRequest::Group(GroupKind::Multi, commands) = &request {
                assert_eq!(self.reply(), WireReply::ok(), "the reply to MULTI");
                for command in commands {
                    let queued = self.reply();
                    assert_eq!(
                        queued,
                        WireReply::Text("QUEUED".to_owned()),
                        "the reply to {command} in MULTI"
                    );
                }
            }
            let reply = in_the_models_form(&request, self.reply());
            let ended = self.now();
            let reply = if request == WireRequest::Snapshot { self.read_snapshot() } else { reply };
            self.follow(&request, &reply);
            self.calls.push(WireCall { database, request, began, ended, reply: Some(reply) });
        }
    }

    /// Reads all databases by the snapshot that has just begun, and ends it.
    fn read_snapshot(&mut self) -> WireReply {
        let ranges = (0..DATABASES).map(|database| {
            self.ask(&format!("SELECT {database}"));
            self.connection.send(&encode_words("SK.RANGE - + HELD"));
            self.reply().of_range()
        });
        let ranges = ranges.collect();
        self.ask(&format!("SELECT {}", self.database));
        self.ask("SK.SNAPSHOT END");
        WireReply::Array(ranges)
    }

    /// Notes the database that a request has selected.
    fn follow(&mut self, request: &WireRequest, reply: &WireReply) {
        let lasts = !matches!(request, WireRequest::Group(GroupKind::Script, _)) && *reply != WireReply::Nil;
        if lasts {
            for command in request.commands() {
                if let WireCommand::Select(database) = command {
                    self.database = *database;
                }
            }
        }
    }
}

fn in_the_models_form(request: &WireRequest, reply: WireReply) -> WireReply {
    match (request, reply) {
        (WireRequest::One(command), reply) => reply.of(command),
        (WireRequest::Group(_, commands), WireReply::Array(replies)) => WireReply::Array(
            replies.into_iter().zip(commands).map(|(reply, command)| reply.of(command)).collect(),
        ),
        (_, reply) => reply,
    }
}
