"""The pages of the components, and the catalogue that lists them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from catenary.docsgen.markdown import code, fenced, file_name, json_code, of_docstring, page, table
from catenary.load.decode import dsl_name, extra_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from catenary.component import Component, Example
    from catenary.message import Message
    from catenary.registry import Registry


def component_pages(registry: Registry) -> dict[str, str]:
    """Give a page for each component, by file name, and the catalogue as `README.md`."""
    found = {file_name(name): _page(registry, name) for name in registry.types()}
    return {"README.md": _catalogue(registry), **found}


def _catalogue(registry: Registry) -> str:
    parts = ["What the nodes of a chain can be. `catenary components` prints the same list."]
    for category in registry.categories():
        rows = [_row(registry, name) for name in registry.types(category)]
        parts.append(f"## {category}\n\n{table(('Type', 'What it does', 'Relations'), rows)}")
    return page("Components", *parts)


def _row(registry: Registry, name: str) -> tuple[str, str, str]:
    form: dict[str, Any] = registry.form(name)
    return f"[`{name}`]({file_name(name)})", form["desc"], ", ".join(_relation_names(registry.get(name)))


def _relation_names(component: type[Component[Any]]) -> list[str]:
    names = [code(relation) for relation in component.relations]
    if component.ends or component.brings_in:
        return ["none"]
    return [*names, "those that the chain names"] if component.free_relations or not names else names


def _page(registry: Registry, name: str) -> str:
    component = registry.get(name)
    form: dict[str, Any] = registry.form(name)
    facts = [f"Category {code(form['category'])}", f"since {form['version'] or 'the first version'}"]
    if form["aliases"]:
        facts.append("also called " + ", ".join(code(alias) for alias in form["aliases"]))
    return page(
        code(name),
        ", ".join(facts) + ".",
        of_docstring(component),
        "## Options\n\n" + (_options(component, form) or "None."),
        _routers(form) if component.brings_in else "## Relations\n\n" + _relations(component),
        _examples(component, name),
    )


def _options(component: type[Component[Any]], form: dict[str, Any]) -> str:
    fields = component.config_type().model_fields.items()
    own = {dsl_name(name, field): field for name, field in fields}
    rows: list[tuple[str, str, str, str]] = []
    for field, path in _flat(form["fields"]):
        names = code(path)
        option = own.get(path)
        if option is not None and extra_of(option, "also"):
            names += ", also " + ", ".join(code(other) for other in extra_of(option, "also"))
        rows.append((names, _kind(field), _default(field), _help(field, option)))
    return table(("Option", "Type", "Default", "Meaning"), rows)


def _flat(fields: list[dict[str, Any]], prefix: str = "") -> Iterator[tuple[dict[str, Any], str]]:
    """Give options and what is inside them, with the path of each: `tools[].name`."""
    for field in fields:
        path = prefix + field["name"]
        yield field, path
        mark = {"array": "[].", "map": ".*."}.get(field["type"], ".")
        yield from _flat(field.get("fields", []), path + mark)


def _kind(field: dict[str, Any]) -> str:
    hint: dict[str, Any] = field["component"] or {}
    choices = [json_code(choice["value"]) for choice in hint.get("options", ())]
    shown = " or ".join(choices)
    if hint.get("type") == "codeEditor":
        shown = str(hint["language"])
    unit = f", {field['unit']}" if field.get("unit") else ""
    return (shown or field["type"]) + unit


def _default(field: dict[str, Any]) -> str:
    if field["required"]:
        return "required"
    if field.get("fields"):  # what is inside has rows of its own
        return ""
    return "" if field["defaultValue"] is None else json_code(field["defaultValue"])


def _help(field: dict[str, Any], option: Any) -> str:
    text = field["desc"]
    examples = list(option.examples or ()) if option is not None else []
    if examples:
        text += f" For example {', '.join(json_code(example) for example in examples)}."
    if option is not None and extra_of(option, "secret"):
        text += " Secret: masked wherever settings are shown."
    return text


def _relations(component: type[Component[Any]]) -> str:
    if component.ends:
        return "None: branches end here."
    rows = [(code(relation), relation.help) for relation in component.relations]
    if component.free_relations or not rows:
        rows.append(("any other" if rows else "any", "The chain's author names them."))
    return table(("Relation", "When"), rows)


def _routers(form: dict[str, Any]) -> str:
    """Say what a router may hold; each endpoint's text says what it makes of it."""
    rows = [(code(path), _kind(field), _default(field), field["desc"]) for field, path in _flat(form["router"])]
    intro = "It stands under `metadata.endpoints`, see [endpoints](../../endpoints.md). Each of its `routers` has:"
    return f"## Routers\n\n{intro}\n\n{table(('Key', 'Type', 'Default', 'Meaning'), rows)}"


def _examples(component: type[Component[Any]], name: str) -> str:
    if not component.examples:
        return ""
    return "\n\n".join(["## Examples", *(_example(example, name) for example in component.examples)])


def _example(example: Example, name: str) -> str:
    node = {"id": "s1", "type": name, "configuration": dict(example.config)}
    parts = [f"{example.text[:1].upper()}{example.text[1:]}:", fenced(_shown(node), "json")]
    passages = list(_passages(example))
    if passages:
        parts.append(table(("Message", "Leaves by", "With the data"), passages))
    return "\n\n".join(parts)


def _shown(node: dict[str, Any]) -> str:
    return json.dumps(node, ensure_ascii=False, indent=2, default=str)


def _passages(example: Example) -> Iterator[tuple[str, str, str]]:
    for number, relation in enumerate(example.leaves_by):
        given = example.inputs[number] if number < len(example.inputs) else ""
        data = example.data[number] if example.data is not None and number < len(example.data) else None
        after = "as it came" if data is None else code(_data(data))
        yield code(_data(given)) or "empty", code(relation) or "ends here", after


def _data(value: Any) -> str:
    """Give the data of an input of an example: a whole message shows its wire form."""
    from catenary.message import Message

    if isinstance(value, Message):
        return _message(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _message(message: Message) -> str:
    """Give a message without its id and time, which are made anew each time."""
    written = {key: value for key, value in message.to_dict().items() if key not in {"id", "ts"} and value}
    return json.dumps(written, ensure_ascii=False)
