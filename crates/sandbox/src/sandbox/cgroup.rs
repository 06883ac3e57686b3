//! Finds the cgroup v2 to create sandboxes in: one that systemd delegated to acquit. Read-only; used by `doctor` and
//! the sandbox.

use std::fs;
use std::path::{Path, PathBuf};

/// Mount point of the cgroup file system.
pub(crate) const ROOT: &str = "/sys/fs/cgroup";
/// The child of a delegated cgroup that contains acquit's own processes. The service's unit names it too.
pub(crate) const OWN: &str = "acquit-self";

/// The cgroup to create sandboxes in.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Base {
    /// The parent of acquit's own cgroup.
    Around(PathBuf),
    /// Acquit's own cgroup, after its processes are moved into a child.
    Own(PathBuf),
}

/// Why there is no such cgroup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lacks {
    /// The machine has no cgroup v2.
    Version2,
    /// The memory and pids controllers are missing.
    Controllers,
    /// The cgroup is not delegated to acquit.
    Delegation,
}

/// Finds the cgroup, given the cgroup mount point and the file that names the process's own cgroup.
pub(crate) fn find(root: &Path, list: &Path, is_delegated: impl Fn(&Path) -> bool) -> Result<Base, Lacks> {
    let list = fs::read_to_string(list).unwrap_or_default();
    let own = list.lines().find_map(|line| line.strip_prefix("0::/")).ok_or(Lacks::Version2)?;
    let own = root.join(own);
    let around = own.parent().filter(|_| own.ends_with(OWN));
    let base = around.unwrap_or(&own);
    let controllers = fs::read_to_string(base.join("cgroup.controllers")).unwrap_or_default();
    let has = |wanted: &str| controllers.split_ascii_whitespace().any(|one| one == wanted);
    if !has("memory") || !has("pids") {
        return Err(Lacks::Controllers);
    }
    // The root cgroup is shared by the whole machine.
    if base == root || !base.starts_with(root) || !is_delegated(base) {
        return Err(Lacks::Delegation);
    }
    match around {
        Some(around) => Ok(Base::Around(around.to_owned())),
        // systemd restarts a service in its own cgroup, which may have no processes once its children are limited. It
        // never restarts a scope.
        None if own.extension().is_some_and(|kind| kind == "scope") => Ok(Base::Own(own)),
        None => Err(Lacks::Delegation),
    }
}

/// Returns whether systemd delegated a cgroup. Write access is not enough: a user's terminal runs in a writable
/// cgroup, and root can write to every one.
#[cfg(target_os = "linux")]
pub(crate) fn is_delegated(folder: &Path) -> bool {
    use rustix::fs::{Access, access, getxattr};
    let is_marked = |name: &str| {
        let mut value = [0_u8; 1];
        matches!(getxattr(folder, name, &mut value[..]), Ok(1)) && value == *b"1"
    };
    let can_write = |name: &str| access(folder.join(name), Access::WRITE_OK).is_ok();
    let is_said = || {
        // The system manager marks the cgroup itself.
        is_marked("user.delegate")
            || is_marked("trusted.delegate")
            // `DelegateSubgroup` of the service's unit creates this child, or acquit does, after this check.
            || folder.join(OWN).is_dir()
            // A user manager marks nothing, but writes down the settings it was given.
            || transient_unit(folder, Path::new(ROOT), Path::new("/run"))
                .and_then(|file| fs::read_to_string(file).ok())
                .is_some_and(|unit| delegates(&unit))
    };
    can_write("") && can_write("cgroup.procs") && can_write("cgroup.subtree_control") && is_said()
}

/// Returns the unit file that systemd writes for `systemd-run`. Units of a user manager are in that user's directory.
fn transient_unit(folder: &Path, root: &Path, run: &Path) -> Option<PathBuf> {
    let below = folder.strip_prefix(root).ok()?;
    let user = below.iter().find_map(|part| {
        let id = part.to_str()?.strip_prefix("user@")?.strip_suffix(".service")?;
        id.bytes().all(|byte| byte.is_ascii_digit()).then_some(id)
    });
    let manager = user.map_or_else(|| run.to_owned(), |user| run.join("user").join(user));
    Some(manager.join("systemd/transient").join(below.file_name()?))
}

