//! How the client reaches a cluster.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::client::Client;

/// Connects to a node, by its host and port.
type Connector = dyn Fn(&str) -> io::Result<Client> + Send + Sync;

/// The user and the password for every node.
#[derive(Clone, PartialEq, Eq)]
pub struct ClusterLogin {
    /// The user's name; `default` is the user of connections that name no other.
    pub user: String,
    /// The password.
    pub password: Vec<u8>,
}

/// Leaves out the password.
impl fmt::Debug for ClusterLogin {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Login").field("user", &self.user).finish_non_exhaustive()
    }
}

/// How the client reaches a cluster, and how long it waits.
///
/// ```
/// use std::time::Duration;
///
/// use skeindb::cluster::{ClusterLogin, ClusterOptions};
///
/// let mut options = ClusterOptions::default();
/// options.login = Some(ClusterLogin { user: "reader".to_owned(), password: b"hunter2".to_vec() });
/// options.patience = Duration::from_secs(5);
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct ClusterOptions {
    /// The user and the password, if the nodes require them.
    pub login: Option<ClusterLogin>,
    /// The time limit of one request to one node, the connection included. 5 seconds by default.
    pub page_timeout: Duration,
    /// How long the client repeats a window or a command before it returns an error. 30 seconds by
    /// default.
    pub patience: Duration,
    /// Whether to use the nodes' ports for TLS. It requires a connector that speaks TLS.
    pub tls: bool,
    /// Ends the repetition of windows and commands once it is true: for Ctrl-C. A wait for a reply
    /// still takes up to the page timeout.
    pub stop: Option<Arc<AtomicBool>>,
    /// Connects to a node.
    connector: Option<Arc<Connector>>,
}

impl Default for ClusterOptions {
    fn default() -> Self {
        Self {
            login: None,
            page_timeout: Duration::from_secs(5),
            patience: Duration::from_secs(30),
            tls: false,
            stop: None,
            connector: None,
        }
    }
}

impl fmt::Debug for ClusterOptions {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Options")
            .field("login", &self.login)
            .field("page_timeout", &self.page_timeout)
            .field("patience", &self.patience)
            .field("tls", &self.tls)
            .finish_non_exhaustive()
    }
}

impl ClusterOptions {
    /// Connects to nodes by `connector`, which receives host and port: for TLS, or for another way
    /// to log in. Without one, the client connects over TCP.
    ///
    /// An error of the kind `PermissionDenied` is final. Others are retried while the patience
    /// lasts.
    ///
    /// ```
    /// use skeindb::client::Client;
    /// use skeindb::cluster::ClusterOptions;
    ///
    /// let options = ClusterOptions::default().connector(|node| Client::connect(node));
    /// ```
    #[must_use]
    pub fn connector(self, connector: impl Fn(&str) -> io::Result<Client> + Send + Sync + 'static) -> Self {
        Self { connector: Some(Arc::new(connector)), ..self }
    }

    pub(super) fn connect(&self, node: &str) -> io::Result<Client> {
        match &self.connector {
            Some(connector) => connector(node),
            None => Client::connect_within(node, self.page_timeout),
        }
    }

    /// Returns the first command of a connection. It selects RESP3, which distinguishes maps, sets
    /// and lists.
    pub(super) fn hello(&self) -> Vec<&[u8]> {
        let mut words: Vec<&[u8]> = vec![b"HELLO", b"3"];
        if let Some(login) = &self.login {
            words.extend([b"AUTH", login.user.as_bytes(), &login.password]);
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_not_shown() {
        let login = Some(ClusterLogin { user: "ann".to_owned(), password: b"hunter2".to_vec() });
        let text = format!("{:?}", ClusterOptions { login, ..ClusterOptions::default() });
        assert!(text.contains("ann") && !text.contains("hunter2") && !text.contains("104"), "{text}");
    }
}
