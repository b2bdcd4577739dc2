"""How tests draw inputs: few, and the same in every run."""

from hypothesis import HealthCheck, settings

QUICK = settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
