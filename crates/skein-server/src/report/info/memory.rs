//! INFO memory: where memory is used, and the limit.

use super::InfoLines;
use super::InfoNumbers;
use crate::shared::ServerShared;

pub(super) fn memory(shared: &ServerShared, numbers: &InfoNumbers, lines: &mut InfoLines) {
    used(shared, numbers, lines);
    scripts(shared, lines);
    let (limit, policy) = shared.data.store.memory_limit();
    add_bytes("maxmemory", limit.unwrap_or(0), lines);
    lines.add("maxmemory_policy", policy);
    parts(shared, numbers, lines);
    resident(shared, numbers, lines);
}

/// Writes a number of bytes twice, the second time for people.
fn add_bytes(name: &str, bytes: usize, lines: &mut InfoLines) {
    lines.add(name, bytes);
    lines.add(&format!("{name}_human"), human(bytes));
}

#[expect(clippy::cast_precision_loss, reason = "bytes, rounded for people")]
fn percent(part: usize, whole: usize) -> String {
    format!("{:.2}%", part as f64 * 100.0 / whole.max(1) as f64)
}

fn used(shared: &ServerShared, numbers: &InfoNumbers, lines: &mut InfoLines) {
    let (used, peak) = (shared.used_bytes(numbers), shared.peak_bytes(numbers));
    add_bytes("used_memory", used, lines);
    add_bytes("used_memory_peak", peak, lines);
    lines.add("used_memory_peak_perc", percent(used, peak));
    let dataset = numbers.memory.keys + numbers.row_bytes;
    lines.add("used_memory_overhead", used.saturating_sub(dataset));
    // The memory of the program itself does not count as used.
    lines.add("used_memory_startup", 0);
    lines.add("used_memory_dataset", dataset);
    lines.add("used_memory_dataset_perc", percent(dataset, used));
    if let Some(total) = system_bytes() {
        add_bytes("total_system_memory", total, lines);
    }
}

/// Writes the memory of scripts and functions, and their numbers.
fn scripts(shared: &ServerShared, lines: &mut InfoLines) {
    let (scripts, functions) = (shared.scripts.lua_memory.scripts(), shared.scripts.lua_memory.functions());
    add_bytes("used_memory_lua", scripts, lines);
    lines.add("used_memory_vm_eval", scripts);
    lines.add("used_memory_vm_functions", functions);
    add_bytes("used_memory_vm_total", scripts + functions, lines);
    let (cached, libraries) = (shared.scripts.cache.bytes(), shared.scripts.functions.bytes());
    lines.add("used_memory_scripts_eval", cached);
    lines.add("used_memory_functions", libraries);
    add_bytes("used_memory_scripts", cached + libraries, lines);
    lines.add("number_of_cached_scripts", shared.scripts.cache.len());
    let (libraries, functions) = shared.scripts.functions.libraries().counts();
    lines.add("number_of_functions", functions);
    lines.add("number_of_libraries", libraries);
    lines.add("number_of_failed_libraries", shared.scripts.functions.libraries().failed());
}

#[expect(clippy::cast_precision_loss, reason = "bytes, rounded for people")]
fn parts(shared: &ServerShared, numbers: &InfoNumbers, lines: &mut InfoLines) {
    let memory = &numbers.memory;
    lines.add("index_bytes", numbers.index_bytes);
    lines.add("node_bytes", memory.nodes + memory.orders);
    lines.add("key_bytes", memory.keys);
    lines.add("row_bytes", numbers.row_bytes);
    lines.add("mem_clients_normal", shared.workers.buffer_bytes());
    lines.add("mem_aof_buffer", memory.buffers);
    lines.add("mem_not_counted_for_evict", memory.buffers);
    // There are no replicas and no cluster.
    for name in [
        "mem_clients_slaves",
        "mem_cluster_links",
        "mem_replication_backlog",
        "mem_total_replication_buffers",
    ] {
        lines.add(name, 0);
    }
    lines.add("unreclaimed_bytes", numbers.unreclaimed_bytes);
    let (total, held) = (memory.total(), memory.held);
    lines.add("allocator_allocated", total);
    lines.add("allocator_active", held);
    lines.add("allocator_frag_ratio", format_args!("{:.2}", held as f64 / total.max(1) as f64));
    lines.add("allocator_frag_bytes", held.saturating_sub(total));
    lines.add("active_defrag_running", 0);
    if let Some(dead) = numbers.dead_collections {
        lines.add("lazyfree_pending_objects", dead);
        lines.add("lazyfreed_objects", shared.statistics(numbers).freed_collections);
    }
}

#[expect(clippy::cast_precision_loss, reason = "bytes, rounded for people")]
fn resident(shared: &ServerShared, numbers: &InfoNumbers, lines: &mut InfoLines) {
    let Some(resident) = resident_bytes().and_then(|bytes| usize::try_from(bytes).ok()) else { return };
    let used = shared.used_bytes(numbers);
    // The memory that was taken from the system stays resident: it is returned in whole regions.
    let held = numbers.memory.held;
    let ratio = |of: usize, to: usize| format!("{:.2}", of as f64 / to.max(1) as f64);
    lines.add("allocator_resident", held);
    lines.add("allocator_rss_ratio", ratio(held, held));
    lines.add("allocator_rss_bytes", 0);
    lines.add("rss_overhead_ratio", ratio(resident, held));
    lines.add("rss_overhead_bytes", resident as i128 - held as i128);
    add_bytes("used_memory_rss", resident, lines);
    lines.add("mem_fragmentation_ratio", format_args!("{:.2}", resident as f64 / used.max(1) as f64));
    lines.add("mem_fragmentation_bytes", resident as i128 - used as i128);
}

/// Returns a size as Redis prints it for people.
#[expect(clippy::cast_precision_loss, reason = "bytes, rounded for people")]
fn human(bytes: usize) -> String {
    const UNITS: [&str; 6] = ["B", "K", "M", "G", "T", "P"];
    if bytes < 1024 {
        return format!("{bytes}B");
    }
    let (mut size, mut unit) = (bytes as f64, 0);
    while size >= 1024.0 && unit + 1 < UNITS.len() {
        (size, unit) = (size / 1024.0, unit + 1);
    }
    format!("{size:.2}{}", UNITS[unit])
}

/// Returns the bytes of the line that begins with `name` in a file of the system.
fn kilobytes_of(file: &str, name: &str) -> Option<u64> {
    let text = std::fs::read_to_string(file).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

/// Returns the memory of this process that is in RAM, if the system reports it.
pub(crate) fn resident_bytes() -> Option<u64> {
    kilobytes_of("/proc/self/status", "VmRSS:")
}

/// Returns the memory of the machine, if the system reports it.
fn system_bytes() -> Option<usize> {
    usize::try_from(kilobytes_of("/proc/meminfo", "MemTotal:")?).ok()
}
