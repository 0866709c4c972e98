"""What each finding of a review means, and its sentences: what is, what should be, how to fix it (`remuda.output.findings`)."""

_HELD = " once what holds it is out of the way: see the other findings"
_LONGER = "review with a longer --history"
_REFUSED = "else the API server refuses its pods"
_SAMPLES = "samples of [{resource}||its use]"
_SEE = "see remuda diagnose metrics"
_WHO_GIVES = "{range} gives {default} for containers without a CPU limit, below the request {request}"
#: how wide the bounds are
_WIDTH = (
    "[CPU is between {cpu_lower} and {cpu_upper} ({cpu_width}), memory between {memory_lower} and {memory_upper}"
    " ({memory_width})]"
)
#: what a memory limit should be raised to, as far as that is known
_RAISE = (
    "[set its memory limit to {set_to}][raise its memory limit to {raise_to}][{held:?}" + _HELD + "]"
    "[{unknown:?}raise its memory limit: by how much is unknown, as there is no record of what was used]"
)

#: code → (meaning, what is, what should be, fix)
CODES: dict[str, tuple[str, str, str, str]] = {
    "rightsize.killed": (
        "The container ran out of memory and was killed within the history.",
        "OOM-killed {kills:time}, last at {last}[, with {used} used ({why})]; the limit is {limit}",
        "[at least {least}||never killed]",
        ("[{unsampled:?}raise its memory limit: by how much is unknown without samples]"
        "[{leaking:?}fix the leak: more memory only delays the next kill]" + _RAISE
        + "[{changed:?}nothing: its size has been changed since]"
        "[{unsure:?}nothing, if its limit has been raised since the kill; if not, raise it by a fifth: which limit it ran into"
        " is not known]"),
    ),
    "rightsize.limit-below-use": (
        "The memory limit is below what was used, with a tenth for what samples miss: it will be killed.",
        "{limit}",
        "at least {need}[: {used} was used||, the target]",
        "[{leaking:?}fix the leak]" + _RAISE,
    ),
    "rightsize.clamped-below-use": (
        "A bound of a tier or a LimitRange allows less than what was used.",
        "at most {amount} by {who}",
        "[{target}, the target||at least {need}: less was not enough within the history]",
        "raise the maximum of {who} to {enough} or more[; until then memory is left at {left}]",
    ),
    "rightsize.leak": (
        "Memory rises day by day and will reach the limit before the next review: it is not given more.",
        ("[restarted {restarts:time}, and each time ][killed and restarted {killed:time}, and each time the memory that it never"
        " falls below||the least memory of a day] rises by {pace} a day: [{limited:?}its limit||a limit] of {bound}"
        " [will be reached at {at}||is reached][ {after} after a restart]"),
        "not reached within {review_every}",
        "fix the leak, or restart it in time: more memory only delays the kill, so that it is left as it is",
    ),
    "rightsize.starved": (
        "The CPU request is more than a tenth below the lower bound of what it used.",
        "{request}",
        "at least {least}, the lower bound",
        "[raise the maximum of {who}, {most}, to {enough} or more||raise it to {enough}][{held:?}" + _HELD + "]",
    ),
    "rightsize.limit-below-request": (
        "A limit is below its request: the API server refuses such a pod.",
        "{limit}, below the request {request}",
        "at least the request",
        "raise the limit or lower the request: such a pod is refused",
    ),
    "rightsize.odd-size": (
        "A size is hardly meant as it is written, as 512m of memory is half a byte.",
        "[{cores}||{bytes}]",
        "[{cores:?}at most 1000 cores||from 1Mi to 100Ti]",
        ("see its suffix: [{cores:?}500m is half a core, and 500 are five hundred||m is a thousandth of a byte, M is a megabyte"
        " and Mi is a mebibyte]"),
    ),
    "rightsize.cpu-limit": (
        "There is a CPU limit: it slows a container down even where processors are idle.",
        "{limit}",
        "not set",
        "remove it: the request keeps its share when processors are short, and the limit only slows it down",
    ),
    "rightsize.no-evidence": (
        "Nothing is known of the use of a resource: it is left as it is.",
        "no " + _SAMPLES + "[{idle:?}, and no pods now]",
        _SAMPLES,
        "[{idle:?}review it when it runs||" + _SEE + "]",
    ),
    "rightsize.new-container": (
        "The container has no samples, but its siblings have: it is new, or was renamed.",
        "no samples, though its siblings have some",
        "samples of its use",
        "review again when it has run for a day; if it was renamed, its history is under the old name",
    ),
    "rightsize.container-gone": (
        "There are samples of a container that the template does not have any more.",
        "has samples, and the template does not have it any more",
        "ignored",
        "nothing: its samples fade",
    ),
    "rightsize.workload-gone": (
        "There are samples of workloads that are not there.",
        "samples of {gone:workload that is|workloads that are} not there: {names}",
        "ignored",
        "nothing, if they were deleted; else see whether the whole cluster was read",
    ),
    "rightsize.partial-evidence": (
        "A part of the samples could not be read, or cannot be distinguished from those of others: nothing is lowered.",
        "a part of the samples could not be read, or cannot be distinguished from those of others",
        "all of them, and no others",
        "read them again: until then nothing is lowered",
    ),
    "rightsize.odd-samples": (
        "There is something odd about the samples.",
        "{anomalies}",
        "samples without gaps and anomalies",
        "see what wrote them: the numbers rest on the others",
    ),
    "rightsize.old-evidence": (
        "The last sample is more than a day old.",
        "the last sample is of {last}, {age} ago",
        "samples until now",
        "[{idle:?}nothing: it has no pods now||" + _SEE + "]",
    ),
    "rightsize.under-a-day": (
        "There are fewer samples than a day of one a minute has: the bounds are wide and the size is left out of patches.",
        ("[it is unknown how much data {origin} rests on, and ][{unbounded:?}it has no bounds: both are its target]"
        "[{span} of data with {samples} of CPU, {confidence} days of a sample a minute; ][{runs:run} in {span}; ]"
        "[{few} of CPU in {span}: ][{unsampled:?}by these it is counted how much is known; ][{seldom:?}it runs seldom; ]"
        "[{sparse:?}it runs seldom, or is scraped seldom; ]" + _WIDTH),
        ("[{origin:?}an upper bound above the target and of at most twice the target, which proves a day]"
        "[{confidence:?}1d with a sample a minute][{least_runs} runs]"
        "[{least_samples} samples of CPU, as many as a day has with one a minute]"),
        ("[{origin:?}review again in a day, or give --prometheus or --usage][review again after {until}]"
        "[{unsampled:?}let CPU be sampled as well, " + _SEE + "]"
        "[{sparse:?}take more samples: a scrape a minute, if it runs all the time; if it does not, ][{longer:?}" + _LONGER + "]"
        "[{krr:?}, or with --strategy krr, which goes by the peak][{span:?}; until then it is left out of patches]"),
    ),
    "rightsize.sparse-samples": (
        "Samples are so far apart that the upper bound is wider than the days they span would make it.",
        ("{samples:sample} of CPU in {span}, one in {every}[ of all {replicas} replicas together]: they count as {confidence} days,"
        " and the upper bound is × {factor} for that, where {span} alone make it × {of_time}: {wider} wider"),
        "a sample a minute",
        f"[{{seldom:?}}{_LONGER}, if it runs seldom||scrape every minute; if it does not run all the time, {_LONGER}]",
    ),
    "rightsize.advice-only": (
        "All there is is the word of a VerticalPodAutoscaler: peaks and leaks cannot be seen.",
        "no samples, only what {origin} recommends",
        "samples of its use, for peaks and leaks",
        "give --prometheus or --usage",
    ),
    "rightsize.too-few-for-strategy": (
        "The strategy gives no answer with so few samples.",
        "{cpu:sample} of CPU and {memory} of memory: the strategy {strategy} gives no answer",
        "[{krr:?}100 samples over 3 hours||samples enough for {strategy}]",
        "review again later, or with --strategy vpa, which answers with less",
    ),
    "rightsize.scaled-to-zero": (
        "The workload has no pods now: its size takes effect when it has.",
        "0",
        "known: quotas and waste count no pods of it",
        "nothing: its size takes effect when it is scaled up",
    ),
    "rightsize.scaled-by-use": (
        "A HorizontalPodAutoscaler scales by this resource: to change its request may change how many pods there are.",
        "{request}; HorizontalPodAutoscaler {autoscaler} scales it by {resource}",
        "left as it is",
        "change it together with the target of HorizontalPodAutoscaler {autoscaler}, or scale by something else",
    ),
    "rightsize.advisor-acts": (
        "A VerticalPodAutoscaler changes pods itself and overrules what the template says.",
        ("[{mode}||not set, which is Recreate]: it sets the sizes of {workload} itself, [{initial:?}when pods are made||and evicts"
        " or resizes pods for it]"),
        "Off",
        "set it to Off before applying a size: it would be overruled",
    ),
    "rightsize.many-advisors": (
        "More than one VerticalPodAutoscaler recommends for a container: only one can be taken at its word.",
        "VerticalPodAutoscalers {names} all recommend for {containers}; without samples {last} is taken at its word",
        "one VerticalPodAutoscaler for a workload",
        "delete all but one of them",
    ),
    "rightsize.tier-not-read": (
        "The label of the tier says none that there is.",
        '[{value}||""]',
        "[one of {known}||begins with a digit from 0 to 4, as 0-core does]",
        "change the label, or name another one as tierLabel of the [TierPolicy{known:?}||policy]",
    ),
    "rightsize.tier-unclear": (
        "More than one TierPolicy claims a namespace: sizes of its workloads go by none of them.",
        "TierPolicies {policies} all claim it",
        "one TierPolicy for a namespace",
        "narrow namespaces of all but one of them, or name it among what they exclude",
    ),
    "rightsize.class-not-read": (
        "The label of the class is none of stable, volatile and gpu.",
        '[{value}||""]',
        "one of stable, volatile and gpu",
        "change the label, or name another one as classLabel of the policy",
    ),
    "rightsize.limit-range-conflict": (
        "A LimitRange and the other bounds cannot both be kept.",
        "{amount}, against {broken}",
        "within the bounds of {who}",
        "change one of the bounds: they contradict each other, and the last one was kept to",
    ),
    "rightsize.limit-range-of-pod": (
        "The containers of a pod together are not within a LimitRange of pods.",
        "[{amount} together||{bare:container} without]",
        "[at most {most}][at least {least}][{bare:?}a CPU limit on every container], by {range}",
        ("change {range}, or [{most:?}say which container should have less][{least:?}say which container should have more]"
        "[{bare:?}give every container a CPU limit]: pods are refused"),
    ),
    "rightsize.limit-range-gives-cpu-limit": (
        ("A LimitRange with a default or a maximum of CPU gives a CPU limit to containers without one: below the request, pods"
        " are refused."),
        "[{limit}; " + _WHO_GIVES + "||{default}: containers without a CPU limit get it, as those of {workloads}]",
        "[{range:?}at least the request: " + _REFUSED + "||no default and no maximum of CPU]",
        ("[raise the maximum of {range} to {needed} or more]"
        "[raise or remove default.cpu of {range}; until then set a CPU limit of {set_to}]"
        "[{workloads:?}take default.cpu and max.cpu out of it: a quota on requests.cpu bounds what a namespace gets]"),
    ),
    "rightsize.limit-range-wants-cpu-limit": (
        ("A LimitRange with a ratio of CPU, or with a maximum of CPU for pods, refuses pods without a CPU limit, and those with"
        " one too far above the request."),
        "{limit}; {who}",
        "[{fitting} beside the request {request}: " + _REFUSED + "||at least {least}, and at most {most}]",
        ("[take that out of {ranges}, as a CPU limit only slows it down; until then {verb} a CPU limit of {fitting}||change the"
        " bounds: no CPU limit is within all of them, and it is left as it is]"),
    ),
    "rightsize.quota-too-small": (
        "All changes together, with the surge of their rollouts, do not fit a ResourceQuota.",
        ("{hard}, of which {used} are used[{reckoned:?}, by what the workloads ask for][, less than the {asked} that its workloads"
        " ask for][, already {already} too much]; all changes together ask for {most} on their way, {over} too much[: {who}]"),
        "at least {most} while the changes are rolled out, {after} afterwards",
        ("raise it to {enough}[{passing:?} for a while, or apply what is lowered first and the rest one by one, or without"
        " surge]"),
    ),
    "rightsize.quota-wants-limit": (
        "A ResourceQuota counts a limit, so that pods without it are refused.",
        "counts {counted}, and containers of {workloads} have none",
        "a {resource} limit on every container, or no {counted} in the quota",
        "take {counted} out of the quota, or let a LimitRange give a default: pods without are refused",
    ),
    "rightsize.quota-with-scopes": (
        "A ResourceQuota has scopes and counts only some pods: it is not judged.",
        "{scopes}",
        "looked at by a person: it counts only some pods",
        "see whether the changes of this namespace fit",
    ),
    "rightsize.not-sized": (
        "There are pods that nothing makes, or a custom resource: they are named, and not sized.",
        "{pods:pod} of {owners}",
        "known: sized are {sized}",
        ("[size its template by hand: what {kind} makes of it is not known here||size it by hand: no template of a Deployment or"
        " the like makes these pods]"),
    ),
    "rightsize.sized-by-operator": (
        "An operator makes the pods, from a size in another object: no patch is written, as it would undo it.",
        "an operator makes its pods, from {origin}",
        "sized there",
        "set requests and limits in {origin}: no patch is written, as the operator would undo it",
    ),
    "rightsize.not-read": (
        "A part of the cluster, or of its recorded use, could not be read: nothing is concluded from it.",
        "{why}",
        "can be read: nothing is concluded from what is missing",
        "make it readable and review again: what it bounds, scales or shows was not taken into account",
    ),
}  # fmt: skip
#: rule → what it means
RULES = {code.partition(".")[2]: meaning for code, (meaning, *_) in CODES.items()}
