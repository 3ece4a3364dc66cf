//! The input of a load: its detected format, and reads that a signal interrupts.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read};
use std::path::Path;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::exit::Failure;
use crate::format::{Format, file_head};
use crate::interrupt::Interrupt;

/// How long a read of standard input waits before it asks for signals again.
const PATIENCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// The size of the reads, and the longest part of the first line that tells the format of an input.
const BUFFER: usize = 1 << 20;

/// The bytes behind the first line that tell whether an input is text, if they were read with it.
const LOOKED_AT: usize = 4 << 10;

/// The first bytes of packed files, and the program that unpacks them.
const PACKED: [(&[u8], &str); 4] =
    [(b"\x1f\x8b", "zcat"), (b"\x28\xb5\x2f\xfd", "zstdcat"), (b"\xfd7zXZ\0", "xzcat"), (b"BZh", "bzcat")];

/// An input after its first line was read.
pub struct LoadInput {
    head: Vec<u8>,
    rest: BufReader<Box<dyn Read>>,
    /// The size in bytes, if it is known.
    pub size: Option<u64>,
}

/// The kind of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputKind {
    /// A file of Redis.
    Rdb,
    /// A dump with a first line that names its format.
    Dump(Format),
    /// Text without one.
    Text(Format),
}

impl LoadInput {
    /// Opens a file; `-` is standard input. Catches signals once it is open.
    pub fn open(file: &Path) -> Result<(Self, Interrupt), Failure> {
        let (input, size, interrupt) = open(file)?;
        let mut rest = BufReader::with_capacity(BUFFER, input);
        let mut head = Vec::new();
        let read = rest.by_ref().take(BUFFER as u64).read_until(b'\n', &mut head);
        read.map_err(|error| super::how_far(failure(&interrupt, &error), 0, 0))?;
        file_head::remove_mark(&mut head);
        Ok((Self { head, rest, size }, interrupt))
    }

    /// Returns the kind of the input's contents. `given` is the format that the command line names.
    ///
    /// # Errors
    /// The input is a dump of another format or version. The format is not given, and the input
    /// looks like another one than `lines`, or like no text.
    pub fn kind(&self, given: Option<Format>) -> Result<InputKind, Failure> {
        if given.is_none() && skein_rdb::is_file(&self.head) {
            return Ok(InputKind::Rdb);
        }
        match (file_head::format_of(&self.head).map_err(Failure::usage)?, given) {
            (Some(format), None) => Ok(InputKind::Dump(format)),
            (Some(format), Some(given)) if format == given => Ok(InputKind::Dump(format)),
            (Some(format), Some(_)) => Err(Failure::usage(format!(
                "the file's first line says that it is a dump of the format {format:?}; leave --format out"
            ))),
            (None, Some(given)) => Ok(InputKind::Text(given)),
            (None, None) => match self.no_text() {
                Some(why) => Err(Failure::usage(why)),
                None if self.has_tab() => Err(Failure::usage(
                    "the first line has a tab, so the file may be tsv or hex, and without --format each line is a \
                     whole key; name the format: --format tsv, hex, csv or lines",
                )),
                None => Ok(InputKind::Text(Format::Lines)),
            },
        }
    }

    fn has_tab(&self) -> bool {
        self.head.contains(&b'\t')
    }

    /// Returns why the input is not read as lines without being asked for: it begins like no text.
    fn no_text(&self) -> Option<String> {
        let read = self.rest.buffer();
        let bytes = || self.head.iter().chain(&read[..read.len().min(LOOKED_AT)]);
        if let Some((_, program)) = PACKED.iter().find(|(magic, _)| self.head.starts_with(magic)) {
            return Some(format!(
                "the file is packed; unpack it: {program} FILE | skein load - --format tsv, csv, hex or lines"
            ));
        }
        let at =
            bytes().position(|byte| byte.is_ascii_control() && !matches!(byte, b'\n' | b'\r' | b'\t'))?;
        let byte = bytes().nth(at)?;
        Some(format!(
            "the file is no text: its byte {at} is {byte:#04x}; if its lines are keys all the same, add --format lines"
        ))
    }

    /// Returns a reader of all bytes.
    pub fn read(self) -> io::Chain<io::Cursor<Vec<u8>>, BufReader<Box<dyn Read>>> {
        io::Cursor::new(self.head).chain(self.rest)
    }
}

/// Returns the failure of a read, which a signal may have ended.
pub fn failure(interrupt: &Interrupt, error: &io::Error) -> Failure {
    interrupt.check().err().unwrap_or_else(|| Failure::during("cannot read the input", error))
}

/// The bytes of an input, their number if it is known, and the signals that end the load.
type OpenInput = (Box<dyn Read>, Option<u64>, Interrupt);

fn open(file: &Path) -> Result<OpenInput, Failure> {
    if file == Path::new("-") {
        let interrupt = Interrupt::noted()?;
        let input = PolledInput { input: io::stdin(), interrupt: interrupt.clone() };
        return Ok((Box::new(input), None, interrupt));
    }
    let failed = |error| Failure::during(format_args!("cannot read {}", file.display()), &error);
    // A named pipe waits here for its writer. Until then a signal ends the process.
    let input = File::open(file).map_err(failed)?;
    let interrupt = Interrupt::noted()?;
    let meta = input.metadata().map_err(failed)?;
    if meta.is_dir() {
        return Err(Failure::new(format!(
            "{} is a folder; name a file, or - for standard input",
            file.display()
        )));
    }
    if meta.is_file() {
        return Ok((Box::new(input), Some(meta.len()), interrupt));
    }
    let input = PolledInput { input, interrupt: interrupt.clone() };
    Ok((Box::new(input), None, interrupt))
}

/// An input that may wait for bytes. A signal ends the wait with an error.
struct PolledInput<I> {
    input: I,
    interrupt: Interrupt,
}

impl<I: Read + std::os::fd::AsFd> Read for PolledInput<I> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.interrupt.came() {
                return Err(io::Error::other("interrupted"));
            }
            let mut input = [PollFd::new(&self.input, PollFlags::IN)];
            match poll(&mut input, Some(&PATIENCE)) {
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                Ok(_) => break,
                Err(error) => return Err(error.into()),
            }
        }
        self.input.read(buffer)
    }
}
