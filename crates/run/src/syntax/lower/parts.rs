//! Assignments, calls, members, lists, and Rust macros.

use tree_sitter::Node as Tree;

use super::super::ir::{Kind, Node};
use super::super::parse;
use super::Lower;

/// Maximum nesting of macros.
const MACROS: usize = 4;

impl Lower<'_> {
    pub(super) fn assign(&self, tree: Tree<'_>, depth: usize) -> Option<Node> {
        let left = ["left", "name", "pattern"].iter().find_map(|name| tree.child_by_field_name(name));
        let name = left.map(|left| self.text(left)).unwrap_or_default();
        let mutable = tree.kind().starts_with("augmented")
            || tree.kind().starts_with("compound")
            || self.text(tree).starts_with("let mut ");
        let mut node = self.make(Kind::Assign(name), tree);
        for value in ["right", "value"] {
            node.kids.extend(self.field(tree, value, depth)?);
        }
        if mutable {
            // A second node with the same name: its value is unknown here.
            let again = self.make(node.kind.clone(), tree);
            node.kids.push(again);
        }
        Some(node)
    }

    pub(super) fn import(&self, tree: Tree<'_>) -> Node {
        let name = tree.child_by_field_name("name").or_else(|| tree.child_by_field_name("path"));
        let name = name.map(|name| self.text(name)).unwrap_or_default();
        let alias = tree.child_by_field_name("alias").map_or_else(|| name.clone(), |alias| self.text(alias));
        self.make(Kind::Import(alias, name), tree)
    }

    pub(super) fn call(&self, tree: Tree<'_>, depth: usize) -> Option<Node> {
        let mut node = self.make(Kind::Call, tree);
        let callee = match tree.kind() {
            "method_invocation" => {
                let name = tree.child_by_field_name("name")?;
                match tree.child_by_field_name("object") {
                    Some(object) => {
                        let mut member = self.make(Kind::Member(self.text(name)), name);
                        member.kids.push(self.node(object, depth + 1)?);
                        member
                    }
                    None => self.make(Kind::Name(self.text(name)), name),
                }
            }
            "new_expression" | "object_creation_expression" => {
                let made =
                    tree.child_by_field_name("constructor").or_else(|| tree.child_by_field_name("type"))?;
                self.make(Kind::Name(format!("new {}", self.text(made))), made)
            }
            _ => self.node(tree.child_by_field_name("function")?, depth + 1)?,
        };
        node.kids.push(callee);
        if let Some(arguments) = tree.child_by_field_name("arguments") {
            match arguments.kind() {
                "argument_list" | "arguments" => {
                    let kids = self.kids(arguments, depth)?;
                    node.kids.extend(kids.into_iter().filter(|kid| kid.kind != Kind::Comment));
                }
                _ => node.kids.push(self.node(arguments, depth + 1)?),
            }
        }
        Some(node)
    }

    pub(super) fn member(&self, tree: Tree<'_>, depth: usize) -> Option<Node> {
        let names = ["attribute", "property", "field", "name"];
        let Some(name) = names.iter().find_map(|name| tree.child_by_field_name(name)) else {
            return Some(self.make(Kind::Other, tree));
        };
        let mut node = self.make(Kind::Member(self.text(name)), tree);
        let objects = ["object", "value", "operand", "path"];
        if let Some(object) = objects.iter().find_map(|name| tree.child_by_field_name(name)) {
            node.kids.push(self.node(object, depth + 1)?);
        }
        Some(node)
    }

    pub(super) fn list(&self, tree: Tree<'_>, depth: usize) -> Option<Node> {
        // Go: `[]T{…}`; its type is not an element.
        if let Some(body) = tree.child_by_field_name("body").filter(|_| tree.kind() == "composite_literal") {
            let mut whole = self.make(Kind::List, tree);
            whole.kids = self.node(body, depth + 1)?.kids;
            return Some(whole);
        }
        let mut node = self.make(Kind::List, tree);
        node.kids = self.kids(tree, depth)?;
        node.kids.retain(|kid| kid.kind != Kind::Comment);
        Some(node)
    }

    /// Python: `a == b`, `a in b`, `a is not b`. Only the first operator of a chain counts.
    pub(super) fn comparison(&self, tree: Tree<'_>, depth: usize) -> Option<Node> {
        let mut cursor = tree.walk();
        let signs: Vec<String> =
            tree.children_by_field_name("operators", &mut cursor).map(|sign| self.text(sign)).collect();
        // `not in` and `is not` are one operator of two words.
        let sign = signs.first().map(|sign| sign.split_whitespace().collect::<Vec<_>>().join(" "));
        let mut node = self.make(Kind::Binary(sign.unwrap_or_default()), tree);
        node.kids = self.kids(tree, depth)?;
        Some(node)
    }

    /// Lowers a Rust macro. For the grammar its arguments are tokens, so they are parsed again as those of a call.
    pub(super) fn invocation(&self, tree: Tree<'_>, depth: usize) -> Option<Node> {
        let name = tree.child_by_field_name("macro").map(|name| self.text(name)).unwrap_or_default();
        let mut node = self.make(Kind::Call, tree);
        let word = name.rsplit("::").next().unwrap_or_default().to_owned();
        node.kids.push(self.make(Kind::Name(format!("{word}!")), tree));
        let Some(tokens) = tree.named_child(1).filter(|_| self.macros < MACROS) else { return Some(node) };
        let inner = tokens.start_byte() + 1..tokens.end_byte().saturating_sub(1);
        let inner = self.source.get(inner).unwrap_or_default();
        if inner.trim().is_empty() {
            return Some(node);
        }
        // The prefix has no line end, so that line numbers stay the same.
        let braces = self.source.get(tokens.byte_range()).is_some_and(|text| text.starts_with('{'));
        let text = if braces { format!("fn f() {{{inner}}}") } else { format!("fn f() {{ f({inner}); }}") };
        let parsed = parse(self.ending, &text, self.until)?;
        let above = u32::try_from(tokens.start_position().row).unwrap_or(0).saturating_add(self.above);
        let nested = Lower {
            source: text.as_str().into(),
            ending: self.ending,
            above,
            macros: self.macros + 1,
            until: self.until,
        };
        let lowered = nested.node(parsed.root_node(), depth + 1)?;
        if braces {
            node.kids.push(lowered);
        } else {
            let call = lowered.all().into_iter().find(|node| node.kind == Kind::Call).cloned();
            node.kids.extend(call.map(|call| call.args().to_vec()).unwrap_or_default());
        }
        Some(node)
    }
}
