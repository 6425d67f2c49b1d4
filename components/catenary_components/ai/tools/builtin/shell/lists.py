"""What a shell tool may run and may not, when its settings do not say."""

from __future__ import annotations

from typing import Final


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


DEFAULT_ALLOW: Final = _words("""
    : [ awk base64 basename break bun bundle bzip2 cargo cat cd cmake cmp column comm composer continue cp cut
    date deno df diff dir dirname docker du echo egrep env exit export expr false fgrep file find fmt fold g++
    gcc gem git go gofmt gradle grep groups gunzip gzip head helm hexdump hostname id install java javac join jq
    kubectl less ln local ls make md5sum mkdir mktemp mv mvn nl node nproc npm npx od paste patch pip pip3 pipx
    pnpm poetry printenv printf ps pwd pyright pytest python python3 read readlink realpath return rg rm rmdir
    ruby ruff rustc sed seq set sha1sum sha256sum shift sleep sort split stat tail tar tee test time touch tr
    tree true tsc type uname uniq unzip uptime uv wait wc which whoami xxd yarn yes yq zcat zip
""")
"""Commands that may be run in the mode `allow`."""

DEFAULT_DENY: Final = _words("su chmod chown dd mkfs fdisk shutdown reboot halt poweroff init parted mkswap")
"""Commands that are never run."""

DEFAULT_DENY_ARGS: Final = ("--no-preserve-root",)
"""Parts of commands that are never run, besides the removal of system folders and raw disks."""

SYSTEM_FOLDERS: Final = frozenset(_words("""
    / /bin /boot /dev /etc /home /lib /lib32 /lib64 /media /mnt /opt /proc /root /run /sbin /srv /sys /usr
    /usr/bin /usr/lib /usr/local /usr/sbin /usr/share /var /var/lib /var/log /Applications /Library /System
    /Users ~ . ..
"""))  # fmt: skip
"""Folders that are never removed with all that is in them; `~` is the home of whoever runs the agent."""
