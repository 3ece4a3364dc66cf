/* The work of calls, in units of about one instruction of the virtual machine.
**
** The count hook runs after so many instructions. A single instruction or library function may take
** as long as millions of them, so such code counts its work here.
*/
#ifndef skein_work_h
#define skein_work_h

#include <stddef.h>

struct lua_State;

/* Counts work. The hook, if it is due, runs before the next instruction: this raises no error, and
** may be called anywhere. */
void skein_lua_charge(struct lua_State *L, size_t units);

/* Counts work, and runs the hook if it is due. The hook may raise an error. The caller is a function
** that Lua has called. */
void skein_lua_work(struct lua_State *L, size_t units);

/* Returns the work that a thread has counted since it began. */
size_t skein_lua_worked(const struct lua_State *L);

/* Gives the count of one thread to another one, so that a script cannot escape from the hook into
** new coroutines. */
void skein_lua_share_count(const struct lua_State *from, struct lua_State *to);

/* Returns the hash of a string. All its bytes count. */
unsigned int skein_lua_hash(const char *bytes, size_t length);

#endif
