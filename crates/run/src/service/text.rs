//! Texts of the files for systemd and launchd.

use std::path::Path;

use super::{Manager, Plan};

/// Returns a systemd unit.
pub fn systemd(plan: &Plan, manager: Manager) -> String {
    let user = match (&plan.user, manager) {
        (Some(user), Manager::SystemdSystem) => format!("User={}\n", plain(user)),
        _ => String::new(),
    };
    // Only the system manager knows when the network is up.
    let network = match manager {
        Manager::SystemdSystem => "Wants=network-online.target\nAfter=network-online.target\n",
        Manager::SystemdUser | Manager::Launchd => "",
    };
    let target = match manager {
        Manager::SystemdSystem => "multi-user.target",
        Manager::SystemdUser | Manager::Launchd => "default.target",
    };
    let mut variables = String::new();
    for (name, value) in &plan.variables {
        variables.push_str(&format!("Environment={}\n", quoted(&format!("{name}={value}"), Dollar::Plain)));
    }
    format!(
        "\
[Unit]
Description=acquit: schedules and tasks of coding agents
{network}
[Service]
Type=notify
# acquit reports every few seconds. systemd restarts one that is stuck.
WatchdogSec=120
{user}ExecStart={program} serve
{folder}
# Keys and tokens stand there, not here. It need not exist.
EnvironmentFile=-{environment}
{variables}Restart=on-failure
RestartSec=10
# Exit code 2 says that the configuration must be mended: starting again would not help.
RestartPreventExitStatus=2
# Legs are processes of their own and outlive a restart; the next daemon finds them.
KillMode=process
TimeoutStopSec=60
# Lets the kernel enforce the limits of each sandbox. acquit itself runs in the subgroup; before systemd 254 there is none, and acquit watches.
Delegate=memory pids
DelegateSubgroup=acquit-self

[Install]
WantedBy={target}
",
        program = quoted(&plan.program.to_string_lossy(), Dollar::Variable),
        folder = folder_line(plan, manager),
        environment = unit_path(&plan.environment),
    )
}

/// Returns the line of a service file that names its repository. A service without it belongs to another repository.
pub fn folder_line(plan: &Plan, manager: Manager) -> String {
    match manager {
        Manager::SystemdUser | Manager::SystemdSystem => {
            format!("WorkingDirectory={}", unit_path(&plan.folder))
        }
        Manager::Launchd => format!(
            "<key>WorkingDirectory</key>\n    <string>{}</string>",
            xml(&plan.folder.to_string_lossy())
        ),
    }
}

/// Returns the launchd label of the service.
pub fn launchd_label(name: &str) -> String {
    format!("dev.acquit.{}", plain(name))
}

/// Returns a launchd property list. launchd has no environment files, so the shell reads it.
pub fn launchd(plan: &Plan) -> String {
    let word = |text: &str| format!("        <string>{}</string>\n", xml(text));
    let line = format!(
        "set -a; [ ! -r {file} ] || . {file}; set +a; exec {program} serve",
        file = shell(&plan.environment.to_string_lossy()),
        program = shell(&plan.program.to_string_lossy()),
    );
    let mut variables = String::new();
    for (name, value) in &plan.variables {
        variables.push_str(&format!(
            "        <key>{}</key>\n        <string>{}</string>\n",
            xml(name),
            xml(value)
        ));
    }
    format!(
        "\
<?xml version=\"1.0\" encoding=\"UTF-8\"?>
<!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">
<plist version=\"1.0\">
<dict>
    <key>Label</key>
    <string>{label}</string>
    <key>ProgramArguments</key>
    <array>
{arguments}    </array>
    {folder}
    <key>EnvironmentVariables</key>
    <dict>
{variables}    </dict>
    <key>RunAtLoad</key>
    <true/>
    <key>KeepAlive</key>
    <dict>
        <key>SuccessfulExit</key>
        <false/>
    </dict>
    <key>AbandonProcessGroup</key>
    <true/>
    <key>ThrottleInterval</key>
    <integer>10</integer>
    <key>StandardErrorPath</key>
    <string>{log}</string>
    <key>StandardOutPath</key>
    <string>{log}</string>
</dict>
</plist>
",
        label = xml(&launchd_label(&plan.name)),
        arguments = [word("/bin/sh"), word("-c"), word(&line)].concat(),
        folder = folder_line(plan, Manager::Launchd),
        log = xml(&plan.log.to_string_lossy()),
    )
}

/// Returns the initial content of an environment file.
pub fn environment_file() -> &'static str {
    "\
# Variables for the acquit service, one NAME=value on each line: keys and tokens that [secrets] takes from the environment,
# and PATH, if agents are installed where services do not look. Keep it readable by you alone (mode 600).
#
# PATH=/usr/local/bin:/usr/bin:/bin
# ANTHROPIC_API_KEY=
"
}

/// Meaning of `$` in a setting.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Dollar {
    /// A variable: in a command.
    Variable,
    /// A literal: in a value.
    Plain,
}

/// Quotes a word for a unit: systemd splits at spaces, expands `%` everywhere and `$` in commands.
fn quoted(text: &str, dollar: Dollar) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '%' => out.push_str("%%"),
            '$' if dollar == Dollar::Variable => out.push_str("$$"),
            '\n' => out.push_str("\\n"),
            c => out.push(c),
        }
    }
    out + "\""
}

/// Escapes a path for a setting that takes the whole line: only `%` is special there.
fn unit_path(path: &Path) -> String {
    path.to_string_lossy().replace('%', "%%").replace('\n', " ")
}

/// Removes everything from a name that could end it.
fn plain(text: &str) -> String {
    text.chars().filter(|c| c.is_ascii_alphanumeric() || "-_.".contains(*c)).collect()
}

