//! The part of the user's client configuration that sandboxed programs see: registries, mirrors and certificates, but
//! no credentials.

use std::ffi::OsString;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use super::address::without_credentials;
use super::{User, maven, npm};
use acquit_sandbox::environment::Environment;
use acquit_sandbox::untrusted;
use rustix::fs::Mode;

/// Variables that name a registry. Credentials before an `@` in their addresses are removed.
const REGISTRIES: [&str; 18] = [
    "npm_config_registry",
    "NPM_CONFIG_REGISTRY",
    "YARN_NPM_REGISTRY_SERVER",
    "PIP_INDEX_URL",
    "PIP_EXTRA_INDEX_URL",
    "PIP_FIND_LINKS",
    "PIP_TRUSTED_HOST",
    "UV_DEFAULT_INDEX",
    "UV_INDEX",
    "UV_INDEX_URL",
    "UV_EXTRA_INDEX_URL",
    "GOPROXY",
    "GOSUMDB",
    "GONOSUMDB",
    "GONOPROXY",
    "GOPRIVATE",
    "GOFLAGS",
    "CARGO_REGISTRIES_CRATES_IO_PROTOCOL",
];

/// Variables that name CA certificates, usually a company's own.
const CERTIFICATES: [&str; 14] = [
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "PIP_CERT",
    "npm_config_cafile",
    "NPM_CONFIG_CAFILE",
    "GIT_SSL_CAINFO",
    "CARGO_HTTP_CAINFO",
    "NIX_SSL_CERT_FILE",
    "AWS_CA_BUNDLE",
    "DENO_CERT",
    "JAVA_CACERTS",
];

/// Returns the variables of the user's environment that point package managers to their registries.
pub fn variables(environment: &Environment) -> Vec<(OsString, OsString)> {
    let registry = |name: &&str| {
        let value = environment.get(name)?.to_str()?;
        Some((OsString::from(name), OsString::from(without_credentials(value))))
    };
    let certificate = |name: &&str| {
        Some((OsString::from(name), environment.get(name).filter(|it| !it.is_empty())?.to_owned()))
    };
    REGISTRIES.iter().filter_map(registry).chain(CERTIFICATES.iter().filter_map(certificate)).collect()
}

/// Returns the files and directories of certificates that the environment names.
pub fn certificates(environment: &Environment) -> Vec<PathBuf> {
    let paths = CERTIFICATES.iter().filter_map(|name| Some(PathBuf::from(environment.get(name)?)));
    paths.filter(|path| path.is_absolute() && path.exists()).collect()
}

/// Settings files of the user's clients, by their path in the home. They are rebuilt from settings that are known to
/// name a registry or a certificate. Nothing else is copied, so that a credential in an unexpected place is left out.
pub struct Clients(Vec<(PathBuf, String)>);

impl Clients {
    /// Reads the user's files.
    pub fn of(environment: &Environment) -> Self {
        let user = User::new(environment);
        let mut files = Vec::new();
        let mut place = |name: &str, from: Option<PathBuf>, made: &dyn Fn(&str) -> String| {
            let text = from.and_then(|path| User::text(&path)).map(|text| made(&text));
            files.extend(text.filter(|text| !text.is_empty()).map(|text| (PathBuf::from(name), text)));
        };
        let npmrc = npm::user_files(&user).into_iter().next().flatten();
        place(".npmrc", npmrc, &|text| settings(text, &["registry", "cafile", "strict-ssl"]));
        let yarn = ["npmRegistryServer", "httpsCaFilePath"];
        place(".yarnrc.yml", user.home(".yarnrc.yml"), &|text| settings(text, &yarn));
        place(".yarnrc", user.home(".yarnrc"), &|text| settings(text, &["registry"]));
        let named = user.variable(&["PIP_CONFIG_FILE"]).map(|(_, path)| path.into());
        let named = named.or_else(|| user.config("pip/pip.conf").filter(|path: &PathBuf| path.exists()));
        let pip = ["index-url", "extra-index-url", "find-links", "cert"];
        place(".config/pip/pip.conf", named.or_else(|| user.home(".pip/pip.conf")), &|text| {
            settings(text, &pip)
        });
        let uv = ["index-url", "extra-index-url", "url", "default"];
        place(".config/uv/uv.toml", user.config("uv/uv.toml"), &|text| settings(text, &uv));
        let go = ["GOPROXY", "GOSUMDB"];
        place(".config/go/env", user.config("go/env"), &|text| settings(text, &go));
        place(".m2/settings.xml", user.home(".m2/settings.xml"), &maven::mirrors);
        Self(files)
    }

