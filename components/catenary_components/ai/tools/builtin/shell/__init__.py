"""What a shell text runs: read before it is run, and refused when it cannot be read.

```python
script = parse("git log | head -n 3 > out.txt")
[command.name for command in script.commands]  # ['git', 'head']
```
"""

from __future__ import annotations

from catenary_components.ai.tools.builtin.shell.grammar import parse
from catenary_components.ai.tools.builtin.shell.script import Command, Redirect, Script, ShellSyntaxError, Word

__all__ = ["Command", "Redirect", "Script", "ShellSyntaxError", "Word", "parse"]
