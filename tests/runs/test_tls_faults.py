"""TLS that fails or whose certificate expires in the middle of a run, with real certificates.
docs/reliability.md.
"""

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from judgewright.judges import JudgewrightError
from judgewright.judges.models import Client, Completion, Endpoint, Message, Request
from judgewright.judges.simulated import Simulated, make_app
from judgewright.runs.store import CallStore, Workspace, create_run

cryptography = pytest.importorskip("cryptography", reason="cryptography is not installed")

ROWS = 40


class Authority:
    """A certificate authority that signs certificates for 127.0.0.1."""

    def __init__(self, folder: Path) -> None:
        from cryptography.hazmat.primitives.asymmetric import ec

        folder.mkdir()
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self.file = folder / "authority.pem"
        certificate, _ = self._sign("an authority", self._key, days=(-90, 90), authority=True)
        self.file.write_bytes(certificate)

    def issue(self, name: str, *, days: tuple[int, int]) -> tuple[Path, Path]:
        """Return the files of a certificate that holds from so many days from now on, to so many,
        and of its key.
        """
        from cryptography.hazmat.primitives.asymmetric import ec

        files = self._folder / f"{name}.pem", self._folder / f"{name}.key"
        signed = self._sign("127.0.0.1", ec.generate_private_key(ec.SECP256R1()), days=days)
        for file, content in zip(files, signed, strict=True):
            file.write_bytes(content)
        return files

    def _sign(self, name, key, *, days, authority=False):
        import ipaddress

        from cryptography import x509
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.x509.oid import NameOID

        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "an authority")])
        now = datetime.now(UTC)
        draft = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(issuer)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now + timedelta(days=days[0]))
            .not_valid_after(now + timedelta(days=days[1]))
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
            .add_extension(
                x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False
            )
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()),
                critical=False,
            )
        )
        if authority:
            usage = dict.fromkeys(
                (
                    "digital_signature",
                    "content_commitment",
                    "key_encipherment",
                    "data_encipherment",
                    "key_agreement",
                ),
                False,
            )
            usage |= {
                "key_cert_sign": True,
                "crl_sign": True,
                "encipher_only": False,
                "decipher_only": False,
            }
            draft = draft.add_extension(x509.KeyUsage(**usage), critical=True)
        else:
            here = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
            draft = draft.add_extension(here, critical=False)
        pem = serialization.Encoding.PEM
        return draft.sign(self._key, hashes.SHA256()).public_bytes(pem), key.private_bytes(
            pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )


@contextlib.contextmanager
def serving(app: Any, files: tuple[Path, Path], port: int = 0) -> Iterator[int]:
    """Serve the app over TLS, and yield the port."""
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("127.0.0.1", port))
        config = uvicorn.Config(
            app,
            ssl_certfile=str(files[0]),
            ssl_keyfile=str(files[1]),
            log_level="critical",
            lifespan="off",
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        try:
            yield listening.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join()


def test_a_certificate_that_expires_in_the_middle_costs_no_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, measured: Callable[[str], None]
) -> None:
    """Half of the rows are answered, then the certificate is expired or somebody else's; renewed,
    the rest follows.
    """
    authority, stranger = Authority(tmp_path / "ours"), Authority(tmp_path / "theirs")
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    good = authority.issue("good", days=(-1, 30))
    bad = {
        "expired": authority.issue("expired", days=(-30, -1)),
        "unknown": stranger.issue("good", days=(-1, 30)),
    }
    requests = [Request(messages=(Message("user", f"row {number}"),)) for number in range(ROWS)]
    seen = 0
    model_app = make_app(Simulated())

    async def counting(scope, receive, send):
        nonlocal seen
        seen += scope["type"] == "http"
        await model_app(scope, receive, send)

    with Workspace(tmp_path / "work") as workspace:
        record = CallStore(workspace.database, create_run(workspace.database, "bench", {}))

        def ask(port: int, some: list[Request]) -> list[object]:
            model = Endpoint(
                name="m", base_url=f"https://127.0.0.1:{port}/v1", api_key=None, transport="openai"
            )
            with Client(model, record=record, concurrency=8) as client:
                return list(client.ask(some))

        with serving(counting, good) as port:
            assert all(
                isinstance(answer, Completion) for answer in ask(port, requests[: ROWS // 2])
            )
        before, refused = seen, 0
        for files in bad.values():
            with (
                serving(counting, files, port),
                pytest.raises(JudgewrightError, match="certificate"),
            ):
                ask(port, requests)
            refused += 1
        leaked = seen - before
        with serving(counting, good, port):
            assert all(isinstance(answer, Completion) for answer in ask(port, requests))
        summary = record.summary()
    measured(
        f"{ROWS} calls, {refused} bad certificates after half: {leaked} requests sent to them,"
        f" {seen} billed, {summary.done} kept, {summary.repeated} repeated"
    )
    assert (refused, leaked, seen) == (2, 0, ROWS)
    assert (summary.done, summary.repeated) == (ROWS, 0)
