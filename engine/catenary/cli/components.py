"""`components`: list what a chain can be made of, or explain one component."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import click

from catenary.cli._output import format_option
from catenary.cli._parts import add_components, component_option

if TYPE_CHECKING:
    from collections.abc import Iterator

    from catenary.component import Component, Example
    from catenary.jsontext import Json
    from catenary.registry import Registry


@click.command(short_help="List the components, or explain one of them.")
@click.argument("node_type", metavar="[TYPE]", required=False)
@format_option("text", "json", help="Text to read, or what --form gives.")
@click.option("--form", "as_form", is_flag=True, help="Print the forms that editors use, as JSON.")
@click.option("--schema", "as_schema", is_flag=True, help="Print the JSON Schema of the options of each component.")
@click.option("--category", metavar="NAME", help="Only the components of one category.")
@component_option
def components(node_type: str | None, components: tuple[str, ...], category: str | None, **how: Any) -> None:
    """List the components by category, or explain one TYPE: options, defaults, relations, examples.

    Forms and schemas of all components come as a list, sorted by category, order and type; with TYPE as one object.

    \b
    Examples:
      catenary components
      catenary components restApiCall
      catenary components ai/agent --form
      catenary components --schema --category filter
      catenary components acme/hot --component acme/hot=hot.yaml
    """
    from catenary.registry import Registry

    registry = Registry()
    add_components(registry, components)
    if node_type is not None:
        need_type(registry, node_type)
    if category is not None and category not in registry.categories():
        known = ", ".join(registry.categories())
        raise click.BadParameter(f"there is no category {category!r}; there are: {known}", param_hint="'--category'")
    types = [node_type] if node_type else registry.types(category)
    if how["as_schema"]:
        _write_json([registry.schema(name) for name in types], single=node_type is not None)
    elif how["as_form"] or how["form"] == "json":
        _write_json([registry.form(name) for name in types], single=node_type is not None)
    elif node_type:
        click.echo("\n".join(_explained(registry, node_type)))
    else:
        click.echo("\n".join(_listed(registry, category)))
        for package, reason in registry.broken.items():
            click.echo(f"warning: the components of {package!r} are missing: {reason}", err=True)


def need_type(registry: Registry, node_type: str) -> None:
    """Make sure that there is such a type. Raises: click.BadParameter: when there is none."""
    if registry.find(node_type) is None:
        text = f"there is no component {node_type!r}; {registry.hint(node_type)}"
        raise click.BadParameter(text, param_hint="'TYPE'")


def _write_json(values: list[dict[str, Json]], *, single: bool) -> None:
    import json

    click.echo(json.dumps(values[0] if single else values, ensure_ascii=False, indent=2))


def _listed(registry: Registry, only: str | None) -> Iterator[str]:
    width = max((len(name) for name in registry.types(only)), default=0)
    for category in [only] if only else registry.categories():
        yield click.style(category, bold=True)
        for name in registry.types(category):
            summary = _plain(registry.form(name)["desc"])
            yield from _wrapped(f"  {name:{width}}  {summary}", width + 4)
        yield ""
    yield "`catenary components TYPE` explains one."


def _explained(registry: Registry, node_type: str) -> Iterator[str]:
    component = registry.get(node_type)
    form: dict[str, Any] = registry.form(node_type)
    also = f", also {', '.join(form['aliases'])}" if form["aliases"] else ""
    yield f"{click.style(form['type'], bold=True)}{also} (category {form['category']}, since {form['version'] or '?'})"
    yield ""
    for paragraph in (inspect.getdoc(component) or "").split("\n\n"):
        yield from _wrapped(_plain(paragraph))
        yield ""
    yield from _relations(component)
    yield from _options(form["fields"], _other_names(component))
    yield from _examples(component, form["type"])


def _relations(component: type[Component[Any]]) -> Iterator[str]:
    if component.ends or component.brings_in:
        return
    yield click.style("Relations", bold=True)
    for relation in component.relations:
        yield from _wrapped(f"  {relation:12}  {relation.help}", 16)
    if component.free_relations or not component.relations:
        yield "  those that the chain names" if not component.relations else "  and those that the chain names"
    yield ""


def _other_names(component: type[Component[Any]]) -> dict[str, str]:
    """Give the other names of each option that has any, as one text."""
    from catenary.load.decode import dsl_name, extra_of

    fields = component.config_type().model_fields.items()
    return {dsl_name(name, field): ", ".join(extra_of(field, "also") or ()) for name, field in fields}


def _options(fields: list[dict[str, Any]], also: dict[str, str], indent: str = "  ") -> Iterator[str]:
    if indent == "  ":
        yield click.style("Options", bold=True) if fields else "No options.\n"
    for field in fields:
        unit = f" in {field['unit']}" if field.get("unit") else ""
        default = "required" if field["required"] else f"default {_json(field['defaultValue'])}"
        if field.get("fields") and not field["required"]:  # the parts below it have defaults of their own
            default = "optional"
        names = f", also {also[field['name']]}" if also.get(field["name"]) else ""
        line = f"{indent}{click.style(field['name'], fg='cyan')}{names}  {field['type']}{unit}, {default}"
        yield from _wrapped(line, 8)
        yield from _wrapped(f"{indent}    {_plain(field['desc'])}", len(indent) + 4)
        control: dict[str, Any] = field["component"] or {}
        choices = [str(choice["value"]) for choice in control.get("options", ())]
        if choices:
            yield f"{indent}    One of: {', '.join(choices)}"
        yield from _options(field.get("fields", []), {}, f"{indent}    ")
    if fields and indent == "  ":
        yield ""


def _examples(component: type[Component[Any]], node_type: str) -> Iterator[str]:
    if not component.examples:
        return
    yield click.style("Examples", bold=True)
    for example in component.examples:
        yield from _wrapped(f"  {example.text[:1].upper()}{example.text[1:]}:", 2)
        node = {"id": "s1", "type": node_type, "configuration": dict(example.config)}
        yield from (f"    {line}" for line in _json(node, indent=2).splitlines())
        yield from (f"    {line}" for line in _passages(example))
        yield ""


def _passages(example: Example) -> Iterator[str]:
    """Give what goes in and how it leaves, one line a message."""
    for number, relation in enumerate(example.leaves_by):
        given = example.inputs[number] if number < len(example.inputs) else ""
        shown = given if isinstance(given, str) else _json(given)
        result = ""
        if example.data is not None and number < len(example.data):
            result = f" with {_json(example.data[number])}"
        yield f"{shown or '(empty)'} -> {relation or 'ends here'}{result}"


def _json(value: Json, indent: int | None = None) -> str:
    import json

    return json.dumps(value, ensure_ascii=False, indent=indent, default=str)


def _plain(text: str) -> str:
    return " ".join(text.split())


def _wrapped(text: str, indent: int = 0) -> Iterator[str]:
    """Give a text as lines that fit the terminal; lines after the first are set in."""
    import shutil
    import textwrap

    width = min(shutil.get_terminal_size((100, 24)).columns, 120)
    yield from textwrap.wrap(text, width, subsequent_indent=" " * indent, break_on_hyphens=False) or [""]
