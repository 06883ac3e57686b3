//! A fixture as a repository, in which each case is a task.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::case::{Case, Fixture};
use super::{Extent, Judged, Place, Said};
use crate::repo::Repo;

/// Timeout of a gate's command: the projects are small, but the machine may be busy.
const TIMEOUT: &str = "3m";

/// JUnit 5's console launcher with its dependencies, from the system's package.
pub const JUNIT: &str = "/usr/share/java/junit-platform-console-standalone.jar";

/// Folders of system programs. Those of the user, such as a newer git, come first.
const SYSTEM: [&str; 3] = ["/usr/local/bin", "/usr/bin", "/bin"];

/// The agent that makes the change: each state of the tree is a folder, with the commit message next to it.
const AGENT: &str = r#"
set -e
for state in "$1"/change/*/; do
  find . -mindepth 1 -maxdepth 1 ! -name .git ! -name node_modules -exec rm -rf {} +
  cp -R "$state/tree/." .
  git add -A
  git rm -r --cached --quiet --ignore-unmatch node_modules
  git -c user.name=agent -c user.email=agent@example.org commit --quiet --allow-empty --file "$state/message"
done
if [ -d "$1/left" ]; then cp -R "$1/left/." .; fi
"#;

/// A fixture that is ready for changes.
pub(super) struct Trial {
    fixture: Fixture,
    binary: PathBuf,
    repo: Repo,
    path: String,
    variables: Vec<(String, String)>,
    first: String,
    extent: Extent,
    /// The task of the case before.
    last: Option<String>,
}

impl Trial {
    /// Creates the repository. `Err` names a missing requirement of the fixture.
    pub(super) fn new(place: &Place, fixture: &Fixture) -> Result<Self, String> {
        let mut path: Vec<PathBuf> = Vec::new();
        let (mut variables, mut setup) = (Vec::new(), String::new());
        let mut read: Vec<PathBuf> = Vec::new();
        for need in &fixture.requires {
            match need.as_str() {
                "pytest" => {
                    let bin = place.runners.join("python/bin");
                    let real = bin.join("python").canonicalize().map_err(|_| missing(need))?;
                    read.push(place.runners.join("python"));
                    read.extend(place.runners.join("python").canonicalize());
                    path.push(bin);
                    path.extend(real.parent().map(Path::to_owned));
                }
                "cargo" => path.push(place.cargo.clone().ok_or_else(|| missing(need))?),
                "node" | "go" | "java" | "javac" | "mvn" | "gradle" | "make" => {
                    let found = crate::need::find(need).ok_or_else(|| missing(need))?;
                    path.extend(found.parent().map(Path::to_owned));
                }
                "jest" | "vitest" | "mocha" | "typescript" => {
                    let modules = place.runners.join("js/node_modules");
                    let modules = modules.canonicalize().map_err(|_| missing(need))?;
                    if setup.is_empty() {
                        // Use a folder of links: patterns such as `node_modules/` ignore folders, not links.
                        setup = format!(
                            "mkdir -p node_modules && ln -sfn '{0}'/* node_modules/ && ln -sfn '{0}/.bin' node_modules/.bin",
                            modules.display()
                        );
                        read.push(modules);
                    }
                }
                "junit" => {
                    let jar = Path::new(JUNIT).canonicalize().map_err(|_| missing(need))?;
                    variables.push(("JUNIT_CP".to_owned(), jar.display().to_string()));
                    read.push(jar);
                }
                other => return Err(format!("the corpus needs `{other}`, which the gauge does not know")),
            }
        }
        let repo = Repo::at("project", &[]);
        copy(&fixture.base, repo.path())?;
        let first = repo.commit("The project");
        for folder in ["home", "tmp", "acquit", "side"] {
            fs::create_dir_all(repo.beside(folder))
                .map_err(|error| format!("failed to create a folder: {error}"))?;
        }
        read.push(repo.beside("side"));
        if fixture.requires.iter().any(|need| need == "go") {
            warm_go(place, &repo)?;
        }
        let mut trial = Self {
            fixture: fixture.clone(),
            binary: place.binary.clone(),
            repo,
            path: String::new(),
            variables,
            first,
            extent: place.extent,
            last: None,
        };
        path.retain(|folder| SYSTEM.iter().all(|system| Path::new(system) != folder));
        path.extend(SYSTEM.map(PathBuf::from));
        trial.path = path.iter().map(|part| part.display().to_string()).collect::<Vec<_>>().join(":");
        trial.configure(&read, &setup)?;
        Ok(trial)
    }

    pub(super) fn is_for(&self, fixture: &Fixture) -> bool {
        self.fixture.name == fixture.name
    }

    /// Writes the project's settings. They are not committed, so that all cases have the same base.
    fn configure(&self, read: &[PathBuf], setup: &str) -> Result<(), String> {
        let exclude = self.repo.path().join(".git/info/exclude");
        write(&exclude, "/.acquit/\n")?;
        let quoted: Vec<String> =
            read.iter().map(|path| format!("{:?}", path.display().to_string())).collect();
        // Go's build cache is behind a link in the home.
        let cache = self.repo.beside("home/.cache/go-build").canonicalize().ok();
        let writable =
            cache.map(|cache| format!("write = [{:?}]\n", cache.display().to_string())).unwrap_or_default();
        let mut config = format!(
            "agent = \"bot\"\n[agents.bot]\nadapter = \"command\"\nrun = [\"sh\", {:?}, {:?}]\n[access]\nread = [{}]\n{}",
            self.repo.beside("side/agent.sh").display().to_string(),
            self.repo.beside("side").display().to_string(),
            quoted.join(", "),
            writable
        );
        if !setup.is_empty() {
            config.push_str(&format!("[setup]\nrun = {setup:?}\n"));
        }
        // A repository's settings apply only if the user trusts them.
        let trusted = serde_json::json!([self.repo.beside("")]).to_string();
        write(&self.repo.beside("home/.config/acquit/config.toml"), &format!("trusted_paths = {trusted}\n"))?;
        write(&self.repo.path().join(".acquit/acquit.toml"), &config)?;
        write(&self.repo.beside("side/agent.sh"), AGENT)
    }

    /// Runs the gates on a case.
    pub(super) fn judge(&mut self, case: &Case) -> Result<Judged, String> {
        self.repo.git(&["reset", "--hard", "--quiet", &self.first]);
        self.repo.git(&["clean", "-ffdxq", "-e", ".acquit"]);
        let tree = self.repo.path().to_owned();
        case.prepare(&tree)?;
        self.repo.git(&["add", "-A"]);
        self.repo.git(&[
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@example.org",
            "commit",
            "--quiet",
            "--allow-empty",
            "-m",
            "Base",
        ]);
        let base = self.repo.git(&["rev-parse", "HEAD"]).trim().to_owned();
        self.stage(case, &tree)?;
        self.repo.git(&["reset", "--hard", "--quiet", &base]);
        self.repo.git(&["clean", "-ffdxq", "-e", ".acquit"]);
        let gates = case.gates(&self.fixture);
        let names: Vec<String> = gates.iter().map(|gate| format!("{:?}", called(gate))).collect();
        let mut tables = tables(&self.fixture.tables, &gates);
        // A gate does not get the caller's environment variables.
        for (name, value) in &self.variables {
            tables = tables.replace(&format!("${name}"), value);
        }
        let (stop, once) = match self.extent {
            Extent::Full => ("", ""),
            Extent::Short => ("stop = \"first\"\n", "runs = 1\n"),
        };
        let tables = tables.replace("check = \"tdd\"\n", &format!("check = \"tdd\"\n{once}"));
        let workflow = format!(
            "[budgets]\ntest = 0\ngate = 0\nsecurity = 0\nreview = 0\nnothing = 0\nharness = 0\nlint = 0\nagent = 0\n{tables}\n\
             [stages.code]\nmode = \"implement\"\ngates = [{}]\n{stop}on = {{ pr_ready = \"done\" }}\n",
            names.join(", ")
        );
        write(&tree.join(".acquit/workflows/flow.toml"), &workflow)?;
        // The rest may begin with a hyphen.
        let (title, rest) = (case.title(), format!("--description={}", case.description()));
        let mut args = vec!["run", rest.as_str()];
        for tag in &case.file.tags {
            args.extend(["--tag", tag.as_str()]);
        }
        // A title may begin with a hyphen.
        args.extend(["--", title.as_str()]);
        let (ran, words) = self.acquit(&args)?;
        let listed = self.acquit(&["task", "list", "--json"])?.0;
        let task = newest(&listed).filter(|task| self.last.as_ref() != Some(task));
        let task = task.ok_or_else(|| format!("no task was made\n{ran}\n{words}"))?;
        self.last = Some(task.clone());
        let log = self.acquit(&["logs", &task, "--json", "--all"])?.0;
        let said: Vec<Said> = log.lines().filter_map(verdict).collect();
        let missing: Vec<&String> =
            gates.iter().filter(|gate| said.iter().all(|said| said.gate != **gate)).collect();
        let stopped = self.extent == Extent::Short && said.iter().any(|said| said.objects);
        if !missing.is_empty() && !stopped {
            let end = words
                .lines()
                .rev()
                .take(12)
                .collect::<Vec<_>>()
                .into_iter()
                .rev()
                .collect::<Vec<_>>()
                .join("\n");
            return Err(format!("no verdict of {missing:?}\n{end}"));
        }
        Ok(Judged { said, trouble: None, ..case.unjudged(String::new()) })
    }

    /// Puts the states of the tree where the agent finds them.
    fn stage(&self, case: &Case, tree: &Path) -> Result<(), String> {
        let side = self.repo.beside("side");
        for folder in ["change", "left"] {
            let folder = side.join(folder);
            if folder.exists() {
                fs::remove_dir_all(&folder)
                    .map_err(|error| format!("failed to remove {}: {error}", folder.display()))?;
            }
        }
        for (number, (message, change)) in case.commits().iter().enumerate() {
            case.apply(change, tree)?;
            let state = side.join(format!("change/{number:03}"));
            copy(tree, &state.join("tree"))?;
            write(&state.join("message"), message)?;
        }
        case.leave(&side.join("left"))
    }

    fn acquit(&self, args: &[&str]) -> Result<(String, String), String> {
        let mut command = Command::new(&self.binary);
        command.args(args).current_dir(self.repo.path()).env_clear().env("PATH", &self.path);
        command.env("USER", "tester").env("LANG", "C.UTF-8").env("HOME", self.repo.beside("home"));
        command.env("TMPDIR", self.repo.beside("tmp")).env("ACQUIT_HOME", self.repo.beside("acquit"));
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        let output = command.output().map_err(|error| format!("failed to start acquit: {error}"))?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok((text(&output.stdout), text(&output.stderr)))
    }
}

fn missing(what: &str) -> String {
    format!("{what} is not there; `cargo xtask gauge` installs what it can")
}

/// Returns the name of a gate in a workflow, where `reproduced` is reserved.
fn called(gate: &str) -> &str {
    if gate == "reproduced" { "shown" } else { gate }
}

/// Returns the tables of these gates, each with a timeout.
fn tables(all: &str, gates: &[String]) -> String {
    let mut out = String::new();
    let mut wanted = false;
    for line in all.lines() {
        if let Some(name) = line.trim_end().strip_prefix("[gates.").and_then(|rest| rest.strip_suffix(']')) {
            wanted = gates.iter().any(|gate| gate == name);
            if wanted {
                out.push_str(&format!("[gates.{}]\ntimeout = \"{TIMEOUT}\"\n", called(name)));
            }
        } else if wanted && !line.starts_with("timeout") {
            out.push_str(line);
            out.push('\n');
        }
    }
    out
}

/// Returns the id of the newest task.
fn newest(listed: &str) -> Option<String> {
    let list: Value = serde_json::from_str(listed).ok()?;
    let tasks = list.as_array().or_else(|| list.get("tasks").and_then(Value::as_array))?;
    let id = |task: &Value| -> Option<String> {
        Some(task.get("id").or_else(|| task.get("seed")?.get("id"))?.as_str()?.to_owned())
    };
    let number =
        |id: &String| id.rsplit('-').next().and_then(|number| number.parse::<u64>().ok()).unwrap_or(0);
    tasks.iter().filter_map(id).max_by_key(number)
}

/// Parses a line that is a gate's verdict.
fn verdict(line: &str) -> Option<Said> {
    let event: Value = serde_json::from_str(line).ok()?;
    let verdict = find(&event, "verdict")?;
    let gate = verdict.get("gate")?.as_str()?;
    let gate = if gate == "shown" { "reproduced" } else { gate }.to_owned();
    let passed = verdict.get("passed")?.as_bool()?;
    let findings = verdict
        .get("evidence")
        .and_then(|evidence| evidence.get("findings")?.as_array().cloned())
        .unwrap_or_default();
    let person =
        findings.iter().any(|finding| finding.get("weight").and_then(Value::as_str) == Some("unjudged"));
    let failing =
        findings.iter().filter(|finding| finding.get("weight").and_then(Value::as_str) != Some("noted"));
    let why: Vec<String> = failing
        .take(3)
        .map(|finding| {
            let text = |key: &str| finding.get(key).and_then(Value::as_str).unwrap_or_default();
            let words: String = text("message").chars().take(200).collect();
            format!("[{}] {}", text("rule"), words.replace('\n', " "))
        })
        .collect();
    let took = verdict.get("took").and_then(Value::as_u64).unwrap_or(0);
    Some(Said { gate, objects: !passed || person, why: why.join(" | "), took })
}

/// Returns the first value with this name, at any depth.
fn find<'v>(value: &'v Value, name: &str) -> Option<&'v Value> {
    match value {
        Value::Object(map) => map.get(name).or_else(|| map.values().find_map(|inner| find(inner, name))),
        Value::Array(list) => list.iter().find_map(|inner| find(inner, name)),
        _ => None,
    }
}

/// Prepares a Go build cache with the standard library, once.
fn warm_go(place: &Place, repo: &Repo) -> Result<(), String> {
    let cache = place.runners.join("go-build");
    let doing = |error: std::io::Error| format!("failed to prepare the cache of Go: {error}");
    if !cache.join("warm").exists() {
        let module = repo.beside("warm");
        write(&module.join("go.mod"), "module warm\n\ngo 1.18\n")?;
        let test = "package warm\n\nimport (\n\t\"encoding/json\"\n\t\"errors\"\n\t\"fmt\"\n\t\"os\"\n\t\"reflect\"\n\t\"sort\"\n\t\"strings\"\n\t\"testing\"\n)\n\n\
                    func TestWarm(t *testing.T) {\n\t_, _ = json.Marshal(errors.New(fmt.Sprint(os.Args, reflect.TypeOf(1), strings.ToUpper(\"a\"))))\n\tsort.Ints(nil)\n}\n";
        write(&module.join("warm_test.go"), test)?;
        let mut command = Command::new("go");
        command
            .args(["test", "./..."])
            .current_dir(&module)
            .env("HOME", &module)
            .env("GOCACHE", &cache)
            .env("GOFLAGS", "");
        command.output().map_err(doing)?;
        write(&cache.join("warm"), "")?;
    }
    fs::create_dir_all(repo.beside("home/.cache")).map_err(doing)?;
    std::os::unix::fs::symlink(cache.canonicalize().map_err(doing)?, repo.beside("home/.cache/go-build"))
        .map_err(doing)
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    let folder = path.parent().unwrap_or(path);
    let made = fs::create_dir_all(folder).and_then(|()| fs::write(path, text));
    made.map_err(|error| format!("failed to write {}: {error}", path.display()))
}

/// Copies a tree without its repository and acquit's settings. Keeps modes; copies links as links.
fn copy(from: &Path, to: &Path) -> Result<(), String> {
    let doing = |error: std::io::Error| format!("failed to copy {}: {error}", from.display());
    fs::create_dir_all(to).map_err(doing)?;
    for entry in fs::read_dir(from).map_err(doing)? {
        let entry = entry.map_err(doing)?;
        let (name, kind) = (entry.file_name(), entry.file_type().map_err(doing)?);
        if name == ".git" || name == ".acquit" {
            continue;
        }
        let (source, target) = (entry.path(), to.join(&name));
        if kind.is_dir() {
            copy(&source, &target)?;
        } else if kind.is_symlink() {
            let link = fs::read_link(&source).map_err(doing)?;
            std::os::unix::fs::symlink(link, target).map_err(doing)?;
        } else {
            fs::copy(&source, &target).map_err(doing)?;
        }
    }
    Ok(())
}
