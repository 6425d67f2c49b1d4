"""`text/template`: write the payload anew as text, by a Jinja2 document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from catenary import FAILURE, SUCCESS
from catenary.component import Component, Config, Context, Emission, Example, option, register
from catenary.expr import Document  # noqa: TC001 - read by pydantic

if TYPE_CHECKING:
    from catenary import Message

_DUMP: Final = """id: {{ id }}
ts: {{ ts }}
type: {{ type }}
msgType: {{ msgType }}
data: {{ data | escape }}
dataType: {{ dataType }}"""


class TemplateConfig(Config):
    """Settings of one `text/template` node."""

    template: Document = option(
        _DUMP,
        validate_default=True,
        help="The text as Jinja2 document, or `file:` and the path of one, which is read when the chain is loaded.",
        examples=["{{ metadata.device }} is at {{ msg.t }} degrees", "file:mails/alarm.j2"],
    )


@register("text/template", category="transform", since="0.1", label="Text template")
class TextTemplate(Component[TemplateConfig]):
    """Write the payload anew as text, by a Jinja2 document.

    Names and functions are those of `${...}` templates: `msg`, `metadata`, `msgType`, `global`, `vars`, metadata keys,
    ids of nodes; functions work as filters too, as in `{{ msg.name | upper }}`. Data type, message type and metadata
    stay. What is not there prints as nothing; to work with it is an error, which leaves by `Failure`.

    Documents run in a sandbox: plain data only, 2 seconds, a million steps, 10 million characters. `{% include %}`,
    `{% import %}` and `{% extends %}` read files beside the chain, in `global.data_dir` and in the engine's roots.
    """

    relations = (SUCCESS, FAILURE)
    pure = True
    examples = (
        Example(
            "a sentence out of a payload",
            config={
                "template": "{{ msg.name }} has {% for x in msg.xs %}{{ x }}{{ ', ' if not loop.last }}{% endfor %}"
            },
            inputs=[{"name": "Ann", "xs": [1, 2.0]}],
            leaves_by=["Success"],
            data=["Ann has 1, 2"],
        ),
        Example(
            "text is escaped for quotes",
            config={"template": '{"said": "{{ msg.text | escape }}"}'},
            inputs=[{"text": 'a "b"\nc'}],
            leaves_by=["Success"],
            data=['{"said": "a \\"b\\"\\nc"}'],
        ),
        Example(
            "a field of what is not there is an error",
            config={"template": "{{ msg.owner.name }}"},
            inputs=[{"name": "Ann"}],
            leaves_by=["Failure"],
        ),
    )

    def run(self, ctx: Context, msg: Message) -> Emission:
        return SUCCESS, msg.with_data(self.config.template.render(msg, ctx))
