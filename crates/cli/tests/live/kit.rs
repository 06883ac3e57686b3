//! A project whose agent is a real program and whose model is the scripted one: what every scenario begins with.
//!
//! The agent is configured as a user would: its adapter, the address of its model by a variable or an argument, its key as a
//! secret, the model's host. Everything else is acquit's own business: the sandbox, the settings, the home. The agents' own
//! retries are kept short, so that a fault is seen in seconds and not in minutes.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use acquit_core::leg::{Ending, Past};
use acquit_testkit::agents;
use acquit_testkit::model::{Model, Scripts};
use serde_json::json;

use crate::common::{Ran, Sandbox, Started};

/// The slowest agent takes ten seconds of a core to begin; this is for a machine that has much else to do.
pub(crate) const PATIENCE: Duration = Duration::from_mins(5);
/// A limit that is to end an agent at its work is tried so many times as long, until the agent came to its work before it: an idle machine
/// need not wait for what a busy one needs.
pub(crate) const PATIENT: [u32; 4] = [1, 2, 4, 9];
/// Between two looks at a task: each starts a process, beside agents that need the machine.
const LOOK: Duration = Duration::from_millis(150);
/// The key of the model. It must reach the model and nobody else.
pub(crate) const KEY: &str = "sk-live-0123456789abcdef";

/// The agents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Agent {
    Claude,
    Codex,
    Opencode,
    Gemini,
    Aider,
    Pi,
}

/// What a scenario changes of the usual configuration.
#[derive(Debug, Default)]
pub(crate) struct More {
    /// Arguments after those that lead to the model.
    pub(crate) args: Vec<String>,
    /// Variables besides those that lead to the model.
    pub(crate) env: Vec<(&'static str, String)>,
    /// Files of the repository, and by `~/` of the home.
    pub(crate) files: Vec<(&'static str, String)>,
    /// The variable in which the key comes, if not the usual one.
    pub(crate) key: Option<&'static str>,
    /// Lines of the agent's table in the configuration.
    pub(crate) lines: &'static str,
    /// What is wrong with the configuration.
    pub(crate) lacks: Lacks,
}

/// What a configuration lacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Lacks {
    /// Nothing.
    #[default]
    Nothing,
    /// The program.
    Program,
    /// The key, and any other login.
    Key,
    /// The model's host in the list.
    Host,
    /// A model's address that is right: it names another host, which is not listed.
    Address,
}

/// A repository, a model, and an agent between them.
pub(crate) struct Live {
    pub(crate) model: Model,
    pub(crate) sandbox: Sandbox,
}

impl Agent {
    /// Its adapter's name.
    pub(crate) fn adapter(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Opencode => "opencode",
            Self::Gemini => "gemini",
            Self::Aider => "aider",
            Self::Pi => "pi",
        }
    }

