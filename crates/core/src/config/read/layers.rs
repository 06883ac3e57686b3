//! Merges an entry of a project's file with the user's entry of the same name, key by key.
//!
//! An entry that names another program or another destination does not get the grants of the user's entry: variables,
//! copied files, secrets, logins, and links that answer without a login.

use toml::{Table, Value};

/// Sections whose entries are merged here. `schedule` is a list in files, and a table by name here.
const SECTIONS: [&str; 5] = ["gates", "setup", "notify", "report", "schedule"];

/// Keys of a gate that determine what it runs.
const RUNS: [&str; 3] = ["run", "build", "related"];

/// Keys of a channel that don't belong to its destination.
const OF_EVERY_CHANNEL: [&str; 5] = ["events", "projects", "level", "hours", "answer_links"];

/// Keys of a channel that are or name something secret, or that let readers of its messages answer.
const CONFIDENTIAL: [&str; 5] = ["secret", "token", "user", "password", "answer_links"];

/// The sections of a file, alone and merged with the layer below.
pub(super) struct Layers {
    own: Table,
    /// What applies.
    pub(super) merged: Table,
}

impl Layers {
    /// Merges the text of a file with the sections of the layer below.
    pub(super) fn new(text: &str, below: Table) -> Self {
        let own = sections(text);
        let mut merged = below;
        for (section, value) in &own {
            let (Value::Table(own), Some(Value::Table(below))) = (value, merged.get(section)) else {
                merged.insert(section.clone(), value.clone());
                continue;
            };
            let both = match section.as_str() {
                "gates" => entries(own, below, gate),
                "notify" => entries(own, below, channel),
                "schedule" => entries(own, below, |_, _, _| true),
                "setup" => entry(own, below, setup),
                _ => report(own, below),
            };
            merged.insert(section.clone(), Value::Table(both));
        }
        Self { own, merged }
    }

    /// Returns the keys that an entry gets from the layer below, as TOML.
    pub(super) fn inherited(&self, path: &[&str]) -> String {
        let (Some(own), Some(merged)) = (find(&self.own, path), find(&self.merged, path)) else {
            return String::new();
        };
        let inherited = merged.iter().filter(|(key, _)| !own.contains_key(*key));
        let inherited: Table = inherited.map(|(key, value)| (key.clone(), value.clone())).collect();
        toml::to_string(&inherited).unwrap_or_default()
    }
}

/// Whether an entry gets a key of the entry below. Arguments: the entry, the one below, the key.
type Rule = fn(&Table, &Table, &str) -> bool;

/// Another check has other keys. Another command gets none of the variables.
fn gate(own: &Table, below: &Table, key: &str) -> bool {
    let check =
        |gate: &Table| gate.get("check").map_or("command", |check| check.as_str().unwrap_or("")).to_owned();
    let same = !own.contains_key("check") || check(own) == check(below);
    same && !(key == "env" && has_any(own, &RUNS))
}

/// Another command gets neither variables nor files of the checkout.
fn setup(own: &Table, _below: &Table, key: &str) -> bool {
    !(own.contains_key("run") && ["env", "copy"].contains(&key))
}

/// Another kind has other keys. Another destination gets no secret, and another server does not get the topic, because
/// its name is enough to read it.
fn channel(own: &Table, below: &Table, key: &str) -> bool {
    let another = own.contains_key("kind") && own.get("kind") != below.get("kind");
    let moved = own.keys().any(|key| !OF_EVERY_CHANNEL.contains(&key.as_str()) && key != "kind");
    let of_all = OF_EVERY_CHANNEL.contains(&key);
    (of_all || !another)
        && !((another || moved) && CONFIDENTIAL.contains(&key))
        && !(key == "topic" && own.contains_key("url"))
}

/// Another page gets no login.
fn page(own: &Table, _below: &Table, key: &str) -> bool {
    !(has_any(own, &["url", "page", "flavour"]) && CONFIDENTIAL.contains(&key))
}

fn report(own: &Table, below: &Table) -> Table {
    let mut both = entry(own, below, |_, _, _| true);
    if let (Some(Value::Table(own)), Some(Value::Table(below))) =
        (own.get("confluence"), below.get("confluence"))
    {
        both.insert("confluence".to_owned(), Value::Table(entry(own, below, page)));
    }
    both
}

