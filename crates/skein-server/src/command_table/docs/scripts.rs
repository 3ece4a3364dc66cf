//! The arguments of commands of scripts, functions and transactions, in the notation of `notation`.

use super::SyntaxRow;

#[rustfmt::skip]
pub(super) const SYNTAX: &[SyntaxRow] = &[
    ("eval", "script numkeys:int [key@0...] [arg...]"),
    ("eval_ro", "script numkeys:int [key@0...] [arg...]"),
    ("evalsha", "sha1 numkeys:int [key@0...] [arg...]"),
    ("evalsha_ro", "sha1 numkeys:int [key@0...] [arg...]"),
    ("fcall", "function numkeys:int [key@0...] [arg...]"),
    ("fcall_ro", "function numkeys:int [key@0...] [arg...]"),
    ("function|delete", "library-name"),
    ("function|flush", "[async(ASYNC|SYNC)]"),
    ("function|list", "[LIBRARYNAME=library-name-pattern] [WITHCODE]"),
    ("function|load", "[REPLACE] function-code"),
    ("function|restore", "serialized-value [policy(FLUSH|APPEND|REPLACE)]"),
    ("script|debug", "mode(YES|SYNC|NO)"),
    ("script|exists", "sha1..."),
    ("script|flush", "[async(ASYNC|SYNC)]"),
    ("script|load", "script"),
    ("watch", "key@0..."),
];
