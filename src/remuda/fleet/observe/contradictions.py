"""Requirements that no machine could ever meet together."""

from collections.abc import Sequence

from remuda.model.labels import Operator, Requirement


def contradiction(requirements: Sequence[Requirement]) -> tuple[int, ...]:
    """The places of requirements on one key that exclude each other; none when some machine could meet them all."""
    by_key: dict[str, list[int]] = {}
    for place, requirement in enumerate(requirements):
        by_key.setdefault(requirement.key, []).append(place)
    return next(
        (
            tuple(places)
            for places in by_key.values()
            if len(places) > 1 and _exclude([requirements[place] for place in places])
        ),
        (),
    )


def _exclude(same_key: Sequence[Requirement]) -> bool:
    operators = {requirement.operator for requirement in same_key}
    if Operator.DOES_NOT_EXIST in operators:
        return bool(operators & {Operator.EXISTS, Operator.IN, Operator.GT, Operator.LT})
    listed = [requirement for requirement in same_key if requirement.operator is Operator.IN]
    if listed:
        key = listed[0].key
        return not any(
            all(requirement.matches({key: value}) for requirement in same_key) for value in listed[0].values
        )
    above = [int(each.values[0]) for each in same_key if each.operator is Operator.GT]
    below = [int(each.values[0]) for each in same_key if each.operator is Operator.LT]
    return bool(above and below) and min(below) - max(above) < 2
