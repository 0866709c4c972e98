"""What the commands below `remuda why` share."""

import click

at_option = click.option(
    "--at", metavar="TIME", help="At another time, as 14:05:00 or with its date, or how long ago: 10m."
)
