//! Validation by keyword, and schemas that are refused.

use serde_json::{Value, json};

use super::{check, mistakes};

/// A schema, valid values, and invalid values with the beginning of the first mistake.
type Case = (Value, Vec<Value>, Vec<(Value, &'static str)>);

/// Checks valid and invalid values for each schema.
#[test]
fn every_keyword_judges_as_the_specification_says() {
    let cases: Vec<Case> = vec![
        (json!(true), vec![json!(1)], vec![]),
        (json!(false), vec![], vec![(json!(1), "1 is not allowed here")]),
        (
            json!({"type": "integer"}),
            vec![json!(1), json!(1.0), json!(-3)],
            vec![(json!(1.5), "1.5 is not of type \"integer\""), (json!("1"), "\"1\" is not of type")],
        ),
        (
            json!({"type": ["string", "null"]}),
            vec![json!(""), json!(null)],
            vec![(json!(0), "0 is not of types \"string\" or \"null\"")],
        ),
        (
            json!({"enum": ["a", 1, {"b": [2.0]}]}),
            vec![json!("a"), json!(1.0), json!({"b": [2]})],
            vec![(json!("c"), "\"c\" is not one of \"a\", 1 or {\"b\":[2.0]}")],
        ),
        (json!({"const": null}), vec![json!(null)], vec![(json!(0), "null was expected")]),
        (
            json!({"required": ["a", "b"]}),
            vec![json!({"a": 1, "b": 2}), json!("no object")],
            vec![(json!({"a": 1}), "\"b\" is a required property")],
        ),
        (
            json!({"properties": {"a/b": {"type": "string"}}}),
            vec![json!({"a/b": ""}), json!({"c": 1})],
            vec![(json!({"a/b": 1}), "at /a~1b: 1 is not of type")],
        ),
        (
            json!({"properties": {"a": true}, "patternProperties": {"^x-": {"type": "null"}}, "additionalProperties": false}),
            vec![json!({"a": 1, "x-b": null})],
            vec![
                (json!({"b": 1}), "\"b\" is not a known property"),
                (json!({"x-b": 1}), "at /x-b: 1 is not"),
            ],
        ),
        (
            json!({"additionalProperties": {"type": "string"}}),
            vec![json!({"a": ""})],
            vec![(json!({"a": 1}), "at /a: 1 is not of type")],
        ),
        (
            json!({"propertyNames": {"maxLength": 1}, "minProperties": 1, "maxProperties": 2}),
            vec![json!({"a": 1})],
            vec![
                (json!({}), "{} has less than 1 properties"),
                (json!({"ab": 1}), "at /ab: \"ab\" is longer than 1 character"),
                (json!({"a": 1, "b": 1, "c": 1}), "{\"a\":1,\"b\":1,\"c\":1} has more than 2"),
            ],
        ),
        (
            json!({"dependentRequired": {"a": ["b"]}, "dependentSchemas": {"c": {"required": ["d"]}}}),
            vec![json!({"b": 1}), json!({"a": 1, "b": 1})],
            vec![
                (json!({"a": 1}), "\"b\" is a required property beside \"a\""),
                (json!({"c": 1}), "\"d\" is a required property"),
            ],
        ),
        (
            json!({"prefixItems": [{"type": "string"}], "items": {"type": "number"}}),
            vec![json!([]), json!(["a", 1, 2])],
            vec![(json!([1]), "at /0: 1 is not of type"), (json!(["a", "b"]), "at /1: \"b\" is not")],
        ),
        (
            json!({"minItems": 1, "maxItems": 2, "uniqueItems": true}),
            vec![json!([1]), json!([1, "1"])],
            vec![
                (json!([]), "[] has less than 1 items"),
                (json!([1, 2, 3]), "[1,2,3] has more than 2 items"),
                (json!([1, 1.0]), "[1,1.0] has an item twice"),
            ],
        ),
        (
            json!({"contains": {"type": "null"}, "maxContains": 1}),
            vec![json!([1, null])],
            vec![(json!([1]), "0 items fit"), (json!([null, null]), "2 items fit")],
        ),
        (json!({"contains": {"type": "null"}, "minContains": 0}), vec![json!([])], vec![]),
        (
            json!({"minLength": 2, "maxLength": 3, "pattern": "^[a-zé]+$"}),
            vec![json!("éé"), json!(1)],
            vec![
                (json!("é"), "\"é\" is shorter than 2 characters"),
                (json!("abcd"), "\"abcd\" is longer than 3 characters"),
                (json!("AB"), "\"AB\" does not match \"^[a-zé]+$\""),
            ],
        ),
        (
            json!({"minimum": 1, "exclusiveMaximum": 3, "multipleOf": 0.1}),
            vec![json!(1), json!(2.9), json!("x")],
            vec![
                (json!(0.9), "0.9 is less than the minimum of 1"),
                (json!(3), "3 is greater than or equal to 3"),
                (json!(1.25), "1.25 is not a multiple of 0.1"),
            ],
        ),
        (
            json!({"allOf": [{"minimum": 1}, {"maximum": 2}]}),
            vec![json!(1)],
            vec![(json!(3), "3 is greater than the maximum of 2")],
        ),
        (
            json!({"anyOf": [{"type": "null"}, {"type": "string"}]}),
            vec![json!("")],
            vec![(json!(1), "1 fits none of the schemas in `anyOf`")],
        ),
        (
            json!({"oneOf": [{"minimum": 1}, {"maximum": 2}]}),
            vec![json!(0), json!(3)],
            vec![(json!(1), "1 fits more than one")],
        ),
        (
            json!({"not": {"type": "null"}}),
            vec![json!(1)],
            vec![(json!(null), "null fits the schema in `not`")],
        ),
        (
            json!({"if": {"required": ["a"]}, "then": {"required": ["b"]}, "else": {"required": ["c"]}}),
            vec![json!({"a": 1, "b": 1}), json!({"c": 1})],
            vec![(json!({"a": 1}), "\"b\" is"), (json!({}), "\"c\" is")],
        ),
        (
            json!({"$ref": "#/$defs/tree", "$defs": {"tree": {"type": "array", "items": {"$ref": "#/$defs/tree"}}}}),
            vec![json!([[], [[]]])],
            vec![(json!([[1]]), "at /0/0: 1 is not of type \"array\"")],
        ),
    ];
    for (schema, fitting, wrong) in cases {
        assert_eq!(check(&schema), Ok(()), "{schema}");
        for value in fitting {
            assert_eq!(mistakes(&schema, &value), [""; 0], "{schema}: {value}");
        }
        for (value, beginning) in wrong {
            let found = mistakes(&schema, &value);
            assert!(
                found.first().is_some_and(|first| first.starts_with(beginning)),
                "{schema}: {value}: {found:?}"
            );
        }
    }
}

#[test]
fn a_schema_that_could_not_be_kept_is_refused_with_its_place() {
    for (schema, at, word) in [
        (json!({"requried": ["a"]}), "/requried", "not a keyword"),
        (json!({"properties": {"a": {"type": "text"}}}), "/properties/a/type", "expected one or more of"),
        (json!({"unevaluatedProperties": false}), "/unevaluatedProperties", "not a keyword"),
        (json!({"items": [{"type": "string"}]}), "/items", "a schema is a table"),
        (json!({"required": "a"}), "/required", "list of strings"),
        (json!({"required": ["a", "a"]}), "/required", "twice"),
        (json!({"minLength": -1}), "/minLength", "not negative"),
        (json!({"maximum": "1"}), "/maximum", "a number"),
        (json!({"multipleOf": 0}), "/multipleOf", "greater than 0"),
        (json!({"pattern": "("}), "/pattern", "regular expression"),
        (json!({"patternProperties": {"(?=a)": true}}), "/patternProperties/(?=a)", "regular expression"),
        (json!({"enum": []}), "/enum", "list of values"),
        (json!({"anyOf": []}), "/anyOf", "list of schemas"),
        (json!({"uniqueItems": 1}), "/uniqueItems", "`true` or `false`"),
        (json!({"$ref": "#/$defs/gone"}), "/$ref", "nothing is at"),
        (json!({"$ref": "other.json"}), "/$ref", "another document"),
        (json!({"$ref": "#/default", "default": {"typ": 1}}), "/default/typ", "not a keyword"),
        (json!([]), "", "a schema is a table"),
    ] {
        let error = check(&schema).expect_err("it is refused");
        assert_eq!(error.at, at, "{schema}: {error}");
        assert!(error.what.contains(word), "{schema}: {error}");
    }
    let hint = check(&json!({"requried": ["a"]})).expect_err("a typo").hint;
    assert_eq!(hint.as_deref(), Some("did you mean `required`?"));
}

#[test]
fn no_schema_and_no_value_take_forever() {
    let endless = json!({"$ref": "#"});
    assert_eq!(check(&endless), Ok(()));
    assert_eq!(mistakes(&endless, &json!(1)), ["the schema refers to itself without end"]);
    // Each level tries both branches: 2^256 steps without a bound.
    let doubling = json!({"anyOf": [{"allOf": [{"$ref": "#"}]}, {"$ref": "#"}]});
    assert_eq!(check(&doubling), Ok(()));
    assert!(mistakes(&doubling, &json!(1)).iter().any(|mistake| mistake.contains("too long")));
    let many: Vec<Value> = (0..10_000).map(|_| json!("x")).collect();
    let found = mistakes(&json!({"items": {"type": "null"}}), &json!(many));
    assert_eq!(found.len(), 9);
    assert_eq!(found.last().map(String::as_str), Some("and 9992 more"));
}
