"""Who may ask: loopback alone, or a token, or TLS; never another site through a browser."""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
from pathlib import Path

import anyio
import httpx
import pytest
from prometheus_client import CollectorRegistry

from lastsignal.core.addresses import Address
from lastsignal.edges.http import HttpError, HttpSettings, check_protection, serve
from lastsignal.edges.http import server as serving

from .conftest import InMemoryStatus, Running, Serve

LOOPBACK = Address("127.0.0.1", 0)
OPENSSL = shutil.which("openssl")
needs_openssl = pytest.mark.skipif(OPENSSL is None, reason="openssl is not installed")


async def refused(**settings: object) -> str:
    """Return why a server does not start."""
    with pytest.raises(HttpError) as caught:
        await serve(HttpSettings(**settings), InMemoryStatus(), CollectorRegistry())  # type: ignore[arg-type]
    assert caught.value.exit_code == 3
    return str(caught.value)


# -- addresses -------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.1.2.3", "example.org"])
async def test_an_address_that_others_reach_is_refused_without_protection(host: str) -> None:
    address = Address(host, 9787)

    assert await refused(listen=address) == (
        f"{address}: other machines reach this address, and nothing protects it;"
        " set a token, or a TLS certificate and key, or listen on 127.0.0.1"
    )


def test_a_token_or_tls_protects_it() -> None:
    check_protection(HttpSettings(listen=Address("0.0.0.0", 1), token="x"))
    check_protection(HttpSettings(listen=Address("0.0.0.0", 1), tls_cert=Path("x")))
    check_protection(HttpSettings())


async def test_a_port_in_use_is_told_in_words() -> None:
    with socket.create_server(LOOPBACK) as taken:
        address = Address(*taken.getsockname())

        assert await refused(listen=address) == (
            f"{address}: the port is in use; stop who uses it, or set another in `listen` of [http]"
        )


async def test_an_address_of_another_machine_is_told_in_words() -> None:
    address = Address("192.0.2.1", 9787)

    assert await refused(listen=address, token="x") == (
        "192.0.2.1:9787: this machine has no such address; check `listen` of [http]"
    )


async def test_a_name_that_does_not_resolve_is_told_in_words() -> None:
    said = await refused(listen=Address("no-such-host.invalid", 9787), token="x")

    assert said.startswith("no-such-host.invalid:9787: no such host: ")


async def test_a_privileged_port_is_told_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    def deny(self: socket.socket, address: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(socket.socket, "bind", deny)

    assert await refused(listen=Address("127.0.0.1", 80)) == (
        "127.0.0.1:80: this port is for root alone; set one from 1024 in `listen` of [http]"
    )


async def test_it_is_served_on_ipv6_too(running: Serve) -> None:
    if not socket.has_ipv6:
        pytest.skip("this machine has no IPv6")
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no IPv6 loopback")
    async with running(listen=Address("::1", 0)) as server:
        assert (await server.client.get("/-/healthy")).text == "healthy\n"
        assert str(server.address).startswith("[::1]:")


async def test_the_port_is_free_again_at_once(running: Serve) -> None:
    async with running() as server:
        await server.client.get("/-/healthy")
        address = server.address
    async with running(listen=address) as again:
        assert (await again.client.get("/-/healthy")).status_code == 200


# -- the token -------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/", "/metrics", "/api/v1/incidents", "/api/v1/status", "/no"])
async def test_all_needs_the_token(running: Serve, path: str) -> None:
    async with running(token="hunter2") as server:
        without = await server.client.get(path)
        wrong = await server.client.get(path, headers={"authorization": "Bearer hunter3"})
        right = await server.client.get(path, headers={"authorization": "bearer hunter2"})

    assert without.status_code == wrong.status_code == 401
    assert without.text == "this needs the bearer token\n"
    assert without.headers["www-authenticate"] == 'Bearer realm="lastsignal"'
    assert right.status_code in (200, 404)


@pytest.mark.parametrize(
    "header",
    ["", "Bearer", "Basic hunter2", "hunter2", "Bearer hunter2x", b"Bearer \xff\xfe"],
)
async def test_what_is_not_quite_the_token_is_not_the_token(
    running: Serve, header: str | bytes
) -> None:
    async with running(token="hunter2") as server:
        answer = await server.client.get("/metrics", headers={"authorization": header})

    assert answer.status_code == 401


async def test_a_token_may_be_any_text(running: Serve) -> None:
    async with running(token="pässwörd 😀") as server:
        header = "Bearer pässwörd 😀".encode()
        answer = await server.client.get("/metrics", headers={"authorization": header})

    assert answer.status_code == 200


async def test_a_reload_needs_the_token(running: Serve) -> None:
    async with running(token="hunter2") as server:
        answer = await server.client.post("/-/reload")

    assert answer.status_code == 401
    assert server.status.reloads == 0


async def test_health_needs_no_token_and_tells_no_reason_without_it(running: Serve) -> None:
    async with running(token="hunter2") as server:
        server.status.reasons = ["secret.yaml is broken"]
        healthy = await server.client.get("/-/healthy")
        without = await server.client.get("/-/ready")
        with_it = await server.client.get("/-/ready", headers={"authorization": "Bearer hunter2"})

    assert healthy.status_code == 200
    assert (without.status_code, without.text) == (503, "not ready\n")
    assert (with_it.status_code, with_it.text) == (503, "secret.yaml is broken\n")


def test_settings_never_show_the_token() -> None:
    assert "hunter2" not in repr(HttpSettings(token="hunter2"))


# -- other sites through a browser -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("host", "status_code"),
    [
        ("localhost:9787", 200),
        ("127.0.0.1", 200),
        ("[::1]:9787", 200),
        ("10.0.0.7:80", 200),
        ("lastsignal.example.org", 200),
        ("LASTSIGNAL.example.org:80", 200),
        ("evil.example.com", 421),
        ("localhost.evil.example.com", 421),
        ("127.0.0.1.evil.example.com:9787", 421),
    ],
)
async def test_without_a_token_only_known_names_are_served(
    running: Serve, host: str, status_code: int
) -> None:
    async with running(hosts=("lastsignal.example.org",)) as server:
        answer = await server.client.get("/api/v1/incidents", headers={"host": host})

    assert answer.status_code == status_code
    if status_code == 421:
        assert answer.text == (
            "this host name is not served; add it to `hosts` of [http], or set a token\n"
        )


