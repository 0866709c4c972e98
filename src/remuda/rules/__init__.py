"""Pure judgement that several jobs share: ceilings, cron expressions and windows of time. Imports only model."""
