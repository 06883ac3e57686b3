//! A policy as a profile of Seatbelt, the sandbox of macOS: text for `sandbox-exec -p`. Pure, so that it is tested everywhere.
//!
//! Seatbelt allows and denies paths as they are; it cannot show a program another file system. What a policy asks for beyond
//! that becomes the closest thing that does not allow more than was meant, and [`unsupported`] says so. In a profile the last
//! rule that fits decides, as in a view the last entry does. Paths have to be those behind all links: Seatbelt compares them.

use std::fmt::Write;
use std::path::Path;

use super::policy::{Policy, Reach, What};

/// Why a policy has no profile.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A path that cannot be written in a profile without doubt about where it ends.
    #[error(
        "write the path {0:?} in a sandbox profile: it is not plain text, or not absolute, or has `..` in it; rename it"
    )]
    Path(std::path::PathBuf),
}

/// What every program needs before it has done anything: itself, its libraries, the devices without which nothing works, and
/// the services that answer about users, logs and certificates. None of them opens a way out.
const ALWAYS: &str = r#"(version 1)
(deny default)

; processes: its own, of what it can read
(allow process-fork)
(allow process-info* (target same-sandbox))
(allow signal (target same-sandbox))
(allow sysctl-read)
(allow mach-lookup
  (global-name "com.apple.system.logger")
  (global-name "com.apple.system.notification_center")
  (global-name "com.apple.system.opendirectoryd.libinfo")
  (global-name "com.apple.system.opendirectoryd.membership")
  (global-name "com.apple.SecurityServer")
  (global-name "com.apple.trustd.agent"))

; devices
(allow file-read* file-write-data file-ioctl
  (literal "/dev/null")
  (literal "/dev/zero")
  (literal "/dev/tty")
  (literal "/dev/dtracehelper")
  (subpath "/dev/fd"))
(allow file-read* (literal "/dev/random") (literal "/dev/urandom"))
(allow file-read-metadata (literal "/") (literal "/dev"))
"#;

/// The profile of a policy. `proxy` is the port of acquit's proxy on the loopback, where the policy has hosts; without one
/// such a policy reaches nobody.
pub fn profile(policy: &Policy, proxy: Option<u16>) -> Result<String, Error> {
    let mut text = ALWAYS.to_owned();
    text.push_str("\n; files, in the order of the view\n");
    // Where in the text the last hidden place is: what was allowed before it may be hidden by it.
    let mut hidden = text.len();
    for entry in &policy.view {
        // A place that is made of something else is read and written where that is.
        let (place, rule) = match &entry.what {
            What::Write | What::Scratch => (entry.at.as_path(), Rule::Write),
            What::Bound { source } => (source.as_path(), Rule::Write),
            // Where a link leads is an entry of its own. What should be written aside is not written at all: it would
            // change the original.
            What::Read | What::Link { .. } | What::Overlaid { .. } | What::Layered { .. } => {
                (entry.at.as_path(), Rule::Read)
            }
            What::Hidden => (entry.at.as_path(), Rule::Hide),
        };
        let quoted = quote(place)?;
        match rule {
            Rule::Read | Rule::Write => {
                ancestors(&mut text, hidden, place)?;
                let also = if matches!(rule, Rule::Write) { " file-write*" } else { "" };
                let _ = writeln!(
                    text,
                    "(allow file-read* file-map-executable process-exec{also} (subpath {quoted}))"
                );
                if matches!(rule, Rule::Read) {
                    // Where a wider place can be written, this one lies over it.
                    let _ = writeln!(text, "(deny file-write* (subpath {quoted}))");
                }
            }
            Rule::Hide => {
                let _ = writeln!(text, "(deny file-read* file-write* process-exec (subpath {quoted}))");
                hidden = text.len();
            }
        }
    }
    text.push_str("\n; network\n");
    match (&policy.network, proxy) {
        (Reach::Everybody, _) => {
            text.push_str("(allow network*)\n(allow system-socket)\n");
        }
        (Reach::Hosts { .. }, Some(port)) => {
            text.push_str("(deny network*)\n");
            let _ = writeln!(text, "(allow network-outbound (remote ip \"localhost:{port}\"))");
        }
        (Reach::Nobody, _) | (Reach::Hosts { .. }, None) => text.push_str("(deny network*)\n"),
    }
    Ok(text)
}

