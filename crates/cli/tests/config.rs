//! The configuration in layers: built-in, the user's, the project's; and what `doctor` says of agents' unknown words.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use std::fs;
use std::os::unix::fs::PermissionsExt;

use acquit_testkit::repo;
use common::Sandbox;

const WORKFLOW: &str = "[stages.code]\nmode = \"implement\"\non = { pr_ready = \"done\" }\n";

/// The user's own file.
fn user(sandbox: &Sandbox, text: &str) {
    sandbox.user_config(text);
}

#[test]
fn a_value_comes_from_the_last_file_that_has_it_and_its_origin_is_told() {
    let config = "agent = \"night\"\nmax_cost = 5.00\n[models]\nfast = \"project-fast\"\n[waiting]\nlongest = \"3h\"\n";
    let sandbox = Sandbox::new(config, WORKFLOW, "");
    user(
        &sandbox,
        "agent = \"day\"\n[agents.day]\nadapter = \"claude\"\nmodel = \"fast\"\n[agents.night]\nadapter = \"command\"\n\
         run = [\"true\"]\n[models]\nfast = \"user-fast\"\nslow = \"user-slow\"\n[waiting]\nslack = \"2m\"\n",
    );
    let shown = sandbox.acquit(&["config", "show", "--json"]).must(0).json();
    let value = |key: &str| (shown[key]["value"].clone(), shown[key]["origin"].as_str().unwrap().to_owned());
    assert_eq!(value("agent"), ("night".into(), "project".to_owned()));
    assert_eq!(value("agents.day.adapter"), ("claude".into(), "user".to_owned()));
    assert_eq!(value("agents.night.run"), (serde_json::json!(["true"]), "user".to_owned()));
    assert_eq!(value("models.fast"), ("project-fast".into(), "project".to_owned()));
    assert_eq!(value("models.slow"), ("user-slow".into(), "user".to_owned()));
    assert_eq!(value("branch_prefix"), ("acquit/".into(), "built-in".to_owned()));
    assert_eq!(value("waiting.longest"), ("3h".into(), "project".to_owned()));
    assert_eq!(value("waiting.slack"), ("2m".into(), "user".to_owned()));
    assert_eq!(value("max_cost"), (5.into(), "project".to_owned()), "in dollars, as the file states it");
    assert_eq!(value("waiting.usage"), ("wait".into(), "built-in".to_owned()));
    let words = sandbox.acquit(&["config", "show", "--origin"]).must(0);
    words.said("models.fast = \"project-fast\"  # project: ");
    words.said("branch_prefix = \"acquit/\"  # built-in");
}

#[test]
fn an_agent_of_the_users_takes_the_tasks_of_a_project_that_has_none() {
    let sandbox = Sandbox::new("", WORKFLOW, "");
    user(
        &sandbox,
        "agent = \"mine\"\n[agents.mine]\nadapter = \"command\"\nrun = \"echo work > work.txt\"\n",
    );
    sandbox.run_to(0);
}

#[test]
fn what_the_command_line_says_of_agent_and_model_comes_last() {
    let config = "agent = \"day\"\n[agents.day]\nadapter = \"command\"\nrun = \"exit 1\"\n\
         [agents.night]\nadapter = \"claude\"\nprogram = \"@ROOT@/agent.sh\"\nmodel = \"slow\"\n\
         [models]\nfast = \"model-of-the-line\"\n";
    let workflow = WORKFLOW.replace("on =", "agent = \"day\"\nmodel = \"model-of-the-stage\"\non =");
    let sandbox = Sandbox::new(config, &workflow, "");
    let agent = sandbox.place("agent.sh");
    let success = r#"{"type":"result","subtype":"success","is_error":false,"result":"ok"}"#;
    repo::write(
        &agent,
        &format!(
            "#!/bin/sh\necho work > work.txt\necho \"$@\" > \"$ACQUIT_OUTPUT/arguments.txt\"\necho '{success}'\n"
        ),
    );
    fs::set_permissions(&agent, fs::Permissions::from_mode(0o755)).unwrap();

    sandbox.acquit(&["run", "--agent", "night", "--model", "fast", "Do it"]).must(0);
    let arguments = common::read(&sandbox.leg_file(1, "out/arguments.txt"));
    assert!(arguments.contains("--model model-of-the-line"), "{arguments}");
    sandbox.acquit(&["run", "--agent", "nobody", "Do it"]).must(2).said("nobody");
}

