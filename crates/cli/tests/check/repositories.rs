//! Repositories as people have them: submodules, shallow clones, the system's own git, dependencies that no `.gitignore` names.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test may panic, and starts programs")]

use std::path::Path;

use crate::common::{Sandbox, read};

const FLOW: &str = "[budgets]\nnothing = 0\nharness = 0\ntest = 0\n[stages.code]\nmode = \"implement\"\ngates = [\"project\"]\non = { pr_ready = \"deliver\" }\n[stages.deliver]\nkind = \"action\"\naction = \"squash\"\non = { done = \"done\" }\n";

/// A project whose agent is this line for sh, with this gate and more configuration.
fn project(agent: &str, gate: &str, more: &str) -> Sandbox {
    let config = format!(
        "workflow = \"flow\"\nagent = \"bot\"\n[agents.bot]\nadapter = \"command\"\nrun = [\"sh\", \"-ec\", '''{agent}''']\n[gates.test]\nrun = '''{gate}'''\nkind = \"test\"\n{more}"
    );
    Sandbox::new(&config, FLOW, "")
}

fn git(at: &Path, args: &[&str]) -> String {
    let mut command = std::process::Command::new("git");
    command.current_dir(at).args(["-c", "user.name=u", "-c", "user.email=u@example.org"]);
    command.args(["-c", "protocol.file.allow=always"]).args(args);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// A repository beside the project with one commit.
fn library(sandbox: &Sandbox, name: &str, files: &[(&str, &str)]) -> std::path::PathBuf {
    let at = sandbox.place(name);
    std::fs::create_dir_all(&at).unwrap();
    git(&at, &["init", "-q", "-b", "main"]);
    for (path, text) in files {
        acquit_testkit::repo::write(&at.join(path), text);
    }
    git(&at, &["add", "-A"]);
    git(&at, &["commit", "-q", "-m", "library"]);
    at
}

#[test]
fn submodules_are_filled_in_for_agents_and_gates() {
    let agent =
        "grep -q first vendor/lib/data && grep -q deep vendor/lib/inner/data && echo more >> README.md";
    let gate = "grep -q first vendor/lib/data && grep -q deep vendor/lib/inner/data && test -z \"$(git status --porcelain)\"";
    let sandbox = project(agent, gate, "");
    let inner = library(&sandbox, "inner", &[("data", "deep\n")]);
    let lib = library(&sandbox, "lib", &[("data", "first\n"), ("hook.sh", "exit 1\n")]);
    git(&lib, &["submodule", "--quiet", "add", &inner.to_string_lossy(), "inner"]);
    git(&lib, &["commit", "-q", "-m", "inner"]);
    let repo = sandbox.repo.path();
    git(repo, &["submodule", "--quiet", "add", &lib.to_string_lossy(), "vendor/lib"]);
    git(repo, &["submodule", "--quiet", "update", "--init", "--recursive"]);
    sandbox.repo.commit("a submodule");
    let link = git(repo, &["ls-tree", "HEAD", "vendor/lib"]);
    sandbox.acquit(&["check"]).must(0);
    sandbox.run_to(0);
    let branch = sandbox.task().seed.branch;
    assert_eq!(git(repo, &["ls-tree", &branch, "vendor/lib"]), link);
    assert_eq!(git(repo, &["diff", "--name-only", &format!("HEAD..{branch}")]), "README.md");

    // One that is not in the user's clone is named, with what to do.
    git(repo, &["submodule", "--quiet", "deinit", "--force", "vendor/lib"]);
    std::fs::remove_dir_all(repo.join(".git/modules")).unwrap();
    let said = sandbox.acquit(&["check"]).must(1);
    assert!(said.err.contains("git submodule update --init --recursive"), "{}", said.err);
}

#[test]
fn the_name_of_a_submodule_leads_nowhere_else() {
    let sandbox = project("echo more >> README.md", "test ! -e vendor/x/secret", "");
    let repo = sandbox.repo.path();
    let outside = library(&sandbox, "outside", &[("secret", "the user's own\n")]);
    let commit = git(&outside, &["rev-parse", "HEAD"]);
    std::fs::create_dir_all(repo.join(".git/modules/x")).unwrap();
    for name in ["../../../outside/.git", "x/../../../../outside/.git", "/etc"] {
        sandbox
            .repo
            .write(".gitmodules", &format!("[submodule \"{name}\"]\n\tpath = vendor/x\n\turl = ./x\n"));
        git(repo, &["add", ".gitmodules"]);
        git(repo, &["update-index", "--add", "--cacheinfo", &format!("160000,{commit},vendor/x")]);
        git(repo, &["commit", "-q", "-m", "a submodule"]);
        // What leads elsewhere is refused; what only looks odd stays empty.
        let said = sandbox.acquit(&["check"]);
        let words = if name.contains("..") { "disallowed submodule name" } else { "are empty: vendor/x" };
        let said = said.must(i32::from(name.contains("..")));
        assert!(said.err.contains(words), "{}", said.err);
    }
}

/// Without git-lfs: pointers are what a clone without it has, and the store is where git-lfs keeps files.
#[test]
fn files_of_git_lfs_are_filled_in_and_stay_pointers_in_commits() {
    let seen = "test \"$(cat data.bin)\" = 'the large file' && grep -q spec/v1 absent.bin";
    let sandbox = project(
        &format!("{seen} && echo more >> README.md && git add -A && git commit -qm work"),
        &format!("{seen} && test -z \"$(git status --porcelain)\""),
        "",
    );
    let repo = sandbox.repo.path();
    let pointer = |hash: &str, size: usize| {
        format!("version https://git-lfs.github.com/spec/v1\noid sha256:{hash}\nsize {size}\n")
    };
    let (here, away) = ("ab".repeat(32), "cd".repeat(32));
    acquit_testkit::repo::write(&repo.join(".git/lfs/objects/ab/ab").join(&here), "the large file");
    sandbox.repo.write("data.bin", &pointer(&here, 14));
    sandbox.repo.write("absent.bin", &pointer(&away, 14));
    sandbox.repo.write(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n");
    sandbox.repo.commit("large files");
    sandbox.acquit(&["check"]).must(0);
    sandbox.run_to(0);
    let branch = sandbox.task().seed.branch;
    assert_eq!(git(repo, &["diff", "--name-only", &format!("HEAD..{branch}")]), "README.md");
}

#[test]
fn a_shallow_clone_works_and_stays_shallow() {
    let sandbox =
        project("git log --oneline | wc -l | grep -qx 1 && echo more >> README.md", "git log -1 -q", "");
    for number in 1..4 {
        sandbox.repo.write("count", &number.to_string());
        sandbox.repo.commit("count");
    }
    let shallow = sandbox.place("shallow");
    let from = format!("file://{}", sandbox.repo.path().display());
    git(&sandbox.place(""), &["clone", "-q", "--depth=1", &from, &shallow.to_string_lossy()]);
    let acquit = |args: &[&str]| {
        let output = sandbox.command(args).current_dir(&shallow).output().unwrap();
        let said =
            format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{args:?}: {said}");
        said
    };
    acquit(&["run", "Do it"]);
    assert!(acquit(&["diff", "T-1"]).contains("+more"));
    acquit(&["merge", "T-1"]);
    assert!(read(&shallow.join("README.md")).contains("more"));
    assert_eq!(git(&shallow, &["rev-parse", "--is-shallow-repository"]), "true");
    git(&shallow, &["fsck", "--connectivity-only"]);
}

#[test]
fn a_partial_clone_works_if_it_has_the_files_of_the_base() {
    let sandbox =
        project("git log --oneline | wc -l | grep -qx 4 && echo more >> README.md", "git log -1 -q", "");
    for number in 1..3 {
        sandbox.repo.write("count", &number.to_string());
        sandbox.repo.commit("count");
    }
    sandbox.repo.git(&["rm", "-q", "count"]);
    sandbox.repo.commit("no count");
    sandbox.repo.git(&["config", "uploadpack.allowFilter", "true"]);
    let partial = sandbox.place("partial");
    let from = format!("file://{}", sandbox.repo.path().display());
    git(&sandbox.place(""), &["clone", "-q", "--filter=blob:none", &from, &partial.to_string_lossy()]);
    let acquit = |args: &[&str], code: i32| {
        let output = sandbox.command(args).current_dir(&partial).output().unwrap();
        let said =
            format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.code(), Some(code), "{args:?}: {said}");
        said
    };
    acquit(&["check"], 0);
    acquit(&["run", "Do it"], 0);
    assert!(acquit(&["diff", "T-1"], 0).contains("+more"));
    acquit(&["merge", "T-1"], 0);
    assert!(read(&partial.join("README.md")).contains("more"));
    git(&partial, &["fsck", "--connectivity-only"]);
    // A commit whose files were never fetched is named, and nothing is fetched.
    let said = acquit(&["run", "From before", "--base", "HEAD~2"], 2);
    assert!(said.contains("partial clone") && said.contains("clone without --filter"), "{said}");
}

#[test]
fn what_setup_made_is_never_delivered() {
    let setup = "[setup]\nrun = \"mkdir -p deps/one lib/gen && echo x > deps/one/x && echo y > lib/gen/y\"\nlock_files = [\"README.md\"]\n";
    let agent = "test -f deps/one/x && echo z > deps/one/z && mkdir -p lib && echo new > lib/new && echo more > more && git add -A && git commit -qm work && echo z > deps/two";
    let sandbox = project(agent, "test -f deps/one/x && test -f lib/new", setup);
    sandbox.repo.write("lib/old", "old\n");
    sandbox.repo.commit("no ignore file");
    sandbox.run_to(0);
    let branch = sandbox.task().seed.branch;
    let changed = git(sandbox.repo.path(), &["diff", "--name-only", &format!("HEAD..{branch}")]);
    assert_eq!(changed, "lib/new\nmore");
}

#[test]
fn setup_runs_once_although_its_command_names_a_folder_that_changes() {
    let setup = "[setup]\nrun = \"cd lib && echo made > made\"\nlock_files = [\"lib/lock\"]\n";
    let sandbox = project("echo more > lib/new", "test -f lib/made && test -f lib/new", setup);
    sandbox.repo.write("lib/lock", "1\n");
    sandbox.repo.commit("a lock file");
    sandbox.run_to(0);
    let log = sandbox.acquit(&["logs", "T-1", "--json", "--all"]).must(0).out;
    assert_eq!(log.matches("\"summary\":\"running setup: ").count(), 1, "{log}");
}

/// Debian 12 has git 2.39: whatever is in /usr/bin here goes the whole way.
#[test]
fn the_system_s_own_git_is_enough() {
    goes_the_whole_way("/usr/bin:/bin");
}

/// The same with the oldest one that acquit works with.
#[test]
fn soak_git_of_ubuntu_22_04_is_enough() {
    let place = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("runners/git/bin");
    let found = place.join("git").is_file().then_some(place);
    let found = acquit_testkit::need::or_skip(found, "git 2.34 below target/runners", "the oldest git");
    let Some(place) = found else { return };
    let sandbox = goes_the_whole_way(&format!("{}:/usr/bin:/bin", place.display()));
    let version = sandbox.acquit(&["doctor"]);
    assert!(version.out.contains("git version 2.34"), "{version}");
}

/// Checks, runs, moves the base and merges, with the programs in this `PATH`.
fn goes_the_whole_way(path: &str) -> Sandbox {
    let agent = "if grep -q '<<<<<<<' text; then printf 'both\\n' > text; elif [ -f other ]; then printf 'mine\\n' > text; else printf 'theirs\\n' > text; echo o > other; fi";
    let sandbox = project(agent, "! grep -q '<<<<' text", "").with("PATH", path);
    sandbox.repo.write("text", "first\n");
    sandbox.repo.commit("a text");
    sandbox.acquit(&["check"]).must(0);
    sandbox.run_to(0);
    assert!(sandbox.acquit(&["diff", "T-1"]).must(0).out.contains("+theirs"));
    // The base moves where the work does not touch it, and the work follows.
    sandbox.repo.write("elsewhere", "x\n");
    sandbox.repo.commit("elsewhere");
    sandbox.acquit(&["merge", "T-1"]).must(0);
    assert_eq!(read(&sandbox.repo.path().join("text")), "theirs\n");
    assert_eq!(read(&sandbox.repo.path().join("elsewhere")), "x\n");
    sandbox
}

#[test]
fn a_version_file_chooses_what_gates_and_setup_find_first() {
    let setup = "[setup]\nrun = \"node > made\"\nlock_files = [\"README.md\"]\n";
    let sandbox =
        project("echo more >> README.md", "node | grep -qx v18.2.0 && grep -qx v18.2.0 made", setup);
    installed(&sandbox, &["v18.1.0", "v18.2.0", "v20.0.0"], "home/.nvm/versions/node/VERSION/bin/node");
    sandbox.repo.write(".nvmrc", "18\n");
    sandbox.repo.commit("a version");
    sandbox.acquit(&["check"]).must(0);
    sandbox.repo.write(".nvmrc", "16\n");
    sandbox.repo.commit("another version");
    let said = sandbox.acquit(&["check"]).err;
    assert!(said.contains(".nvmrc asks for Node.js 16, which no version manager here has"), "{said}");
}

/// Programs of a version manager in the home, each of which says its version.
fn installed(sandbox: &Sandbox, versions: &[&str], place: &str) {
    for version in versions {
        program(&sandbox.place(&place.replace("VERSION", version)), &format!("#!/bin/sh\necho {version}\n"));
    }
}

fn program(path: &Path, text: &str) {
    acquit_testkit::repo::write(path, text);
    std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
}

#[test]
fn a_version_file_chooses_among_the_versions_of_python() {
    let gate = "python3 | grep -qx 3.11.4";
    let sandbox = project("python3 | grep -qx 3.11.4 && echo more >> README.md", gate, "");
    installed(&sandbox, &["3.10.1", "3.11.4", "3.12.0"], "home/.pyenv/versions/VERSION/bin/python3");
    sandbox.repo.write(".python-version", "3.11\n");
    sandbox.repo.commit("a version");
    sandbox.acquit(&["check"]).must(0);
    sandbox.run_to(0);
    sandbox.repo.write(".python-version", "3.9\n");
    sandbox.repo.commit("another version");
    let said = sandbox.acquit(&["check"]).err;
    assert!(
        said.contains(".python-version asks for Python 3.9, which no version manager here has"),
        "{said}"
    );
}

/// rustup's own programs read the file: they, the toolchains and the file are all in view.
#[test]
fn a_version_file_chooses_among_the_toolchains_of_rustup() {
    let gate = "cargo | grep -qx 1.80.0-x86_64-unknown-linux-gnu";
    let sandbox = project(&format!("{gate} && echo more >> README.md"), gate, "");
    let versions = [
        "1.79.0-x86_64-unknown-linux-gnu",
        "1.80.0-x86_64-unknown-linux-gnu",
        "stable-x86_64-unknown-linux-gnu",
    ];
    installed(&sandbox, &versions, "home/.rustup/toolchains/VERSION/bin/cargo");
    let rustup = "#!/bin/sh\nversion=$(sed -n 's/^channel = \"\\(.*\\)\"/\\1/p' rust-toolchain.toml)\n\
                  exec \"${RUSTUP_HOME:-$HOME/.rustup}\"/toolchains/\"${version:-stable}\"-*/bin/cargo \"$@\"\n";
    program(&sandbox.place("home/.cargo/bin/cargo"), rustup);
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", sandbox.place("home/.cargo/bin").display());
    let sandbox = sandbox.with("PATH", path);
    sandbox.repo.write("rust-toolchain.toml", "[toolchain]\nchannel = \"1.80.0\"\n");
    sandbox.repo.commit("a version");
    sandbox.acquit(&["check"]).must(0);
    sandbox.run_to(0);
    sandbox.repo.write("rust-toolchain.toml", "[toolchain]\nchannel = \"1.60.0\"\n");
    sandbox.repo.commit("another version");
    let said = sandbox.acquit(&["check"]).err;
    assert!(
        said.contains("rust-toolchain.toml asks for Rust 1.60.0, which no version manager here has"),
        "{said}"
    );
}

/// As images for containers have them: `CARGO_HOME` and `GOPATH` are outside the home. What setup downloads there is for gates and agents, and
/// the user's own cache stays as it is.
#[test]
fn what_setup_downloads_to_a_cache_that_a_variable_moved_is_there_for_gates() {
    let seen = r#"test "$(cat "$CARGO_HOME/registry/down" "$GOPATH/pkg/mod/down")" = "crate
module""#;
    let config = format!(
        "workflow = \"flow\"\nagent = \"bot\"\n[agents.bot]\nadapter = \"command\"\nrun = [\"sh\", \"-ec\", \'\'\'{seen}; echo x > x\'\'\']\n\
         [gates.test]\nrun = \'\'\'{seen}\'\'\'\nkind = \"test\"\n[setup]\nlock_files = [\"README.md\"]\n\
         run = \'\'\'mkdir -p \"$CARGO_HOME/registry\" \"$GOPATH/pkg/mod\"; echo crate > \"$CARGO_HOME/registry/down\"; echo module > \"$GOPATH/pkg/mod/down\"\'\'\'\n"
    );
    for (cargo, own) in
        [("opt/cargo", false), ("opt/cargo", true), ("home/tools/cargo", false), ("home/tools/cargo", true)]
    {
        let files = [(".acquit/acquit.toml", config.as_str()), (".acquit/workflows/flow.toml", FLOW)];
        let sandbox = Sandbox::of_files("project", &files);
        let (home, go) = (sandbox.place(cargo), sandbox.place("opt/go"));
        let caches = [home.join("registry"), go.join("pkg/mod")];
        for folder in [&home, &go].into_iter().chain(caches.iter().filter(|_| own)) {
            std::fs::create_dir_all(folder).unwrap();
        }
        let sandbox = sandbox.with("CARGO_HOME", home.to_string_lossy()).with("GOPATH", go.to_string_lossy());
        let case = format!("{cargo}, own cache: {own}");
        let said = sandbox.acquit(&["check"]);
        assert_eq!(said.code, Some(0), "{case}: {said}");
        sandbox.run_to(0);
        assert!(
            caches.iter().all(|cache| !cache.join("down").exists()),
            "{case}: the user's cache was written to"
        );
    }
}
