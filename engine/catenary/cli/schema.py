"""`schema`: print the JSON Schema of the chain language, for editors and checkers."""

from __future__ import annotations

import click


@click.command(short_help="Print the JSON Schema of the chain language.")
@click.argument("node_type", metavar="[TYPE]", required=False)
def schema(node_type: str | None) -> None:
    """Print the JSON Schema of chains, with all components in it, or of the configuration of one TYPE.

    \b
    Examples:
      catenary schema > chain.schema.json
      catenary schema restApiCall
    """
    import json

    from catenary.cli.components import need_type
    from catenary.registry import Registry

    registry = Registry()
    if node_type is not None:
        need_type(registry, node_type)
    found = registry.chain_schema() if node_type is None else registry.schema(node_type)
    click.echo(json.dumps(found, ensure_ascii=False, indent=2))
