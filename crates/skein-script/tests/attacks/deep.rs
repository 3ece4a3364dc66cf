//! Deep everything, on a stack of the size that workers have.

use super::Scripts;

/// Each script nests calls as deep as it can, in C functions of Lua, in functions of Rust, in the
/// compiler or in a codec. It ends with a value or an error.
const DEEP: [&str; 26] = [
    "local function f() return pcall(f) end return tostring(f())",
    "local function f() return xpcall(f, f) end return tostring(f())",
    "local function f() return xpcall(error, f) end return tostring(f())",
    "local function f(e) error(e) end return tostring(xpcall(f, f))",
    "local function f(s) return (s:gsub('.', f)) end return f('x')",
    "local function f() table.sort({3, 2, 1}, f) end f()",
    "local function f() table.foreach({1}, f) end f()",
    "table.sort({5, 3, 4, 1, 2, 9, 7, 8}, function() return true end)",
    "local t = {} for i = 1, 1e4 do t[i] = i * 7919 % 10007 end table.sort(t, function(a, b) return a % 3 <= b % 5 end)",
    "local t = setmetatable({}, {}) getmetatable(t).__index = function(_, k) return t[k + 1] end return t[1]",
    "local t = setmetatable({}, {}) getmetatable(t).__index = t return t.x",
    "local t = setmetatable({}, {}) getmetatable(t).__newindex = t t.x = 1",
    "local t = setmetatable({}, {}) getmetatable(t).__call = t return t()",
    "local t = setmetatable({}, {}) getmetatable(t).__tostring = tostring return tostring(t)",
    "local t = setmetatable({}, {}) getmetatable(t).__concat = function(a, b) return a .. b end return t .. t",
    "local t = setmetatable({}, {}) getmetatable(t).__lt = function(a, b) return a < b end return t < t",
    "local function f() return coroutine.wrap(f)() end return f()",
    "local function f() return coroutine.resume(coroutine.create(f)) end return tostring(f())",
    "local s = 'return 1' for i = 1, 300 do s = 'return loadstring(' .. ('%q'):format(s) .. ')()' if #s > 1e6 then break end end return loadstring(s)()",
    "local function f() return load(function() f() end) end return tostring(f())",
    "return tostring(loadstring('return ' .. ('('):rep(1e5) .. '1' .. (')'):rep(1e5)))",
    "return tostring(loadstring('return ' .. ('{'):rep(1e5) .. ('}'):rep(1e5)))",
    "return tostring(loadstring(('function f() '):rep(1e4) .. ('end '):rep(1e4)))",
    "return tostring(loadstring('return ' .. ('-'):rep(1e5) .. '1')) .. tostring(loadstring('return ' .. ('a..'):rep(1e5) .. 'a'))",
    "local t = {} for i = 1, 1e5 do t = {t} end return {pcall(cjson.encode, t), pcall(cmsgpack.pack, t), pcall(cjson.decode, ('['):rep(1e5)), pcall(cmsgpack.unpack, ('\\145'):rep(1e5))}",
    "local t = {} t[1] = t return {pcall(cjson.encode, t), pcall(cmsgpack.pack, t), t}",
];

fn go_deep() {
    for source in DEEP {
        let mut scripts = Scripts::new();
        scripts.host.ticks_left = Some(1_000);
        let reply = scripts.run(source);
        assert!(!reply.is_empty(), "{source}");
        scripts.check();
    }
    // The same from as deep as C calls can be nested.
    for source in DEEP {
        let mut scripts = Scripts::new();
        scripts.host.ticks_left = Some(1_000);
        let deeper = format!(
            "local function attack() {source} end
             local function deeper(n) if n == 0 then return attack() end return pcall(deeper, n - 1) end
             for n = 30, 60, 5 do deeper(n) end
             return 'deep'"
        );
        let reply = scripts.run(&deeper);
        assert!(!reply.is_empty(), "{source}");
        scripts.check();
    }
}

/// Incident: workers had a stack of the system's default size, and no constant named the size that
/// scripts need. Consequence: deep calls could overflow it, which ends the process. Fix: workers
/// have [`skein_script::STACK_SIZE`], and this test runs on a quarter of it.
#[test]
fn deep_scripts_need_less_than_the_stack_of_a_worker() {
    let quarter = std::thread::Builder::new().stack_size(skein_script::STACK_SIZE / 4);
    quarter.spawn(go_deep).unwrap().join().unwrap();
}
