//! Users: for each user, keys that its patterns do not allow must appear absent.

use crate::servers::over_each;

#[test]
fn a_user_meets_the_keys_that_its_patterns_allow() {
    over_each(|server| {
        let mut admin = server.connect();
        admin.line("MSET a:1 1 a:2 2 b:1 3 c:1 4");
        admin.line("ACL SETUSER some on nopass ~a:* %R~b:* +@all");
        admin.line("ACL SETUSER none on nopass ~* +@all -sk.range");
        let mut some = server.connect();
        assert_eq!(some.line("AUTH some x"), "+OK|");
        assert_eq!(some.line("SK.RANGE - + NOVALUES"), "*3|$3|a:1|$3|a:2|$3|b:1|");
        assert_eq!(some.line("SK.COUNT - +"), ":3|");
        assert_eq!(some.line("SK.LAST"), "*2|$3|b:1|$1|3|");
        assert_eq!(some.line("SK.NEXT b:1"), "*-1|");
        assert_eq!(some.line("SK.DELRANGE - +"), ":2|");
        assert_eq!(admin.line("SK.RANGE - + NOVALUES"), "*2|$3|b:1|$3|c:1|");
        let mut none = server.connect();
        assert_eq!(none.line("AUTH none x"), "+OK|");
        assert!(none.line("SK.RANGE - +").starts_with("-NOPERM"));
        assert_eq!(none.line("SK.COUNT - +"), ":2|");
    });
}

/// The module must recognise a right to all keys. Only the rule `~*` gives it, in a set that allows
/// the command; a rule that looks like it must not count.
#[test]
fn a_right_to_all_keys_is_told_from_others() {
    over_each(|server| {
        let mut admin = server.connect();
        for key in ["a", "b", "~*"] {
            admin.line(&format!("SET {key} v"));
        }
        for (rules, expected) in [
            ("~* +@all", "*3|$1|a|$1|b|$2|~*|"),
            ("~~* +@all", "*1|$2|~*|"),
            ("%W~* +@all", "*0|"),
            ("%R~* +@all", "*3|$1|a|$1|b|$2|~*|"),
            ("~a ~* +@all", "*3|$1|a|$1|b|$2|~*|"),
            // A selector counts only if it allows the command, too.
            ("~a +@all (~b* +get)", "*1|$1|a|"),
            ("~a +@all (~b* +get +sk.range)", "*2|$1|a|$1|b|"),
            ("~* +get (~b* +sk.range)", "*1|$1|b|"),
            ("~b* +strlen (~a) +set +sk.range)", "*0|"),
            ("~b* +get (~* +sk.range)", "*3|$1|a|$1|b|$2|~*|"),
        ] {
            admin.send(&["ACL", "DELUSER", "one"]);
            admin.read();
            let words = rules.split(" (").enumerate().flat_map(|(part, rules)| {
                if part == 0 {
                    rules.split(' ').map(str::to_owned).collect()
                } else {
                    vec![format!("({rules}")]
                }
            });
            let words: Vec<String> = ["ACL", "SETUSER", "one", "on", "nopass"]
                .map(str::to_owned)
                .into_iter()
                .chain(words)
                .collect();
            assert_eq!(admin.ask(&words), "+OK|", "{rules}");
            let mut one = server.connect();
            assert_eq!(one.line("AUTH one x"), "+OK|");
            assert_eq!(one.line("SK.RANGE - + NOVALUES"), expected, "{rules}");
        }
    });
}

/// Incident: a user might remove keys by one selector, and had other keys by another selector.
/// Consequence: `SK.DELRANGE` removed keys that the user might only read. Fix: keys count only by
/// rules that allow the command.
#[test]
fn a_selector_for_other_commands_gives_no_keys() {
    over_each(|server| {
        let mut admin = server.connect();
        admin.line("MSET data:1 1 data:2 2 tmp:1 3");
        let user = ["ACL", "SETUSER", "one", "on", "nopass", "~data:*", "+set", "(+sk.delrange ~tmp:*)"];
        assert_eq!(admin.ask(&user), "+OK|");
        let mut one = server.connect();
        assert_eq!(one.line("AUTH one x"), "+OK|");
        assert_eq!(one.line("SK.DELRANGE - +"), ":1|");
        assert!(one.line("SK.COUNT - +").starts_with("-NOPERM"));
        assert_eq!(admin.line("SK.RANGE - + NOVALUES"), "*2|$6|data:1|$6|data:2|");
    });
}

/// Incident: a user without the right to read the first 20,000 keys waited 25 seconds for
/// `SK.RANGE - + LIMIT 1`, and 3 seconds for `SK.FIRST`. The reason: a slice checked no more names
/// than the number of requested keys. Fix: a slice continues while names are hidden.
#[test]
fn hidden_names_do_not_make_a_short_range_long() {
    over_each(|server| {
        let (mut admin, mut some) = (server.connect(), server.connect());
        admin.line("DEBUG POPULATE 900");
        admin.line("SET z v");
        admin.line("ACL SETUSER some on nopass ~z +@all");
        assert_eq!(some.line("AUTH some x"), "+OK|");
        for (request, reply) in [
            ("SK.RANGE - + LIMIT 1 NOVALUES", "*1|$1|z|"),
            ("SK.RANGE - + LIMIT 1", "*2|$1|z|$1|v|"),
            ("SK.RANGE - + LIMIT 2 NOVALUES REV", "*1|$1|z|"),
            ("SK.FIRST", "*2|$1|z|$1|v|"),
            ("SK.PREV z", "*-1|"),
        ] {
            some.send(&request.split(' ').collect::<Vec<_>>());
            // A command that fits one slice blocks no client.
            for _ in 0..20 {
                let clients = admin.line("INFO clients");
                assert!(clients.contains("blocked_clients:0|"), "{request} takes several slices");
            }
            assert_eq!(String::from_utf8_lossy(&some.read()).replace("\r\n", "|"), reply, "{request}");
        }
    });
}
