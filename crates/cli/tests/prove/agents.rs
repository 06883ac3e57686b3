//! Real agents with the hook: one that says "done" with red tests is sent back, mends it, and ends.
//!
//! The model is scripted. What it says next is picked by a mark in the last words of the user; the name of the test that fails has such
//! a mark, so the model mends the code only if the agent was told which test fails.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use acquit_testkit::agents;
use acquit_testkit::model::{Model, Scripts, Step};
use serde_json::json;

use crate::common::{Sandbox, binary};
use crate::kit::{BROKEN, MENDED, OLD_TEST, package};

/// The slowest agent takes ten seconds of a core to begin, and each judgement some more.
const PATIENCE: Duration = Duration::from_mins(4);

/// A package whose test has a mark in its name, with the hook of an agent.
fn project(agent: &str) -> Sandbox {
    let sandbox = package();
    sandbox.repo.write("test/old.test.js", &OLD_TEST.replace("test('two'", "test('two [[mend]]'"));
    sandbox.acquit(&["init", "--hooks", agent]).must(0);
    sandbox.repo.commit("the hook");
    sandbox
}

/// The agent, as a person would start it without a terminal.
fn command(sandbox: &Sandbox, agent: &str, url: &str, prompt: &str) -> Option<Command> {
    let bin = agents::bin()?;
    let own = binary().parent().unwrap().to_owned();
    let mut command = sandbox.program(bin.join(agent));
    command.env("PATH", format!("{}:{}:/usr/local/bin:/usr/bin:/bin", bin.display(), own.display()));
    command.env("TERM", "dumb");
    let home = sandbox.place("home");
    match agent {
        "claude" => {
            command.args(["-p", prompt, "--output-format", "stream-json", "--verbose"]);
            command.args(["--model", "claude-sonnet-4-5", "--allowedTools", "Bash,Write,Edit,Read"]);
            command.env("ANTHROPIC_BASE_URL", url).env("ANTHROPIC_API_KEY", "sk-none");
            command.env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1").env("DISABLE_AUTOUPDATER", "1");
        }
        "codex" => {
            fs::create_dir_all(home.join(".codex")).unwrap();
            let provider = format!(
                "model_providers.scripted={{name=\"scripted\",base_url=\"{url}/v1\",env_key=\"CODEX_API_KEY\",wire_api=\"responses\"}}"
            );
            let trusted =
                format!("projects={{\"{}\"={{trust_level=\"trusted\"}}}}", sandbox.repo.path().display());
            command.args(["exec", "--json", "-s", "danger-full-access", "--disable", "plugins"]);
            command.args([
                "--dangerously-bypass-hook-trust",
                "-m",
                "gpt-5",
                "-c",
                "model_provider=\"scripted\"",
            ]);
            command.args(["-c", &provider, "-c", &trusted, prompt]);
            command.env("CODEX_HOME", home.join(".codex")).env("CODEX_API_KEY", "sk-none");
        }
        "gemini" => {
            let settings = json!({
                "security": { "auth": { "selectedType": "gemini-api-key" }, "folderTrust": { "enabled": false } },
                "privacy": { "usageStatisticsEnabled": false }, "general": { "maxAttempts": 2 },
            });
            acquit_testkit::repo::write(&home.join(".gemini/settings.json"), &settings.to_string());
            command.args(["-p", prompt, "--output-format", "stream-json", "--approval-mode", "yolo"]);
            command.args(["-m", "gemini-2.5-pro"]);
            command.env("GEMINI_API_KEY", "none").env("GOOGLE_GEMINI_BASE_URL", url);
            command.env("GEMINI_CLI_NO_RELAUNCH", "true");
        }
        other => panic!("{other}"),
    }
    Some(command)
}

