"""How causes are made: their codes and words are in `remuda.tiers.why_codes`."""

from remuda.model.findings import Finding, Severity
from remuda.model.plans import Term


def cause(subject: str, rule: str, severity: Severity = "error", /, **terms: Term) -> Finding:
    """Why something is as it is; a term that is none or empty is left out."""
    shown: dict[str, Term] = {
        name: value for name, value in terms.items() if value is not None and value != ""
    }
    return Finding(f"tiers.{rule}", severity, subject, terms=shown)
