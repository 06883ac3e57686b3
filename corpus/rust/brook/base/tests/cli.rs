mod common;

use common::{assert_golden, brook, golden};

#[test]
fn list() {
    let (code, out, err) = brook(&["list", golden("app.conf").to_str().unwrap()]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert_golden("app.list", &out);
}

#[test]
fn get() {
    let path = golden("app.conf");
    let path = path.to_str().unwrap();
    assert_eq!(brook(&["get", path, "server.port"]), (0, "8080\n".into(), String::new()));
    let (code, out, err) = brook(&["get", path, "server.prot"]);
    assert_eq!((code, out.as_str()), (1, ""));
    assert_eq!(err, "brook: no `server.prot`\n");
}

#[test]
fn usage() {
    let (code, _, err) = brook(&[]);
    assert_eq!(code, 1);
    assert!(err.starts_with("brook: usage"), "{err}");
}
