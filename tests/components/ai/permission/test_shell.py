"""What rules are about: texts for a shell, paths, addresses, and arguments of all other tools."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cases import times

from catenary_components.ai.permission.gate import suggestions
from catenary_components.ai.permission.rules import Rule, RuleError, read_rule, stored_rule
from catenary_components.ai.permission.subject import Subject
from catenary_components.ai.tools.tool import Tool

if TYPE_CHECKING:
    from pathlib import Path


def subject(name: str, base: Any = "/work", *, kind: str = "builtin", main: str = "", **arguments: Any) -> Subject:
    main = main or {"bash": "command", "fetch": "url"}.get(name, "path" if kind == "builtin" else "")
    tool = Tool(name, "", {}, work=None, kind=kind, main_argument=main)  # type: ignore[arg-type] - never run
    return Subject(tool, arguments, str(base))


def shell(text: str) -> Subject:
    return subject("bash", command=text)


def allowed(one: Subject, *rules: str) -> bool:
    return one.is_allowed_by([read_rule(rule) for rule in rules]) is not None


def stopped(one: Subject, rule: Any) -> bool:
    return one.is_stopped_by(read_rule(rule, behavior="deny"))


@pytest.mark.parametrize(
    "text",
    [
        "git status",
        "git log --oneline -3",
        "git 'status'",
        "git status && git diff",
        "git status; git log",
        "git log | git shortlog",
        "git log > /dev/null 2>&1",
        "git log 2>/dev/null",
    ],
)
def test_an_allow_rule_for_a_command_covers_texts_of_which_all_parts_are_that(text: str) -> None:
    assert allowed(shell(text), "bash(git *)")


@pytest.mark.parametrize(
    "text",
    [
        "rm -rf x",
        "git status; rm -rf x",
        "git status && rm x",
        "git log | sh",
        "git status & rm x",
        "git log $(rm x)",
        "git log `rm x`",
        "git log > notes.txt",
        "git log >> ~/.bashrc",
        "git log &> all.txt",
        "git log <(rm x)",
        "(rm x; git status)",
        "if git status; then rm x; fi",
        "for f in a b; do rm $f; done",
        "f() { rm x; }; git status",
        "env rm x",
        "gitx status",
        "/tmp/git status",
        "git 'unclosed",
        "eval 'rm x'",
    ],
)
def test_an_allow_rule_for_a_command_does_not_cover_what_else_is_in_the_text(text: str) -> None:
    assert not allowed(shell(text), "bash(git *)")


def test_several_rules_may_cover_a_text_together() -> None:
    assert allowed(shell("git log | head -3"), "bash(git *)", "bash(head *)")
    assert not allowed(shell("git log | head -3 | sh"), "bash(git *)", "bash(head *)")


@pytest.mark.parametrize(
    "text", ["sudo git log", "doas git log", "nice sudo -u bob git log", "env time -o out git log"]
)
def test_an_allow_rule_for_a_command_does_not_cover_who_runs_it_or_what_the_one_before_it_writes(text: str) -> None:
    assert not allowed(shell(text), "bash(git *)")
    assert allowed(shell(text), "bash(git *)", "bash(sudo *)", "bash(doas *)", "bash(time *)")


@pytest.mark.parametrize(
    "text", ["nice git log", "env A=1 git log", "timeout 5 git log", "nohup git log", "time git log"]
)
def test_an_allow_rule_for_a_command_covers_it_behind_programs_that_only_start_it(text: str) -> None:
    assert allowed(shell(text), "bash(git *)")


@pytest.mark.parametrize("text", ["xargs touch a", "xargs -I{} touch a{}", "find . -exec touch {} +"])
def test_a_word_from_elsewhere_fits_no_pattern_but_a_star(text: str) -> None:
    assert not allowed(shell(text), "bash(touch a)", "bash(touch a{})", "bash(touch {})", "bash(find *)")
    assert allowed(shell(text), "bash(touch *)", "bash(find *)")


@pytest.mark.parametrize("text", ["git checkout $branch", "git checkout *.txt", "git checkout $(cat name)"])
def test_a_word_that_the_shell_makes_fits_no_pattern_but_a_star(text: str) -> None:
    assert not allowed(shell(text), "bash(git checkout ma?n)", "bash(git checkout main)")


def test_a_rule_that_names_exactly_this_text_covers_it_whatever_it_does() -> None:
    text = "rm [a-z]*; ls > out.txt"
    (rule,) = suggestions(shell(text))
    assert shell(text).is_allowed_by([rule]) is rule
    assert shell(text + " ").is_allowed_by([rule]) is None
    assert shell("rm b; ls > out.txt").is_allowed_by([rule]) is None


@pytest.mark.parametrize(
    "text",
    [
        "rm -rf x",
        "ls; rm -rf x",
        "ls && rm x",
        "echo $(rm x)",
        "echo `rm x`",
        "/bin/rm x",
        "env A=1 rm x",
        "'r'm x",
        "r\\m x",
        "xargs rm x",
        "timeout 5 rm x",
        "while true; do rm x; done",
        "(cd a && rm x)",
    ],
)
def test_a_deny_rule_is_about_any_part_of_a_text_however_it_is_written(text: str) -> None:
    assert stopped(shell(text), "bash(rm *)")


@pytest.mark.parametrize("text", ["echo rm x", "ls rm", "grep 'rm x' notes.txt", "rmdir x"])
def test_a_deny_rule_is_not_about_words_that_only_look_like_it(text: str) -> None:
    assert not stopped(shell(text), "bash(rm *)")


@pytest.mark.parametrize(
    ("text", "looks"),
    [
        ("ls -la", True),
        ("cat notes.txt | grep bolt | wc -l", True),
        ("git status", True),
        ("find . -name '*.py'", True),
        ("ls > out.txt", False),
        ("ls > /dev/null", True),
        ("find . -delete", False),
        ("find . -exec rm {} +", False),
        ("git push", False),
        ("git log --output=x", False),
        ("git diff --ext-diff", False),
        ("sed -i s/a/b/ x", False),
        ("PAGER=sh git log", False),
        ("sudo ls", False),
        ("doas cat x", False),
        ("nice ls", True),
        ("env time -o x ls", False),
        ("tree $(echo -o)x", False),
        ("for x in -ox; do tree $x; done", False),
        ("tree ./$x", False),
        ('tree ./"$x"', True),
        ("git status $(echo --output=f)", False),
        ("ls | xargs cat", True),
        ("ls | xargs tree", False),
        ("ls $(rm x)", False),
        ("./ls", False),
        ("tree -o x", False),
        ("ls; touch x", False),
        ("ls 'unclosed", False),
    ],
)
def test_a_text_of_which_it_is_known_that_it_changes_nothing_only_looks(text: str, looks: bool) -> None:
    assert shell(text).is_read_only is looks


@settings(max_examples=times(100))
@given(st.text(max_size=40))
def test_no_text_is_allowed_by_a_rule_that_denies_it_as_well(text: str) -> None:
    one = shell(text)
    if allowed(one, "bash(git *)"):
        assert stopped(one, "bash(git *)")


# Paths


def test_a_pattern_for_a_path_is_about_where_it_really_leads(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "link").symlink_to("/etc")
    assert allowed(subject("write", tmp_path, path="src/a.py"), "write(src/*)")
    assert allowed(subject("write", tmp_path, path=str(tmp_path / "src/a.py")), "write(src/*)")
    assert not allowed(subject("write", tmp_path, path="src/../../a.py"), "write(src/*)")
    assert not allowed(subject("write", tmp_path, path="link/passwd"), "write(link/*)")
    assert stopped(subject("write", tmp_path, path="link/passwd"), "write(/etc/*)")
    assert stopped(subject("write", tmp_path, path="src/../x/a.py"), "write(x/*)")


def test_a_home_folder_is_looked_up() -> None:
    home = os.path.expanduser("~")  # noqa: PTH111
    assert stopped(subject("read", path="~/notes.txt"), f"read({os.path.realpath(home)}/*)")


# Others


def test_a_tool_without_a_main_argument_is_matched_on_all_of_them_in_order() -> None:
    one = subject("send", kind="function", to="ann", at={"b": 1, "a": 2})
    assert one.main == '{"at":{"a":2,"b":1},"to":"ann"}'
    assert allowed(one, 'send(*"to":"ann"*)')
    assert not allowed(one, 'send(*"to":"bob"*)')


def test_a_function_that_is_called_like_a_shell_is_none() -> None:
    assert subject("bash", kind="function", main="command", command="rm x").is_shell is False


def test_a_condition_that_cannot_be_evaluated_never_allows_and_always_stops() -> None:
    broken = {"tool": "send", "when": "msg.no.such + 1 > 2"}
    one = subject("send", kind="function", to="ann")
    assert one.is_allowed_by([read_rule(broken)]) is None
    assert stopped(one, broken)


def test_what_is_suggested_for_an_address_is_its_host() -> None:
    (rule,) = suggestions(subject("fetch", url="https://a.example/x?y=1"))
    assert (rule.tool, rule.match, rule.source) == ("fetch", "https://a.example/*", "suggested")
    assert allowed(subject("fetch", url="https://a.example/z"), rule.match and f"fetch({rule.match})")
    assert not allowed(subject("fetch", url="https://a.example.evil/z"), f"fetch({rule.match})")
    (own,) = suggestions(subject("fetch", url="https://ann@a.example/x"))
    assert own.match == "https://ann@a.example/x"


@settings(max_examples=times(100))
@given(st.text(max_size=30), st.text(max_size=30))
def test_a_suggested_rule_lets_the_same_call_pass_and_no_other(text: str, other: str) -> None:
    (rule,) = suggestions(shell(text))
    if rule.match:
        assert shell(text).is_allowed_by([rule]) is rule
        assert (shell(other).is_allowed_by([rule]) is None) == (other != text)


# Rules


@pytest.mark.parametrize("text", ["", "(", "bash(git", "bash git", "two words(x)"])
def test_a_text_that_is_no_rule_is_refused(text: str) -> None:
    with pytest.raises(RuleError, match="is no rule"):
        read_rule(text)


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        (5, "a rule is a text"),
        ({"match": "x"}, "needs the name of a tool"),
        ({"tool": "x", "behavior": "maybe"}, "allow, ask or deny"),
        ({"tool": "x", "pattern": "y"}, "a rule has no 'pattern'"),
        ({"tool": 5}, "tool of a rule must be text"),
        ({"tool": "x", "when": "1 +"}, "the condition of a rule cannot be read"),
    ],
)
def test_an_object_that_is_no_rule_is_refused(rule: Any, why: str) -> None:
    with pytest.raises(RuleError, match=why):
        read_rule(rule)


def test_a_rule_is_kept_whole() -> None:
    rule = Rule("send", "a*", None, "ask", "accepted", "ann", 5)
    assert stored_rule(rule.to_json()) == rule