fn shell(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

fn xml(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> Plan {
        Plan {
            name: "acquit".to_owned(),
            program: "/opt/a b/acquit".into(),
            folder: "/src/my 100% app".into(),
            environment: "/users/me/.config/acquit/service.env".into(),
            user: Some("me".to_owned()),
            log: "/users/me/.local/share/acquit/serve.log".into(),
            variables: vec![("ACQUIT_HOME".to_owned(), "/data/it's <mine> & $x".to_owned())],
        }
    }

    /// SPEC §8 [N]: "`acquit service install` (systemd, launchd) so that it really runs at night".
    #[test]
    fn the_texts_are_as_they_were_read_by_people() {
        insta::assert_snapshot!("systemd_user", systemd(&plan(), Manager::SystemdUser));
        insta::assert_snapshot!("systemd_system", systemd(&plan(), Manager::SystemdSystem));
        insta::assert_snapshot!("launchd", launchd(&plan()));
    }

    /// A value of a property list, as launchd would read it.
    #[derive(Debug, PartialEq)]
    enum Value {
        Text(String),
        Number(i64),
        Flag(bool),
        List(Vec<Value>),
        Table(Vec<(String, Value)>),
    }

    /// A strict parser for property lists: only white space between elements, every element closed, keys before values.
    struct Reader<'t>(&'t str);

    impl Reader<'_> {
        fn eat(&mut self, token: &str) -> bool {
            self.0 = self.0.trim_start();
            let rest = self.0.strip_prefix(token);
            self.0 = rest.unwrap_or(self.0);
            rest.is_some()
        }

        fn text(&mut self, end: &str) -> String {
            let at = self.0.find('<').expect("an end");
            let (text, rest) = self.0.split_at(at);
            self.0 = rest.strip_prefix(end).unwrap_or_else(|| panic!("no {end} at {rest:.40}"));
            let mut out = String::new();
            let mut parts = text.split('&');
            out.push_str(parts.next().unwrap_or_default());
            for part in parts {
                let (name, rest) = part.split_once(';').expect("a reference ends");
                out.push(match name {
                    "lt" => '<',
                    "gt" => '>',
                    "amp" => '&',
                    "quot" => '"',
                    other => panic!("unknown reference {other}"),
                });
                out.push_str(rest);
            }
            out
        }

        fn value(&mut self) -> Value {
            if self.eat("<string>") {
                Value::Text(self.text("</string>"))
            } else if self.eat("<integer>") {
                Value::Number(self.text("</integer>").parse().expect("a number"))
            } else if self.eat("<true/>") {
                Value::Flag(true)
            } else if self.eat("<false/>") {
                Value::Flag(false)
            } else if self.eat("<array>") {
                let mut all = Vec::new();
                while !self.eat("</array>") {
                    all.push(self.value());
                }
                Value::List(all)
            } else if self.eat("<dict>") {
                let mut all = Vec::new();
                while !self.eat("</dict>") {
                    assert!(self.eat("<key>"), "a key is missing at {:.40}", self.0);
                    let key = self.text("</key>");
                    assert!(all.iter().all(|(known, _)| *known != key), "{key} is there twice");
                    let value = self.value();
                    all.push((key, value));
                }
                Value::Table(all)
            } else {
                panic!("what is this: {:.40}", self.0)
            }
        }
    }

    fn plist(text: &str) -> Value {
        let mut reader = Reader(text);
        assert!(reader.eat("<?xml version=\"1.0\" encoding=\"UTF-8\"?>"));
        assert!(reader.eat("<!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">"));
        assert!(reader.eat("<plist version=\"1.0\">"));
        let value = reader.value();
        assert!(reader.eat("</plist>") && reader.0.trim().is_empty());
        value
    }

    #[test]
    fn launchd_reads_from_the_list_what_was_meant() {
        let Value::Table(all) = plist(&launchd(&plan())) else { panic!("no table") };
        let of = |key: &str| &all.iter().find(|(known, _)| known == key).expect("a key").1;
        let text = |text: &str| Value::Text(text.to_owned());
        assert_eq!(*of("WorkingDirectory"), text("/src/my 100% app"));
        let home = ("ACQUIT_HOME".to_owned(), text("/data/it's <mine> & $x"));
        assert_eq!(*of("EnvironmentVariables"), Value::Table(vec![home]));
        assert_eq!(*of("RunAtLoad"), Value::Flag(true));
        assert_eq!(*of("AbandonProcessGroup"), Value::Flag(true), "legs outlive the daemon");
        assert_eq!(*of("ThrottleInterval"), Value::Number(10));
        let Value::List(words) = of("ProgramArguments") else { panic!("no list") };
        assert_eq!(words[..2], [text("/bin/sh"), text("-c")]);
        let Value::Text(line) = &words[2] else { panic!("no text") };
        assert!(line.ends_with("exec '/opt/a b/acquit' serve"), "{line}");
    }

    #[test]
    fn nothing_in_a_path_or_a_value_begins_a_line_or_a_tag_of_its_own() {
        let evil = "x\n[Service]\nExecStart=/bin/evil \"' <key>a</key> %h $HOME";
        let plan = Plan {
            program: evil.into(),
            folder: evil.into(),
            environment: evil.into(),
            user: Some(evil.to_owned()),
            variables: vec![("A".to_owned(), evil.to_owned())],
            ..plan()
        };
        let unit = systemd(&plan, Manager::SystemdSystem);
        assert_eq!(unit.lines().filter(|line| line.starts_with("ExecStart=")).count(), 1, "{unit}");
        assert_eq!(unit.lines().filter(|line| *line == "[Service]").count(), 1, "{unit}");
        assert!(!launchd(&plan).contains("<key>a</key>"));
    }
}
