//! Runs tests of a suite again as somebody else: an ordinary user, also one whose machine has no user namespaces, and root on such a
//! machine.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Belongs to nobody.
const USER: &str = "12345";

/// In a user namespace in which no further ones can be made, and without the privileges that it came with.
const NO_NAMESPACES: &str = "echo 0 > /proc/sys/user/max_user_namespaces && \
                             exec setpriv --ambient-caps -all --inh-caps -all --bounding-set -all -- \"$@\"";

/// The same for root, who keeps all privileges that it has there: as in a container that root did not start.
const ROOT_WITHOUT: &str = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$@\"";

/// All of the machine's files at another place, which is the root of the user.
const CHANGED_ROOT: &str = "mount --rbind / /mnt && exec /usr/sbin/chroot /mnt setpriv --reuid \"$0\" --regid \"$0\" --clear-groups -- \"$@\"";

/// What the user's machine has.
#[allow(dead_code, reason = "every suite uses its own part of this")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Machine {
    Whole,
    WithoutUserNamespaces,
    /// The user is root.
    OfRootWithoutUserNamespaces,
    /// The kernel refuses user namespaces to processes whose root was changed, as containers do by other means.
    InChangedRoot,
}

/// Whether this process may become another user. A suite that is run by an ordinary user shows the same by its other tests.
pub(crate) fn can_become_one() -> bool {
    rustix::process::geteuid().is_root()
}

/// Runs these tests of the current suite, exactly, and fails with what they said if one of them does. `programs` are copied to where the
/// user can reach them, and named by these variables.
pub(crate) fn run(
    machine: Machine,
    tests: &[&str],
    programs: &[(&str, &Path)],
    variables: &[(&str, &str)],
) -> String {
    let place = tempfile::Builder::new().prefix("acquit-user-").tempdir().unwrap();
    std::fs::set_permissions(place.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    let copy = |from: &Path, name: &str| -> PathBuf {
        let to = place.path().join(name);
        // Nobody writes to it, and these are large.
        if std::fs::hard_link(from, &to).is_err() {
            std::fs::copy(from, &to).unwrap();
        }
        to
    };
    let test = copy(&std::env::current_exe().unwrap(), "test");
    let mut command = Command::new("setpriv");
    let become_user = ["--reuid", USER, "--regid", USER, "--clear-groups", "--"];
    let apart = ["unshare", "--user", "--map-current-user", "--keep-caps", "sh", "-c"];
    match machine {
        Machine::Whole => command.args(become_user),
        Machine::WithoutUserNamespaces => command.args(become_user).args(apart).args([NO_NAMESPACES, "sh"]),
        Machine::OfRootWithoutUserNamespaces => command.arg("--").args(apart).args([ROOT_WITHOUT, "sh"]),
        Machine::InChangedRoot => command
            .args(["--", "unshare", "--mount", "--propagation", "private", "sh", "-c"])
            .args([CHANGED_ROOT, USER]),
    };
    command.arg(test).args(tests).args(["--exact", "--nocapture"]).current_dir(place.path());
    command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin");
    command.env("HOME", place.path()).env("TMPDIR", place.path());
    for (name, program) in programs {
        command.env(name, copy(program, &name.to_lowercase()));
    }
    let ran = command.envs(variables.iter().copied()).output().expect("setpriv and unshare are there");
    let said = format!("{}\n{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    let passed = format!("{} passed; 0 failed", tests.len());
    assert!(ran.status.success() && said.contains(&passed), "{machine:?}: {said}");
    said
}
