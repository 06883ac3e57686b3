//! The way to a forge: encrypted, by an authority of its own, through a proxy, and never to where a redirect leads.

use acquit_core::leg::Ending;
use acquit_core::task::State;
use acquit_testkit::forge::{Dialect, Fault, Forge};
use acquit_testkit::proxy::Proxy;
use acquit_testkit::{repo, tls};

use crate::common::{read, side_by_side};
use crate::world::{TOKEN, WORKFLOW, World};

/// A world whose forge is reached by TLS, at this address or, if there is none, at its own. `settings` may name `@CA@` and `@PROXY@`.
fn secure(dialect: Dialect, address: Option<&str>, settings: &str) -> (World, Proxy) {
    let forge = Forge::start(dialect);
    let front = tls::Front::start(forge.address());
    let proxy = Proxy::start(front.host().parse().unwrap());
    let own = format!("https://{}", front.host());
    let world = World::at(forge.called(address.unwrap_or(&own)), dialect, WORKFLOW, "");
    let ca = tls::authority(&world.sandbox.place("home"));
    let settings = settings.replace("@CA@", &ca.to_string_lossy()).replace("@PROXY@", &proxy.url);
    let text = read(&world.sandbox.repo.path().join(".acquit/acquit.toml"));
    let text = text.replace("[forge]\n", &format!("[forge]\n{settings}\n"));
    world.sandbox.repo.write(".acquit/acquit.toml", &text);
    (world, proxy)
}

/// The question that the task waits with.
#[track_caller]
fn question(world: &World) -> String {
    match world.sandbox.task().state {
        State::Waiting { request } => request.question,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_forge_with_an_authority_of_its_own_is_trusted_if_that_is_named() {
    for dialect in [Dialect::GitHub, Dialect::GitLab] {
        let (world, proxy) = secure(dialect, None, "ca = \"@CA@\"");
        world.sandbox.run_to(0).said("has a new request: https://127.0.0.1:");
        assert_eq!(world.forge.pulls().len(), 1, "{dialect:?}");
        // Reading goes the same way.
        world.sandbox.acquit(&["feedback", "T-1"]).must(0);
        assert_eq!(proxy.asked(), Vec::<String>::new(), "nobody named it");
    }
}

#[test]
fn a_forge_that_nobody_vouches_for_gets_no_token_and_is_a_question() {
    let (world, _proxy) = secure(Dialect::GitHub, None, "");
    world.sandbox.run_to(3);
    let asked = question(&world);
    assert!(asked.contains("certificate") && asked.contains("`ca` in [forge]"), "{asked}");
    assert_eq!(world.forge.calls().len(), 0);
    assert_eq!(world.sandbox.task().past.len(), 2, "nothing is tried again by itself");
}

#[test]
fn a_file_that_has_no_certificate_is_said_to_have_none() {
    let (world, _proxy) = secure(Dialect::GitHub, None, "ca = \"@CA@\"");
    repo::write(&world.sandbox.place("home/authority.pem"), "nothing\n");
    world.sandbox.run_to(3);
    let asked = question(&world);
    assert!(asked.contains("certificate") || asked.contains("`ca`"), "{asked}");
}

#[test]
fn everything_goes_through_the_proxy_that_is_named() {
    for dialect in [Dialect::GitHub, Dialect::GitLab] {
        // Nobody but the proxy finds somebody there.
        let (world, proxy) =
            secure(dialect, Some("https://localhost:1"), "ca = \"@CA@\"\nproxy = \"@PROXY@\"");
        world.sandbox.run_to(0);
        assert_eq!(world.forge.pulls().len(), 1, "{dialect:?}");
        let asked = proxy.asked();
        assert!(asked.len() >= 4, "pushes and calls: {asked:?}");
        assert!(asked.iter().all(|line| line.starts_with("CONNECT localhost:1 ")), "{asked:?}");
    }
}

#[test]
fn a_proxy_of_the_environment_is_not_asked() {
    let (world, proxy) = secure(Dialect::GitHub, None, "ca = \"@CA@\"");
    let World { forge, mut sandbox } = world;
    for name in ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
        sandbox = sandbox.with(name, proxy.url.clone());
    }
    let world = World { forge, sandbox };
    world.sandbox.run_to(0);
    assert_eq!((world.forge.pulls().len(), proxy.asked().len()), (1, 0));
}

#[test]
fn a_project_that_has_moved_is_a_question_and_nothing_is_sent_after_it() {
    let calls = [
        (Dialect::GitHub, "GET", "/pulls?"),
        (Dialect::GitHub, "POST", "/pulls"),
        (Dialect::GitLab, "GET", "/merge_requests?"),
        (Dialect::GitHub, "GET", "/info/refs"),
        (Dialect::GitLab, "GET", "/info/refs"),
    ];
    side_by_side(&calls, |&(dialect, method, path)| {
        for status in [301, 307] {
            let world = World::new(dialect, WORKFLOW);
            // Git asks where the base is when a leg begins, and again before anything goes out.
            for _ in 0..if path == "/info/refs" { 4 } else { 1 } {
                world.forge.fail(method, path, Fault::Moved(status));
            }
            world.sandbox.run_to(3);
            let asked = question(&world);
            assert!(asked.contains("has moved"), "{dialect:?} {method} {path} {status}: {asked}");
            assert!(!asked.contains(TOKEN));
            let held = world.sandbox.endings().iter().any(|ending| matches!(ending, Ending::Held { .. }));
            assert!(!held, "{dialect:?} {method} {path}: waiting does not bring it back");
        }
    });
}