#[test]
fn a_mistake_in_the_users_file_is_told_with_its_place() {
    let sandbox = Sandbox::new("", WORKFLOW, "");
    user(&sandbox, "agent = \"mine\"\ncolour = \"blue\"\n");
    let ran = sandbox.acquit(&["config", "show"]).must(2);
    ran.said(".config/acquit/config.toml:3:1: unknown key `colour`");
    ran.said("unknown agent `mine`");
}

#[test]
fn what_agents_say_and_nobody_knows_is_counted_by_doctor() {
    let script = "[[code]]\nstep = [\n{ print = '{\"type\":\"unknown\",\"kind\":\"telepathy\"}' },\n\
                  { print = '{\"type\":\"unknown\",\"kind\":\"telepathy\"}' },\n{ write = \"work.txt\", content = \"x\" },\n]\n";
    let sandbox = Sandbox::scripted(WORKFLOW, script);
    let before = sandbox.acquit(&["doctor"]);
    before.said("all recent records parsed");
    sandbox.run_to(0);
    sandbox.acquit(&["doctor"]).said("scripted: telepathy (2 times)");
}

#[test]
fn the_files_of_the_demo_fit_the_schemas_that_are_printed() {
    let sandbox = Sandbox::new("", WORKFLOW, "");
    for (form, text) in
        [("workflow", include_str!("../demo/feature.toml")), ("config", include_str!("../demo/acquit.toml"))]
    {
        let schema = sandbox.acquit(&["schema", form]).must(0).json();
        let file = serde_json::to_value(text.parse::<toml::Table>().unwrap()).unwrap();
        assert_eq!(acquit_core::json_schema::mistakes(&schema, &file), [""; 0], "{form}");
    }
}

/// Two workflows, of which one has a mistake.
fn half_broken(config: &str) -> Sandbox {
    let sandbox = Sandbox::new(&format!("{config}{}", common::SCRIPTED), common::CODE, "");
    let bad = common::CODE.replace("pr_ready = \"deliver\"", "pr_ready = \"nowhere\"");
    sandbox.repo.write(".acquit/workflows/bad.toml", &bad);
    sandbox
}

#[test]
fn a_check_of_one_workflow_is_about_that_one_alone() {
    let sandbox = half_broken("workflow = \"bad\"\n");
    let one = sandbox.acquit(&["workflow", "check", "flow"]).must(0).says("no mistakes in flow\n");
    assert!(!one.err.contains("the configuration has mistakes"), "{one}");
    sandbox.acquit(&["workflow", "check", "bad"]).must(2).said("unknown stage `nowhere`");
    let all = sandbox.acquit(&["workflow", "check", "--json"]).must(2).json();
    assert_eq!(all["mistakes"][0]["file"], ".acquit/workflows/bad.toml", "{all}");
    assert!(all["mistakes"][0]["line"].as_u64().is_some_and(|line| line > 1), "{all}");
}

