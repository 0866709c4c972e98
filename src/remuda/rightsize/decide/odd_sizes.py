"""What is wrong with what a container asks for now, whatever it uses."""

from remuda.model.amount_texts import MIB
from remuda.rightsize.decide import words
from remuda.rightsize.decide.findings import Explanation
from remuda.rightsize.snapshot import Size

#: no container runs in less
_LEAST_BYTES = MIB
#: no machine has more
_MOST_MILLICORES = 1_000_000
_MOST_BYTES = 100 * 1024**4


def explain_odd_sizes(size: Size, explanation: Explanation) -> None:
    """Sizes that the API server refuses, or that are hardly meant as they are written."""
    for name, request, limit, write in (
        ("cpu", size.requests.cpu_millicores, size.limits.cpu_millicores, words.cpu),
        ("memory", size.requests.memory_bytes, size.limits.memory_bytes, words.memory),
    ):
        if request is not None and limit is not None and limit < request:
            explanation.find(
                "limit-below-request", "error", f"limits.{name}", limit=write(limit), request=write(request)
            )
    for part, amount in (("requests", size.requests.memory_bytes), ("limits", size.limits.memory_bytes)):
        if amount is not None and (0 < amount < _LEAST_BYTES or amount > _MOST_BYTES):
            explanation.find("odd-size", "warning", f"{part}.memory", bytes=words.memory(amount))
    for part, cores in (("requests", size.requests.cpu_millicores), ("limits", size.limits.cpu_millicores)):
        if cores is not None and cores > _MOST_MILLICORES:
            explanation.find("odd-size", "warning", f"{part}.cpu", cores=words.cpu(cores))
