-- The sandbox of scripts and functions. Runs once for each engine, before any script. Returns the
-- globals of scripts, the environment of libraries, and the functions that run either.
--
--   face ──__index──► contents        A library that scripts see is an empty table, its face. Reads
--     └──__newindex──► error          go to the contents, which no script can reach, and writes
--                                     fail.
--
-- The globals are a face, too. A function that writes past metatables (`table.insert`) can put a
-- value into a face; `run` removes it when the script ends.
--
-- A library of functions has an environment of its own, a face with two contents. While the library
-- loads, they are `loading_globals`; when its functions are called, `function_globals`.
--
-- `native` has functions of the engine: `visible` (what a script sees of a raised value), `stopped`,
-- `compile`, `register_function`, `strings` and `random` (what replaces functions of Lua's libraries).
-- `libraries` has those that Lua does not have.

local native, libraries = ...

local READ_ONLY = "Attempt to modify a readonly table"
local error, getinfo, next, rawget, rawset = error, debug.getinfo, next, rawget, rawset
local pcall, xpcall, select, setmetatable, tostring, type = pcall, xpcall, select, setmetatable, tostring, type
local ipairs, resume, concat = ipairs, coroutine.resume, table.concat
local visible, stopped, compile = native.visible, native.stopped, native.compile

local contents_of = {}

-- Raises what Lua says of an argument that is no table, at the line of the script.
local function check_table(name, value)
  if type(value) ~= "table" then
    error("bad argument #1 to '" .. name .. "' (table expected, got " .. type(value) .. ")", 3)
  end
end

local function refuse()
  error(READ_ONLY, 2)
end

local function face(contents, metatable)
  local made = setmetatable({}, { __index = contents, __newindex = refuse, __metatable = metatable or false })
  contents_of[made] = contents
  return made
end

-- Raises a value again if the script was stopped, so that no script outlives its end.
local function survives(raised)
  if stopped() then
    error(raised, 0)
  end
  return visible(raised)
end

-- As in Redis, `pcall` returns the text of an error that is a table.
local function settle(ok, ...)
  if ok then
    return true, ...
  end
  local raised = survives((...))
  if type(raised) == "table" and type(rawget(raised, "err")) == "string" then
    raised = raised.err
  end
  return false, raised
end

local function settle_handled(ok, ...)
  if not ok and stopped() then
    error((...), 0)
  end
  return ok, ...
end

local function settle_resumed(ok, ...)
  if ok then
    return true, ...
  end
  return false, survives((...))
end

-- Returns `loadstring` and `load`, whose chunks run in this environment; nil for that of scripts.
local function loaders(environment)
  local function load_text(code, name)
    if type(code) ~= "string" then
      error("bad argument #1 to 'loadstring' (string expected, got " .. type(code) .. ")", 3)
    end
    return compile(code, name or code, environment)
  end
  local function read_all(read)
    local parts = {}
    repeat
      local part = read()
      local kind = type(part)
      if kind ~= "string" and kind ~= "number" and part ~= nil then
        error("reader function must return a string", 0)
      end
      parts[#parts + 1] = part
    until part == nil or part == ""
    return concat(parts)
  end
  local function load(read, name)
    if type(read) ~= "function" then
      error("bad argument #1 to 'load' (function expected, got " .. type(read) .. ")", 3)
    end
    -- As in Lua, an error of the reader is returned.
    local ok, text = settle(pcall(read_all, read))
    if not ok then
      return nil, text
    end
    return load_text(text, name or "=(load)")
  end
  return load_text, load
end

local function missing(_, name)
  error("Script attempted to access nonexistent global variable '" .. tostring(name) .. "'", 2)
end

local globals = {
  _VERSION = _VERSION,
  assert = assert,
  collectgarbage = function(what)
    -- The other options would change the collector for later scripts.
    if what == nil or what == "collect" or what == "count" or what == "step" then
      return collectgarbage(what)
    end
    return 0
  end,
  error = error,
  gcinfo = gcinfo,
  getmetatable = getmetatable,
  ipairs = function(t)
    local contents = contents_of[t]
    if contents == nil then
      check_table("ipairs", t)
      return ipairs(t)
    end
    return function(_, at)
      local value = rawget(contents, at + 1)
      if value ~= nil then
        return at + 1, value
      end
    end, t, 0
  end,
  next = function(t, key)
    check_table("next", t)
    return next(contents_of[t] or t, key)
  end,
  pairs = function(t)
    check_table("pairs", t)
    local contents = contents_of[t]
    if contents == nil then
      return next, t, nil
    end
    -- The caller sees all that this returns, so the contents must not be among it.
    return function(_, key)
      return next(contents, key)
    end, t, nil
  end,
  pcall = function(...)
    return settle(pcall(...))
  end,
  rawequal = rawequal,
  rawget = function(t, key)
    return rawget(contents_of[t] or t, key)
  end,
  rawset = function(t, key, value)
    if contents_of[t] then
      error(READ_ONLY, 0)
    end
    return rawset(t, key, value)
  end,
  select = select,
  setmetatable = function(t, metatable)
    if contents_of[t] then
      error(READ_ONLY, 0)
    end
    return setmetatable(t, metatable)
  end,
  tonumber = tonumber,
  tostring = tostring,
  type = type,
  unpack = unpack,
  xpcall = function(called, handler)
    return settle_handled(xpcall(called, function(raised)
      if stopped() then
        return raised
      end
      return handler(visible(raised))
    end))
  end,
}

globals.loadstring, globals.load = loaders(nil)

local function copy(from)
  local to = {}
  for key, value in next, from do
    to[key] = value
  end
  return to
end

-- What `getmetatable` returns of the globals and of strings: as in Redis, a table that nobody can
-- change.
local locked = face({})

for _, name in ipairs({ "string", "math", "table", "coroutine" }) do
  libraries[name] = copy(_G[name])
end
-- The pattern functions of Lua would overflow the thread's stack.
for name, replacement in next, native.strings do
  libraries.string[name] = replacement
end
for name, replacement in next, native.random do
  libraries.math[name] = replacement
end
libraries.coroutine.resume = function(...)
  return settle_resumed(resume(...))
end
for name, library in next, libraries do
  globals[name] = face(library)
end

-- Methods of strings, as in ("x"):rep(3).
local of_strings = getmetatable("")
of_strings.__index = libraries.string
of_strings.__metatable = locked

-- What functions see: everything but the debugger and the switch of replication.
local environment = {}
local redis = libraries.redis
local function_globals = copy(globals)
function_globals.loadstring, function_globals.load = loaders(environment)
function_globals._G = environment
local function_redis = copy(redis)
function_redis.breakpoint, function_redis.debug, function_redis.replicate_commands = nil, nil, nil
function_globals.redis = face(function_redis)
setmetatable(function_globals, { __index = missing })

-- What a library sees while it loads.
local loading_redis = { register_function = native.register_function, log = redis.log }
for _, name in ipairs({ "LOG_DEBUG", "LOG_VERBOSE", "LOG_NOTICE", "LOG_WARNING", "REDIS_VERSION", "REDIS_VERSION_NUM" }) do
  loading_redis[name] = redis[name]
end
setmetatable(loading_redis, { __index = missing })
local loading_globals = setmetatable({ redis = face(loading_redis) }, { __index = missing })

local environment_metatable = { __newindex = refuse, __metatable = locked }
local function enter(seen)
  environment_metatable.__index = seen
  contents_of[environment] = seen
end
enter(function_globals)
setmetatable(environment, environment_metatable)

local global_face = face(globals, locked)
globals._G = global_face
setmetatable(globals, { __index = missing })

-- Adds the place of a raised value: the innermost line of the script.
local function located(raised)
  raised = visible(raised)
  local place = {}
  if type(raised) == "table" then
    place.err = rawget(raised, "err")
  else
    place.err = "ERR " .. tostring(raised)
  end
  local level, frame = 2, getinfo(2, "Sl")
  while frame do
    if frame.currentline > 0 and frame.source ~= "=sandbox" then
      place.source, place.line = frame.source, frame.currentline
      break
    end
    level = level + 1
    frame = getinfo(level, "Sl")
  end
  return place
end

local faces = {}
for made in next, contents_of do
  faces[#faces + 1] = made
end

-- Runs after each script: a loop over an array is the fastest. If the script was stopped, this would
-- be stopped, too: then the engine calls it once the script has ended.
local function empty_faces()
  for at = 1, #faces do
    local made = faces[at]
    if next(made) ~= nil then
      if stopped() then
        return
      end
      for key in next, made do
        rawset(made, key, nil)
      end
    end
  end
end

local function run(script, keys, arguments)
  globals.KEYS, globals.ARGV = keys, arguments
  local ok, value = xpcall(script, located)
  empty_faces()
  return ok, value
end

-- Runs the chunk of a library, which registers its functions.
local function load_library(chunk)
  enter(loading_globals)
  local ok, raised = xpcall(chunk, located)
  enter(function_globals)
  empty_faces()
  return ok, raised
end

local function call_function(callback, keys, arguments)
  local ok, value = xpcall(function()
    return callback(keys, arguments)
  end, located)
  empty_faces()
  return ok, value
end

return global_face, environment, run, load_library, call_function, empty_faces
