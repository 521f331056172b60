//! Where a member of one of the kernel's structures stands, as the running kernel says itself.
//! `Documentation/bpf/btf.rst`

use std::io;

/// From the kernel's `btf.h`.
const MAGIC: u16 = 0xeb9f;
const STRUCT: u32 = 4;

/// Octets from the begin of a structure to a member of it, which is no bit field and in no unnamed part.
///
/// # Errors
/// Where the kernel does not say it.
pub fn offset_of(structure: &str, member: &str) -> io::Result<usize> {
    let types = std::fs::read("/sys/kernel/btf/vmlinux")?;
    let unknown = || io::Error::other(format!("the kernel does not describe {structure}.{member}"));
    find(&types, structure, member).ok_or_else(unknown)
}

fn find(octets: &[u8], structure: &str, member: &str) -> Option<usize> {
    let u32_at =
        |octets: &[u8], at: usize| Some(u32::from_ne_bytes(*octets.get(at..)?.first_chunk()?));
    if u16::from_ne_bytes(*octets.first_chunk()?) != MAGIC {
        return None;
    }
    let header = u32_at(octets, 4)? as usize;
    let part = |at: usize| {
        let (offset, size) = (u32_at(octets, at)? as usize, u32_at(octets, at + 4)? as usize);
        octets.get(header.checked_add(offset)?..)?.get(..size)
    };
    let (mut types, names) = (part(8)?, part(16)?);
    let is_named = |name: u32, wanted: &str| {
        let name = names.get(name as usize..).unwrap_or_default();
        name.strip_prefix(wanted.as_bytes()).is_some_and(|rest| rest.first() == Some(&0))
    };
    // A type is `name:u32 info:u32 size:u32`, and more that depends on its kind.
    while let (Some(name), Some(info)) = (u32_at(types, 0), u32_at(types, 4)) {
        let (kind, count, has_bit_fields) = (info >> 24 & 0x1f, info & 0xffff, info >> 31 == 1);
        let each = behind(kind)?;
        let more = types.get(12..12 + if each.1 { count as usize * each.0 } else { each.0 })?;
        if kind == STRUCT && is_named(name, structure) {
            // `name:u32 type:u32 offset:u32`, in bits.
            let found = more
                .chunks_exact(12)
                .find(|one| u32_at(one, 0).is_some_and(|name| is_named(name, member)))?;
            let offset = u32_at(found, 8)?;
            let (bits, size) =
                if has_bit_fields { (offset & 0xff_ffff, offset >> 24) } else { (offset, 0) };
            return (size == 0 && bits % 8 == 0).then_some(bits as usize / 8);
        }
        types = &types[12 + more.len()..];
    }
    None
}

/// Octets behind a type of this kind, and whether they are there as often as it says.
const fn behind(kind: u32) -> Option<(usize, bool)> {
    Some(match kind {
        // Pointer, forward, typedef, volatile, const, restrict, function, float, type tag.
        2 | 7..=12 | 16 | 18 => (0, false),
        // Integer, variable, tag of a declaration.
        1 | 14 | 17 => (4, false),
        // Array.
        3 => (12, false),
        // Structure, union, members of a section, enumeration of 64 bits.
        4 | 5 | 15 | 19 => (12, true),
        // Enumeration, prototype of a function.
        6 | 13 => (8, true),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    /// An integer, then a structure with two members, the second 17 octets behind its begin.
    fn described() -> Vec<u8> {
        let names = b"\0int\0task\0pid\0tgid\0";
        let types = words(&[1, 1 << 24, 4, 32, 5, 4 << 24 | 2, 40, 14, 1, 0, 10, 1, 17 * 8]);
        let mut octets = [&MAGIC.to_ne_bytes()[..], &[1, 0]].concat();
        let size = types.len() as u32;
        octets.extend(words(&[24, 0, size, size, names.len() as u32]));
        octets.extend(types);
        octets.extend(names);
        octets
    }

    #[test]
    fn a_member_is_found_by_its_name() {
        let octets = described();
        assert_eq!(find(&octets, "task", "pid"), Some(17));
        assert_eq!(find(&octets, "task", "tgid"), Some(0));
        assert_eq!(find(&octets, "task", "pi").or_else(|| find(&octets, "tas", "pid")), None);
    }

    #[test]
    fn what_is_cut_or_damaged_anywhere_does_no_harm() {
        let octets = described();
        for at in 0..octets.len() {
            find(&octets[..at], "task", "pid");
            for octet in [0, 0xff, 0x7f] {
                let mut damaged = octets.clone();
                damaged[at] = octet;
                find(&damaged, "task", "pid");
            }
        }
    }

    #[test]
    fn this_kernel_says_it_or_that_it_does_not() {
        match offset_of("task_struct", "pid") {
            Ok(offset) => assert!(offset > 0 && offset < 65_536, "{offset}"),
            Err(error) => println!("not measured: {error}"),
        }
        assert!(offset_of("task_struct", "no such member").is_err());
    }
}
