"""What the findings of a trace say together: its outcome, the cause, the symptoms, the cost."""

from lastsignal.core.diagnosis.diagnosis import Diagnosis, Moment, Outcome, diagnose_trace

__all__ = ["Diagnosis", "Moment", "Outcome", "diagnose_trace"]
