//! Limits of a sandbox: who enforces that of memory, which tools go on working, and that an ordinary user has all of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::{Place, binary, user};

/// The limit of these tests.
const MEMORY: u64 = 64 << 20;

/// More than it allows, in a file that lives in memory. Ends by itself where nothing limits it.
const BOMB: &str = "head -c 300000000 /dev/zero > /dev/shm/bomb; sleep 5; echo unlimited";

/// A cgroup as systemd delegates one. Removed when this is dropped.
struct Scope(PathBuf);

impl Scope {
    /// Makes one, or says why this machine cannot.
    fn make() -> Result<Self, String> {
        let root = Path::new("/sys/fs/cgroup");
        let controllers = fs::read_to_string(root.join("cgroup.controllers"))
            .map_err(|error| format!("/sys/fs/cgroup is not a cgroup v2: {error}"))?;
        for wanted in ["memory", "pids"] {
            if !controllers.split_ascii_whitespace().any(|one| one == wanted) {
                return Err(format!("the cgroup v2 has no {wanted}: {controllers}"));
            }
        }
        fs::write(root.join("cgroup.subtree_control"), "+memory +pids").map_err(|error| error.to_string())?;
        let scope = Self(root.join(format!("acquit-test-{}.scope", std::process::id())));
        fs::create_dir(&scope.0).map_err(|error| error.to_string())?;
        let flags = rustix::fs::XattrFlags::empty();
        rustix::fs::setxattr(&scope.0, "user.delegate", b"1", flags).map_err(|error| error.to_string())?;
        Ok(scope)
    }

    /// Runs a command in it.
    fn run(&self, command: &Command) -> Output {
        // Once its children are limited it takes no processes itself; those of acquit are in a child then.
        let apart = self.0.join("acquit-self");
        let folder = if apart.is_dir() { &apart } else { &self.0 };
        let mut inside = Command::new("sh");
        inside.args(["-c", "echo $$ > \"$0\"/cgroup.procs && exec \"$@\""]).arg(folder);
        inside.arg(command.get_program()).args(command.get_args()).env_clear();
        inside.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        inside.current_dir(command.get_current_dir().unwrap()).output().unwrap()
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        let _ = fs::remove_dir(self.0.join("acquit-self"));
        let _ = fs::remove_dir(&self.0);
    }
}

fn words(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned()
}

/// Runs a command as it is.
fn plain(command: &Command) -> Output {
    let mut again = Command::new(command.get_program());
    again.args(command.get_args()).env_clear().current_dir(command.get_current_dir().unwrap());
    again.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?)))).output().unwrap()
}

/// Who enforces the limit on memory, by what `doctor` says: the kernel in this cgroup, or nobody but acquit.
fn enforcer(place: &Place, run: &dyn Fn(&Command) -> Output) -> Result<PathBuf, String> {
    let mut doctor = Command::new(binary());
    doctor.args(["doctor", "--json"]).current_dir(place.path("work")).env("HOME", place.path("home"));
    doctor.env("PATH", "/usr/local/bin:/usr/bin:/bin").env("ACQUIT_HOME", place.path("acquit"));
    let all: serde_json::Value = serde_json::from_slice(&run(&doctor).stdout).unwrap();
    let list = all["abilities"].as_array().unwrap();
    let state = &list.iter().find(|one| one["name"] == "memory limit by cgroup").unwrap()["state"];
    match (state["yes"].as_str(), state["no"].as_str()) {
        (Some(words), None) => {
            Ok(Path::new("/sys/fs/cgroup/").join(words.split(':').next().unwrap().trim_start_matches('/')))
        }
        (None, Some(why)) => Err(why.to_owned()),
        _ => panic!("{state}"),
    }
}

/// Whether a sandbox that runs in this cgroup has the limit on memory from the kernel. Which of kernel and watch ends a bomb first is a
/// race, so it is looked at while nothing is used up.
fn is_limited(group: &Path) -> bool {
    let name = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().starts_with("acquit-sandbox-");
    let sandboxes = fs::read_dir(group).into_iter().flatten().flatten().filter(name);
    let limit = |entry: fs::DirEntry| fs::read_to_string(entry.path().join("memory.max")).unwrap_or_default();
    let holds = |entry: &fs::DirEntry| {
        !fs::read_to_string(entry.path().join("cgroup.procs")).unwrap_or_default().is_empty()
    };
    sandboxes.filter(holds).any(|entry| limit(entry).trim() == MEMORY.to_string())
}