fn has_any(table: &Table, keys: &[&str]) -> bool {
    keys.iter().any(|key| table.contains_key(*key))
}

/// Merges the entries of a section by name.
fn entries(own: &Table, below: &Table, rule: Rule) -> Table {
    let mut both = below.clone();
    for (name, value) in own {
        let merged = match (value, below.get(name)) {
            (Value::Table(own), Some(Value::Table(below))) => Value::Table(entry(own, below, rule)),
            _ => value.clone(),
        };
        both.insert(name.clone(), merged);
    }
    both
}

fn entry(own: &Table, below: &Table, rule: Rule) -> Table {
    let mut both = own.clone();
    for (key, value) in below {
        if !own.contains_key(key) && rule(own, below, key) {
            both.insert(key.clone(), value.clone());
        }
    }
    both
}

/// Returns the sections of a file. A file that is not TOML is reported elsewhere.
fn sections(text: &str) -> Table {
    let mut root: Table = text.parse().unwrap_or_default();
    root.retain(|key, _| SECTIONS.contains(&key));
    if let Some(Value::Array(list)) = root.get("schedule") {
        let named = list.iter().filter_map(|entry| {
            let entry = entry.as_table()?;
            Some((entry.get("name")?.as_str()?.to_owned(), Value::Table(entry.clone())))
        });
        let by_name: Table = named.collect();
        root.insert("schedule".to_owned(), Value::Table(by_name));
    }
    root
}

fn find<'a>(table: &'a Table, path: &[&str]) -> Option<&'a Table> {
    path.iter().try_fold(table, |table, part| table.get(*part)?.as_table())
}

#[cfg(test)]
mod tests {
    use super::super::{read, read_over};
    use crate::config::Config;
    use crate::config::channel::Target;
    use crate::ids::Name;
    use crate::time::Span;

    fn merged(user: &str, project: &str) -> Config {
        read_over("acquit.toml", project, read("config.toml", user).unwrap()).unwrap()
    }

    #[test]
    fn a_gate_keeps_the_keys_that_the_project_does_not_set() {
        let user = "[gates.unit]\nrun = \"make test\"\ntimeout = \"3m\"\noutput = \"1MiB\"\nenv = { KEY = \"mine\" }\n\
                    [gates.other]\nrun = \"true\"\n";
        let config = merged(user, "[gates.unit]\nseverity = \"warning\"\n");
        let unit = config.gates.iter().find(|gate| gate.name == *"unit").unwrap();
        assert_eq!(unit.check.to_string(), "make test");
        assert_eq!((unit.timeout, unit.output), (Span::mins(3), Some(1 << 20)));
        assert_eq!(unit.env["KEY"], "mine");
        assert_eq!(unit.severity, crate::gate::Severity::Warning);
        assert_eq!(config.gates.len(), 2);
        // Another command gets none of the user's variables.
        for project in ["run = \"evil\"", "related = \"evil\""] {
            let config = merged(user, &format!("[gates.unit]\n{project}\n"));
            let unit = config.gates.iter().find(|gate| gate.name == *"unit").unwrap();
            assert!(unit.env.is_empty(), "{project}");
            assert_eq!(unit.timeout, Span::mins(3), "{project}");
        }
        // Another check has other keys.
        let config = merged(user, "[gates.unit]\ncheck = \"scope\"\n");
        let unit = config.gates.iter().find(|gate| gate.name == *"unit").unwrap();
        assert_eq!((unit.check.word(), unit.timeout), ("scope", Span::mins(10)));
    }

    #[test]
    fn setup_keeps_the_keys_that_the_project_does_not_set() {
        let user = "[setup]\nrun = \"npm ci\"\nlock_files = [\"package-lock.json\"]\nenv = { KEY = \"mine\" }\n\
                    copy = [\".env\"]\n";
        let setup = merged(user, "[setup]\ntimeout = \"1m\"\n").setup.unwrap();
        assert_eq!((setup.run.to_string().as_str(), setup.timeout), ("npm ci", Span::mins(1)));
        assert_eq!((setup.lock_files.len(), setup.env.len(), setup.copy.len()), (1, 1, 1));
        let setup = merged(user, "[setup]\nrun = \"evil\"\n").setup.unwrap();
        assert_eq!((setup.lock_files.len(), setup.env.len(), setup.copy.len()), (1, 0, 0));
    }

