//! No token goes to a host that it is not for. A hostile repository names its own server as remote, as API or as host, and the user has
//! tokens in every place that people keep them.

use acquit_testkit::forge::{Dialect, Forge, Rights};
use acquit_testkit::repo;

use crate::common::{SCRIPTED, Sandbox, read, side_by_side};
use crate::secret::{in_front, program};
use crate::world::{BRANCH, TOKEN, WORKFLOW, World};

/// A server that takes whatever the token is used for, as somebody would who wants to have it.
fn server(dialect: Dialect) -> Forge {
    let server = Forge::start(dialect);
    server.allow(TOKEN, "mallory", Rights::Write);
    server
}

/// A repository that was cloned from `server`, with these settings of its own and of the user's in `[forge]`.
fn cloned(server: &Forge, dialect: Dialect, project: &str, user: &str) -> Sandbox {
    let kind = match dialect {
        Dialect::GitHub => "github",
        Dialect::GitLab => "gitlab",
    };
    let secrets = "[secrets]\nTHE_TOKEN = { env = \"THE_TOKEN\" }\n";
    let fill = |text: &str| text.replace("@HOST@", &server.host());
    let config = format!("{SCRIPTED}\n[forge]\nkind = \"{kind}\"\n{}\n{secrets}", fill(project));
    let workflow = WORKFLOW.replace("@REVIEWERS@", "[]");
    let script =
        "[[code]]\nstep = [ { write = \"log.txt\", content = \"work\\n\" }, { outcome = \"pr_ready\" } ]\n";
    let sandbox = Sandbox::new(&config, &workflow, script).with("THE_TOKEN", TOKEN);
    sandbox.user_config(&format!("{secrets}[forge]\n{}\n", fill(user)));
    server.project("acme/widget", sandbox.repo.path());
    sandbox.repo.git(&["remote", "add", "origin", &server.url("acme/widget")]);
    sandbox
}

/// Runs a task and gives whether the server was shown the token.
fn saw_token(server: &Forge, sandbox: &Sandbox) -> bool {
    sandbox.acquit(&["run", "Do it"]);
    server.branch("acme/widget", BRANCH).is_some() || server.calls().iter().any(|call| call.status < 400)
}

#[test]
fn a_remote_that_nobody_named_gets_no_token() {
    let cases = [
        // The token has no host at all.
        ("token = \"THE_TOKEN\"", ""),
        ("", "token = \"THE_TOKEN\""),
        // It is for another host.
        ("token = \"THE_TOKEN\"", "host = \"git.example.org\""),
        ("host = \"@HOST@\"", "host = \"git.example.org\"\ntoken = \"THE_TOKEN\""),
        ("host = \"@HOST@\"", "token = \"THE_TOKEN\""),
        // A repository names its own host for the tokens of the environment.
        ("host = \"@HOST@\"", ""),
        ("api = \"http://@HOST@/api/v4\"", ""),
        ("", ""),
    ];
    let both = [Dialect::GitHub, Dialect::GitLab];
    let all: Vec<_> = both.iter().flat_map(|dialect| cases.map(|case| (*dialect, case))).collect();
    side_by_side(&all, |&(dialect, (project, user))| {
        let server = server(dialect);
        let sandbox = cloned(&server, dialect, project, user)
            .with("GITLAB_TOKEN", TOKEN)
            .with("GITHUB_TOKEN", TOKEN)
            .with("GH_TOKEN", TOKEN)
            .with("GH_ENTERPRISE_TOKEN", TOKEN);
        assert!(!saw_token(&server, &sandbox), "{dialect:?}: project {project:?}, user {user:?}");
    });
}

#[test]
fn a_host_that_the_user_named_gets_it() {
    let cases = [
        (Dialect::GitLab, "", "host = \"@HOST@\"\ntoken = \"THE_TOKEN\""),
        (Dialect::GitLab, "token = \"THE_TOKEN\"", "host = \"@HOST@\""),
        (Dialect::GitLab, "token = \"THE_TOKEN\"\nhost = \"@HOST@\"", ""),
        (Dialect::GitLab, "", "host = \"@HOST@\""),
        (Dialect::GitHub, "", "host = \"@HOST@\""),
    ];
    side_by_side(&cases, |&(dialect, project, user)| {
        let server = server(dialect);
        let sandbox = cloned(&server, dialect, project, user)
            .with("GITLAB_TOKEN", TOKEN)
            .with("GH_ENTERPRISE_TOKEN", TOKEN);
        assert!(saw_token(&server, &sandbox), "{dialect:?}: project {project:?}, user {user:?}");
    });
}

#[test]
fn an_api_that_is_elsewhere_gets_no_token() {
    let (server, other) = (server(Dialect::GitLab), server(Dialect::GitLab));
    let project = format!("host = \"@HOST@\"\ntoken = \"THE_TOKEN\"\napi = \"{}\"", other.api());
    let user = "host = \"@HOST@\"\ntoken = \"THE_TOKEN\"";
    let sandbox = cloned(&server, Dialect::GitLab, &project.replace("token = \"THE_TOKEN\"\n", ""), user);
    assert!(!saw_token(&other, &sandbox) && other.calls().is_empty());
}

#[test]
fn what_gh_and_glab_take_from_the_environment_for_any_host_is_not_taken() {
    for (dialect, name, variable) in
        [(Dialect::GitHub, "gh", "GH_ENTERPRISE_TOKEN"), (Dialect::GitLab, "glab", "GITLAB_TOKEN")]
    {
        let world = World::new(dialect, WORKFLOW);
        let config = read(&world.sandbox.repo.path().join(".acquit/acquit.toml"));
        world.sandbox.repo.write(".acquit/acquit.toml", &config.replace("token = \"THE_TOKEN\"\n", ""));
        program(&world, name, &format!("echo ${variable}"));
        let World { forge, sandbox } = in_front(world);
        let sandbox = sandbox.with(variable, TOKEN);
        sandbox.run_to(3);
        assert!(forge.pulls().is_empty() && forge.calls().is_empty(), "{:?}", forge.calls());
    }
}

#[test]
fn a_secret_without_a_host_is_a_question_that_says_what_to_set() {
    let server = server(Dialect::GitLab);
    let sandbox = cloned(&server, Dialect::GitLab, "token = \"THE_TOKEN\"", "");
    let ran = sandbox.run_to(3);
    ran.said("nobody named that host");
    ran.said(&format!("set `host = \"{}\"` in [forge]", server.host()));
}

#[test]
fn no_token_goes_over_plain_http() {
    // Nothing answers there, and nothing must be looked up either: a token is not even asked for.
    for (project, words) in [
        ("token = \"THE_TOKEN\"\nhost = \"git.example.org\"", "without TLS"),
        ("host = \"git.example.org\"", "without TLS"),
    ] {
        let server = server(Dialect::GitLab);
        let sandbox = cloned(&server, Dialect::GitLab, project, "host = \"git.example.org\"");
        sandbox.repo.git(&["remote", "set-url", "origin", "http://git.example.org/acme/widget.git"]);
        let log = sandbox.place("asked");
        let helper =
            format!("[credential]\n\thelper = \"!f() {{ echo asked >> '{}'; }}; f\"\n", log.display());
        repo::write(&sandbox.place("home/.gitconfig"), &helper);
        let sandbox = sandbox.with("GITLAB_TOKEN", TOKEN);
        sandbox.acquit(&["run", "Do it"]);
        let task = sandbox.acquit(&["task", "show", "T-1"]).must(0);
        assert!(task.out.contains(words), "{}", task.out);
        assert!(!log.exists(), "the credential helper was asked");
    }
}
