//! `skein stats --watch`: shows a server's numbers as they change. On a terminal it redraws one
//! view; elsewhere it writes one line per tick.

use std::io::{self, Write};
use std::thread;
use std::time::{Duration, Instant};

use ::console::Term;
use skeindb::client::Reply;

use super::info::InfoReply;
use super::view;
use crate::console;
use crate::exit::Failure;
use crate::remote::{CommandPeer, ServerPeer, ServerTarget};

/// The INFO sections that the views need.
const SECTIONS: [&[u8]; 9] = [
    b"server",
    b"clients",
    b"memory",
    b"persistence",
    b"engine",
    b"stats",
    b"cpu",
    b"commandstats",
    b"keyspace",
];

/// Shows a server every `interval`, `ticks` times if given.
pub fn run(server: &ServerTarget<'_>, interval: Duration, ticks: Option<u64>) -> Result<(), Failure> {
    let mut peer = server.connect()?;
    let mut ask = || ask(&mut peer);
    let term = Term::stdout();
    let live = term.is_term();
    let mut before = ask()?;
    let (mut shown, mut next) = (0, Instant::now());
    if !live && !write(|out| writeln!(out, "{}", view::HEAD))? {
        return Ok(());
    }
    for _ in 0..ticks.unwrap_or(u64::MAX) {
        next += interval;
        thread::sleep(next.saturating_duration_since(Instant::now()));
        let now = ask()?;
        let goes_on = if live {
            let (rows, columns) = term.size();
            let lines = view::screen(server.address, &now, &before, usize::from(rows), usize::from(columns));
            let count = lines.len();
            let drawn = draw(&term, shown, &lines);
            shown = count;
            more(drawn)?
        } else {
            write(|out| writeln!(out, "{}", view::line(&now, &before)))?
        };
        if !goes_on {
            break;
        }
        before = now;
    }
    Ok(())
}

fn ask(peer: &mut ServerPeer) -> Result<InfoReply, Failure> {
    let request: Vec<&[u8]> = std::iter::once(&b"INFO"[..]).chain(SECTIONS).collect();
    match peer.one(&request)? {
        Reply::Bulk(text) => Ok(InfoReply::parse(&String::from_utf8_lossy(&text), Instant::now())),
        other => Err(peer.unexpected(&other)),
    }
}

/// Replaces the previous view, which had `shown` lines.
fn draw(term: &Term, shown: usize, lines: &[String]) -> io::Result<()> {
    term.clear_last_lines(shown)?;
    lines.iter().try_for_each(|line| term.write_line(line))
}

/// Writes to standard output. Returns false if the reader has closed it.
fn write(text: impl FnOnce(&mut io::StdoutLock<'_>) -> io::Result<()>) -> Result<bool, Failure> {
    let mut out = io::stdout().lock();
    let written = text(&mut out).and_then(|()| out.flush());
    more(written)
}

/// Returns whether the reader is still there.
fn more(written: io::Result<()>) -> Result<bool, Failure> {
    let gone = written.is_err();
    console::written(written).map(|()| !gone)
}
