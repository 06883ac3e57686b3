//! The part of GitHub's GraphQL that acquit uses. Queries are parsed and checked against the types below, which are
//! copied from GitHub's schema. Anything else is refused, as GitHub does.

use serde_json::{Value, json};

/// A field: its parent type, name, arguments and result type. An argument type that ends with `!` is required.
pub type Field = (&'static str, &'static str, &'static [(&'static str, &'static str)], &'static str);

const PAGE: &[(&str, &str)] = &[("first", "Int"), ("after", "String"), ("last", "Int"), ("before", "String")];

const FIELDS: &[Field] = &[
    ("Query", "repository", &[("owner", "String!"), ("name", "String!")], "Repository"),
    ("Repository", "pullRequest", &[("number", "Int!")], "PullRequest"),
    ("PullRequest", "number", &[], ""),
    ("PullRequest", "isDraft", &[], ""),
    ("PullRequest", "comments", PAGE, "IssueCommentConnection"),
    ("IssueCommentConnection", "pageInfo", &[], "PageInfo"),
    ("IssueCommentConnection", "nodes", &[], "IssueComment"),
    ("IssueComment", "viewerDidAuthor", &[], ""),
    ("IssueComment", "body", &[], ""),
    ("IssueComment", "url", &[], ""),
    ("PullRequest", "reviewThreads", PAGE, "PullRequestReviewThreadConnection"),
    ("PullRequestReviewThreadConnection", "pageInfo", &[], "PageInfo"),
    ("PullRequestReviewThreadConnection", "nodes", &[], "PullRequestReviewThread"),
    ("PageInfo", "hasNextPage", &[], ""),
    ("PageInfo", "endCursor", &[], ""),
    ("PullRequestReviewThread", "isResolved", &[], ""),
    ("PullRequestReviewThread", "comments", PAGE, "PullRequestReviewCommentConnection"),
    ("PullRequestReviewCommentConnection", "nodes", &[], "PullRequestReviewComment"),
    ("PullRequestReviewComment", "url", &[], ""),
    (
        "Mutation",
        "enablePullRequestAutoMerge",
        &[("input", "EnablePullRequestAutoMergeInput!")],
        "EnablePullRequestAutoMergePayload",
    ),
    ("EnablePullRequestAutoMergePayload", "pullRequest", &[], "PullRequest"),
    (
        "Mutation",
        "markPullRequestReadyForReview",
        &[("input", "MarkPullRequestReadyForReviewInput!")],
        "MarkPullRequestReadyForReviewPayload",
    ),
    ("MarkPullRequestReadyForReviewPayload", "pullRequest", &[], "PullRequest"),
    (
        "Mutation",
        "convertPullRequestToDraft",
        &[("input", "ConvertPullRequestToDraftInput!")],
        "ConvertPullRequestToDraftPayload",
    ),
    ("ConvertPullRequestToDraftPayload", "pullRequest", &[], "PullRequest"),
];

/// An input object of mutations: its type and fields.
pub type Input = (&'static str, &'static [(&'static str, &'static str)]);

const INPUTS: &[Input] = &[
    (
        "EnablePullRequestAutoMergeInput",
        &[
            ("pullRequestId", "ID!"),
            ("mergeMethod", "PullRequestMergeMethod"),
            ("expectedHeadOid", "GitObjectID"),
            ("commitHeadline", "String"),
            ("commitBody", "String"),
            ("authorEmail", "String"),
            ("clientMutationId", "String"),
        ],
    ),
    ("MarkPullRequestReadyForReviewInput", &[("pullRequestId", "ID!"), ("clientMutationId", "String")]),
    ("ConvertPullRequestToDraftInput", &[("pullRequestId", "ID!"), ("clientMutationId", "String")]),
];

/// Returns the known fields and input objects, to compare them with GitHub's own schema.
pub fn types() -> (&'static [Field], &'static [Input]) {
    (FIELDS, INPUTS)
}

/// A valid query: its root field, and the value of every argument.
pub(super) struct Asked {
    pub(super) root: String,
    /// All arguments by name.
    pub(super) arguments: Vec<(String, Value)>,
    /// Every requested field, at any depth.
    pub(super) fields: Vec<String>,
}

