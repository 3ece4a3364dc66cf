//! Converts records into a server's commands, and their replies into counts of records.

use skein_server::write_double;
use skeindb::client::Reply;

use super::report::LoadReport;
use crate::exit::Failure;
use crate::format::{RecordBody, TextRecord};
use crate::remote::{stops_all, stream_commands};

/// The most columns, members or elements of a command: a server limits the arguments.
const PAIRS: usize = 10_000;

/// A command that was sent.
#[derive(Clone, Copy)]
pub struct SentCommand {
    /// The line of its record.
    pub line: u64,
    /// Whether it is the last command of the record.
    pub last: bool,
}

/// Calls `push` with each command of a record: SET, HSET, ZADD, SADD or RPUSH, those of a part of a
/// stream, PEXPIREAT for collections that expire, and DEL before those that replace the key.
pub fn each(record: &TextRecord, mut push: impl FnMut(&[&[u8]])) {
    let key = record.key.as_slice();
    let expires = record.expires.map(|expires| expires.to_string());
    let expires = expires.as_ref().map(String::as_bytes);
    // A value replaces by itself, and so does the first part of a stream.
    if record.replaces && !matches!(record.body, RecordBody::Value(_) | RecordBody::Stream(_)) {
        push(&[b"DEL", key]);
    }
    match (&record.body, expires) {
        (RecordBody::Value(value), None) => push(&[b"SET", key, value]),
        (RecordBody::Value(value), Some(expires)) => push(&[b"SET", key, value, b"PXAT", expires]),
        (RecordBody::Columns(columns), _) => {
            for columns in columns.chunks(PAIRS) {
                let mut command: Vec<&[u8]> = vec![b"HSET", key];
                command.extend(columns.iter().flat_map(|(name, value)| [name.as_slice(), value]));
                push(&command);
            }
        }
        (RecordBody::Members(members), _) => {
            for members in members.chunks(PAIRS) {
                let scores: Vec<Vec<u8>> = members.iter().map(|(_, score)| score_text(*score)).collect();
                let mut command: Vec<&[u8]> = vec![b"ZADD", key];
                let pairs = scores.iter().zip(members);
                command.extend(pairs.flat_map(|(score, (member, _))| [score.as_slice(), member]));
                push(&command);
            }
        }
        (RecordBody::Set(members) | RecordBody::List(members), _) => {
            let name: &[u8] = if let RecordBody::List(_) = record.body { b"RPUSH" } else { b"SADD" };
            for members in members.chunks(PAIRS) {
                let mut command: Vec<&[u8]> = vec![name, key];
                command.extend(members.iter().map(Vec::as_slice));
                push(&command);
            }
        }
        (RecordBody::Stream(part), _) => stream_commands(key, part, &mut push),
    }
    if let (false, Some(expires)) = (matches!(record.body, RecordBody::Value(_)), expires) {
        push(&[b"PEXPIREAT", key, expires]);
    }
}

fn score_text(score: f64) -> Vec<u8> {
    let mut text = Vec::new();
    write_double(&mut text, score);
    text
}

/// Counts records by the replies to their commands.
pub struct LoadReplies {
    report: LoadReport,
    address: String,
    /// The last record with a rejected command. It is counted once.
    refused: Option<u64>,
}

impl LoadReplies {
    pub fn new(report: &LoadReport, address: &str) -> Self {
        Self { report: report.clone(), address: address.to_owned(), refused: None }
    }

    /// Counts the record if this is the reply to its last command, or its first error.
    ///
    /// # Errors
    /// Errors if the reply is an error that every write would get.
    pub fn take(&mut self, sent: SentCommand, reply: Reply) -> Result<(), Failure> {
        match reply {
            Reply::Error(text) if stops_all(&text) => {
                let (unit, number) = (self.report.unit(), sent.line);
                return Err(Failure::new(format!("{unit} {number}: {} answers: {text}", self.address)));
            }
            _ if self.refused == Some(sent.line) => {}
            Reply::Error(text) => {
                self.refused = Some(sent.line);
                self.report.refuse(sent.line, &text);
            }
            _ if sent.last => self.report.load(1),
            _ => {}
        }
        Ok(())
    }
}
