//! The defects that Redis and Valkey mended in their copies of Lua 5.1, and in their use of it.

use super::Scripts;

/// Runs a script, which must end with a reply that has this text. Then the engine must be usable.
fn replies(source: &str, expected: &str) {
    let mut scripts = Scripts::new();
    let reply = scripts.run(source);
    assert!(reply.contains(expected), "{source}: {reply}");
    scripts.check();
}

/// Incident: `EVAL_RO "return {unpack({1,2,3},0,2147483647)}" 0` (CVE-2025-46817). Consequence: the
/// number of results wrapped, and Lua wrote behind its stack. Fix: `skein-lua` counts without a
/// wrap.
#[test]
fn cve_2025_46817_unpack_counts_without_a_wrap() {
    for range in [
        "0, 2147483647",
        "-2147483648, 2147483647",
        "-2147483648, -1",
        "-1, 2147483646",
        "1, 8000",
        "1, 1e300",
        "-1e300, 1e300",
        "0/0, 1/0",
        "2147483640, 2147483647 + 8000",
    ] {
        let mut scripts = Scripts::new();
        let reply = scripts.run(&format!("return {{unpack({{1,2,3}}, {range})}}"));
        assert!(reply.contains("too many results to unpack") || reply == "*0", "{range}: {reply}");
        scripts.check();
    }
    replies("return select('#', unpack({}, 1, 7000))", "7000");
    replies("return select('#', unpack({}, 2147483647, 2147483647))", "1");
    replies("return #{unpack({1, 2, 3}, -1, 3)}", "5");
}

/// CVE-2025-49844: the collector freed the name of a chunk while the parser used it. A script that
/// compiles chunks of new names runs the collector all the time.
#[test]
fn cve_2025_49844_the_name_of_a_chunk_outlives_its_parser() {
    replies(
        "for i = 1, 300 do
           local name = '=' .. ('n'):rep(40) .. i
           local parts = {'return ', 'function() error(\"x\") end', ''}
           local f = load(function() collectgarbage() return table.remove(parts, 1) end, name)
           collectgarbage()
           local ok, e = pcall(f())
           assert(e == name:sub(2, 1000) .. ':1: x', e)
           local _, fault = loadstring('x x', '@' .. ('m'):rep(30) .. i)
           assert(fault:find('m' .. i .. ':1:', 1, true), fault)
         end
         return 'named'",
        "named",
    );
}

/// CVE-2025-46819: the length of the delimiter of a long string wrapped. A text that could reach
/// this is longer than any request; shorter ones must be read correctly.
#[test]
fn cve_2025_46819_delimiters_of_long_strings_are_counted() {
    replies("local e = ('='):rep(1e6) return #loadstring('return [' .. e .. '[ab]' .. e .. ']')()", "2");
    for text in ["'[='", "'[' .. ('='):rep(1e6)", "'return [=[ ]=', '='", "'[=[' .. (']='):rep(1e5)"] {
        replies(&format!("return type(select(2, loadstring({text})))"), "string");
    }
}

/// CVE-2025-46818: scripts changed the metatables of basic types, which later scripts of other
/// users share.
#[test]
fn cve_2025_46818_metatables_of_basic_types_cannot_be_changed() {
    replies("getmetatable('').__index = function() return 'pwned' end", "Attempt to modify a readonly table");
    replies("getmetatable('').__add = function() return 'pwned' end", "Attempt to modify a readonly table");
    replies("rawset(getmetatable(''), '__index', {})", "Attempt to modify a readonly table");
    replies("setmetatable(getmetatable(''), {})", "Attempt to modify a readonly table");
    for value in ["1", "true", "print", "nil", "coroutine.create(pcall)", "cjson.null", "redis.call"] {
        let value = if value == "print" { "error" } else { value };
        replies(&format!("return tostring(getmetatable({value}))"), "nil");
        replies(&format!("return select(2, pcall(setmetatable, {value}, {{}}))"), "table expected");
    }
}

/// CVE-2024-46981: the collector freed values that destructors still used. Scripts have no
/// finalizers here, and an engine may end at any moment of a collection.
#[test]
fn cve_2024_46981_an_engine_ends_at_any_moment_of_a_collection() {
    replies("return type(newproxy)", "-ERR");
    for steps in 0..20 {
        let mut scripts = Scripts::new();
        let source = format!(
            "local kept = {{}}
             for i = 1, 200 do
               kept[i] = coroutine.wrap(function() local f = loadstring('return ' .. i) coroutine.yield(f) end)
               kept[i]()
               setmetatable({{}}, {{__gc = function() error('x') end, __mode = 'kv'}})
             end
             for i = 1, {steps} do collectgarbage('step', 1) end
             return pcall(redis.call, 'x')"
        );
        assert_eq!(scripts.run(&source), "1");
    }
}

/// CVE-2024-31449: a number of digits that overflows when it is negated.
#[test]
fn cve_2024_31449_tohex_takes_any_number_of_digits() {
    replies("return bit.tohex(65535, -2147483648)", "0000FFFF");
    replies("return bit.tohex(65535, 2147483647)", "0000ffff");
    replies("return bit.tohex(65535, 0) == ''", "1");
}

