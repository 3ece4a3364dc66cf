--[[ Stands before every expression of the golden files, in one line, so that errors name line 1.
     `show` describes a value, `run` describes the results of a function or its error. ]]
local function quote(text)
    local escaped = string.gsub(text, '[%c"\\\128-\255]', function(byte)
        return string.format('\\x%02x', string.byte(byte))
    end)
    return '"' .. escaped .. '"'
end
local function show(value)
    local kind = type(value)
    if kind == 'string' then return quote(value) end
    if kind == 'number' then return string.format('%.17g', value) end
    if kind ~= 'table' then return tostring(value) end
    local fields = {}
    for key, field in pairs(value) do
        fields[#fields + 1] = '[' .. show(key) .. ']=' .. show(field)
    end
    table.sort(fields)
    return '{' .. table.concat(fields, ' ') .. '}'
end
local function describe(succeeded, ...)
    local shown = {}
    for i = 1, select('#', ...) do shown[i] = show((select(i, ...))) end
    return (succeeded and 'ok' or 'error') .. ' ' .. table.concat(shown, ', ')
end
local function run(f) return describe(pcall(f)) end
local function nested(levels, value)
    for _ = 1, levels do value = {value} end
    return value
end
local function nested_maps(levels, value)
    for _ = 1, levels do value = {k = value} end
    return value
end
local function depth(value)
    local levels = 0
    while type(value) == 'table' do
        levels = levels + 1
        value = value[1] or value.k
    end
    return levels, value
end
--[[ Options that an expression sets end with it. ]]
local cjson = cjson.new()
