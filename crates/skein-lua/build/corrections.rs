//! The corrections of Lua 5.1: lines that are replaced, with the reason for each.

use super::Step;

/// One line of Lua that is replaced wherever it occurs in a file.
struct Correction {
    file: &'static str,
    /// The whole line, with its indentation.
    line: &'static str,
    /// How often the file has the line.
    times: usize,
    instead: &'static str,
}

const fn once(file: &'static str, line: &'static str, instead: &'static str) -> Correction {
    Correction { file, line, times: 1, instead }
}

/// A file that counts work includes `work.h` after its own first header.
const COUNTS_WORK: [&str; 11] = [
    "lapi.c",
    "lbaselib.c",
    "lcode.c",
    "ldebug.c",
    "lgc.c",
    "lstring.c",
    "lstrlib.c",
    "ltable.c",
    "ltablib.c",
    "lvm.c",
    "lvm.h",
];

/// Memory is corrupted, or read out of bounds, without these.
const SAFETY: [Correction; 4] = [
    // CVE-2025-46817: the number of results wrapped, and the check of it was compiled away.
    once(
        "lbaselib.c",
        "  n = e - i + 1;  /* number of elements */",
        "  if ((unsigned int)e - (unsigned int)i >= LUAI_MAXCSTACK)\n    return luaL_error(L, \"too many results to unpack\");\n  n = e - i + 1;",
    ),
    // CVE-2025-49844: the collector could free the chunk's name while the parser used it.
    once(
        "lparser.c",
        "  luaX_setinput(L, &lexstate, z, luaS_new(L, name));",
        "  setsvalue2s(L, L->top, luaS_new(L, name));\n  incr_top(L);\n  luaX_setinput(L, &lexstate, z, rawtsvalue(L->top - 1));",
    ),
    once("lparser.c", "  lua_assert(lexstate.fs == NULL);", "  L->top--;  /* the name */"),
    // CVE-2025-46819: the length of a delimiter wrapped.
    once(
        "llex.c",
        "    count++;",
        "    if (++count == MAX_INT / 4)\n      luaX_lexerror(ls, \"lexical element too long\", 0);",
    ),
];