impl Asked {
    /// Returns an argument as text.
    pub(super) fn text(&self, name: &str) -> String {
        let found = self.arguments.iter().find(|(known, _)| known == name);
        found.and_then(|(_, value)| value.as_str()).unwrap_or_default().to_owned()
    }

    /// Returns an argument as a number.
    pub(super) fn number(&self, name: &str) -> Option<u64> {
        self.arguments.iter().find(|(known, _)| known == name)?.1.as_u64()
    }
}

/// Parses a query, or says what is wrong with it.
pub(super) fn read(body: &Value) -> Result<Asked, String> {
    let text = body["query"].as_str().ok_or("A query attribute must be specified and must be a string.")?;
    let tokens = tokens(text)?;
    let variables = body.get("variables").cloned().unwrap_or_else(|| json!({}));
    let mut reader = Reader {
        tokens: &tokens,
        at: 0,
        declared: Vec::new(),
        given: variables,
        arguments: Vec::new(),
        fields: Vec::new(),
    };
    let kind = match reader.next()? {
        "query" => "Query",
        "mutation" => "Mutation",
        other => return Err(format!("Expected one of query, mutation, actual: {other}")),
    };
    if reader.peek() == Some("(") {
        reader.declare()?;
    }
    let root = tokens.get(reader.at + 1).cloned().unwrap_or_default();
    reader.selection(kind)?;
    if let Some(more) = reader.peek() {
        return Err(format!("Expected end of document, actual: {more}"));
    }
    let unknown = reader.given.as_object().into_iter().flatten();
    let unknown =
        unknown.map(|(name, _)| name).find(|name| reader.declared.iter().all(|(known, _)| known != *name));
    match unknown {
        Some(name) => Err(format!("Variable ${name} was provided and is not declared")),
        None => Ok(Asked { root, arguments: reader.arguments, fields: reader.fields }),
    }
}

fn tokens(text: &str) -> Result<Vec<String>, String> {
    let mut tokens: Vec<String> = Vec::new();
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '{' | '}' | '(' | ')' | ':' | '!' | '$' | '[' | ']' => tokens.push(c.to_string()),
            c if c.is_whitespace() || c == ',' => {}
            c if c.is_ascii_alphanumeric() || c == '_' => {
                let mut word = c.to_string();
                while let Some(more) = rest.next_if(|more| more.is_ascii_alphanumeric() || *more == '_') {
                    word.push(more);
                }
                tokens.push(word);
            }
            other => return Err(format!("Parse error on {other:?}")),
        }
    }
    Ok(tokens)
}

struct Reader<'t> {
    tokens: &'t [String],
    at: usize,
    /// Variables and their types.
    declared: Vec<(String, String)>,
    given: Value,
    arguments: Vec<(String, Value)>,
    fields: Vec<String>,
}

