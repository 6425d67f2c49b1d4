"""The checks that come with it: what is never run, and what is asked about, in shell texts and in any argument."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from catenary_components.ai.permission.checks import Check

if TYPE_CHECKING:
    from catenary_components.ai.permission.checks import Category

_SHELL: Final = "bash"
_PIPED: Final = r"\|[\s(]*(?:sudo\s+)?(?:/\S*/)?(?:ba|z|da|k|fi)?sh\b"
_DISK: Final = "/dev/(?:sd|hd|vd|xvd|nvme|mmcblk|disk|mapper)"
_RECURSIVE: Final = r"\s-[a-zA-Z]*[rR]|\s--recursive"


def _fatal(id_: str, title: str, *patterns: str, category: Category = "resource_abuse") -> Check:
    return Check(id_, patterns, title, "critical", category=category, tool=_SHELL)


def _risky(id_: str, title: str, *patterns: str, exclude: str = "", remedy: str = "") -> Check:
    return Check(id_, patterns, title, "high", category="resource_abuse", tool=_SHELL, exclude=exclude, remedy=remedy)


def _anywhere(id_: str, title: str, pattern: str, category: Category = "resource_abuse") -> Check:
    return Check(id_, (pattern,), title, "high", category=category)


def _secret(id_: str, title: str, pattern: str) -> Check:
    return _anywhere(id_, title, pattern, "credential_exposure")


STANDARD: Final = (
    _fatal("shell.delete-root", "removes all files", r"^rm\s", _RECURSIVE, r"\s/+[*.]*(?:\s|$)"),
    _fatal("shell.make-filesystem", "makes a file system anew", r"^mkfs(?:[.\s]|$)"),
    _fatal("shell.raw-device", "writes to a disk", r"(?:^dd\s.*\bof=|^> |^tee\s.*)" + _DISK),
    _fatal("shell.kill-init", "ends the first process", r"^kill\s+(?:-[A-Z0-9]+\s+|-[sn]\s+\S+\s+)?1(?:\s|$)"),
    _fatal("shell.curl-pipe", "runs what it downloads", r"\bcurl\b[^;&\n]*" + _PIPED, category="code_execution"),
    _fatal("shell.wget-pipe", "runs what it downloads", r"\bwget\b[^;&\n]*" + _PIPED, category="code_execution"),
    _fatal("shell.fork-bomb", "starts itself without end", r"(?:\w+|:)\s*\(\)\s*\{[^}]*\|[^}]*&\s*\}"),
    _fatal(
        "shell.reverse-shell",
        "gives somebody else a shell",
        r"/dev/(?:tcp|udp)/|^n(?:c|cat|etcat)\s(?:.*\s)?-\w*[ec]\b|^socat\b.*\b(?i:exec):",
        category="network_abuse",
    ),
    _risky("shell.remove", "removes files", r"^(?:rm|unlink|shred)\s"),
    _risky("shell.remove-tree", "removes a folder with all in it", r"^rm\s", _RECURSIVE),
    _risky("shell.remove-absolute", "removes what is named from the root", r"^rm\s(?:.*\s)?/"),
    _risky("shell.remove-folder", "removes a folder named from the root", r"^rmdir\s(?:.*\s)?/"),
    _risky("shell.find-delete", "removes what it finds", r"^find\s(?:.*\s)?-delete\b"),
    _risky("shell.shutdown", "switches the machine off", r"^(?:shutdown|poweroff|halt)\b"),
    _risky("shell.reboot", "starts the machine anew", r"^reboot\b"),
    _risky("shell.chmod-all", "lets everybody change files", r"^chmod\s.*(?:\b0?777\b|a[+=]rwx)"),
    _risky(
        "git.force-push",
        "overwrites what others have pushed",
        r"^git\s(?:.*\s)?push\b",
        r"\s--force(?:\s|$)|\s-[a-zA-Z]*f|\s\+\S",
        remedy="Use --force-with-lease.",
    ),
    _risky("git.hard-reset", "throws changes away", r"^git\s(?:.*\s)?reset\s(?:.*\s)?--hard\b"),
    _risky("shell.crontab", "changes what runs at times", r"^crontab\b", exclude=r"^crontab\s+-l\s*$"),
    _risky("shell.base64-pipe", "runs what is hidden in it", r"\bbase64\b[^;&\n]*" + _PIPED),
    _anywhere("sql.drop", "drops a table or more", r"(?i)\bdrop\s+(?:table|database|schema|view)\b"),
    _anywhere("sql.truncate", "empties a table", r"(?i)\btruncate\s+table\b"),
    _anywhere("sql.delete-all", "deletes all rows", r"(?i)\bdelete\s+from\s+[\w.\"`]+\s*(?:[;\"']|$)"),
    _anywhere("sql.alter-drop", "drops a column", r"(?i)\balter\s+table\s[^;]*\sdrop\b"),
    _anywhere("code.eval", "evaluates text as a program", r"\beval\s*\(", "code_execution"),
    _anywhere("files.authorized-keys", "says who may log in", r"\bauthorized_keys\b", "privilege_escalation"),
    _anywhere("files.sudoers", "says who may do all", r"/etc/sudoers\b|\bvisudo\b", "privilege_escalation"),
    _secret(
        "secret.password",
        "holds a password",
        r"(?i)\b(?:password|passwd|pwd|secret|api_?key|token)[\"']?\s*[:=]\s*[\"']?[^\s\"'${}<>,;&|]{6,}",
    ),
    _secret("secret.aws-key", "holds a key of AWS", r"\bA[KS]IA[0-9A-Z]{16}\b"),
    _secret("secret.jwt", "holds a signed token", r"\beyJ[\w-]{5,}\.[\w-]{5,}\.[\w-]+"),
    _secret("secret.github-token", "holds a token of GitHub", r"\bgh[pousr]_\w{20,}|\bgithub_pat_\w{20,}"),
    replace(
        _secret("secret.private-key", "holds a private key", "-----BEGIN [A-Z ]*PRIVATE KEY-----"), decision="deny"
    ),
)
"""The checks that an agent with `checks: [builtin]` has."""
