//! Looking up symbols in a shared object that lies in memory as it is mapped: the image that
//! `qcycle` carries and the vDSO of the kernel that it runs on. Both are trusted, yet nothing
//! here reads outside the slice it is given. Layout: System V ABI, chapters 4 and 5, 64 bits.

/// Address of a symbol, counted from the first octet of the object; `None` if it has none.
///
/// Objects linked to start at another address than zero are not meant.
pub fn symbol(object: &[u8], name: &str) -> Option<u64> {
    const DT_HASH: u64 = 4;
    const DT_STRTAB: u64 = 5;
    const DT_SYMTAB: u64 = 6;
    let dynamic = dynamic(object)?;
    let entry = |tag| dynamic.iter().find(|entry| entry.0 == tag).map(|entry| entry.1);
    let (symbols, strings) = (entry(DT_SYMTAB)?, entry(DT_STRTAB)?);
    let count = match entry(DT_HASH) {
        Some(hash) => u64::from(word(object, usize::try_from(hash).ok()? + 4)?),
        // Without the old hash table the symbols are known to end where the strings begin.
        None => strings.checked_sub(symbols)? / 24,
    };
    (0..count).find_map(|index| {
        let at = usize::try_from(symbols + index * 24).ok()?;
        let name_at = usize::try_from(strings).ok()? + word(object, at)? as usize;
        let text = object.get(name_at..name_at + name.len() + 1)?;
        let defined = half(object, at + 6)? != 0;
        let value = long(object, at + 8)?;
        (defined && text.strip_suffix(&[0]) == Some(name.as_bytes())).then_some(value)
    })
}

/// Whether a program needs a loader, which a container or guest without libraries does not have;
/// `None` for what is no program of 64 bits.
pub fn needs_loader(object: &[u8]) -> Option<bool> {
    const PT_INTERP: u32 = 3;
    for header in headers(object)? {
        if word(object, header)? == PT_INTERP {
            return Some(true);
        }
    }
    Some(false)
}

/// A program without what no loader reads, such as what debuggers want to know: mostly much smaller. `None` for
/// what is no program of 64 bits.
///
/// What is loaded comes first in files that linkers write; the table of sections, which stands at the end, is
/// then not there any more.
pub fn as_loaded(mut object: Vec<u8>) -> Option<Vec<u8>> {
    const PT_LOAD: u32 = 1;
    // Where the head says where sections are, and how many.
    const SECTIONS: std::ops::Range<usize> = 40..48;
    const SECTION_COUNTS: std::ops::Range<usize> = 58..64;
    let (first, size, count) = (long(&object, 32)?, half(&object, 54)?, half(&object, 56)?);
    let mut end = first.checked_add(u64::from(size) * u64::from(count))?;
    for header in headers(&object)? {
        if word(&object, header)? == PT_LOAD {
            end = end.max(long(&object, header + 8)?.checked_add(long(&object, header + 32)?)?);
        }
    }
    let end = usize::try_from(end).ok().filter(|end| *end <= object.len())?;
    object.get_mut(SECTIONS)?.fill(0);
    object.get_mut(SECTION_COUNTS)?.fill(0);
    object.truncate(end);
    Some(object)
}

/// Where the program headers of an object of 64 bits lie.
fn headers(object: &[u8]) -> Option<impl Iterator<Item = usize>> {
    if object.get(..5)? != b"\x7fELF\x02" {
        return None;
    }
    let first = usize::try_from(long(object, 32)?).ok()?;
    let (size, count) = (usize::from(half(object, 54)?), usize::from(half(object, 56)?));
    Some((0..count).map_while(move |index| first.checked_add(index * size)))
}

fn dynamic(object: &[u8]) -> Option<Vec<(u64, u64)>> {
    const PT_DYNAMIC: u32 = 2;
    let header = headers(object)?.find(|at| word(object, *at) == Some(PT_DYNAMIC))?;
    let mut at = usize::try_from(long(object, header + 8)?).ok()?;
    let mut entries = Vec::new();
    loop {
        match (long(object, at)?, long(object, at + 8)?) {
            (0, _) => return Some(entries),
            entry => entries.push(entry),
        }
        at += 16;
    }
}

fn half(object: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(object.get(at..at.checked_add(2)?)?.try_into().ok()?))
}

fn word(object: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(object.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

fn long(object: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(object.get(at..at.checked_add(8)?)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_of_this_crate_needs_a_loader() {
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert_eq!(needs_loader(&own), Some(true));
    }

    #[test]
    fn a_program_runs_as_before_without_what_no_loader_reads() {
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let small = as_loaded(own.clone()).unwrap();
        assert!(small.len() < own.len() / 2, "{} of {}", small.len(), own.len());
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("small");
        std::fs::write(&path, small).unwrap();
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o700))
            .unwrap();
        let ran = std::process::Command::new(&path).arg("--list").output().unwrap();
        let said = String::from_utf8_lossy(&ran.stdout);
        assert!(said.contains("elf::tests::a_program_runs_as_before"), "{said}");
        assert_eq!(as_loaded(b"\x7fELF\x02".to_vec()), None);
        assert_eq!(as_loaded(vec![0xff; 4096]), None);
    }

    #[test]
    fn what_is_no_object_has_no_symbols() {
        assert_eq!(symbol(b"", "x"), None);
        assert_eq!(symbol(b"\x7fELF", "x"), None);
        assert_eq!(symbol(&[0xff; 4096], "x"), None);
        assert_eq!(needs_loader(b"\x7fELF\x02"), None);
        assert_eq!(needs_loader(&[0xff; 4096]), None);
    }
}