impl<'t> Reader<'t> {
    fn peek(&self) -> Option<&'t str> {
        self.tokens.get(self.at).map(String::as_str)
    }

    fn next(&mut self) -> Result<&'t str, String> {
        let token = self.peek().ok_or("Unexpected end of document")?;
        self.at += 1;
        Ok(token)
    }

    fn expect(&mut self, wanted: &str) -> Result<(), String> {
        let found = self.next()?;
        if found == wanted { Ok(()) } else { Err(format!("Expected {wanted}, actual: {found}")) }
    }

    /// `($name: Type!, …)`.
    fn declare(&mut self) -> Result<(), String> {
        self.expect("(")?;
        while self.peek() != Some(")") {
            self.expect("$")?;
            let name = self.next()?.to_owned();
            self.expect(":")?;
            let mut kind = self.next()?.to_owned();
            if self.peek() == Some("!") {
                self.at += 1;
                kind.push('!');
                if self.given.get(&name).is_none_or(Value::is_null) {
                    return Err(format!("Variable ${name} of type {kind} was provided invalid value"));
                }
            }
            self.declared.push((name, kind));
        }
        self.expect(")")
    }

    /// `{ field(arguments) { … } … }` of a type.
    fn selection(&mut self, of: &str) -> Result<(), String> {
        self.expect("{")?;
        while self.peek() != Some("}") {
            let name = self.next()?;
            let known = FIELDS.iter().find(|(kind, field, _, _)| *kind == of && *field == name);
            let Some((_, _, takes, gives)) = known else {
                return Err(format!("Field '{name}' doesn't exist on type '{of}'"));
            };
            self.fields.push(name.to_owned());
            if self.peek() == Some("(") {
                self.at += 1;
                self.values(takes, &format!("Field '{name}'"), ")")?;
            } else if let Some((missing, _)) = takes.iter().find(|(_, kind)| kind.ends_with('!')) {
                return Err(format!("Field '{name}' is missing required arguments: {missing}"));
            }
            match (gives.is_empty(), self.peek()) {
                (true, Some("{")) => {
                    return Err(format!("Selections can't be made on scalars (field '{name}')"));
                }
                (true, _) => {}
                (false, _) => self.selection(gives)?,
            }
        }
        self.expect("}")
    }

    /// `name: value …` up to the end.
    fn values(&mut self, takes: &[(&str, &str)], whose: &str, end: &str) -> Result<(), String> {
        let mut seen = Vec::new();
        while self.peek() != Some(end) {
            let name = self.next()?;
            self.expect(":")?;
            let Some((_, kind)) = takes.iter().find(|(known, _)| *known == name) else {
                return Err(format!("{whose} doesn't accept argument '{name}'"));
            };
            seen.push(name);
            match self.next()? {
                "$" => {
                    let variable = self.next()?;
                    let declared = self.declared.iter().find(|(known, _)| known == variable);
                    let Some((_, given)) = declared else {
                        return Err(format!("Variable ${variable} is used and not declared"));
                    };
                    if given != kind && given.trim_end_matches('!') != *kind {
                        return Err(format!(
                            "Type mismatch on variable ${variable} and argument {name} ({given} / {kind})"
                        ));
                    }
                    self.arguments.push((name.to_owned(), self.given[variable].clone()));
                }
                "{" => {
                    let bare = kind.trim_end_matches('!');
                    let Some((_, fields)) = INPUTS.iter().find(|(known, _)| *known == bare) else {
                        return Err(format!("Argument '{name}' on {whose} has an invalid value"));
                    };
                    self.values(fields, &format!("InputObject '{bare}'"), "}")?;
                }
                literal => self.arguments.push((name.to_owned(), json!(literal.parse::<u64>().ok()))),
            }
        }
        self.expect(end)?;
        match takes.iter().find(|(name, kind)| kind.ends_with('!') && !seen.contains(name)) {
            Some((missing, _)) => Err(format!("{whose} is missing required arguments: {missing}")),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_types_do_not_have_is_refused() {
        let fine = "query($o: String!, $n: Int!) { repository(owner: $o, name: $o) { pullRequest(number: $n) { isDraft } } }";
        let given = json!({ "o": "x", "n": 1 });
        let asked = read(&json!({ "query": fine, "variables": given })).unwrap();
        assert_eq!((asked.root.as_str(), asked.number("number")), ("repository", Some(1)));
        for (from, to, words) in [
            ("isDraft", "draft", "Field 'draft' doesn't exist on type 'PullRequest'"),
            ("name: $o", "nam: $o", "doesn't accept argument 'nam'"),
            (", name: $o", "", "missing required arguments: name"),
            ("number: $n", "number: $o", "Type mismatch"),
            ("number: $n", "number: $m", "used and not declared"),
            ("{ isDraft }", "", "Expected {"),
            ("isDraft }", "isDraft { x } }", "scalars"),
            ("$n: Int!", "$n: Int!, $z: Int!", "$z of type Int! was provided invalid value"),
            ("query", "subscription", "Expected one of"),
        ] {
            let body = json!({ "query": fine.replacen(from, to, 1), "variables": given });
            let refused = read(&body).err().unwrap_or_default();
            assert!(refused.contains(words), "{from} → {to}: {refused}");
        }
    }
}
