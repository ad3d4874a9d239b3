//! What a process that waits keeps in memory.
//!
//! Starting touches much of a program that is not needed again for hours, and the kernel maps what is next to it, too. Pages of code are the
//! file's own and come back by themselves when they are needed, so that giving them back costs nothing but that.

/// Gives the pages of code back that are mapped into this process: those of the program and of its libraries. They are read again, mostly from
/// the kernel's cache, as they are needed. What can't be given back stays.
pub fn give_code_back() {
    #[cfg(target_os = "linux")]
    if let Ok(maps) = std::fs::read_to_string("/proc/self/maps") {
        for range in code(&maps) {
            // SAFETY: the range is mapped from a file, executable and not writable, so that its pages are equal to the file's.
            // A page that is given back is read from the file at its next use: nothing that any thread can see changes.
            unsafe {
                let address = range.start as *mut libc::c_void;
                libc::madvise(address, range.end - range.start, libc::MADV_DONTNEED);
            }
        }
    }
}

/// The address ranges of code that is mapped from files, from what the kernel says of a process (proc_pid_maps(5)).
fn code(maps: &str) -> Vec<std::ops::Range<usize>> {
    let range = |line: &str| {
        let mut fields = line.split_ascii_whitespace();
        let (start, end) = fields.next()?.split_once('-')?;
        let permissions = fields.next()?;
        let inode = fields.nth(2)?;
        // Writable code may differ from its file, as may what was written to and protected later, which is never executable.
        let is_code = permissions == "r-xp" && inode != "0";
        let number = |text| usize::from_str_radix(text, 16).ok();
        is_code.then_some(number(start)?..number(end)?)
    };
    maps.lines().filter_map(range).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_code_that_is_its_files_own_is_given_back() {
        let maps = "\
555555554000-5555555a0000 r--p 00000000 fe:00 42      /opt/rat-things
5555555a0000-555555900000 r-xp 0004c000 fe:00 42      /opt/rat things
555555900000-555555980000 r--p 003ac000 fe:00 42      /opt/rat-things
555555980000-555555990000 rw-p 0042b000 fe:00 42      /opt/rat-things
555555990000-5555559a0000 rwxp 0042b000 fe:00 42      /opt/rat-things
7ffff7fc0000-7ffff7fc2000 r-xp 00000000 00:00 0       [vdso]
7ffff7000000-7ffff7001000 r-xp 00000000 00:00 0
nonsense
";
        let only = 0x5555_555a_0000..0x5555_5590_0000;
        assert_eq!(code(maps), Vec::from([only]));
    }

    #[test]
    fn a_process_goes_on_after_its_code_was_given_back() {
        let sum = |n: u64| (0..n).map(|n| n.wrapping_mul(n)).fold(0, u64::wrapping_add);
        let before = sum(1_000);
        give_code_back();
        assert_eq!(sum(1_000), before);
    }
}
