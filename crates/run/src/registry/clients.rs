//! What programs in a sandbox are shown of the user's client configuration: registries, mirrors and certificates, but no
//! credentials.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::address::without_credentials;
use super::{User, npm};
use crate::world::Environment;

/// Variables that name a registry. What stands before an `@` in their addresses is left out.
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

/// Variables that name certificates of authorities: a company's own, as a rule.
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

/// The variables of the user's environment that lead package managers to their registries.
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

/// The files and folders of certificates that the environment names.
pub fn certificates(environment: &Environment) -> Vec<PathBuf> {
    let paths = CERTIFICATES.iter().filter_map(|name| Some(PathBuf::from(environment.get(name)?)));
    paths.filter(|path| path.is_absolute() && path.exists()).collect()
}

/// Settings files of the user's clients, without credentials, by the name that each has below the home.
pub struct Clients(Vec<(PathBuf, String)>);

impl Clients {
    /// Reads them.
    pub fn of(environment: &Environment) -> Self {
        let user = User::new(environment);
        let mut files = Vec::new();
        let mut place = |name: &str, from: Option<PathBuf>, clean: fn(&str) -> String| {
            let text = from.and_then(|path| User::text(&path)).map(|text| clean(&text));
            files.extend(text.filter(|text| !text.trim().is_empty()).map(|text| (PathBuf::from(name), text)));
        };
        let npmrc = npm::user_files(&user).into_iter().next().flatten();
        place(".npmrc", npmrc, lines_without_credentials);
        place(".yarnrc.yml", user.home(".yarnrc.yml"), lines_without_credentials);
        place(".yarnrc", user.home(".yarnrc"), lines_without_credentials);
        let pip = user.variable(&["PIP_CONFIG_FILE"]).map(|(_, path)| path.into());
        let pip = pip.or_else(|| user.config("pip/pip.conf").filter(|path: &PathBuf| path.exists()));
        place(".config/pip/pip.conf", pip.or_else(|| user.home(".pip/pip.conf")), lines_without_credentials);
        place(".config/uv/uv.toml", user.config("uv/uv.toml"), lines_without_credentials);
        place(".config/go/env", user.config("go/env"), lines_without_credentials);
        place(".m2/settings.xml", user.home(".m2/settings.xml"), settings_without_credentials);
        Self(files)
    }

    /// Writes them into a folder of ours, and says which stands where in the home.
    pub fn write(self, folder: &Path) -> std::io::Result<Vec<(PathBuf, PathBuf)>> {
        let mut placed = Vec::new();
        for (name, text) in self.0 {
            let file = folder.join(name.to_string_lossy().replace('/', "-"));
            std::fs::create_dir_all(folder)?;
            std::fs::write(&file, text)?;
            placed.push((name, file));
        }
        Ok(placed)
    }
}

/// A file of lines `key = value`, without those that hold or name a credential.
fn lines_without_credentials(text: &str) -> String {
    /// In the keys of npm, Yarn, pip and uv alike.
    const KEYS: [&str; 12] = [
        "auth",
        "token",
        "password",
        "passwd",
        "username",
        "user =",
        "user=",
        "email",
        "certfile",
        "keyfile",
        "client-cert",
        "secret",
    ];
    let is_credential = |line: &&str| {
        // `//host/:_authToken=…`: the key may have a colon in it, so it ends at `=`, or else at `: `.
        let key_end = line.find('=').or_else(|| line.find(": ")).map_or(line.len(), |at| at + 1);
        let key = line[..key_end].to_ascii_lowercase();
        let name = key.trim_end_matches([' ', '=', ':']).trim();
        KEYS.iter().any(|word| key.contains(word)) || name == "key" || name.ends_with(":key")
    };
    let kept: Vec<&str> = text.lines().filter(|line| !is_credential(line)).collect();
    without_credentials(&kept.join("\n")) + "\n"
}

/// Maven's settings with their mirrors, profiles and proxies, and without comments and the servers' passwords.
fn settings_without_credentials(text: &str) -> String {
    let mut out = text.to_owned();
    let names = ["servers", "username", "password", "passphrase", "privateKey"];
    let pairs = names.map(|name| (format!("<{name}>"), format!("</{name}>")));
    for (open, close) in [("<!--".to_owned(), "-->".to_owned())].into_iter().chain(pairs) {
        while let Some(start) = out.find(&open) {
            // What is never closed goes to its end: better no settings than a password.
            let end = out[start..].find(&close).map_or(out.len(), |at| start + at + close.len());
            out.replace_range(start..end, "");
        }
    }
    without_credentials(&out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_credential_of_any_client_is_left_and_every_registry_is() {
        let npmrc = "registry=https://user:hunter2@npm.example.com/\n//npm.example.com/:_authToken=hunter2\n\
                     //npm.example.com/:_password = hunter2\n@a:registry=https://b.example.com/\n_auth=hunter2\nkey=hunter2\n\
                     cafile=/etc/ca.pem\n//npm.example.com/:username=hunter2\nalways-auth=true\n";
        let clean = lines_without_credentials(npmrc);
        assert_eq!(
            clean,
            "registry=https://npm.example.com/\n@a:registry=https://b.example.com/\ncafile=/etc/ca.pem\n"
        );
        let pip = "[global]\nindex-url = https://me:hunter2@pypi.example.com/simple\nextra-index-url =\n    https://hunter2@c.example.com/\n";
        let clean = lines_without_credentials(pip);
        assert!(!clean.contains("hunter2") && clean.contains("https://pypi.example.com/simple"), "{clean}");
        assert!(clean.contains("https://c.example.com/"), "{clean}");
        let yarn = "npmRegistryServer: \"https://y.example.com\"\nnpmAuthToken: hunter2\n";
        assert_eq!(lines_without_credentials(yarn), "npmRegistryServer: \"https://y.example.com\"\n");
        let maven = "<settings><servers><server><password>hunter2</password></server></servers>\
                     <mirrors><mirror><url>https://hunter2@m.example.com/</url></mirror></mirrors>\
                     <proxies><proxy><password>hunter2</password></proxy></proxies></settings>";
        let clean = settings_without_credentials(maven);
        assert!(!clean.contains("hunter2") && clean.contains("https://m.example.com/"), "{clean}");
    }
}
