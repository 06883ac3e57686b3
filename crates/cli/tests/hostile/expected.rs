//! What must be seen of each attack from outside, a line each. Whatever the line says, after every leg nothing outside
//! may have changed, no canary may have been read, nobody may have been visited, and nothing may run on.

use acquit_core::sandbox::Network;
use acquit_testkit::hostile::secrets::SECRETS;

use crate::arena::Role;

/// What must be seen of an attack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expect {
    /// The kernel refuses every way of it.
    Refused,
    /// The same, unless the network is open by choice.
    Offline,
    /// The same, unless whoever runs acquit is root, whose agents keep the rights that builds of root need.
    UnlessRoot,
    /// It may succeed, and changes nothing but the attacker's own surroundings.
    Inside,
    /// Allowed where there is a proxy.
    Granted,
    /// In a leg of its own: whatever is left, the harness ends the leg in order.
    Left,
    /// In a leg of its own: what it said before is still on record.
    Kept,
    /// In a leg of its own: an agent's leg ends `guardrail`; what a gate does is put back.
    Guardrail,
    /// In a leg of its own: an agent's leg ends by its limit; a gate's file of output is bounded.
    Output,
    /// In a leg of its own: refused, or ended with a reason that has this word.
    Limit(&'static str),
}

/// Which attacks a test runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// All in one leg, one after the other.
    Shared,
    /// A leg for each.
    Own,
    /// A leg for each, and the machine for itself.
    Bomb,
    /// Of those, the first for each limit.
    BombOfEachLimit,
}

impl Expect {
    pub(crate) fn part(self) -> Part {
        match self {
            Self::Refused | Self::UnlessRoot | Self::Offline | Self::Inside | Self::Granted => Part::Shared,
            Self::Left | Self::Kept | Self::Guardrail => Part::Own,
            Self::Output | Self::Limit(_) => Part::Bomb,
        }
    }
}

use Expect::{Granted, Guardrail, Inside, Kept, Left, Limit, Offline, Output, Refused, UnlessRoot};

/// Every verb with what must be seen of it.
pub(crate) fn all() -> Vec<(&'static str, Expect)> {
    ATTACKS.iter().copied().chain(SECRETS.iter().map(|(verb, _)| (*verb, Refused))).collect()
}

/// Those that a test runs.
pub(crate) fn of(part: Part) -> Vec<(&'static str, Expect)> {
    if part == Part::BombOfEachLimit {
        let mut attacks: Vec<(&str, Expect)> = Vec::new();
        for (verb, expect) in of(Part::Bomb) {
            if !attacks.iter().any(|(_, known)| *known == expect) {
                attacks.push((verb, expect));
            }
        }
        return attacks;
    }
    all().into_iter().filter(|(_, expect)| expect.part() == part).collect()
}

/// Returns whether there may be nothing for an attack to act on. Any other attack that finds nothing shows nothing.
pub(crate) fn may_be_absent(verb: &str, role: Role, network: Network) -> bool {
    let has_prefix = |prefixes: &[&str]| prefixes.iter().any(|prefix| verb.starts_with(prefix));
    match verb {
        // A gate has neither a prompt nor a report nor a folder for output.
        _ if has_prefix(&["write-prompt", "handoff-", "output-"]) => role == Role::Gate,
        _ if has_prefix(&["proxy-"]) => network != Network::Model,
        "io-ports" | "i386-calls" | "x32-calls" => !cfg!(target_arch = "x86_64"),
        _ => false,
    }
}

/// Attacks that succeed with `sandbox = "reduced"` where there are no user namespaces, as docs/sandbox.md says.
pub(crate) const NOT_REDUCED: &[&str] = &[
    "write-store",
    "chmod-outside",
    "utimes-outside",
    "chown-outside",
    "xattr-outside",
    "watch-outside",
    "list-home",
    "read-renamed",
    "read-service-settings",
    "read-cmdlines",
    "tune-victim",
    "read-npmrc-of-nvm",
    "read-npmrc-of-mise",
    "read-npmrc-of-volta",
    "read-settings-of-sdkman",
    "read-pip-of-pyenv",
    "read-pipx-metadata",
    "read-uv-receipt",
];

