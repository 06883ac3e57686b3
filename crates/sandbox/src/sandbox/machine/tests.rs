//! Tests with simulated machines, made of files.

use super::*;

const GOOD: [(&str, &str); 6] = [
    ("proc/sys/user/max_user_namespaces", "15000\n"),
    ("proc/sys/kernel/seccomp/actions_avail", "kill_process kill_thread trap errno allow\n"),
    ("proc/filesystems", "nodev\tsysfs\n\text4\nnodev\toverlay\n"),
    ("proc/sys/user/max_inotify_instances", "128\n"),
    ("proc/self/cgroup", "0::/user.slice/a.scope\n"),
    ("sys/fs/cgroup/user.slice/a.scope/cgroup.controllers", "cpu memory pids\n"),
];

const BY_CGROUP: &str = "memory limit by cgroup";

/// Returns the missing abilities of a machine that has everything, except for these files and this kernel.
fn missing(
    files: &[(&str, &str)],
    release: &str,
    landlock: Option<u32>,
    user: User,
) -> Vec<(String, String)> {
    let folder = tempfile::tempdir().expect("a folder");
    for (path, text) in GOOD.iter().chain(files) {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().expect("a folder above")).expect("a folder");
        fs::write(path, text).expect("a file");
    }
    let machine = Machine {
        root: folder.path().to_owned(),
        release: release.to_owned(),
        landlock,
        user,
        program: "/opt/acquit".into(),
        is_delegated: |folder| folder.ends_with("a.scope"),
    };
    let mut list = machine.abilities();
    // This depends on the machine that runs the test.
    list.retain(|ability| ability.name != "open files");
    assert_eq!(list.len(), 8);
    assert!(list.iter().all(|one| one.is_there() == one.consequence.is_empty()));
    list.into_iter()
        .filter_map(|one| match one.state {
            State::No(why) => Some((one.name, why)),
            State::Yes(_) => None,
        })
        .collect()
}

#[test]
fn a_machine_that_has_everything_lacks_nothing() {
    assert_eq!(missing(&[], "6.18.1-generic", Some(7), User::Ordinary), []);
}

#[test]
fn each_thing_that_a_machine_lacks_is_named_with_its_reason() {
    let restricted = "proc/sys/kernel/apparmor_restrict_unprivileged_userns";
    let clone = "proc/sys/kernel/unprivileged_userns_clone";
    for (file, text, name, why) in [
        ("proc/sys/user/max_user_namespaces", "0\n", "user namespaces", "user.max_user_namespaces is 0"),
        (clone, "0\n", "user namespaces", "kernel.unprivileged_userns_clone is 0"),
        (restricted, "1\n", "user namespaces", "AppArmor keeps them from programs without a profile"),
        (
            "proc/sys/kernel/seccomp/actions_avail",
            "allow errno_x\n",
            "seccomp",
            "the kernel offers no filters",
        ),
        ("proc/self/cgroup", "1:cpu:/\n", BY_CGROUP, "there is no cgroup v2"),
        (
            "proc/self/cgroup",
            "0::/other\n",
            BY_CGROUP,
            "its cgroup v2 has no control over memory and processes",
        ),
    ] {
        let mut found = missing(&[(file, text)], "6.18.1", Some(7), User::Ordinary);
        // This is a limit of user namespaces, so it is missing with them.
        found.retain(|(other, _)| name != "user namespaces" || other != "inotify limit of a namespace");
        assert_eq!(found, [(name.to_owned(), why.to_owned())], "{file}");
    }
    // Without overlays, sockets stay reachable unless Landlock supports them.
    let without = &[("proc/filesystems", "nodev\toverlayx\n")];
    for (landlock, names) in
        [(8, &["barrier to Unix sockets", "overlays in namespaces"][..]), (9, &["overlays in namespaces"])]
    {
        let found = missing(without, "6.18.1", Some(landlock), User::Ordinary);
        assert_eq!(found.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), names, "{landlock}");
        assert!(found.iter().all(|(_, why)| why == "overlayfs is not loaded"));
    }
    // As on a freshly booted Debian: overlayfs was not used yet.
    let loadable =
        ("lib/modules/6.18.1/modules.dep", "kernel/fs/fat/fat.ko.xz:\nkernel/fs/overlayfs/overlay.ko.xz:\n");
    assert_eq!(missing(&[without[0], loadable], "6.18.1", Some(7), User::Ordinary), []);
    let found = missing(&[(restricted, "1"), (clone, "0")], "6.18.1", None, User::Root);
    assert_eq!(found, [("Landlock".to_owned(), "the kernel does not have it on".to_owned())]);
}

#[test]
fn an_old_kernel_lacks_what_came_later() {
    let names = |release| {
        let found = missing(&[], release, Some(2), User::Ordinary);
        found.into_iter().map(|(name, _)| name).collect::<Vec<_>>()
    };
    assert_eq!(names("6.14.0"), [""; 0]);
    assert_eq!(names("6.9.12-arch"), ["process limit of a namespace"]);
    let old = ["barrier to Unix sockets", "overlays in namespaces", "process limit of a namespace"];
    assert_eq!(
        (names("5.10.0"), names("unknown")),
        (old.map(str::to_owned).to_vec(), old.map(str::to_owned).to_vec())
    );
    // `doctor` must reject what the sandbox rejects.
    let found = missing(&[], "6.14.0", Some(1), User::Ordinary);
    assert_eq!(found, [("Landlock".to_owned(), "the kernel has ABI 1, older than 2".to_owned())]);
}

#[test]
fn versions_are_found_in_what_programs_say() {
    assert_eq!(Version::in_text("git version 2.47.1"), Some(Version(2, 47)));
    assert_eq!(Version::in_text("6.18.44-x"), Some(Version(6, 18)));
    assert_eq!(Version::in_text("none"), None);
    assert!(Version(6, 9) < Version(6, 14) && Version(5, 99) < Version(6, 0));
}
