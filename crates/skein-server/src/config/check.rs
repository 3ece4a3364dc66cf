//! Checks the options of a server before anything is created.

use std::net::SocketAddr;
use std::time::Duration;

use super::parameter::FieldAccess;
use super::{FieldValue, OPTIONS, ServeOptions, ServerOptions};
use crate::net::transport::Transport;
use crate::net::unix_socket::{MODE_MAX, PATH_BYTES_MAX};
use crate::notice::key_events::EventClasses;
use crate::{StartError, TlsClients, UnixSocket};

impl ServerOptions {
    /// Returns an address that other machines can reach and that requires no client certificate.
    /// With such an address the default user must have a password.
    pub(crate) fn first_public_address(&self) -> Option<SocketAddr> {
        let tls = self.tls.as_ref().filter(|tls| tls.clients != TlsClients::Required);
        let listens = [Some(self.listen), tls.map(|tls| tls.listen)];
        listens.into_iter().flatten().find(|listen| !listen.ip().is_loopback())
    }

    /// Returns whether a client may use the default user without logging in, if that user has no
    /// password. The client must be on this machine or have a certificate. A server starts with a
    /// public address only if there is a password. This check also protects it if the password is
    /// removed later.
    pub(crate) fn trusts(&self, stream: &Transport) -> bool {
        let certified = matches!(stream, Transport::Tls(_))
            && self.tls.as_ref().is_some_and(|tls| tls.clients == TlsClients::Required);
        self.first_public_address().is_none() || certified || stream.is_local()
    }

    /// Checks the options. [`Server::start`](crate::Server::start) calls this first.
    ///
    /// # Errors
    /// If an option is out of range, a public address has no password, or a TLS file cannot be
    /// used.
    pub fn check(&self) -> Result<(), StartError> {
        let has_secret = self.password.is_some() || self.acl_file.is_some();
        if let Some(listen) = self.first_public_address().filter(|_| !has_secret) {
            return Err(StartError::NoPassword { listen });
        }
        if let Some(tls) = &self.tls {
            tls.config()?;
        }
        if self.password.as_ref().is_some_and(Vec::is_empty) {
            return Err(bad("password", "is empty", "set a password, or leave the option out"));
        }
        self.unix_socket.as_ref().map_or(Ok(()), check_socket)?;
        self.check_bounds()?;
        if EventClasses::parse(self.keyspace_events.as_bytes()).is_none() {
            let is = format!("is {:?}", self.keyspace_events);
            return Err(bad("keyspace_events", &is, "choose letters of KEg$lshzxetdmnA"));
        }
        Ok(())
    }

    /// Checks the bounds of the rows.
    fn check_bounds(&self) -> Result<(), StartError> {
        let mut options = ServeOptions { server: self.clone(), ..ServeOptions::default() };
        for row in OPTIONS.iter() {
            let (FieldAccess::Server(_), Some((min, max))) = (row.access, row.bounds) else { continue };
            let max = max.min((row.at_most)(self));
            match row.value_in(&mut options) {
                FieldValue::Number(value) if !(min..=max).contains(&value) => {
                    return Err(bad(row.field, &format!("is {value}"), &format!("choose {min} to {max}")));
                }
                FieldValue::Time(time) if time > Duration::from_secs(max) => {
                    let (is, way_out) = (format!("is {} s", time.as_secs()), format!("choose up to {max} s"));
                    return Err(bad(row.field, &is, &way_out));
                }
                // A time below one second would become 0 seconds, which means for ever.
                FieldValue::Time(time) if row.is_in_seconds() && time.subsec_nanos() > 0 => {
                    return Err(bad(row.field, &format!("is {time:?}"), "choose whole seconds"));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

fn check_socket(socket: &UnixSocket) -> Result<(), StartError> {
    let (len, mode) = (socket.path.as_os_str().len(), socket.mode);
    if !(1..=PATH_BYTES_MAX).contains(&len) {
        let way_out = format!("choose a path of 1 to {PATH_BYTES_MAX} bytes");
        return Err(bad("unix_socket.path", &format!("has {len} bytes"), &way_out));
    }
    if mode > MODE_MAX {
        return Err(bad("unix_socket.mode", &format!("is {mode:o}"), &format!("choose 0 to {MODE_MAX:o}")));
    }
    Ok(())
}

fn bad(name: &'static str, what: &str, way_out: &str) -> StartError {
    StartError::BadOption { name, why: format!("{what}; {way_out}") }
}
