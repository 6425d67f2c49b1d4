"""`schema`: print the JSON Schema of the chain language, for editors and checkers."""

from __future__ import annotations

import click

from catenary.cli._parts import add_components, component_option


@click.command(short_help="Print the JSON Schema of the chain language.")
@click.argument("node_type", metavar="[TYPE]", required=False)
@click.option("--tests", is_flag=True, help="Print that of files of chain tests instead.")
@component_option
def schema(node_type: str | None, tests: bool, components: tuple[str, ...]) -> None:
    """Print the JSON Schema of chains, with all components in it, or of the configuration of one TYPE.

    \b
    Examples:
      catenary schema > chain.schema.json
      catenary schema restApiCall
      catenary schema --component acme/hot=hot.yaml > chain.schema.json
      catenary schema --tests > chain-tests.schema.json
    """
    import json

    from catenary.cli.components import need_type
    from catenary.registry import Registry

    if tests:
        if node_type is not None:
            raise click.UsageError("give a TYPE or --tests, not both")
        from catenary.testing.chains import suite_schema

        click.echo(json.dumps(suite_schema(), ensure_ascii=False, indent=2))
        return
    registry = Registry()
    add_components(registry, components)
    if node_type is not None:
        need_type(registry, node_type)
    found = registry.chain_schema() if node_type is None else registry.schema(node_type)
    click.echo(json.dumps(found, ensure_ascii=False, indent=2))
