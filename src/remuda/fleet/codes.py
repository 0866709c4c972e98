"""The codes of a fleet's reasons: what each means, and its sentence with the reason's terms in it."""

from collections.abc import Mapping

CODES: Mapping[str, tuple[str, str]] = {
    "fleet.adopted": (
        "A machine of the cluster goes over to another of its needs; the machine itself is not touched.",
        "goes over to {need}: {fit:unit} at {cost}, without being moved",
    ),
    "fleet.assigned": (
        "An idle machine is given to a need.",
        "is given to {need}: {fit:unit} at {cost}",
    ),
    "fleet.created": (
        "A speculative machine is made for a need.",
        "is made for {need}: {fit:unit} at {cost}",
    ),
    "fleet.preempted": (
        "A machine is taken from a need of lower priority.",
        "is taken from {from} for {need}, whose priority is {gap} higher: it has {grace} to end what it does",
    ),
    "fleet.reclaimed": (
        "A machine that no need claims is taken back from its cluster.",
        "is taken back from {from}: no need claims it, and it has {grace} to end what it does",
    ),
    "fleet.released": (
        "An idle machine that nobody needs is given back to its provider.",
        "is given back: nobody needed it for {idle_for}, and such a machine is kept for {hold}",
    ),
    "need.nothing-matches": (
        "No machine there is could serve the need, whoever has it.",
        "is served by no machine there is[: {requirement} rules most out][, and {without:machine} would do without it][: it asks for {unit} of {resource}][, and the largest has {largest}]",
    ),
    "need.held-by-priority": (
        "All that could serve the need is held by needs of equal or higher priority.",
        "finds {matching:machine|machines} that would do, and {held:is|are} held by equal or higher priority",
    ),
    "need.domain-too-small": (
        "No domain has room for the whole gang, or domains cannot be kept level or apart.",
        "wants {wanted:unit} by {key}, and {domain} has room for {units}[, so that {usable} can lie as they must]",
    ),
    "need.fragmented": (
        "Enough is free, but not together where it would have to be.",
        "wants {wanted:unit} by {key}: {free} are free, but {domain} has {largest} of them",
    ),
    "need.capped-by-quota": (
        "A quota keeps more machines from being made.",
        "could use more, but the quota of {provider}[ in {region}][ for {instance_type}] is {most:machine}",
    ),
    "need.capped-by-spending": (
        "A cap on spending keeps more machines from being made.",
        "could use more, but {provider} may cost {cap} an hour",
    ),
    "need.capped-by-rail": (
        "It may preempt more machines, but not in this minute.",
        "waits to preempt {machines:machine} more: {percent}% of the fleet may be in a minute",
    ),
    "need.waiting": (
        "What it misses is on its way.",
        "waits for {coming:unit} on the way",
    ),
    "need.backing-off": (
        "Something failed on the machines that could serve it; they are tried again after a while.",
        "waits for {backing_off:machine} on which something failed: tried again at {until}",
    ),
    "need.may-be-fragmented": (
        "The sum is there, but not every unit may find room; nothing more is bought.",
        "has the sum it asks for, but its machines have room for {packed} of {units:largest unit}",
    ),
    "need.unknown-key": (
        "It asks for a label that no machine has.",
        "asks for a label {key}, which no machine has",
    ),
    "rail.reclaims": (
        "No more of a cluster's machines are taken back in this minute.",
        "keeps {held_back:machine} that no need claims for now: {most} may be taken back in a minute",
    ),
    "rail.preemptions": (
        "No more machines are preempted in this minute.",
        "keeps {held_back:machine} from being preempted for now: {most} may be in a minute",
    ),
    "rail.rollup": (
        "A cluster suddenly asks for so much less that it is not believed yet.",
        "asks for {rows:need} after {accepted}: not believed until {needed} in a row agree, and {agreeing} did",
    ),
    "rail.unheard": (
        "A cluster has not reported its demand since the start, so nothing is taken back from it.",
        "was not heard since the start: {held_back:machine that no need claims stays|machines that no need claims stay}",
    ),
    "rail.spending": (
        "A provider may cost no more an hour.",
        "may cost {cap} an hour: {left} of that is left, too little for more",
    ),
    "rail.quota": (
        "A provider may run no more machines of a sort.",
        "may have {most:machine}: no more are made",
    ),
    "rail.paused": (
        "The kill switch is on: everything is decided and reported, nothing is done.",
        "is paused: {withheld:action is|actions are} withheld",
    ),
}
