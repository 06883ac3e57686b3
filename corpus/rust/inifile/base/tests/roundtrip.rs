use inifile::Document;

#[test]
fn writes_what_it_reads() {
    let text = "name = demo\n\n[server]\nhost = example.org\nport = 8080\n";
    let doc: Document = text.parse().unwrap();
    assert_eq!(doc.to_string(), text);
}

#[test]
fn values_survive() {
    for value in
        ["", "plain", " blanks ", "two\nlines", "tab\there", "\"quoted\"", "back\\slash", "a = b"]
    {
        let mut doc = Document::new();
        doc.section_mut("s").set("key", value);
        let again: Document = doc.to_string().parse().unwrap();
        assert_eq!(again, doc, "{value:?}");
    }
}

#[test]
fn set_and_remove() {
    let mut doc: Document = "[a]\nx = 1\ny = 2\n".parse().unwrap();
    doc.section_mut("A").set("X", "3").set("z", "4");
    assert_eq!(doc.section_mut("a").remove("Y").as_deref(), Some("2"));
    assert_eq!(doc.section_mut("a").remove("y"), None);
    assert_eq!(doc.to_string(), "[a]\nx = 3\nz = 4\n");
}

#[test]
fn new_sections_come_last() {
    let mut doc: Document = "[a]\nx = 1\n".parse().unwrap();
    doc.section_mut("b").set("y", "2");
    assert_eq!(doc.to_string(), "[a]\nx = 1\n\n[b]\ny = 2\n");
}
