//! Returns memory to the system that a process needed once but does not need while it waits: free heap pages, and pages
//! of its program that only start-up used.
#![allow(
    unsafe_code,
    reason = "no safe interface sets up the heap or tells the kernel which pages are not needed"
)]

/// Makes all threads share one heap. Each additional heap keeps memory that other threads cannot use. Call it before
/// the first thread starts.
pub fn share_heap() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: changes a setting of the allocator, which affects only heaps that don't exist yet.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
}

/// Returns memory to the system. The kernel maps pages again on use, without reading the disk as long as they are in
/// the page cache.
pub fn give_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: only frees pages that the allocator does not use.
    unsafe {
        libc::malloc_trim(0);
    }
    #[cfg(target_os = "linux")]
    for (start, length) in code(&std::fs::read_to_string("/proc/self/maps").unwrap_or_default()) {
        // SAFETY: the range is code or constants of a program or library that nothing has written to. Its pages have no
        // content of their own, so the kernel reads them from the file again.
        unsafe {
            libc::madvise(std::ptr::without_provenance_mut(start), length, libc::MADV_DONTNEED);
        }
    }
}

/// Returns code and constants in a list of mappings, as start and length. Constants are the part that begins with the
/// header of the file. The loader has written to the other read-only parts.
#[cfg(target_os = "linux")]
fn code(maps: &str) -> Vec<(usize, usize)> {
    let range = |line: &str| {
        let mut fields = line.split_whitespace();
        let (range, rights, offset) = (fields.next()?, fields.next()?, fields.next()?);
        let is_file = fields.nth(2)?.starts_with('/');
        let is_constant = rights == "r-xp" || (rights == "r--p" && offset == "00000000");
        let (start, end) = range.split_once('-')?;
        let at = |text| usize::from_str_radix(text, 16).ok();
        let (start, end) = (at(start)?, at(end)?);
        (is_constant && is_file && start < end).then_some((start, end - start))
    };
    maps.lines().filter_map(range).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_code_and_constants_of_files_are_given_back() {
        let maps = "5648b1660000-5648b23d0000 r--p 00000000 fe:00 100 /usr/bin/acquit\n\
                    5648b23d0000-5648b34bf000 r-xp 00d6f000 fe:00 100 /usr/bin/acquit\n\
                    5648b34bf000-5648b35ce000 r--p 01e5d000 fe:00 100 /usr/bin/acquit\n\
                    5648b35ce000-5648b35d9000 rw-p 01f6b000 fe:00 100 /usr/bin/acquit\n\
                    5648b3600000-5648b3700000 rwxp 00000000 fe:00 100 /usr/bin/acquit\n\
                    7f0000000000-7f0000001000 r-xp 00000000 00:00 0 [vdso]\n\
                    7f0000010000-7f0000011000 r-xp 00000000 00:00 0\n";
        assert_eq!(code(maps), [(0x5648_b166_0000, 0xd7_0000), (0x5648_b23d_0000, 0x10e_f000)]);
    }

    #[test]
    fn a_process_that_gave_memory_back_goes_on() {
        let held: Vec<Vec<u8>> = (0..64).map(|byte| vec![byte; 100_000]).collect();
        let free: Vec<Vec<u8>> = (0..64).map(|byte| vec![byte; 100_000]).collect();
        drop(free);
        for _ in 0..3 {
            give_back();
        }
        assert!(held.iter().enumerate().all(|(at, block)| block.iter().all(|byte| usize::from(*byte) == at)));
    }
}
