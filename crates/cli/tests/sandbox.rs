//! `acquit sandbox`: the sandbox of agents and gates, as a command of its own.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test may panic, and starts programs")]

#[path = "sandbox/limits.rs"]
mod limits;
#[path = "common/user.rs"]
mod user;

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Command, Output};

/// The binary under test: the one that cargo built, or a copy of it that other users can reach.
fn binary() -> PathBuf {
    std::env::var_os("ACQUIT_TEST_BINARY").unwrap_or_else(|| env!("CARGO_BIN_EXE_acquit").into()).into()
}

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(tempfile::Builder::new().prefix("acquit-test-").tempdir().unwrap());
        for folder in ["home/.ssh", "home/.cargo/bin", "work"] {
            fs::create_dir_all(place.path(folder)).unwrap();
        }
        fs::write(place.path("home/.ssh/id"), "a key").unwrap();
        fs::write(place.path("home/.cargo/credentials.toml"), "a token").unwrap();
        fs::write(place.path("home/.cargo/config.toml"), "# settings\n").unwrap();
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(binary());
        command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", self.path("home"));
        command.env("ACQUIT_HOME", self.path("acquit")).current_dir(self.path("work"));
        command.arg("sandbox").args(args);
        command
    }

    fn run(&self, args: &[&str]) -> (Output, String) {
        let output = self.command(args).output().unwrap();
        let said = [&output.stdout[..], &output.stderr].concat();
        (output, String::from_utf8_lossy(&said).into_owned())
    }

    /// The file with a policy that was printed with these options and then edited.
    fn policy(&self, options: &[&str], edit: impl FnOnce(&mut serde_json::Value)) -> String {
        let (output, text) = self.run(&[&["--print"], options].concat());
        assert_eq!(output.status.code(), Some(0), "{text}");
        let mut policy: serde_json::Value = serde_json::from_str(&text).unwrap();
        // The folders that it was made with are gone.
        let aside = self.path("aside");
        fs::create_dir_all(&aside).unwrap();
        for entry in policy["view"].as_array_mut().unwrap() {
            if let Some(source) = entry["what"].get_mut("bound").and_then(|bound| bound.get_mut("source")) {
                *source = aside.to_string_lossy().into();
            }
        }
        policy["view"].as_array_mut().unwrap().retain(|entry| entry["what"].get("overlaid").is_none());
        edit(&mut policy);
        fs::write(self.path("policy.json"), policy.to_string()).unwrap();
        self.path("policy.json").to_string_lossy().into_owned()
    }

    fn sh(&self, options: &[&str], script: &str) -> (Output, String) {
        self.run(&[options, &["--", "sh", "-c", script]].concat())
    }
}

#[test]
fn the_current_folder_can_be_changed_and_the_home_cannot_be_seen() {
    let place = Place::new();
    let (output, said) =
        place.sh(&[], "echo work > new; cat ~/.ssh/id ~/.cargo/credentials.toml; echo x > ~/left; exit 7");
    assert_eq!(output.status.code(), Some(7), "{said}");
    assert!(!said.contains("a key") && !said.contains("a token"), "{said}");
    assert_eq!(fs::read_to_string(place.path("work/new")).unwrap(), "work\n");
    assert!(!place.path("home/left").exists(), "its home is another one");
    assert_eq!(fs::read_dir(place.path("acquit/sandboxes")).unwrap().count(), 0, "nothing is left behind");
}

#[test]
fn toolchains_can_be_used_and_written_without_being_changed() {
    let place = Place::new();
    fs::write(place.path("home/.cargo/config.toml"), "[build]\njobs = 3\n[registry]\ntoken = \"a token\"\n")
        .unwrap();
    let (output, said) =
        place.sh(&[], "cat ~/.cargo/config.toml && echo x > ~/.cargo/planted && cat ~/.cargo/planted");
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("jobs = 3") && !said.contains("a token"), "{said}");
    assert!(!place.path("home/.cargo/planted").exists());
}