/// In a cgroup that systemd delegated, as `cargo xtask vm` runs it, or one that is made here as systemd makes it, the kernel enforces the
/// limit. Where there is neither it is watched, `doctor` says so, and this test shows that instead. Set `ACQUIT_TEST_CGROUP=1` to fail there.
#[test]
fn the_memory_limit_holds_and_doctor_says_who_enforces_it() {
    let place = Place::new();
    let policy = place.policy(&[], |policy| policy["resources"]["memory"] = MEMORY.into());
    let delegated = enforcer(&place, &plain);
    let scope = if delegated.is_ok() { Err("there is one already".to_owned()) } else { Scope::make() };
    let run = |command: &Command| scope.as_ref().map_or_else(|_| plain(command), |scope| scope.run(command));
    let group = enforcer(&place, &run);
    if let Err(why) = &group {
        assert!(scope.is_err(), "doctor does not see the cgroup that was made: {why}");
        assert!(std::env::var_os("ACQUIT_TEST_CGROUP").is_none(), "no cgroup here: {why}, {:?}", scope.err());
    }
    std::thread::scope(|scope| {
        let stop = place.path("work/stop");
        let wait = "while [ ! -e stop ]; do sleep 0.05; done";
        let command = place.command(&["--policy", &policy, "--", "sh", "-c", wait]);
        let running = scope.spawn(move || run(&command));
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
        let seen = group.as_ref().is_ok_and(|group| {
            while !is_limited(group) && std::time::Instant::now() < deadline {
                std::thread::sleep(std::time::Duration::from_millis(10));
            }
            is_limited(group)
        });
        fs::write(stop, "").unwrap();
        let output = running.join().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", words(&output));
        assert_eq!(seen, group.is_ok(), "the kernel limits nothing in {group:?}");
    });
    let output = run(&place.command(&["--policy", &policy, "--", "sh", "-c", BOMB]));
    let said = words(&output);
    assert!(!said.contains("unlimited") && !output.status.success(), "{said}");
    assert!(said.contains(&format!("used more than {MEMORY} bytes of memory")), "{said}");
    if let Ok(group) = &group {
        let left: Vec<_> = fs::read_dir(group).unwrap().flatten().map(|entry| entry.file_name()).collect();
        let is_left = |name: &std::ffi::OsString| name.to_string_lossy().starts_with("acquit-sandbox-");
        assert!(!left.iter().any(is_left), "{left:?}");
        // The cgroup limits processes, whatever the kernel's namespaces can.
        assert!(!words(&output).contains("limit on processes"), "{said}");
    }
}

/// Tools that set modes in all ways go on working. A program with a set-uid bit cannot be made, also not by them.
#[test]
fn tools_that_set_modes_go_on_working_and_make_no_set_uid_file() {
    let place = Place::new();
    let script = r#"
set -e
git init -q --shared repo; cd repo; git config user.name x; git config user.email x@example.org
echo x > f; git add f; git commit -qm x; git repack -adq; cd ..
mkdir -m 2775 shared; test -g shared || chmod g+s shared; test -g shared
install -d -m 2775 other; test -g other; install -m 755 /bin/true tool; ./tool
cp -p tool copy; cp -a repo repo2; tar -cf a.tar repo tool shared; mkdir out; tar -xpf a.tar -C out; test -g out/shared
mv out/tool moved; ./moved; chmod u+w,o-w moved; touch new; chmod 1777 shared
python3 -c 'import os, tempfile, shutil; d = tempfile.mkdtemp(); shutil.copytree("repo", d + "/r", symlinks=True); os.chmod(d, 0o2770)'
for way in "chmod 4755 tool" "chmod u+s tool" "install -m 4755 /bin/true planted" "chmod 6711 tool"; do
    if $way 2> /dev/null; then echo "worked: $way"; exit 9; fi
done
test ! -u tool; test ! -u planted
echo fine
"#;
    let (output, said) = place.sh(&[], script);
    assert!(output.status.success() && said.contains("fine"), "{said}");
}

/// Editors replace a file by renaming, and the kernel takes the cover of a hidden one away with it.
#[test]
fn a_hidden_file_in_a_written_folder_stays_hidden_when_the_host_replaces_it() {
    let place = Place::new();
    let shared = place.path("shared");
    for folder in ["kept", "other/kept"] {
        fs::create_dir_all(shared.join(folder)).unwrap();
        fs::write(shared.join(folder).join("key"), "first secret").unwrap();
    }
    fs::write(shared.join("hidden"), "first secret").unwrap();
    let file = place.policy(&["--write", "../shared"], |policy| {
        for name in ["hidden", "kept"] {
            let entry = serde_json::json!({ "at": shared.join(name), "what": "hidden" });
            policy["view"].as_array_mut().unwrap().push(entry);
        }
    });
    let script = "cat ../shared/hidden ../shared/kept/key; touch ../shared/ready
while [ ! -e ../shared/go ]; do sleep 0.02; done; sleep 1; cat ../shared/hidden ../shared/kept/key; echo done";
    let mut command = place.command(&["--policy", &file, "--", "sh", "-c", script]);
    let running = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while !shared.join("ready").exists() {
        assert!(std::time::Instant::now() < deadline, "it starts");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    fs::write(shared.join("new"), "second secret").unwrap();
    fs::rename(shared.join("new"), shared.join("hidden")).unwrap();
    fs::rename(shared.join("kept"), shared.join("old")).unwrap();
    fs::rename(shared.join("other/kept"), shared.join("kept")).unwrap();
    fs::write(shared.join("go"), "").unwrap();
    let said = words(&running.wait_with_output().unwrap());
    assert!(said.contains("done") && !said.contains("secret"), "{said}");
}

#[test]
fn an_ordinary_user_has_the_same_sandbox() {
    let tests = [
        "the_current_folder_can_be_changed_and_the_home_cannot_be_seen",
        "where_the_machine_lacks_walls_nothing_starts_unless_less_is_accepted",
        "what_git_and_acquit_obey_in_the_checkout_can_be_read_only",
        "a_link_that_a_program_planted_shows_the_next_one_nothing",
        "limits::tools_that_set_modes_go_on_working_and_make_no_set_uid_file",
        "limits::a_hidden_file_in_a_written_folder_stays_hidden_when_the_host_replaces_it",
        "limits::the_memory_limit_holds_and_doctor_says_who_enforces_it",
    ];
    let acquit = binary();
    if user::can_become_one() {
        user::run(user::Machine::Whole, &tests, &[("ACQUIT_TEST_BINARY", &acquit)], &[]);
    }
}