/// Cost without bound, or work that no hook interrupts, without these.
const WORK: [Correction; 37] = [
    // The total of a thread.
    once("lstate.h", "  int hookcount;", "  int hookcount;\n  size_t work;  /* see work.h */"),
    once("lstate.c", "  L->basehookcount = 0;", "  L->basehookcount = 0;\n  L->work = 0;"),
    // The compiler walks along a list of jumps for each `and`, `or`, `break` and `elseif`.
    once(
        "lcode.c",
        "    while ((next = getjump(fs, list)) != NO_JUMP)  /* find last element */",
        "    while (skein_lua_charge(fs->L, 1), (next = getjump(fs, list)) != NO_JUMP)",
    ),
    // Long strings were hashed by some of their bytes, so scripts could make them collide (Redis
    // #9449, Valkey #1168).
    once(
        "lstring.c",
        "  unsigned int h = cast(unsigned int, l);  /* seed */",
        "  unsigned int h = skein_lua_hash(str, l);\n  unsigned int compared = 0;",
    ),
    once("lstring.c", "  size_t step = (l>>5)+1;  /* if string is too long, don't hash all its chars */", ""),
    once("lstring.c", "  size_t l1;", ""),
    once("lstring.c", "  for (l1=l; l1>=step; l1-=step)  /* compute hash */", ""),
    once(
        "lstring.c",
        "    h = h ^ ((h<<5)+(h>>2)+cast(unsigned char, str[l1-1]));",
        "  skein_lua_charge(L, l >> 6);",
    ),
    once(
        "lstring.c",
        "    if (ts->tsv.len == l && (memcmp(str, getstr(ts), l) == 0)) {",
        "    if ((++compared & 15) == 0) skein_lua_charge(L, 16);\n    if (ts->tsv.hash == h && ts->tsv.len == l && memcmp(str, getstr(ts), l) == 0) {",
    ),
    // `#` of a table with distant elements searched all of it. Every border is a correct length.
    once("ltable.c", "      i = 1;", "      j = MAX_INT;"),
    once(
        "ltable.c",
        "      while (!ttisnil(luaH_getnum(t, i))) i++;",
        "      if (!ttisnil(luaH_getnum(t, MAX_INT))) return MAX_INT;",
    ),
    once("ltable.c", "      return i - 1;", "      break;"),
    // If the entries of a full table are replaced one by one, the table is rehashed each time.
    once(
        "ltable.c",
        "  totaluse += numusehash(t, nums, &nasize);  /* count keys in hash part */",
        "  totaluse += numusehash(t, nums, &nasize);\n  skein_lua_charge(L, ((size_t)t->sizearray + sizenode(t)) >> 1);",
    ),
    // `next` passes all empty slots.
    once(
        "ltable.c",
        "  for (i++; i < t->sizearray; i++) {  /* try first array part */",
        "  for (i++; i < t->sizearray; i++) {\n    if ((i & 63) == 0) skein_lua_charge(L, 8);",
    ),
    once(
        "ltable.c",
        "  for (i -= t->sizearray; i < sizenode(t); i++) {  /* then hash part */",
        "  for (i -= t->sizearray; i < sizenode(t); i++) {\n    if ((i & 63) == 0) skein_lua_charge(L, 8);",
    ),
    // A collection visits all memory.
    once(
        "lgc.c",
        "  g->gcstate = GCSpropagate;",
        "  g->gcstate = GCSpropagate;\n  skein_lua_charge(L, g->totalbytes >> 6);",
    ),
    // Each coroutine had a count of its own, so nested ones were not interrupted.
    once(
        "lapi.c",
        "  to->nCcalls = from->nCcalls;",
        "  to->nCcalls = from->nCcalls;\n  skein_lua_share_count(from, to);",
    ),
    once(
        "lbaselib.c",
        "  status = lua_resume(co, narg);",
        "  status = lua_resume(co, narg);\n  skein_lua_share_count(co, L);",
    ),
    // Long texts as numbers, and in comparisons.
    once(
        "lvm.h",
        "                         (((o) = luaV_tonumber(o,n)) != NULL))",
        "                         (skein_lua_charge(L, ttisstring(o) ? tsvalue(o)->len >> 6 : 0), \\\n                          ((o) = luaV_tonumber(o,n)) != NULL))",
    ),
    once(
        "lvm.c",
        "  if ((b = luaV_tonumber(rb, &tempb)) != NULL &&",
        "  skein_lua_charge(L, ttisstring(rb) ? tsvalue(rb)->len >> 6 : 0);\n  skein_lua_charge(L, ttisstring(rc) ? tsvalue(rc)->len >> 6 : 0);\n  if ((b = luaV_tonumber(rb, &tempb)) != NULL &&",
    ),
    once(
        "lbaselib.c",
        "    const char *s1 = luaL_checkstring(L, 1);",
        "    const char *s1 = (skein_lua_work(L, lua_objlen(L, 1) >> 6), luaL_checkstring(L, 1));",
    ),
    once(
        "lvm.c",
        "    return l_strcmp(rawtsvalue(l), rawtsvalue(r)) < 0;",
        "    return skein_lua_charge(L, tsvalue(l)->len >> 4), l_strcmp(rawtsvalue(l), rawtsvalue(r)) < 0;",
    ),
    once(
        "lvm.c",
        "    return l_strcmp(rawtsvalue(l), rawtsvalue(r)) <= 0;",
        "    return skein_lua_charge(L, tsvalue(l)->len >> 4), l_strcmp(rawtsvalue(l), rawtsvalue(r)) <= 0;",
    ),
    // Thousands of arguments.
    once(
        "lvm.c",
        "          L->top = ra + n;",
        "          L->top = ra + n;\n          skein_lua_charge(L, (size_t)n >> 4);",
    ),
    // An error looks for the name of its operand in the code.
    once(
        "ldebug.c",
        "    i = symbexec(p, pc, stackpos);  /* try symbolic execution */",
        "    skein_lua_charge(L, ((size_t)pc + p->sizelocvars) >> 2);\n    i = symbexec(p, pc, stackpos);",
    ),
    // Loops of library functions.
    once(
        "lstrlib.c",
        "    luaL_addlstring(&b, s, l);",
        "    if (l == 0) break; else { skein_lua_work(L, 1 + (l >> 6)); luaL_addlstring(&b, s, l); }",
    ),
    once(
        "ltablib.c",
        "static int sort_comp (lua_State *L, int a, int b) {",
        "static int sort_comp (lua_State *L, int a, int b) {\n  skein_lua_work(L, 8);",
    ),
    once(
        "ltablib.c",
        "      for (i = e; i > pos; i--) {  /* move up elements */",
        "      for (i = e; i > pos; i--) {\n        skein_lua_work(L, 4);",
    ),
    once("ltablib.c", "  for ( ;pos<e; pos++) {", "  for ( ;pos<e; pos++) {\n    skein_lua_work(L, 4);"),
    once("ltablib.c", "  lua_rawgeti(L, 1, i);", "  skein_lua_work(L, 4);\n  lua_rawgeti(L, 1, i);"),
    Correction {
        file: "ltablib.c",
        line: "  while (lua_next(L, 1)) {",
        times: 2,
        instead: "  while (lua_next(L, 1)) {\n    skein_lua_work(L, 4);",
    },
    once("ltablib.c", "  for (i=1; i <= n; i++) {", "  for (i=1; i <= n; i++) {\n    skein_lua_work(L, 4);"),
    // Thousands of results: of `unpack`, and of `string.byte`.
    once(
        "lbaselib.c",
        "  lua_rawgeti(L, 1, i);  /* push arg[i] (avoiding overflow problems) */",
        "  skein_lua_charge(L, (size_t)n >> 1);\n  lua_rawgeti(L, 1, i);",
    ),
    once(
        "lstrlib.c",
        "  for (i=0; i<n; i++)",
        "  skein_lua_charge(L, (size_t)n >> 1);\n  for (i=0; i<n; i++)",
    ),
    // A number with hundreds of digits.
    once(
        "lstrlib.c",
        "    else if (*++strfrmt == L_ESC)",
        "    else if (skein_lua_work(L, 32), *++strfrmt == L_ESC)",
    ),
    // Chains of `__newindex` and of `__index`.
    once("lvm.c", "    t = &temp;", "    t = &temp;\n    skein_lua_charge(L, 2);"),
    once("lvm.c", "    t = tm;  /* else repeat with `tm' */ ", "    t = tm;\n    skein_lua_charge(L, 2);"),
];

/// Returns a source with all its corrections.
pub fn apply(file: &str, text: &str) -> Step<String> {
    let mut lines: Vec<&str> = text.lines().collect();
    for correction in SAFETY.iter().chain(&WORK).filter(|correction| correction.file == file) {
        let mut times = 0;
        for line in lines.iter_mut().filter(|line| **line == correction.line) {
            *line = correction.instead;
            times += 1;
        }
        if times != correction.times {
            let (line, expected) = (correction.line, correction.times);
            return Err(format!("{file} has this line {times} times, not {expected}: {line}"));
        }
    }
    let first = if COUNTS_WORK.contains(&file) { "#include \"work.h\"\n" } else { "" };
    Ok(format!("{first}{}\n", lines.join("\n")))
}
