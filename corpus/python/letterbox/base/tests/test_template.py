import pytest

from letterbox import Template, TemplateError


def test_field_is_replaced():
    assert Template("Hello {{ name }}!").render({"name": "Ann"}) == "Hello Ann!"


def test_spaces_are_optional():
    assert Template("{{name}}").render({"name": "Ann"}) == "Ann"


def test_filters():
    values = {"name": "ann LEE"}
    assert Template("{{ name | upper }}").render(values) == "ANN LEE"
    assert Template("{{ name | lower }}").render(values) == "ann lee"
    assert Template("{{ name | title }}").render(values) == "Ann Lee"


def test_default_for_missing_and_empty():
    template = Template("Dear {{ name | default:member }}")
    assert template.render({}) == "Dear member"
    assert template.render({"name": ""}) == "Dear member"
    assert template.render({"name": "Ann"}) == "Dear Ann"


def test_filters_run_from_left_to_right():
    assert Template("{{ name | default:member | upper }}").render({}) == "MEMBER"


def test_missing_field_is_named():
    with pytest.raises(TemplateError, match="missing field 'seat'"):
        Template("{{ seat }}").render({"name": "Ann"})


def test_unknown_filter_fails_early():
    with pytest.raises(TemplateError, match="unknown filter 'shout'"):
        Template("{{ name | shout }}")


def test_invalid_field():
    with pytest.raises(TemplateError, match="invalid field"):
        Template("{{ first name }}")


def test_escaped_braces():
    assert Template("{{{{ name }}").render({}) == "{{ name }}"


def test_fields_in_order():
    assert Template("{{ b }} {{ a | upper }} {{ b }}").fields == ["b", "a"]