#[test]
fn many_caches_are_parts_of_one_layer_and_nothing_else_of_the_home_comes_with_it() {
    let place = Place::new();
    for folder in [
        "home/.npm/_cacache",
        "home/.cargo/registry",
        "home/.cache/pip",
        "home/private",
        "elsewhere/repository",
    ] {
        fs::create_dir_all(place.path(folder)).unwrap();
    }
    fs::write(place.path("home/.npm/_cacache/old"), "npm\n").unwrap();
    fs::write(place.path("home/private/note"), "a secret").unwrap();
    fs::write(place.path("elsewhere/repository/old"), "linked\n").unwrap();
    // A cache that is a link is none of the home's own folders.
    std::os::unix::fs::symlink(place.path("elsewhere"), place.path("home/.m2")).unwrap();

    let (_, policy) = place.run(&["--print"]);
    let policy: serde_json::Value = serde_json::from_str(&policy).unwrap();
    let overlaid = |at: &str| {
        let at = place.path(at);
        let entry =
            policy["view"].as_array().unwrap().iter().find(|entry| entry["at"] == *at.to_str().unwrap());
        entry.map(|entry| entry["what"]["overlaid"].clone()).unwrap()
    };
    assert_eq!(overlaid("home/.npm/_cacache"), overlaid("home/.cargo/registry"));
    assert_eq!(overlaid("home/.npm/_cacache"), overlaid("home/.cache/pip"));

    let script = "cat ~/.npm/_cacache/old ~/.m2/repository/old
        for cache in .npm/_cacache .cache/pip .cargo/registry .m2/repository; do echo new > ~/$cache/new; done;
        cat ~/.npm/_cacache/new ~/.cache/pip/new ~/.cargo/registry/new ~/.m2/repository/new
        ls -a ~ ~/.npm/.. ~/private; cat ~/.npm/../private/note";
    let (_, said) = place.sh(&[], script);
    assert!(said.starts_with("npm\nlinked\nnew\nnew\nnew\nnew\n"), "{said}");
    assert!(!said.contains("a secret") && !said.contains("note\n"), "{said}");
    for cache in ["home/.npm/_cacache", "home/.cache/pip", "home/.cargo/registry", "elsewhere/repository"] {
        assert!(!place.path(cache).join("new").exists(), "{cache}");
    }
}

#[test]
fn a_printed_policy_is_one_that_can_be_used() {
    let place = Place::new();
    let file = place.policy(&["--network", "off"], |_| {});
    let (output, said) = place.sh(&["--policy", &file], "echo hello > said; cat said");
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("hello"), "{said}");
    fs::write(place.path("policy.json"), "{\"mode\":\"on\"}").unwrap();
    let (output, said) = place.sh(&["--policy", &file], "true");
    assert_eq!(output.status.code(), Some(5), "{said}");
    assert!(said.contains("missing field"), "{said}");
}

#[test]
fn where_the_machine_lacks_walls_nothing_starts_unless_less_is_accepted() {
    let place = Place::new();
    // In a sandbox there are no namespaces to be had: as on a machine that refuses them.
    let exe = binary().to_string_lossy().into_owned();
    let exe = exe.as_str();
    let nested = |options: &[&str], script: &str| {
        let words = [&["--read", exe, "--", exe, "sandbox"], options, &["--", "sh", "-c", script]].concat();
        place.run(&words)
    };
    let (output, said) = nested(&[], "echo inside");
    assert_ne!(output.status.code(), Some(0), "{said}");
    for words in ["namespaces of its own", "acquit doctor", "sandbox = \"reduced\""] {
        assert!(!said.contains("inside\n") && said.contains(words), "{words}: {said}");
    }
    let (output, said) = nested(&["--reduced"], "echo inside");
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("inside") && said.contains("lacks namespaces of its own"), "{said}");
}

