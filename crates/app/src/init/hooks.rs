//! Writes the settings with which agents run `acquit prove` at the end of a turn. Keeps existing settings.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::write::Error;
use super::{Plan, look};

/// An agent with supported hooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agent {
    /// Claude Code: event `Stop`.
    Claude,
    /// Codex: event `Stop`.
    Codex,
    /// Gemini CLI: event `AfterAgent`.
    Gemini,
    /// opencode: a plugin that listens for `session.idle`.
    Opencode,
    /// Cursor: event `stop`.
    Cursor,
}

/// How often a session is sent back in a row before it is allowed to end. More attempts rarely help, and each costs a
/// judgement.
pub const MOST_IN_A_ROW: u32 = 3;

/// Timeout of a judgement for the agent, in seconds.
const PATIENCE: u64 = 3600;

/// All agents with hooks: name, and the project folder of their settings.
pub const AGENTS: [(&str, Agent, &str); 5] = [
    ("claude", Agent::Claude, ".claude"),
    ("codex", Agent::Codex, ".codex"),
    ("gemini", Agent::Gemini, ".gemini"),
    ("opencode", Agent::Opencode, ".opencode"),
    ("cursor", Agent::Cursor, ".cursor"),
];

/// Returns the command of a hook. Allows changed expectations: a change of behavior also changes what tests expect, and
/// an agent has no way to say so here.
fn command(name: &str) -> String {
    format!("acquit prove --hook {name} --allow expectation-changed")
}

/// Plugin for opencode, which has no command hooks.
const PLUGIN: &str = r#"// Written by `acquit init --hooks`: judges the change when a session becomes idle, and sends the agent back if it is not done.
import { spawn } from "node:child_process"

const judge = (directory, session) =>
  new Promise((resolve) => {
    const child = spawn("acquit", ["prove", "--hook", "opencode", "--allow", "expectation-changed"], {
      cwd: directory,
      stdio: ["pipe", "pipe", "ignore"],
    })
    let out = ""
    child.stdout.on("data", (data) => (out += data))
    child.on("error", () => resolve({}))
    child.on("close", () => {
      try {
        resolve(JSON.parse(out))
      } catch {
        resolve({})
      }
    })
    child.stdin.end(JSON.stringify(session))
  })

export const Acquit = async ({ client, directory }) => {
  const sentBack = new Set()
  return {
    event: async ({ event }) => {
      if (event.type !== "session.idle") return
      const id = event.properties.sessionID
      const answer = await judge(directory, { session_id: id, stop_hook_active: sentBack.has(id) })
      if (!answer.followup_message) return void sentBack.delete(id)
      sentBack.add(id)
      await client.session.prompt({ path: { id }, body: { parts: [{ type: "text", text: answer.followup_message }] } })
    },
  }
}
"#;

/// Returns the agents used in a repository: those with a folder in it, and those in `PATH`.
pub fn used(top: &Path, path: &std::ffi::OsStr) -> Vec<&'static str> {
    let is_used = |(name, _, folder): &&(&'static str, Agent, &'static str)| {
        top.join(folder).is_dir() || acquit_run::process::in_path(path, name).is_some()
    };
    AGENTS.iter().filter(is_used).map(|(name, ..)| *name).collect()
}

/// Plans the files for these agents.
pub fn plan(top: &Path, names: &[&str]) -> Result<Plan, Error> {
    let mut files = Vec::new();
    let mut seen = Vec::new();
    for (name, agent, _) in AGENTS.iter().filter(|(name, ..)| names.contains(name)) {
        let (path, text) = file(top, name, *agent)?;
        seen.push(format!("hook of {name}"));
        files.push((PathBuf::from(path), text));
    }
    let mut notes = Vec::new();
    if names.contains(&"codex") {
        notes.push(
            "codex runs hooks of a project only after you trusted them: it asks when it starts".to_owned(),
        );
    }
    Ok(Plan { files, seen, recognised: true, has_agent: true, notes })
}

fn file(top: &Path, name: &str, agent: Agent) -> Result<(&'static str, String), Error> {
    let run = json!({ "type": "command", "command": command(name), "timeout": PATIENCE });
    let of_claude = json!([{ "hooks": [run] }]);
    let (path, event, entry) = match agent {
        Agent::Claude => (".claude/settings.json", "Stop", of_claude),
        Agent::Codex => (".codex/hooks.json", "Stop", of_claude),
        Agent::Gemini => {
            let run = json!({ "name": "acquit", "type": "command", "command": command(name), "timeout": PATIENCE * 1000 });
            (".gemini/settings.json", "AfterAgent", json!([{ "hooks": [run] }]))
        }
        Agent::Cursor => (
            ".cursor/hooks.json",
            "stop",
            json!([{ "command": command(name), "loop_limit": MOST_IN_A_ROW, "timeout": PATIENCE }]),
        ),
        Agent::Opencode => return Ok((".opencode/plugins/acquit.js", PLUGIN.to_owned())),
    };
    let mut notes = Vec::new();
    let cloned = |_: &str| true;
    let text = look::Folder::top(top, &cloned, &mut notes).text(path);
    if let (None, Some(why)) = (&text, notes.first()) {
        return Err(Error::Settings { path: top.join(path), why: why.clone() });
    }
    let unusable = |why: &str| Error::Settings { path: top.join(path), why: why.to_owned() };
    let mut settings = match &text {
        None => Map::new(),
        Some(text) => match serde_json::from_str(text) {
            Ok(Value::Object(settings)) => settings,
            Ok(_) => return Err(unusable("it is not a JSON object")),
            Err(error) => return Err(unusable(&format!("it is not valid JSON: {error}"))),
        },
    };
    if agent == Agent::Cursor {
        settings.entry("version").or_insert(json!(1));
    }
    let hooks = settings.entry("hooks").or_insert_with(|| json!({}));
    let Some(hooks) = hooks.as_object_mut() else { return Err(unusable("`hooks` is not an object")) };
    let list = hooks.entry(event).or_insert_with(|| json!([]));
    let Some(list) = list.as_array_mut() else {
        return Err(unusable(&format!("`hooks.{event}` is not a list")));
    };
    // Replace our own hook of any version. Keep others.
    list.retain(|one| !one.to_string().contains("acquit prove --hook"));
    list.extend(entry.as_array().cloned().unwrap_or_default());
    let text = serde_json::to_string_pretty(&settings).unwrap_or_default();
    Ok((path, format!("{text}\n")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_in_a_settings_file_stays_and_ours_is_there_once() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(".claude/settings.json");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(
            &file,
            r#"{"model":"opus","hooks":{"Stop":[{"hooks":[{"type":"command","command":"mine"}]}]}}"#,
        )
        .unwrap();
        for _ in 0..2 {
            let plan = plan(folder.path(), &["claude"]).unwrap();
            super::super::write(folder.path(), &plan, super::super::Overwrite::InPlace).unwrap();
        }
        let text = std::fs::read_to_string(&file).unwrap();
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["model"], "opus");
        assert_eq!(value["hooks"]["Stop"].as_array().unwrap().len(), 2, "{text}");
        assert_eq!(text.matches("acquit prove --hook claude").count(), 1, "{text}");
        std::fs::write(&file, "// no JSON").unwrap();
        assert!(plan(folder.path(), &["claude"]).is_err());
    }
}
