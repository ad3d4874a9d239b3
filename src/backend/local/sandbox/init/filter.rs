//! System calls that commands do not get, on top of having no capability: the kernel's larger and younger surfaces.
//!
//! Everything else is allowed. The namespaces are what isolates; this narrows what a kernel bug could be reached through.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, sock_filter,
};

/// Refused whatever their arguments, with EPERM.
const REFUSED: &[i64] = &[
    // Mounts and namespaces.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    // Kernel subsystems with a long record of holes.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_fanotify_init,
    libc::SYS_quotactl,
    libc::SYS_syslog,
    // The machine.
    libc::SYS_reboot,
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    libc::SYS_vhangup,
];

/// The same, where only one architecture has them.
#[cfg(target_arch = "x86_64")]
const REFUSED_HERE: &[i64] = &[
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_kexec_file_load,
    libc::SYS_modify_ldt,
];
#[cfg(not(target_arch = "x86_64"))]
const REFUSED_HERE: &[i64] = &[];

/// Socket families that commands may use. AF_VSOCK in particular would reach the hypervisor's side: it ignores network namespaces.
const FAMILIES: [i32; 4] = [
    libc::AF_UNIX,
    libc::AF_INET,
    libc::AF_INET6,
    libc::AF_NETLINK,
];

/// Low bits of a socket's type; the rest are flags.
const SOCKET_TYPE_MASK: u64 = 0xf;

/// Typing into somebody's terminal, and pasting into a console. (The type of libc's constants depends on the C library.)
const TIOCSTI: u64 = 0x5412;
const TIOCLINUX: u64 = 0x541c;

/// The filters, to be installed one after the other. Compiled once, in PID 1.
pub(super) fn compile() -> Result<Vec<BpfProgram>, String> {
    let groups: [(i32, Rules); 3] = [
        (libc::EPERM, refused().map_err(|e| e.to_string())?),
        (libc::ENOSYS, Rules::from([(libc::SYS_clone3, Vec::new())])),
        (
            libc::EAFNOSUPPORT,
            foreign_families().map_err(|e| e.to_string())?,
        ),
    ];
    let mut programs = Vec::new();
    for (errno, rules) in groups {
        programs.push(program(errno, rules).map_err(|e| e.to_string())?);
    }
    if cfg!(target_arch = "x86_64") {
        programs.push(no_x32());
    }
    Ok(programs)
}

type Rules = BTreeMap<i64, Vec<SeccompRule>>;
type Refusal = seccompiler::BackendError;

fn program(errno: i32, rules: Rules) -> Result<BpfProgram, Refusal> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    let answer = SeccompAction::Errno(errno.unsigned_abs());
    SeccompFilter::new(rules, SeccompAction::Allow, answer, arch)?.try_into()
}

fn refused() -> Result<Rules, Refusal> {
    let mut rules: Rules = REFUSED
        .iter()
        .chain(REFUSED_HERE)
        .map(|number| (*number, Vec::new()))
        .collect();
    let bit = |flag: i32| {
        let flag = u64::from(flag.unsigned_abs());
        condition(0, SeccompCmpOp::MaskedEq(flag), flag)
    };
    let mut namespaces = Vec::new();
    for flag in [
        libc::CLONE_NEWUSER,
        libc::CLONE_NEWNS,
        libc::CLONE_NEWPID,
        libc::CLONE_NEWNET,
        libc::CLONE_NEWIPC,
        libc::CLONE_NEWUTS,
        libc::CLONE_NEWCGROUP,
    ] {
        namespaces.push(SeccompRule::new(vec![bit(flag)?])?);
    }
    rules.insert(libc::SYS_clone, namespaces);
    let mut terminal = Vec::new();
    for request in [TIOCSTI, TIOCLINUX] {
        terminal.push(SeccompRule::new(vec![condition(
            1,
            SeccompCmpOp::Eq,
            request,
        )?])?);
    }
    rules.insert(libc::SYS_ioctl, terminal);
    let mut raw = Vec::new();
    for family in [libc::AF_INET, libc::AF_INET6] {
        raw.push(SeccompRule::new(vec![
            condition(0, SeccompCmpOp::Eq, family as u64)?,
            condition(
                1,
                SeccompCmpOp::MaskedEq(SOCKET_TYPE_MASK),
                libc::SOCK_RAW as u64,
            )?,
        ])?);
    }
    rules.insert(libc::SYS_socket, raw);
    Ok(rules)
}

fn foreign_families() -> Result<Rules, Refusal> {
    let none_of_them = || {
        let conditions = FAMILIES
            .iter()
            .map(|family| condition(0, SeccompCmpOp::Ne, *family as u64))
            .collect::<Result<_, _>>()?;
        SeccompRule::new(conditions)
    };
    Ok(Rules::from([
        (libc::SYS_socket, vec![none_of_them()?]),
        (libc::SYS_socketpair, vec![none_of_them()?]),
    ]))
}

fn condition(arg: u8, op: SeccompCmpOp, value: u64) -> Result<SeccompCondition, Refusal> {
    SeccompCondition::new(arg, SeccompCmpArgLen::Dword, op, value)
}

/// The x32 calls are the same calls under other numbers, so a list of refusals would have to name them too. Nobody needs them.
fn no_x32() -> BpfProgram {
    const X32_BIT: u32 = 0x4000_0000;
    let step = |code: u32, jt: u8, jf: u8, k: u32| sock_filter {
        code: code as u16,
        jt,
        jf,
        k,
    };
    vec![
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        step(libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, 0, 1, X32_BIT),
        step(
            libc::BPF_RET | libc::BPF_K,
            0,
            0,
            libc::SECCOMP_RET_ERRNO | libc::ENOSYS.unsigned_abs(),
        ),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filters_compile_and_are_within_the_kernels_bound() {
        let programs = compile().expect("the rules are constants");
        assert!(programs.iter().all(|p| !p.is_empty() && p.len() <= 4096));
    }
}