#[test]
fn a_mistake_in_the_configuration_does_not_make_others_seem_wrong() {
    let sandbox = half_broken("colour = \"blue\"\n");
    let path = ".acquit/workflows/flow.toml";
    let uses = common::CODE.replace("mode = \"implement\"", "mode = \"implement\"\ngates = [\"mine\"]");
    sandbox.repo.write(path, &uses);
    let config = common::read(&sandbox.repo.path().join(".acquit/acquit.toml"));
    sandbox.repo.write(".acquit/acquit.toml", &format!("{config}[gates.mine]\nrun = \"true\"\n"));
    let all = sandbox.acquit(&["workflow", "check", "--json"]).must(2).json();
    let words: Vec<&str> =
        all["mistakes"].as_array().unwrap().iter().map(|one| one["what"].as_str().unwrap()).collect();
    assert!(words.iter().any(|what| what.contains("colour")), "{words:?}");
    assert!(words.iter().any(|what| what.contains("nowhere")), "{words:?}");
    assert!(!words.iter().any(|what| what.contains("mine")), "the gate is there: {words:?}");
    sandbox.acquit(&["workflow", "check", "flow"]).must(0).said("the configuration has mistakes");
    sandbox.repo.write(".acquit/acquit.toml", "this is no TOML");
    let all = sandbox.acquit(&["workflow", "check", "--json"]).must(2).json();
    let files: Vec<&str> =
        all["mistakes"].as_array().unwrap().iter().map(|one| one["file"].as_str().unwrap()).collect();
    assert!(files.iter().all(|file| *file == ".acquit/acquit.toml"), "{files:?}");
}