#[test]
fn a_server_of_the_machine_is_reached_only_if_it_is_listed() {
    let place = Place::new();
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    let serving = std::thread::spawn(move || {
        let (mut client, _) = server.accept().unwrap();
        let mut asked = [0; 4];
        client.read_exact(&mut asked).unwrap();
        client.write_all(b"answer\n").unwrap();
        asked
    });
    let ask = format!("exec 3<>/dev/tcp/127.0.0.1/{port} && echo ask >&3 && head -1 <&3");
    let bash = |options: &[&str]| place.run(&[options, &["--", "bash", "-c", &ask]].concat());
    for options in [&["--network", "off"][..], &["--network", "model", "--host", "127.0.0.1:9"]] {
        let (output, said) = bash(options);
        assert_ne!(output.status.code(), Some(0), "{options:?}: {said}");
    }
    let host = format!("127.0.0.1:{port}");
    let (output, said) = bash(&["--network", "model", "--host", &host]);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("answer"), "{said}");
    assert_eq!(&serving.join().unwrap(), b"ask\n");
}

#[test]
fn a_home_is_not_a_place_for_a_sandbox() {
    let place = Place::new();
    let output = place.command(&["--", "true"]).current_dir(place.path("home")).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("all of your home would be in it") && said.contains("hint:"), "{said}");
}

#[test]
fn what_git_and_acquit_obey_in_the_checkout_can_be_read_only() {
    let place = Place::new();
    for folder in ["work/.git/hooks", "work/.acquit/workflows", "work/lib/sub/.git/hooks"] {
        fs::create_dir_all(place.path(folder)).unwrap();
    }
    fs::write(place.path("work/.git/config"), "[core]\n").unwrap();
    let script = "cat .git/config; for folder in .git/hooks .acquit/workflows lib/sub/.git/hooks; do echo x > $folder/planted; done;
        mv .git moved; rm -rf .acquit; echo x > lib/sub/file; mkdir -p new/.git";
    let (_, said) = place.sh(&[], script);
    assert!(said.contains("[core]") && said.contains("the program made"), "{said}");
    for planted in ["work/.git/hooks", "work/.acquit/workflows", "work/lib/sub/.git/hooks"] {
        assert_eq!(fs::read_dir(place.path(planted)).unwrap().count(), 0, "{planted}: {said}");
    }
    assert!(place.path("work/lib/sub/file").exists() && !place.path("work/moved").exists(), "{said}");
}

