"""What the lists of a shell tool let through."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cases import times

from catenary_components.ai.tools.builtin.shell import ShellSyntaxError, parse
from catenary_components.ai.tools.builtin.shell.judge import ShellRules, danger, read_calls

RULES = ShellRules()
ALL_BUT = ShellRules(mode="deny", deny=("curl",))


def _names(text: str) -> list[str]:
    return [call.name for call in read_calls(text)[1]]


@pytest.mark.parametrize(
    "text",
    [
        "ls -l",
        "sudo ls",
        "sudo -u bob -n ls",
        "env A=1 ls",
        "/usr/bin/ls",
        "LS -l",
        "find . -name '*.py' -exec rm {} \\;",
        "find . -type f -name '*.py' | xargs -n 1 wc -l",
        "xargs -I{} cp {} d",
        "timeout -k 1 5 ls",
        "nice -n 5 ls",
        "nohup ls",
        "time ls",
        "command -v curl",
        "bash -c 'ls; wc -l f'",
        "bash -ec ls",
        "eval 'ls -l'",
        "awk '{print $1}' f",
        "awk -F: -v n=1 '$1 > n {s += $2} END {print s}' f",
        "sed -n '1,5p' f",
        "sed 's/e/x/; s|a|b|g' f",
        "sed -i -e 's/a/b/' f",
        "git log --oneline -5",
        "git commit -m \"$(cat <<'EOF'\nwords; rm -rf /\nEOF\n)\"",
        "tar czf a.tgz d",
        "rm -rf build /home/bob/x",
        "export A=1",
        "A=1 ls",
        'for f in *.txt; do mv "$f" "${f%.txt}.md"; done',
        "i=0; while [ $i -lt 3 ]; do i=$((i+1)); done",
        "[[ -f x && $n -lt 3 ]] && echo yes",
        "case $1 in a|b) ls;; *) echo no;; esac",
        "python3 - <<'EOF'\nimport os\nEOF",
        "echo hi > out.txt 2>&1",
        "printf '%s\\n' a b",
        'read -r line < f; echo "$line"',
        "trap 'rm -f x' EXIT",
        "(cd sub && ls) || true",
        "ls # curl",
        "echo 'curl $(curl)'",
        "n=3; [[ $n -lt 4 ]] && ls",
        "git ls-files | xargs git add",
        "find . -name x | xargs -0 grep -l y",
        "xargs -I X cp X d",
        "find . -name x -exec sed -i s/a/b/ {} +",
        "find . -exec sh -c 'wc -l \"$1\"' _ {} \\;",
        'for f in *.txt; do sed -i s/a/b/ -- "$f" && sort ./"$f"; done',
        'git checkout "$branch" && git commit -m "$(date)"',
    ],
)
def test_everyday_commands_may_be_run(text: str) -> None:
    # what needs a variable that is set elsewhere is refused with a reason that says so
    refusal = RULES.refusal(text)
    assert not refusal or "arithmetic reads 'n'" in refusal


@pytest.mark.parametrize(
    "text",
    [
        "curl x",
        "ls; curl x",
        "ls | curl x",
        "ls & curl x",
        "ls\ncurl x",
        "echo $(curl x)",
        "echo `curl x`",
        "cat <(curl x)",
        'echo "${x:-$(curl x)}"',
        "sudo curl x",
        "sudo -u bob curl x",
        "sudo -nu bob curl x",
        "sudo A=1 curl x",
        "doas curl x",
        "env -i A=1 curl x",
        "env -u A curl x",
        "xargs curl",
        "ls | xargs -n1 -I{} curl {}",
        "find . -exec curl {} +",
        "find . -name x -okdir curl {} \\; -print",
        "timeout 5 curl x",
        "nice -5 curl x",
        "nohup setsid curl x",
        "stdbuf -oL curl x",
        "command curl x",
        "builtin command curl x",
        "exec -a ls curl x",
        "busybox curl x",
        "bash -c 'curl x'",
        "bash -xec 'curl x'",
        "bash -o pipefail -c 'curl x'",
        "sh -c \"ls; sh -c 'curl x'\"",
        "eval curl x",
        "eval 'cu''rl x'",
        "trap 'curl x' EXIT",
        "c\\url x",
        "'curl' x",
        'cu""rl x',
        "$'\\x63url' x",
        "/usr/bin/curl x",
        "./curl x",
        "CURL x",
        "f() { curl x; }; f",
        "A=$(curl x) ls",
        "ls > $(curl x)",
        "cat <<EOF\n$(curl x)\nEOF",
        "if true; then curl x; fi",
        "case x in x) curl x;; esac",
        "[[ $(curl x) == y ]]",
        "time -p curl x",
        "! curl x",
        "{ curl x; }",
        "((1)) && curl x",
        "watch curl x",
        "watch 'ls; curl x'",
        "su -c 'curl x'",
        "flock f curl x",
    ],
)
def test_no_command_hides_behind_another(text: str) -> None:
    assert RULES.refusal(text)
    assert "'curl' is denied" in ALL_BUT.refusal(text).lower()


@pytest.mark.parametrize(
    "text",
    [
        "$x",
        "cu$x",
        "$(echo curl) x",
        "c?rl x",
        "{curl,x}",
        "cu{r,}l x",
        "~/x",
        "sudo $x ls",
        "env $x ls",
        "xargs $x",
        'bash -c "$x"',
        "echo ls | bash",
        "bash",
        "bash -s",
        "bash /dev/stdin",
        "bash --rcfile x -c ls",
        "zsh -c ls",
        'eval "$x"',
        "env -S 'curl x'",
        "sudo --odd x ls",
        "sudo -s",
        'find "$x" ls',
        "find * -print",
        "PATH=/tmp ls",
        "export PATH=/tmp",
        "env LD_PRELOAD=x ls",
        "IFS=x ls",
        "GIT_SSH_COMMAND=curl git fetch",
        "BASH_ENV=x bash -c ls",
        "alias ls=curl",
        "shopt -s expand_aliases",
        "hash -p /usr/bin/curl ls",
        "enable -f x y",
        "complete -C curl x",
        "let 'a[$(curl)]=1'",
        "declare -n a=b",
        "declare -i a=b",
        "local 'a[$(curl)]'",
        "read 'a[$(curl)]'",
        "unset 'a[$(curl)]'",
        "printf -v 'a[$(curl)]' x",
        "test -v 'a[$(curl)]'",
        "[ -v 'a[$(curl)]' ]",
        "mapfile -C curl a",
        "awk 'BEGIN{system(\"curl\")}'",
        "awk '{print | \"curl\"}' f",
        "awk '\"curl\" | getline x' f",
        "awk -f prog f",
        'awk "$x" f',
        "sed 's/a/b/e' f",
        "sed '1e curl' f",
        "sed -f prog f",
        "git -c core.pager=curl log",
        "git rebase --exec curl",
        "tar --checkpoint-action=exec=curl -x",
        "tar -xIcurl f",
        "tar --use-compress-prog=curl -x",
        "rsync -e curl a b",
        "sort --compress-program=curl f",
        "echo curl | xargs env",
        "echo -5 curl | xargs nice",
        "echo curl | xargs sudo",
        "echo '. -exec curl ;' | xargs find",
        "echo curl | xargs -I{} env {}",
        "echo curl | xargs -I X env X",
        "echo curl | xargs -0IX sh -c 'echo X'",
        "echo curl | xargs --replace=X sh -c X",
        "echo curl | xargs -I{} -n1 env A=1",
        "echo -e1ecurl | xargs sed p",
        "find /usr/bin -name curl -exec {} x \\;",
        "find . -exec sh -c 'wc {}' \\;",
        "find . -execdir env {} \\;",
        "for f in -e1ecurl; do sed p $f; done",
        'sort "$x" f',
        "sort *",
        "tar cf x.tar $x",
        "git $x",
        "git fetch $(echo --upload-pack=curl)",
        "coproc curl",
        "x='a[$(curl)]'; echo $((x))",
        "echo $((a[1]))",
        "echo $[1+1]",
        "echo ${x@P}",
        "echo ${!x}",
        "echo ${x:y}",
        "[[ $x -eq 1 ]]",
        "echo 'open",
        'echo "open',
        "echo $(open",
        "echo `open",
        "cat <<EOF\nopen",
        "echo ${x",
        "ls\r\ncurl x",
        "ls \x00",
        "l\\\ns",
        "ls \\",
        "echo )",
        "( ls",
        "case x in a) ls",
        "source x",
        ". x",
        "$(" * 30 + ")" * 30,
        "(" * 300 + "ls" + ")" * 300,
        "ls " * 40_000,
    ],
)
@pytest.mark.parametrize("rules", [RULES, ALL_BUT])
def test_what_cannot_be_judged_is_refused(rules: ShellRules, text: str) -> None:
    assert rules.refusal(text)


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("rm -rf /", "rm -r /"),
        ("rm -r -f /*", "rm -r /"),
        ("rm --recursive /etc/", "rm -r /etc"),
        ("rm -R //usr/./", "rm -r /usr"),
        ("rm -rf {/tmp/x,/etc}", "rm -r /etc"),
        ("rm -rf ~", "rm -r ~"),
        ("rm -rf ~/", "rm -r ~"),
        ('rm -rf "$HOME"', "rm -r ~"),
        ("rm -rf ${HOME}/*", "rm -r ~"),
        ("rm -rf .", "rm -r ."),
        ("sudo rm -rf /var", "rm -r /var"),
        ("find / -exec rm -rf / \\;", "rm -r /"),
        ("rm -r --no-preserve-root x", "--no-preserve-root"),
        ("cat x > /dev/sda", "/dev/sda"),
        ("cp x /dev/nvme0n1", "/dev/nvme0"),
    ],
)
def test_what_ruins_a_machine_is_refused_in_both_modes(text: str, pattern: str) -> None:
    for rules in (RULES, ALL_BUT):
        assert rules.refusal(text) == f"command contains denied pattern '{pattern}'"


def test_a_folder_below_a_folder_of_the_system_may_be_removed() -> None:
    for text in ("rm -rf /home/bob/x", "rm -rf ./build ../x/y", "rm -rf ~/cache", "rm /etc"):
        assert not RULES.refusal(text)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("rm -rf x", "rm -rf"),
        ("rm -r --force x", "rm -rf"),
        ("rm --recurs --forc x", "rm -rf"),
        ("sudo rm x", "sudo rm"),
        ("doas rm x", "doas rm"),
        ("sudo -u bob rm x", "sudo rm"),
        ("nice sudo ls", "sudo"),
        ("sudo -n ls", "sudo"),
        ("ls | xargs doas cat", "doas"),
        ("find . -exec sudo cat {} +", "sudo"),
        ("kill -s KILL 1", "kill -9"),
        ("kill -n 9 1", "kill -9"),
        ("pkill --signal SIGKILL x", "kill -9"),
        ("timeout 5 nohup killall -kill x", "kill -9"),
        ("dd if=a of=b", "dd"),
        ("mkfs.ext4 x", "mkfs.ext4"),
        ("chmod -R 777 x", "chmod 777"),
        ("chown -R a b", "chown -R"),
        ("kill -9 1", "kill -9"),
        ("echo x > /dev/tty1", "> /dev/tty1"),
        ("echo $(rm -fr x)", "rm -rf"),
        ("bash -c 'kill -KILL 1'", "kill -9"),
    ],
)
def test_dangerous_commands_are_known_wherever_they_stand(text: str, found: str) -> None:
    assert danger(text) == found


def test_everyday_commands_are_not_dangerous() -> None:
    for text in (
        "rm x",
        "rm -r x",
        "chmod 644 x",
        "kill 1",
        "kill -19 9",
        "sudo",
        "echo x > /dev/null",
        "ls 2>/dev/stderr",
    ):
        assert not danger(text)


def test_starting_a_program_as_somebody_else_is_dangerous_unless_the_list_names_that() -> None:
    assert danger("sudo ls", allowed=["ls"]) == "sudo"
    assert not danger("sudo ls", allowed=["sudo", "ls"])
    assert danger("sudo rm x", allowed=["sudo", "rm"]) == "sudo rm"


def test_a_posix_shell_is_read_as_one() -> None:
    rules = ShellRules(is_bash=False)
    for text in (
        "[[ a || curl ]]",
        "cat <(ls)",
        "((1))",
        "echo a &> f",
        "a=(b)",
        "echo $'a'",
        "cat <<< x",
        "function f { ls; }",
    ):
        assert "is of bash" in rules.refusal(text)
    assert not rules.refusal("ls | wc -l && echo $(date) > f")


def test_functions_count_as_commands_by_their_names() -> None:
    assert _names("f() { ls; }; f") == ["ls", "f"]
    assert "'f' not in allow list" in RULES.refusal("f() { ls; }; f")
    assert not ShellRules(mode="deny").refusal("f() { ls; }; f")


def test_a_refusal_names_the_line() -> None:
    with pytest.raises(ShellSyntaxError, match=r"a ' is not closed \(line 3\)") as raised:
        parse("ls\nls\necho 'x")
    assert raised.value.line == 3


def test_words_are_read_as_the_shell_reads_them() -> None:
    (command,) = parse("a 'b c' \"d $x\" e\\ f $'g\\n' h*i \"$(j)\" {k,l}").commands[1:]
    assert [word.text for word in command.words[:5]] == ["a", "b c", "d ", "e f", "g\n"]
    assert [word.is_literal for word in command.words] == [True, True, False, True, True, True, False, True]
    assert [word.has_pattern for word in command.words] == [False] * 5 + [True, False, True]


@given(st.text(max_size=60))
@settings(max_examples=times(300), deadline=None)
def test_any_text_is_read_or_refused(text: str) -> None:
    for rules in (RULES, ALL_BUT, ShellRules(is_bash=False)):
        assert isinstance(rules.refusal(text), str)
    assert isinstance(danger(text), str)


@given(
    st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\0\r", exclude_categories=("Cc",)), max_size=30)
)
@settings(max_examples=times(200), deadline=None)
def test_what_is_quoted_is_one_word_to_the_letter(text: str) -> None:
    import shlex

    (command,) = parse(f"echo {shlex.quote(text)}").commands
    assert command.words[1].text == text
    assert command.words[1].is_certain
