//! Properties of the libraries, over random values and random bytes.

#![allow(clippy::cast_precision_loss, clippy::float_cmp, reason = "numbers survive exactly")]

use mlua::{Function, Lua, LuaString, MultiValue, Result, Table, Value};
use proptest::prelude::*;
use skein_script::libraries::number::format_g;

use crate::state;

/// A value that both formats have.
#[derive(Clone, Debug, PartialEq)]
enum Document {
    Boolean(bool),
    Number(f64),
    Text(Vec<u8>),
    Array(Vec<Document>),
    /// Without the empty one, which is an array in Lua.
    Object(Vec<(Vec<u8>, Document)>),
}

impl Document {
    fn to_lua(&self, lua: &Lua) -> Result<Value> {
        Ok(match self {
            Document::Boolean(value) => Value::Boolean(*value),
            Document::Number(value) => Value::Number(*value),
            Document::Text(text) => Value::String(lua.create_string(text)?),
            Document::Array(elements) => {
                let table = lua.create_table()?;
                for element in elements {
                    table.raw_push(element.to_lua(lua)?)?;
                }
                Value::Table(table)
            }
            Document::Object(fields) => {
                let table = lua.create_table()?;
                for (key, value) in fields {
                    table.raw_set(lua.create_string(key)?, value.to_lua(lua)?)?;
                }
                Value::Table(table)
            }
        })
    }

    /// Whether a value of Lua is this document.
    fn matches(&self, value: &Value) -> Result<bool> {
        Ok(match (self, value) {
            (Document::Boolean(expected), Value::Boolean(value)) => expected == value,
            (Document::Number(expected), Value::Integer(value)) => *expected == *value as f64,
            (Document::Number(expected), Value::Number(value)) => expected == value,
            (Document::Text(expected), Value::String(text)) => *expected == text.as_bytes().to_vec(),
            (Document::Array(expected), Value::Table(table)) => {
                let elements = table.sequence_values().collect::<Result<Vec<Value>>>()?;
                let mut all = expected.len() == elements.len();
                for (expected, element) in expected.iter().zip(&elements) {
                    all &= expected.matches(element)?;
                }
                all && count(table)? == expected.len()
            }
            (Document::Object(expected), Value::Table(table)) => {
                let mut all = count(table)? == expected.len();
                for (key, expected) in expected {
                    let lua = table.weak_lua().upgrade();
                    all &= expected.matches(&table.raw_get(lua.create_string(key)?)?)?;
                }
                all
            }
            _ => false,
        })
    }
}

fn count(table: &Table) -> Result<usize> {
    let mut count = 0;
    table.for_each(|_: Value, _: Value| {
        count += 1;
        Ok(())
    })?;
    Ok(count)
}

/// Numbers of at most 14 digits, so that JSON keeps them.
fn short_number() -> impl Strategy<Value = f64> {
    (-99_999_999_i64..=99_999_999, -20..=20)
        .prop_map(|(digits, exponent)| format!("{digits}e{exponent}").parse().expect("a number"))
}

fn document(number: impl Strategy<Value = f64> + 'static) -> impl Strategy<Value = Document> {
    let text = || proptest::collection::vec(any::<u8>(), 0..40);
    let leaf = prop_oneof![
        any::<bool>().prop_map(Document::Boolean),
        number.prop_map(Document::Number),
        text().prop_map(Document::Text),
    ];
    leaf.prop_recursive(6, 200, 20, move |inner| {
        let fields = proptest::collection::btree_map(text(), inner.clone(), 1..20);
        prop_oneof![
            proptest::collection::vec(inner, 0..20).prop_map(Document::Array),
            fields.prop_map(|fields| Document::Object(fields.into_iter().collect())),
        ]
    })
}

