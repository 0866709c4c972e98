"""The HTTP API of a real process, asked everything that its own OpenAPI document allows."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import content_type_conformance, response_schema_conformance
from tests.processes import Place, place, pool

pytestmark = pytest.mark.slow
CHECKS = [not_a_server_error, content_type_conformance, response_schema_conformance]
#: of each operation
EXAMPLES_EACH = 15
EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def up() -> Iterator[Place]:
    with place() as here:
        here.write(pool("shell", min=1, max=2))
        here.start("--web-port", "0")
        here.wait_end(here.submit("echo", "hello"))
        world, policy = (str(EXAMPLES / f"capacity-{name}") for name in ("cluster.json", "policy.yaml"))
        here.cli("capacity", "audit", "--from", world, "--policy", policy)
        yield here
        here.clear()


def test_no_request_is_answered_with_a_mistake_of_ours_and_every_answer_is_as_described(up: Place) -> None:
    where, _, token = up.cli("web").out.strip().partition("/?token=")
    headers = {"Authorization": f"Bearer {token}"}
    api = schemathesis.openapi.from_url(f"{where}/openapi.json", headers=headers)
    asked = 0
    for found in api.get_all_operations():
        assert isinstance(found, Ok), found
        operation = found.ok()

        @settings(
            max_examples=EXAMPLES_EACH,
            deadline=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy())
        def ask(case: schemathesis.Case[Any]) -> None:
            nonlocal asked
            asked += 1
            case.call_and_validate(checks=CHECKS, headers=headers, timeout=60)

        ask()
    assert up.cli("why", "label", "nix-kvm").code == 0, "there was an audit to ask about"
    assert asked > 20 * EXAMPLES_EACH
    assert up.processes[-1].poll() is None
    assert '"level":"error"' not in up.log