    /// Writes the files into a directory of one program, and returns the path of each in the home. An earlier program
    /// of the same stage may have changed them and their permissions, so they are written anew.
    pub fn write(self, folder: &Path) -> std::io::Result<Vec<(PathBuf, PathBuf)>> {
        let mut placed = Vec::new();
        for (name, text) in self.0 {
            let short = name.to_string_lossy().replace('/', "-");
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
            untrusted::put_below(folder, &short, text.as_bytes(), Mode::from_raw_mode(0o600))?;
            let file = folder.join(short);
            placed.push((name, file));
        }
        Ok(placed)
    }
}

/// Keeps the settings of an INI-like file that have one of these keys and whose values are addresses, paths or words
/// such as `true`. Empty if there are none.
fn settings(text: &str, keys: &[&str]) -> String {
    let mut kept: Vec<String> = Vec::new();
    let mut found = false;
    let mut goes_on = false;
    for line in text.lines() {
        let is_section = line.starts_with('[') && line.trim_end().ends_with(']');
        if is_section {
            let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "[]-_.".contains(letter);
            goes_on = false;
            if line.trim_end().chars().all(is_plain) {
                kept.push(line.trim_end().to_owned());
            }
            continue;
        }
        // A value may continue, indented, on the following lines.
        let is_more = goes_on && line.starts_with([' ', '\t']);
        let (key, value) = if is_more { ("", line.trim()) } else { parts(line) };
        let is_key =
            keys.iter().any(|wanted| key == *wanted || key.ends_with(":registry") && *wanted == "registry");
        goes_on = is_more || (is_key && value.is_empty());
        if (is_more || is_key) && value.split_whitespace().all(is_harmless) {
            kept.push(without_credentials(line.trim_end()));
            found |= !value.is_empty();
        }
    }
    if found { kept.join("\n") + "\n" } else { String::new() }
}

/// Splits a line into key and value, whichever separator its client uses.
fn parts(line: &str) -> (&str, &str) {
    let separators = [line.find('='), line.find(": "), line.find(' ')];
    match separators.into_iter().flatten().next() {
        Some(at) => (line[..at].trim(), line[at + 1..].trim()),
        None => (line.trim(), ""),
    }
}

/// Returns whether one word of a value is an address without a query, a path, or a known keyword of a client.
fn is_harmless(word: &str) -> bool {
    let word = word.trim_matches(['"', '\'', ',', '[', ']']);
    let is_address = |part: &str| {
        let known = part.starts_with("https://") || part.starts_with("http://");
        known && !part.contains(['?', '#'])
    };
    let words = ["", "true", "false", "direct", "off", "sum.golang.org"];
    word.split([',', '|']).all(|part| is_address(part) || part.starts_with('/') || words.contains(&part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_credential_of_any_client_is_left_and_every_registry_is() {
        let npmrc = "registry=https://user:hunter2@npm.example.com/\n//npm.example.com/:_authToken=hunter2\n\
                     //npm.example.com/:_password = hunter2\n@a:registry=https://b.example.com/\n_auth=hunter2\nkey=hunter2\n\
                     cafile=/etc/ca.pem\n//npm.example.com/:username=hunter2\nalways-auth=true\nhunter2\n\
                     registry=https://q.example.com/?token=hunter2\nunknown=hunter2\n";
        assert_eq!(
            settings(npmrc, &["registry", "cafile", "strict-ssl"]),
            "registry=https://npm.example.com/\n@a:registry=https://b.example.com/\ncafile=/etc/ca.pem\n"
        );
        let pip = "[global]\nindex-url = https://me:hunter2@pypi.example.com/simple\nextra-index-url =\n    https://hunter2@c.example.com/\n\
                   proxy = http://hunter2@p.example.com\n";
        assert_eq!(
            settings(pip, &["index-url", "extra-index-url"]),
            "[global]\nindex-url = https://pypi.example.com/simple\nextra-index-url =\n    https://c.example.com/\n"
        );
        let yarn = "npmRegistryServer: \"https://y.example.com\"\nnpmAuthToken: hunter2\n";
        assert_eq!(settings(yarn, &["npmRegistryServer"]), "npmRegistryServer: \"https://y.example.com\"\n");
        assert_eq!(settings("[global]\nhunter2\n", &["index-url"]), "", "nothing is known of it");
        let maven = "<settings><servers><server><password>hunter2</password></server></servers>\
                     <mirrors><mirror><id>own</id><mirrorOf>*</mirrorOf><url>https://hunter2@m.example.com/</url></mirror></mirrors>\
                     <proxies><proxy><password>hunter2</password></proxy></proxies></settings>";
        let made = maven::mirrors(maven);
        assert!(!made.contains("hunter2") && made.contains("<url>https://m.example.com/</url>"), "{made}");
        assert_eq!(maven::mirrors("hunter2"), "");
    }
}
