//! What the kernel has lost of its tables of neighbours (ARP, and the same of IPv6). All network namespaces
//! share them with their limit (`net.ipv4.neigh.default.gc_thresh3`), those of nodes too: a node that fills
//! one keeps the others from sending, or makes them ask again.

use std::fs;

/// One line for each processor below the names of columns, in hexadecimal. The same counts are in all
/// namespaces.
const FILES: [&str; 2] = ["/proc/net/stat/arp_cache", "/proc/net/stat/ndisc_cache"];
/// Columns that count what was dropped to make room, and what was refused.
const COLUMNS: [&str; 2] = ["forced_gc_runs", "table_fulls"];

#[derive(Debug)]
pub(super) struct Neighbours(u64);

impl Neighbours {
    pub(super) fn now() -> Self {
        // A kernel without them has nothing to report.
        let text = |file| fs::read_to_string(file).unwrap_or_default();
        Self(FILES.iter().map(|file| lost(&text(file))).fold(0, u64::wrapping_add))
    }

    pub(super) fn have_lost(&mut self) -> bool {
        let before = std::mem::replace(self, Self::now());
        before.0 != self.0
    }
}

fn lost(text: &str) -> u64 {
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap_or_default().split_whitespace().collect();
    let counts = lines.flat_map(|line| names.iter().zip(line.split_whitespace()));
    let counts = counts.filter(|(name, _)| COLUMNS.contains(name));
    counts.filter_map(|(_, count)| u64::from_str_radix(count, 16).ok()).fold(0, u64::wrapping_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_all_processors_have_lost_is_added_up() {
        let text = "entries forced_gc_runs unresolved_discards table_fulls\n\
                    00000002 00000010 00000009 00000001\n00000002 000000a0 00000009 00000000\n";
        assert_eq!(lost(text), 0x10 + 1 + 0xa0);
        assert_eq!(lost(""), 0);
        assert_eq!(lost("entries\nx\n"), 0);
    }
}
