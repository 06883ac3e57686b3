//! Environment variables that point programs to the proxy. Security does not depend on them: a program that ignores
//! them has no network.

/// Returns the variables for a proxy at this port of the loopback.
///
/// Java reads none of them. `JAVA_TOOL_OPTIONS` would work, but makes every JVM print a line to stderr, which breaks
/// tests that compare output. Maven and Gradle have separate variables; for others, set it in the agent's variables.
pub fn variables(port: u16) -> Vec<(String, String)> {
    /// Hosts inside the namespace, which need no proxy.
    const INSIDE: &str = "localhost,127.0.0.1,::1";
    let proxy = format!("http://127.0.0.1:{port}");
    let mut list = Vec::new();
    // curl reads `http_proxy` in lower case only, others in upper case only.
    for name in ["HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY"] {
        list.push((name.to_owned(), proxy.clone()));
        list.push((name.to_ascii_lowercase(), proxy.clone()));
    }
    for name in ["NO_PROXY", "no_proxy", "npm_config_noproxy"] {
        list.push((name.to_owned(), INSIDE.to_owned()));
    }
    for name in ["npm_config_proxy", "npm_config_https_proxy", "CARGO_HTTP_PROXY"] {
        list.push((name.to_owned(), proxy.clone()));
    }
    let java = format!(
        "-Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort={port} -Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort={port} \
         -Dhttp.nonProxyHosts=localhost|127.0.0.1|[::1]"
    );
    for name in ["MAVEN_OPTS", "GRADLE_OPTS"] {
        list.push((name.to_owned(), java.clone()));
    }
    list.push(("NODE_USE_ENV_PROXY".to_owned(), "1".to_owned()));
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_program_finds_the_proxy_and_none_uses_it_for_the_loopback() {
        let list = variables(3128);
        let value = |name: &str| {
            let found: Vec<_> = list.iter().filter(|(known, _)| known == name).collect();
            assert_eq!(found.len(), 1, "{name}");
            found[0].1.as_str()
        };
        for name in
            ["https_proxy", "HTTPS_PROXY", "http_proxy", "ALL_PROXY", "CARGO_HTTP_PROXY", "npm_config_proxy"]
        {
            assert_eq!(value(name), "http://127.0.0.1:3128");
        }
        assert_eq!(value("no_proxy"), "localhost,127.0.0.1,::1");
        assert_eq!(value("NODE_USE_ENV_PROXY"), "1");
    }
}
