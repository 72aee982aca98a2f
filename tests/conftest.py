"""What holds for every test."""

from hypothesis import HealthCheck, settings

# How long an example takes says how busy the machine is, not whether the code is right. Tests that name health checks
# of their own replace this list; none of theirs has been slow to draw.
settings.register_profile("judgewright", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("judgewright")
