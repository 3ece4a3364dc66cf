//! The section `INFO skein`.

use std::ffi::c_int;

use valkey_module::raw;

use crate::api::Ctx;
use crate::database;

/// Registers the function that the server calls for the module's section.
pub fn register(ctx: Ctx<'_>) {
    raw::register_info_function(ctx.raw(), Some(on_info));
}

unsafe extern "C" fn on_info(info: *mut raw::RedisModuleInfoCtx, for_crash_report: c_int) {
    // The server may crash while the state is borrowed, so a crash report must not use the state.
    if for_crash_report != 0 {
        return;
    }
    let (filling, counts, keys, reserved) = database::with(|state| {
        let (mut keys, mut reserved) = (0, 0);
        for names in state.all() {
            (keys, reserved) = (keys + names.len(), reserved + names.memory().reserved);
        }
        (state.filling, state.counts, keys, reserved)
    });
    raw::add_info_section(info, None);
    for (name, number) in [
        ("ready", u64::from(filling.is_none())),
        ("names", keys as u64),
        ("reserved_bytes", reserved as u64),
        ("stale_dropped", counts.stale_dropped),
        ("missing_added", counts.missing_added),
        ("sweeps", counts.sweeps),
        ("filled_usec", counts.filled_usec),
    ] {
        raw::add_info_field_unsigned_long_long(info, name, number);
    }
}