enum Rule {
    Read,
    Write,
    Hide,
}

/// What of a policy this sandbox cannot do, as lines for a person.
pub fn unsupported(policy: &Policy) -> Vec<String> {
    let mut lines = Vec::new();
    for entry in &policy.view {
        let at = entry.at.display();
        match &entry.what {
            What::Bound { source } if *source != entry.at => lines.push(format!(
                "{at} cannot be made of {}: programs have to use that path itself",
                source.display()
            )),
            What::Overlaid { .. } | What::Layered { .. } => lines.push(format!(
                "{at} cannot be written aside: it can be read and not be written, and tools that need to will fail"
            )),
            What::Scratch => lines.push(format!(
                "{at} cannot be an empty folder in memory: the folder of that path is written, and what others have there is seen"
            )),
            What::Hidden => lines.push(format!("{at} cannot look empty: what is there is refused instead")),
            What::Read | What::Write | What::Link { .. } | What::Bound { .. } => {}
        }
    }
    match &policy.network {
        Reach::Nobody => lines.push(
            "a program cannot have a loopback of its own: it reaches no address at all, not even its own".to_owned(),
        ),
        Reach::Hosts { .. } => lines.push(
            "a program cannot have a loopback of its own: it reaches the proxy's port and no other, not even its own"
                .to_owned(),
        ),
        Reach::Everybody => {}
    }
    lines.push(
        "processes cannot be counted or ended as a whole: one that detaches itself may outlive its leg"
            .to_owned(),
    );
    lines.push("memory and disk have no limit by the kernel: they are watched from outside".to_owned());
    lines
}

/// The folders above a place can be looked up, so that its path can be walked; what else is in them is not seen.
fn ancestors(text: &mut String, hidden: usize, place: &Path) -> Result<(), Error> {
    let mut above: Vec<String> = Vec::new();
    for folder in place.ancestors().skip(1).filter(|folder| folder.parent().is_some()) {
        above.push(format!("(literal {})", quote(folder)?));
    }
    if !above.is_empty() {
        above.reverse();
        let line = format!("(allow file-read-metadata {})\n", above.join(" "));
        // Neighbours share them.
        if !text[hidden..].contains(&line) {
            text.push_str(&line);
        }
    }
    Ok(())
}

/// A path as a string of the profile's language. What could end the string, or be read as something else, is refused or escaped.
fn quote(path: &Path) -> Result<String, Error> {
    let wrong = || Error::Path(path.to_owned());
    let text = path.to_str().ok_or_else(wrong)?;
    let plain = path.is_absolute()
        && !path.components().any(|part| part == std::path::Component::ParentDir)
        && !text.chars().any(|char| char.is_control() || acquit_core::prompt::is_hidden(char));
    if !plain {
        return Err(wrong());
    }
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for char in text.chars() {
        if char == '"' || char == '\\' {
            quoted.push('\\');
        }
        quoted.push(char);
    }
    quoted.push('"');
    Ok(quoted)
}

#[cfg(test)]
mod tests {
    use acquit_core::sandbox::{Mode, Resources};

    use super::*;
    use crate::sandbox::Entry;

    fn policy(view: Vec<Entry>, network: Reach) -> Policy {
        Policy { mode: Mode::On, view, network, resources: Resources::default() }
    }

    fn hosts() -> Reach {
        Reach::Hosts { hosts: vec!["api.example.com".parse().expect("a host")], log: "/l".into() }
    }

    /// All but what every profile has.
    fn own(policy: &Policy, proxy: Option<u16>) -> String {
        profile(policy, proxy).expect("a profile").strip_prefix(ALWAYS).expect("the beginning").to_owned()
    }

