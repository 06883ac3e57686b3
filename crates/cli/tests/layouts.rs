//! Toolchains and agents as people install them, rebuilt from scripts: each starts inside the sandbox, and what lies beside it stays hidden.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test may panic, and starts programs")]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::Command;

/// A machine with a home.
struct Place {
    root: tempfile::TempDir,
    path: Vec<PathBuf>,
    variables: Vec<(&'static str, PathBuf)>,
}

impl Place {
    fn new() -> Self {
        let root = tempfile::Builder::new().prefix("acquit-test-").tempdir().unwrap();
        let place = Self { root, path: Vec::new(), variables: Vec::new() };
        for folder in ["home", "work"] {
            fs::create_dir_all(place.at(folder)).unwrap();
        }
        place
    }

    fn at(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn file(&self, name: &str, text: &str) -> &Self {
        let path = self.at(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    /// A program that a shell runs.
    fn program(&self, name: &str, script: &str) -> &Self {
        self.file(name, &format!("#!/bin/sh\n{script}\n"));
        fs::set_permissions(self.at(name), fs::Permissions::from_mode(0o755)).unwrap();
        self
    }

    fn link(&self, name: &str, to: &str) -> &Self {
        let path = self.at(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let to = if to.starts_with("home/") || to.starts_with("store/") { self.at(to) } else { to.into() };
        symlink(to, path).unwrap();
        self
    }

    fn on_path(&mut self, name: &str) {
        self.path.push(self.at(name));
    }

    fn sh(&self, script: &str) -> String {
        let system = ["/usr/local/bin", "/usr/bin", "/bin"].map(PathBuf::from);
        let path = std::env::join_paths(self.path.iter().cloned().chain(system)).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_acquit"));
        command.env_clear().env("PATH", path).env("HOME", self.at("home"));
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.env("ACQUIT_HOME", self.at("acquit")).current_dir(self.at("work"));
        let output = command.args(["sandbox", "--", "sh", "-c", script]).output().unwrap();
        let said = [&output.stdout[..], &output.stderr].concat();
        String::from_utf8_lossy(&said).into_owned()
    }

    /// Runs a program of the machine, which must say `ran`, and reads files that nobody may see.
    fn runs(&self, program: &str, hidden: &[&str]) {
        let said = self.sh(program);
        assert_eq!(said.trim(), "ran", "{program}: {said}");
        for name in hidden {
            let path = self.at(name);
            assert!(path.is_file(), "{name} is there outside");
            let said = self.sh(&format!("cat '{}'", path.display()));
            assert!(said.contains("No such file"), "{name}: {said}");
        }
    }
}

#[test]
fn a_native_agent_is_a_link_to_one_of_its_versions() {
    let mut place = Place::new();
    place.program("home/.local/share/claude/versions/2.0.1", "echo ran");
    place.link("home/.local/bin/claude", "home/.local/share/claude/versions/2.0.1");
    place.file("home/.local/share/claude/login.json", "a token").file("home/.claude.json", "a token");
    place.on_path("home/.local/bin");
    place.runs("claude", &["home/.local/share/claude/login.json", "home/.claude.json"]);

    place.program(
        "home/.local/share/cursor-agent/versions/1/cursor-agent",
        "cat \"$(dirname \"$(readlink -f \"$0\")\")\"/index.js",
    );
    place.file("home/.local/share/cursor-agent/versions/1/index.js", "ran\n");
    place.link("home/.local/bin/cursor-agent", "home/.local/share/cursor-agent/versions/1/cursor-agent");
    place.runs("cursor-agent", &[]);
}

#[test]
fn programs_of_the_user_s_own_folders_are_followed_and_their_neighbours_are_not() {
    let mut place = Place::new();
    place.program("home/bin/mine", "echo ran").program("home/Documents/tool.sh", "echo ran");
    place.file("home/Documents/diary", "private");
    place.link("home/bin/tool", "home/Documents/tool.sh");
    place.on_path("home/bin");
    place.runs("mine", &[]);
    place.runs("tool", &["home/Documents/diary"]);
}

#[test]
fn node_s_global_packages_are_found_by_every_package_manager() {
    let mut place = Place::new();
    let cli = "cat \"$(dirname \"$(readlink -f \"$0\")\")\"/node_modules/dep/data";
    let package = |place: &Place, at: &str| {
        place.program(&format!("{at}/cli.sh"), cli).file(&format!("{at}/node_modules/dep/data"), "ran\n");
    };
    // npm, with a prefix that nobody knows.
    package(&place, "home/opt/node/lib/node_modules/@scope/one");
    place.link("home/opt/node/bin/one", "../lib/node_modules/@scope/one/cli.sh");
    place.file("home/opt/node/.npmrc", "a token");
    place.on_path("home/opt/node/bin");
    // npm's usual prefix, bun, pnpm and yarn.
    package(&place, "home/.npm-global/lib/node_modules/two");
    place.link("home/.npm-global/bin/two", "../lib/node_modules/two/cli.sh");
    place.on_path("home/.npm-global/bin");
    package(&place, "home/.bun/install/global/node_modules/three");
    place.link("home/.bun/bin/three", "../install/global/node_modules/three/cli.sh");
    place.on_path("home/.bun/bin");
    package(&place, "home/.local/share/pnpm/global/5/node_modules/four");
    place.program(
        "home/.local/share/pnpm/four",
        "exec \"$(dirname \"$0\")\"/global/5/node_modules/four/cli.sh",
    );
    place.file("home/.local/share/pnpm/rc", "a token");
    place.on_path("home/.local/share/pnpm");
    package(&place, "home/.config/yarn/global/node_modules/five");
    place.link("home/.yarn/bin/five", "../../.config/yarn/global/node_modules/five/cli.sh");
    place.on_path("home/.yarn/bin");
    place.runs("one", &["home/opt/node/.npmrc"]);
    for program in ["two", "three", "four", "five"] {
        place.runs(program, &["home/.local/share/pnpm/rc"]);
    }
}

#[test]
fn programs_of_a_checkout_are_shown_without_the_checkout() {
    let mut place = Place::new();
    for folder in ["home/code/app", "src/app"] {
        fs::create_dir_all(place.at(folder).join(".git")).unwrap();
        let file = |name: &str| format!("{folder}/{name}");
        place
            .file(&file(".env"), "a token")
            .file(&file("bin/.env"), "a token")
            .file(&file("lib/secret"), "a token");
        place.program(&file("bin/tool"), "echo ran");
        place.program(
            &file("node_modules/agent/cli.sh"),
            "cat \"$(dirname \"$(readlink -f \"$0\")\")\"/../dep/data",
        );
        place.file(&file("node_modules/dep/data"), "ran\n");
        place.link(&file("node_modules/.bin/agent"), "../agent/cli.sh");
        place.path.clear();
        place.on_path(&file("bin"));
        place.on_path(&file("node_modules/.bin"));
        place.file(&file(".venv/pyvenv.cfg"), "home = /usr/bin\n").file(&file(".venv/lib/data"), "ran\n");
        place.program(
            &file(".venv/bin/checker"),
            "d=$(dirname \"$(readlink -f \"$0\")\")/..; test -s $d/pyvenv.cfg && cat $d/lib/data",
        );
        place.on_path(&file(".venv/bin"));
        let hidden = [file(".env"), file("bin/.env"), file("lib/secret")];
        let hidden: Vec<&str> = hidden.iter().map(String::as_str).collect();
        place.runs("tool", &hidden);
        place.runs("agent", &hidden);
        place.runs("checker", &hidden);
    }
}

#[test]
fn version_managers_are_found_at_their_usual_places() {
    let mut place = Place::new();
    place.program("home/.nvm/versions/node/v20/bin/a", "cat \"$(dirname \"$0\")\"/../lib/data");
    place.file("home/.nvm/versions/node/v20/lib/data", "ran\n").file("home/.nvm/.env", "a token");
    fs::create_dir_all(place.at("home/.nvm/.git")).unwrap();
    place.on_path("home/.nvm/versions/node/v20/bin");
    // fnm puts a link of the shell's own into PATH.
    place.program("home/.local/share/fnm/node-versions/v22/installation/bin/b", "echo ran");
    place.link("run/fnm_multishells/1_2", "home/.local/share/fnm/node-versions/v22/installation");
    place.on_path("run/fnm_multishells/1_2/bin");
    place.program("home/.pyenv/shims/c", "exec \"$HOME/.pyenv/libexec/pyenv\"");
    place.program("home/.pyenv/libexec/pyenv", "exec \"$HOME/.pyenv/versions/3.12/bin/c\"");
    place.program("home/.pyenv/versions/3.12/bin/c", "echo ran").file("home/.pyenv/.env", "a token");
    fs::create_dir_all(place.at("home/.pyenv/.git")).unwrap();
    place.on_path("home/.pyenv/shims");
    place.program("home/.asdf/shims/d", "exec \"$HOME/.asdf/installs/d/1/bin/d\"");
    place.program("home/.asdf/installs/d/1/bin/d", "echo ran");
    place.on_path("home/.asdf/shims");
    // The shims of mise are links to it, and its settings say which version.
    place.program("home/.local/bin/mise", "grep -q '20' \"$HOME/.config/mise/config.toml\" && exec \"$HOME/.local/share/mise/installs/e/20/bin/e\"");
    place.file("home/.config/mise/config.toml", "[env]\nTOKEN = \"a token\"\n[tools]\ne = \"20\"\n");
    place.program(
        "home/.local/share/mise/installs/e/20/bin/e",
        "grep -q TOKEN \"$HOME/.config/mise/config.toml\" || echo ran",
    );
    place.link("home/.local/share/mise/shims/e", "home/.local/bin/mise");
    place.on_path("home/.local/share/mise/shims");
    place.program("home/.volta/bin/volta-shim", "exec \"$HOME/.volta/tools/image/node/20/bin/f\"");
    place
        .program("home/.volta/tools/image/node/20/bin/f", "echo ran")
        .file("home/.volta/hooks.json", "a token");
    place.link("home/.volta/bin/f", "volta-shim");
    place.on_path("home/.volta/bin");
    place.program("home/.sdkman/candidates/java/21/bin/g", "echo ran");
    place.link("home/.sdkman/candidates/java/current", "21");
    place.on_path("home/.sdkman/candidates/java/current/bin");
    // Python programs by uv and pipx: a link, a virtual environment, and an interpreter elsewhere.
    place.link("home/.local/bin/h", "../share/uv/tools/h/bin/h");
    place.program(
        "home/.local/share/uv/tools/h/bin/h",
        "exec \"$(dirname \"$(readlink -f \"$0\")\")\"/python",
    );
    place.link("home/.local/share/uv/tools/h/bin/python", "home/.local/share/uv/python/3.13/bin/python");
    place.program("home/.local/share/uv/python/3.13/bin/python", "echo ran");
    place.file("home/.local/share/uv/credentials/x", "a token");
    place.link("home/.local/bin/i", "../share/pipx/venvs/i/bin/i");
    place.program("home/.local/share/pipx/venvs/i/bin/i", "echo ran");
    place.on_path("home/.local/bin");
    // A profile of nix is a link to a link to the store.
    place.program("store/abc-tools/bin/j", "cat \"$(dirname \"$(readlink -f \"$0\")\")\"/../share/data");
    place.file("store/abc-tools/share/data", "ran\n");
    place.link("home/.local/state/nix/profiles/profile-1-link", "store/abc-tools");
    place.link("home/.local/state/nix/profiles/profile", "profile-1-link");
    place.link("home/.nix-profile", "home/.local/state/nix/profiles/profile");
    place.on_path("home/.nix-profile/bin");
    for program in ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"] {
        place.runs(program, &[]);
    }
    let hidden = [
        "home/.nvm/.env",
        "home/.pyenv/.env",
        "home/.volta/hooks.json",
        "home/.local/share/uv/credentials/x",
    ];
    place.runs("a", &hidden);
}

#[test]
fn toolchains_that_variables_move_are_found_and_can_be_used() {
    let mut place = Place::new();
    for (name, folder) in [
        ("RUSTUP_HOME", "data/rustup"),
        ("CARGO_HOME", "data/cargo"),
        ("NVM_DIR", "data/nvm"),
        ("GOPATH", "data/go"),
        ("HOMEBREW_PREFIX", "data/brew"),
        ("UV_TOOL_DIR", "data/tools"),
    ] {
        place.variables.push((name, place.at(folder)));
    }
    place.program("data/cargo/bin/a", "exec \"$RUSTUP_HOME/toolchains/stable/bin/a\"");
    place.program(
        "data/rustup/toolchains/stable/bin/a",
        "echo x > \"$CARGO_HOME/.package-cache\" && echo x > \"$CARGO_HOME/registry/new\" && echo ran",
    );
    place
        .file("data/cargo/registry/old", "")
        .file("data/cargo/credentials.toml", "a token")
        .file("data/cargo/config.toml", "token");
    place.on_path("data/cargo/bin");
    place.program("data/nvm/versions/node/v20/bin/b", "echo ran").file("data/nvm/token", "a token");
    place.on_path("data/nvm/versions/node/v20/bin");
    place
        .program("data/go/bin/c", "test ! -e \"$GOPATH/src\" && echo ran")
        .file("data/go/src/private/x", "private");
    place.on_path("data/go/bin");
    place.link("data/brew/bin/d", "../Cellar/d/1/bin/d").program("data/brew/Cellar/d/1/bin/d", "echo ran");
    place.file("data/brew/etc/my.cnf", "a password");
    place.on_path("data/brew/bin");
    place.runs("a", &["data/cargo/credentials.toml", "data/cargo/config.toml"]);
    assert!(!place.at("data/cargo/.package-cache").exists() && !place.at("data/cargo/registry/new").exists());
    place.runs("b", &["data/nvm/token"]);
    place.runs("c", &["data/go/src/private/x"]);
    place.runs("d", &["data/brew/etc/my.cnf"]);
}

#[test]
fn every_agent_starts_as_its_installers_put_it() {
    let mut place = Place::new();
    // Native installers: Claude Code is above; opencode and a Claude Code that npm keeps for itself.
    place.program("home/.opencode/bin/opencode", "echo ran");
    place.on_path("home/.opencode/bin");
    place.file("home/.local/share/opencode/auth.json", "a token");
    place.program(
        "home/.claude/local/node_modules/@anthropic-ai/claude-code/cli.sh",
        "cat \"$(dirname \"$(readlink -f \"$0\")\")\"/vendor/data",
    );
    place.file("home/.claude/local/node_modules/@anthropic-ai/claude-code/vendor/data", "ran\n");
    place.link("home/.claude/local/node_modules/.bin/claude", "../@anthropic-ai/claude-code/cli.sh");
    place.on_path("home/.claude/local/node_modules/.bin");
    place.file("home/.claude/.credentials.json", "a token");
    // npm below nvm: a script that starts a binary of a package beside it.
    let modules = "home/.nvm/versions/node/v22.1.0/lib/node_modules";
    for (name, package) in
        [("codex", "@openai/codex"), ("gemini", "@google/gemini-cli"), ("pi", "pi-coding-agent")]
    {
        place.program(
            &format!("{modules}/{package}/bin/{name}.js"),
            "exec \"$(dirname \"$(readlink -f \"$0\")\")\"/../vendor/native",
        );
        place.program(&format!("{modules}/{package}/vendor/native"), "echo ran");
        place.link(
            &format!("home/.nvm/versions/node/v22.1.0/bin/{name}"),
            &format!("../lib/node_modules/{package}/bin/{name}.js"),
        );
    }
    place.on_path("home/.nvm/versions/node/v22.1.0/bin");
    place.file("home/.codex/auth.json", "a token").file("home/.gemini/oauth_creds.json", "a token");
    // aider by uv: an environment whose interpreter is uv's.
    place.program("home/.local/share/uv/python/cpython-3.12.1/bin/python3.12", "echo ran");
    place.link(
        "home/.local/share/uv/tools/aider-chat/bin/python",
        "home/.local/share/uv/python/cpython-3.12.1/bin/python3.12",
    );
    place.program(
        "home/.local/share/uv/tools/aider-chat/bin/aider",
        "exec \"$(dirname \"$(readlink -f \"$0\")\")\"/python",
    );
    place.link("home/.local/bin/aider", "home/.local/share/uv/tools/aider-chat/bin/aider");
    place.on_path("home/.local/bin");
    place.file("home/.aider.conf.yml", "a token");
    for program in ["opencode", "claude", "codex", "gemini", "pi", "aider"] {
        place.runs(program, &[]);
    }
    let hidden = [
        "home/.local/share/opencode/auth.json",
        "home/.claude/.credentials.json",
        "home/.codex/auth.json",
        "home/.gemini/oauth_creds.json",
        "home/.aider.conf.yml",
    ];
    place.runs("codex", &hidden);
}

#[test]
fn version_managers_that_variables_move_are_found() {
    let mut place = Place::new();
    for (name, folder) in [
        ("FNM_DIR", "data/fnm"),
        ("PYENV_ROOT", "data/pyenv"),
        ("ASDF_DATA_DIR", "data/asdf"),
        ("MISE_DATA_DIR", "data/mise"),
        ("VOLTA_HOME", "data/volta"),
        ("SDKMAN_DIR", "data/sdkman"),
        ("UV_PYTHON_INSTALL_DIR", "data/uv"),
        ("BUN_INSTALL", "data/bun"),
        ("PNPM_HOME", "data/pnpm"),
    ] {
        place.variables.push((name, place.at(folder)));
    }
    let cases = [
        ("a", "data/fnm/node-versions/v22.1.0/installation/bin", "data/fnm/token"),
        ("b", "data/pyenv/versions/3.12.1/bin", "data/pyenv/token"),
        ("c", "data/asdf/installs/nodejs/20.1.0/bin", "data/asdf/token"),
        ("d", "data/mise/installs/node/20.1.0/bin", "data/mise/token"),
        ("e", "data/volta/tools/image/node/20.1.0/bin", "data/volta/hooks.json"),
        ("f", "data/sdkman/candidates/java/21-tem/bin", "data/sdkman/token"),
        ("g", "data/uv/cpython-3.13.0-linux-x86_64-gnu/bin", ""),
        ("h", "data/bun/bin", "data/bun/token"),
    ];
    for (name, bin, hidden) in cases {
        place.program(&format!("{bin}/{name}"), "echo ran");
        place.on_path(bin);
        if !hidden.is_empty() {
            place.file(hidden, "a token");
        }
    }
    // The program of a manager that is not in PATH itself, as a shim would start it.
    place.path.clear();
    for (name, bin, hidden) in cases {
        let program = place.at(bin).join(name);
        let hidden: Vec<&str> = Some(hidden).filter(|hidden| !hidden.is_empty()).into_iter().collect();
        place.runs(&program.to_string_lossy(), &hidden);
    }
}
