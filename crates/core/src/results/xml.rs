//! The subset of XML that reports use: elements, attributes, text, CDATA, the usual entities. Entities expand only to
//! characters, nothing is fetched, and reading stops at anything that is not well-formed.

/// Maximum size of an attribute or text; longer ones are cut. Reports contain whole outputs.
const LONGEST_TEXT: usize = 64 << 10;

/// Maximum number of attributes of an element.
const MOST_ATTRIBUTES: usize = 64;

/// A part of a document.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Event<'t> {
    /// An element starts.
    Start {
        /// Name, without a prefix.
        name: &'t str,
        /// Attributes, decoded.
        attributes: Vec<(&'t str, String)>,
        /// Whether the element is empty and ends here.
        empty: bool,
    },
    /// An element ends.
    End(&'t str),
    /// Text in between, decoded and bounded.
    Text(String),
}

/// Reads a document from start to end.
pub(crate) struct Reader<'t> {
    rest: &'t str,
}

impl<'t> Reader<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        Self { rest: text.trim_start_matches('\u{feff}') }
    }

    /// Returns the next part; `None` at the end or at invalid XML.
    pub(crate) fn next(&mut self) -> Option<Event<'t>> {
        loop {
            let open = self.rest.find('<').unwrap_or(self.rest.len());
            if open > 0 {
                let (text, rest) = self.rest.split_at(open);
                self.rest = rest;
                if !text.trim().is_empty() {
                    return Some(Event::Text(decode(text)));
                }
            }
            if let Some(rest) = self.rest.strip_prefix("<!--") {
                self.rest = rest.split_once("-->")?.1;
            } else if let Some(rest) = self.rest.strip_prefix("<![CDATA[") {
                let (text, rest) = rest.split_once("]]>")?;
                self.rest = rest;
                return Some(Event::Text(bounded(text).to_owned()));
            } else if let Some(rest) = self.rest.strip_prefix("<?") {
                self.rest = rest.split_once("?>")?.1;
            } else if let Some(rest) = self.rest.strip_prefix("<!") {
                // A document type. Reports have none with declarations, so reading stops at one.
                let (inside, rest) = rest.split_once('>')?;
                if inside.contains('[') {
                    return None;
                }
                self.rest = rest;
            } else if let Some(rest) = self.rest.strip_prefix("</") {
                let (name, rest) = rest.split_once('>')?;
                self.rest = rest;
                return Some(Event::End(local(name.trim())));
            } else {
                return self.element(self.rest.strip_prefix('<')?);
            }
        }
    }

    fn element(&mut self, text: &'t str) -> Option<Event<'t>> {
        let end = text.find(|c: char| c.is_whitespace() || c == '>' || c == '/')?;
        let (name, mut rest) = text.split_at(end);
        let mut attributes = Vec::new();
        loop {
            rest = rest.trim_start();
            if let Some(after) = rest.strip_prefix("/>") {
                self.rest = after;
                return Some(Event::Start { name: local(name), attributes, empty: true });
            }
            if let Some(after) = rest.strip_prefix('>') {
                self.rest = after;
                return Some(Event::Start { name: local(name), attributes, empty: false });
            }
            let (key, after) = rest.split_once('=')?;
            let after = after.trim_start();
            let quote = after.chars().next().filter(|quote| *quote == '"' || *quote == '\'')?;
            let (value, after) = after[1..].split_once(quote)?;
            if attributes.len() < MOST_ATTRIBUTES {
                attributes.push((local(key.trim()), decode(value)));
            }
            rest = after;
        }
    }
}

/// Returns the name without its prefix.
fn local(name: &str) -> &str {
    name.rsplit(':').next().unwrap_or(name)
}

fn bounded(text: &str) -> &str {
    let mut end = text.len().min(LONGEST_TEXT);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Replaces the entities in a text. Unknown entities stay as written.
fn decode(text: &str) -> String {
    /// Longest supported entity: `&#x10FFFF;`.
    const LONGEST_ENTITY: usize = 10;
    let text = bounded(text);
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = rest.bytes().take(LONGEST_ENTITY).position(|byte| byte == b';');
        let found = end.and_then(|end| Some((character(&rest[1..end])?, end)));
        if let Some((character, end)) = found {
            out.push(character);
            rest = &rest[end + 1..];
        } else {
            out.push('&');
            rest = &rest[1..];
        }
    }
    out.push_str(rest);
    out
}

fn character(entity: &str) -> Option<char> {
    match entity {
        "lt" => Some('<'),
        "gt" => Some('>'),
        "amp" => Some('&'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        other => {
            let number = other.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(text: &str) -> Vec<String> {
        let mut reader = Reader::new(text);
        std::iter::from_fn(|| reader.next()).map(|event| format!("{event:?}")).collect()
    }

    #[test]
    fn elements_attributes_text_and_entities_are_read() {
        let found = events(
            "\u{feff}<?xml version=\"1.0\"?><!DOCTYPE a><!-- < --><a:b x = 'a&lt;&#65;&#x42;&no;&' y=\"'\">t &amp; u\
             <c/><![CDATA[<raw>&amp;]]></a:b>",
        );
        let expected = [
            "Start { name: \"b\", attributes: [(\"x\", \"a<AB&no;&\"), (\"y\", \"'\")], empty: false }",
            "Text(\"t & u\")",
            "Start { name: \"c\", attributes: [], empty: true }",
            "Text(\"<raw>&amp;\")",
            "End(\"b\")",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn what_is_not_xml_ends_the_reading() {
        for text in [
            "<",
            "<a",
            "<a b",
            "<a b=",
            "<a b=c>",
            "<a b='",
            "<!--",
            "<![CDATA[",
            "<?x",
            "</a",
            "<!D [<!ENTITY",
        ] {
            assert!(events(text).is_empty(), "{text}");
        }
        // An entity bomb is not expanded.
        assert_eq!(events("<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>"), [""; 0]);
    }
}