    /// The model, as the agent knows it.
    pub(crate) fn model(self) -> &'static str {
        match self {
            Self::Claude => "claude-sonnet-4-5",
            Self::Codex => "gpt-5",
            Self::Opencode | Self::Pi => "scripted/m",
            Self::Gemini => "gemini-2.5-pro",
            Self::Aider => "openai/m",
        }
    }

    /// The variable of its key.
    fn key(self) -> &'static str {
        match self {
            Self::Claude => "ANTHROPIC_API_KEY",
            Self::Codex => "CODEX_API_KEY",
            Self::Opencode | Self::Pi => "SCRIPTED_KEY",
            Self::Gemini => "GEMINI_API_KEY",
            Self::Aider => "OPENAI_API_KEY",
        }
    }

    /// What leads to the model: arguments and variables.
    fn to_model(self, url: &str) -> (Vec<String>, Vec<(&'static str, String)>) {
        match self {
            Self::Claude => (
                Vec::new(),
                vec![("ANTHROPIC_BASE_URL", url.to_owned()), ("CLAUDE_CODE_MAX_RETRIES", "1".to_owned())],
            ),
            Self::Codex => {
                let provider = format!(
                    "model_providers.scripted={{name=\"scripted\",base_url=\"{url}/v1\",env_key=\"CODEX_API_KEY\",\
                     wire_api=\"responses\",request_max_retries=1,stream_max_retries=1}}"
                );
                let args = ["-c", "model_provider=\"scripted\"", "-c", &provider];
                (args.map(str::to_owned).to_vec(), Vec::new())
            }
            Self::Opencode => {
                let known = json!({ "name": "m", "limit": { "context": 200_000, "output": 8000 },
                    "cost": { "input": 3, "output": 15, "cache_read": 0.3 } });
                let options = json!({ "baseURL": format!("{url}/v1"), "apiKey": "{env:SCRIPTED_KEY}" });
                let provider = json!({ "npm": "@ai-sdk/openai-compatible", "name": "scripted", "options": options,
                    "models": { "m": known } });
                let settings = json!({ "small_model": "scripted/m", "provider": { "scripted": provider } });
                (Vec::new(), vec![("OPENCODE_CONFIG_CONTENT", settings.to_string())])
            }
            Self::Gemini => (Vec::new(), vec![("GOOGLE_GEMINI_BASE_URL", url.to_owned())]),
            Self::Aider => {
                let args = ["--edit-format", "diff", "--map-tokens", "0"];
                (args.map(str::to_owned).to_vec(), vec![("OPENAI_API_BASE", format!("{url}/v1"))])
            }
            Self::Pi => (Vec::new(), Vec::new()),
        }
    }

    /// What a user of this agent has in the home or in the repository: files with their texts, those of the home by `~/`.
    fn files(self, url: &str) -> Vec<(&'static str, String)> {
        match self {
            Self::Claude | Self::Codex | Self::Opencode | Self::Gemini => Vec::new(),
            Self::Aider => {
                let known = json!({ "max_tokens": 8000, "max_input_tokens": 200_000,
                    "input_cost_per_token": 0.000_003, "output_cost_per_token": 0.000_015,
                    "litellm_provider": "openai", "mode": "chat" });
                vec![(".aider.model.metadata.json", json!({ "openai/m": known }).to_string())]
            }
            Self::Pi => {
                let known = json!({ "id": "m", "name": "m", "contextWindow": 200_000, "maxTokens": 8000,
                    "cost": { "input": 3, "output": 15, "cacheRead": 0.3, "cacheWrite": 3.75 } });
                let provider = json!({ "baseUrl": url, "api": "anthropic-messages", "apiKey": "$SCRIPTED_KEY",
                    "models": [known] });
                let retry = json!({ "enabled": true, "maxRetries": 1, "baseDelayMs": 200 });
                vec![
                    ("~/.pi/agent/models.json", json!({ "providers": { "scripted": provider } }).to_string()),
                    ("~/.pi/agent/settings.json", json!({ "retry": retry }).to_string()),
                ]
            }
        }
    }
}

impl Live {
    /// A project with this workflow. `None` where the agents are not installed, and that is allowed.
    #[track_caller]
    pub(crate) fn new(agent: Agent, workflow: &str, scripts: Scripts, more: More) -> Option<Self> {
        let bin = agents::bin()?;
        let model = Model::start(scripts).expect("a model");
        let sandbox = Sandbox::new("", workflow, "").with(
            "PATH",
            match more.lacks {
                Lacks::Program => "/usr/local/bin:/usr/bin:/bin".to_owned(),
                _ => format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display()),
            },
        );
        let sandbox = sandbox.with("THE_KEY", KEY);
        let url = address(&model, more.lacks);
        let mut files = agent.files(&url);
        files.extend(more.files.iter().cloned());
        for (name, text) in &files {
            match name.strip_prefix("~/") {
                Some(name) => {
                    let path = sandbox.place("home").join(name);
                    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
                    std::fs::write(path, text).expect("a file");
                }
                None => sandbox.repo.write(name, text),
            }
        }
        let home = files.iter().map(|(name, _)| *name).filter(|name| name.starts_with("~/")).collect();
        sandbox.repo.write(".acquit/acquit.toml", &config(agent, &model, &more, home));
        sandbox.repo.commit("the agent");
        Some(Self { model, sandbox })
    }

    /// Starts a new task.
    pub(crate) fn start(&self, words: &str) -> Started {
        self.sandbox.start(&["run", words])
    }

    /// Runs a new task to its end, which must give this exit code.
    #[track_caller]
    pub(crate) fn run(&self, words: &str, code: i32) -> Ran {
        self.start(words).wait_within(PATIENCE).must(code)
    }

    /// Goes on with the task to its end.
    #[track_caller]
    pub(crate) fn go_on(&self, code: i32) -> Ran {
        self.sandbox.start(&["run", "T-1"]).wait_within(PATIENCE).must(code)
    }

    /// Runs a new task until its first leg is over. One that then waits for its next leg is cancelled.
    #[track_caller]
    pub(crate) fn first_leg(&self, words: &str) -> Past {
        let run = self.start(words);
        let over = || self.sandbox.shown_legs().is_some_and(|legs| legs[0].ended.is_some());
        self.until("the first leg is over", over);
        let past = self.sandbox.task().past.swap_remove(0);
        if matches!(past.ending, Ending::Held { .. }) {
            self.sandbox.acquit(&["task", "cancel", "T-1"]).must(0);
        }
        run.wait_within(PATIENCE);
        past
    }

    /// Looks until the condition holds.
    #[track_caller]
    pub(crate) fn until(&self, what: &str, held: impl Fn() -> bool) {
        let begun = Instant::now();
        while !held() {
            assert!(begun.elapsed() < PATIENCE, "not within {PATIENCE:?}: {what}\n{}", self.told());
            std::thread::sleep(LOOK);
        }
    }

    /// Everything that the task and its agents said, for looking at and for tests that fail.
    pub(crate) fn told(&self) -> String {
        let logs = self.sandbox.acquit(&["logs", "T-1", "--all"]);
        let output = |leg: u32| {
            let file = |name: &str| crate::common::read(&self.sandbox.leg_file(leg, name));
            format!("--- leg {leg}\n{}--- its errors\n{}", file("output.log"), file("errors.log"))
        };
        let asked: Vec<_> = self.model.requests().iter().map(|one| format!("{:?}", one.step)).collect();
        let known = (1..4).filter(|leg| self.sandbox.leg_file(*leg, "prompt.md").exists());
        let legs: String = known.map(output).collect();
        format!("{}{}\n{legs}\n--- the model was asked for {}", logs.out, logs.err, asked.join(" "))
    }

    /// A file of the branch that was delivered.
    pub(crate) fn delivered(&self, file: &str) -> String {
        let branch = self.sandbox.task().seed.branch;
        self.sandbox.repo.git(&["show", &format!("{branch}:{file}")])
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.told());
        }
    }
}

