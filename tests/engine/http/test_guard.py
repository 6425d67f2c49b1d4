"""Which hosts may be called."""

from __future__ import annotations

import pytest

from catenary.errors import Refused
from catenary.http import Guard


@pytest.mark.parametrize(
    "host",
    [
        "169.254.169.254",
        "169.254.0.1",
        "fe80::1",
        "fe80::1%eth0",
        "[fe80::1]",
        "fd00:ec2::254",
        "fd20:ce::254",
        "100.100.100.200",
        "168.63.129.16",
        "192.0.0.192",
        "::ffff:169.254.169.254",
        "2002:a9fe:a9fe::",
        "64:ff9b::a9fe:a9fe",
        "2852039166",
        "0xa9fea9fe",
        "169.254.43518",
        "0251.0376.0xa9fe",
        "metadata.google.internal",
        "METADATA.google.internal.",
    ],
)
def test_link_local_and_metadata_addresses_are_refused(host):
    with pytest.raises(Refused, match="link-local or metadata"):
        Guard().check_host(host, 80)
    Guard(allow_link_local=True).check_host(host, 80)


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "::1", "10.0.0.1", "example.com", "192.0.0.1", "fd00::1", "2130706433", "99999999999"]
)
def test_other_addresses_pass(host):
    Guard().check_host(host, 80)


@pytest.mark.parametrize(
    ("pattern", "host", "port"),
    [
        ("example.com", "example.com", 443),
        ("Example.com", "EXAMPLE.com.", 443),
        ("*.example.com", "api.example.com", 443),
        ("example.com:8080", "example.com", 8080),
        ("10.0.0.0/8", "10.1.2.3", 80),
        ("10.1.2.3:81", "10.1.2.3", 81),
        ("[::1]:80", "::1", 80),
        ("::1", "::1", 80),
        ("127.*", "127.0.0.1", 80),
    ],
)
def test_a_host_on_the_allow_list_passes(pattern, host, port):
    Guard(allowed_hosts=["other.test", pattern]).check_host(host, port)


@pytest.mark.parametrize(
    ("pattern", "host", "port"),
    [
        ("example.com", "evil-example.com", 443),
        ("*.example.com", "example.com", 443),
        ("example.com:8080", "example.com", 80),
        ("10.0.0.0/8", "11.0.0.1", 80),
        ("10.0.0.0/8", "example.com", 80),
        ("::1", "::2", 80),
    ],
)
def test_a_host_that_is_not_on_the_allow_list_is_refused(pattern, host, port):
    with pytest.raises(Refused, match="not one of the allowed hosts"):
        Guard(allowed_hosts=[pattern]).check_host(host, port)


def test_the_allow_list_does_not_open_metadata_addresses():
    with pytest.raises(Refused, match="metadata"):
        Guard(allowed_hosts=["169.254.169.254"]).check_host("169.254.169.254", 80)


def test_the_address_a_name_turned_out_to_have_is_named():
    with pytest.raises(Refused, match=r"inner\.test:80 \(169\.254\.1\.1\)"):
        Guard().check_address("169.254.1.1", host="inner.test", port=80)