    #[test]
    fn a_whole_profile_is_as_expected() {
        let view = vec![
            Entry::read("/usr"),
            Entry::write("/opt/a/work"),
            Entry::read("/opt/a/work/.git/hooks"),
            Entry { at: "/tmp".into(), what: What::Bound { source: "/private/t/1".into() } },
            Entry {
                at: "/opt/a/.cargo".into(),
                what: What::Overlaid { whole: "/opt/a".into(), upper: "/u".into() },
            },
            Entry { at: "/scratch".into(), what: What::Scratch },
            Entry::hidden("/opt/a/work/.acquit"),
        ];
        let expected = r#"
; files, in the order of the view
(allow file-read* file-map-executable process-exec (subpath "/usr"))
(deny file-write* (subpath "/usr"))
(allow file-read-metadata (literal "/opt") (literal "/opt/a"))
(allow file-read* file-map-executable process-exec file-write* (subpath "/opt/a/work"))
(allow file-read-metadata (literal "/opt") (literal "/opt/a") (literal "/opt/a/work") (literal "/opt/a/work/.git"))
(allow file-read* file-map-executable process-exec (subpath "/opt/a/work/.git/hooks"))
(deny file-write* (subpath "/opt/a/work/.git/hooks"))
(allow file-read-metadata (literal "/private") (literal "/private/t"))
(allow file-read* file-map-executable process-exec file-write* (subpath "/private/t/1"))
(allow file-read* file-map-executable process-exec (subpath "/opt/a/.cargo"))
(deny file-write* (subpath "/opt/a/.cargo"))
(allow file-read* file-map-executable process-exec file-write* (subpath "/scratch"))
(deny file-read* file-write* process-exec (subpath "/opt/a/work/.acquit"))

; network
(deny network*)
(allow network-outbound (remote ip "localhost:3128"))
"#;
        assert_eq!(own(&policy(view, hosts()), Some(3128)), expected);
    }

    #[test]
    fn a_network_is_refused_where_nothing_says_that_it_is_allowed() {
        let network = |reach, proxy| {
            let text = own(&policy(Vec::new(), reach), proxy);
            text.split_once("; network\n").expect("a part about it").1.to_owned()
        };
        assert_eq!(network(Reach::Nobody, Some(1)), "(deny network*)\n");
        assert_eq!(network(hosts(), None), "(deny network*)\n");
        assert_eq!(network(Reach::Everybody, None), "(allow network*)\n(allow system-socket)\n");
        assert!(ALWAYS.starts_with("(version 1)\n(deny default)\n") && !ALWAYS.contains("network"));
    }

    #[test]
    fn a_path_stays_a_path_whatever_is_in_it() {
        let text = own(&policy(vec![Entry::read(r#"/a") (allow default) ("\"#)], Reach::Nobody), None);
        assert!(text.contains(r#"(allow file-read* file-map-executable process-exec (subpath "/a\") (allow default) (\"\\"))"#), "{text}");
        for path in ["/a\nb", "/a\u{1b}b", "/a\0b", "relative", "/a/../etc", "/a\u{202e}b"] {
            let policy = policy(vec![Entry::hidden(path)], Reach::Nobody);
            assert_eq!(profile(&policy, None), Err(Error::Path(path.into())), "{path:?}");
        }
    }

    #[test]
    fn every_profile_has_as_many_closing_brackets_as_opening_ones() {
        let text =
            profile(&policy(vec![Entry::write("/a/b/c"), Entry::hidden("/a/b/c/d")], hosts()), Some(1));
        let text = text.expect("a profile");
        assert_eq!(text.matches('(').count(), text.matches(')').count());
    }

    #[test]
    fn what_cannot_be_done_is_said_place_by_place() {
        let view = vec![
            Entry::read("/usr"),
            Entry { at: "/tmp".into(), what: What::Bound { source: "/private/t/1".into() } },
            Entry { at: "/same".into(), what: What::Bound { source: "/same".into() } },
            Entry {
                at: "/cargo".into(),
                what: What::Overlaid { whole: "/cargo".into(), upper: "/u".into() },
            },
            Entry { at: "/scratch".into(), what: What::Scratch },
        ];
        let lines = unsupported(&policy(view, Reach::Everybody));
        let first: Vec<&str> = lines.iter().filter_map(|line| line.split(' ').next()).collect();
        assert_eq!(first, ["/tmp", "/cargo", "/scratch", "processes", "memory"]);
    }
}