/// Where the agent looks for its model.
fn address(model: &Model, lacks: Lacks) -> String {
    match lacks {
        Lacks::Address => "http://model.example:8080".to_owned(),
        Lacks::Nothing | Lacks::Program | Lacks::Key | Lacks::Host => model.url(),
    }
}

/// The configuration of a project.
fn config(agent: Agent, model: &Model, more: &More, home: Vec<&str>) -> String {
    let text = |text: &str| toml::Value::from(text).to_string();
    let list = |list: &[String]| list.iter().map(|one| text(one)).collect::<Vec<_>>().join(", ");
    let (mut args, mut env) = agent.to_model(&address(model, more.lacks));
    if more.lacks != Lacks::Nothing {
        // As a user has it: with the agent's own retries.
        env.retain(|(name, _)| *name != "CLAUDE_CODE_MAX_RETRIES");
        args.iter_mut().for_each(|arg| *arg = arg.replace(",request_max_retries=1,stream_max_retries=1", ""));
    }
    args.extend(more.args.iter().cloned());
    env.extend(more.env.iter().cloned());
    let key = more.key.unwrap_or(agent.key());
    let env: BTreeMap<_, _> = env.into_iter().collect();
    let env: Vec<_> = env.iter().map(|(name, value)| format!("{name} = {}", text(value))).collect();
    let home: Vec<_> = home.into_iter().map(str::to_owned).collect();
    let login = if home.is_empty() { String::new() } else { format!("login = [{}]\n", list(&home)) };
    // What the agent consists of besides the folder that it is found in.
    let python = agents::python().filter(|_| agent == Agent::Aider);
    let access = python.map(|path| format!("[access]\nread = [{}]\n", text(&path.to_string_lossy())));
    let secrets = if more.lacks == Lacks::Key { String::new() } else { format!("secrets = [\"{key}\"]\n") };
    let hosts = match more.lacks {
        Lacks::Host => "hosts = [\"api.example.com\"]\n".to_owned(),
        _ => format!("hosts = [\"127.0.0.1:{}\"]\n", model.port()),
    };
    format!(
        "agent = \"bot\"\n[secrets]\n{key} = {{ env = \"THE_KEY\" }}\n[agents.bot]\nadapter = \"{}\"\nmodel = \"{}\"\n\
         args = [{}]\nenv = {{ {} }}\n{secrets}{hosts}{login}{}\n{}",
        agent.adapter(),
        agent.model(),
        list(&args),
        env.join(", "),
        more.lines,
        access.unwrap_or_default(),
    )
}
