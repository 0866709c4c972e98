"""
The loops that arrays cannot express, written so that Numba compiles them as they stand.

Interpreted, they are the reference; compiled, they give the same integers in the same order. Nothing here divides
floats, runs in parallel or depends on a hash.

Compiled code does not check bounds. A kernel that fills a table looks whether there is room and returns when there is
none; that what it reads as an index is one, `bounds` has looked before.
"""

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]

#: 10⁷ dollars: what an interruptible machine costs a need that must not be interrupted.
_PINNED = 10_000_000_000_000
_MILLION = 1_000_000
_SPECULATIVE = 2
_CONFIGURING, _CONFIGURED = 4, 5


def serve_plain(
    end: int,
    groups: Ints,
    starts: Ints,
    kinds: Ints,
    fits: Ints,
    units: Ints,
    allocatable: Ints,
    price: Ints,
    interruption: Ints,
    contenders: Ints,
    free: Ints,
    provider: Ints,
    counted: Mask,
    left: Ints,
    money: Ints,
    quota_bites: Mask,
    money_bites: Mask,
    picks: Ints,
    served: Ints,
    cursor: Ints,
) -> bool:
    """
    Serve groups of equal needs from `cursor` on, each from the best kind there is left, until `end`.

    It stops after the last group of a priority in which something is missing, so that the caller can try exchanges.
    A row of `groups` is (priority, first place, needs, units each, row of eligible kinds, interruption penalty, row of
    `units`); `served` gets (needs fully served, units missing of the next). `cursor` is (group, needs of it that are
    served, units the next one misses or 0, picks used, whether a group was short).

    False when `picks` is full: called again with the same picks in a longer table, it goes on where it was.
    """

    def wasted(kind: int, unit_row: int, use: int) -> int:
        """Thousandths of the machine that so many units would not use, over the resources it has."""
        total = 0
        resources = 0
        for resource in range(allocatable.shape[1]):
            have = allocatable[kind, resource]
            if have > 0:
                total += (have - use * units[unit_row, resource]) * 1000 // have
                resources += 1
        return total // resources if resources > 0 else 0

    group, done, rest, used = cursor[0], cursor[1], cursor[2], cursor[3]
    short = cursor[4] > 0
    while group < end:
        if short and groups[group, 0] != groups[group - 1, 0]:
            break
        first, needs, each_units = groups[group, 1], groups[group, 2], groups[group, 3]
        row, penalty, unit_row = groups[group, 4], groups[group, 5], groups[group, 6]
        if rest == 0:
            rest = each_units
        while done < needs:
            if used == len(picks):
                cursor[0], cursor[1], cursor[2], cursor[3], cursor[4] = group, done, rest, used, short
                return False
            best = best_waste = -1  # pragma: no mutate - any below 0
            best_tier = best_cost = best_use = 0  # pragma: no mutate - not read before they are set
            best_room = best_fit = 0  # pragma: no mutate - not read before they are set
            for tier in range(4):
                for place in range(starts[row], starts[row + 1]):
                    kind = kinds[place]
                    room = free[tier, kind]
                    if room == 0:
                        continue
                    if tier == _SPECULATIVE:
                        for quota in range(len(left)):
                            if counted[quota, kind] and left[quota] < room:
                                room = left[quota]
                                if room <= 0:
                                    quota_bites[quota] = True
                        budget = money[provider[kind]]
                        if budget >= 0 and price[kind] > 0 and budget // price[kind] < room:
                            room = budget // price[kind]
                            if room == 0:
                                money_bites[provider[kind]] = True
                        if room <= 0:
                            continue
                    fit = fits[place]
                    use = min(fit, rest)
                    cost = price[kind]
                    if interruption[kind] > 0:
                        if penalty >= _PINNED:
                            cost = _PINNED
                        else:
                            cost += interruption[kind] * penalty // _MILLION
                    waste = -1
                    if best >= 0:
                        mine, theirs = cost * best_use, best_cost * use
                        if mine > theirs:
                            continue
                        if mine == theirs:
                            if best_waste < 0:
                                best_waste = wasted(best, unit_row, best_use)
                            waste = wasted(kind, unit_row, use)
                            if waste > best_waste:
                                continue
                            if waste == best_waste and (
                                contenders[kind] > contenders[best]
                                or (contenders[kind] == contenders[best] and kind > best)
                            ):
                                continue
                    best, best_tier, best_cost, best_use = kind, tier, cost, use
                    best_waste, best_room, best_fit = waste, room, fit
                if best >= 0:
                    break
            if best < 0:
                break
            over = 0
            if best_fit >= rest:
                each = 1
                count = 1 if rest < each_units else min(best_room, needs - done)
                if rest < each_units:
                    over = best_fit - rest
                    rest = 0
            else:
                each = rest // best_fit
                count = 1
                if rest == each_units and rest % best_fit == 0 and best_room >= each:
                    count = min(best_room // each, needs - done)
                else:
                    each = min(best_room, each)
                    rest -= each * best_fit
            taken = count * each
            picks[used, 0] = first + done
            picks[used, 1] = count
            picks[used, 2] = each
            picks[used, 3] = best
            picks[used, 4] = best_tier
            used += 1
            free[best_tier, best] -= taken
            if best_tier == _SPECULATIVE:
                for quota in range(len(left)):
                    if counted[quota, best]:
                        left[quota] -= taken
                if money[provider[best]] >= 0:
                    money[provider[best]] -= taken * price[best]
            # What the need was given before may be too much, now that the last machine covers more than was missing.
            before = used - 2
            while over > 0 and before >= 0 and picks[before, 0] == first + done:
                kind, tier = picks[before, 3], picks[before, 4]
                for place in range(starts[row], starts[row + 1]):
                    if kinds[place] == kind:
                        back = min(picks[before, 2], over // fits[place])
                        over -= back * fits[place]
                        picks[before, 2] -= back
                        free[tier, kind] += back
                        if tier == _SPECULATIVE:
                            for quota in range(len(left)):
                                if counted[quota, kind]:
                                    left[quota] += back
                            if money[provider[kind]] >= 0:
                                money[provider[kind]] += back * price[kind]
                before -= 1
            if rest == each_units:
                done += count
            elif rest == 0:
                done += 1
                rest = each_units
        served[group, 0] = done
        served[group, 1] = rest
        if done < needs:
            short = True
        group += 1
        done = rest = 0
    cursor[0], cursor[1], cursor[2], cursor[3], cursor[4] = group, 0, 0, used, short
    return True


def drop_surplus(need: Ints, fit: Ints, over: Ints, dropped: Mask) -> None:
    """
    Mark machines a need can do without, in the order given.

    `over[n]` is how many units need n has too many; it counts down.
    """
    for place in range(len(need)):
        if 0 < fit[place] <= over[need[place]]:
            over[need[place]] -= fit[place]
            dropped[place] = True


def credit(
    state: NDArray[np.int8],
    kind: NDArray[np.int32],
    need: NDArray[np.int32],
    row_of: NDArray[np.int32],
    profile: NDArray[np.int32],
    fit: Ints,
    rows: Ints,
    needs: Ints,
    units: Ints,
    orphans: Ints,
    sums: Ints,
) -> tuple[int, int]:
    """
    Find the machines that serve a need and the units each gives it, and those that serve none any more.

    Fills `rows`, `needs` and `units`, and `orphans`; returns how many of each there are. `sums` gets the units by need.
    """
    held = lost = 0
    for row in range(len(state)):
        if state[row] == _CONFIGURED or state[row] == _CONFIGURING:
            place = row_of[need[row]]
            provided = fit[profile[place], kind[row]] if place >= 0 else 0
            if provided > 0:
                rows[held] = row
                needs[held] = place
                units[held] = provided
                sums[place] += provided
                held += 1
            else:
                orphans[lost] = row
                lost += 1
    return held, lost