/// What the user's git and coding agents run of a checkout, besides its `.git`.
#[test]
fn what_git_and_agents_run_of_the_checkout_can_be_read_only() {
    // The program in the sandbox may write to what is in `before` and plants; none of the files may be there after.
    let cases = [
        (
            "git init -q; mkdir -p .husky/_; git config core.hooksPath .husky/_",
            "echo x > .husky/_/planted; mv .husky away",
            ".husky/_",
        ),
        (
            "git init -q; git config core.hooksPath new/hooks",
            "mkdir -p new/hooks; echo x > new/hooks/planted",
            "new/hooks",
        ),
        (
            "git init -q; git config core.hooksPath \"$PWD/hooks\"; mkdir hooks",
            "echo x > hooks/planted",
            "hooks",
        ),
        (
            "git init -q --bare .bare; echo 'gitdir: ./.bare' > .git",
            "echo x > .bare/hooks/planted; mv .bare away",
            ".bare/hooks",
        ),
        (
            "git init -q; mv .git real; ln -s real .git",
            "echo x > real/hooks/planted; mv real away",
            "real/hooks",
        ),
        (
            "git init -q; mkdir conf; echo > conf/git; git config include.path ../conf/git",
            "echo x > conf/git; mv conf away",
            "conf",
        ),
        (
            "git init -q; mkdir conf; echo > conf/git; git config includeIf.onbranch:main.path ../conf/git",
            "echo x > conf/git; mv conf away",
            "conf",
        ),
        (
            "git init -q; mkdir .claude; echo {} > .claude/settings.json",
            "echo x > .claude/settings.local.json; mv .claude away",
            ".claude",
        ),
        ("mkdir -p sub/.claude/skills sub/.git", "echo x > sub/.claude/skills/planted", "sub/.claude/skills"),
        (
            "mkdir .vscode .codex; echo {} > .mcp.json",
            "echo x > .mcp.json; echo x > .codex/config.toml; echo x > .vscode/tasks.json",
            ".codex",
        ),
        (
            "git init -q; git config extensions.worktreeConfig true; mkdir h; git config --worktree core.hooksPath h",
            "echo x > h/planted",
            "h",
        ),
        (
            "cd ..; git init -q; git config core.hooksPath work/hooks; mkdir work/hooks",
            "echo x > hooks/planted",
            "hooks",
        ),
    ];
    let mut changed = Vec::new();
    for (before, plant, folder) in cases {
        let place = Place::new();
        let work = place.path("work");
        let made = Command::new("sh")
            .args(["-ec", before])
            .current_dir(&work)
            .env("HOME", place.path("home"))
            .output();
        assert!(made.as_ref().is_ok_and(|made| made.status.success()), "{before}: {made:?}");
        let list = || {
            let found = Command::new("find").args([folder, "-ls"]).current_dir(&work).output().unwrap();
            String::from_utf8_lossy(&found.stdout)
                .lines()
                .filter(|line| !line.contains("hooks/*.sample"))
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        let was = list();
        let (_, said) = place.sh(&[], &format!("{plant}; echo x > ordinary"));
        let is_told = said.contains("the program made");
        if list() != was && !(was.is_empty() && is_told) {
            changed.push(format!("{before}: {plant}: {said}"));
        }
        assert!(work.join("ordinary").exists(), "{before}: {said}");
    }
    assert!(changed.is_empty(), "{changed:#?}");
    // What was not there can be made, and acquit says so.
    let place = Place::new();
    let (_, said) = place.sh(&[], "mkdir .claude; echo '{}' > .mcp.json; git init -q --bare evil");
    for name in [".claude", ".mcp.json", "evil"] {
        assert!(said.lines().any(|line| line.contains("the program made") && line.contains(name)), "{said}");
    }
    let (_, said) = place.sh(&[], "i=0; while [ $i -lt 30 ]; do mkdir -p r$i/.git; i=$((i+1)); done");
    assert!(said.contains("10 more"), "{said}");
    // What never ends is not read.
    let place = Place::new();
    let plant = "mkdir -p a/.git b/.git; mkfifo a/.git/commondir; printf '[include]\n\tpath = /dev/zero\n' > b/.git/config";
    let (_, said) = place.sh(&[], plant);
    assert!(said.contains("the program made"), "{said}");
    // More folders than are searched.
    let place = Place::new();
    let (_, said) = place.sh(&[], "seq -f d%g 4100 | xargs mkdir");
    assert!(!said.contains("too many folders"), "{said}");
    let (_, said) = place.sh(&[], "true");
    assert!(said.contains("too many folders"), "{said}");
}

/// Makes a repository with a commit at `name`, and runs git in it.
fn git(place: &Place, name: &str, args: &[&str]) {
    let mut git = Command::new("git");
    git.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", place.path("home"));
    git.args(["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "protocol.file.allow=always"]);
    let output = git.arg("-C").arg(place.path(name)).args(args).output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn repository(place: &Place, name: &str) {
    fs::create_dir_all(place.path(name)).unwrap();
    git(place, name, &["init", "--quiet", "-b", "main"]);
    fs::write(place.path(name).join("private"), "a private file\n").unwrap();
    git(place, name, &["add", "."]);
    git(place, name, &["commit", "--quiet", "-m", "a private commit"]);
}

#[test]
fn a_planted_git_file_shows_no_other_repository() {
    let place = Place::new();
    repository(&place, "other");
    git(&place, "other", &["worktree", "add", "--quiet", "../theirs"]);
    let other = place.path("other/.git");
    let other = other.display();
    let log = format!("cat {other}/HEAD {other}/logs/HEAD; git -C sub log");
    // The next sandbox in the same folder would show what the file names.
    let plants = [
        format!("echo 'gitdir: {other}' > sub/.git"),
        format!("echo 'gitdir: {other}/worktrees/theirs' > sub/.git"),
        format!(
            "mkdir fake; echo 'ref: refs/heads/main' > fake/HEAD; echo {other} > fake/commondir; \
             echo \"$PWD/sub/.git\" > fake/gitdir; echo 'gitdir: ../fake' > sub/.git"
        ),
        format!(
            "mkdir -p fake/worktrees; ln -s {other} fake/worktrees/x; echo 'gitdir: ../fake/worktrees/x' > sub/.git"
        ),
    ];
    for plant in plants {
        let (_, said) = place.sh(&[], &format!("rm -rf fake sub; mkdir sub; {plant}"));
        assert!(place.path("work/sub/.git").is_file(), "{said}");
        let (_, said) = place.sh(&[], &log);
        assert!(!said.contains("private commit") && !said.contains("ref: refs/heads"), "{plant}: {said}");
    }
}

#[test]
fn git_works_in_a_linked_worktree_and_in_a_submodule() {
    let place = Place::new();
    repository(&place, "other");
    fs::remove_dir(place.path("work")).unwrap();
    git(&place, "other", &["worktree", "add", "--quiet", "../work"]);
    let (output, said) = place.sh(&[], "git log --oneline && git status --short");
    assert!(output.status.success() && said.contains("a private commit"), "{said}");
    repository(&place, "outer");
    git(&place, "outer", &["submodule", "--quiet", "add", "../other", "module"]);
    let mut inside = place.command(&["--", "git", "log", "--oneline"]);
    let output = inside.current_dir(place.path("outer/module")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn places_of_credentials_are_no_place_for_a_sandbox() {
    let place = Place::new();
    fs::create_dir_all(place.path("home/.gnupg/private")).unwrap();
    fs::create_dir_all(place.path("acquit/tasks")).unwrap();
    std::os::unix::fs::symlink(place.path("home/.ssh"), place.path("linked")).unwrap();
    for here in ["home/.ssh", "home/.gnupg/private", "acquit/tasks", "linked"] {
        let output = place.command(&["--", "cat", "id"]).current_dir(place.path(here)).output().unwrap();
        let said = String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned();
        assert_eq!(output.status.code(), Some(2), "{here}: {said}");
        assert!(!said.contains("a key") && said.contains("hint:"), "{here}: {said}");
    }
}

#[test]
fn a_link_that_a_program_planted_shows_the_next_one_nothing() {
    let place = Place::new();
    fs::create_dir_all(place.path("home/.cache/pip")).unwrap();
    let cache = place.path("home/.cache").to_string_lossy().into_owned();
    let plant = format!(
        "rmdir ~/.cache/pip && ln -s {} ~/.cache/pip && ln -s ~/.ssh ~/.cache/uv",
        place.path("home").display()
    );
    let (output, said) = place.sh(&["--write", &cache], &plant);
    assert_eq!(output.status.code(), Some(0), "{said}");
    for options in [&["--write", cache.as_str()][..], &["--read", cache.as_str()]] {
        let (_, said) = place.sh(options, "cat ~/.cache/pip/.ssh/id ~/.cache/uv/id; ls ~/.cache/pip/");
        assert!(!said.contains("a key"), "{options:?}: {said}");
    }
}

#[test]
fn its_folder_is_gone_after_a_signal_and_what_a_killed_one_left_is_removed_by_the_next() {
    use rustix::process::{Pid, Signal, kill_process};
    let place = Place::new();
    let folders = || fs::read_dir(place.path("acquit/sandboxes")).into_iter().flatten().count();
    for (signal, left) in [(Signal::TERM, 0), (Signal::INT, 0), (Signal::HUP, 0), (Signal::KILL, 2)] {
        let mut child = place.command(&["--", "sh", "-c", "echo > begun; exec sleep 60"]).spawn().unwrap();
        while !place.path("work/begun").exists() {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        fs::remove_file(place.path("work/begun")).unwrap();
        kill_process(Pid::from_child(&child), signal).unwrap();
        child.wait().unwrap();
        assert_eq!(folders(), left, "{signal:?}");
    }
    let (_, said) = place.sh(&[], "ls ~");
    assert_eq!((folders(), said.as_str()), (0, ""), "a killed one's folder is nobody else's");
}
