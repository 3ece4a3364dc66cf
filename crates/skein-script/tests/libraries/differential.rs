//! Compares the libraries with those of a real `redis-server` on random expressions.
//!
//! ```text
//! redis-server --port 7001 --save "" &
//! SKEIN_GOLDEN_REDIS=127.0.0.1:7001 PROPTEST_CASES=100000 \
//!     cargo test -p skein-script --test libraries differential -- --ignored
//! ```

use std::cell::RefCell;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::TestRunner;

use crate::golden::{RedisScripts, evaluate, prelude};
use crate::state;

const BIT_FUNCTIONS: [&str; 12] = [
    "bit.band",
    "bit.bor",
    "bit.bxor",
    "bit.lshift",
    "bit.rshift",
    "bit.arshift",
    "bit.rol",
    "bit.ror",
    "bit.tohex",
    "bit.bnot",
    "bit.bswap",
    "bit.tobit",
];

const JSON_OPTIONS: [&str; 7] = [
    "cjson.encode_max_depth",
    "cjson.decode_max_depth",
    "cjson.encode_number_precision",
    "cjson.encode_keep_buffer",
    "cjson.encode_invalid_numbers",
    "cjson.decode_invalid_numbers",
    "cjson.encode_sparse_array",
];

/// Returns bytes as a string of Lua.
fn quoted(bytes: impl AsRef<[u8]>) -> String {
    let escaped: Vec<_> = bytes.as_ref().iter().map(|byte| format!("\\{byte:03}")).collect();
    format!("'{}'", escaped.concat())
}

fn number() -> impl Strategy<Value = String> {
    let special = select(vec![
        "0", "-1", "255", "256", "2^31", "2^32", "2^53", "2^63", "-2^63", "2^64", "1e300", "-1e300", "0.5",
        "1.5", "2.5", "-0.5", "1/0", "-1/0", "1e14", "1e15", "0.1", "-0",
    ]);
    prop_oneof![
        special.prop_map(str::to_owned),
        any::<i32>().prop_map(|number| number.to_string()),
        any::<i64>().prop_map(|number| number.to_string()),
        (any::<i32>(), -30..30).prop_map(|(digits, exponent)| format!("{digits}e{exponent}")),
    ]
}

fn bytes() -> impl Strategy<Value = String> {
    let heads = select((0x80..=0xe0_u8).collect::<Vec<_>>());
    vec(prop_oneof![any::<u8>(), heads, 0..4_u8], 0..40).prop_map(quoted)
}

fn value() -> impl Strategy<Value = String> {
    let constants = select(vec!["true", "false", "nil", "cjson.null", "cjson.encode"]);
    let leaf = prop_oneof![4 => number(), 2 => constants.prop_map(str::to_owned), 3 => bytes()];
    leaf.prop_recursive(4, 40, 5, |inner| {
        let key =
            select(vec!["1", "2", "3", "4", "12", "0", "-1", "1.5", "2^31", "2^53", "'a'", "'b'", "true"]);
        let field = (key, inner.clone()).prop_map(|(key, value)| format!("[{key}]={value}"));
        prop_oneof![vec(inner, 0..5), vec(field, 0..5)].prop_map(|fields| format!("{{{}}}", fields.join(",")))
    })
}

fn json() -> impl Strategy<Value = String> {
    let tokens = select(vec![
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"a\"",
        "\"b\":1",
        "\"",
        "1",
        "-1",
        "01",
        "0x1f",
        "1e5",
        "1.5",
        ".5",
        "-",
        "+",
        "nan",
        "inf",
        "-Infinity",
        "true",
        "false",
        "null",
        "tru",
        " ",
        "\t",
        "\n",
        "\\u0041",
        "\"\\ud83d\\ude00\"",
        "\"\\u00e4\"",
        "\"\\n\"",
        "\"\\x\"",
        "\0",
        "e",
        ".",
        "0x1.8p3",
        "[1,2]",
        "{\"a\":[]}",
        "1e-320",
        "12345678901234567890",
        "nan(x)",
        "0x",
    ]);
    vec(tokens, 0..9).prop_map(|tokens| quoted(tokens.concat()))
}

fn format() -> impl Strategy<Value = String> {
    let options = select(vec![
        "b", "B", "h", "H", "i", "I", "l", "L", "T", "f", "d", "s", "c", "c0", "c3", "x", "!", "!4", "!2",
        "!16", "<", ">", " ", "i3", "I5", "i8", "i9", "i16", "i12", "z", "?", "i0", "7",
    ]);
    vec(options, 0..7).prop_map(|options| quoted(options.concat()))
}

/// Arguments, some of the wrong type.
fn arguments(count: usize) -> impl Strategy<Value = String> {
    let others =
        select(vec!["nil", "{}", "true", "'1'", "'0x10'", "' 5 '", "'x'", "'abc'", "'on'", "'null'"]);
    vec(prop_oneof![3 => number(), 1 => others.prop_map(str::to_owned)], 0..=count)
        .prop_map(|arguments| arguments.join(","))
}

/// Returns a call with the arguments `first` and up to `count` others.
fn call(names: &[&str], first: impl Strategy<Value = String>, count: usize) -> impl Strategy<Value = String> {
    let names = names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    (select(names), first, arguments(count)).prop_map(|(name, first, others)| {
        let separator = if others.is_empty() || first.is_empty() { "" } else { "," };
        format!("{name}({first}{separator}{others})")
    })
}

fn expression() -> impl Strategy<Value = String> {
    let nothing = || Just(String::new());
    let unpacked = (format(), bytes()).prop_map(|(format, data)| format!("{format},{data}"));
    let sparse = "cjson.encode_sparse_array(true, 2, 5), cjson.encode_invalid_numbers('null')";
    prop_oneof![
        call(&["cjson.encode", "cmsgpack.pack"], value(), 0),
        value().prop_map(move |value| format!("{sparse}, cjson.encode({value})")),
        call(&["cjson.decode"], json(), 0),
        json().prop_map(|text| format!("cjson.decode_invalid_numbers(false), cjson.decode({text})")),
        call(&["cmsgpack.unpack", "cmsgpack.unpack_one", "cmsgpack.unpack_limit"], bytes(), 2),
        call(&["struct.pack", "struct.size"], format(), 7),
        call(&["struct.unpack"], unpacked, 1),
        call(&BIT_FUNCTIONS, nothing(), 3),
        call(&JSON_OPTIONS, nothing(), 4),
    ]
}

#[test]
#[ignore = "asks a real redis-server, see above"]
fn random_expressions_have_the_results_of_redis() {
    let (lua, prelude) = (state(), prelude());
    let redis = RefCell::new(RedisScripts::connect());
    let run = TestRunner::default().run(&expression(), |expression| {
        let expected = redis.borrow_mut().evaluate(&prelude, &expression);
        prop_assert_eq!(evaluate(&lua, &prelude, &expression), expected, "{}", expression);
        Ok(())
    });
    run.unwrap_or_else(|error| panic!("{error}"));
}