async def test_with_a_token_any_name_is_served(running: Serve) -> None:
    async with running(token="x") as server:
        headers = {"host": "any.example.com", "authorization": "Bearer x"}
        answer = await server.client.get("/metrics", headers=headers)

    assert answer.status_code == 200


@pytest.mark.parametrize(
    ("headers", "status_code"),
    [
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
        ({"sec-fetch-site": "same-origin"}, 200),
        ({"origin": "https://evil.example.com"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://localhost:1", "host": "localhost:1"}, 200),
        ({}, 200),
    ],
)
async def test_no_other_site_may_reload(
    server: Running, headers: dict[str, str], status_code: int
) -> None:
    answer = await server.client.post("/-/reload", headers=headers)

    assert answer.status_code == status_code
    assert server.status.reloads == int(status_code == 200)


# -- TLS -------------------------------------------------------------------------------------------


def certificate(folder: Path, name: str) -> tuple[Path, Path]:
    """Make a certificate for localhost and its key."""
    cert, key = folder / f"{name}.crt", folder / f"{name}.key"
    assert OPENSSL is not None
    command = [
        *(OPENSSL, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"),
        *("-nodes", "-days", "2", "-subj", "/CN=localhost"),
        *("-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", key, "-out", cert),
    ]
    subprocess.run(command, check=True, capture_output=True)
    return cert, key


@needs_openssl
async def test_with_a_certificate_it_is_https_and_nothing_else(
    running: Serve, tmp_path: Path
) -> None:
    cert, key = certificate(tmp_path, "one")
    trusting = ssl.create_default_context(cafile=str(cert))
    async with running(verify=trusting, tls_cert=cert, tls_key=key) as server:
        answer = await server.client.get("/-/healthy")
        async with httpx.AsyncClient(trust_env=False) as plain:
            with pytest.raises(httpx.HTTPError):
                await plain.get(f"http://{server.address}/-/healthy")

    assert answer.text == "healthy\n"


@needs_openssl
async def test_a_client_that_breaks_the_handshake_harms_nobody(
    running: Serve, tmp_path: Path
) -> None:
    cert, key = certificate(tmp_path, "one")
    trusting = ssl.create_default_context(cafile=str(cert))
    async with running(verify=trusting, tls_cert=cert, tls_key=key) as server:
        async with await anyio.connect_tcp(*server.address) as stream:
            await stream.send(b"GET / HTTP/1.1\r\n\r\n")
        assert (await server.client.get("/-/healthy")).status_code == 200


@needs_openssl
async def test_a_certificate_and_a_key_that_do_not_belong_together_are_refused(
    tmp_path: Path,
) -> None:
    cert, _ = certificate(tmp_path, "one")
    _, key = certificate(tmp_path, "other")

    said = await refused(listen=LOOPBACK, tls_cert=cert, tls_key=key)
    assert said.startswith(f"{cert}: no certificate and key in PEM that belong together: ")
    assert said.endswith("; check `tls_cert` and `tls_key` of [http]")


async def test_a_certificate_that_is_none_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.pem"
    path.write_text("nonsense")

    said = await refused(listen=LOOPBACK, tls_cert=path, tls_key=path)
    assert said.startswith(f"{path}: no certificate and key in PEM that belong together: ")


async def test_a_certificate_that_is_not_there_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "no.pem"

    assert await refused(listen=LOOPBACK, tls_cert=path, tls_key=path) == (
        f"{path} and {path} cannot be read: No such file or directory;"
        " check `tls_cert` and `tls_key` of [http]"
    )


async def test_a_refused_server_holds_no_port(tmp_path: Path) -> None:
    bound = serving.bind(LOOPBACK)
    address = Address(*bound.getsockname())
    bound.close()
    path = tmp_path / "no.pem"
    await refused(listen=address, tls_cert=path, tls_key=path)

    serving.bind(address).close()
