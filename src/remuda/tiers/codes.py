"""What tiers' reasons and findings mean, and their sentences."""

from remuda.tiers.audit_codes import FINDINGS
from remuda.tiers.loop_codes import REASONS
from remuda.tiers.why_codes import CAUSES

#: all of them
CODES: dict[str, tuple[str, ...]] = {**REASONS, **FINDINGS, **CAUSES}