fn function(lua: &Lua, name: &str) -> Function {
    lua.load(name).eval().unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Returns whether the document survives `there` and `back`.
fn survives(lua: &Lua, document: &Document, there: &str, back: &str) -> Result<bool> {
    let encoded: LuaString = function(lua, there).call(document.to_lua(lua)?)?;
    document.matches(&function(lua, back).call(encoded)?)
}

/// Calls a function, which must not panic. Its errors have texts.
fn call(lua: &Lua, name: &str, arguments: MultiValue) -> Option<MultiValue> {
    match function(lua, name).call(arguments) {
        Ok(results) => Some(results),
        Err(error) => {
            assert!(matches!(error, mlua::Error::CallbackError { .. }), "{name}: {error}");
            None
        }
    }
}

proptest! {
    #[test]
    fn json_keeps_documents(document in document(short_number())) {
        let lua = state();
        prop_assert!(survives(&lua, &document, "cjson.encode", "cjson.decode").expect("no error"));
    }

    #[test]
    fn msgpack_keeps_documents(document in document(any::<f64>().prop_filter("a number", |n| !n.is_nan()))) {
        let lua = state();
        prop_assert!(survives(&lua, &document, "cmsgpack.pack", "cmsgpack.unpack").expect("no error"));
    }

    /// Every decoded value has a text, and the text decodes to a value of the same text.
    #[test]
    fn any_text_decodes_or_fails(text in r#"[ \[\]{}:,"0-9a-z\\.+-]{0,40}"#) {
        let lua = state();
        let text = lua.create_string(text).expect("a string");
        if let Some(values) = call(&lua, "cjson.decode", MultiValue::from_iter([Value::String(text)])) {
            call(&lua, "cjson.encode_invalid_numbers", MultiValue::from_iter([Value::Boolean(true)]));
            call(&lua, "cjson.encode_sparse_array", MultiValue::from_iter([Value::Boolean(true)]));
            let encode = |values| call(&lua, "cjson.encode", values).expect("a text");
            let first = encode(values);
            let again = call(&lua, "cjson.decode", first.clone()).expect("our own text");
            prop_assert_eq!(format!("{:?}", encode(again)), format!("{first:?}"));
        }
    }

    #[test]
    fn any_bytes_decode_or_fail(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let lua = state();
        let bytes = Value::String(lua.create_string(bytes).expect("a string"));
        for name in ["cjson.decode", "cmsgpack.unpack", "cmsgpack.unpack_one", "struct.size"] {
            call(&lua, name, MultiValue::from_iter([bytes.clone()]));
        }
    }

    #[test]
    fn any_offset_and_limit_unpacks_or_fails(
        bytes in proptest::collection::vec(any::<u8>(), 0..50), offset in any::<f64>(), limit in -2..60_i64,
    ) {
        let lua = state();
        let bytes = Value::String(lua.create_string(bytes).expect("a string"));
        for offset in [Value::Number(offset), Value::Integer(limit / 2)] {
            call(&lua, "cmsgpack.unpack_one", MultiValue::from_iter([bytes.clone(), offset.clone()]));
            let arguments = [bytes.clone(), Value::Integer(limit), offset];
            call(&lua, "cmsgpack.unpack_limit", MultiValue::from_iter(arguments));
        }
    }

    #[test]
    fn any_format_unpacks_or_fails(
        format in "[bBhHiIlLTfdscx!<> 0-9]{0,12}", bytes in proptest::collection::vec(any::<u8>(), 0..60),
        position in prop_oneof![-3_i64..70, any::<i64>()],
    ) {
        let lua = state();
        let format = Value::String(lua.create_string(format).expect("a string"));
        let bytes = Value::String(lua.create_string(bytes).expect("a string"));
        call(&lua, "struct.size", MultiValue::from_iter([format.clone()]));
        call(&lua, "struct.unpack", MultiValue::from_iter([format.clone(), bytes, Value::Integer(position)]));
        let numbers = (0..12).map(|number| Value::Integer(number * 77 - 300));
        call(&lua, "struct.pack", std::iter::once(format).chain(numbers).collect());
    }

    #[test]
    fn struct_keeps_numbers_and_strings(
        big_endian in any::<bool>(), small in any::<i8>(), size in 1..=8_usize, wide in any::<i32>(),
        double in any::<f64>().prop_filter("a number", |n| !n.is_nan()),
        text in proptest::collection::vec(1..=255_u8, 0..30),
    ) {
        let lua = state();
        let order = if big_endian { '>' } else { '<' };
        // Sizes below four bytes cut the number off.
        let wide = wide >> (32 - 8 * size.min(4));
        let format = format!("{order}!4 b i{size} d s");
        let text = lua.create_string(text).expect("a string");
        let packed: LuaString =
            function(&lua, "struct.pack").call((&format[..], small, wide, double, &text)).expect("no error");
        let unpacked: (i8, i32, f64, LuaString, usize) =
            function(&lua, "struct.unpack").call((format, &packed)).expect("no error");
        prop_assert_eq!(unpacked, (small, wide, double, text, packed.as_bytes().len() + 1));
    }

    /// Lua prints numbers with C's `printf`.
    #[test]
    fn numbers_print_as_in_c(value in prop_oneof![any::<f64>(), short_number(), halves()], digits in 1..=17_usize) {
        let lua = Lua::new();
        let format: Function = function(&lua, "string.format");
        let expected: String = format.call((format!("%.{digits}g"), value)).expect("a text");
        prop_assert_eq!(format_g(value, digits), expected);
    }

    /// Lua converts texts to numbers with C's `strtod`.
    #[test]
    fn numbers_are_parsed_as_in_c(text in "-?[0-9]{1,20}(\\.[0-9]{0,20})?(e[+-]?[0-9]{1,3})?") {
        let lua = state();
        let expected: f64 = function(&lua, "tonumber").call(&text[..]).expect("a number");
        let decoded: f64 = function(&lua, "cjson.decode").call(&text[..]).expect("a number");
        prop_assert_eq!(decoded.to_bits(), expected.to_bits());
    }

    #[test]
    fn bits_are_those_of_integers(a in any::<i32>(), b in any::<i32>(), distance in 0..100_u32) {
        let lua = state();
        let call = |name: &str, a: i32, b: i64| function(&lua, name).call::<i32>((a, b)).expect("a number");
        prop_assert_eq!(call("bit.band", a, b.into()), a & b);
        prop_assert_eq!(call("bit.bor", a, b.into()), a | b);
        prop_assert_eq!(call("bit.bxor", a, b.into()), a ^ b);
        prop_assert_eq!(call("bit.lshift", a, distance.into()), a << (distance % 32));
        prop_assert_eq!(call("bit.arshift", a, distance.into()), a >> (distance % 32));
        prop_assert_eq!(call("bit.rol", a, distance.into()), a.rotate_left(distance % 32));
    }
}

/// Numbers that are exactly between two texts of fewer digits.
fn halves() -> impl Strategy<Value = f64> {
    (any::<i32>(), 1..=20_i32).prop_map(|(number, shift)| f64::from(number) * 2_f64.powi(-shift))
}

#[test]
fn depth_does_not_overflow_the_stack() {
    let deep = "cjson.encode_max_depth(2^31 - 1) cjson.decode_max_depth(2^31 - 1)
        local t = {} for _ = 1, 7000 do t = {t} end
        local m = {} for _ = 1, 3900 do m = {k = m} end
        assert(#cjson.encode(t) == 14002)
        assert(#cjson.encode(m) == 3900 * 6 + 2)
        assert(cjson.encode(cjson.decode(cjson.encode(m))) == cjson.encode(m))
        assert(cmsgpack.unpack(('\\145'):rep(3000) .. '\\144'))
        for _, open in ipairs {'[', '{\"k\":', '\\145', '\\129\\161k', '\\221\\255\\255\\255\\255'} do
            local text = open:rep(1000000)
            assert(not pcall(cjson.decode, text) and not pcall(cmsgpack.unpack, text))
        end";
    // Less than the stack of any thread that runs scripts.
    let thread = std::thread::Builder::new().stack_size(256 << 10);
    let run = thread.spawn(move || state().load(deep).exec().map_err(|error| error.to_string()));
    run.expect("a thread").join().expect("no panic").expect("no error");
}

/// Lua leaves our functions in the middle when it has no memory.
#[test]
fn running_out_of_memory_is_an_error() {
    let lua = state();
    lua.load(
        "json = '[' .. ('{\"key\":[\"text\",1]},'):rep(20000) .. '1]'
        value = cjson.decode(json) packed = cmsgpack.pack(value)",
    )
    .exec()
    .expect("enough memory");
    let limit = lua.used_memory() + (100 << 10);
    lua.set_memory_limit(limit).expect("a limit");
    for script in
        ["cjson.decode(json)", "cjson.encode(value)", "cmsgpack.unpack(packed)", "cmsgpack.pack(value)"]
    {
        let error = lua.load(script).exec().expect_err(script);
        assert!(error.to_string().contains("not enough memory"), "{script}: {error}");
    }
    lua.set_memory_limit(0).expect("no limit");
    lua.load("assert(#cjson.encode(cjson.decode(json)) == #json)").exec().expect("enough memory");
}

/// The stack of Lua has 8,000 slots, and mlua needs some of them.
#[test]
fn as_many_values_as_the_stack_holds_are_passed() {
    let lua = state();
    let calls = [
        "struct.pack(('s'):rep(#texts), unpack(texts))",
        "struct.unpack(('s'):rep(#texts), ('\\0'):rep(#texts))",
        "cmsgpack.pack(unpack(texts))",
        "cmsgpack.unpack(('\\160'):rep(#texts))",
        "cmsgpack.unpack_limit(('\\160'):rep(#texts), #texts)",
        "bit.band(unpack(numbers))",
    ];
    for count in [7900, 7990, 7996, 7997, 7998, 7999, 8000, 9000] {
        lua.load(
            "local count = ... texts, numbers = {}, {}
            for i = 1, count do texts[i] = '' numbers[i] = i end",
        )
        .call::<()>(count)
        .expect("tables");
        for call in calls {
            let result = lua.load(call).exec();
            assert!(result.is_ok() || count > 7900, "{call}: {result:?}");
            assert!(result.is_err() || count < 8000, "{call} of {count} values");
        }
    }
}

#[test]
fn options_end_with_a_reset() {
    let lua = state();
    let set = "cjson.encode_max_depth(1) cjson.decode_max_depth(1) cjson.encode_number_precision(1)
        cjson.encode_invalid_numbers('null') cjson.decode_invalid_numbers(false)
        cjson.encode_sparse_array(true, 1, 1) cjson.encode_keep_buffer(false)";
    let get = "local options = {cjson.encode_max_depth(), cjson.decode_max_depth(),
        cjson.encode_number_precision(), cjson.encode_invalid_numbers(), cjson.decode_invalid_numbers(),
        cjson.encode_keep_buffer(), cjson.encode_sparse_array()}
        for i, option in ipairs(options) do options[i] = tostring(option) end
        return table.concat(options, ' ')";
    let options = || lua.load(get).eval::<String>().expect("the options");
    let defaults = options();
    assert_eq!(defaults, "1000 1000 14 false true true false 2 10");
    lua.load(set).exec().expect("to set the options");
    assert_eq!(options(), "1 1 1 null false false true 1 1");
    skein_script::libraries::json::reset(&lua);
    assert_eq!(options(), defaults);
}
