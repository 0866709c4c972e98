"""
The estimator's loops over columns, written so that Numba can compile them. Interpreted they give the same, slowly.

Each walks through the samples of the containers from `begin` to `end`, in their order, and writes the bucket of each
percentile, or -1 without samples. What a histogram does is written out in both: a compiled loop calls nothing.
"""

from typing import Any

import numpy as np

from remuda.rightsize.estimate.estimator import CPU_WEIGHT, MEMORY_WEIGHT, MOST_AMOUNT, OOM_BYTES, OOM_RATIO
from remuda.rightsize.estimate.gomath import LEAST_POWER, LN2_HI, LN2_LO, P1, P2, P3, P4, P5
from remuda.rightsize.estimate.histogram import DAY_S, EPSILON, HALF_LIFE_S, MOST_HALF_LIVES

_HALF_LIFE_NS = HALF_LIFE_S * 1e9
_NANO = 1_000_000_000
_MOST_S = MOST_HALF_LIVES * HALF_LIFE_S
#: earlier than every sample
_NEVER = -(2**62)


def cpu_buckets(
    begin: int,
    end: int,
    replicas: Any,
    starts: Any,
    times: Any,
    values: Any,
    bucket_of: Any,
    buckets: int,
    powers: Any,
    parts: Any,
    found: Any,
    spans: Any,
) -> None:
    """
    Percentiles of CPU: `found` gets a bucket for each of `parts`, `spans` the first and last time and the count.

    `bucket_of` is the bucket of each whole amount up to the first of the last bucket; `powers` are those of two, from
    `LEAST_POWER` on.
    """
    weights = np.zeros(buckets)
    largest = len(bucket_of) - 1
    for container in range(begin, end):
        weights[:] = 0.0
        total = 0.0
        low, high = buckets - 1, 0
        reference = limit = _NEVER
        first, latest, count = -_NEVER, _NEVER, 0
        for replica in range(replicas[container], replicas[container + 1]):
            last = _NEVER
            for index in range(starts[replica], starts[replica + 1]):
                at = times[index]
                if at <= last:
                    continue
                if last == _NEVER:
                    first = min(first, at)
                last = at
                if at > limit:
                    moved = (at + HALF_LIFE_S // 2) // HALF_LIFE_S * HALF_LIFE_S
                    if reference != _NEVER:
                        whole = (reference - moved) // HALF_LIFE_S
                        factor = powers[whole - LEAST_POWER] if whole >= LEAST_POWER else 0.0
                        for bucket in range(low, high + 1):
                            weights[bucket] *= factor
                        total *= factor
                        while low < buckets - 1 and weights[low] < EPSILON:
                            low += 1
                        while high > 0 and weights[high] < EPSILON:
                            high -= 1
                    reference = moved
                    limit = reference + _MOST_S
                x = float((at - reference) * _NANO) / _HALF_LIFE_NS
                weight = 0.0
                if x >= LEAST_POWER:
                    whole = int(x + 0.5) if x > 0 else int(x - 0.5)
                    part = x - whole
                    hi = part * LN2_HI
                    lo = -part * LN2_LO
                    r = hi - lo
                    t = r * r
                    c = r - t * (P1 + t * (P2 + t * (P3 + t * (P4 + t * P5))))
                    weight = CPU_WEIGHT * (
                        (1 - ((lo - (r * c) / (2 - c)) - hi)) * powers[whole - LEAST_POWER]
                    )
                amount = max(values[index] * 1000.0, 0.0)
                bucket = bucket_of[int(amount)] if amount < largest else buckets - 1
                grown = weights[bucket] + weight
                weights[bucket] = grown
                total += weight
                if (bucket < low or bucket > high) and grown >= EPSILON:
                    low = min(low, bucket)
                    high = max(high, bucket)
                count += 1
            latest = max(latest, last)
        spans[container, 0] = first if count else 0
        spans[container, 1] = latest if count else 0
        spans[container, 2] = count
        for number in range(len(parts)):
            bucket = low
            if weights[low] < EPSILON:
                bucket = -1
            else:
                threshold = parts[number] * total
                reached = 0.0
                while bucket < high:
                    reached += weights[bucket]
                    if reached >= threshold:
                        break
                    bucket += 1
            found[container, number] = bucket


def memory_buckets(
    begin: int,
    end: int,
    replicas: Any,
    starts: Any,
    times: Any,
    values: Any,
    kill_starts: Any,
    kill_times: Any,
    kill_values: Any,
    firsts: Any,
    powers: Any,
    parts: Any,
    found: Any,
) -> None:
    """
    Percentiles of memory's daily peaks: `found` gets a bucket for each of `parts`.

    Kills of a replica are in the order of time; `firsts` are the least amounts of the buckets.
    """
    buckets = len(firsts)
    weights = np.zeros(buckets)
    for container in range(begin, end):
        weights[:] = 0.0
        total = 0.0
        low, high = buckets - 1, 0
        reference = limit = _NEVER
        for replica in range(replicas[container], replicas[container + 1]):
            window_end, last = _NEVER, _NEVER
            used = killed = 0
            index, stop = starts[replica], starts[replica + 1]
            kill, no_kill = kill_starts[replica], kill_starts[replica + 1]
            while index < stop or kill < no_kill:
                is_kill = kill < no_kill and (index >= stop or kill_times[kill] < times[index])
                highest = max(used, killed)
                if is_kill:
                    at = kill_times[kill]
                    value = kill_values[kill]
                    kill += 1
                    if last != _NEVER and at < last - DAY_S:
                        continue
                    held = max(int(min(max(value, 0.0), float(MOST_AMOUNT))), used)
                    amount = max(held + OOM_BYTES, int(min(held * OOM_RATIO, float(MOST_AMOUNT))))
                else:
                    at = times[index]
                    value = values[index]
                    index += 1
                    if at < last:
                        continue
                    if at < window_end and value < highest + 1:
                        last = at
                        continue
                    amount = int(min(max(value, 0.0), float(MOST_AMOUNT)))
                last = at
                is_new = at >= window_end
                if is_new:
                    if window_end == _NEVER:
                        window_end = at
                    window_end += ((at - window_end) // DAY_S + 1) * DAY_S
                    used = killed = 0
                elif highest == 0 or amount <= highest:
                    continue
                if window_end > limit:
                    moved = (window_end + HALF_LIFE_S // 2) // HALF_LIFE_S * HALF_LIFE_S
                    if reference != _NEVER:
                        whole = (reference - moved) // HALF_LIFE_S
                        factor = powers[whole - LEAST_POWER] if whole >= LEAST_POWER else 0.0
                        for bucket in range(low, high + 1):
                            weights[bucket] *= factor
                        total *= factor
                        while low < buckets - 1 and weights[low] < EPSILON:
                            low += 1
                        while high > 0 and weights[high] < EPSILON:
                            high -= 1
                    reference = moved
                    limit = reference + _MOST_S
                x = float((window_end - reference) * _NANO) / _HALF_LIFE_NS
                weight = 0.0
                if x >= LEAST_POWER:
                    whole = int(x + 0.5) if x > 0 else int(x - 0.5)
                    part = x - whole
                    hi = part * LN2_HI
                    lo = -part * LN2_LO
                    r = hi - lo
                    t = r * r
                    c = r - t * (P1 + t * (P2 + t * (P3 + t * (P4 + t * P5))))
                    weight = MEMORY_WEIGHT * (
                        (1 - ((lo - (r * c) / (2 - c)) - hi)) * powers[whole - LEAST_POWER]
                    )
                if not is_new:
                    bucket = int(np.searchsorted(firsts, highest, side="right")) - 1
                    left = weights[bucket] - weight
                    weights[bucket] = left if left >= EPSILON else 0.0
                    left = total - weight
                    total = left if left >= EPSILON else 0.0
                    while low < buckets - 1 and weights[low] < EPSILON:
                        low += 1
                    while high > 0 and weights[high] < EPSILON:
                        high -= 1
                bucket = int(np.searchsorted(firsts, amount, side="right")) - 1
                weights[bucket] += weight
                total += weight
                if weights[bucket] >= EPSILON:
                    low = min(low, bucket)
                    high = max(high, bucket)
                if is_kill:
                    killed = amount
                else:
                    used = amount
        for number in range(len(parts)):
            bucket = low
            if weights[low] < EPSILON:
                bucket = -1
            else:
                threshold = parts[number] * total
                reached = 0.0
                while bucket < high:
                    reached += weights[bucket]
                    if reached >= threshold:
                        break
                    bucket += 1
            found[container, number] = bucket
