"""What all tests share."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# how fast examples are made says something of the machine, nothing of the code
settings.register_profile(
    "shared_machine",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    print_blob=True,
)
settings.load_profile("shared_machine")
