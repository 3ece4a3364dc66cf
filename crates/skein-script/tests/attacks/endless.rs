//! Single calls that take long: the host's tick stops each of them.

use super::Scripts;

/// Stops a script after three ticks. Without an interruption the test does not end.
fn is_stopped(source: &str) {
    let mut scripts = Scripts::new();
    scripts.host.ticks_left = Some(3);
    let reply = scripts.run(source);
    assert!(reply.starts_with("-ERR stopped") || reply.contains(": ERR stopped"), "{source}: {reply}");
    assert_eq!(scripts.host.ticks_left, Some(0), "{source}");
    scripts.check();
}

/// Incident: `table.insert({}, -2147483648, 1)`. Consequence: one call of a C function ran for
/// minutes, and neither SCRIPT KILL nor `--max-script-time` reached it. Fix: C functions count
/// work.
#[test]
fn calls_of_table_functions_are_interrupted() {
    for source in [
        "table.insert({}, -2147483648, 1)",
        "local t = {} for i = 1, 1e5 do t[i] = i % 7 end while true do table.sort(t) end",
        "local t = {} for i = 1, 3e4 do t[i] = ('x'):rep(50) .. i % 7 end while true do table.sort(t) end",
        "local t = {} for i = 1, 1e5 do t[i] = i end while true do table.sort(t, rawequal) end",
        "local t = {} for i = 1, 1e5 do t[i] = 'x' end while true do table.concat(t) end",
        "local t = {} for i = 1, 1e5 do t[i] = 'x' end while true do table.maxn(t) end",
        "local t = {} for i = 1, 1e5 do t[i] = 'x' end while true do table.foreachi(t, rawequal) end",
        "local t = {} for i = 1, 1e5 do t[i] = 'x' end while true do table.foreach(t, function() end) end",
        "local t = {} for i = 1, 1e5 do t[i] = 'x' end while true do t[1e5] = 1 table.remove(t, 1) end",
        "local t = {} for i = 1, 1e5 do t[i + 0.5] = 1 end for k in pairs(t) do t[k] = nil end while true do next(t) end",
        "local t, i = {}, 0 for i = 1, 2 ^ 16 do t[i + 0.5] = 1 end
         while true do i = i + 1 t[i + 0.5] = nil t[i + 70000.5] = 1 end",
    ] {
        is_stopped(source);
    }
}

#[test]
fn calls_of_string_functions_are_interrupted() {
    for source in [
        "while true do string.rep('x', 5e6) end",
        "while true do string.rep('', 2147483647) end",
        "local s = ('x'):rep(5e6) while true do local _ = s .. 'y' end",
        "local s = ('x'):rep(5e6) while true do s:upper() end",
        "local s = ('x'):rep(5e6) while true do s:reverse() end",
        "local s, i = ('x'):rep(5e6), 0 while true do i = i % 1000 + 1 s:sub(i) end",
        "local s = ('x'):rep(5e5) while true do ('%q'):format(s) end",
        "local s = ('1'):rep(5e6) while true do tonumber(s) end",
        "local s = ('1'):rep(5e6) while true do tonumber(s, 16) end",
        "local s = (' '):rep(5e6) .. '1' while true do local _ = s + 1 end",
        "local a = ('x'):rep(5e6) local b = a .. 'y' while true do local _ = a < b end",
        "local a = ('\\0'):rep(5e5) local b = a .. 'y' while true do local _ = a <= b end",
        "string.find(('a'):rep(200), ('a*'):rep(100) .. 'b')",
        "local s = ('a'):rep(5e6) while true do s:find('b', 1, true) end",
        "while true do (('a'):rep(1e6)):gsub('a', 'b') end",
    ] {
        is_stopped(source);
    }
}