    #[test]
    fn a_channel_keeps_its_keys_and_another_destination_gets_no_secret() {
        let user = "[secrets]\nTOKEN = { env = \"TOKEN\" }\nTHEIRS = { env = \"THEIRS\" }\n[notify.phone]\nkind = \"ntfy\"\n\
                    url = \"https://ntfy.example\"\ntopic = \"hard-to-guess\"\ntoken = \"TOKEN\"\nevents = [\"done\"]\n\
                    hours = \"08:00-20:00\"\nanswer_links = true\n";
        let phone = |project: &str| {
            let channel = merged(user, project).notices.channels[&Name::literal("phone")].clone();
            let Target::Ntfy(ntfy) = channel.target.clone() else { panic!("{project}") };
            (channel, ntfy)
        };
        let (channel, ntfy) = phone("[notify.phone]\nlevel = \"error\"\n");
        assert_eq!((ntfy.topic.as_str(), ntfy.token.as_deref()), ("hard-to-guess", Some("TOKEN")));
        assert!(channel.hours.is_some() && channel.answer_links && channel.events.len() == 1);
        let (channel, ntfy) = phone("[notify.phone]\ntopic = \"evil\"\n");
        assert_eq!((ntfy.url.as_str(), ntfy.token), ("https://ntfy.example", None));
        assert!(channel.hours.is_some() && !channel.answer_links);
        let evil = "[notify.phone]\nurl = \"https://evil.example\"\n";
        let user_config = || read("config.toml", user).unwrap();
        let mistakes = read_over("acquit.toml", evil, user_config()).unwrap_err().to_string();
        assert!(mistakes.contains("has no `topic`"), "{mistakes}");
        let (_, ntfy) = phone(&format!("{evil}topic = \"x\"\n"));
        assert_eq!(ntfy.token, None);
        let hook = "[notify.phone]\nkind = \"webhook\"\nurl = \"https://evil.example\"\n";
        let mistakes = read_over("acquit.toml", hook, user_config()).unwrap_err().to_string();
        assert!(mistakes.contains("acquit.toml:1:9: [notify.phone] has no `secret`"), "{mistakes}");
        let config = merged(user, &format!("{hook}secret = \"THEIRS\"\n"));
        let channel = &config.notices.channels[&Name::literal("phone")];
        assert!(
            matches!(channel.target, Target::Webhook(_)) && channel.hours.is_some() && !channel.answer_links
        );
    }

    #[test]
    fn a_page_keeps_its_keys_and_another_page_gets_no_token() {
        let user = "[secrets]\nTOKEN = { env = \"TOKEN\" }\n[report]\nfile = \"nights.md\"\n[report.confluence]\n\
                    url = \"https://team.example/wiki\"\npage = \"1\"\nuser = \"me@team.example\"\ntoken = \"TOKEN\"\n";
        let report = merged(user, "[report.confluence]\n").notices.report;
        assert_eq!(
            (report.confluence.unwrap().token.as_str(), report.file.as_deref()),
            ("TOKEN", Some("nights.md"))
        );
        for project in ["url = \"https://evil.example\"", "page = \"2\""] {
            let project = format!("[report.confluence]\n{project}\n");
            let mistakes =
                read_over("acquit.toml", &project, read("config.toml", user).unwrap()).unwrap_err();
            assert!(mistakes.to_string().contains("has no `token`"), "{mistakes}");
            let page =
                merged(user, &format!("{project}token = \"TOKEN\"\n")).notices.report.confluence.unwrap();
            assert_eq!(page.user, None, "{project}");
        }
    }

    #[test]
    fn a_schedule_keeps_the_keys_that_the_project_does_not_set() {
        let user = "[[schedule]]\nname = \"night\"\ncron = \"30 2 * * *\"\nworkflow = \"nightshift\"\nmost_open = 7\n\
                    category = \"tests\"\n[[schedule]]\nname = \"other\"\ncron = \"0 1 * * *\"\nworkflow = \"chores\"\n";
        let config = merged(user, "[[schedule]]\nname = \"night\"\ncron = \"0 4 * * *\"\n");
        let night = config.schedules.iter().find(|schedule| schedule.name == *"night").unwrap();
        assert_eq!((night.workflow.as_str(), night.most_open), ("nightshift", 7));
        assert_eq!(night.cron, "0 4 * * *".parse().unwrap());
        assert_eq!(config.schedules.len(), 2);
    }
}
