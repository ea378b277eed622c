"""Secrets in what leaves the machine: found by their shapes and by the names they stand under."""

from lastsignal.core.redaction.redaction import LEFT_OUT, MAX_CHARACTERS, redact, redact_values

__all__ = ["LEFT_OUT", "MAX_CHARACTERS", "redact", "redact_values"]