/// CVE-2022-24834 and CVE-2018-11218: lengths in `cjson` and `cmsgpack` overflowed. Ours are Rust.
#[test]
fn cve_2022_24834_cve_2018_11218_encoders_bound_lengths() {
    replies("local t = {} for i = 1, 15 do t = {t, t} end return #cjson.encode(t)", "163837");
    replies("local t = {} for i = 1, 1e5 do t[1] = {t[1]} end return cmsgpack.pack(t)", "");
    replies("return cmsgpack.unpack('\\221\\255\\255\\255\\255')", "-ERR");
    replies("return cmsgpack.unpack('\\223\\255\\255\\255\\255' .. ('\\1'):rep(100))", "-ERR");
    replies("return cmsgpack.unpack('\\219\\255\\255\\255\\255x')", "-ERR");
    replies("return cmsgpack.unpack_limit('\\1', 2147483647, 2147483647)", "-ERR");
    replies("return cmsgpack.unpack_one('\\1', -2147483648)", "-ERR");
    replies("return cjson.decode(('['):rep(1e6))", "-ERR");
}

/// CVE-2018-11219 and CVE-2020-14147: sizes in the formats of `struct` overflowed. Ours is Rust.
#[test]
fn cve_2018_11219_cve_2020_14147_struct_bounds_sizes() {
    for call in [
        "pack('>I2147483648', 10)",
        "pack('I99999999999999999999', 1)",
        "pack('!99999999999', 1)",
        "unpack('c2147483647', 'x')",
        "unpack('c99999999999999999999', 'x')",
        "unpack('i4', 'xxxx', 2147483647)",
        "unpack('i4', 'xxxx', -2147483648)",
        "unpack('s', 'xxxx', 1e300)",
        "size('c2147483647c2147483647')",
        "size(('c2147483647'):rep(1000))",
        "pack('c0', 1)",
    ] {
        replies(&format!("local ok, e = pcall(function() return struct.{call} end) return type(e)"), "");
    }
}

/// CVE-2022-0543: `package` gave access to the system.
#[test]
fn cve_2022_0543_nothing_leads_to_the_system() {
    for name in [
        "package", "require", "module", "io", "os", "dofile", "loadfile", "debug", "getfenv", "setfenv",
        "print",
    ] {
        replies(&format!("return tostring(rawget(_G, '{name}'))"), "nil");
    }
}

/// CVE-2015-4335: compiled chunks break Lua itself.
#[test]
fn cve_2015_4335_compiled_chunks_are_refused() {
    replies("return select(2, loadstring(string.dump(function() end)))", "attempt to load a binary chunk");
    replies(
        "local text = string.dump(function() end)
         return select(2, load(function() local part = text:sub(1, 1) text = text:sub(2) return part end))",
        "attempt to load a binary chunk",
    );
    replies("\u{1b}Lua", "attempt to load a binary chunk");
}

/// CVE-2014-5461: a function with many parameters, called with few arguments near the end of the
/// stack.
#[test]
fn cve_2014_5461_parameters_fit_on_the_stack() {
    replies(
        "local names = {} for i = 1, 199 do names[i] = 'p' .. i end
         local f = loadstring('local f = ... return function(' .. table.concat(names, ',') .. ', ...) return f() end')
         local function nested(n)
           if n == 0 then return 1 end
           return f(function() return nested(n - 1) + 1 end)()
         end
         for depth = 1, 150, 3 do nested(depth) end
         return 'fits'",
        "fits",
    );
}

/// CVE-2021-32626: replies and arguments overflowed Lua's stack.
#[test]
fn cve_2021_32626_replies_and_arguments_fit_on_the_stack() {
    let mut scripts = Scripts::new();
    let nested = "*1\r\n".repeat(20_000) + ":1\r\n";
    let reply = scripts.run_with("return redis.call('x', ARGV[1])", &[nested.as_bytes()]);
    assert!(reply.starts_with("-ERR"), "{reply}");
    scripts.check();
    let attributes = "|1\r\n:1\r\n".repeat(20_000) + ":1\r\n:1\r\n";
    let reply = scripts.run_with("return redis.call('x', ARGV[1])", &[attributes.as_bytes()]);
    assert!(reply.starts_with("-ERR"), "{reply}");
    scripts.check();
    replies(
        "local t = {} for i = 1, 7990 do t[i] = 'x' end t[2] = ':7\\r\\n' return redis.call(unpack(t))",
        "7",
    );
    replies(
        "local t = {} for i = 1, 7000 do t[i] = i end return #{redis.pcall('x', '*-1\\r\\n', unpack(t))}",
        "1",
    );
}

/// CVE-2022-24736: an error without a text was followed to nowhere.
#[test]
fn cve_2022_24736_errors_may_be_anything() {
    for value in [
        "{}",
        "nil",
        "{err = 1}",
        "{err = {}}",
        "true",
        "redis",
        "_G",
        "error",
        "setmetatable({}, {__index = error})",
    ] {
        replies(&format!("error({value})"), "-");
        replies(&format!("return pcall(error, {value})"), "nil");
    }
}

/// Redis #9449, Valkey #1168: long strings that differ in few bytes had one hash.
#[test]
fn long_strings_do_not_collide() {
    let mut scripts = Scripts::new();
    scripts.host.ticks_left = Some(2_000);
    let reply = scripts.run(
        "local t, filler = {}, ('x'):rep(200)
         for i = 1, 20000 do
           local s = filler .. ('%06d'):format(i) .. filler
           t[s] = i
         end
         return t[filler .. '000007' .. filler]",
    );
    assert_eq!(reply, "7");
}

/// `#` of a table with distant elements is a border, found soon.
#[test]
fn the_length_of_any_table_is_found() {
    let mut scripts = Scripts::new();
    scripts.host.ticks_left = Some(200);
    let reply = scripts.run(
        "local t = {} for i = 0, 31 do t[2 ^ i] = true end
         for i = 1, 1000 do local n = #t assert(t[n] ~= nil and t[n + 1] == nil) end
         t[2147483647] = true
         return #t > 0",
    );
    assert_eq!(reply, "1");
}
