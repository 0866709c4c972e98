"""
When pods were made that follow each other under one name, as those of a StatefulSet do.

Without this they look like one pod that lives on, and each new version that is larger than the last like a leak. A
container that is restarted within its pod is no new one.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from remuda.prometheus.series import Series
from remuda.rightsize.estimate.columns import Ints
from remuda.rightsize.estimate.histogram import Second
from remuda.rightsize.observe.history.asking import Asker, Question
from remuda.rightsize.observe.history.promql import Pods

#: whose pods are named by numbers
NUMBERED = frozenset({"StatefulSet", "StrimziPodSet"})
_STEP_S = 300
_Name: TypeAlias = tuple[str, str]


async def read_renewals(asker: Asker, pods: Sequence[Pods], span: tuple[Second, Second]) -> dict[_Name, Ints]:
    """When another pod took a name, by namespace and name; the first that knows anything of a pod is believed."""
    made: dict[_Name, set[int]] = {}
    for query in asker.queries.made():
        left = [each for each in pods if (each.namespace, each.name) not in made]
        if left:
            made |= await _ask(asker, query, left, span)
    # Who had a name before the first that is known was another one.
    within = {who: sorted(at for at in times if at > span[0]) for who, times in made.items()}
    return {who: np.array(times, np.int64) for who, times in within.items() if times}


async def _ask(
    asker: Asker,
    query: Callable[[Sequence[Pods], int], str],
    pods: Sequence[Pods],
    span: tuple[Second, Second],
) -> dict[_Name, set[int]]:
    """When pods were made, as far as one metric tells."""
    begin, end = -(-span[0] // _STEP_S) * _STEP_S, span[1] // _STEP_S * _STEP_S
    found: dict[_Name, set[int]] = defaultdict(set)

    def take(series: Series, _begin: Second, _end: Second) -> None:
        # a pod that was made after the history, or never, is none of it
        makes_sense = (series.values > 0) & (series.values <= span[1])
        times = series.values[makes_sense].astype(np.int64)
        if len(times):
            found[series.labels.get("namespace", ""), series.labels.get("pod", "")].update(times.tolist())

    asked = Question("when pods were made", query, _STEP_S, _STEP_S, begin, end, len(pods))
    await asker.ask(asked, pods, take)
    return found
