//! What a command asks of a server, or of a cluster.

use skeindb::client::Reply;

use crate::exit::Failure;

/// A server, or a cluster whose nodes answer each for its keys.
pub trait CommandPeer {
    /// The address, as the command line names it.
    fn address(&self) -> &str;

    /// The prefix of the options that say how to get in.
    fn prefix(&self) -> &'static str;

    /// The reply to a command, also if it is an error.
    fn call(&mut self, command: &[&[u8]]) -> Result<Reply, Failure>;

    /// The replies to a pipeline, errors among them.
    fn pipeline<C: AsRef<[A]>, A: AsRef<[u8]>>(&mut self, commands: &[C]) -> Result<Vec<Reply>, Failure>;

    /// Returns the number of the connection that answered the last call. A cursor of `HSCAN` is
    /// good for one connection.
    fn connection(&self) -> u64 {
        0
    }

    /// The reply to a command; an error is a failure.
    fn one(&mut self, command: &[&[u8]]) -> Result<Reply, Failure> {
        let reply = self.call(command)?;
        self.checked(reply)
    }

    /// The replies to a pipeline. An error among them is a failure of all, because none is
    /// expected.
    fn ask<C: AsRef<[A]>, A: AsRef<[u8]>>(&mut self, commands: &[C]) -> Result<Vec<Reply>, Failure> {
        let replies = self.pipeline(commands)?;
        replies.into_iter().map(|reply| self.checked(reply)).collect()
    }

    /// One step of SCAN and its like: the cursor to go on with, and what was found.
    fn scan(&mut self, command: &[&[u8]]) -> Result<(Vec<u8>, Vec<Vec<u8>>), Failure> {
        let reply = self.one(command)?;
        self.page(reply)
    }

    /// A reply to SCAN and its like.
    fn page(&self, reply: Reply) -> Result<(Vec<u8>, Vec<Vec<u8>>), Failure> {
        self.checked(reply)?.into_page().map_err(|reply| self.unexpected(&reply))
    }

    /// A reply that is no error.
    fn checked(&self, reply: Reply) -> Result<Reply, Failure> {
        match reply {
            Reply::Error(text) => Err(self.refused(&text)),
            reply => Ok(reply),
        }
    }

    /// The server answered an error.
    fn refused(&self, text: &str) -> Failure {
        let (address, way_out) = (self.address(), way_out(text, self.prefix()));
        Failure::new(format!("{address} answered: {text}{way_out}"))
    }

    /// The server answered something else than was asked for.
    fn unexpected(&self, reply: &Reply) -> Failure {
        Failure::new(format!("{} answered something that was not asked for: {reply}", self.address()))
    }
}

/// What helps a user that a server refused.
pub(super) fn way_out(text: &str, prefix: &str) -> String {
    if text.contains("NOPERM") {
        format!("; give the user that right (ACL SETUSER), or be another one by --{prefix}user")
    } else {
        String::new()
    }
}
