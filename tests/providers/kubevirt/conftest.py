"""A provider in a namespace of the KubeVirt that tests share."""

from collections.abc import AsyncIterator

import pytest_asyncio
from tests.kubevirt.guests import Guests
from tests.kubevirt.installation import Installation
from tests.providers.kubevirt.rig import Rig, running


@pytest_asyncio.fixture
async def rig(kubevirt: Installation, vm_namespace: str, guests: Guests) -> AsyncIterator[Rig]:
    """A provider in `vm_namespace`, with `guests` playing."""
    del guests
    async with running(kubevirt.cluster, vm_namespace) as made:
        yield made