/// Lets an agent work until it ends by itself. One that does not has failed.
#[track_caller]
fn work(sandbox: &Sandbox, mut command: Command) -> String {
    let (out, err) = (sandbox.place("said/agent.out"), sandbox.place("said/agent.err"));
    command
        .stdin(Stdio::null())
        .stdout(fs::File::create(&out).unwrap())
        .stderr(fs::File::create(&err).unwrap());
    let mut child = command.spawn().unwrap();
    let ended = ends_by_itself(&mut child);
    let text = |path| fs::read_to_string(path).unwrap_or_default();
    let said = format!("{}\n--- err\n{}", text(&out), text(&err));
    assert!(ended, "no end after {PATIENCE:?}: {}", short(&said));
    said
}

/// Waits until a program has ended. One that takes too long is killed.
fn ends_by_itself(child: &mut std::process::Child) -> bool {
    let deadline = Instant::now() + PATIENCE;
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > deadline {
            let _ = child.kill();
            let _ = child.wait();
            return false;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    true
}

/// The end of what an agent said.
fn short(said: &str) -> String {
    let skip = said.chars().count().saturating_sub(3_000);
    said.chars().skip(skip).collect()
}

/// Writes the code. By the shell: some agents refuse to write a file that they have not read.
fn write(code: &str) -> Step {
    Step::bash(&format!("printf '%s' '{code}' > sum.js"))
}

/// It says "done" with a red test, is sent back with the name of the test, mends the code, and ends.
#[track_caller]
fn sent_back(agent: &str) {
    let sandbox = project(agent);
    let scripts = Scripts::default()
        .with("lie", [write(BROKEN), Step::say("Done, all tests pass.")])
        .with("mend", [write(MENDED), Step::say("Mended.")]);
    let model = Model::start(scripts).unwrap();
    let Some(command) = command(&sandbox, agent, &model.url(), "Make sum faster. [[lie]]") else { return };
    let said = work(&sandbox, command);
    let steps: Vec<_> = model.scripted().into_iter().filter_map(|request| request.step).collect();
    assert!(steps.iter().any(|(name, _)| name == "mend"), "never sent back: {steps:?}\n{}", short(&said));
    assert_eq!(
        fs::read_to_string(sandbox.repo.path().join("sum.js")).unwrap(),
        MENDED,
        "{steps:?}\n{}",
        short(&said)
    );
    let mut out = std::io::stdout();
    let _ = writeln!(out, "{agent}: {steps:?}");
}

/// It says "done" every time, and comes to an end all the same.
#[track_caller]
fn ends(agent: &str) {
    let sandbox = project(agent);
    let scripts = Scripts::default()
        .with("lie", [write(BROKEN), Step::say("Done, all tests pass.")])
        .with("mend", [Step::say("It is really done.")]);
    let model = Model::start(scripts).unwrap();
    let Some(command) = command(&sandbox, agent, &model.url(), "Make sum faster. [[lie]]") else { return };
    let said = work(&sandbox, command);
    let again =
        model.scripted().iter().filter(|it| it.step.as_ref().is_some_and(|step| step.0 == "mend")).count();
    assert!((1..=3).contains(&again), "sent back {again} times\n{}", short(&said));
}

#[test]
fn claude_is_sent_back_and_mends_it() {
    sent_back("claude");
}

#[test]
fn claude_is_not_sent_back_for_ever() {
    ends("claude");
}

#[test]
fn codex_is_sent_back_and_mends_it() {
    sent_back("codex");
}

/// The settings by which opencode asks the scripted model.
fn opencode_settings(url: &str) -> String {
    json!({
        "model": "fake/fake-model", "small_model": "fake/fake-model", "autoupdate": false, "share": "disabled",
        "permission": { "bash": "allow", "edit": "allow" },
        "provider": { "fake": {
            "npm": "@ai-sdk/openai-compatible", "name": "fake",
            "options": { "baseURL": format!("{url}/v1"), "apiKey": "none" },
            "models": { "fake-model": { "name": "fake-model", "limit": { "context": 200_000, "output": 8_000 } } },
        } },
    })
    .to_string()
}

/// What opencode would install for plugins, as if it were there: without a registry it waits for minutes.
fn with_types_of_plugins(sandbox: &Sandbox) {
    const VERSION: &str = "1.18.33";
    let name = "@opencode-ai/plugin";
    let needs = json!({ "dependencies": { name: VERSION } });
    let place = format!("node_modules/{name}");
    let lock = json!({ "lockfileVersion": 3, "packages": { "": needs, &place: { "version": VERSION } } });
    for (file, text) in [
        ("package.json".to_owned(), needs.to_string()),
        ("package-lock.json".to_owned(), lock.to_string()),
        (format!("{place}/package.json"), json!({ "name": name, "version": VERSION }).to_string()),
    ] {
        sandbox.repo.write(&format!(".opencode/{file}"), &text);
    }
    sandbox.repo.write(".gitignore", "junit.xml\nignored/\n.opencode/\n");
    sandbox.repo.commit("types of plugins");
}

/// `opencode run` alone ends with the turn; where opencode goes on, as in its terminal or as a server, the plugin sends it back.
#[test]
fn soak_opencode_is_sent_back_and_mends_it() {
    let sandbox = project("opencode");
    with_types_of_plugins(&sandbox);
    let scripts = Scripts::default()
        .with("lie", [write(BROKEN), Step::say("Done, all tests pass.")])
        .with("mend", [write(MENDED), Step::say("Mended.")]);
    let model = Model::start(scripts).unwrap();
    let Some(bin) = agents::bin() else { return };
    let own = binary().parent().unwrap().to_owned();
    let opencode = |args: &[&str], out: &str| {
        let mut command = sandbox.program(bin.join("opencode"));
        command.env("PATH", format!("{}:{}:/usr/local/bin:/usr/bin:/bin", bin.display(), own.display()));
        command.env("OPENCODE_CONFIG_CONTENT", opencode_settings(&model.url()));
        command.env("npm_config_registry", "http://127.0.0.1:9/").env("npm_config_fetch_retries", "0");
        command.env("OPENCODE_DISABLE_MODELS_FETCH", "1").env("OPENCODE_DISABLE_AUTOUPDATE", "1");
        let file = fs::File::create(sandbox.place(out)).unwrap();
        let errors = file.try_clone().unwrap();
        command.args(args).stdin(Stdio::null()).stdout(file).stderr(errors).spawn().unwrap()
    };
    let free =
        std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port().to_string();
    let mut server = opencode(&["serve", "--port", &free, "--print-logs"], "said/serve.out");
    let said = |name: &str| fs::read_to_string(sandbox.place(name)).unwrap_or_default();
    let patient = |what: &dyn Fn() -> Option<String>| {
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            if let Some(found) = what() {
                return Some(found);
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        None
    };
    let address = patient(&|| {
        let text = said("said/serve.out");
        let (_, rest) = text.split_once("listening on ")?;
        rest.split_whitespace().next().map(str::to_owned)
    });
    let mended = address.as_ref().and_then(|address| {
        let args = ["run", "--attach", address, "--auto", "Make sum faster. [[lie]]"];
        let mut session = opencode(&args, "said/run.out");
        assert!(ends_by_itself(&mut session), "no end: {}", said("said/run.out"));
        let code = || fs::read_to_string(sandbox.repo.path().join("sum.js")).ok();
        patient(&|| code().filter(|code| code == MENDED))
    });
    let _ = server.kill();
    let _ = server.wait();
    let steps: Vec<_> = model.scripted().into_iter().filter_map(|request| request.step).collect();
    let said = format!("{steps:?}\n{}\n{}", said("said/run.out"), short(&said("said/serve.out")));
    assert!(mended.is_some() && steps.iter().any(|(name, _)| name == "mend"), "{said}");
}

#[test]
fn soak_gemini_is_sent_back_and_mends_it() {
    sent_back("gemini");
}
