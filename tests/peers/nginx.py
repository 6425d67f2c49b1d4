"""An nginx server in front of another one: as a plain proxy and with TLS."""

from __future__ import annotations

from pathlib import Path

from tests.peers.server import Server, free_port, program

_PATHS = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")


class Nginx(Server):
    """An nginx that passes all requests on, and event streams and WebSockets at once.

    Args:
        upstream: Where requests go, as in `http://127.0.0.1:8080`.
        locations: More of the `server` block, such as other `location` blocks.

    Attributes:
        tls_port: Where it listens with TLS.
        certificate: The PEM file of its certificate, for `127.0.0.1` and `localhost`, signed by itself.
    """

    package = "nginx"

    def __init__(self, upstream: str, *, locations: str = "") -> None:
        super().__init__()
        self.upstream = upstream
        self.locations = locations
        self.tls_port = free_port()
        self.certificate = self.folder / "certificate.pem"

    @property
    def url(self) -> str:
        """The address of the plain listener."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def tls_url(self) -> str:
        """The address of the listener with TLS."""
        return f"https://127.0.0.1:{self.tls_port}"

    def prepare(self) -> None:
        """Make the certificate and write the configuration."""
        names = "subjectAltName=IP:127.0.0.1,DNS:localhost"
        kind = ("-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2")
        files = ("-keyout", str(self._key), "-out", str(self.certificate))
        self.run(program("openssl", "openssl"), "req", *kind, *files, "-subj", "/CN=localhost", "-addext", names)
        self.write("nginx.conf", self._configuration())

    def command(self) -> list[str]:
        """Give the command."""
        return [
            program("nginx", self.package),
            "-p",
            str(self.folder),
            "-e",
            "stderr",
            "-c",
            str(self.folder / "nginx.conf"),
        ]

    @property
    def _key(self) -> Path:
        return self.folder / "key.pem"

    def _configuration(self) -> str:
        temporary = "".join(f"{name}_temp_path {self.folder / name};\n" for name in _PATHS)
        return f"""
daemon off; master_process off; pid {self.folder / "pid"}; worker_rlimit_nofile 4096;
events {{ worker_connections 2000; }}
http {{
  access_log off; default_type application/octet-stream; client_max_body_size 200m;
  {temporary}
  map $http_upgrade $connection_of_upgrade {{ default upgrade; '' ''; }}
  server {{
    listen 127.0.0.1:{self.port}; listen 127.0.0.1:{self.tls_port} ssl;
    ssl_certificate {self.certificate}; ssl_certificate_key {self._key};
    {self.locations}
    location / {{
      proxy_pass {self.upstream}; proxy_http_version 1.1; proxy_buffering off;
      proxy_set_header Host $http_host; proxy_set_header X-Forwarded-For $remote_addr;
      proxy_set_header X-Forwarded-Proto $scheme;
      proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection $connection_of_upgrade;
    }}
  }}
}}
"""
