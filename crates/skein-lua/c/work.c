/* See work.h. */

#include <stdint.h>
#include <string.h>

#define LUA_CORE

#include "lua.h"

#include "ldebug.h"
#include "ldo.h"
#include "lstate.h"

#include "work.h"

/* Shorter strings have the hash of Lua 5.1, so that `pairs` visits their tables in Redis's order. */
#define SHORT_STRING 32

void skein_lua_charge(lua_State *L, size_t units) {
  L->work += units;
  if (units == 0 || !(L->hookmask & LUA_MASKCOUNT))
    return;
  /* The virtual machine decrements the count, and calls the hook when it becomes zero. */
  L->hookcount = L->hookcount > 0 && (size_t)L->hookcount > units ? L->hookcount - (int)units : 1;
}

void skein_lua_work(lua_State *L, size_t units) {
  skein_lua_charge(L, units);
  if ((L->hookmask & LUA_MASKCOUNT) && L->hookcount == 1) {
    resethookcount(L);
    luaD_callhook(L, LUA_HOOKCOUNT, -1);
  }
}

size_t skein_lua_worked(const lua_State *L) {
  return L->work;
}

void skein_lua_share_count(const lua_State *from, lua_State *to) {
  if (from->hookmask & to->hookmask & LUA_MASKCOUNT)
    to->hookcount = from->hookcount;
}

/* Mixes two words: the halves of their product have bits of all their bits. */
static uint64_t mix(uint64_t a, uint64_t b) {
  unsigned __int128 product = (unsigned __int128)a * b;
  return (uint64_t)product ^ (uint64_t)(product >> 64);
}

unsigned int skein_lua_hash(const char *bytes, size_t length) {
  uint64_t hash = length, word;
  size_t at;
  if (length < SHORT_STRING) {
    unsigned int h = (unsigned int)length;
    for (at = length; at > 0; at--)
      h ^= (h << 5) + (h >> 2) + (unsigned char)bytes[at - 1];
    return h;
  }
  for (at = 0; at + sizeof word <= length; at += sizeof word) {
    memcpy(&word, bytes + at, sizeof word);
    hash = mix(hash ^ word, UINT64_C(0x9e3779b97f4a7c15));
  }
  /* The last word may overlap the one before it. */
  memcpy(&word, bytes + length - sizeof word, sizeof word);
  hash = mix(hash ^ word, UINT64_C(0xd1b54a32d192ed03));
  return (unsigned int)(hash ^ (hash >> 32));
}