/// What only seems to be missing, because the user's own file or the schedules have a mistake, is none.
#[test]
fn a_mistake_in_the_users_own_file_does_not_make_the_project_seem_wrong() {
    let sandbox = Sandbox::new("agent = \"mine\"\n[agents.mine]\nenv = { A = \"1\" }\n", common::CODE, "");
    let own = "[agents.mine]\nadapter = \"command\"\nrun = [\"true\"]\nturns = 7\n";
    sandbox.user_config(own);
    let whats = || -> Vec<String> {
        let all = sandbox.acquit(&["workflow", "check", "--json"]).must(2).json();
        let list = all["mistakes"].as_array().unwrap().iter();
        list.map(|one| one["what"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(whats(), ["`turns` has no meaning in agent `mine`"]);
    let one = sandbox.acquit(&["workflow", "check", "flow"]).must(0).says("the configuration has mistakes");
    assert!(one.out.contains("no mistakes in flow\n"), "{one}");
    sandbox.user_config("this is no TOML");
    assert_eq!(whats().len(), 1);
    // A schedule's mistake is one of the configuration, too.
    sandbox.user_config(&own.replace("turns = 7\n", ""));
    sandbox.acquit(&["workflow", "check"]).must(0).said("no mistakes in flow and the configuration");
    let night =
        "[[schedule]]\nname = \"night\"\ncron = \"0 1 * * *\"\nworkflow = \"flow\"\nzone = \"Mars/Base\"\n";
    let config = common::read(&sandbox.repo.path().join(".acquit/acquit.toml"));
    sandbox.repo.write(".acquit/acquit.toml", &format!("{config}{night}"));
    sandbox.acquit(&["workflow", "check", "flow"]).must(0).said("the configuration has mistakes");
    // It is told in the file that it is in.
    sandbox.repo.write(".acquit/acquit.toml", &config);
    sandbox.user_config(&format!("{}{night}", own.replace("turns = 7\n", "")));
    sandbox
        .acquit(&["workflow", "check"])
        .must(2)
        .said("config.toml:9:1: schedule `night`: unknown time zone");
}

#[test]
fn origins_name_the_line() {
    let sandbox = Sandbox::scripted(common::CODE, "");
    sandbox.repo.write(
        ".acquit/acquit.toml",
        "# a comment\nagent = \"bot\"\n[agents.bot]\nadapter = \"claude\"\nturns = 7\n",
    );
    sandbox.acquit(&["config", "show", "--origin"]).must(0).said(".acquit/acquit.toml:5");
    let json = sandbox.acquit(&["config", "show", "--json"]).must(0).json();
    assert_eq!(json["agents.bot.turns"]["line"], 5, "{json}");
}

#[test]
fn origins_name_the_line_of_each_key_of_a_merged_entry() {
    let sandbox = Sandbox::scripted(common::CODE, "");
    user(
        &sandbox,
        "[secrets]\nHOOK = { env = \"HOOK\" }\n[gates.unit]\nrun = \"true\"\ntimeout = \"3m\"\n[setup]\nrun = \"true\"\n\
         [notify.me]\nkind = \"slack\"\nsecret = \"HOOK\"\n[report.confluence]\nurl = \"https://team.invalid\"\npage = \"1\"\n\
         token = \"HOOK\"\n[[schedule]]\nname = \"other\"\ncron = \"0 1 * * *\"\nworkflow = \"flow\"\n\
         [[schedule]]\nname = \"night\"\ncron = \"30 2 * * *\"\nworkflow = \"flow\"\n",
    );
    let own = common::read(&sandbox.repo.path().join(".acquit/acquit.toml"));
    let own = format!(
        "{own}\n[gates.unit]\nseverity = \"warning\"\n[setup]\ntimeout = \"2m\"\n[notify.me]\nevents = [\"done\"]\n\
         [report.confluence]\nflavour = \"cloud\"\ntoken = \"HOOK\"\n[[schedule]]\nname = \"night\"\nmost_open = 9\n"
    );
    sandbox.repo.write(".acquit/acquit.toml", &own);
    let shown = sandbox.acquit(&["config", "show", "--json"]).must(0).json();
    let line = |words: &str| own.lines().position(|line| line == words).unwrap() as u64 + 1;
    for (key, value, origin, line) in [
        ("gates.unit.run", "true".into(), "user", 5),
        ("gates.unit.timeout", "3m".into(), "user", 6),
        ("gates.unit.severity", "warning".into(), "project", line("severity = \"warning\"")),
        ("setup.run", "true".into(), "user", 8),
        ("setup.timeout", "2m".into(), "project", line("timeout = \"2m\"")),
        ("notify.me.secret", "HOOK".into(), "user", 11),
        ("notify.me.events", serde_json::json!(["done"]), "project", line("events = [\"done\"]")),
        ("report.confluence.page", "1".into(), "user", 14),
        ("report.confluence.flavour", "cloud".into(), "project", line("flavour = \"cloud\"")),
        ("schedule.night.cron", "30 2 * * *".into(), "user", 22),
        ("schedule.night.most_open", 9.into(), "project", line("most_open = 9")),
        ("schedule.other.cron", "0 1 * * *".into(), "user", 18),
    ] {
        let found = (&shown[key]["value"], shown[key]["origin"].as_str(), shown[key]["line"].as_u64());
        let value: serde_json::Value = value;
        assert_eq!(found, (&value, Some(origin), Some(line)), "{key}: {shown}");
    }
}

#[test]
fn a_prompt_can_name_the_address_of_its_repository() {
    let workflow = common::CODE.replace(
        "mode = \"implement\"",
        "mode = \"implement\"\ninstructions = \"Cloned from {{ repo_url }}.\"",
    );
    let script =
        "[[code]]\nstep = [ { write = \"work.txt\", content = \"work\\n\" }, { outcome = \"pr_ready\" } ]\n";
    let sandbox = Sandbox::scripted(&workflow, script);
    sandbox.repo.git(&["remote", "add", "origin", "https://me:pass@git.invalid/team/tool.git"]);
    sandbox.acquit(&["task", "add", "Do it"]).must(0);
    let task = sandbox.task();
    assert_eq!(task.seed.wish.metadata["repo_url"], "https://git.invalid/team/tool.git");
    sandbox.acquit(&["leg", "--task", "T-1"]);
    let prompt = common::read(&sandbox.leg_file(1, "prompt.md"));
    assert!(prompt.contains("Cloned from https://git.invalid/team/tool.git."), "{prompt}");
    assert!(!prompt.contains("me:pass"), "{prompt}");
}

#[test]
fn origins_name_the_layers_of_workflow_role_and_run() {
    let config = "agent = \"bot\"\n[agents.bot]\nadapter = \"claude\"\nturns = 7\nmodel = \"usual\"\n[agents.other]\nadapter = \"codex\"\n\
                  [workflows.flow.models]\nlook = \"ours\"\n[variables]\ntone = \"short\"\n[budgets]\ntest = 4\n";
    let workflow = "[variables]\nbar = \"low\"\n[budgets]\nagent = 2\n[stages.code]\nmode = \"implement\"\ntimeout = \"5m\"\n\
        on = { pr_ready = \"look\" }\n[stages.look]\nmode = \"investigate\"\nagent = \"other\"\nnetwork = \"off\"\non = { found = \"judge\" }\n\
        [stages.judge]\nrole = \"judge\"\non = { approved = \"done\", changes_requested = \"person\" }\n";
    let sandbox = Sandbox::new(config, workflow, "");
    let role = "+++\ndescription = \"judges\"\nmode = \"review\"\nmodel = \"deep-one\"\n+++\nJudge.\n";
    sandbox.repo.write(".acquit/agents/judge.md", role);
    let show = |more: &[&str]| {
        let all = [&["config", "show", "--json", "--workflow", "flow"], more].concat();
        sandbox.acquit(&all).must(0).json()
    };
    let shown = show(&[]);
    let of = |shown: &serde_json::Value, key: &str| {
        let one = &shown[key];
        let file = one["file"].as_str().unwrap_or_default();
        let file = file.rsplit('/').next().unwrap_or_default().to_owned();
        (
            one["value"].clone(),
            one["origin"].as_str().unwrap_or("nowhere").to_owned(),
            file,
            one["line"].as_u64(),
        )
    };
    let text = common::read(&sandbox.repo.path().join(".acquit/acquit.toml"));
    let line = |words: &str| text.lines().position(|line| line.starts_with(words)).map(|at| at as u64 + 1);
    let flow =
        |words: &str| workflow.lines().position(|line| line.starts_with(words)).map(|at| at as u64 + 1);
    let (project, in_flow) = ("acquit.toml".to_owned(), "flow.toml".to_owned());
    for (key, value, origin, file, line) in [
        ("stages.code.agent", "bot", "project", &project, line("agent =")),
        ("stages.code.model", "usual", "project", &project, line("model =")),
        ("stages.code.timeout", "5m", "workflow", &in_flow, flow("timeout =")),
        ("stages.look.agent", "other", "workflow", &in_flow, flow("agent = \"other\"")),
        ("stages.look.model", "ours", "project", &project, line("look =")),
        ("stages.look.network", "off", "workflow", &in_flow, flow("network =")),
        ("stages.judge.model", "deep-one", "role", &"judge.md".to_owned(), Some(4)),
        ("stages.look.timeout", "30m", "built-in", &String::new(), None),
        ("variables.bar", "low", "workflow", &in_flow, flow("bar =")),
        ("variables.tone", "short", "project", &project, line("tone =")),
    ] {
        assert_eq!(of(&shown, key), (value.into(), origin.to_owned(), file.clone(), line), "{key}: {shown}");
    }
    assert_eq!(
        of(&shown, "stages.code.turns"),
        (7.into(), "project".to_owned(), project.clone(), line("turns ="))
    );
    assert_eq!(of(&shown, "budgets.agent"), (2.into(), "workflow".to_owned(), in_flow, flow("agent = 2")));
    assert_eq!(of(&shown, "budgets.test"), (4.into(), "project".to_owned(), project, line("test =")));

    let run = show(&["--agent", "other", "--model", "mine", "--var", "bar=high"]);
    for (key, value) in [
        ("stages.code.agent", "other"),
        ("stages.judge.model", "mine"),
        ("stages.look.model", "mine"),
        ("variables.bar", "high"),
    ] {
        assert_eq!(of(&run, key), (value.into(), "run".to_owned(), String::new(), None), "{key}: {run}");
    }
    let words = sandbox.acquit(&["config", "show", "--origin", "--model", "mine"]).must(0);
    words.said("stages.code.model = \"mine\"  # run");
    words.said("flow.toml:7");
}