/// More of them if acquit runs as root there.
pub(crate) const NOT_REDUCED_ROOT: &[&str] = &["kernel-memory"];

#[rustfmt::skip]
const ATTACKS: &[(&str, Expect)] = &[
    // Files outside.
    ("write-plain", Refused),
    ("write-symlink", Refused),
    ("write-hardlink", Refused),
    ("write-rename", Refused),
    ("write-proc-fd", Refused),
    ("write-proc-root", Refused),
    ("write-dotdot", Refused),
    ("write-handle", Refused),
    ("write-home", Inside),
    ("write-helper", Refused),
    ("write-system", Refused),
    ("write-store", Refused),
    ("write-view", Inside),
    ("write-other-workspace", Refused),
    ("write-prompt", Refused),
    ("truncate-outside", Refused),
    ("unlink-outside", Refused),
    ("make-outside", Refused),
    ("chmod-outside", Refused),
    ("utimes-outside", Refused),
    ("chown-outside", Refused),
    ("xattr-outside", Refused),
    ("chattr-outside", Refused),
    ("lock-outside", Refused),
    ("watch-outside", Refused),
    // The view.
    ("mount-tmpfs", Refused),
    ("mount-bind", Refused),
    ("mount-remount", Refused),
    ("mount-umount", Refused),
    ("mount-new-api", Refused),
    ("mount-kernel-fs", Refused),
    ("mount-propagation", Refused),
    ("pivot-root", Refused),
    ("chroot-escape", Refused),
    ("chroot-proc", Refused),
    ("unshare", Refused),
    ("clone-namespaces", Refused),
    ("clone3-namespaces", Refused),
    ("user-then-mount", Refused),
    ("user-in-user", Refused),
    ("setns", Refused),
    ("uid-map", Refused),
    // Private things beside those in the home.
    ("list-home", Refused),
    ("read-renamed", Refused),
    ("read-service-settings", Refused),
    ("read-shadow", Refused),
    ("read-other-homes", Refused),
    ("read-store", Refused),
    ("read-other-workspace", Refused),
    ("read-other-leg", Refused),
    ("read-checkout", Refused),
    ("read-user-git-config", Refused),
    ("read-host-tmp", Refused),
    ("read-shared-memory", Refused),
    ("read-environment", Refused),
    // Processes.
    ("read-environs", Refused),
    ("read-cmdlines", Refused),
    ("read-memory", Refused),
    ("read-descriptors", Refused),
    ("vm-read", Refused),
    ("ptrace", Refused),
    ("kill-victim", Refused),
    ("kill-by-pidfd", Refused),
    ("kill-init", Inside),
    ("kill-all", Left),
    ("steal-descriptors", Refused),
    ("tune-victim", Refused),
    ("pid-reuse", Inside),
    ("outlive", Inside),
    ("outlive-hopping", Left),
    ("outlive-nohup", Inside),
    ("inherited-descriptors", Refused),
    ("oom-immune", Refused),
    ("realtime", Refused),
    ("raise-limits", Refused),
    // The kernel.
    ("core-pattern", Refused),
    ("sysrq", Refused),
    ("sysctl", Refused),
    ("sys-write", Refused),
    ("kernel-memory", Refused),
    ("devices", Refused),
    ("mknod-disk", Refused),
    ("cgroup", Refused),
    ("cgroup-release", Refused),
    ("keyring", Refused),
    ("bpf", Refused),
    ("perf-event", Refused),
    ("userfaultfd", Refused),
    ("io-uring", Refused),
    ("huge-pages", Refused),
    ("kexec", Refused),
    ("modules", Refused),
    ("io-ports", Refused),
    ("reboot", Refused),
    ("swap", Refused),
    ("hostname", Refused),
    ("clock", Refused),
    ("accounting", Refused),
    ("syslog", Refused),
    ("personality", Inside),
    ("i386-calls", Refused),
    ("x32-calls", Refused),
    ("setuid-programs", Refused),
    ("setuid-plant", UnlessRoot),
    ("setuid-bits", Refused),
    ("setuid-call", UnlessRoot),
    ("capabilities", UnlessRoot),
    ("terminal-input", Refused),
    // Sockets.
    ("unix-abstract", Refused),
    ("unix-path", Refused),
    ("unix-datagram", Refused),
    ("pass-descriptor", Refused),
    ("unix-shown", Refused),
    ("pairs-of-odd-families", Refused),
    ("ssh-agent", Refused),
    ("docker-socket", Refused),
    ("vsock", Refused),
    ("packet-socket", Refused),
    ("raw-socket", Refused),
    ("kernel-crypto", Refused),
    ("netlink-route", Refused),
    ("netlink-others", Refused),
    ("odd-families", Refused),
    // The network.
    ("tcp-loopback", Offline),
    ("tcp6-loopback", Offline),
    ("tcp-fast-open", Offline),
    ("mptcp", Offline),
    ("udp-loopback", Offline),
    ("udp6-loopback", Offline),
    ("udp-lite", Offline),
    ("ping-socket", Offline),
    ("tcp-internet", Offline),
    ("udp-internet", Offline),
    ("dns", Offline),
    ("metadata", Offline),
    ("bind-device", Offline),
    ("proxy-listed", Granted),
    ("proxy-unlisted", Refused),
    ("proxy-metadata", Refused),
    ("proxy-loopback", Refused),
    ("proxy-odd-port", Refused),
    ("proxy-smuggle", Refused),
    ("proxy-plain", Refused),
    ("proxy-huge", Refused),
    ("proxy-flood", Refused),
    // Git.
    ("git-push", Refused),
    ("git-borrowed-refs", Refused),
    ("git-borrowed-objects", Refused),
    ("git-user-repository", Refused),
    ("git-global-config", Inside),
    ("git-plant-hooks", Left),
    ("git-plant-config", Left),
    ("git-plant-attributes", Left),
    ("git-plant-submodule", Left),
    ("git-redirect", Left),
    ("git-worktree", Left),
    ("git-steal-objects", Guardrail),
    ("git-replace-objects", Left),
    ("git-symbolic-branch", Guardrail),
    ("git-odd-branch", Guardrail),
    ("git-no-task-id", Guardrail),
    ("git-protected-branch", Guardrail),
    ("git-checkout-protected", Guardrail),
    ("git-edit-acquit", Guardrail),
    ("git-garbage", Left),
    ("git-pipes", Left),
    ("git-removed", Left),
    ("git-locks", Left),
    // What is left behind.
    ("leave-pipe", Left),
    ("leave-pipe-attributes", Left),
    ("leave-pipe-ignore", Left),
    ("leave-socket", Left),
    ("leave-device", Left),
    ("leave-deep", Left),
    ("leave-closed", Left),
    ("leave-odd-names", Left),
    ("leave-links", Left),
    ("leave-sparse", Left),
    ("leave-nested-git", Left),
    ("leave-nothing", Left),
    ("replace-workspace", Left),
    ("handoff-symlink", Left),
    ("handoff-hardlink", Left),
    ("handoff-pipe", Left),
    ("handoff-folder", Left),
    ("handoff-huge", Left),
    ("handoff-deep", Left),
    ("output-symlink", Left),
    ("output-links", Left),
    ("wipe-output", Kept),
    // Using things up.
    ("fork-bomb", Limit("processes")),
    ("thread-bomb", Limit("processes")),
    ("memory-bomb", Limit("memory")),
    ("memory-bomb-among-orphans", Limit("memory")),
    ("memory-bomb-spread", Limit("memory")),
    ("memfd-bomb", Limit("memory")),
    ("memory-bomb-shared", Limit("memory")),
    ("memory-bomb-in-flight", Limit("memory")),
    ("memory-bomb-sockets", Limit("memory")),
    ("memory-bomb-untouched", Limit("memory")),
    ("memory-bomb-backlog", Limit("memory")),
    ("inotify-bomb", Limit("watchers")),
    ("disk-bomb-mapped", Limit("disk")),
    ("disk-bomb", Limit("disk")),
    ("disk-bomb-unlinked", Limit("disk")),
    ("fill-tmp", Limit("disk")),
    ("fill-shm", Limit("memory")),
    ("many-files", Limit("disk")),
    ("descriptor-bomb", Limit("open files")),
    ("output-bomb", Output),
    ("spin", Limit("timed out")),
];
