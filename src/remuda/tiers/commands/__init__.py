"""`remuda tiers`."""

import click

from remuda.control.command import Group
from remuda.tiers.commands.audit import audit
from remuda.tiers.commands.keep import apply, diff
from remuda.tiers.commands.plan import plan
from remuda.tiers.commands.render import render


@click.group(cls=Group)
def tiers() -> None:
    """
    Give every namespace the limits, quota and priority of its tier, and audit what pods get.

    A TierPolicy says what each tier gives; without one the built-in tiers hold.
    """


tiers.add_command(apply)
tiers.add_command(diff)
tiers.add_command(plan)
tiers.add_command(render)
tiers.add_command(audit)
