//! Claude Code: `claude -p --output-format stream-json --verbose`, with the prompt on standard input.

use std::ffi::OsString;

use acquit_core::config::Product;
use acquit_core::role::Tool;
use serde_json::json;

use super::product::{BUN, Facts, Holds, Support, Supports, Version};
use super::tools::Hold;
use super::{Launch, Server, Wanted};

mod lines;

pub(super) use lines::Lines;

pub(super) const FACTS: Facts = Facts {
    product: Product::Claude,
    title: "Claude Code",
    program: "claude",
    version: &["--version"],
    log_in: "claude /login",
    tried: Version(2, 1, 325),
    bad: &[],
    hosts: &["api.anthropic.com", "console.anthropic.com", "platform.claude.com", "claude.ai"],
    spare_hosts: &[],
    login: &["~/.claude/.credentials.json"],
    settings: &["~/.claude/settings.json"],
    servers: &["ANTHROPIC_BASE_URL"],
    login_variables: &["CLAUDE_CODE_OAUTH_TOKEN"],
    keys: &["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"],
    quiet: &[
        ("DISABLE_AUTOUPDATER", "1"),
        ("DISABLE_TELEMETRY", "1"),
        ("DISABLE_ERROR_REPORTING", "1"),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
    ],
    supports: Supports {
        sessions: Support::Yes,
        structured: Support::Yes,
        tools: Support::Yes,
        tool_events: Support::Yes,
        usage: Support::Yes,
        cost: Support::Yes,
        turns: Support::Yes,
        limits: Support::Yes,
        ending: Support::Yes,
    },
    holds: Holds { edit: Hold::Refused, run: Hold::Refused, web: Hold::Refused, commands: Hold::Refused },
    reads_agents_md: false,
    loads: BUN,
    launch,
    parser: |hearing| Box::new(Lines::new(hearing)),
};

/// Tools that outlast a turn or leave the workspace. After the turn, nothing receives their results.
const NEVER: &str = "EnterWorktree,ExitWorktree,CronCreate,ScheduleWakeup";

/// Tools that a read-only turn does not need. It can still write its report.
const NOT_FOR_READERS: &str = "Edit,NotebookEdit";

/// Maximum size of a schema as an argument: the kernel rejects one of 128 KiB.
const SCHEMA_LIMIT: usize = 100 * 1024;

/// Returns the tools that it may use without asking if its commands are restricted: everything but commands, plus the
/// listed ones. It checks each command of a line. It runs read-only commands such as `ls` anyway.
fn only(commands: &[String]) -> String {
    let listed = commands.iter().flat_map(|one| [format!("Bash({one})"), format!("Bash({one} *)")]);
    let all = listed.chain([FREE.to_owned(), format!("mcp__{}", Server::NAME)]);
    all.collect::<Vec<_>>().join(",")
}

/// Its tools that start no command.
const FREE: &str = "Read,Glob,Grep,Edit,Write,NotebookEdit,WebFetch,WebSearch,TodoWrite,Task,Agent,Skill,StructuredOutput,\
    TaskCreate,TaskUpdate,TaskOutput,TaskStop,BashOutput,KillShell,ToolSearch";

fn launch(wanted: &Wanted<'_>, launch: &mut Launch, extra: Vec<OsString>) {
    launch.args(["-p", "--output-format", "stream-json", "--verbose"]);
    if wanted.commands.is_empty() || wanted.refuses(Tool::Run) {
        launch.args(["--dangerously-skip-permissions"]);
        // As root, it refuses to skip permission prompts unless told that it is sandboxed.
        launch.set("IS_SANDBOX", "1");
    } else {
        launch.args(["--permission-mode", "dontAsk", "--allowedTools", &only(wanted.commands)]);
    }
    if let Some(model) = wanted.model {
        launch.args(["--model", model]);
    }
    match wanted.session {
        Some(session) => launch.args(["--resume", &session.id]),
        None => launch.args(["--session-id", wanted.new_session]),
    }
    if let Some(turns) = wanted.agent.turns {
        launch.args(["--max-turns", &turns.to_string()]);
    }
    let refused = [
        Some(NEVER),
        wanted.refuses(Tool::Edit).then_some(NOT_FOR_READERS),
        wanted.refuses(Tool::Run).then_some("Bash"),
        wanted.refuses(Tool::Web).then_some("WebFetch,WebSearch"),
    ];
    let refused: Vec<&str> = refused.into_iter().flatten().collect();
    launch.args(["--disallowedTools", &refused.join(",")]);
    if let Some(Server { program, args, env }) = wanted.tools {
        let servers =
            json!({ "mcpServers": { (Server::NAME): { "command": program, "args": args, "env": env } } });
        let file = launch.file(wanted, "claude-tools.json", servers.to_string());
        launch.args(["--mcp-config".into(), file.into_os_string(), "--strict-mcp-config".into()]);
        // Otherwise the model must search for tools before it sees them.
        launch.set("ENABLE_TOOL_SEARCH", "false");
    }
    if let Some(schema) = wanted.schema.map(ToString::to_string).filter(|text| text.len() <= SCHEMA_LIMIT) {
        launch.args(["--json-schema", &schema]);
    }
    launch.args(extra);
}