/// Incident: every coroutine began a count of instructions of its own. Consequence: nested
/// coroutines never reached a tick, so nothing stopped them. Fix: the count follows control into
/// the coroutine.
#[test]
fn coroutines_and_collections_are_interrupted() {
    for source in [
        "local function nested(n)
           if n == 0 then for i = 1, 30000 do end return end
           for i = 1, 9000 do coroutine.wrap(nested)(n - 1) end
         end
         while true do nested(3) end",
        "local t = {} for i = 1, 1e5 do t[i] = {} end while true do collectgarbage() end",
        "local t = {} for i = 1, 1e5 do t[i] = {} end while true do collectgarbage('step', 1e9) end",
        "local function grow(...) return grow(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, ...) end grow()",
    ] {
        let mut scripts = Scripts::new();
        scripts.host.ticks_left = Some(3);
        let reply = scripts.run(source);
        // Growing arguments may use up the memory first.
        assert!(reply.contains("ERR stopped") || reply.contains("max-script-memory"), "{source}: {reply}");
        scripts.check();
    }
}

/// Incident: a text of a few hundred kilobytes took minutes to compile, because a chain of `or`
/// costs the square of its length. Consequence: nothing stopped the compiler. Fix: its work has a
/// bound, and counts.
#[test]
fn compiling_is_bounded_and_interrupted() {
    let costly = format!("return a{}", " or a".repeat(40_000));
    let mut scripts = Scripts::new();
    let reply = scripts.run(&costly);
    assert!(reply.contains("takes too long to compile"), "{reply}");
    scripts.check();
    let ordinary = format!("local a = false return a{}", " or a".repeat(2_000));
    assert_eq!(scripts.run(&ordinary), "nil");
    is_stopped(
        "local s = ('local a = 1 '):rep(100) while true do loadstring(('do ' .. s .. 'end '):rep(100)) end",
    );
    is_stopped("local s = 'return a' .. (' or a'):rep(5000) while true do loadstring(s) end");
}

/// Incident: each call of a library began a count of its own, and a command counted as one
/// instruction. Consequence: `while true do struct.size(format) end` and loops of BITCOUNT or KEYS
/// blocked all clients for minutes, and SCRIPT KILL and `--max-script-time` took effect late. Fix:
/// all calls share one count, results and formats count, and so does the time of commands.
#[test]
fn loops_of_calls_are_interrupted_by_their_work() {
    for source in [
        "while true do redis.call('slow') end",
        "while true do redis.pcall('slow') end",
        "local f = ('i'):rep(5e6) while true do struct.size(f) end",
        "local f = ('1'):rep(5e6) while true do pcall(struct.size, 'i' .. f) end",
        "local s = ('x'):rep(5e6) while true do pcall(struct.unpack, 's', s) end",
        "local s = ('x'):rep(5e6) while true do struct.unpack('c5000000', s) end",
        "local s = ('x'):rep(5e6) while true do struct.pack('c0', s) end",
        "local s = ('x'):rep(2e3) while true do struct.unpack(('b'):rep(2e3), s) end",
        "local s = cmsgpack.pack(0):rep(7e3) while true do cmsgpack.unpack(s) end",
        "local t = {} for i = 1, 7e3 do t[i] = i end while true do unpack(t) end",
        "local s = ('x'):rep(7e3) while true do s:byte(1, -1) end",
        "local f = ('%99.99f'):rep(3e3) local t = {} for i = 1, 3e3 do t[i] = 1e308 end
         while true do f:format(unpack(t)) end",
        "local t = {} for i = 1, 90 do t = setmetatable({}, { __newindex = t }) end while true do t.x = nil end",
        "local t = {} for i = 1, 90 do t = setmetatable({}, { __index = t }) end while true do local _ = t.x end",
    ] {
        let mut scripts = Scripts::new();
        scripts.host.ticks_left = Some(3);
        let began = std::time::Instant::now();
        let reply = scripts.run(source);
        assert!(reply.contains("ERR stopped"), "{source}: {reply}");
        assert!(scripts.host.calls < 10, "{source} has called {} times", scripts.host.calls);
        // A hundred times the time of four ticks, on a slow machine without optimization.
        assert!(began.elapsed().as_secs() < 10, "{source} was stopped after {:?}", began.elapsed());
        scripts.check();
    }
}
