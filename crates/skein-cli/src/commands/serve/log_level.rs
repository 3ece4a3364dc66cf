//! The level of the log, for CONFIG SET loglevel.

use skein_server::LogControl;
use skein_terminal::log::LogLevelHandle;
use tracing_subscriber::filter::LevelFilter;

/// The handle that the server gets.
#[derive(Debug)]
pub struct ServedLogLevel(pub LogLevelHandle);

impl LogControl for ServedLogLevel {
    fn set_level(&self, level: LevelFilter) {
        self.0.set_level(level);
    }
}