/// Returns whether a unit's settings delegate its cgroup. The last setting counts.
fn delegates(unit: &str) -> bool {
    let last = unit.lines().filter_map(|line| line.trim().strip_prefix("Delegate=")).next_back();
    last.is_some_and(|value| !matches!(value.trim(), "no" | "false" | "off" | "0" | "n" | "f"))
}

/// Other systems have no cgroups.
#[cfg(not(target_os = "linux"))]
pub(crate) fn is_delegated(_: &Path) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(own: &str, controllers: &str, is_delegated: bool) -> Result<Base, Lacks> {
        let root = tempfile::tempdir().expect("a folder");
        let base = root.path().join(own.strip_suffix("/acquit-self").unwrap_or(own));
        fs::create_dir_all(&base).expect("a folder");
        fs::write(base.join("cgroup.controllers"), controllers).expect("a file");
        let list = root.path().join("list");
        fs::write(&list, format!("1:name=systemd:/x\n0::/{own}\n")).expect("a file");
        let shorten = |path: PathBuf| path.strip_prefix(root.path()).expect("below").to_owned();
        find(root.path(), &list, |_| is_delegated).map(|base| match base {
            Base::Around(path) => Base::Around(shorten(path)),
            Base::Own(path) => Base::Own(shorten(path)),
        })
    }

    #[test]
    fn a_delegated_scope_or_subgroup_is_used_and_nothing_else() {
        let both = "cpu memory pids";
        assert_eq!(
            found("user.slice/run-1.scope", both, true),
            Ok(Base::Own("user.slice/run-1.scope".into()))
        );
        assert_eq!(
            found("acquit.service/acquit-self", both, true),
            Ok(Base::Around("acquit.service".into()))
        );
        assert_eq!(found("run-1.scope/acquit-self", both, true), Ok(Base::Around("run-1.scope".into())));
        assert_eq!(found("session.scope", both, false), Err(Lacks::Delegation));
        assert_eq!(
            found("acquit.service", both, true),
            Err(Lacks::Delegation),
            "it could not be started again"
        );
        assert_eq!(found("", both, true), Err(Lacks::Delegation), "the root is everybody's");
        assert_eq!(found("run-1.scope", "cpu pids", true), Err(Lacks::Controllers));
    }

    /// As systemd 257 writes it for `systemd-run --user --scope`.
    #[test]
    fn a_users_manager_says_in_the_unit_whether_it_delegates() {
        let unit = |setting: &str| {
            format!("# a transient unit\n[Unit]\nDescription=Delegate=yes\n\n[Scope]\n{setting}")
        };
        for (setting, expected) in [
            ("Delegate=yes\n", true),
            ("Delegate=memory pids\n", true),
            ("Delegate=yes\nDelegate=no\n", false),
            ("Delegate=no\n", false),
            ("", false),
        ] {
            assert_eq!(delegates(&unit(setting)), expected, "{setting}");
        }
        let file =
            |folder: &str| transient_unit(&Path::new("/c").join(folder), Path::new("/c"), Path::new("/run"));
        assert_eq!(
            file("user.slice/user-1000.slice/user@1000.service/app.slice/run-1.scope"),
            Some("/run/user/1000/systemd/transient/run-1.scope".into())
        );
        assert_eq!(file("system.slice/run-1.scope"), Some("/run/systemd/transient/run-1.scope".into()));
        assert_eq!(
            file("user@../../x.service/run-1.scope"),
            Some("/run/systemd/transient/run-1.scope".into()),
            "no user has such a name"
        );
        assert_eq!(transient_unit(Path::new("/elsewhere/a.scope"), Path::new("/c"), Path::new("/run")), None);
    }

    #[test]
    fn a_machine_without_version_2_has_none() {
        let root = tempfile::tempdir().expect("a folder");
        let list = root.path().join("list");
        fs::write(&list, "4:memory:/x\n").expect("a file");
        assert_eq!(find(root.path(), &list, |_| true), Err(Lacks::Version2));
    }
}
