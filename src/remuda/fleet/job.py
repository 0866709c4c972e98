"""What the fleet brings to Remuda."""

from remuda.job import Command, Job, KindReference, PageReference, Place, Section

JOB = Job(
    name="fleet",
    kinds=(
        KindReference(
            "Inventory",
            "inventories",
            "remuda.fleet.objects:INVENTORY",
            place=Place.FILES,
        ),
        KindReference("Demand", "demands", "remuda.fleet.objects:DEMAND", place=Place.FILES),
        KindReference("FleetPolicy", "fleetpolicies", "remuda.fleet.objects:FLEET_POLICY", place=Place.FILES),
    ),
    commands={
        "fleet": Command(
            "remuda.fleet.commands:fleet",
            "Decide which machine serves which cluster, and measure it.",
            Section.PLAN,
        ),
        "why need": Command(
            "remuda.fleet.why_commands:need",
            "Why a need has the machines it has, and what keeps it from more.",
        ),
        "simulate fleet": Command(
            "remuda.sim.commands:fleet", "A fleet of machines for many clusters, with providers that fail."
        ),
    },
    subjects={"need": "remuda.fleet.why_commands:known_needs"},
    views="remuda.fleet.routes:VIEWS",
    reasons="remuda.fleet.codes:CODES",
    prefixes=("fleet", "need", "rail"),
    loops=("fleet",),
    replay="remuda.fleet.history.replay:FleetReplay",
    pages=(
        PageReference(
            "/fleet",
            "remuda.fleet.pages:fleet_page",
            "/v1/fleet",
            menu="Fleet",
            query={
                "state": "Only machines in this state.",
                "zone": "Only machines of this zone.",
                "type": "Only machines of this type.",
                "cluster": "Only machines and needs of this cluster.",
                "at": "The instant asked about, in milliseconds since 1970; now by default.",
                "plan": "The number of a plan that is kept.",
                "need": "A need to be explained.",
            },
        ),
    ),
)
