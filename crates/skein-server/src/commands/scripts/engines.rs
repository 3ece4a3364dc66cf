//! The Lua states of a worker's thread: one for scripts, one for functions. Each is made when the
//! worker first needs it.
//!
//! There are two states because libraries stay in memory: their memory is not taken from scripts.

use std::cell::RefCell;

use skein_script::{ScriptEngine, ScriptError};

use crate::commands::{CommandError, CommandResult};
use crate::scripting::ScriptSort;
use crate::shared::ServerShared;

const WITHIN_SCRIPT: CommandError = CommandError::text("ERR a script cannot run scripts");

/// The most libraries of a worker that the registry may have lost already: their FUNCTION LOAD
/// failed after their code ran.
const LIBRARIES_SPARE: usize = 16;

/// A Lua state.
struct WorkerEngine {
    engine: ScriptEngine,
    /// That of the scripts or functions when the engine was last used.
    generation: u64,
    /// The bytes that the server counts for it.
    counted: usize,
}

type EngineSlot = RefCell<Option<WorkerEngine>>;

thread_local! {
    static SCRIPTS: EngineSlot = const { RefCell::new(None) };
    static FUNCTIONS: EngineSlot = const { RefCell::new(None) };
}

/// Returns the error of an engine as a reply.
#[expect(clippy::needless_pass_by_value, reason = "an argument of `map_err`")]
pub(super) fn failed(error: ScriptError) -> CommandError {
    CommandError::owned(format!("ERR {error}"))
}

/// Calls `act` with the Lua state of this thread for scripts.
pub(super) fn with_script_engine<R>(
    shared: &ServerShared,
    act: impl FnOnce(&mut ScriptEngine) -> CommandResult<R>,
) -> CommandResult<R> {
    with_engine(ScriptSort::Script, shared, shared.scripts.cache.generation(), |engine, has_changed| {
        if has_changed {
            engine.forget_all();
        }
        act(engine)
    })
}

/// Calls `act` with the Lua state of this thread for functions.
pub(super) fn with_function_engine<R>(
    shared: &ServerShared,
    act: impl FnOnce(&mut ScriptEngine) -> CommandResult<R>,
) -> CommandResult<R> {
    with_engine(ScriptSort::Function, shared, shared.scripts.functions.generation(), |engine, has_changed| {
        let loaded = engine.loaded_libraries();
        // The first half spares most calls the lock of the registry.
        let is_crowded = loaded > LIBRARIES_SPARE
            && loaded > shared.scripts.functions.libraries().counts().0 + LIBRARIES_SPARE;
        if has_changed || is_crowded {
            let present = shared.scripts.functions.ids();
            engine.retain_libraries(|id| present.contains(&id));
        }
        act(engine)
    })
}

/// Calls `act` with a Lua state, and with whether the generation has changed since its last use.
fn with_engine<R>(
    sort: ScriptSort,
    shared: &ServerShared,
    generation: u64,
    act: impl FnOnce(&mut ScriptEngine, bool) -> CommandResult<R>,
) -> CommandResult<R> {
    let slots = if sort == ScriptSort::Script { &SCRIPTS } else { &FUNCTIONS };
    slots.with(|slot| {
        // No command that a script may run uses the state.
        let mut slot = slot.try_borrow_mut().map_err(|_| WITHIN_SCRIPT)?;
        let worker = match &mut *slot {
            Some(worker) => worker,
            empty => {
                let engine = ScriptEngine::new(shared.options.script_memory_max).map_err(failed)?;
                empty.insert(WorkerEngine { engine, generation, counted: 0 })
            }
        };
        let has_changed = std::mem::replace(&mut worker.generation, generation) != generation;
        let done = act(&mut worker.engine, has_changed);
        let is_exhausted = worker.engine.is_exhausted();
        let bytes = if is_exhausted { 0 } else { worker.engine.memory() };
        shared.scripts.lua_memory.note(sort, &mut worker.counted, bytes);
        if is_exhausted {
            tracing::warn!(
                ?sort,
                limit = shared.options.script_memory_max,
                "the local variables of libraries take most of max-script-memory; this worker loads the libraries anew"
            );
            *slot = None;
        }
        done
    })
}
