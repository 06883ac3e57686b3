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
const ABSTRACT: &str = "barrier to abstract sockets";

/// Makes a machine that has everything, except for these files and this kernel.
fn machine(
    files: &[(&str, &str)],
    release: &str,
    landlock: Option<u32>,
    user: User,
) -> (tempfile::TempDir, Machine) {
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
    (folder, machine)
}

/// Returns the missing abilities of a machine.
fn missing(
    files: &[(&str, &str)],
    release: &str,
    landlock: Option<u32>,
    user: User,
) -> Vec<(String, String)> {
    let (_folder, machine) = machine(files, release, landlock, user);
    let mut list = machine.abilities();
    // This depends on the machine that runs the test.
    list.retain(|ability| ability.name != "open files");
    assert_eq!(list.len(), 9);
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
    let mut found = missing(&[(restricted, "1"), (clone, "0")], "6.18.1", None, User::Root);
    found.retain(|(name, _)| name != ABSTRACT);
    assert_eq!(found, [("Landlock".to_owned(), "the kernel does not have it on".to_owned())]);
}

/// As Ubuntu 24.04 and Debian 12 have it: nothing is refused, and `doctor` says what `open` includes.
#[test]
fn an_older_landlock_does_not_keep_programs_from_abstract_sockets() {
    let why = "Landlock is older than ABI 6".to_owned();
    for abi in [2, 4, 5] {
        let found = missing(&[], "6.18.1", Some(abi), User::Ordinary);
        assert_eq!(found, [(ABSTRACT.to_owned(), why.clone())], "{abi}");
    }
    let (_folder, machine) = machine(&[], "6.8.0", Some(4), User::Ordinary);
    let ability = machine.abilities().into_iter().find(|one| one.name == ABSTRACT).expect("an ability");
    assert_eq!(ability.need, Need::Useful);
    assert!(ability.consequence.contains("`open`"), "{}", ability.consequence);
}

#[test]
fn an_old_kernel_lacks_what_came_later() {
    let names = |release| {
        let mut found = missing(&[], release, Some(2), User::Ordinary);
        found.retain(|(name, _)| name != ABSTRACT);
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
    let mut found = missing(&[], "6.14.0", Some(1), User::Ordinary);
    found.retain(|(name, _)| name != ABSTRACT);
    assert_eq!(found, [("Landlock".to_owned(), "the kernel has ABI 1, older than 2".to_owned())]);
}

#[test]
fn versions_are_found_in_what_programs_say() {
    assert_eq!(Version::in_text("git version 2.47.1"), Some(Version(2, 47)));
    assert_eq!(Version::in_text("6.18.44-x"), Some(Version(6, 18)));
    assert_eq!(Version::in_text("none"), None);
    assert!(Version(6, 9) < Version(6, 14) && Version(5, 99) < Version(6, 0));
}

#[test]
fn wsl_2_is_a_linux_and_its_kernel_comes_from_windows() {
    let wsl = |release, landlock| {
        let (_folder, machine) = machine(&[], release, landlock, User::Ordinary);
        let mut list = machine.abilities();
        list.retain(|one| one.name != "open files");
        list
    };
    let lacks = |release, landlock| {
        let list = wsl(release, landlock).into_iter().filter(|one| !one.is_there());
        list.map(|one| (one.name, one.mend.unwrap_or_default())).collect::<Vec<_>>()
    };
    let now = wsl("6.18.33.1-microsoft-standard-WSL2", Some(7));
    assert_eq!((now[0].name.as_str(), now.iter().all(Ability::is_there)), ("WSL", true), "{now:?}");
    let owned = |name: &str, mend: &str| (name.to_owned(), mend.to_owned());
    assert_eq!(
        lacks("6.6.87.2-microsoft-standard-WSL2", Some(3)),
        [owned(ABSTRACT, NEWER_WSL), owned("process limit of a namespace", NEWER_WSL)]
    );
    assert_eq!(lacks("5.15.90.1-microsoft-standard-WSL2", Some(1))[0], owned("Landlock", NEWER_WSL));
    let (name, mend) = lacks("6.18.33.1-microsoft-standard-WSL2", None).swap_remove(0);
    assert!(name == "Landlock" && mend.contains(".wslconfig"), "{mend}");
    // A kernel of the user's own is recognized by how Windows programs start.
    let interop = [("proc/sys/fs/binfmt_misc/WSLInterop", "enabled\n")];
    let (_folder, own) = machine(&interop, "6.18.1-mine", Some(7), User::Ordinary);
    assert_eq!(own.abilities()[0].name, "WSL");
    let (name, mend) = lacks("4.4.0-19041-Microsoft", None).swap_remove(0);
    assert!(name == "WSL" && mend.contains("--set-version"), "{mend}");
}

#[test]
fn a_path_on_a_windows_drive_is_found_in_wsl_only() {
    let mounts = "/dev/sdc / ext4 rw 0 0\nC:\\134 /mnt/c 9p rw,aname=drvfs 0 0\n/dev/sdd /mnt/c/disk ext4 rw 0 0\n\
                  D:\\134 /mnt/my\\040drive virtiofs rw 0 0\n";
    let files = [("proc/self/mounts", mounts)];
    let (_folder, wsl) = machine(&files, "6.18.33.1-microsoft-standard-WSL2", Some(7), User::Ordinary);
    let drive = |path: &str| wsl.windows_drive(Path::new(path));
    assert_eq!(drive("/mnt/c/Users/me/project"), Some("/mnt/c".into()));
    assert_eq!(drive("/mnt/my drive/x"), Some("/mnt/my drive".into()));
    assert_eq!((drive("/srv/me/project"), drive("/mnt/c/disk/x"), drive("/mnt/cx")), (None, None, None));
    let (_folder, other) = machine(&files, "6.18.1", Some(7), User::Ordinary);
    assert_eq!(other.windows_drive(Path::new("/mnt/c/x")), None);
}

#[test]
fn the_profile_for_apparmor_names_the_program_whatever_its_path() {
    let restricted = ("proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n");
    let (_folder, mut machine) = machine(&[restricted], "6.18.1", Some(7), User::Ordinary);
    // The line of the profile, as the shell passes it to printf.
    for (program, line) in [
        ("/opt/acquit", r#"'profile acquit "/opt/acquit" flags=(unconfined) {'"#),
        ("/opt/o'neil/a b/acquit", r#"'profile acquit "/opt/o'\''neil/a b/acquit" flags=(unconfined) {'"#),
        (r#"/x/{a,b}*[c]"\"#, r#"'profile acquit "/x/\{a,b\}\*\[c\]\"\\" flags=(unconfined) {'"#),
        ("/x/'; id; '", r#"'profile acquit "/x/'\''; id; '\''" flags=(unconfined) {'"#),
    ] {
        machine.program = program.into();
        let found = machine.abilities().into_iter().find(|one| one.name == "user namespaces");
        let mend = found.and_then(|one| one.mend).unwrap_or_default();
        assert!(mend.contains(&format!(" {line} '  userns,'")), "{mend}");
    }
    let begin = "printf '%s\\n' 'abi <abi/4.0>,' 'include <tunables/global>' 'profile acquit ";
    let end = "'}' | sudo tee /etc/apparmor.d/acquit && sudo apparmor_parser -r /etc/apparmor.d/acquit";
    let command = machine.profile();
    assert!(command.starts_with(begin) && command.ends_with(end), "{command}");
}
