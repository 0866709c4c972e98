"""Servers that speak TLS: only those are believed whose authority is known."""

import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from tests.prometheus.loopback import matrix
from tests.servers.authority import Authority
from tests.servers.fixtures import require_openssl

from remuda.errors import BadInput
from remuda.prometheus.client import connect
from remuda.prometheus.errors import PrometheusError

pytestmark = pytest.mark.slow


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    require_openssl()
    return Authority(tmp_path / "authority")


@pytest.fixture
async def url(authority: Authority) -> AsyncIterator[str]:
    async def reply(_: web.Request) -> web.Response:
        return matrix()

    certificate, key = authority.issue("prometheus", addresses=["IP:127.0.0.1"])
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    app = web.Application()
    app.router.add_post("/api/v1/query_range", reply)
    server = TestServer(app, host="127.0.0.1", scheme="https")
    await server.start_server(ssl=context)
    yield f"https://127.0.0.1:{server.port}"
    await server.close()


async def test_the_authority_that_was_named_is_believed(url: str, authority: Authority) -> None:
    async with connect(url, {"REMUDA_PROMETHEUS_CA_FILE": str(authority.certificate)}) as prometheus:
        assert (await prometheus.range("up", 1, 2, 1, what="a test")).series == []


async def test_nobody_else_is_believed_or_asked_again(url: str) -> None:
    async with connect(url, {}) as prometheus:
        with pytest.raises(PrometheusError, match="REMUDA_PROMETHEUS_CA_FILE") as caught:
            await prometheus.range("up", 1, 2, 1, what="a test")
    assert not caught.value.is_passing


def test_a_file_without_certificates_is_bad_input(tmp_path: Path) -> None:
    file = tmp_path / "ca"
    for content in (b"", b"nothing", b"\xff", b"-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n"):
        file.write_bytes(content)
        with pytest.raises(BadInput, match="holds no certificates"):
            connect("https://x", {"REMUDA_PROMETHEUS_CA_FILE": str(file)})
