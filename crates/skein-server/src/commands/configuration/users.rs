//! Parameters of users: the password of the default user, and the channels of new users.

use super::table::ApplyChange;
use crate::DefaultChannels;
use crate::acl::PasswordHash;
use crate::shared::ServerShared;

/// Returns `requirepass`: the hash of the default user's password as a rule of ACL SETUSER. The
/// password itself is not kept.
pub(crate) fn password(shared: &ServerShared) -> String {
    shared.acl.users.default_user().hashes().first().map_or_else(String::new, |hash| format!("#{hash}"))
}

/// Parses a new password. As in Redis, an empty text means no password.
pub(crate) fn change_password(text: &[u8]) -> Result<ApplyChange, String> {
    // The value that CONFIG GET returns can be set again.
    let hash = text.strip_prefix(b"#").and_then(PasswordHash::parse);
    let hash = hash.or_else(|| (!text.is_empty()).then(|| PasswordHash::of(text)));
    Ok(Box::new(move |shared| {
        if hash.is_none()
            && let Some(listen) = shared.options.first_public_address()
        {
            tracing::warn!(%listen, "the default user no longer has a password; clients from other machines are rejected");
        }
        shared.acl.users.set_default_password(hash);
    }))
}

/// Redis's rules that give these channels, in Redis's order.
const CHANNELS: [(&str, DefaultChannels); 2] =
    [("allchannels", DefaultChannels::All), ("resetchannels", DefaultChannels::None)];

/// Returns `acl-pubsub-default`: the rule of channels with which a new user begins.
pub(crate) fn channels(shared: &ServerShared) -> String {
    let now = shared.acl.users.default_channels();
    CHANNELS.iter().find(|(_, channels)| *channels == now).map_or("", |(name, _)| *name).to_owned()
}

pub(crate) fn change_channels(text: &[u8]) -> Result<ApplyChange, String> {
    let found = CHANNELS.into_iter().find(|(name, _)| text.eq_ignore_ascii_case(name.as_bytes()));
    let Some((_, channels)) = found else {
        let names = CHANNELS.map(|(name, _)| name).join(", ");
        return Err(format!("argument(s) must be one of the following: {names}"));
    };
    Ok(Box::new(move |shared| shared.acl.users.set_default_channels(channels)))
}
